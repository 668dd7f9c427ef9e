"""Multi-class classification by one-vs-one tasks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def split_pairs(
    y: NDArray[Any], classes: NDArray[Any]
) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float64], NDArray[np.int16]]:
    """Turn a problem with k classes into k (k - 1) / 2 binary tasks.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Class of every example.
    classes : ndarray, shape (k,)
        All classes, sorted.

    Returns
    -------
    names : tuple of str
        ``"a vs b"`` for every pair a < b, in the order (0, 1), (0, 2), ..., (1, 2), ...
    rows : ndarray of int64, shape (n (k - 1),)
        Indices of the examples, task by task.
    signs : ndarray of float64
        -1 for a and +1 for b.
    ids : ndarray of int16
        Task of every row.
    """
    names, rows, signs, ids = [], [], [], []
    for t, (a, b) in enumerate(combinations(range(classes.size), 2)):
        names.append(f"{classes[a]} vs {classes[b]}")
        pair = np.flatnonzero((y == classes[a]) | (y == classes[b]))
        rows.append(pair)
        signs.append(np.where(y[pair] == classes[b], 1.0, -1.0))
        ids.append(np.full(pair.size, t, dtype=np.int16))
    return tuple(names), np.concatenate(rows), np.concatenate(signs), np.concatenate(ids)


def vote(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Count the votes of the pairs for every class; sums of scores break ties.

    Parameters
    ----------
    scores : ndarray, shape (n, n_pairs)
        Scores of the pairs; positive for the second class.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Number of votes plus a confidence between -1/3 and 1/3.
    """
    votes = np.zeros((len(scores), n_classes))
    sums = np.zeros_like(votes)
    for column, (a, b) in zip(scores.T, combinations(range(n_classes), 2), strict=True):
        votes[:, b] += column > 0
        votes[:, a] += column <= 0
        sums[:, b] += column
        sums[:, a] -= column
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
