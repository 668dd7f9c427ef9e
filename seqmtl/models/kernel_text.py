"""What a model of kernels is, as JSON values and as lines to read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl.kernels import Standardized, short_name
from seqmtl.models.weights_text import calibrated
from seqmtl.similarity.text import draw_tree_text

if TYPE_CHECKING:
    from seqmtl.models.kernel_model import KernelModel

_SHOWN = ("C", "p", "q", "norm", "share", "regularizer", "tol", "balanced", "task_kernel")
_ALIKE = 1e-6  # of the largest weight: below, weights are shown as one for all tasks


def describe(model: KernelModel) -> dict[str, Any]:
    """Return JSON values."""
    return {
        "tasks": list(model.tasks),
        "classes": list(model.classes),
        "kernels": [kernel.to_dict() for kernel in model.kernels],
        "feature_names": list(model.feature_names),
        "n_support": model.training.get("n_support", len(model.amounts)),
        "training": model.training,
    }


def lines(model: KernelModel, file: str) -> list[str]:
    """Return lines to read."""
    training = model.training
    settings = ", ".join(f"{name}={training[name]}" for name in _SHOWN if name in training)
    return [
        f"model          {file}, {training.get('method', 'kernels')}",
        *_wrapped("examples", _examples(model)),
        *_wrapped("classes", ", ".join(map(str, model.classes))),
        *_wrapped("kernels", "; ".join(short_name(kernel) for kernel in model.kernels)),
        f"support        {training.get('n_support', len(model.amounts)):,} vectors"
        + (f" of {training['n']:,} examples" if "n" in training else ""),
        f"settings       {settings}",
        *_solution(training),
        *_tasks(model),
        *_weights(model),
        *calibrated(training),
    ]


def _wrapped(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, 100, initial_indent=f"{title:<15}", subsequent_indent=" " * 15,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _examples(model: KernelModel) -> str:
    """Say what the examples are."""
    if model.inputs == "windows":
        return f"windows of {model.length} bases"
    names = ", ".join(model.feature_names)
    if model.inputs == "sequences":
        return f"sequences{f' of the column {names}' if names else ''}"
    scaled = any(isinstance(kernel, Standardized) for kernel in model.kernels)
    return f"{model.length} numbers{', standardized' * scaled}{f': {names}' if names else ''}"


def _solution(training: dict[str, Any]) -> list[str]:
    """Say how far the training got."""
    known = [(name, training[name]) for name in ("objective", "gap", "n_iter") if name in training]
    if not known:
        return []
    stopped = "" if training.get("converged", True) else " (stopped before the tolerance)"
    return ["solution       " + ", ".join(f"{name} {v:.6g}" for name, v in known) + stopped]


def _tasks(model: KernelModel) -> list[str]:
    """Lay out what is known of every task, in columns."""
    counts = model.training.get("tasks", {})
    header, columns = ["tasks"], [list(model.tasks)]
    if "losses" not in model.training:
        header.append("support")
        support = np.bincount(model.task_ids, minlength=len(model.tasks))
        columns.append([f"{n:,}" for n in support])
    for key, title in (("n", "examples"), ("n_positive", f"of {model.classes[1]}")):
        if all(key in counts.get(name, {}) for name in model.tasks):
            header.append(title)
            columns.append([f"{counts[name][key]:,}" for name in model.tasks])
    known = {"objectives": "objective", "losses": "loss", "weights": "trade-off weight"}
    for key, title in known.items():
        if key in model.training:
            header.append(title)
            columns.append([f"{value:.4g}" for value in model.training[key]])
    columns = [[title, *cells] for title, cells in zip(header, columns, strict=True)]
    widths = [max(map(len, cells)) for cells in columns]
    names, *numbers = [
        [f"{cell:<{width}}" if column is columns[0] else f"{cell:>{width}}" for cell in column]
        for column, width in zip(columns, widths, strict=True)
    ]
    return ["  ".join(row) for row in zip(names, *numbers, strict=True)]


def _weights(model: KernelModel) -> list[str]:
    """Draw the learnt weights of the kernels; of each task where they differ."""
    training = model.training
    if "mkl" in training:
        learnt = training["mkl"]
        names = np.repeat([short_name(k) for k in model.kernels], len(learnt) // len(model.kernels))
        labels = [f"{n} x {entry['label']}" for n, entry in zip(names, learnt, strict=True)]
        return _bars("learnt weights", labels, [entry["weight"] for entry in learnt])
    if "theta" not in training:
        return []
    theta = np.array(training["theta"])
    kernels = [short_name(kernel) for kernel in model.kernels]
    if np.ptp(theta, axis=0).max() <= _ALIKE * theta.max():
        return _bars("learnt weights, in all tasks", kernels, theta[0].tolist())
    lines = _bars("learnt weights, mean of the tasks", kernels, theta.mean(axis=0).tolist())
    width = max(map(len, model.tasks))
    rows = [f"  {name:<{width}}  " + " ".join(f"{v:.3f}" for v in row)
            for name, row in zip(model.tasks, theta, strict=True)]  # fmt: skip
    return [*lines, "learnt weights of every task, in the same order", *rows]


def _bars(title: str, labels: list[str], weights: list[float]) -> list[str]:
    text = draw_tree_text(labels, [()] * len(labels), weights)
    return [title, *(f"  {line}" for line in text.splitlines())]
