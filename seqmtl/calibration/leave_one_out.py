"""Scores of examples by models trained without them, approximated from the span."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.dcd import Solution
from seqmtl.core.problem import kernel_diagonal
from seqmtl.core.rows import Rows
from seqmtl.features._base import gram_matrix
from seqmtl.sequences.examples import Examples

_SPAN_SAMPLE = 500  # support vectors in the sample used to estimate the span


def left_out_scores(
    rows: Rows,
    examples: Examples,
    K: NDArray[np.float64],
    solution: Solution,
    upper: NDArray[np.float64],
    bias_scale: float,
) -> tuple[NDArray[np.float64], float]:
    """Approximate the score of every example by a model trained without it.

    Leaving out example i with dual variable alpha_i lowers its margin by alpha_i S_i^2 (Vapnik,
    Chapelle 2000). Copies of an example share its alpha equally.

    Parameters
    ----------
    rows : Rows
        Examples, n of them.
    examples : Examples
        Their labels, tasks and weights.
    K : ndarray, shape (G, T, T)
        Task kernel of every view.
    solution : Solution
        Dual variables and margins.
    upper : ndarray of float64, shape (n,)
        Upper bound of every dual variable.
    bias_scale : float
        Value of the constant feature.

    Returns
    -------
    scores : ndarray of float64, shape (n,)
    share : float
        S_i^2 as a share of the kernel of an example with itself.
    """
    y, task_ids, views = examples.y, examples.ids, rows.views
    scores, norms = y * solution.margins, rows.squared_norms()
    copy_of = find_copies(scores, norms, y)
    alpha = np.bincount(copy_of, solution.alpha)
    n_copies = np.bincount(copy_of, examples.weight)
    one_of_each = np.unique(copy_of, return_index=True)[1]

    def kernel_matrix(chosen: NDArray[np.int64]) -> NDArray[Any]:
        s, t = np.ix_(task_ids[chosen], task_ids[chosen])
        parts = zip(K, views, strict=True)
        return sum(K_g[s, t] * (gram_matrix(v.rows, chosen) + bias_scale**2) for K_g, v in parts)

    share = span_share(
        kernel_matrix, one_of_each[(alpha > 0) & (alpha < np.bincount(copy_of, upper))]
    )
    diagonal = kernel_diagonal(rows, task_ids, K, bias_scale)
    return scores - y * share * diagonal * (alpha / n_copies)[copy_of], share


def span_share(G_of: Callable[[NDArray[np.int64]], NDArray[Any]], free: NDArray[np.int64]) -> float:
    """Estimate the mean of S_i^2 / k(x_i, x_i) over the free support vectors.

    S_i is the distance of an example to the span of the other free support vectors; S_i^2 is the
    inverse of the i-th diagonal element of the inverse kernel matrix (Vapnik, Chapelle 2000). It
    is computed for a sample and for a quarter of it, and extrapolated linearly in the logarithm
    of the number of support vectors.

    Parameters
    ----------
    G_of : callable
        Returns the kernel matrix of the given examples, shape (m, m).
    free : ndarray of int64
        The free support vectors.

    Returns
    -------
    float
        Estimate, between 0 and 1.
    """
    if free.size < 2:
        return 1.0
    sample = np.random.default_rng(0).permutation(free)[:_SPAN_SAMPLE]
    large = _mean_share(G_of(np.sort(sample)))
    if sample.size == free.size or sample.size < 40:
        return large
    small = _mean_share(G_of(np.sort(sample[: sample.size // 4])))
    slope = (large - small) / np.log(4.0)
    return float(np.clip(large + slope * np.log(free.size / sample.size), 0.0, 1.0))


def _mean_share(G: NDArray[Any]) -> float:
    diagonal = np.maximum(np.diagonal(G), 1e-300)
    inverse = np.linalg.inv(G + 1e-6 * float(diagonal.mean()) * np.eye(G.shape[0]))
    return float(np.mean(1.0 / (np.diagonal(inverse) * diagonal)))


def find_copies(
    scores: NDArray[np.float64], norms: NDArray[np.float64], y: NDArray[Any]
) -> NDArray[np.int64]:
    """Assign numbers to the distinct examples; copies have the same score, squared norm and label.

    Returns
    -------
    ndarray of int64, shape (n,)
        Group of every example, from 0 to n_distinct - 1.
    """
    rounded = _rounded(scores)
    order = np.argsort(rounded)
    is_same = np.diff(rounded[order]) == 0
    is_tied = np.append(is_same, False) | np.append(False, is_same)
    tied = order[is_tied]  # few, so that they can be sorted by all keys
    keys = (np.asarray(y)[tied], _rounded(norms)[tied], rounded[tied])
    ranks = np.lexsort(keys)
    order[is_tied] = tied[ranks]
    is_new = np.append(False, ~is_same)
    for key in keys[:2]:
        is_new[np.flatnonzero(is_tied)[1:]] |= np.diff(key[ranks]) != 0
    group = np.empty(scores.size, dtype=np.int64)
    group[order] = np.cumsum(is_new)
    return group


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(values / max(float(np.abs(values).max(initial=0.0)), 1e-300), 10)
