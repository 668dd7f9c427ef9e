"""Trade-offs between tasks with p > 1, up to the worst task, as a saddle-point problem.

    min over theta >= 0, ||theta||_q <= 1   max over lambda >= 0, ||lambda||_{p*} <= 1
        sum_t lambda_t g_t(theta),                         p* = p / (p - 1)

equals min (sum_t g_t^p)^(1/p). It is convex in theta and linear in lambda. Every step is taken
twice, the second time with the derivatives at the end of the first (extragradient, mirror prox);
its length is halved until the second ends near the first. The distances are those of
sum_m theta_m^q / q for q > 1, and Euclidean for q = 1 or infinity; likewise for lambda with p*. So
both blocks have closed forms. The dual variables are not updated by gradient steps: T SVMs maximise
over them, so that g_t is differentiable.

Weak duality: for every lambda in the ball and every alpha,
    sum_t lambda_t sum_i alpha_i - 1/2 || (sum_t lambda_t q_tm)_m ||_{q*} <= (sum_t g_t^p)^(1/p).

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Algorithm 1, Theorem 2; Tseng (2008);
Nemirovski (2005) for the halving.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.alternation import KernelSolution, Patience, Step, train_tasks
from seqmtl.solvers.kernel_set import conjugate, dual_norm, norm_of
from seqmtl.solvers.kernel_weights import trade_off
from seqmtl.solvers.svm import SVMSolution, TaskProblem

Array = NDArray[np.float64]

_NEARNESS = 0.01  # weight of distances in lambda relative to theta; 1 is too slow for infinite p
_LONGER = 1.5  # growth of the next step
_SHORTEST = 1e-12  # step length below which rounding dominates


class Point(NamedTuple):
    """Kernel weights, task weights, and the SVMs trained with them."""

    theta: Array
    weights: Array
    svms: list[SVMSolution]
    g: Array
    q: Array
    totals: Array

    @property
    def slopes(self) -> tuple[Array, Array]:
        """Return derivatives for descent: of the saddle function in theta, minus that in lambda."""
        return -0.5 * (self.weights @ self.q), -self.g


def find_saddle(
    tasks: list[TaskProblem],
    p: float,
    norm: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
    on_iteration: Callable[[Step], None] | None = None,
) -> KernelSolution:
    """Minimise (sum_t g_t^p)^(1/p), p > 1, to a certified duality gap.

    Parameters
    ----------
    tasks : list of TaskProblem
        The tasks, all with the same kernels.
    p : float
        Trade-off, above 1, to infinity.
    norm : float
        q of the norm on theta, 1 to infinity.
    tol : float
        Relative duality gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, shape (1, M), optional
        Initial theta.
    on_iteration : callable, optional
        Called after every iteration.
    """
    M = len(tasks[0].kernels)
    theta = np.full(M, M ** (-1.0 / norm)) if state is None else state[0]
    now = _look(tasks, theta, None, p, tol)
    best, lowest, bound, length = now, np.inf, -np.inf, 1.0
    history: list[Step] = []
    patience = Patience(tol)
    while True:
        objective = norm_of(now.g, p)
        bound = max(bound, _bound(now, now.weights, norm), _bound(now, trade_off(now.g, p), norm))
        if objective < lowest:
            best, lowest = now, objective
        history.append(Step(lowest, (lowest - bound) / lowest))
        if on_iteration is not None:
            on_iteration(history[-1])
        converged = history[-1].gap <= tol
        if converged or len(history) >= max_iter or length < _SHORTEST:
            break
        if patience.is_lost(now.svms):
            break
        now, length = _advance(tasks, now, p, norm, tol, length)
        length *= _LONGER
    theta = np.tile(best.theta, (len(tasks), 1))
    return KernelSolution(theta, best.theta[None], best.svms, *history[-1], converged, history)


def _look(
    tasks: list[TaskProblem], theta: Array, weights: Array | None, p: float, tol: float
) -> Point:
    """Train all tasks at theta; without given task weights, use the best for the outcome."""
    svms = train_tasks(tasks, theta[None], tol)
    g = np.array([svm.primal for svm in svms])
    return Point(
        theta,
        trade_off(g, p) if weights is None else weights,
        svms,
        g,
        np.array([svm.q for svm in svms]),
        np.array([svm.total for svm in svms]),
    )


def _bound(point: Point, weights: Array, norm: float) -> float:
    """Return the dual objective for the alphas of a point and given task weights."""
    return float(weights @ point.totals) - 0.5 * dual_norm(weights @ point.q, norm)


def _advance(
    tasks: list[TaskProblem], now: Point, p: float, norm: float, tol: float, length: float
) -> tuple[Point, float]:
    """Take one step; return its end and length."""
    dual = conjugate(p)
    slopes = now.slopes
    while True:
        ahead = _look(
            tasks,
            step_in_ball(now.theta, slopes[0], length, norm),
            step_in_ball(now.weights, slopes[1], length / _NEARNESS, dual),
            p,
            tol,
        )
        theta = step_in_ball(now.theta, ahead.slopes[0], length, norm)
        weights = step_in_ball(now.weights, ahead.slopes[1], length / _NEARNESS, dual)
        strayed = ahead.slopes[0] @ (ahead.theta - theta) + ahead.slopes[1] @ (
            ahead.weights - weights
        )
        distance = divergence(theta, now.theta, norm)
        distance += _NEARNESS * divergence(weights, now.weights, dual)
        if length * strayed <= distance + 1e-15 or length < _SHORTEST:
            return _look(tasks, theta, weights, p, tol), length
        length *= 0.5


def step_in_ball(v: Array, slope: Array, length: float, r: float) -> Array:
    """Return the x >= 0, ||x||_r <= 1 that minimises length <slope, x> + D(x, v).

    D is the Bregman divergence of sum x^r / r, or Euclidean for r = 1 and infinity (Li et al.
    2014, Theorem 2).
    """
    if np.isinf(r):
        return np.clip(v - length * slope, 0.0, 1.0)
    if r == 1.0:
        return _project_on_simplex(np.maximum(v - length * slope, 0.0))
    z = np.maximum(v ** (r - 1.0) - length * slope, 0.0)
    largest = float(z.max())
    if largest == 0.0:
        return z
    x = (z / largest) ** (1.0 / (r - 1.0))
    size, scale = norm_of(x, r), np.log(largest) / (r - 1.0)  # powers of large numbers overflow
    return x / size if np.log(size) + scale >= 0.0 else x * np.exp(scale)


def _project_on_simplex(v: Array) -> Array:
    """Return the point nearest to v >= 0 with x >= 0 and a sum of at most 1."""
    if v.sum() <= 1.0:
        return v
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, v.size + 1)
    return np.maximum(v - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def divergence(x: Array, v: Array, r: float) -> float:
    """Return D(x, v) of :func:`step_in_ball`."""
    if r == 1.0 or np.isinf(r):
        return 0.5 * float(((x - v) ** 2).sum())
    return float(((x**r - v**r) / r - v ** (r - 1.0) * (x - v)).sum())
