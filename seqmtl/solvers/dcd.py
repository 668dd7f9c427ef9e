"""Dual coordinate descent for multi-task SVMs with arbitrary task kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import ahead, stop_if_over
from seqmtl.blocks import View, blocks_of
from seqmtl.solvers.polish import hessian, polish
from seqmtl.solvers.problem import Problem
from seqmtl.solvers.weights import GroupedWeights, TaskWeights

#: Examples at a bound stay active while their margin is within this distance of 1, or their
#: residual within this share of the mean residual from epsilon.
_BAND = 0.1
_POLISH_BYTES = 64 << 20  # limit on the kernel matrix of a polish, or the size of the weights
_ENTRY_COST = 0.1  # cost of reading a kernel matrix entry, in gathered weights
_PRECISE = 1e-4  # tolerance below which many epochs justify larger kernel matrices
_SAVE_AFTER = 10  # epochs, and passes of work, between states from which a run can be resumed
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


@dataclass
class State:
    """All that is needed to resume: dual variables, position in the random stream, history.

    `theta` holds the kernel weights of :mod:`seqmtl.solvers.mkl`, and is empty without them.
    A run from a state that `is_resumable` takes the same steps as the one that it is from; any
    other state is a start near the optimum.
    """

    alpha: NDArray[np.float64]
    active: NDArray[np.int64]
    rng: np.random.Generator
    epoch: int = 0
    work: float = 0.0
    seconds: float = 0.0
    history: list[Progress] = field(default_factory=list)
    theta: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    is_resumable: bool = False


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


class CoordinateDescent:
    """Algorithm 1 of Widmer et al. (2012) with working sets and a certified stopping criterion.

    The solver alternates three moves. An *epoch* visits the active examples in random order. A
    *polish* replaces epochs when the active set is small and the features can compare two rows
    cheaply: it computes their kernel matrix and descends there, where a visit is very cheap.
    A *look* scores all examples, which gives the exact duality gap, and selects a new active set:
    every example that is not at a bound with a margin to spare. A look is taken as soon as the
    epochs since the last one have cost as much as a look does.

    From time to time the solver starts afresh from its own state. A run that is resumed from there
    therefore takes the same steps as one without interruption, to the last bit.

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of epochs and polishes.
    dtype : dtype
        Type of the weights: float32, or float64 for gaps below about 1e-6.
    seed : int
        Seed of the visiting order.
    state : State, optional
        State to resume from: a checkpoint, or one with ``alpha`` of a related problem.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        dtype: Any = np.float32,
        seed: int = 0,
        state: State | None = None,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.max_epochs = max_epochs
        self.state = initial_state(problem.y.size, seed) if state is None else state
        self._options = {"tol": tol, "max_epochs": max_epochs, "dtype": dtype}
        self._save_at = self.state.epoch + _SAVE_AFTER, self.state.work + _SAVE_AFTER
        tree = problem.rows.tree()
        self._is_tree = tree is not None
        self._rows = problem.rows if tree is None else tree
        views = problem.rows.views if tree is None else (View(tree, slice(None)),)
        self._weights = GroupedWeights(problem.coupling, views, dtype, is_padded=self._is_tree)
        self.bias = np.zeros(problem.kernels.shape[-1])
        self._H = problem.curvature()
        self._band = _BAND
        self._keep = np.ones(problem.y.size, dtype=np.bool_)
        self._tasks = np.ascontiguousarray(problem.tasks, dtype=np.int16)
        self._has_drifted = False  # whether the weights have accumulated rounding errors
        self._is_fresh = False  # whether the last margins are still valid
        self._patience = problem.rows.scoring_cost  # visits between looks, in epochs
        self._polished: tuple[NDArray[np.int64], NDArray[Any]] | None = None
        n_bytes = max(_POLISH_BYTES, self._weights.flat.nbytes)
        most = min(view.rows.gram_rows for view in problem.rows.views)
        most = most if tol >= _PRECISE else 8 * most
        self._polish_rows = min(int(np.sqrt(n_bytes / np.dtype(dtype).itemsize)), most)

    def solve(self, on_epoch: Callable[[State, Progress], None] | None = None) -> Solution:
        """Run until the tolerance or the epoch limit is reached.

        Parameters
        ----------
        on_epoch : callable, optional
            Called after every epoch with the state, which may be saved where it is resumable, and
            the progress.

        Returns
        -------
        Solution
            Weights, dual variables and the gap between their objectives.
        """
        solver = self
        while (solution := solver._run(on_epoch)) is None:
            solver = solver._anew()
        return solution

    def _run(self, on_epoch: Callable[[State, Progress], None] | None) -> Solution | None:
        """Run until the end, or a state from which a run can be resumed."""
        state, started = self.state, time.perf_counter() - self.state.seconds
        if state.alpha.any():
            self._add(np.arange(state.alpha.size), state.alpha * self.problem.y)
            margins, now = self._look(started)
        else:
            margins, now = self._assess(np.zeros(state.alpha.size), started)
        since_look = 0.0
        while now.gap > self.tol and state.epoch < self.max_epochs:
            stop_if_over()
            is_joint = self._move(margins, now)
            state.epoch += 1
            since_look += state.active.size / state.alpha.size
            last = state.epoch == self.max_epochs
            if is_joint or last or since_look >= self._patience or not state.active.size:
                since_look = 0.0
                margins, now = self._look(started)
                if now.gap <= self.tol and self._refresh():
                    margins, now = self._look(started)
                state.active = self._choose_active(margins)
                now = replace(now, n_active=state.active.size)
                state.history.append(now)
                if now.gap > self.tol and not last:  # the last look is returned
                    self._adapt()
            state.seconds = time.perf_counter() - started
            state.is_resumable = self._is_savable() and now.gap > self.tol and not last
            if on_epoch is not None:
                on_epoch(
                    state,
                    replace(
                        now,
                        epoch=state.epoch,
                        work=state.work,
                        n_active=state.active.size,
                        seconds=state.seconds,
                    ),
                )
            if state.is_resumable:
                state.is_resumable = False
                return None
        return Solution(
            state.alpha, self._task_weights(), self.bias, margins, now.primal, now.dual, now.gap,
            now.gap <= self.tol, state.epoch, state.work, state.history, state.theta,
        )  # fmt: skip

    def _is_savable(self) -> bool:
        """Tell whether it is time to start afresh from the state."""
        epoch, work = self._save_at
        return self.state.epoch >= epoch and self.state.work >= work

    def _anew(self) -> Self:
        """Free the memory, and return a solver that has nothing but the state of this one."""
        self._free()
        return type(self)(self.problem, **self._options, state=self.state)

    def _free(self) -> None:
        """Free the memory of the weights and matrices."""
        self._weights.free()
        self._polished = None

    def _adapt(self) -> None:
        """Change the task kernels after a look; does nothing here, as they are fixed."""

    def _move(self, margins: NDArray[np.float64], now: Progress) -> bool:
        """Visit the active set, or polish it; return whether it was polished."""
        if self._is_fresh and 0 < self.state.active.size <= self._polish_rows:
            if self._polish(margins, now):
                return True
            self._polish_rows = self.state.active.size - 1
        self._polished = None
        self._epoch()
        self._is_fresh, self._has_drifted = False, True
        return False

    def _epoch(self) -> None:
        """Visit the active examples once; drop those that turn out inactive."""
        from seqmtl.solvers._dcd_kernels import descend, descend_tree

        p, state = self.problem, self.state
        examples = (p.y, self._tasks, self._H, p.C, p.targets)
        loss = (p.loss_number, p.epsilon, self._band)
        weights = self._weights
        variables = (state.alpha, weights.flat, self.bias, self._keep)
        groups, K = weights.for_loops(), np.ascontiguousarray(p.kernels)
        order = state.rng.permutation(state.active)
        visit = descend_tree if self._is_tree else descend

        def compute(rows: NDArray[np.int64]) -> Any:
            return self._rows.block(rows, weights.flat.dtype)

        parts = blocks_of(order, self._rows.row_size)
        for rows, block in zip(parts, ahead(compute, parts), strict=True):
            visit(block, rows, examples, variables, groups, K, p.bias_scale, loss)
        state.work += order.size / state.alpha.size
        state.active = state.active[self._keep[state.active]]

    def _polish(self, margins: NDArray[np.float64], now: Progress) -> bool:
        """Solve for the active examples on their kernel matrix, if there is one; return whether."""
        p, state = self.problem, self.state
        if not (self._polished is not None and np.isin(state.active, self._polished[0]).all()):
            self._polished = None
            G = hessian(p, state.active, self._weights.flat.dtype)
            if G is None:
                return False
            self._polished = (state.active, G)
        active, G = self._polished
        if self._refresh():
            margins = self._look(0.0)[0]
        before = state.alpha[active]
        tol = _POLISH_SHARE * max(self.tol, 0.01 * now.gap) * abs(now.primal)
        alpha, n_changes = polish(p, active, before, margins[active], G, tol, state.rng)
        change = np.zeros(p.y.size)
        change[active] = (alpha - before) * p.y[active]
        self._add(active, change)
        state.alpha[active] = alpha
        entries = active.size * (active.size + _ENTRY_COST * n_changes)
        state.work += (active.size + entries / p.rows.row_size) / p.y.size
        return True

    def _look(self, started: float) -> tuple[NDArray[np.float64], Progress]:
        """Score all examples; return their margins and the certified progress."""
        p = self.problem
        scores = p.bias_scale * self.bias[self._tasks]
        self._weights.add_scores(self._tasks, scores)
        self.state.work += p.rows.scoring_cost
        return self._assess(p.y * scores, started)

    def _assess(
        self, margins: NDArray[np.float64], started: float
    ) -> tuple[NDArray[np.float64], Progress]:
        state = self.state
        primal, dual = self.problem.objectives(state.alpha, margins)
        if self.problem.is_regression:
            self._band = _BAND * float(np.abs(self.problem.residuals(margins)).mean())
        gap = max(primal - dual, 0.0) / max(abs(primal), 1e-300)  # below 0 by rounding
        self._is_fresh = True
        seconds = time.perf_counter() - started
        return margins, Progress(
            state.epoch, state.work, state.active.size, primal, dual, gap, seconds
        )

    def _choose_active(self, margins: NDArray[np.float64]) -> NDArray[np.int64]:
        p, alpha = self.problem, self.state.alpha
        G = p.gradient(alpha, margins)
        rests = np.abs(G) < p.epsilon - self._band if p.is_regression else G > self._band
        idle = (alpha == 0) & rests
        if p.has_upper_bound:
            idle |= (np.abs(alpha) >= p.C) & (np.sign(alpha) * G < -self._band)
        return np.flatnonzero(~idle)

    def _refresh(self) -> bool:
        """Recompute the weights from alpha if they have drifted; return whether they had.

        The solution's weights are recomputed from alpha, so the gap must hold for these.
        """
        if not self._has_drifted:
            return False
        self._sum_weights()
        return True

    def _sum_weights(self) -> None:
        self._weights.flat[:] = 0
        self.bias[:] = 0
        self._add(np.arange(self.state.alpha.size), self.state.alpha * self.problem.y)
        self._has_drifted = False

    def _add(self, rows: NDArray[np.int64], amount: NDArray[np.float64]) -> None:
        """Add amount[i] times the features of example i to the weights, for i in rows."""
        p = self.problem
        rows = rows[amount[rows] != 0.0]
        self._weights.add(rows, amount, self._tasks)
        sums = np.bincount(self._tasks[rows], amount[rows], minlength=self.bias.size)
        self.bias += p.bias_scale * (p.kernels.sum(axis=0) @ sums)

    def _task_weights(self) -> NDArray[Any] | TaskWeights:
        """Return the weights of the tasks by feature; those of the solver are freed if others."""
        weights, p = self._weights, self.problem
        if weights.groups.is_single and not self._is_tree:
            return weights.tables[0]
        self._free()
        rows = np.flatnonzero(self.state.alpha)
        plain = GroupedWeights(weights.groups, p.rows.views, weights.flat.dtype)
        return plain.solution(rows, self.state.alpha * p.y, self._tasks)


def initial_state(n: int, seed: int) -> State:
    """Start at alpha = 0 with a random sixteenth of the examples (at least 2,048) active."""
    rng = np.random.default_rng(seed)
    first = np.sort(rng.permutation(n)[: max(n // 16, 2048)])
    return State(np.zeros(n), first, rng)
