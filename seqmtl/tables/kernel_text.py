"""The readable summary of a model of kernels."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from seqmtl.kernels import short_name
from seqmtl.models.training_text import calibration_text
from seqmtl.similarity.tree_text import draw_tree_text

_SHOWN = (
    "C",
    "p",
    "q",
    "norm",
    "share",
    "epsilon",
    "regularizer",
    "tol",
    "balanced",
    "task_kernel",
)
_OF_TASKS = {"objectives": "objective", "losses": "loss", "weights": "trade-off weight"}
_ALIKE = 1e-6  # relative to the largest weight: below, tasks are shown as having the same weights


def kernel_text(model: Any, file: str) -> list[str]:
    """Return the summary of a KernelModel, line by line; `file` is the name to show."""
    training = model.training
    settings = ", ".join(f"{name}={training[name]}" for name in _SHOWN if name in training)
    return [
        f"model          {file}, {training.get('method', 'kernels')}",
        *_wrapped("examples", _examples(model)),
        *_wrapped("classes", ", ".join(map(str, model.classes)) or "none: regression"),
        *_wrapped("kernels", "; ".join(short_name(kernel) for kernel in model.kernels)),
        f"support        {training.get('n_support', len(model.amounts)):,} vectors"
        + (f" of {training['n']:,} examples" if "n" in training else ""),
        f"settings       {settings}",
        *_solution(training),
        *_tasks(model),
        *_weights(model),
        *calibration_text(training),
    ]


def _wrapped(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        100,
        initial_indent=f"{title:<15}",
        subsequent_indent=" " * 15,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _examples(model: Any) -> str:
    """Describe the type of the examples."""
    if model.inputs == "windows":
        return f"windows of {model.length} bases"
    names = ", ".join(model.feature_names)
    if model.inputs == "sequences":
        return f"sequences{f' of the column {names}' if names else ''}"
    scaled = any(kernel.is_standardized for kernel in model.kernels)
    return f"{model.length} numbers{', standardized' * scaled}{f': {names}' if names else ''}"


def _solution(training: dict[str, Any]) -> list[str]:
    """Describe the solution: objective, duality gap, epochs."""
    known = [(name, training[name]) for name in ("objective", "gap", "n_iter") if name in training]
    stopped = "" if training.get("converged", True) else " (stopped before the tolerance)"
    text = ", ".join(f"{name} {value:.6g}" for name, value in known)
    return [f"solution       {text}{stopped}"] if known else []


def _tasks(model: Any) -> list[str]:
    """List what is known of every task, in columns."""
    training, lines = model.training, []
    support = np.bincount(model.task_ids, minlength=len(model.tasks))
    counts = training.get("tasks", {})
    values = {"n": "examples", "n_positive": f"of {model.classes[-1]}" if model.classes else ""}
    known = [key for key in values if all(key in counts.get(name, {}) for name in model.tasks)]
    for t, name in enumerate(model.tasks):
        row = {} if "losses" in training else {"support": f"{support[t]:,}"}
        row |= {values[key]: f"{counts[name][key]:,}" for key in known}
        row |= {
            title: f"{training[key][t]:.4g}" for key, title in _OF_TASKS.items() if key in training
        }
        lines += [["tasks", *row]] * (t == 0) + [[name, *row.values()]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])
        for name, *cells in lines
    ]


def _weights(model: Any) -> list[str]:
    """Draw the learnt kernel weights, per task if they differ."""
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
    rows = [
        f"  {name:<{width}}  " + " ".join(f"{v:.3f}" for v in row)
        for name, row in zip(model.tasks, theta, strict=True)
    ]
    return [*lines, "learnt weights of every task, in the same order", *rows]


def _bars(title: str, labels: list[str], weights: list[float]) -> list[str]:
    text = draw_tree_text(labels, [()] * len(labels), weights)
    return [title, *(f"  {line}" for line in text.splitlines())]
