"""Dual coordinate descent for the multi-task SVM (Widmer et al. 2012, Algorithm 1).

    min over alpha   1/2 sum_{s,t} K[s,t] <v_s, v_t> + sum_i C_i loss*(-alpha_i / C_i)
    v_t = sum of alpha_i y_i x_i over the examples of task t;    W = V K

A step on example i of task t reads its residual r_i = y_i <w_t, x_i> - z_i:

    H_i      = K[t,t] ||x_i||^2                                 (eq. 17, corrected)
    alpha_i <- minimiser over alpha_i alone; for the hinge, clip(alpha_i + (1 - r_i) / H_i, 0, C_i)
    w_s     += K[s,t] (change of alpha_i) y_i x_i  for all s    (eq. 16; V is never formed)

Around it, shrinking as in LIBLINEAR, and the duality gap as the stopping rule:

    repeat
        take a step on every active example, in random order                   (an epoch)
        now and then: score all examples, which gives the gap,                 (a look)
            stop if it is at most tol, and choose the active examples anew

The steps are in :mod:`seqmtl.solvers._dcd_kernels`, the symbols in :mod:`seqmtl.solvers.problem`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import ahead, stop_if_over
from seqmtl.blocks import View, blocks_of
from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.newton import SecondOrder
from seqmtl.solvers.polish import JointProblem, hessian, polish
from seqmtl.solvers.problem import Problem
from seqmtl.solvers.weights import GroupedWeights

#: Examples at a bound stay active while their margin is within this distance of 1, or their
#: residual within this share of the mean residual from epsilon.
_BAND = 0.1
_POLISH_BYTES = 64 << 20  # limit on the kernel matrix of a polish, or the size of the weights
_ENTRY_COST = 0.1  # cost of reading a kernel matrix entry, in gathered weights
_PRECISE = 1e-4  # tolerance below which many epochs justify larger kernel matrices
_WEIGHING = 0.5  # factor by which the gap falls between two looks at theta
_THETA_SHARE = 0.01  # of the gap, that is worth a theta step
_POLISH_SHARE = 0.2  # share of the tolerated gap that may remain among the polished examples


@dataclass
class Progress:
    """State of the optimisation after an epoch.

    Attributes
    ----------
    epoch : int
        Number of passes over the active set.
    work : float
        Visits of examples, including scoring passes, divided by the number of examples.
    n_active : int
        Number of examples that the next epoch visits.
    primal, dual, gap : float
        Objectives and relative duality gap at the last full check of the problem.
    seconds : float
        Time since the start.
    """

    epoch: int
    work: float
    n_active: int
    primal: float
    dual: float
    gap: float
    seconds: float


class WarmStart(NamedTuple):
    """Where to begin: the dual variables of an earlier run, or of a related problem.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables; those out of bounds are moved to the bound.
    theta : ndarray of float64, shape (M,)
        Kernel weights. Empty if they are fixed, or all alike.
    """

    alpha: NDArray[np.float64]
    theta: NDArray[np.float64] = np.zeros(0)


@dataclass
class Solution:
    """The result of a solver.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables.
    W : ndarray or TaskWeights, shape (n_features, T)
        Weights of the tasks.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature; intercepts are ``bias_scale * bias``.
    margins : ndarray of float64, shape (n,)
        y_i f(x_i) at the solution; f(x_i) in regression.
    primal, dual, gap : float
        Objectives and relative duality gap at W and alpha.
    converged : bool
        Whether gap <= tol.
    history : list of Progress
        One entry per full check of the problem.
    theta : ndarray of float64, shape (M,)
        Kernel weights if they were learnt, else empty.
    """

    alpha: NDArray[np.float64]
    W: Any
    bias: NDArray[np.float64]
    margins: NDArray[np.float64]
    primal: float
    dual: float
    gap: float
    converged: bool
    n_epochs: int
    work: float
    history: list[Progress]
    theta: NDArray[np.float64]


class Descent:
    """Working sets, several kinds of moves, and a certified stopping criterion.

    Until the gap is small, one of these *moves* is taken; each changes the dual variables.

    - An *epoch* visits the active examples in random order (Algorithm 1 of Widmer et al. 2012).
    - A *polish* replaces epochs when the active set is small and the features can compare two rows
      cheaply: it computes their kernel matrix and descends there, where a visit is very cheap. If
      kernel weights are learnt and all examples with alpha_i != 0 fit into the matrix, theta and
      alpha are updated together on it.
    - A *second-order step* is taken where there are few weights, see :mod:`seqmtl.solvers.newton`.

    A *look* scores all examples, which gives the exact duality gap, and selects a new active set:
    every example that is not at a bound with a margin to spare. A look is taken as soon as the
    epochs since the last one have cost as much as a look does.

    Where theta is learnt, its part of the gap needs V'V, which is costly. It is computed when the
    gap at fixed theta has halved or is within the tolerance, and taken to be the last one
    otherwise. Kernel weights that are not updated with alpha then take a step if their part of the
    gap is worth it (Algorithm 2 of Widmer et al. 2015: after every epoch).

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    kernels : KernelSet, optional
        Kernels to be weighted, which replace those of the problem. Default: they are fixed.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of moves.
    dtype : dtype
        Type of the weights: float32, or float64 for gaps below about 1e-6.
    seed : int
        Seed of the visiting order.
    start : WarmStart, optional
        Where to begin; all examples are active at first. Default: alpha = 0, and a random
        sixteenth of the examples, or 2,048, is active.
    is_first_order : bool, default=False
        Take no second-order steps.
    """

    now: Progress
    margins: NDArray[np.float64]
    theta: NDArray[np.float64]
    _joint: JointProblem | None
    _polished: tuple[NDArray[np.int64], NDArray[Any]] | None

    def __init__(
        self,
        problem: Problem,
        kernels: KernelSet | None = None,
        *,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        dtype: Any = np.float32,
        seed: int = 0,
        start: WarmStart | None = None,
        is_first_order: bool = False,
    ) -> None:
        self.problem, self.kernels, self.tol, self.max_epochs = problem, kernels, tol, max_epochs
        self.n_epochs, self.work = 0, 0.0
        self.history: list[Progress] = []
        n, self._rng = problem.y.size, np.random.default_rng(seed)
        if start is None:
            start = WarmStart(np.zeros(n))
            self._active = np.sort(self._rng.permutation(n)[: max(n // 16, 2048)])
        else:
            self._active = np.arange(n)
        self.alpha = problem.loss.within_bounds(start.alpha, problem.C)
        self._set_theta(kernels.start() if kernels and not start.theta.size else start.theta)
        tree = problem.rows.tree()
        self._rows = problem.rows if tree is None else tree
        views = problem.rows.views if tree is None else (View(tree, slice(None)),)
        self._weights = GroupedWeights(
            self.problem.coupling, views, dtype, problem.bias_scale, is_padded=tree is not None
        )
        self._band = _BAND
        self._keep = np.ones(n, dtype=np.bool_)  # which examples their last visit left active
        self._tasks = np.ascontiguousarray(problem.tasks, dtype=np.int16)
        self._has_drifted = False  # whether the weights have accumulated rounding errors
        self._is_fresh = False  # whether the last margins are still valid
        self._joint = None
        self._weighed_at, self._of_theta = np.inf, 0.0  # gaps when that of theta was computed
        self._patience = problem.rows.scoring_cost  # visits between looks, in epochs
        self._polish_rows = self._most_rows(dtype)
        if kernels is not None:
            self._polish_rows = int(self._polish_rows / np.sqrt(2.0))  # a matrix more per view
        is_first_order = is_first_order or kernels is not None
        self._second_order = None if is_first_order else SecondOrder.of(problem)

    def _most_rows(self, dtype: Any) -> int:
        """Return the size of the largest kernel matrix to compute."""
        n_bytes = max(_POLISH_BYTES, self._weights.flat.nbytes)
        most = min(view.rows.gram_rows for view in self.problem.rows.views)
        most = most if self.tol >= _PRECISE else 8 * most
        return min(int(np.sqrt(n_bytes / np.dtype(dtype).itemsize)), most)

    def solve(self, on_epoch: Callable[[WarmStart, Progress], None] | None = None) -> Solution:
        """Run until the tolerance or the epoch limit is reached.

        Parameters
        ----------
        on_epoch : callable, optional
            Called after every move with the progress, and with what a later run may start from:
            arrays that the next move changes in place.

        Returns
        -------
        Solution
            Weights, dual variables and the gap between their objectives.
        """
        self._started = time.perf_counter()
        if self.alpha.any():  # else all weights and margins are 0
            self._sum_weights()
            self._look()
            self.history.append(self.now)
        else:
            self._assess(np.zeros(self.alpha.size))
        if self._weights.is_virtual:  # a look that computed the gap of theta leaves V
            self._sum_weights()
        since_look = 0.0
        while not self._is_over:
            stop_if_over()
            is_joint = self._move()
            self.n_epochs += 1
            since_look += self._active.size / self.alpha.size
            is_last = self.n_epochs == self.max_epochs
            if is_joint or is_last or since_look >= self._patience or not self._active.size:
                since_look = 0.0
                self._look_around()
            if on_epoch is not None:
                now = self._progress(self.now.primal, self.now.dual, self.now.gap)
                on_epoch(WarmStart(self.alpha, self.theta), now)
        return self._solution()

    @property
    def _is_over(self) -> bool:
        return self.now.gap <= self.tol or self.n_epochs >= self.max_epochs

    def _solution(self) -> Solution:
        """Return the solution; weights of the solver are freed if they are not its own."""
        now, p, weights = self.now, self.problem, self._weights
        if weights.groups.is_single and self._rows is p.rows:
            W: Any = weights.tables[0]
        else:
            weights.free()
            self._polished = self._joint = None
            plain = GroupedWeights(weights.groups, p.rows.views, weights.flat.dtype)
            W = plain.solution(np.flatnonzero(self.alpha), self.alpha * p.y, self._tasks)
        return Solution(
            self.alpha,
            W,
            weights.bias,
            self.margins,
            now.primal,
            now.dual,
            now.gap,
            now.gap <= self.tol,
            self.n_epochs,
            self.work,
            self.history,
            self.theta,
        )

    # ---- moves

    def _move(self) -> bool:
        """Take a move; return whether it changed the weights otherwise than by single visits."""
        if self._second_order is not None and self._second_order.is_due(self.work):
            alpha = self._second_order.solve(self.alpha, self.tol, self.now.gap)
            self.work += self._second_order.work
            if alpha is not None:
                self.alpha[:] = alpha
                self._sum_weights()
                return True
        if self._is_fresh and 0 < self._active.size <= self._polish_rows:
            if self._update_jointly() if self._covers_support() else self._polish():
                return True
            self._polish_rows = self._active.size - 1
        self._polished = None
        self._epoch()
        self._is_fresh, self._has_drifted = False, True
        return False

    def _epoch(self) -> None:
        """Visit the active examples once; drop those that turn out inactive."""
        from seqmtl.solvers._dcd_kernels import descend

        p, weights = self.problem, self._weights
        examples = (p.y, self._tasks, self._H, p.C, p.targets)
        variables = (self.alpha, weights.flat, weights.bias, self._keep)
        groups, K = weights.for_loops(), np.ascontiguousarray(p.kernels)
        loss = p.loss.for_loops
        order = self._rng.permutation(self._active)

        def compute(rows: NDArray[np.int64]) -> Any:
            return self._rows.block(rows, weights.flat.dtype)

        parts = blocks_of(order, self._rows.row_size)
        for rows, block in zip(parts, ahead(compute, parts), strict=True):
            descend(block, rows, examples, variables, groups, K, p.bias_scale, loss, self._band)
        self.work += order.size / self.alpha.size
        self._active = self._active[self._keep[self._active]]

    def _polish(self) -> bool:
        """Solve for the active examples on their kernel matrix, if there is one; return whether."""
        p = self.problem
        if not (self._polished is not None and np.isin(self._active, self._polished[0]).all()):
            self._polished = None
            G = hessian(p, self._active, self._weights.flat.dtype)
            if G is None:
                return False
            self._polished = (self._active, G)
        active, G = self._polished
        if self._refresh():
            self._look()
            self._sum_weights()
        before = self.alpha[active]
        tol = _POLISH_SHARE * max(self.tol, 0.01 * self.now.gap) * abs(self.now.primal)
        alpha, n_changes = polish(p, active, before, self.margins[active], G, tol, self._rng)
        change = np.zeros(p.y.size)
        change[active] = (alpha - before) * p.y[active]
        self._weights.add(active, change, self._tasks)
        self.alpha[active] = alpha
        entries = active.size * (active.size + _ENTRY_COST * n_changes)
        self.work += (active.size + entries / p.rows.row_size) / p.y.size
        return True

    def _update_jointly(self) -> bool:
        """Update alpha and theta on the kernel matrices of the active examples, if there are any.

        Returns whether there are.
        """
        p, active = self.problem, self._active
        assert self.kernels is not None
        if self._joint is None or not np.isin(active, self._joint.rows).all():
            self._joint = None  # free the matrices first
            self._joint = JointProblem.of(p, self.kernels, active, self._weights.flat.dtype)
            if self._joint is None:
                return False
        tol = _POLISH_SHARE * max(self.tol, 0.01 * self.now.gap) * abs(self.now.primal)
        alpha, theta, entries = self._joint.solve(self.alpha, self.theta, tol, self._rng)
        self.alpha[self._joint.rows] = alpha
        self.work += entries / p.rows.row_size / p.y.size
        self._set_theta(theta)
        self._sum_weights()
        return True

    def _covers_support(self) -> bool:
        """Tell whether theta is learnt, and every alpha_i != 0 is active and fits into a matrix."""
        if self.kernels is None or self._active.size > self._polish_rows:
            return False
        return not np.setdiff1d(np.flatnonzero(self.alpha), self._active).size

    def _weigh(self) -> None:
        """Take a theta step, unless theta is updated together with alpha."""
        assert self.kernels is not None
        is_due = self._of_theta > _THETA_SHARE * (self.now.primal - self.now.dual)
        theta = self.kernels.step(self.theta, self._q) if is_due else self.theta
        is_kept = self._is_over or self._covers_support()  # the last look is returned
        if not is_kept and not np.array_equal(theta, self.theta):
            self._set_theta(theta)
            self._is_fresh = False

    def _set_theta(self, theta: NDArray[np.float64]) -> None:
        """Set the task kernels to those weighted by theta, if they are not fixed."""
        self.theta = theta
        if self.kernels is not None:
            self.problem = replace(self.problem, coupling=self.kernels.couple(theta))
        self._H = self.problem.curvature()
        self._polished = None

    # ---- looks

    def _look_around(self) -> None:
        """Look at the whole problem, choose the active examples and adapt the kernels."""
        self._look()
        if self.now.gap <= self.tol and self._refresh():
            self._look()
        self._active = self._choose_active()
        self.now = replace(self.now, n_active=self._active.size)
        self.history.append(self.now)
        if self._weights.is_virtual:
            self._weigh()
            self._sum_weights()

    def _look(self) -> None:
        """Score all examples, and assess their margins."""
        self.work += self.problem.rows.scoring_cost
        self._assess(self.problem.y * self._weights.scores(self._tasks))

    def _assess(self, margins: NDArray[np.float64]) -> None:
        """Certify the progress; where theta is learnt, it is dualised, too."""
        p = self.problem
        self.margins = margins
        primal, dual = p.objectives(self.alpha, margins)
        if p.loss.is_signed:
            self._band = _BAND * float(np.abs(p.residuals(margins)).mean())
        if self.kernels is not None:
            least = max(self.tol * abs(primal), _WEIGHING * self._weighed_at)
            if primal - dual <= least or self.n_epochs >= self.max_epochs:
                grams = self._weights.fill_virtual(self.alpha * p.y, self._tasks)
                self._q, self._weighed_at = self.kernels.energies(grams), primal - dual
                half_q = 0.5 * float((self.alpha * margins).sum())
                self._of_theta = 0.5 * self.kernels.dual_norm(self._q) - half_q
            dual -= self._of_theta
        gap = max(primal - dual, 0.0) / max(abs(primal), 1e-300)  # below 0 by rounding
        self._is_fresh = True
        self.now = self._progress(primal, dual, gap)

    def _progress(self, primal: float, dual: float, gap: float) -> Progress:
        """Return objectives with the present counts."""
        seconds = time.perf_counter() - self._started
        n_active = self._active.size
        return Progress(self.n_epochs, self.work, n_active, primal, dual, gap, seconds)

    def _choose_active(self) -> NDArray[np.int64]:
        """Return the examples that are not at a bound with a margin to spare.

        Where theta is learnt, also those with alpha_i != 0, if all fit into a kernel matrix.
        """
        p, alpha = self.problem, self.alpha
        idle = p.loss.idle(alpha, p.residuals(self.margins), p.C, self._band)
        active = np.flatnonzero(~idle)
        if self.kernels is None:
            return active
        wide = np.flatnonzero(~idle | (alpha != 0.0))
        return wide if wide.size <= self._polish_rows else active

    # ---- weights

    def _refresh(self) -> bool:
        """Recompute the weights from alpha if they have drifted; return whether they had.

        The solution's weights are recomputed from alpha, so the gap must hold for these.
        """
        if had_drifted := self._has_drifted:
            self._sum_weights()
        return had_drifted

    def _sum_weights(self) -> None:
        """Set the weights to those of alpha and theta; where theta is learnt, a look leaves V."""
        amount, weights = self.alpha * self.problem.y, self._weights
        if self.kernels is None:
            weights.fill(amount, self._tasks)
        else:
            if not weights.is_virtual:
                weights.fill_virtual(amount, self._tasks)
            weights.couple(self.problem.coupling)
        self._has_drifted = False
