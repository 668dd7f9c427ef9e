"""Calibrate scores task by task: class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order

#: The kinds of models, with the calibration parameters that each has per task.
CALIBRATION: dict[str, tuple[str, ...]] = {
    "classification": ("slope", "intercept"),
    "regression": (),
}
_MOST_STEPS = 100
_MIN_RISE = 0.01  # of the log-odds over all scores


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
        Slope and intercept; the slope is never 0, so order is preserved.

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
    least = _MIN_RISE * spread / (float(np.ptp(scores)) or 1.0)
    start = np.array([1.0, np.log((n_positive + 1) / (n_negative + 1))])
    X = np.column_stack([(scores - center) / spread, np.ones_like(scores)])
    ridge = np.full(2, 1e-10)
    w = fit_logistic(X, target, weight, start, np.zeros(2), ridge, least)
    a = float(w[0]) / spread
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
