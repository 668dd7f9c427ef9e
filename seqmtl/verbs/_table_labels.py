"""Labels of tables to train on: two classes or more, one class, or numbers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.verbs._examples import Examples

logger = logging.getLogger("seqmtl")


def of_one_class(examples: Examples) -> tuple[Examples, tuple[Any, ...]]:
    """Return the examples of the class to learn (the second of two), and both classes.

    Raises
    ------
    SeqmtlError
        If there are more than two classes.
    """
    known = (-1, 1) if examples.y is None else tuple(np.unique(examples.y).tolist())
    if len(known) > 2:
        raise SeqmtlError(f"labels must have one or two classes, got {len(known)}")
    if examples.y is None or len(known) < 2:
        return examples._replace(y=None), (-1, 1)
    rows = np.flatnonzero(examples.y == known[1])
    logger.info(
        "training on the %d examples of %s; leaving out the %d of %s",
        rows.size,
        known[1],
        len(examples.names) - rows.size,
        known[0],
    )
    tasks = None if examples.tasks is None else examples.tasks[rows]
    X, names = examples.X[rows], examples.names[rows]
    return examples._replace(X=X, y=None, tasks=tasks, names=names), known


def of_targets(examples: Examples) -> Examples:
    """Return the examples with their labels as numbers.

    Raises
    ------
    SeqmtlError
        If they are names of classes, or those of windows.
    """
    if not isinstance(examples.X, np.ndarray) or examples.y.dtype.kind not in "if":
        what = "names" if isinstance(examples.X, np.ndarray) else "windows of two classes"
        raise SeqmtlError(f"svr learns numbers in the label column of a table, got {what}")
    return examples._replace(y=examples.y.astype(np.float64))


def check_classes(estimator: Any, examples: Examples, method: str) -> None:
    """Check that a method can learn the classes.

    Raises
    ------
    SeqmtlError
        If not.
    """
    from sklearn.utils import get_tags

    y, n_classes = examples.y, np.unique(examples.y).size
    if y.dtype.kind == "f":
        first = y[(y % 1 != 0) | (np.abs(y) >= 2.0**53)][0]
        raise SeqmtlError(
            f"labels must be names or integers below 2**53, got {first}; name the column of "
            "classes with --label-column"
        )
    if n_classes > 2 and examples.tasks is not None:
        raise SeqmtlError(
            f"labels must have two classes if there are tasks, got {n_classes}; for more classes, "
            "use a table without a task column"
        )
    if n_classes > 2 and not get_tags(estimator).classifier_tags.multi_class:
        raise SeqmtlError(
            f"labels must have two classes with {method}, got {n_classes}; use pareto or "
            "another method with one SVM per task, which train one-vs-one"
        )
