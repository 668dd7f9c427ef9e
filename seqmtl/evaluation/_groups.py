"""Validate labels, scores and tasks, and split them by task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class TaskGroup:
    """The examples of one task, in their original order.

    Attributes
    ----------
    name : str
        Name of the task.
    positive : ndarray of bool, shape (n,)
        Whether the label is positive.
    scores : ndarray of float64, shape (n,)
        Finite scores (or probabilities).
    counts : ndarray of float64, shape (n,)
        Number of examples that each row represents.
    blocks : ndarray of float64, shape (n,)
        Number of the part of the genome of each row; 0 if there are no parts.
    """

    name: str
    positive: NDArray[np.bool_]
    scores: NDArray[np.float64]
    counts: NDArray[np.float64]
    blocks: NDArray[np.float64]

    @property
    def has_both_classes(self) -> bool:
        """Whether the task has both classes, as ranking metrics require."""
        return bool(self.positive.any() and not self.positive.all())


def check_labels(labels: ArrayLike) -> NDArray[np.bool_]:
    """Convert labels of -1/+1, 0/1 or bool to a boolean array that is True for positives.

    Raises
    ------
    ValueError
        If there are no labels, they are not one-dimensional, or they have other values.
    """
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"labels must be a non-empty vector, got shape {array.shape}; "
            "give one label per example"
        )
    if array.dtype == np.bool_:
        return array
    values = set(np.unique(array).tolist())
    if not (values <= {-1, 1} or values <= {0, 1}):
        shown = ", ".join(repr(value) for value in sorted(values, key=str)[:5])
        raise ValueError(f"labels must be -1/+1 or 0/1, got {shown}; recode them")
    return np.asarray(array == 1)


def check_scores(scores: ArrayLike, n: int, name: str = "scores") -> NDArray[np.float64]:
    """Return `scores` as finite float64 of length `n`.

    Raises
    ------
    ValueError
        If the length differs from that of the labels, or a score is NaN or infinite.
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one value for each of the {n} labels, got shape {array.shape}; "
            "give one per example"
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(
            f"{name} must be finite, got {array[bad[0]]} at index {bad[0]} ({bad.size} in all); "
            "leave these examples out, or find out why they have no score"
        )
    return array


def check_probabilities(probabilities: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return `probabilities` as float64 of length `n`, all in [0, 1].

    Raises
    ------
    ValueError
        As `check_scores`, or if a value lies outside [0, 1].
    """
    array = check_scores(probabilities, n, "probabilities")
    if array.min() < 0 or array.max() > 1:
        outside = array[(array < 0) | (array > 1)][0]
        raise ValueError(
            f"probabilities must be between 0 and 1, got {outside:g}; calibrate the scores first"
        )
    return array


def group_by_task(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    counts: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
) -> list[TaskGroup]:
    """Split validated labels and scores by task, tasks in the order of their first example.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task of each example.
    counts : array-like of float, shape (n,), optional
        Number of examples that each row represents. Default: 1.
    blocks : array-like of int, shape (n,), optional
        Number of the part of the genome of each row. Default: 0.

    Raises
    ------
    ValueError
        If lengths differ, a label is invalid, or a score is not finite.
    """
    positive = check_labels(labels)
    n = positive.size
    columns = [
        positive,
        check_scores(scores, n),
        np.ones(n) if counts is None else check_scores(counts, n, "counts"),
        np.zeros(n) if blocks is None else check_scores(blocks, n, "blocks"),
    ]
    names = np.asarray(tasks)
    if names.shape != positive.shape:
        raise ValueError(
            f"tasks must have one name for each of the {n} labels, "
            f"got shape {names.shape}; name the task of every example"
        )
    if names.dtype.kind != "U":
        names = names.astype(str)
    unique, first, inverse, sizes = np.unique(
        names, return_index=True, return_inverse=True, return_counts=True
    )
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(sizes)[:-1])
    return [
        TaskGroup(str(unique[t]), *(column[rows[t]] for column in columns))
        for t in np.argsort(first)
    ]
