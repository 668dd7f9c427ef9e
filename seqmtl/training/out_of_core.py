"""Train on more windows than fit into memory.

At the optimum most windows have alpha = 0, and most others alpha = C, if the loss bounds it. Only
those in between, the *active* ones, are in memory; those at C are represented by the sum of their
weights, whose scores are given when the active ones are trained on. Two steps alternate. The
active windows are trained on as if they were all. Then all windows are scored, part by part, which
gives the duality gap of the whole problem; windows at a bound that violate it become active, and
those at a bound with a margin to spare cease to be. It ends at the same gap as training in memory,
and the parts may be scored anywhere, in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import LOSSES, find_loss
from seqmtl.core.problem import Problem, kernel_diagonal
from seqmtl.core.weights import GroupedWeights, TaskWeights, scores_of
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.io.window_store import PART, StoredPart, WindowStore, compact
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows, concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings, class_factors
from seqmtl.training.solver import Fitted, Plan, solve
from seqmtl.training.task_kernels import couple, view_names

Array = NDArray[np.float64]
#: Windows at a bound become active while their margin is within this distance of 1.
BAND = 0.1
#: Bins of the scores to calibrate on.
BINS = 4096
_WIDEST = 8.0  # bins are from -8 to 8
_FIRST = 16  # one in so many windows is active at first
_LEAST = 20_000  # active windows for which there must be room
_PRECISE = "float64"  # of weights that are large next to their sum
_INNER = 0.1  # share of the gap of all windows to which the active ones are trained
_BASE_BYTES = 700 << 20  # Python, compiled loops, and a selection of hyperparameters
_BYTES_PER_ACTIVE = 200  # besides twice its letters
_PATIENCE = 10  # passes in which the dual objective has to rise
_LEAST_ROOM = 0.1  # share of the room that is left for windows that become active
_BYTES_PER_SCORED = 80


def as_examples(windows: Windows) -> Examples:
    """Return windows with the tasks of the whole store as examples."""
    return Examples(
        windows, windows.labels.astype(np.float64), windows.task_ids, windows.task_names
    )


class ActiveSet(NamedTuple):
    """Windows in memory, in the order of the store.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Their numbers in the store.
    windows : Windows
        Their letters, labels and organisms.
    alpha, margins : ndarray of float64, shape (m,)
        Their dual variables and margins.
    """

    rows: NDArray[np.int64]
    windows: Windows
    alpha: Array
    margins: Array

    @property
    def examples(self) -> Examples:
        """The windows as examples."""
        return as_examples(self.windows)

    def take(self, chosen: NDArray[Any]) -> ActiveSet:
        """Return some of them, with a copy of their letters."""
        windows = compact(self.windows[chosen])
        return ActiveSet(self.rows[chosen], windows, self.alpha[chosen], self.margins[chosen])

    @classmethod
    def join(cls, parts: Sequence[ActiveSet]) -> ActiveSet:
        """Return the windows of all parts."""
        rows, alpha, margins = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "alpha", "margins")
        )
        order, windows = np.argsort(rows), concatenate([part.windows for part in parts])
        return cls(rows[order], windows[order], alpha[order], margins[order])


class PartTask(NamedTuple):
    """What to compute for the windows of a part.

    Attributes
    ----------
    features : FeatureDefinition
        The feature map.
    settings : Settings
        Training settings, with a number as the weight of each class.
    task_kernel : GroupedKernel
        Task kernel of every view.
    W : ndarray or TaskWeights, shape (n_features, T)
        Weights.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature.
    max_new : int
        Number of windows that may become active.
    """

    features: Any
    settings: Settings
    task_kernel: GroupedKernel
    W: Any
    bias: Array
    max_new: int


class PartResult(NamedTuple):
    """What the windows of a part contribute.

    Attributes
    ----------
    primal, dual : float
        Their part of the objectives.
    new : ActiveSet
        Windows that should become active.
    bins : ndarray of int64, shape (b,)
        (2 t + s) * :data:`BINS` + bin for the scores of the windows of organism t that are not
        active, with s = 1 for true sites.
    counts, scores, steps : ndarray of float64, shape (b,)
        Number in each, and sums of the scores and of alpha_i times the kernel of the window with
        itself.
    """

    primal: float
    dual: float
    new: ActiveSet
    bins: NDArray[np.int64]
    counts: Array
    scores: Array
    steps: Array


def score_part(
    part_task: PartTask,
    part: StoredPart,
    active: NDArray[np.int64],
    alpha: Array,
    bound: NDArray[np.uint8],
) -> PartResult:
    """Score the windows of a part.

    Parameters
    ----------
    part_task : PartTask
        What to compute.
    part : StoredPart
        The windows, n of them.
    active : ndarray of int64, shape (m,)
        Numbers of those that are active.
    alpha : ndarray of float64, shape (m,)
        Their dual variables.
    bound : ndarray of uint8, shape (ceil(n / 8),)
        Packed bits: which are not active, with alpha_i = C_i. The others have alpha_i = 0.
    """
    windows = part.load()
    rows, examples, settings = (
        part_task.features.bind(windows),
        as_examples(windows),
        part_task.settings,
    )
    y, ids, C = examples.y, examples.ids, settings.costs(examples)
    scores = scores_of(rows, ids, part_task.W, settings.bias_scale * part_task.bias)
    is_active = np.zeros(y.size, dtype=np.bool_)
    is_active[active - part.first] = True
    every, margins = np.where(np.unpackbits(bound, count=y.size), C, 0.0), y * scores
    loss = find_loss(settings.loss)
    short = np.flatnonzero(~is_active & ~loss.can_shrink(every, margins, C, BAND))
    if short.size > part_task.max_new:  # a sample: the worst alone would not represent all of them
        short = np.sort(np.random.default_rng(part.first).permutation(short)[: part_task.max_new])
    new = ActiveSet(part.first + np.arange(y.size), windows, every, margins).take(short)
    binned = _binned(part_task, windows, scores, every, ~is_active)
    every[is_active] = alpha
    problem = Problem(rows, y, ids, part_task.task_kernel, C, loss, settings.bias_scale)
    primal, dual = problem.objectives(every, margins)
    return PartResult(primal, dual, new, *binned)


def _binned(
    part_task: PartTask, windows: Windows, scores: Array, alpha: Array, chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Return bins, counts, scores and steps of a result."""
    ids, y, held = windows.task_ids, windows.labels, np.flatnonzero(alpha)
    numbers = np.clip((scores[chosen] / _WIDEST + 1.0) * (BINS / 2), 0, BINS - 1).astype(np.int64)
    numbers += BINS * (2 * ids[chosen].astype(np.int64) + (y[chosen] > 0))
    bins, inverse = np.unique(numbers, return_inverse=True)
    steps = alpha.copy()
    rows = part_task.features.bind(windows[held])
    steps[held] *= kernel_diagonal(
        rows, ids[held], part_task.task_kernel.K, part_task.settings.bias_scale
    )
    counts, totals, step_totals = (
        np.bincount(inverse, weights).astype(np.float64)
        for weights in (None, scores[chosen], steps[chosen])
    )
    return bins, counts, totals, step_totals


#: The arguments of :func:`score_part` besides the task.
Job = tuple[StoredPart, NDArray[np.int64], Array, NDArray[np.uint8]]
#: Calls that function with a task and each of the jobs; yields the results in order.
ScoreParts = Callable[[PartTask, list[Job]], Iterator[PartResult]]
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
    run : callable
        Scores candidates of a selection, see :func:`~seqmtl.training.selection.select`.
    max_active : int, optional
        Number of windows that may be in memory. Default: as many as the memory holds.
    """

    memory: int
    score_parts: ScoreParts
    run: Any = in_order
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
        if not self.max_active and max_active < min(n, _LEAST):
            needed = fixed + min(n, _LEAST) * each
            raise MemoryLimitError(
                f"training on {n:,} windows of {length} bases takes at least "
                f"{needed / 2**30:.2f} GiB, and --memory allows {self.memory / 2**30:.2f}; give "
                "more, or hash the features to fewer bits"
            )
        return replace(self, max_active=max_active)

    def fit(
        self,
        examples: Examples,
        plan: Plan,
        start: Start | None = None,
        on_pass: Callable[[Start, Progress], None] | None = None,
    ) -> Fitted:
        """Solve for all windows of a store, and calibrate the solution.

        Parameters
        ----------
        examples : Examples
            Their data are the store.
        plan : Plan
            How to train.
        start : mapping of str to ndarray, optional
            Where to begin: one that `on_pass` was called with.
        on_pass : callable, optional
            Called after every pass over all windows with the progress, and what a later run may
            start from: the arrays rows, alpha and margins of the active windows; bound, which of
            the others have alpha_i = C_i; and primal, the objective of all windows at these
            margins.

        Raises
        ------
        MemoryLimitError
            If more windows have alpha between its bounds than may be active.
        """
        search = _Search(examples, plan, self)
        solution, results = search.run(on_pass, start)
        kernel = TaskKernel(plan.kernel.names, plan.kernel.matrix, plan.kernel.source)
        n_support = int((solution.alpha != 0).sum() + search.bound.sum())
        calibration = search.calibrate(solution, results)
        return Fitted(solution, kernel, calibration, {"n_support": n_support})


class _Search:
    """The search for the windows that are active at the optimum.

    Attributes
    ----------
    active : ActiveSet
        The windows in memory.
    bound : ndarray of bool, shape (n,)
        Which of the windows in the store are not in memory and have alpha_i = C_i.
    """

    active: ActiveSet
    bound: NDArray[np.bool_]

    def __init__(self, examples: Examples, plan: Plan, disk: OutOfCoreTrainer) -> None:
        self._store, self._features, self._disk = examples.data, plan.features, disk
        T, labels = len(examples.names), examples.y
        self._coupling = couple(plan.kernel, T, len(view_names(plan.features)))
        factors = class_factors(labels, plan.settings.class_weight)
        weight = {sign: float(factors[np.argmax(labels == sign)]) for sign in (1, -1)}
        self._settings = replace(plan.settings, class_weight=weight)
        self._W: Any = None  # of the windows at the bound
        self._bias = np.zeros(T)
        self._primal = 0.0  # objective of all windows at the last pass
        self._started = time.perf_counter()

    def run(
        self, on_pass: Callable[[Start, Progress], None] | None, start: Start | None
    ) -> tuple[Solution, list[PartResult]]:
        """Return the solution and the last results."""
        history: list[Progress] = []
        solution = None
        if start is None:
            self._begin()
        else:
            self._begin_from(start)
            if "history" in start:
                solution, history = self._ended(start)
        while True:
            is_new = solution is None
            if solution is None:
                solution = self._train(self._tolerance(history))
                self.active = self.active._replace(alpha=solution.alpha, margins=solution.margins)
            results = self._full_pass(solution, self._room())
            if is_new:
                history.append(self._progress(history, solution, results))
            last = history[-1]
            is_last = last.gap <= self._settings.tol or last.epoch >= self._settings.max_epochs
            if is_new and on_pass is not None:
                on_pass(self._start() | (_end(solution, history) if is_last else {}), last)
            if is_last:
                solution = replace(
                    solution,
                    primal=last.primal,
                    dual=last.dual,
                    gap=last.gap,
                    converged=last.gap <= self._settings.tol,
                    n_epochs=last.epoch,
                    work=last.work,
                    history=history,
                )
                return solution, results
            if self._is_stuck(history):
                raise self._too_many(int(self._is_free().sum()))
            self._exchange(results)
            solution, results = None, []  # the weights, and letters that have been copied

    def _begin(self) -> None:
        """Begin with a random part of the windows."""
        n = len(self._store)
        size = min(max(n // _FIRST, 2048), self._disk.max_active // 2)
        drawn = np.random.default_rng(self._settings.seed).integers(n, size=size)
        rows = np.arange(n) if n <= 2 * size else np.unique(drawn)
        zeros = np.zeros(rows.size)
        self.active, self.bound = (
            ActiveSet(rows, self._store[rows], zeros, zeros),
            np.zeros(n, np.bool_),
        )

    def _begin_from(self, start: Start) -> None:
        rows, alpha, margins = (start[name].copy() for name in ("rows", "alpha", "margins"))
        self.active = ActiveSet(rows, self._store[rows], alpha, margins)
        self.bound, self._primal = start["bound"] > 0, float(start["primal"][0])
        for part in self._store.parts:
            is_bound = self.bound[part.first : part.first + part.n]
            self._add_weights(part.load()[np.flatnonzero(is_bound)], 1.0)

    def _ended(self, start: Start) -> tuple[Solution, list[Progress]]:
        """Return solution and history of a run after its last pass."""
        history = [
            Progress(int(epoch), work, int(n_active), *others)
            for epoch, work, n_active, *others in start["history"].tolist()
        ]
        tables = [start[f"W{k}"].copy() for k in range(sum(name[0] == "W" for name in start))]
        W: Any = tables[0]
        if not self._coupling.is_single:
            views = self._features.bind(self.active.windows).views
            columns = [slice(*view.columns.indices(len(W))) for view in views]
            W = TaskWeights(tables, self._coupling, columns, W.dtype)
        alpha, margins, bias = self.active.alpha, self.active.margins, start["bias"].copy()
        none = np.zeros(0)
        return Solution(alpha, W, bias, margins, 0.0, 0.0, 0.0, False, 0, 0.0, [], none), history

    def _progress(
        self, history: list[Progress], solution: Solution, results: list[PartResult]
    ) -> Progress:
        """Return the progress after a pass."""
        primal, dual = (sum(getattr(a, name) for a in results) for name in ("primal", "dual"))
        self._primal = primal
        gap = max(primal - dual, 0.0) / max(abs(primal), 1e-300)
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

    def _train(self, tol: float) -> Solution:
        """Train on the active windows, from where they are; return the whole solution."""
        settings, examples = replace(self._settings, tol=tol), self.active.examples
        y, alpha, margins = examples.y, self.active.alpha, self.active.margins
        rows = self._features.bind(examples.data)
        if self._W is None:
            return solve(rows, examples, self._coupling, settings, start=WarmStart(alpha))
        given = scores_of(rows, examples.ids, self._W, settings.bias_scale * self._bias)
        q = alpha * (margins - y * given)
        losses = settings.costs(examples) * LOSSES[settings.loss].values(margins)
        solution = solve(
            rows,
            examples,
            self._coupling,
            replace(settings, dtype=_PRECISE),
            given=given,
            constant=self._primal - float((losses + 0.5 * q).sum()),
            start=WarmStart(alpha),
        )
        solution.W += self._W
        solution.W = solution.W.astype(settings.dtype)
        solution.bias += self._bias
        solution.margins += y * given
        return solution

    def _is_free(self) -> NDArray[np.bool_]:
        alpha = self.active.alpha
        return (alpha > 0.0) & (alpha < self._settings.upper(self.active.examples))

    def _room(self) -> int:
        """Return the number of windows for which there is room if all at a bound leave."""
        n_free, max_active = int(self._is_free().sum()), self._disk.max_active
        if n_free > (1.0 - _LEAST_ROOM) * max_active and self.active.rows.size < len(self._store):
            raise self._too_many(n_free)
        return max(max_active - n_free, 0)

    def _exchange(self, results: list[PartResult]) -> None:
        """Take in new windows, and move out those that do not stay."""
        stays = self._staying(sum(result.new.rows.size for result in results))
        leaves = ~stays & (self.active.alpha > 0.0)
        self._add_weights(self.active.take(leaves).windows, 1.0)
        for result in results:
            self._add_weights(result.new.take(result.new.alpha > 0.0).windows, -1.0)
        self.bound[self.active.rows[leaves]] = True
        self.active = self.active.take(stays)  # its letters are copied before more come
        self.active = ActiveSet.join([self.active, *(result.new for result in results)])
        self.bound[self.active.rows] = False

    def _staying(self, n_new: int) -> NDArray[np.bool_]:
        """Return which windows stay active; with little room, those close to the margin."""
        alpha, C = self.active.alpha, self._settings.costs(self.active.examples)
        push = LOSSES[self._settings.loss].gradient(alpha, self.active.margins, C)
        beyond = np.where(alpha > 0.0, -push, push)
        beyond[self._is_free()] = -np.inf
        wanted = (alpha > 0.0) | (beyond < BAND)
        n_wanted, n_kept = int(wanted.sum()), max(self._disk.max_active - n_new, 0)
        if n_wanted > n_kept:
            last = np.argsort(np.where(wanted, beyond, np.inf), kind="stable")[n_kept:]
            wanted[last] = False
        return wanted

    def _too_many(self, n: int) -> MemoryLimitError:
        return MemoryLimitError(
            f"{n:,} windows or more have to be in memory, and there is room for "
            f"{self._disk.max_active:,}; give more --memory, or lower -C"
        )

    def _is_stuck(self, history: list[Progress]) -> bool:
        """Return whether there is too little room to make progress."""
        if len(history) <= _PATIENCE:
            return False
        rise = history[-1].dual - history[-1 - _PATIENCE].dual
        return rise < 0.1 * self._settings.tol * history[-1].primal

    def _add_weights(self, windows: Windows, sign: float) -> None:
        """Add windows to the weights of those at the bound, or take them out."""
        if not len(windows):
            return
        rows, examples = self._features.bind(windows), as_examples(windows)
        amount = sign * examples.y * self._settings.costs(examples)
        scale, ids = self._settings.bias_scale, examples.ids.astype(np.int16)
        weights = GroupedWeights(self._coupling, rows.views, _PRECISE, scale)
        W = weights.solution(np.arange(ids.size), amount, ids)
        if self._W is None:
            self._W = W
        else:
            self._W += W
        self._bias += weights.bias

    def _full_pass(self, solution: Solution, room: int) -> list[PartResult]:
        """Score all windows."""
        parts, rows, alpha = self._store.parts, self.active.rows, self.active.alpha
        bounds = np.searchsorted(rows, [part.first for part in parts] + [len(self._store)])
        packed = (np.packbits(self.bound[part.first : part.first + part.n]) for part in parts)
        jobs = [
            (part, rows[a:b], alpha[a:b], bits)
            for part, (a, b), bits in zip(parts, pairwise(bounds), packed, strict=True)
        ]
        max_new, state = room // len(parts), (solution.W, solution.bias)
        part_task = PartTask(self._features, self._settings, self._coupling, *state, max_new)
        return list(self._disk.score_parts(part_task, jobs))

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
        means = (total("scores") - sides * share * total("steps")) / counts
        return calibrate_tasks(
            np.append(left_out, means),
            np.append(examples.y, sides),
            np.append(examples.ids.astype(np.int64), bins // (2 * BINS)),
            self._bias.size,
            np.append(examples.weight, counts),
        )


def _end(solution: Solution, history: list[Progress]) -> dict[str, NDArray[Any]]:
    """Return weights and history as arrays."""
    tables = solution.W.tables if isinstance(solution.W, TaskWeights) else [solution.W]
    weights = {f"W{k}": table for k, table in enumerate(tables)}
    return weights | {"bias": solution.bias, "history": np.array([*map(astuple, history)])}
