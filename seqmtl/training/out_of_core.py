"""Train on windows that stay on disk: the working set of :mod:`seqmtl.core.dcd`, one level higher.

At the optimum most windows have alpha = 0, and most others alpha = C, if the loss bounds it. Only
those in between, the *active* ones, have to be in memory. With A their set and B that of the other
windows, at alpha_i = C_i,

    f(x) = f_A(x) + f_B(x),    f_B from W_B, the sum of C_i y_i x_i over B, coupled by K

    repeat
        solve for alpha of A, with the scores f_B(x_i) given        :func:`seqmtl.core.solve`
        score all windows, part by part, on any machine             :func:`.parts.score_part`
        sum what they contribute to both objectives; stop if the gap of all windows is small
        A <- A without windows safely at a bound, and with those that would leave theirs

The last line is :meth:`Loss.can_shrink <seqmtl.core.losses.Loss.can_shrink>`, as in memory. Windows
that leave A at alpha_i = C_i are added to W_B.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl._surroundings import usual_floats
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.losses import LOSSES
from seqmtl.core.problem import relative_gap
from seqmtl.core.weights import TaskWeights, bias_of
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.features._base import FeatureDefinition
from seqmtl.io.window_store import PART, WindowStore
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import features_at_site, model_of
from seqmtl.training.parts import (
    BAND,
    BINS,
    ActiveSet,
    PartResult,
    PartTask,
    ScoreParts,
    as_examples,
)
from seqmtl.training.settings import Settings, class_factors
from seqmtl.training.solver import ONE_THREAD, check_classes, problem_of, summarise
from seqmtl.training.task_kernels import kernel_for_solver, resolve_kernels, view_names

Array = NDArray[np.float64]

# Plain choices of the algorithm.
_FIRST_SHARE = 16  # one in so many windows is active at first
_INNER = 0.1  # share of the gap of all windows to which the active ones are trained
_PRECISE = "float64"  # type of W_B and of the weights of A, which are large next to their sum
_PATIENCE = 10  # passes in which the dual objective rises, unless room or precision lacks
_MIN_ACTIVE = 20_000  # active windows for which there must be room
_MIN_ROOM = 0.1  # share of the room that is left for windows that become active
# Memory, measured: Python, compiled loops and a selection of hyperparameters; an active window
# besides twice its letters; a window that is scored besides its letters.
_BASE_BYTES, _BYTES_PER_ACTIVE, _BYTES_PER_SCORED = 700 << 20, 200, 80

#: Where to begin: the windows in memory, and the state of the others; see the trainer.
Start = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class OutOfCoreTrainer:
    """How to train on windows that stay on disk.

    Attributes
    ----------
    memory : int
        Bytes that this process may use.
    score_parts : callable
        Scores all parts, see :data:`ScoreParts`.
    max_active : int, optional
        Number of windows that may be in memory. Default: as many as the memory holds.
    """

    memory: int
    score_parts: ScoreParts
    max_active: int = 0

    def for_training(
        self, store: WindowStore, features: Any, settings: Settings
    ) -> OutOfCoreTrainer:
        """Check that windows can be trained on like this; return it with their number in memory.

        Raises
        ------
        SeqmtlError
            If the loss leaves no window at alpha = 0.
        MemoryLimitError
            If there is no room for a useful number; the message says what is needed.
        """
        if not LOSSES[settings.loss].is_sparse:
            raise SeqmtlError(
                f"with the {settings.loss} loss no window has alpha = 0, so all must be in memory; "
                "take another --loss, or leave out --memory and --dask"
            )
        n, length = store.shape
        weights = 8 * 4 * features.n_features(length) * len(store.task_names)
        scored = min(n, PART) * (length + _BYTES_PER_SCORED)
        fixed = _BASE_BYTES + weights + scored + 5 * n
        each = 2 * length + _BYTES_PER_ACTIVE
        max_active = self.max_active or int((self.memory - fixed) // each)
        if not self.max_active and max_active < min(n, _MIN_ACTIVE):
            needed = fixed + min(n, _MIN_ACTIVE) * each
            raise MemoryLimitError(
                f"training on {n:,} windows of {length} bases takes at least "
                f"{needed / 2**30:.2f} GiB, and --memory allows {self.memory / 2**30:.2f}; give "
                "more, or hash the features to fewer bits"
            )
        return replace(self, max_active=max_active)


@usual_floats
@ONE_THREAD
def fit_from_disk(  # noqa: PLR0913
    examples: Examples,
    trainer: OutOfCoreTrainer,
    task_kernel: Any = None,
    *,
    features: FeatureDefinition | None = None,
    settings: Settings | None = None,
    site: Site | None = None,
    report: dict[str, Any] | None = None,
    start: Start | None = None,
    on_epoch: Callable[[Start, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train on the windows of a store, of which only some are in memory.

    Parameters
    ----------
    examples : Examples
        Their data are the :class:`~seqmtl.io.window_store.WindowStore`.
    trainer : OutOfCoreTrainer
        How.
    task_kernel, features, settings, site, report
        See :func:`seqmtl.training.fit.fit`; kernel weights are not learnt.
    start : mapping of str to ndarray, optional
        Where to begin: one that `on_epoch` was called with.
    on_epoch : callable, optional
        Called after every pass over all windows with what a later run may start from, and the
        progress: the arrays rows, alpha and margins of the active windows; bound, which of the
        others have alpha_i = C_i; and primal, the objective of all windows at these margins.

    Returns
    -------
    model : MultiTaskModel
        Its tasks are in the order of the examples.
    solution : Solution
        Alpha and margins are those of the windows in memory at the end.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    SeqmtlError, MemoryLimitError
        If the loss leaves no window at alpha = 0, or too many windows must be in memory.
    """
    settings = settings or Settings()
    check_classes(examples)
    kernel = resolve_kernels(task_kernel, examples.names)
    features, site = features_at_site(features, examples, site)
    trainer = trainer.for_training(examples.data, features, settings)
    working_set = WorkingSet(examples, features, kernel, settings, trainer)
    solution, results = working_set.solve(on_epoch, start)
    kernel = TaskKernel(kernel.names, kernel.matrix, kernel.source)
    n_support = int((solution.alpha != 0).sum() + working_set.bound.sum())
    report = summarise(examples, settings, solution) | {"n_support": n_support} | (report or {})
    calibration = working_set.calibrate(solution, results)
    return model_of(examples, features, kernel, solution, calibration, site, report), solution


class WorkingSet:
    """The windows in memory, and what is needed of the others.

    Attributes
    ----------
    active : ActiveSet
        The windows in memory.
    bound : ndarray of bool, shape (n,)
        Which of the windows in the store are not in memory and have alpha_i = C_i.
    """

    active: ActiveSet
    bound: NDArray[np.bool_]

    def __init__(
        self,
        examples: Examples,
        features: FeatureDefinition,
        kernel: TaskKernel,
        settings: Settings,
        trainer: OutOfCoreTrainer,
    ) -> None:
        self._store, self._features, self._trainer = examples.data, features, trainer
        T, labels = len(examples.names), examples.y
        self._coupling, _ = kernel_for_solver(kernel, T, len(view_names(features)))
        factors = class_factors(labels, settings.class_weight)
        weight = {sign: float(factors[np.argmax(labels == sign)]) for sign in (1, -1)}
        self._settings = replace(settings, class_weight=weight)
        self._weights: TaskWeights | None = None  # of the windows at the bound
        self._bias = np.zeros(T)
        self._primal = 0.0  # objective of all windows at the last pass
        self._started = time.perf_counter()

    def solve(
        self, on_pass: Callable[[Start, Progress], None] | None, start: Start | None
    ) -> tuple[Solution, list[PartResult]]:
        """Return the solution and the results of the last pass over all windows."""
        history = list[Progress]()
        if start is None:
            self._begin()
        else:
            self._begin_from(start)
        while True:
            solution = self._train(history)
            self.active = self.active._replace(alpha=solution.alpha, margins=solution.margins)
            results = self._full_pass(solution, self._room())
            now = self._progress(history, solution, results)
            history.append(now)
            if on_pass is not None:
                on_pass(self._start(), now)
            stopped_by = self._reason_to_stop(history, results)
            if stopped_by:
                solution.primal, solution.dual, solution.gap = now.primal, now.dual, now.gap
                solution.n_epochs, solution.work, solution.history = now.epoch, now.work, history
                solution.stopped_by = stopped_by
                return solution, results
            self._exchange(results)
            del solution, results  # frees the weights, and letters that have been copied

    def _begin(self) -> None:
        """Begin with a random part of the windows."""
        n = len(self._store)
        size = min(max(n // _FIRST_SHARE, 2048), self._trainer.max_active // 2)
        drawn = np.random.default_rng(self._settings.seed).integers(n, size=size)
        rows = np.arange(n) if n <= 2 * size else np.unique(drawn)
        zeros = np.zeros(rows.size)
        self.active = ActiveSet(rows, self._store[rows], zeros, zeros)
        self.bound = np.zeros(n, dtype=np.bool_)

    def _begin_from(self, start: Start) -> None:
        """Begin where an earlier run was after a pass."""
        rows, alpha, margins = (start[name].copy() for name in ("rows", "alpha", "margins"))
        self.active = ActiveSet(rows, self._store[rows], alpha, margins)
        self.bound, self._primal = start["bound"] > 0, float(start["primal"][0])
        for part in self._store.parts:
            is_bound = self.bound[part.first : part.first + part.n]
            self._add_weights(part.load()[np.flatnonzero(is_bound)], 1.0)

    def _progress(
        self, history: list[Progress], solution: Solution, results: list[PartResult]
    ) -> Progress:
        """Return the progress after a pass."""
        primal, dual = (sum(getattr(a, name) for a in results) for name in ("primal", "dual"))
        self._primal = primal
        gap = max(relative_gap(primal, dual), 0.0)
        n_active = self.active.rows.size
        epochs, work = (history[-1].epoch, history[-1].work) if history else (0, 0.0)
        epochs += max(solution.n_epochs, 1)
        work += solution.work * n_active / len(self._store) + 1.0
        seconds = time.perf_counter() - self._started
        return Progress(epochs, work, n_active, primal, dual, gap, seconds)

    def _start(self) -> dict[str, NDArray[Any]]:
        """Return what a later run may start from."""
        arrays = {name: getattr(self.active, name) for name in ("rows", "alpha", "margins")}
        bound, primal = self.bound.astype(np.uint8), np.array([self._primal])
        return arrays | {"bound": bound, "primal": primal}

    def _tolerance(self, history: list[Progress]) -> float:
        """Return the gap to which the active windows are trained."""
        gap = history[-1].gap if history else 1.0
        share = self._share_of_gap(gap) if history else 1.0
        return max(0.5 * self._settings.tol, _INNER * gap) * share

    def _share_of_gap(self, gap: float) -> float:
        """Return the share of the gap that is due to the active windows."""
        loss, alpha, margins = LOSSES[self._settings.loss], self.active.alpha, self.active.margins
        C = self._settings.costs(self.active.examples)
        gaps = C * loss.values(margins) + alpha * margins - loss.dual(alpha, C)
        return min(float(gaps.sum()) / max(gap * self._primal, 1e-300), 1.0)

    def _train(self, history: list[Progress]) -> Solution:
        """Train on the active windows, from where they are; return the whole solution."""
        settings, examples = self._settings, self.active.examples
        left = settings.max_epochs - (history[-1].work if history else 0.0)  # over all windows
        left *= len(self._store) / len(examples.y)
        settings = replace(settings, tol=self._tolerance(history), max_epochs=math.ceil(left))
        y, alpha, margins = examples.y, self.active.alpha, self.active.margins
        rows = self._features.bind(examples.data)
        if self._weights is None:
            problem = problem_of(rows, examples, self._coupling, settings)
            return core.solve(problem, start=WarmStart(alpha), **settings.limits)
        given = self._weights.scores(rows, examples.ids, settings.bias_scale * self._bias)
        q = alpha * (margins - y * given)
        losses = settings.costs(examples) * LOSSES[settings.loss].values(margins)
        constant = self._primal - float((losses + 0.5 * q).sum())
        precise = replace(settings, dtype=_PRECISE)
        problem = problem_of(
            rows, examples, self._coupling, precise, given=given, constant=constant
        )
        solution = core.solve(problem, start=WarmStart(alpha), **precise.limits)
        solution.weights += self._weights
        solution.weights = solution.weights.astype(settings.dtype)
        solution.bias += self._bias
        solution.margins += y * given
        return solution

    def _is_free(self) -> NDArray[np.bool_]:
        alpha = self.active.alpha
        return (alpha > 0.0) & (alpha < self._settings.upper(self.active.examples))

    def _room(self) -> int:
        """Return the number of windows for which there is room if all at a bound leave."""
        n_free, max_active = int(self._is_free().sum()), self._trainer.max_active
        if n_free > (1.0 - _MIN_ROOM) * max_active and self.active.rows.size < len(self._store):
            raise self._too_many(n_free)
        return max(max_active - n_free, 0)

    def _exchange(self, results: list[PartResult]) -> None:
        """Take in new windows, and move out those that do not stay."""
        stays = self._stays_active(sum(result.new.rows.size for result in results))
        leaves = ~stays & (self.active.alpha > 0.0)
        self._add_weights(self.active.take(leaves).windows, 1.0)
        for result in results:
            self._add_weights(result.new.take(result.new.alpha > 0.0).windows, -1.0)
        self.bound[self.active.rows[leaves]] = True
        self.active = self.active.take(stays)  # its letters are copied before more come
        self.active = ActiveSet.join([self.active, *(result.new for result in results)])
        self.bound[self.active.rows] = False

    def _stays_active(self, n_new: int) -> NDArray[np.bool_]:
        """Return which windows stay active; with little room, those with the least slack."""
        alpha, C = self.active.alpha, self._settings.costs(self.active.examples)
        gradient = LOSSES[self._settings.loss].gradient(alpha, self.active.margins, C)
        # how far the margin is from where alpha would leave its bound
        slack = np.where(alpha > 0.0, -gradient, gradient)
        slack[self._is_free()] = -np.inf
        stays = (alpha > 0.0) | (slack < BAND)
        room = max(self._trainer.max_active - n_new, 0)
        if stays.sum() > room:
            order = np.argsort(np.where(stays, slack, np.inf), kind="stable")
            stays[order[room:]] = False
        return stays

    def _too_many(self, n: int) -> MemoryLimitError:
        return MemoryLimitError(
            f"{n:,} windows or more have to be in memory, and there is room for "
            f"{self._trainer.max_active:,}; give more --memory, or lower -C"
        )

    def _reason_to_stop(self, history: list[Progress], results: list[PartResult]) -> str:
        """Return why to stop after a pass, see :class:`Solution`; empty if there is none.

        Raises
        ------
        MemoryLimitError
            If there is too little room to make progress.
        """
        now, settings = history[-1], self._settings
        if now.gap <= settings.tol:
            return "tol"
        if len(history) > _PATIENCE:
            rise = now.dual - history[-1 - _PATIENCE].dual
            if rise < 0.1 * settings.tol * now.primal:
                new, limit = [result.new.rows.size for result in results], self._trainer.max_active
                is_full = self.active.rows.size + sum(new) >= limit
                if is_full or max(new) >= self._room() // len(new):
                    raise self._too_many(int(self._is_free().sum()))
                return "rounding"
        return "max_epochs" if now.work >= settings.max_epochs else ""

    def _add_weights(self, windows: Windows, sign: float) -> None:
        """Add windows to the weights of those at the bound, or take them out."""
        if not len(windows):
            return
        rows, examples = self._features.bind(windows), as_examples(windows)
        amount = sign * examples.y * self._settings.costs(examples)
        kernel, ids = self._coupling, examples.ids.astype(np.int16)
        weights = TaskWeights.sums(rows, kernel, _PRECISE, amount, ids)
        if self._weights is not None:
            weights += self._weights
        self._weights = weights
        self._bias += self._settings.bias_scale * bias_of(kernel, amount, ids)

    def _full_pass(self, solution: Solution, room: int) -> list[PartResult]:
        """Score all windows."""
        parts, rows, alpha = self._store.parts, self.active.rows, self.active.alpha
        bounds = np.searchsorted(rows, [part.first for part in parts] + [len(self._store)])
        packed = (np.packbits(self.bound[part.first : part.first + part.n]) for part in parts)
        jobs = [
            (part, rows[a:b], alpha[a:b], bits)
            for part, (a, b), bits in zip(parts, pairwise(bounds), packed, strict=True)
        ]
        max_new, state = room // len(parts), (solution.weights, solution.bias)
        part_task = PartTask(self._features, self._settings, self._coupling, *state, max_new)
        return list(self._trainer.score_parts(part_task, jobs))

    def calibrate(self, solution: Solution, results: list[PartResult]) -> Array:
        """Fit the sigmoids to the active windows, and to the others by the mean of their bin."""
        examples, settings = self.active.examples, self._settings
        rows, upper = self._features.bind(examples.data), settings.upper(examples)
        left_out, share = left_out_scores(
            rows, examples, self._coupling.K, solution, upper, settings.bias_scale
        )
        bins, inverse = np.unique(
            np.concatenate([result.bins for result in results]), return_inverse=True
        )

        def total(name: str) -> Array:
            values = np.concatenate([getattr(result, name) for result in results])
            return np.bincount(inverse, values).astype(np.float64)

        counts, sides = total("counts"), np.where(bins // BINS % 2 == 1, 1.0, -1.0)
        means = (total("scores") - share * total("parts")) / counts
        return calibrate_tasks(
            np.append(left_out, means),
            np.append(examples.y, sides),
            np.append(examples.ids.astype(np.int64), bins // (2 * BINS)),
            self._bias.size,
            np.append(examples.weight, counts),
        )
