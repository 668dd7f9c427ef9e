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

_SPAN_SAMPLE = 500  # support vectors in the sample used to estimate the span


def left_out_scores(
    rows: Rows,
    examples: Examples,
    K: NDArray[np.float64],
    solution: Solution,
    upper: NDArray[np.float64],
    bias_scale: float,
) -> tuple[NDArray[np.float64], float]:
    """Approximate the score of every example by a model trained without it and its copies.

    Leaving out example i with dual variable alpha_i lowers its margin by alpha_i S_i^2 (Vapnik,
    Chapelle 2000). Its copies are left out with it, whatever their tasks and labels, as they tell
    as much about its label as itself.

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
        S_i^2 as a share of the kernel of an example with itself.
    """
    task_ids, views = examples.ids, rows.views
    copy_of = find_alike(rows, solution.weights)
    alpha = np.bincount(copy_of, solution.alpha)
    one_of_each = np.unique(copy_of, return_index=True)[1]

    def kernel_matrix(chosen: NDArray[np.int64]) -> NDArray[Any]:
        s, t = np.ix_(task_ids[chosen], task_ids[chosen])
        parts = zip(K, views, strict=True)
        return sum(K_g[s, t] * (gram_matrix(v.rows, chosen) + bias_scale**2) for K_g, v in parts)

    share = span_share(
        kernel_matrix, one_of_each[(alpha > 0) & (alpha < np.bincount(copy_of, upper))]
    )
    parts = parts_of_copies(rows, task_ids, examples.y * solution.alpha, copy_of, K, bias_scale)
    return examples.y * solution.margins - share * parts, share


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


def find_alike(rows: Rows, W: TaskWeights | None = None) -> NDArray[np.int64]:
    """Assign numbers to the distinct rows, whatever their tasks and labels.

    Copies have the same squared norm, and the same score by a random mixture of the weights W of
    the tasks that were trained on them, or by random weights.
    """
    rng = np.random.default_rng(0)
    if W is None:
        mixture = rng.random(rows.n_features, dtype=np.float32)
    else:
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
    rounded = _rounded(scores)
    order = np.argsort(rounded)
    is_same = np.diff(rounded[order]) == 0
    is_tied = np.append(is_same, False) | np.append(False, is_same)
    tied = order[is_tied]  # few, so that they can be sorted by both keys
    norms = _rounded(norms)[tied]
    ranks = np.lexsort((norms, rounded[tied]))
    order[is_tied] = tied[ranks]
    is_new = np.append(False, ~is_same)
    is_new[np.flatnonzero(is_tied)[1:]] |= np.diff(norms[ranks]) != 0
    group = np.empty(scores.size, dtype=np.int64)
    group[order] = np.cumsum(is_new)
    return group


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(values / max(float(np.abs(values).max(initial=0.0)), 1e-300), 10)
