"""Rules by which several tasks weight several kernels: the closed-form steps of block descent.

Task t has the kernel sum_m theta_tm k_m and the objective g_t(theta_t) of
:mod:`seqmtl.kernel_mkl.svm`. A rule defines the feasible theta and the objective over them:

==================  ==========================================  ================================
rule                feasible                                    objective
==================  ==========================================  ================================
:class:`Shared`     theta_t = theta, ||theta||_norm <= 1        (sum_t g_t^p)^(1/p), p = power
:class:`Separate`   ||theta_t||_norm <= 1                       sum_t g_t
:class:`Partial`    theta_t = zeta + gamma_t, ||zeta||_1 <= mu,  sum_t g_t
                    ||gamma_t||_1 <= 1 - mu
:class:`MixedNorm`  sum_m (sum_t theta_tm^s)^(r/s) <= 1,        sum_t g_t
                    r = p / (2 - p), p = kernel_norm;
                    s = q / (2 - q), q = task_norm
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
        return _best_on_balls(state, energies, self.norm, np.ones(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of norm 1 for every task."""
        return _to_norm(state, self.norm)

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
        _check_power(self.power, n_tasks, "tasks")
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
        return _best_on_balls(state, (lam @ energies)[None], self.norm, np.ones(1)), lam

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap; for p < 1 that of the sum of lambda_t g_t.

        By weak duality, for every alpha, and every lambda with ||lambda||_{p*} <= 1 if p >= 1,
        sum_t lambda_t sum_i alpha_i - 1/2 ||(sum_t lambda_t q_tm)_m||_{norm*} bounds the optimum.
        """
        bound = float(lam @ alpha_sums) - 0.5 * dual_norm(lam @ energies, self.norm)
        return relative_gap(self.objective(g), bound)


@dataclass(frozen=True)
class Partial(WeightRule):
    """A shared kernel and one kernel per task (Tang, Chen, Ye 2009).

    The state holds zeta in the first row and gamma_t in the others.

    Attributes
    ----------
    share : float
        mu, from 0 (nothing shared) to 1 (one kernel for all).
    """

    share: float

    def __post_init__(self) -> None:
        check_number("share", self.share, min_val=0.0, max_val=1.0)

    def _sums(self, n_rows: int) -> Array:
        """Return mu for the first row and 1 - mu for the others, shape (n_rows, 1)."""
        sums = np.full((n_rows, 1), 1.0 - self.share)
        sums[0] = self.share
        return sums

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return mu / M in the first row and (1 - mu) / M in the others, shape (1 + T, M)."""
        return np.tile(self._sums(1 + n_tasks) / n_kernels, n_kernels)

    def theta(self, state: Array) -> Array:
        """Return zeta + gamma_t."""
        return state[0] + state[1:]

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight both parts in closed form; each has its share of the functions."""
        both = np.vstack([energies.sum(axis=0), energies])
        return _best_on_balls(state, both, 1.0, self._sums(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Scale the shared weights to sum to mu, and those of every task to 1 - mu."""
        return self._sums(len(state)) * _to_norm(state, 1.0)

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap."""
        shared = self.share * float(energies.sum(axis=0).max())
        separate = (1.0 - self.share) * float(energies.max(axis=1).sum())
        return relative_gap(float(g.sum()), float(alpha_sums.sum()) - 0.5 * (shared + separate))


@dataclass(frozen=True)
class MixedNorm(WeightRule):
    """Few kernels, similar for all tasks: squared mixed norm of the functions.

    Minimises 1/2 (sum_m A_m^p)^(2/p) + the losses, where A_m is the norm over tasks of the
    ||w_tm|| and p is `kernel_norm` (the l_p-l_q norm of Rakotomamonjy, Flamary, Gasso, Canu 2011).
    Not convex for p < 1.

    Attributes
    ----------
    kernel_norm : float
        Exponent of the norm over kernels, above 0, up to 1; smaller values select fewer kernels.
    task_norm : float
        Exponent of the norm over tasks, from 1 to 2; 2 gives all tasks the same weights.
    """

    kernel_norm: float
    task_norm: float

    def __post_init__(self) -> None:
        check_number("p", self.kernel_norm, max_val=1.0)
        check_number("q", self.task_norm, min_val=1.0, max_val=2.0)

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return equal weights of mixed norm 1, shape (T, M)."""
        _check_power(self.kernel_norm, n_kernels, "kernels", factor=2.0)
        return self._weights(np.ones((n_tasks, n_kernels)))

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight the kernels in closed form, from ||w_tm|| = theta_tm sqrt(q_tm)."""
        norms = state * np.sqrt(energies)
        return self._weights(norms) if norms.max() > 0.0 else state, np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of mixed norm 1."""
        r, s = self.kernel_norm / (2.0 - self.kernel_norm), np.inf
        if self.task_norm < 2.0:
            s = self.task_norm / (2.0 - self.task_norm)
        largest = state / state.max()
        return np.asarray(largest / norm_of(_norms_of_columns(largest, s), r))

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap if the norm over kernels is convex, else NaN."""
        if self.kernel_norm < 1.0:
            return float("nan")
        largest = float(_norms_of_columns(np.sqrt(energies), conjugate(self.task_norm)).max())
        return relative_gap(float(g.sum()), float(alpha_sums.sum()) - 0.5 * largest**2)

    def _weights(self, norms: Array) -> Array:
        """Return the theta_tm = D_m E_tm that minimise sum_tm ||w_tm||^2 / theta_tm, from norms.

        Li et al. (2014), eq. 18 and 19, or Aflalo et al. (2011), Lemma 2: for a_m >= 0,

            min over ||x||_r <= 1 of sum_m a_m / x_m = (sum_m a_m^(r/(r+1)))^((r+1)/r)
            at x_m = a_m^(1/(r+1)) / (sum_m a_m^(r/(r+1)))^(1/r)

        With a = ||w_tm||^2 over the tasks and r = q / (2 - q), and then with a = A_m^2 over the
        kernels and r = p / (2 - p), where p and q are the norms over kernels and tasks,

            E_tm = (||w_tm|| / A_m)^(2 - q)
            D_m = A_m^(2 - p) / (sum_m A_m^p)^((2 - p) / p)
        """
        norms = norms / norms.max()
        p, A = self.kernel_norm, _norms_of_columns(norms, self.task_norm)
        D = A ** (2.0 - p) / (A**p).sum() ** ((2.0 - p) / p)
        within = np.divide(norms, A, out=np.zeros_like(norms), where=A > 0.0)
        if self.task_norm == 2.0:
            return np.tile(D, (len(norms), 1))
        return D * within ** (2.0 - self.task_norm)


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


def _best_on_balls(state: Array, energies: Array, norm: float, sizes: Array) -> Array:
    """Return the best theta of norm `sizes` in every row; without functions, a row stays.

    That is Lemma 2, eq. 19 of Li et al. (2014), and eq. 22 of Widmer et al. (2015), of a_tm.
    """
    rows = []
    for old, a, size in zip(state, state**2 * energies, sizes, strict=True):
        best = minimise_on_ball(a, norm)
        rows.append(old if best is None else size * best)
    return np.array(rows)


def _norms_of_columns(values: Array, norm: float) -> Array:
    return np.array([norm_of(column, norm) for column in values.T])


def _to_norm(rows: Array, norm: float) -> Array:
    """Scale rows to norm 1, except rows of zeros."""
    sizes = np.array([norm_of(row, norm) for row in rows])[:, None]
    return np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0.0)


def _check_power(p: float, n: int, what: str, factor: float = 1.0) -> None:
    """Raise ValueError if p is so small that n^(factor/p) overflows."""
    least = factor * np.log(n) / _MAX_LOG
    if p < least:
        raise ValueError(f"p must be at least {least:.2g} for {n} {what}, got {p!r}")
