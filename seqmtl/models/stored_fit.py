"""Train on more windows than fit into memory.

Most windows have alpha = 0 at the optimum, so only the others, the *active* ones, are in memory.
Two steps alternate. The active windows are trained on as in :mod:`seqmtl.models.fit`. Then all
windows are scored, part by part: this gives the primal objective, and with the dual objective of
the active ones the duality gap of the whole problem; windows whose margin is too small become
active, and those at alpha = 0 with a margin to spare cease to be. It ends at the same gap as
training in memory, and the parts may be scored anywhere, in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.features.definitions import features_from_dict
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.io.window_store import PART, StoredPart, WindowStore, compact
from seqmtl.models.calibration import calibrate_tasks
from seqmtl.models.fit import largest_alpha, left_out_scores, summarise
from seqmtl.models.held_out import MOST, Labelled
from seqmtl.models.kernels import mean_nodes, resolve_kernels, view_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.selection import Run, Space, select
from seqmtl.models.site import SAMPLE, Site, find_anchor, find_site
from seqmtl.models.training import ONE_THREAD, Settings, check_classes, class_factors, solve
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import Progress, Solution, State
from seqmtl.solvers.problem import dual_terms, loss_values
from seqmtl.solvers.weights import TaskWeights

Array = NDArray[np.float64]
#: Calls :func:`look` with a question and each of the other arguments; yields the answers in order.
Ask = Callable[["Question", list[tuple[StoredPart, NDArray[np.int64]]]], Iterator["Answer"]]

_BAND = 0.1  # windows become active if their margin is less than this above 1
_FIRST = 16  # one in so many windows is active at first
_LEAST = 20_000  # active windows for which there must be room
_BINS, _WIDEST = 4096, 8.0  # of scores to calibrate on, from -8 to 8
_INNER = 0.1  # share of the gap of all windows to which the active ones are trained
_BASE_BYTES = 700 << 20  # Python, compiled loops, and a selection of hyperparameters
_BYTES_PER_ACTIVE = 200  # besides twice its letters
_AT_A_TIME = 1 << 16  # windows to copy
_LEAST_ROOM = 0.1  # share of the room that is left for windows that become active
_BYTES_PER_SCORED = 80


class Question(NamedTuple):
    """What to compute for the windows of a part.

    Attributes
    ----------
    features : FeatureDefinition
        The feature map.
    W : ndarray or TaskWeights, shape (n_features, T)
        Weights.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    loss : str
        The loss.
    costs : tuple of float
        Cost of a true site and of a decoy.
    most : int
        Number of windows that may become active.
    """

    features: Any
    W: Any
    bias: Array
    loss: str
    costs: tuple[float, float]
    most: int


class Answer(NamedTuple):
    """What the windows of a part contribute.

    Attributes
    ----------
    loss : float
        Sum of C_i times the loss.
    rows : ndarray of int64, shape (m,)
        Windows that should become active, by their number in the store.
    margins : ndarray of float64, shape (m,)
        Their margins.
    windows : Windows
        Their letters, labels and organisms.
    bins : ndarray of int64, shape (b,)
        (2 t + s) * 4096 + bin for the scores of inactive windows of organism t, with s = 1 for
        true sites.
    counts, sums : ndarray of float64, shape (b,)
        Number and sum of the scores in each.
    """

    loss: float
    rows: NDArray[np.int64]
    margins: Array
    windows: Windows
    bins: NDArray[np.int64]
    counts: Array
    sums: Array


def look(q: Question, part: StoredPart, active: NDArray[np.int64]) -> Answer:
    """Score the windows of a part; `active` are the numbers of those that are active."""
    windows = part.load()
    rows, ids, y = q.features.bind(windows), windows.task_ids, windows.labels
    is_grouped = isinstance(q.W, TaskWeights)
    scores = q.W.scores(rows, ids) if is_grouped else rows.scores(q.W, ids)
    scores += q.bias[ids]
    margins = y * scores
    loss = float((np.where(y > 0, *q.costs) * loss_values(q.loss, margins)).sum())
    rest = np.ones(y.size, dtype=np.bool_)
    rest[active - part.first] = False
    short = np.flatnonzero(rest & (margins < 1.0 + _BAND))
    if short.size > q.most:  # the worst alone would not stand for the rest
        short = np.sort(np.random.default_rng(part.first).permutation(short)[: q.most])
    place = np.clip((scores[rest] / _WIDEST + 1.0) * (_BINS / 2), 0, _BINS - 1).astype(np.int64)
    place += _BINS * (2 * ids[rest].astype(np.int64) + (y[rest] > 0))
    bins, inverse = np.unique(place, return_inverse=True)
    counts, sums = np.bincount(inverse), np.bincount(inverse, scores[rest])
    return Answer(
        loss, part.first + short, margins[short], compact(windows[short]), bins,
        counts.astype(np.float64), sums.astype(np.float64),
    )  # fmt: skip


@dataclass
class Active:
    """Windows in memory, in the order of the store.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Their numbers.
    windows : Windows
        Their letters, labels and organisms.
    alpha : ndarray of float64, shape (m,)
        Their dual variables.
    """

    rows: NDArray[np.int64]
    windows: Windows
    alpha: Array

    @property
    def y(self) -> Array:
        """The labels."""
        return self.windows.labels.astype(np.float64)

    def exchange(self, kept: NDArray[np.bool_], answers: list[Answer]) -> Active:
        """Return those that are kept, and the new ones, which begin at alpha = 0."""
        rows = np.concatenate([self.rows[kept], *(answer.rows for answer in answers)])
        order = np.argsort(rows)
        parts = [self.windows[kept], *(answer.windows for answer in answers)]
        alpha = np.append(self.alpha[kept], np.zeros(rows.size - len(parts[0])))
        return Active(rows[order], _join(parts, order), alpha[order])


def _join(parts: list[Windows], order: NDArray[np.int64]) -> Windows:
    """Return the windows of all parts in another order, copying their letters only once."""
    L, names = parts[0].length, parts[0].task_names
    letters, place, done = np.empty((order.size, L), np.uint8), np.argsort(order), 0
    for part in parts:
        for first in range(0, len(part), _AT_A_TIME):
            starts = part.starts[first : first + _AT_A_TIME]
            found = np.lib.stride_tricks.sliding_window_view(part.codes, L)[starts]
            letters[place[done : done + starts.size]] = found
            done += starts.size

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    return Windows(
        letters.reshape(-1), np.arange(order.size, dtype=np.int64) * L, L,
        is_reverse=column("is_reverse"), labels=column("labels"), task_ids=column("task_ids"),
        task_names=names,
    )  # fmt: skip


@ONE_THREAD
def train_stored(  # noqa: PLR0913
    store: WindowStore,
    *,
    memory: int,
    ask: Ask,
    run: Run = in_order,
    space: Space | None = None,
    task_kernel: Any = None,
    features: Any = None,
    settings: Settings | None = None,
    site: Site | None = None,
    on_score: Callable[[str, int, int], None] | None = None,
    on_look: Callable[[Active, Progress], None] | None = None,
    state: tuple[NDArray[np.int64], Array] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model on stored windows.

    Parameters
    ----------
    store : WindowStore
        Windows of both classes for every task.
    memory : int
        Bytes that this process may use.
    ask : callable
        Puts a question to all parts.
    run : callable
        Scores the candidates of a selection, see :func:`~seqmtl.models.selection.select`.
    space : Space, optional
        Hyperparameters to select, as :func:`~seqmtl.models.selected.train_selected` does.
        Default: none.
    task_kernel, features, settings, site : optional
        See :func:`~seqmtl.models.fit.train_model`; there can be no norm.
    on_score : callable, optional
        See :func:`~seqmtl.models.selection.select`.
    on_look : callable, optional
        Called after every look at all windows, with the active windows and the progress.
    state : (rows, alpha), optional
        Active windows to begin with, by their number, and their dual variables.

    Returns
    -------
    model : MultiTaskModel
    solution : Solution
        Of the windows active at the end.

    Raises
    ------
    SeqmtlError
        If the loss leaves no window at alpha = 0.
    MemoryLimitError
        If more windows have alpha > 0 than may be active.
    """
    settings = settings or Settings()
    if settings.loss == "logistic":
        raise SeqmtlError(
            "with the logistic loss no window has alpha = 0, so all must be in memory; take "
            "another --loss, or leave out --memory and --dask"
        )
    settings.check()
    names, (n, length) = store.task_names, store.shape
    check_classes(store.labels, store.task_ids, names)
    features = PositionalKmers() if features is None else features
    most = most_active(memory, store, features)
    site, features = _placed(store, features, site)
    if space is None:
        kernel = resolve_kernels([None] if task_kernel is None else task_kernel, names)
        report = None
    else:
        ones = np.broadcast_to(1.0, n)
        examples = Labelled(store, store.labels, store.task_ids, names, ones)
        if n <= MOST:  # of more, only samples are read
            examples = examples.take(np.arange(n))
        chosen = select(
            examples, space, features=features, settings=settings, on_score=on_score, run=run
        )
        kernel, settings, features = chosen.kernel, chosen.settings, chosen.features
        report = chosen.report
    search = _Search(store, features, kernel, settings, most, ask)
    solution, active, answers = search.run(on_look, state)
    summary = summarise(store.labels, store.task_ids, names, settings, solution)
    if report is not None:
        summary["selection"] = report
    model = MultiTaskModel(
        features_from_dict(features.to_dict(length)), length, names,
        TaskKernel(kernel.names, kernel.matrix, kernel.source), solution.W, solution.bias,
        search.calibrate(solution, active, answers), site, summary,
    )  # fmt: skip
    return model, solution


class _Search:
    """The search for the windows that are active at the optimum."""

    def __init__(
        self,
        store: WindowStore,
        features: Any,
        kernel: TaskKernel,
        settings: Settings,
        most: int,
        ask: Ask,
    ) -> None:
        self._store, self._features, self._settings = store, features, settings
        self._most, self._ask = most, ask
        T = len(store.task_names)
        self._K = np.tile(kernel.matrix[:T, :T], (len(view_names(features)), 1, 1))
        self._nodes = mean_nodes(kernel, T)
        factors = _factors(settings.class_weight, store.labels)
        self._costs = settings.C * factors[0], settings.C * factors[1]
        self._inner = replace(settings, class_weight={1: factors[0], -1: factors[1]})
        self._started = time.perf_counter()

    def run(
        self,
        on_look: Callable[[Active, Progress], None] | None,
        state: tuple[NDArray[np.int64], Array] | None,
    ) -> tuple[Solution, Active, list[Answer]]:
        """Return the solution, the active windows and the last answers."""
        active = self._first() if state is None else self._resumed(*state)
        gap, n = 1.0, len(self._store)
        history: list[Progress] = []
        epochs, work = 0, 0.0
        while True:
            solution = self._train(active, max(0.5 * self._settings.tol, _INNER * gap))
            active.alpha = solution.alpha
            kept = self._keep(active, solution)
            answers = self._look(active, solution, self._most - int(kept.sum()))
            primal, dual = self._objectives(active, solution, answers)
            gap = max(primal - dual, 0.0) / max(abs(primal), 1e-300)
            epochs += max(solution.n_epochs, 1)
            work += solution.work * active.rows.size / n + 1.0
            now = Progress(
                epochs, work, active.rows.size, primal, dual, gap,
                time.perf_counter() - self._started,
            )  # fmt: skip
            history.append(now)
            if on_look is not None:
                on_look(active, now)
            if gap <= self._settings.tol or epochs >= self._settings.max_epochs:
                is_done = gap <= self._settings.tol
                solution = replace(
                    solution, primal=primal, dual=dual, gap=gap, converged=is_done,
                    n_epochs=epochs, work=work, history=history,
                )  # fmt: skip
                return solution, active, answers
            active = active.exchange(kept, answers)
            del solution, answers  # the weights, and letters that have been copied

    def _first(self) -> Active:
        """Return a random part of the windows."""
        n = len(self._store)
        size = min(max(n // _FIRST, 2048), self._most // 2)
        drawn = np.random.default_rng(self._settings.seed).integers(n, size=size)
        rows = np.arange(n) if n <= 2 * size else np.unique(drawn)
        return Active(rows, self._store[rows], np.zeros(rows.size))

    def _resumed(self, rows: NDArray[np.int64], alpha: Array) -> Active:
        return Active(rows, self._store[rows], alpha)

    def _train(self, active: Active, tol: float) -> Solution:
        """Train on the active windows, from where they are."""
        rng = np.random.default_rng(self._settings.seed)
        state = State(active.alpha.copy(), np.arange(active.rows.size), rng)
        return solve(
            self._features.bind(active.windows), active.y, active.windows.task_ids, self._K,
            replace(self._inner, tol=tol), nodes=self._nodes, state=state,
        )  # fmt: skip

    def _keep(self, active: Active, solution: Solution) -> NDArray[np.bool_]:
        """Tell which windows stay active: fewer where there is little room for others."""
        is_wrong = active.alpha > 0.0
        is_near = is_wrong | (solution.margins < 1.0 + _BAND)
        most_kept = (1.0 - _LEAST_ROOM) * self._most
        if is_near.sum() <= most_kept or active.rows.size == len(self._store):
            return is_near
        if is_wrong.sum() > most_kept:
            raise MemoryLimitError(
                f"{is_wrong.sum():,} windows or more have to be in memory, and there is room for "
                f"{self._most:,}; give more --memory, or lower -C"
            )
        return is_wrong

    def _look(self, active: Active, solution: Solution, room: int) -> list[Answer]:
        """Score all windows."""
        parts = self._store.parts
        bounds = np.searchsorted(active.rows, [part.first for part in parts] + [len(self._store)])
        own = [active.rows[a:b] for a, b in pairwise(bounds)]
        scale = float(self._settings.fit_intercept)
        question = Question(
            self._features, solution.W, scale * solution.bias, self._settings.loss, self._costs,
            room // len(parts),
        )  # fmt: skip
        return list(self._ask(question, list(zip(parts, own, strict=True))))

    def _objectives(
        self, active: Active, solution: Solution, answers: list[Answer]
    ) -> tuple[float, float]:
        """Return the primal and dual objective of all windows."""
        alpha = active.alpha
        C = np.where(active.y > 0, *self._costs)
        half_q = 0.5 * float((alpha * solution.margins).sum())
        losses = sum(answer.loss for answer in answers)
        return losses + half_q, float(dual_terms(self._settings.loss, alpha, C).sum()) - half_q

    def calibrate(self, solution: Solution, active: Active, answers: list[Answer]) -> Array:
        """Fit the sigmoids to the active windows, and to the others by the mean of their bin."""
        y, ids, T = active.y, active.windows.task_ids, self._K.shape[-1]
        left_out = left_out_scores(
            self._features.bind(active.windows), y, ids, self._K, solution,
            upper=largest_alpha(y, self._inner, None),
            bias_scale=float(self._settings.fit_intercept), weight=None,
        )  # fmt: skip
        bins, inverse = np.unique(
            np.concatenate([answer.bins for answer in answers]), return_inverse=True
        )
        counts = np.bincount(inverse, np.concatenate([answer.counts for answer in answers]))
        sums = np.bincount(inverse, np.concatenate([answer.sums for answer in answers]))
        scores = np.append(left_out, sums / counts)
        sides = np.append(y, np.where(bins // _BINS % 2 == 1, 1.0, -1.0))
        tasks = np.append(ids.astype(np.int64), bins // (2 * _BINS))
        return calibrate_tasks(scores, sides, tasks, T, np.append(np.ones(y.size), counts))


def _placed(store: WindowStore, features: Any, site: Site | None) -> tuple[Site, Any]:
    """Return the site, and the features anchored at it, as for windows in memory."""
    n = len(store)
    site = site or find_site(store[np.arange(0, n, max(1, n // SAMPLE))])
    ends = [np.flatnonzero(side)[:SAMPLE] for side in (store.labels > 0, store.labels < 0)]
    rows = np.concatenate(ends)
    return site, features.at_site(find_anchor(store[rows], store.labels[rows], site))


def _factors(class_weight: Any, labels: NDArray[np.int8]) -> tuple[float, float]:
    """Return the class weight of true sites and of decoys."""
    if class_weight == "balanced":
        n, n_true = labels.size, int((labels > 0).sum())
        return n / (2 * n_true), n / (2 * (n - n_true))
    true, decoy = class_factors(np.array([1.0, -1.0]), class_weight)
    return float(true), float(decoy)


def most_active(memory: int, store: WindowStore, features: Any) -> int:
    """Return the number of windows that may be active within a budget of memory.

    Parameters
    ----------
    memory : int
        Bytes that the process may use.
    store : WindowStore
        The windows.
    features : FeatureDefinition
        The feature map.

    Raises
    ------
    MemoryLimitError
        If there is no room for a useful number; the message says what is needed.
    """
    n, length = store.shape
    weights = 3 * 4 * features.n_features(length) * len(store.task_names)
    scored = min(n, PART) * (length + _BYTES_PER_SCORED)
    fixed = _BASE_BYTES + weights + scored + 3 * n
    each = 2 * length + _BYTES_PER_ACTIVE
    most = (memory - fixed) // each
    if most < min(n, _LEAST):
        needed = fixed + min(n, _LEAST) * each
        raise MemoryLimitError(
            f"training on {n:,} windows of {length} bases takes at least "
            f"{needed / 2**30:.2f} GiB, and --memory allows {memory / 2**30:.2f}; give more, or "
            "hash the features to fewer bits"
        )
    return int(most)
