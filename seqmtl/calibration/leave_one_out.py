"""Scores of examples by models trained without them, approximated from the span."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.dcd import Solution
from seqmtl.core.rows import Rows
from seqmtl.core.weights import TaskWeights
from seqmtl.features._base import gram_matrix
from seqmtl.sequences.examples import Examples

_SPAN_SAMPLE = 500  # support vectors in each sample used to estimate the span


def left_out_scores(
    rows: Rows,
    examples: Examples,
    K: NDArray[np.float64],
    solution: Solution,
    upper: NDArray[np.float64],
    bias_scale: float,
) -> tuple[NDArray[np.float64], float]:
    """Approximate the score of every example by a model trained without it and its copies.

    Leaving out example i with dual variable alpha_i lowers its margin by alpha_i S_i^2, where S_i
    is its distance to the span of the other free support vectors (Vapnik, Chapelle 2000). Its
    copies are left out with it, whatever their tasks and labels, as they tell as much about its
    label as itself.

    Parameters
    ----------
    rows : Rows
        Examples, n of them.
    examples : Examples
        Their labels, tasks and weights.
    K : ndarray, shape (G, T, T)
        Task kernel of every view.
    solution : Solution
        Weights, dual variables and margins.
    upper : ndarray of float64, shape (n,)
        Upper bound of every dual variable.
    bias_scale : float
        Value of the constant feature.

    Returns
    -------
    scores : ndarray of float64, shape (n,)
    share : float
        S_i^2 of the examples at the upper bound, as a share of their kernel with themselves.
    """
    task_ids, views = examples.ids, rows.views
    copy_of = find_alike(rows, solution.weights)
    alpha, bounds = np.bincount(copy_of, solution.alpha), np.bincount(copy_of, upper)
    one_of_each = np.unique(copy_of, return_index=True)[1]

    def kernel_matrix(chosen: NDArray[np.int64]) -> NDArray[Any]:
        s, t = np.ix_(task_ids[chosen], task_ids[chosen])
        parts = zip(K, views, strict=True)
        return sum(K_g[s, t] * (gram_matrix(v.rows, chosen) + bias_scale**2) for K_g, v in parts)

    is_free = (alpha > 0) & (alpha < bounds)
    free, bound = one_of_each[is_free], one_of_each[alpha >= bounds]
    share_of_free, share_of_bound = span_shares(kernel_matrix, free, bound)
    shares = np.where(is_free, share_of_free, share_of_bound)[copy_of]
    parts = parts_of_copies(rows, task_ids, examples.y * solution.alpha, copy_of, K, bias_scale)
    return examples.y * solution.margins - shares * parts, share_of_bound


def parts_of_copies(
    rows: Rows,
    task_ids: NDArray[Any],
    dual_coef: NDArray[np.float64],
    copy_of: NDArray[np.int64],
    K: NDArray[np.float64],
    bias_scale: float,
) -> NDArray[np.float64]:
    """Return what an example and its copies add to its score, sum_j alpha_j y_j k(x_i, x_j).

    Parameters
    ----------
    rows : Rows
        Examples, n of them.
    task_ids : ndarray of int, shape (n,)
        Their tasks.
    dual_coef : ndarray of float64, shape (n,)
        alpha_i y_i.
    copy_of : ndarray of int64, shape (n,)
        Group of copies of every example, see :func:`find_copies`.
    K : ndarray, shape (G, T, T)
        Task kernel of every view.
    bias_scale : float
        Value of the constant feature.
    """
    T, total = K.shape[1], np.zeros(task_ids.size)
    # copies of one task are one; the others follow each other
    pairs, number = np.unique(copy_of * T + task_ids, return_inverse=True)
    group, task = np.divmod(pairs, T)
    sums = np.bincount(number, dual_coef)
    for view, K_g in zip(rows.views, K, strict=True):
        part = K_g[task, task] * sums
        for shift in range(1, T):
            i = np.flatnonzero(group[shift:] == group[:-shift])
            if not i.size:
                break
            part[i] += K_g[task[i], task[i + shift]] * sums[i + shift]
            part[i + shift] += K_g[task[i], task[i + shift]] * sums[i]
        total += part[number] * (view.rows.squared_norms() + bias_scale**2)
    return total


def span_shares(
    G_of: Callable[[NDArray[np.int64]], NDArray[Any]],
    free: NDArray[np.int64],
    bound: NDArray[np.int64],
) -> tuple[float, float]:
    """Estimate the mean of S_i^2 / k(x_i, x_i) over free support vectors, and over those at C.

    S_i is the distance of an example to the span of the other free support vectors: for a free
    one, S_i^2 is the inverse of the i-th diagonal element of the inverse of their kernel matrix G;
    for one at the upper bound, k(x_i, x_i) - k_i' G^-1 k_i (Vapnik, Chapelle 2000). Both are
    computed for samples, of the free ones also for a quarter of the sample, and extrapolated
    linearly in the logarithm of the number of free support vectors.

    Parameters
    ----------
    G_of : callable
        Returns the kernel matrix of the given examples, shape (m, m).
    free, bound : ndarray of int64
        The support vectors below the upper bound, and those at it.

    Returns
    -------
    of_free, of_bound : float
        Estimates, between 0 and 1; the second is the first if none is at the bound.
    """
    if free.size < 2:
        return 1.0, 1.0
    rng = np.random.default_rng(0)
    sample, others = (rng.permutation(rows)[:_SPAN_SAMPLE] for rows in (free, bound))
    m, few = sample.size, sample.size // 4
    G = G_of(np.concatenate([sample, others]))
    shares = _mean_shares(G, m)
    if 40 <= m < free.size:
        part = np.r_[:few, m : len(G)]
        slope = (shares - _mean_shares(G[np.ix_(part, part)], few)) / np.log(4.0)
        shares = np.clip(shares + slope * np.log(free.size / m), 0.0, 1.0)
    of_free, of_bound = shares.tolist()
    return of_free, of_bound


def _mean_shares(G: NDArray[Any], m: int) -> NDArray[np.float64]:
    """Return both means from a kernel matrix, whose first m examples are free."""
    diagonal = np.maximum(np.diagonal(G), 1e-300)
    inverse = np.linalg.inv(G[:m, :m] + 1e-6 * float(diagonal[:m].mean()) * np.eye(m))
    of_free = float(np.mean(1.0 / (np.diagonal(inverse) * diagonal[:m])))
    if m == len(G):
        return np.array([of_free, of_free])
    of_span = np.einsum("ij,ij->i", G[m:, :m] @ inverse, G[m:, :m])
    return np.array([of_free, float(np.mean(np.maximum(1.0 - of_span / diagonal[m:], 0.0)))])


def find_alike(rows: Rows, W: TaskWeights) -> NDArray[np.int64]:
    """Assign numbers to the distinct rows, whatever their tasks and labels.

    Copies have the same squared norm, and the same score by a random mixture of the weights W of
    the tasks that were trained on them.
    """
    rng = np.random.default_rng(0)
    mixture = np.zeros(W.shape[0], W.dtype)
    for V in W.tables:
        mixture += V @ rng.random((V.shape[1],)).astype(V.dtype)
    scores = rows.scores(mixture[:, np.newaxis], np.zeros(rows.n_rows, dtype=np.int16))
    return find_copies(scores, rows.squared_norms())


def find_copies(scores: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Assign numbers to the distinct examples; copies have the same score and squared norm.

    Returns
    -------
    ndarray of int64, shape (n,)
        Group of every example, from 0 to n_distinct - 1.
    """
    keys = _rounded(norms), _rounded(scores)
    order = np.lexsort(keys)
    is_new = [np.diff(key[order], prepend=np.nan) != 0 for key in keys]
    group = np.empty(scores.size, dtype=np.int64)
    group[order] = np.cumsum(np.any(is_new, axis=0)) - 1
    return group


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(values / max(float(np.abs(values).max(initial=0.0)), 1e-300), 10)
