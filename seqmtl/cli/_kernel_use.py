"""``seqmtl predict`` and ``seqmtl evaluate`` with a model of kernels."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.cli._kernel_input import Examples, read_for_model
from seqmtl.cli._output import open_output, table, write_metrics
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.kernel_model import KernelModel

logger = logging.getLogger("seqmtl")


def predict_kernels(model: KernelModel, args: argparse.Namespace) -> int:
    """Write name, task, score and class of every example; votes where classes are several."""
    examples = read_for_model(model, args, require_labels=False)
    scores = model.decision_function(examples.X, examples.tasks)
    classes = np.asarray(model.classes)[model.choose(scores)].tolist()
    names = examples.names
    if scores.ndim == 2:
        header = ["name", *(f"votes_{c}" for c in model.classes), "class"]
        rows = (
            [n, *map(_number, row), c] for n, row, c in zip(names, scores, classes, strict=True)
        )
    else:
        header = ["name", "task", "score", "class"]
        tasks = _tasks(model, examples)
        rows = (
            [n, t, _number(s), c] for n, t, s, c in zip(names, tasks, scores, classes, strict=True)
        )
    with open_output(args.output) as stream:
        stream.write("\t".join(header) + "\n")
        stream.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    logger.info("scored %d examples", len(names))
    return 0


def evaluate_kernels(model: KernelModel, args: argparse.Namespace) -> int:
    """Write AUROC, AUPRC and accuracy of every task; the accuracy where classes are several."""
    from seqmtl.evaluation import evaluate, plot_curves

    is_binary = len(model.classes) == 2
    if args.plot and not is_binary:
        raise SeqmtlError(
            f"--plot draws the curves of two classes, and the model has {len(model.classes)}; "
            "leave it out"
        )
    examples = read_for_model(model, args, require_labels=True)
    labels = _class_numbers(model, examples, args.data)
    scores = model.decision_function(examples.X, examples.tasks)
    found = model.choose(scores)
    if not is_binary:
        metrics = _accuracies(labels, found, model.classes)
        write_metrics(metrics, _table_of_classes(metrics), args.json)
        return 0
    tasks = _tasks(model, examples)
    metrics = evaluate(labels, scores, tasks, n_bootstrap=args.bootstrap, seed=args.seed)
    for name, task in metrics["tasks"].items():
        task["accuracy"] = float((found == labels)[tasks == name].mean())
    accuracies = [task["accuracy"] for task in metrics["tasks"].values()]
    metrics["mean"]["accuracy"] = float(np.mean(accuracies))
    if args.plot:
        plot_curves(labels, scores, tasks, args.plot)
    write_metrics(metrics, table(metrics, "task"), args.json)
    return 0


def _tasks(model: KernelModel, examples: Examples) -> NDArray[Any]:
    """Return the task of every example."""
    if examples.tasks is None:
        return np.full(len(examples.names), model.tasks[0])
    return np.asarray(examples.tasks)


def _class_numbers(model: KernelModel, examples: Examples, source: str) -> NDArray[np.int64]:
    """Return the labels as numbers of the model's classes."""
    number = {c: i for i, c in enumerate(model.classes)}
    given = examples.y.tolist()
    strange = next((label for label in given if label not in number), None)
    if strange is not None:
        raise SeqmtlError(
            f"labels of {source} must be classes of the model, "
            f"{', '.join(map(repr, model.classes))}, got {strange!r}"
        )
    return np.array([number[label] for label in given], dtype=np.int64)


def _accuracies(
    labels: NDArray[np.int64], found: NDArray[np.int64], classes: tuple[Any, ...]
) -> dict[str, Any]:
    """Return the accuracy over all examples and over those of every class."""
    is_right = found == labels
    per_class = {}
    for number, name in enumerate(classes):
        own = is_right[labels == number]
        per_class[str(name)] = {
            "n": int(own.size), "accuracy": float(own.mean()) if own.size else None,
        }  # fmt: skip
    return {"n": int(labels.size), "accuracy": float(is_right.mean()), "classes": per_class}


def _table_of_classes(metrics: dict[str, Any]) -> str:
    rows = [*metrics["classes"].items(), ("all", metrics)]
    lines = ["class\tn\taccuracy"]
    for name, entry in rows:
        accuracy = "NA" if entry["accuracy"] is None else f"{entry['accuracy']:.4f}"
        lines.append(f"{name}\t{entry['n']}\t{accuracy}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:.6g}"
