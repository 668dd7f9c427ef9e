"""Rules by which several tasks weight several kernels: the closed-form steps of block descent.

Task t has the kernel sum_m theta_tm k_m and the objective g_t(theta_t) of
:mod:`seqmtl.kernel_mkl.svm`. A rule defines the feasible theta and the objective over them:

==================  ==========================================  ================================
rule                feasible                                    objective
==================  ==========================================  ================================
:class:`Shared`     theta_t = theta, ||theta||_norm <= 1        (sum_t g_t^p)^(1/p), p = power
:class:`Separate`   ||theta_t||_norm <= 1                       sum_t g_t
==================  ==========================================  ================================

The unknowns of a rule are its *state*, which `theta` converts to the weights of every task. A step
moves to the optimal state for the current functions: with these fixed, the objectives are

    g_t = losses + 1/2 sum_m a_tm / theta_tm,   a_tm = ||w_tm||^2 = theta_tm^2 q_tm   (2014, eq. 2)

with the energies q_tm of the SVMs, and bound those after training again from above, so no step
increases the objective. The optimum minimises sum_tm lambda_t a_tm / theta_tm for weights lambda_t
of the tasks, which are 1 where the objective is a sum. A weight that is 0 stays 0, unless the norm
is infinite.

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Problem 1 and Section 4. For p > 1 they take the
gradient steps of Tseng's method, which need several times as many SVMs (docs/papers.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_number
from seqmtl.core.norms import conjugate, dual_norm, minimise_on_ball, norm_of
from seqmtl.core.problem import relative_gap

Array = NDArray[np.float64]

# Powers of the search for a saddle point: plain choices. The largest stands for infinity, as it
# raises the maximum of T objectives by the share log(T) / 1e7 at most.
_FIRST_POWER, _RISE, _LARGEST_POWER = 8.0, 4.0, 1e7
_MAX_SLOPE = 1e-9  # derivatives of the logarithm of the objective at which it ends
_MIN_LOG = -300.0  # logarithm of the least weight relative to the largest, against overflow
_MAX_LOG = 690.0  # logarithm of n^(1/p), above which objectives may overflow


class WeightRule(ABC):
    """The feasible kernel weights, and their optimum for given functions."""

    @abstractmethod
    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return a state with equal weights.

        Raises
        ------
        ValueError
            If p is so small that the objective overflows.
        """

    def theta(self, state: Array) -> Array:
        """Return the weights of every task, shape (T, M), or (1, M) if they are the same."""
        return state

    def objective(self, g: Array) -> float:
        """Return the objective, from g_t, shape (T,)."""
        return float(g.sum())

    @abstractmethod
    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Return the optimal state for the current functions, and lambda_t.

        Parameters
        ----------
        state : ndarray
            Current state.
        g : ndarray, shape (T,)
            Objectives g_t.
        energies : ndarray, shape (T, M)
            q_tm.
        """

    @abstractmethod
    def rescale(self, state: Array) -> Array:
        """Scale a positive state to the boundary of the feasible set."""

    @abstractmethod
    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return a bound on the relative distance from the optimum, or NaN if unknown.

        It uses lambda_t, the primal objectives g_t, sum_i alpha_i and q_tm of every task.
        """


@dataclass(frozen=True)
class Separate(WeightRule):
    """Independent tasks: separate MKL for each.

    Attributes
    ----------
    norm : float
        Exponent of the norm on every theta_t, 1 to infinity.
    """

    norm: float

    def __post_init__(self) -> None:
        check_number("norm", self.norm, min_val=1.0, is_finite=False)

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/norm) for all, shape (T, M)."""
        return np.full((n_tasks, n_kernels), n_kernels ** (-1.0 / self.norm))

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight the kernels of every task in closed form."""
        return best_on_balls(state, energies, self.norm, np.ones(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of norm 1 for every task."""
        return to_norm(state, self.norm)

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the largest relative duality gap of a task."""
        bounds = alpha_sums - 0.5 * np.array([dual_norm(row, self.norm) for row in energies])
        return max(relative_gap(*pair) for pair in zip(g, bounds, strict=True))


@dataclass(frozen=True)
class Shared(Separate):
    """One theta for all tasks, and a trade-off between them (Li et al. 2014, problem 1).

    With p < 1 the objective is not convex, and :meth:`gap` certifies a stationary point: it bounds
    the decrease of the sum of lambda_t g_t for fixed lambda_t = (g_t / ||g||_p)^(p - 1).

    Attributes
    ----------
    norm : float
        Exponent of the norm on theta, 1 to infinity.
    power : float
        Trade-off p above 0, up to infinity; 1 is the sum.
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        check_number("p", self.power, is_finite=False)
        super().__post_init__()

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/norm) for all, shape (1, M)."""
        least = np.log(n_tasks) / _MAX_LOG
        if self.power < least:
            raise ValueError(
                f"p must be at least {least:.2g} for {n_tasks} tasks, got {self.power!r}"
            )
        return super().start(1, n_kernels)

    def objective(self, g: Array) -> float:
        """Return (sum_t g_t^p)^(1/p)."""
        return norm_of(g, self.power)

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight the tasks, and the kernels for the sum of lambda_t g_t.

        For p <= 1 the objective is a minimum over theta and the lambda of the paper, eta_t below,

            ||g||_p = min over eta of sum_t g_t / eta_t,    ||eta||_{p/(1-p)} <= 1,

        which are optimal in turn, in closed form (2014, Theorem 3, Algorithm 2, eq. 19 and 25);
        here lambda_t is 1 / eta_t. Algorithm 2 trains the SVMs, then finds theta and then lambda;
        here lambda comes first, as the new g_t are at hand. For p > 1
        it is the maximum over lambda of a minimum over theta (Theorem 1), and both are optimal
        together.
        """
        if self.power > 1.0:
            theta, lam = _saddle_point(state[0], g, energies, self.power, self.norm)
            return theta[None], lam
        lam = trade_off(g, self.power)
        return best_on_balls(state, (lam @ energies)[None], self.norm, np.ones(1)), lam

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap; for p < 1 that of the sum of lambda_t g_t.

        By weak duality, for every alpha, and every lambda with ||lambda||_{p*} <= 1 if p >= 1,
        sum_t lambda_t sum_i alpha_i - 1/2 ||(sum_t lambda_t q_tm)_m||_{norm*} bounds the optimum.
        """
        bound = float(lam @ alpha_sums) - 0.5 * dual_norm(lam @ energies, self.norm)
        return relative_gap(self.objective(g), bound)


def trade_off(g: Array, power: float) -> Array:
    """Return lambda_t = (g_t / ||g||_p)^(p - 1), the derivative of ||g||_p; p from 0 to infinity.

    For p >= 1 it maximises sum_t lambda_t g_t on the ball ||lambda||_{p*} <= 1 (Li et al. 2014,
    Lemma 1, eq. 7). For p < 1 the paper divides g_t by its lambda_t, which is 1 / lambda_t of ours,
    and minimises on the ball of the norm p / (1 - p) (eq. 19; Lemma 2 for p >= 1/2, Lemmas 3 and 4
    for p below). Hard tasks, of large g_t, have the larger weights for p > 1, easy ones for p < 1.
    Where p is infinite, the weight of the largest g_t is 1.
    """
    if np.isinf(power):
        lam = np.zeros_like(g)
        lam[int(np.argmax(g))] = 1.0
        return lam
    return np.asarray((g / norm_of(g, power)) ** (power - 1.0))


def _saddle_point(
    theta: Array, g: Array, energies: Array, power: float, norm: float
) -> tuple[Array, Array]:
    """Return theta and lambda of min over theta, max over lambda of sum_t lambda_t g_t.

    The functions are fixed, and both are in their balls (Li et al. 2014, eq. 9). In the logarithms
    of theta, which is scaled to norm 1, ||g||_p is convex and smooth, and lambda is its derivative
    at the minimum (eq. 7). It is minimised for rising powers, each from the last, as it has corners
    where p is infinite.
    """
    from scipy.optimize import minimize

    a = 0.5 * theta**2 * energies
    is_used, losses = a.any(axis=0), np.maximum(g - 0.5 * (energies @ theta), 0.0)
    if np.isinf(norm) or not is_used.any():  # the best theta is the same for every lambda
        theta = np.ones_like(theta) if np.isinf(norm) else theta
        return theta, trade_off(losses + a.sum(axis=1), power)
    a, logs = a[:, is_used], np.log(theta[is_used])

    def objectives(logs: Array) -> tuple[Array, Array]:
        """Return g, and 1 / theta."""
        logs = np.maximum(logs - logs.max(), _MIN_LOG)
        inverse = np.exp(-logs) * norm_of(np.exp(logs), norm)
        return losses + a @ inverse, inverse

    def log_norm(logs: Array, power: float) -> tuple[float, Array]:
        """Return the logarithm of ||g||, and its derivatives."""
        g, inverse = objectives(logs)
        size = norm_of(g, power)
        parts = (trade_off(g, power) @ a) * inverse / size
        return float(np.log(size)), parts.sum() * inverse**-norm - parts

    last = min(power, _LARGEST_POWER)
    n_rises = max(0, int(np.ceil(np.log(last / _FIRST_POWER) / np.log(_RISE))))
    for rising in last / _RISE ** np.arange(n_rises, -1, -1.0):
        logs = minimize(log_norm, logs, rising, jac=True, options={"gtol": _MAX_SLOPE}).x
    g, inverse = objectives(logs)
    theta = np.zeros_like(theta)
    theta[is_used] = 1.0 / inverse
    lam = trade_off(g, last)
    return theta, lam / norm_of(lam, conjugate(power))


def best_on_balls(state: Array, energies: Array, norm: float, sizes: Array) -> Array:
    """Return the best theta of norm `sizes` in every row; without functions, a row stays.

    That is Lemma 2, eq. 19 of Li et al. (2014), and eq. 22 of Widmer et al. (2015), of a_tm.
    """
    rows = []
    for old, a, size in zip(state, state**2 * energies, sizes, strict=True):
        best = minimise_on_ball(a, norm)
        rows.append(old if best is None else size * best)
    return np.array(rows)


def to_norm(rows: Array, norm: float) -> Array:
    """Scale rows to norm 1, except rows of zeros."""
    sizes = np.array([norm_of(row, norm) for row in rows])[:, None]
    return np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0.0)
