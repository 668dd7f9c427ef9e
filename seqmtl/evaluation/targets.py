"""Errors of a regression by task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seqmtl.evaluation.shown import Evaluation


def evaluate_targets(
    targets: ArrayLike, predictions: ArrayLike, tasks: ArrayLike
) -> dict[str, Any]:
    """Evaluate predicted numbers by task.

    Parameters
    ----------
    targets, predictions : array-like of float, shape (n,)
        Numbers as they are and as they are predicted.
    tasks : array-like of str, shape (n,)
        Name of the task of each example.

    Returns
    -------
    dict
        JSON values: ``{"schema_version": 2, "tasks": {name: {"n", "r2", "absolute_error"}},
        "mean": {"r2", "absolute_error", "n_tasks"}}``. R^2 is None for a task whose targets are all
        the same, and the mean is over the others.
    """
    z, f, names = np.asarray(targets, float), np.asarray(predictions, float), np.asarray(tasks)
    found = {}
    for name in sorted(set(names.tolist())):
        own = names == name
        error, spread = z[own] - f[own], float(((z[own] - z[own].mean()) ** 2).sum())
        found[str(name)] = {
            "n": int(own.sum()),
            "r2": 1.0 - float((error**2).sum()) / spread if spread > 0.0 else None,
            "absolute_error": float(np.abs(error).mean()),
        }
    known = [task["r2"] for task in found.values() if task["r2"] is not None]
    mean = {
        "r2": float(np.mean(known)) if known else None,
        "absolute_error": float(np.mean([task["absolute_error"] for task in found.values()])),
        "n_tasks": len(known),
    }
    return Evaluation(schema_version=2, tasks=found, mean=mean)
