"""Kernel weights of several tasks: block descent, and a saddle-point method.

Block descent trains one SVM per task, then weights the kernels in closed form.

As weights tend to 0 the steps become small and all alike. Therefore steps are extrapolated in the
logarithm of the weights, doubling their length as long as the objective decreases. Otherwise the
plain step is taken, which never increases it.

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Section 3.2 (p = 1) and Algorithm 2 (p < 1);
Widmer et al. (2015), Section 3.1, for one task.

Trade-offs between tasks with p > 1, up to the worst task, as a saddle-point problem.

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
from seqmtl.tables.rules import Shared, WeightRule, trade_off
from seqmtl.tables.svm import Machine, SVMSolution

Array = NDArray[np.float64]

_SVM_SHARE = 0.1  # tolerance on the optimality conditions of each SVM, relative to the overall one
_SVM_LEAST = 1e-9
_STALLED = 10  # iterations with unsolved SVMs after which to give up: kernels too ill-conditioned
_FARTHEST = 32.0  # largest extrapolation factor of a step
_DEEPEST = 4.6  # largest decrease of a weight in one extrapolated step, in its logarithm
_SETTLED = 0.01  # decrease of the objective, in tolerances, that ends it if the gap is unknown


class Step(NamedTuple):
    """One iteration: the objective, and the relative gap (NaN if unknown)."""

    objective: float
    gap: float


class Look(NamedTuple):
    """The SVMs trained with given kernel weights.

    Attributes
    ----------
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    svms : list of SVMSolution
        One per task.
    """

    theta: Array
    svms: list[SVMSolution]

    @classmethod
    def at(cls, theta: Array, machines: Sequence[Machine], tol: float) -> Look:
        """Train the SVM of every task; a single row of theta applies to all."""
        theta = np.tile(theta, (len(machines) // len(theta), 1))
        least = max(_SVM_SHARE * tol, _SVM_LEAST)
        svms = [svm.solve(row, least) for svm, row in zip(machines, theta, strict=True)]
        return cls(theta, svms)

    @property
    def g(self) -> Array:
        """Objectives of the tasks, shape (T,)."""
        return np.array([svm.primal for svm in self.svms])

    @property
    def q(self) -> Array:
        """q_tm, shape (T, M)."""
        return np.array([svm.q for svm in self.svms])

    @property
    def totals(self) -> Array:
        """Dual objectives without their quadratic terms, shape (T,); sum_i alpha_i of an SVC."""
        return np.array(
            [s.dual + 0.5 * (row @ s.q) for s, row in zip(self.svms, self.theta, strict=True)]
        )


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and their SVMs.

    Attributes
    ----------
    look : Look
        Kernel weights of every task, and the SVMs trained with them.
    state : ndarray of float64
        State from which the solver can resume.
    converged : bool
        Whether the tolerance was reached.
    history : list of Step
        One per iteration.
    """

    look: Look
    state: Array
    converged: bool
    history: list[Step]

    @property
    def objective(self) -> float:
        """Objective."""
        return self.history[-1].objective

    @property
    def gap(self) -> float:
        """Relative gap; NaN if unknown."""
        return self.history[-1].gap


class Watch:
    """The iterations of a solver so far, and whether it should stop.

    Attributes
    ----------
    history : list of Step
        One per iteration.
    converged : bool
        Whether the tolerance was reached.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.history: list[Step] = []
        self.converged = False
        self._tol, self._max_iter, self._n_unsolved = tol, max_iter, 0

    def is_over(self, step: Step, look: Look, moved: float = np.inf) -> bool:
        """Record an iteration; tell whether it is good enough, the last one, or in vain.

        Without a gap, the decrease of the objective and the distance `moved` by the weights must be
        small. The decrease alone is not enough: if all weights are tiny, they move while it is.
        """
        self.history.append(step)
        if not np.isnan(step.gap):
            self.converged = step.gap <= self._tol
        elif moved <= self._tol:
            decrease = self.history[-2].objective - step.objective
            self.converged = decrease <= _SETTLED * self._tol * step.objective
        is_solved = max(svm.gap for svm in look.svms) <= self._tol
        self._n_unsolved = 0 if is_solved else self._n_unsolved + 1
        is_lost = self._n_unsolved >= _STALLED
        return self.converged or is_lost or len(self.history) >= self._max_iter


def descend(
    machines: Sequence[Machine],
    rule: WeightRule,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
) -> KernelSolution:
    """Alternate until the gap, or the decrease of the objective, is small.

    Parameters
    ----------
    machines : sequence of Machine
        The SVM of every task, all with the same number of kernels.
    rule : WeightRule
        Rule by which kernels are weighted.
    tol : float
        Relative gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, optional
        Initial state; weights that are 0 stay 0.
    """

    def look_at(state: Array) -> tuple[Look, Step]:
        look = Look.at(rule.theta(state), machines, tol)
        g = look.g
        return look, Step(rule.objective(g), rule.gap(g, look.totals, look.q))

    if state is None:
        state = rule.start(len(machines), machines[0].n_kernels)
    look, step = look_at(state)
    watch, reach, moved = Watch(tol, max_iter), 1.0, np.inf
    while not watch.is_over(step, look, moved):
        old, before = state, step
        plain = rule.step(old, look.g, look.q)
        state = rule.rescale(_extend(old, plain, reach))
        look, step = look_at(state)
        if step.objective > before.objective and reach > 1.0:
            state, reach = plain, 1.0
            look, step = look_at(state)
        moved = float(np.abs(state - old).max() / state.max())
        reach = min(2.0 * reach, _FARTHEST)
    return KernelSolution(look, state, watch.converged, watch.history)


def _extend(old: Array, new: Array, reach: float) -> Array:
    """Return old (new / old)^reach with limited decrease; 0 stays 0."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_DEEPEST))


_NEARNESS = 0.01  # weight of distances in lambda relative to theta; 1 is too slow for infinite p
_LONGER = 1.5  # growth of the next step
_SHORTEST = 1e-12  # step length below which rounding dominates


class Point(NamedTuple):
    """Kernel weights, task weights, and the SVMs trained with the former."""

    theta: Array
    weights: Array
    look: Look

    def move(self, at: Point, rule: Shared, length: float) -> tuple[Array, Array]:
        """Return theta and lambda after a step from here with the derivatives of another point."""
        theta_slope, weights_slope = at.slopes
        return (
            step_in_ball(self.theta, theta_slope, length, rule.norm),
            step_in_ball(self.weights, weights_slope, length / _NEARNESS, conjugate(rule.p)),
        )

    @property
    def slopes(self) -> tuple[Array, Array]:
        """Derivatives for descent: of the saddle function in theta, minus that in lambda."""
        return -0.5 * (self.weights @ self.look.q), -self.look.g


def find_saddle(
    machines: Sequence[Machine],
    rule: Shared,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
) -> KernelSolution:
    """Minimise (sum_t g_t^p)^(1/p), p > 1, to a certified duality gap.

    Parameters
    ----------
    machines : sequence of Machine
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
        state = rule.start(len(machines), machines[0].n_kernels)
    look = Look.at(state, machines, tol)
    now = best = Point(state[0], trade_off(look.g, rule.p), look)
    lowest, bound, length = np.inf, -np.inf, 1.0
    watch = Watch(tol, max_iter)
    while True:
        g, q, totals = now.look.g, now.look.q, now.look.totals
        for weights in (now.weights, trade_off(g, rule.p)):
            bound = max(bound, rule.bound(weights, totals, q))
        if rule.objective(g) < lowest:
            best, lowest = now, rule.objective(g)
        if watch.is_over(Step(lowest, (lowest - bound) / lowest), now.look) or length < _SHORTEST:
            break
        now, length = _advance(machines, now, rule, tol, length)
        length *= _LONGER
    return KernelSolution(best.look, best.theta[None], watch.converged, watch.history)


def _advance(
    machines: Sequence[Machine], now: Point, rule: Shared, tol: float, length: float
) -> tuple[Point, float]:
    """Take one step; return its end and length."""
    while True:
        theta, weights = now.move(now, rule, length)
        ahead = Point(theta, weights, Look.at(theta[None], machines, tol))
        theta, weights = now.move(ahead, rule, length)
        slopes = ahead.slopes
        strayed = slopes[0] @ (ahead.theta - theta) + slopes[1] @ (ahead.weights - weights)
        distance = divergence(theta, now.theta, rule.norm)
        distance += _NEARNESS * divergence(weights, now.weights, conjugate(rule.p))
        if length * strayed <= distance + 1e-15 or length < _SHORTEST:
            return Point(theta, weights, Look.at(theta[None], machines, tol)), length
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
