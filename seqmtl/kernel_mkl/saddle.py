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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.norms import conjugate, norm_of
from seqmtl.kernel_mkl.descent import (
    ConvergenceMonitor,
    Iteration,
    KernelSolution,
    TrainedSVMs,
    train_svms,
)
from seqmtl.kernel_mkl.rules import Shared, trade_off
from seqmtl.kernel_mkl.svm import KernelSVM

Array = NDArray[np.float64]

_NEARNESS = 0.01  # weight of distances in lambda relative to theta; 1 is too slow for infinite p
_LONGER = 1.5  # growth of the next step
_SHORTEST = 1e-12  # step length below which rounding dominates


class SaddlePoint(NamedTuple):
    """Kernel weights, task weights, and the SVMs trained with the former."""

    theta: Array
    weights: Array
    trained: TrainedSVMs

    def step(self, at: SaddlePoint, rule: Shared, length: float) -> tuple[Array, Array]:
        """Return theta and lambda after a step from here with the derivatives of another point."""
        theta_slope, weights_slope = at.slopes
        return (
            step_in_ball(self.theta, theta_slope, length, rule.norm),
            step_in_ball(self.weights, weights_slope, length / _NEARNESS, conjugate(rule.p)),
        )

    @property
    def slopes(self) -> tuple[Array, Array]:
        """Derivatives for descent: of the saddle function in theta, minus that in lambda."""
        return -0.5 * (self.weights @ self.trained.q), -self.trained.g


def find_saddle(
    svms: Sequence[KernelSVM],
    rule: Shared,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
) -> KernelSolution:
    """Minimise (sum_t g_t^p)^(1/p), p > 1, to a certified duality gap.

    Parameters
    ----------
    svms : sequence of KernelSVM
        The SVM of every task, all with the same kernels.
    rule : Shared
        Trade-off p above 1, to infinity, and the norm on theta.
    tol : float
        Relative duality gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, shape (1, M), optional
        Initial theta.
    """
    if state is None:
        state = rule.start(len(svms), svms[0].n_kernels)
    trained = train_svms(state, svms, tol)
    now = best = SaddlePoint(state[0], trade_off(trained.g, rule.p), trained)
    lowest, bound, length = np.inf, -np.inf, 1.0
    monitor = ConvergenceMonitor(tol, max_iter)
    while True:
        g, q, totals = now.trained.g, now.trained.q, now.trained.totals
        for weights in (now.weights, trade_off(g, rule.p)):
            bound = max(bound, rule.bound(weights, totals, q))
        if rule.objective(g) < lowest:
            best, lowest = now, rule.objective(g)
        if (
            monitor.should_stop(Iteration(lowest, (lowest - bound) / lowest), now.trained)
            or length < _SHORTEST
        ):
            break
        now, length = _advance(svms, now, rule, tol, length)
        length *= _LONGER
    return KernelSolution(best.trained, best.theta[None], monitor.converged, monitor.history)


def _advance(
    svms: Sequence[KernelSVM], now: SaddlePoint, rule: Shared, tol: float, length: float
) -> tuple[SaddlePoint, float]:
    """Take one step; return its end and length."""
    while True:
        theta, weights = now.step(now, rule, length)
        ahead = SaddlePoint(theta, weights, train_svms(theta[None], svms, tol))
        theta, weights = now.step(ahead, rule, length)
        slopes = ahead.slopes
        strayed = slopes[0] @ (ahead.theta - theta) + slopes[1] @ (ahead.weights - weights)
        distance = divergence(theta, now.theta, rule.norm)
        distance += _NEARNESS * divergence(weights, now.weights, conjugate(rule.p))
        if length * strayed <= distance + 1e-15 or length < _SHORTEST:
            return SaddlePoint(theta, weights, train_svms(theta[None], svms, tol)), length
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
    """Return the point nearest to v >= 0 with x >= 0 and a sum not above 1."""
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
