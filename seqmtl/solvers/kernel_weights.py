"""Rules by which several tasks weight several kernels: the closed-form steps of block descent.

Task t has the kernel sum_m theta_tm k_m and the objective g_t(theta_t) of
:mod:`seqmtl.solvers.svm`. A rule defines the feasible theta and the objective over them:

==================  ==========================================  ================================
rule                feasible                                    objective
==================  ==========================================  ================================
:class:`Shared`     theta_t = theta, ||theta||_q <= 1           (sum_t g_t^p)^(1/p), 0 < p <= 1
:class:`Separate`   ||theta_t||_q <= 1                          sum_t g_t
:class:`Partial`    theta_t = zeta + gamma_t, ||zeta||_1 <= mu,  sum_t g_t
                    ||gamma_t||_1 <= 1 - mu
:class:`MixedNorm`  sum_m (sum_t theta_tm^s)^(r/s) <= 1,        sum_t g_t
                    r = p / (2 - p), s = q / (2 - q)
==================  ==========================================  ================================

A rule learns its *state*, which `theta` converts to the weights of every task. A step moves to the
optimal state for the current functions, ||w_tm||^2 = theta_tm^2 q_tm, so no step increases the
objective. A weight that is 0 stays 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_set import conjugate, dual_norm, minimise_on_ball, norm_of

Array = NDArray[np.float64]


class WeightRule(Protocol):
    """The feasible kernel weights, and their optimum for given functions."""

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return a state with equal weights."""

    def theta(self, state: Array) -> Array:
        """Return the weights of every task, shape (T, M)."""

    def objective(self, g: Array) -> float:
        """Return the objective, from g_t, shape (T,)."""

    def step(self, state: Array, g: Array, q: Array) -> Array:
        """Return the optimal state for the current functions; q has shape (T, M)."""

    def rescale(self, state: Array) -> Array:
        """Scale a positive state to the boundary of the feasible set."""

    def gap(self, g: Array, totals: Array, q: Array) -> float:
        """Return a bound on the relative distance from the optimum, or NaN if unknown.

        It uses the primal objectives g_t, the sums of alpha and the q_tm of every task.
        """


@dataclass(frozen=True)
class Shared:
    """One theta for all tasks, and a trade-off between them (Li et al. 2014, problem 1, p <= 1).

    With p < 1 the objective is not convex, and :meth:`gap` certifies a stationary point: it bounds
    the decrease of the sum of lambda_t g_t for fixed lambda_t = (g_t / ||g||_p)^(p - 1).

    Attributes
    ----------
    p : float
        Trade-off, 0 < p <= 1; 1 is the sum.
    norm : float
        q of the norm on theta, 1 to infinity.
    """

    p: float
    norm: float

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/q) for all, shape (1, M)."""
        return np.full((1, n_kernels), n_kernels ** (-1.0 / self.norm))

    def theta(self, state: Array) -> Array:
        """Return the weights, one row for all tasks."""
        return state

    def objective(self, g: Array) -> float:
        """Return (sum_t g_t^p)^(1/p)."""
        return norm_of(g, self.p)

    def step(self, state: Array, g: Array, q: Array) -> Array:
        """Weight the tasks by g_t^(p - 1), then the kernels in closed form (Algorithm 2)."""
        a = state[0] ** 2 * (trade_off(g, self.p) @ q)
        best = minimise_on_ball(a, self.norm)
        return state if best is None else best[None]

    def rescale(self, state: Array) -> Array:
        """Return weights of norm 1."""
        return _to_norm(state, self.norm)

    def gap(self, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap of the sum of lambda_t g_t."""
        weights = trade_off(g, self.p)
        primal = float(weights @ g)
        return _relative(primal, float(weights @ totals) - 0.5 * dual_norm(weights @ q, self.norm))


@dataclass(frozen=True)
class Separate:
    """Independent tasks: separate MKL for each.

    Attributes
    ----------
    norm : float
        q of the norm on every theta_t, 1 to infinity.
    """

    norm: float

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return M^(-1/q) for all, shape (T, M)."""
        return np.full((n_tasks, n_kernels), n_kernels ** (-1.0 / self.norm))

    def theta(self, state: Array) -> Array:
        """Return the weights."""
        return state

    def objective(self, g: Array) -> float:
        """Return the sum of g_t."""
        return float(g.sum())

    def step(self, state: Array, g: Array, q: Array) -> Array:
        """Weight the kernels of every task in closed form."""
        best = [minimise_on_ball(a, self.norm) for a in state**2 * q]
        return np.array([old if new is None else new for old, new in zip(state, best, strict=True)])

    def rescale(self, state: Array) -> Array:
        """Return weights of norm 1 for every task."""
        return _to_norm(state, self.norm)

    def gap(self, g: Array, totals: Array, q: Array) -> float:
        """Return the largest relative duality gap of a task."""
        bounds = totals - 0.5 * np.array([dual_norm(row, self.norm) for row in q])
        return max(_relative(*pair) for pair in zip(g, bounds, strict=True))


@dataclass(frozen=True)
class Partial:
    """A shared kernel and one kernel per task (Tang, Chen, Ye 2009).

    The state holds zeta in the first row and gamma_t in the others.

    Attributes
    ----------
    share : float
        mu, from 0 (nothing shared) to 1 (one kernel for all).
    """

    share: float

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return mu / M in the first row and (1 - mu) / M in the others, shape (1 + T, M)."""
        state = np.full((1 + n_tasks, n_kernels), (1.0 - self.share) / n_kernels)
        state[0] = self.share / n_kernels
        return state

    def theta(self, state: Array) -> Array:
        """Return zeta + gamma_t."""
        return state[0] + state[1:]

    def objective(self, g: Array) -> float:
        """Return the sum of g_t."""
        return float(g.sum())

    def step(self, state: Array, g: Array, q: Array) -> Array:
        """Weight both parts in closed form; each has its share of the functions."""
        both = np.vstack([q.sum(axis=0), q])
        new = state.copy()
        for row, (old, energies) in enumerate(zip(state, both, strict=True)):
            best = minimise_on_ball(old**2 * energies, 1.0)
            if best is not None:
                new[row] = best * (self.share if row == 0 else 1.0 - self.share)
        return new

    def rescale(self, state: Array) -> Array:
        """Scale the shared weights to sum to mu, and those of every task to 1 - mu."""
        sums = np.full((len(state), 1), 1.0 - self.share)
        sums[0] = self.share
        return sums * _to_norm(state, 1.0)

    def gap(self, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap."""
        common, own = float(q.sum(axis=0).max()), float(q.max(axis=1).sum())
        bound = float(totals.sum()) - 0.5 * (self.share * common + (1.0 - self.share) * own)
        return _relative(float(g.sum()), bound)


@dataclass(frozen=True)
class MixedNorm:
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

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return equal weights of mixed norm 1, shape (T, M)."""
        return self._weights(np.ones((n_tasks, n_kernels)))

    def theta(self, state: Array) -> Array:
        """Return the weights."""
        return state

    def objective(self, g: Array) -> float:
        """Return the sum of g_t."""
        return float(g.sum())

    def step(self, state: Array, g: Array, q: Array) -> Array:
        """Weight the kernels in closed form, from ||w_tm|| = theta_tm sqrt(q_tm)."""
        norms = state * np.sqrt(q)
        return self._weights(norms) if norms.max() > 0.0 else state

    def rescale(self, state: Array) -> Array:
        """Return weights of mixed norm 1."""
        r = self.p / (2.0 - self.p)
        s = np.inf if self.q == 2.0 else self.q / (2.0 - self.q)
        largest = state / state.max()
        return np.asarray(largest / norm_of(np.array([norm_of(c, s) for c in largest.T]), r))

    def gap(self, g: Array, totals: Array, q: Array) -> float:
        """Return the relative duality gap if p = 1, else NaN."""
        if self.p < 1.0:
            return float("nan")
        largest = max(norm_of(column, conjugate(self.q)) for column in np.sqrt(q).T)
        return _relative(float(g.sum()), float(totals.sum()) - 0.5 * largest**2)

    def _weights(self, norms: Array) -> Array:
        """Return the theta_tm that minimise sum ||w_tm||^2 / theta_tm."""
        norms = norms / norms.max()
        A = np.array([norm_of(column, self.q) for column in norms.T])
        D = A ** (2.0 - self.p) / (A**self.p).sum() ** ((2.0 - self.p) / self.p)
        within = np.divide(norms, A, out=np.zeros_like(norms), where=A > 0.0)
        if self.q == 2.0:
            return np.tile(D, (len(norms), 1))
        return D * within ** (2.0 - self.q)


def trade_off(g: Array, p: float) -> Array:
    """Return lambda_t = (g_t / ||g||_p)^(p - 1), the derivative of ||g||_p; p from 0 to infinity.

    For p of infinity it is 1 at the largest g_t, and 0 elsewhere.
    """
    if np.isinf(p):
        weights = np.zeros_like(g)
        weights[int(np.argmax(g))] = 1.0
        return weights
    return np.asarray((g / norm_of(g, p)) ** (p - 1.0))


def _to_norm(rows: Array, p: float) -> Array:
    """Scale rows to norm 1, except rows of zeros."""
    sizes = np.array([norm_of(row, p) for row in rows])[:, None]
    return np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0.0)


def _relative(primal: float, bound: float) -> float:
    return (primal - bound) / max(abs(primal), 1e-300)
