"""Calibrate scores task by task: class probabilities, novelty thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.core.dcd import Solution
from seqmtl.core.problem import kernel_diagonal
from seqmtl.core.rows import Rows
from seqmtl.features._base import gram_matrix
from seqmtl.models.examples import Examples

#: The kinds of models, with the calibration parameters that each has per task.
CALIBRATION: dict[str, tuple[str, ...]] = {
    "classification": ("slope", "intercept"),
    "regression": (),
    "novelty": ("offset",),
}
_MOST_STEPS = 100
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


def fit_sigmoid(
    scores: NDArray[np.float64], y: NDArray[Any], weight: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    """Fit P(y = 1) = 1 / (1 + exp(-(a s + b))) with Platt's regularised likelihood.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Scores of examples not used for training, or leave-one-out estimates.
    y : ndarray, shape (n,)
        Labels; positive means +1.
    weight : ndarray, shape (n,), optional
        Weight of every example.

    Returns
    -------
    a, b : float
        Slope (non-negative) and intercept.

    Notes
    -----
    On Platt's (1999) targets (n_+ + 1) / (n_+ + 2) and 1 / (n_- + 2).
    """
    weight = np.ones_like(scores) if weight is None else weight
    positive = y > 0
    n_positive, n_negative = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    center = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - center) ** 2, weights=weight))) or 1.0
    start = np.array([1.0, np.log((n_positive + 1) / (n_negative + 1))])
    X = np.column_stack([(scores - center) / spread, np.ones_like(scores)])
    ridge = np.full(2, 1e-10)
    w = fit_logistic(X, target, weight, start, np.zeros(2), ridge, least=-np.inf)
    a = max(float(w[0]), 0.0) / spread
    return a, float(w[1]) - a * center


def fit_logistic(
    X: NDArray[np.float64],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
    center: NDArray[np.float64],
    ridge: NDArray[np.float64],
    least: float = 0.0,
) -> NDArray[np.float64]:
    """Fit a logistic regression whose coefficients, but for the last, have a lower bound.

        min over a   sum_i p_i (log(1 + exp(<a, x_i>)) - q_i <a, x_i>) + 1/2 sum_j r_j (a_j - c_j)^2

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        x_i; the last column is of ones.
    target, weight : ndarray of float64, shape (n,)
        q_i, from 0 to 1, and p_i.
    start, center, ridge : ndarray of float64, shape (d,)
        Coefficients to begin with, c, and r > 0.
    least : float
        The lower bound.

    Returns
    -------
    ndarray of float64, shape (d,)

    Notes
    -----
    Projected Newton steps with step halving (Bertsekas 1982), in the numerically stable form of
    Lin, Lin, Weng (2007).
    """

    def value(a: NDArray[np.float64]) -> float:
        z = X @ a
        losses = weight @ (np.logaddexp(0.0, z) - target * z)
        return float(losses + 0.5 * (ridge * (a - center) ** 2).sum())

    a, current = start, value(start)
    for _ in range(_MOST_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(X @ a, -500, 500)))
        gradient = X.T @ (weight * (p - target)) + ridge * (a - center)
        free = (a > least) | (gradient < 0.0)
        free[-1] = True
        active = X[:, free]
        H = (active * (weight * p * (1.0 - p))[:, None]).T @ active + np.diag(ridge[free])
        step = np.zeros(a.size)
        step[free] = np.linalg.solve(H, gradient[free])
        before, size = current, 1.0
        while size > 1e-10:
            new = a - size * step
            new[:-1] = np.maximum(new[:-1], least)
            if (trial := value(new)) < current:
                a, current = new, trial
                break
            size *= 0.5
        if before - current < 1e-14 * (1.0 + abs(before)):
            break
    return a


def calibrate_tasks(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    tasks: NDArray[Any],
    n_tasks: int,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Fit one sigmoid per task; return slopes and intercepts, shape (n_tasks, 2)."""

    def fit(t: int) -> tuple[float, float]:
        rows = np.flatnonzero(tasks == t)
        return fit_sigmoid(scores[rows], y[rows], None if weight is None else weight[rows])

    return np.array(list(in_order(fit, range(n_tasks))))
