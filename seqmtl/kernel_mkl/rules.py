"""Rules by which several tasks weight several kernels: the closed-form steps of block descent.

Task t has the kernel sum_m theta_tm k_m and the objective g_t(theta_t) of
:mod:`seqmtl.kernel_mkl.svm`. A rule defines the feasible theta and the objective over them:

==================  ==========================================  ================================
rule                feasible                                    objective
==================  ==========================================  ================================
:class:`Shared`     theta_t = theta, ||theta||_q <= 1           (sum_t g_t^p)^(1/p), p > 0
:class:`Separate`   ||theta_t||_q <= 1                          sum_t g_t
:class:`Partial`    theta_t = zeta + gamma_t, ||zeta||_1 <= mu,  sum_t g_t
                    ||gamma_t||_1 <= 1 - mu
:class:`MixedNorm`  sum_m (sum_t theta_tm^s)^(r/s) <= 1,        sum_t g_t
                    r = p / (2 - p), s = q / (2 - q)
==================  ==========================================  ================================

A rule learns its *state*, which `theta` converts to the weights of every task. A step moves to the
optimal state for the current functions: with these fixed, the objectives are

    g_t = losses + 1/2 sum_m a_tm / theta_tm,   a_tm = ||w_tm||^2 = theta_tm^2 q_tm   (2014, eq. 2)

and bound those after training the SVMs again from above, so no step increases the objective. The
optimum minimises sum_tm lambda_t a_tm / theta_tm for weights lambda_t of the tasks, which are 1
where the objective is a sum. A weight that is 0 stays 0.

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
    def step(self, state: Array, g: Array, q: Array) -> tuple[Array, Array]:
        """Return the optimal state for the current functions, and lambda_t; q has shape (T, M)."""

    @abstractmethod
    def rescale(self, state: Array) -> Array:
        """Scale a positive state to the boundary of the feasible set."""

    @abstractmethod
    def gap(self, weights: Array, g: Array, totals: Array, q: Array) -> float:
        """Return a bound on the relative distance from the optimum, or NaN if unknown.

        It uses lambda_t, the primal objectives g_t, the sums of alpha and the q_tm of every task.
        """


@dataclass(frozen=True)
class Separate(WeightRule):
    """Independent tasks: separate MKL for each.

    Attributes
    ----------
    norm : float
        q of the norm on every theta_t, 1 to infinity.
    """

    norm: float

    def __post_init__(self) -> None:
        check_number("norm", self.norm, min_val=1.0, is_finite=False)

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/q) for all, shape (T, M)."""
        return np.full((n_tasks, n_kernels), n_kernels ** (-1.0 / self.norm))

    def step(self, state: Array, g: Array, q: Array) -> tuple[Array, Array]:
        """Weight the kernels of every task in closed form."""
        return _best_on_balls(state, q, self.norm, np.ones(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of norm 1 for every task."""
        return _to_norm(state, self.norm)

    def gap(self, weights: Array, g: Array, totals: Array, q: Array) -> float:
        """Return the largest relative duality gap of a task."""
        bounds = totals - 0.5 * np.array([dual_norm(row, self.norm) for row in q])
        return max(_relative(*pair) for pair in zip(g, bounds, strict=True))


@dataclass(frozen=True)
class Shared(Separate):
    """One theta for all tasks, and a trade-off between them (Li et al. 2014, problem 1).

    With p < 1 the objective is not convex, and :meth:`gap` certifies a stationary point: it bounds
    the decrease of the sum of lambda_t g_t for fixed lambda_t = (g_t / ||g||_p)^(p - 1).

    Attributes
    ----------
    norm : float
        q of the norm on theta, 1 to infinity.
    p : float
        Trade-off above 0, up to infinity; 1 is the sum.
    """

    p: float = 1.0

    def __post_init__(self) -> None:
        check_number("p", self.p, is_finite=False)
        super().__post_init__()

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/q) for all, shape (1, M)."""
        _check_power(self.p, n_tasks, "tasks")
        return super().start(1, n_kernels)

    def objective(self, g: Array) -> float:
        """Return (sum_t g_t^p)^(1/p)."""
        return norm_of(g, self.p)

    def step(self, state: Array, g: Array, q: Array) -> tuple[Array, Array]:
        """Weight the tasks, and the kernels for the sum of lambda_t g_t.

        For p <= 1 the objective is a minimum over lambda and theta, which are optimal in turn, in
        closed form (2014, Theorem 3, Algorithm 2, eq. 19 and 25). For p > 1 it is the maximum over
        lambda of a minimum over theta (Theorem 1), and both are optimal together.
        """
        if self.p > 1.0:
            theta, weights = _saddle_point(state[0], g, q, self.p, self.norm)
            return theta[None], weights
        weights = trade_off(g, self.p)
        return _best_on_balls(state, (weights @ q)[None], self.norm, np.ones(1)), weights

    def gap(self, weights: Array, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap; for p < 1 that of the sum of lambda_t g_t.

        By weak duality, for every alpha, and every lambda with ||lambda||_{p*} <= 1 if p >= 1,
        sum_t lambda_t sum_i alpha_i - 1/2 ||(sum_t lambda_t q_tm)_m||_{q*} bounds the optimum.
        """
        bound = float(weights @ totals) - 0.5 * dual_norm(weights @ q, self.norm)
        return _relative(self.objective(g), bound)


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

    def step(self, state: Array, g: Array, q: Array) -> tuple[Array, Array]:
        """Weight both parts in closed form; each has its share of the functions."""
        both = np.vstack([q.sum(axis=0), q])
        return _best_on_balls(state, both, 1.0, self._sums(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Scale the shared weights to sum to mu, and those of every task to 1 - mu."""
        return self._sums(len(state)) * _to_norm(state, 1.0)

    def gap(self, weights: Array, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap."""
        shared, separate = float(q.sum(axis=0).max()), float(q.max(axis=1).sum())
        bound = float(totals.sum()) - 0.5 * (self.share * shared + (1.0 - self.share) * separate)
        return _relative(float(g.sum()), bound)


@dataclass(frozen=True)
class MixedNorm(WeightRule):
    """Few kernels, similar for all tasks: squared l_p-l_q norm of the functions.

    Minimises 1/2 (sum_m (sum_t ||w_tm||^q)^(p/q))^(2/p) + the losses, with the weights of its
    variational form (Rakotomamonjy, Flamary, Gasso, Canu 2011; Aflalo et al. 2011, Lemma 2).
    Not convex for p < 1.

    Attributes
    ----------
    p : float
        Norm over kernels, 0 < p <= 1; smaller values select fewer kernels.
    q : float
        Norm over tasks, 1 <= q <= 2; 2 gives all tasks the same weights.
    """

    p: float
    q: float

    def __post_init__(self) -> None:
        check_number("p", self.p, max_val=1.0)
        check_number("q", self.q, min_val=1.0, max_val=2.0)

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return equal weights of mixed norm 1, shape (T, M)."""
        _check_power(self.p, n_kernels, "kernels", power=2.0)
        return self._weights(np.ones((n_tasks, n_kernels)))

    def step(self, state: Array, g: Array, q: Array) -> tuple[Array, Array]:
        """Weight the kernels in closed form, from ||w_tm|| = theta_tm sqrt(q_tm)."""
        norms = state * np.sqrt(q)
        return self._weights(norms) if norms.max() > 0.0 else state, np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of mixed norm 1."""
        r = self.p / (2.0 - self.p)
        s = np.inf if self.q == 2.0 else self.q / (2.0 - self.q)
        largest = state / state.max()
        return np.asarray(largest / norm_of(_norms_of_columns(largest, s), r))

    def gap(self, weights: Array, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap if p = 1, else NaN."""
        if self.p < 1.0:
            return float("nan")
        largest = float(_norms_of_columns(np.sqrt(q), conjugate(self.q)).max())
        return _relative(float(g.sum()), float(totals.sum()) - 0.5 * largest**2)

    def _weights(self, norms: Array) -> Array:
        """Return the theta_tm that minimise sum ||w_tm||^2 / theta_tm, from the norms.

        theta_tm = D_m (||w_tm|| / A_m)^(2 - q), where A_m is the q-norm of kernel m over the tasks
        and D_m = A_m^(2 - p) / (sum_m A_m^p)^((2 - p) / p) (Aflalo et al. 2011, Lemma 2, twice).
        """
        norms = norms / norms.max()
        A = _norms_of_columns(norms, self.q)
        D = A ** (2.0 - self.p) / (A**self.p).sum() ** ((2.0 - self.p) / self.p)
        within = np.divide(norms, A, out=np.zeros_like(norms), where=A > 0.0)
        if self.q == 2.0:
            return np.tile(D, (len(norms), 1))
        return D * within ** (2.0 - self.q)


def trade_off(g: Array, p: float) -> Array:
    """Return lambda_t = (g_t / ||g||_p)^(p - 1), the derivative of ||g||_p; p from 0 to infinity.

    For p >= 1 it is the maximum of sum_t lambda_t g_t on the ball ||lambda||_{p*} <= 1 (Li et al.
    2014, Lemma 1, eq. 7). For p < 1 it is the minimum, and the paper's lambda_t is 1 / lambda_t
    (eq. 19, with the norm p / (1 - p); Lemmas 3 and 4). Hard tasks, of large g_t, have the larger
    weights for p > 1, easy ones for p < 1. Where p is infinite, the weight of the largest g_t is 1.
    """
    if np.isinf(p):
        weights = np.zeros_like(g)
        weights[int(np.argmax(g))] = 1.0
        return weights
    return np.asarray((g / norm_of(g, p)) ** (p - 1.0))


def _saddle_point(theta: Array, g: Array, q: Array, p: float, norm: float) -> tuple[Array, Array]:
    """Return theta and lambda of min over theta, max over lambda of sum_t lambda_t g_t.

    The functions are fixed, and both are in their balls (Li et al. 2014, eq. 9). In the logarithms
    of theta, which is scaled to norm 1, ||g||_p is convex and smooth, and lambda is its derivative
    at the minimum (eq. 7). It is minimised for rising powers, each from the last, as it has corners
    where p is infinite.
    """
    from scipy.optimize import minimize

    a = 0.5 * theta**2 * q
    is_used, losses = a.any(axis=0), np.maximum(g - 0.5 * (q @ theta), 0.0)
    if np.isinf(norm) or not is_used.any():  # the best theta is the same for every lambda
        theta = np.ones_like(theta) if np.isinf(norm) else theta
        return theta, trade_off(losses + a.sum(axis=1), p)
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

    last = min(p, _LARGEST_POWER)
    n_rises = max(0, int(np.ceil(np.log(last / _FIRST_POWER) / np.log(_RISE))))
    for power in last / _RISE ** np.arange(n_rises, -1, -1.0):
        logs = minimize(log_norm, logs, power, jac=True, options={"gtol": _MAX_SLOPE}).x
    g, inverse = objectives(logs)
    theta = np.zeros_like(theta)
    theta[is_used] = 1.0 / inverse
    weights = trade_off(g, last)
    return theta, weights / norm_of(weights, conjugate(p))


def _best_on_balls(state: Array, q: Array, p: float, sizes: Array) -> Array:
    """Return the best theta of norm `sizes` in every row; a row without functions stays.

    That is Lemma 2, eq. 19 of Li et al. (2014), and eq. 22 of Widmer et al. (2015).
    """
    rows = []
    for old, a, size in zip(state, state**2 * q, sizes, strict=True):
        best = minimise_on_ball(a, p)
        rows.append(old if best is None else size * best)
    return np.array(rows)


def _norms_of_columns(values: Array, p: float) -> Array:
    return np.array([norm_of(column, p) for column in values.T])


def _to_norm(rows: Array, p: float) -> Array:
    """Scale rows to norm 1, except rows of zeros."""
    sizes = np.array([norm_of(row, p) for row in rows])[:, None]
    return np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0.0)


def _relative(primal: float, bound: float) -> float:
    return (primal - bound) / max(abs(primal), 1e-300)


def _check_power(p: float, n: int, what: str, power: float = 1.0) -> None:
    """Raise ValueError if p is so small that n^(power/p) overflows."""
    least = power * np.log(n) / _MAX_LOG
    if p < least:
        raise ValueError(f"p must be at least {least:.2g} for {n} {what}, got {p!r}")
