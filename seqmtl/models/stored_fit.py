"""Train on more windows than fit into memory.

At the optimum most windows have alpha = 0, and most others alpha = C, if the loss bounds it. Only
those in between, the *active* ones, are in memory; those at C are known by the weights that they
add up to, whose scores are given when the active ones are trained on. Two steps alternate. The
active windows are trained on as in :mod:`seqmtl.models.fit`. Then all windows are scored, part by
part, which gives the duality gap of the whole problem; windows at a bound where their margin does
not hold them become active, and those at a bound with a margin to spare cease to be. It ends at
the same gap as training in memory, and the parts may be scored anywhere, in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.coupling import Coupling
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.features.definitions import features_from_dict
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.io.window_store import PART, StoredPart, WindowStore
from seqmtl.models.calibration import calibrate_tasks
from seqmtl.models.fit import largest_alpha, left_out_scores, summarise
from seqmtl.models.held_out import MOST, Labelled
from seqmtl.models.kernels import mean_nodes, resolve_kernels, view_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.selection import Run, Space, select
from seqmtl.models.site import SAMPLE, Site, find_anchor, find_site
from seqmtl.models.stored_look import BAND, BINS, Answer, Question
from seqmtl.models.training import ONE_THREAD, Settings, check_classes, class_factors, solve
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import Progress, Solution, State
from seqmtl.solvers.problem import dual_terms, loss_values
from seqmtl.solvers.weights import GroupedWeights, scores_of

Array = NDArray[np.float64]
#: The arguments of :func:`~seqmtl.models.stored_look.look` besides the question.
Job = tuple[StoredPart, NDArray[np.int64], NDArray[np.uint8]]
#: Calls that function with a question and each of the jobs; yields the answers in order.
Ask = Callable[[Question, list[Job]], Iterator[Answer]]

_FIRST = 16  # one in so many windows is active at first
_LEAST = 20_000  # active windows for which there must be room
_PRECISE = "float64"  # of weights that are large next to their sum
_INNER = 0.1  # share of the gap of all windows to which the active ones are trained
_BASE_BYTES = 700 << 20  # Python, compiled loops, and a selection of hyperparameters
_BYTES_PER_ACTIVE = 200  # besides twice its letters
_AT_A_TIME = 1 << 16  # windows to copy
_PATIENCE = 10  # looks in which the dual objective has to rise
_LEAST_ROOM = 0.1  # share of the room that is left for windows that become active
_BYTES_PER_SCORED = 80


@dataclass
class Active:
    """Windows in memory, in the order of the store, and what is known of the others.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Their numbers.
    windows : Windows
        Their letters, labels and organisms.
    alpha, margins : ndarray of float64, shape (m,)
        Their dual variables and margins.
    bound : ndarray of bool, shape (n,)
        Which of the windows in the store are not in memory and have alpha_i = C_i.
    primal : float
        Primal objective of all windows at these margins.
    """

    rows: NDArray[np.int64]
    windows: Windows
    alpha: Array
    margins: Array
    bound: NDArray[np.bool_]
    primal: float = 0.0

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all but the letters."""
        arrays = {name: getattr(self, name) for name in ("rows", "alpha", "margins")}
        return arrays | {"bound": self.bound.astype(np.uint8), "primal": np.array([self.primal])}

    @classmethod
    def of(cls, store: WindowStore, state: Mapping[str, NDArray[Any]]) -> Active:
        """Return the windows with this state."""
        rows, alpha, margins = (state[name].copy() for name in ("rows", "alpha", "margins"))
        bound, primal = state["bound"] > 0, float(state["primal"][0])
        return cls(rows, store[rows], alpha, margins, bound, primal)

    @property
    def y(self) -> Array:
        """The labels."""
        return self.windows.labels.astype(np.float64)

    def exchange(self, kept: NDArray[np.bool_], answers: list[Answer]) -> Active:
        """Return those that are kept, and the new ones."""
        rows = np.concatenate([self.rows[kept], *(answer.rows for answer in answers)])
        alpha = np.concatenate([self.alpha[kept], *(answer.alpha for answer in answers)])
        margins = np.concatenate([self.margins[kept], *(answer.margins for answer in answers)])
        order = np.argsort(rows)
        parts = [self.windows[kept], *(answer.windows for answer in answers)]
        self.bound[self.rows[~kept & (self.alpha > 0.0)]] = True
        self.bound[rows] = False
        return Active(
            rows[order], _join(parts, order), alpha[order], margins[order], self.bound, self.primal
        )


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
    state: Mapping[str, NDArray[Any]] | None = None,
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
        Scores candidates of a selection, see :func:`~seqmtl.models.selection.select`.
    space : Space, optional
        Hyperparameters to select, as :func:`~seqmtl.models.selected.train_selected` does.
        Default: none.
    task_kernel, features, settings, site : optional
        See :func:`~seqmtl.models.fit.train_model`; there can be no norm.
    on_score : callable, optional
        See :func:`~seqmtl.models.selection.select`.
    on_look : callable, optional
        Called after every look at all windows, with the active windows and the progress.
    state : mapping of str to ndarray, optional
        :meth:`Active.state` of the active windows to begin with.

    Returns
    -------
    model : MultiTaskModel
    solution : Solution
        The whole, with the dual variables and margins of the windows active at the end.

    Raises
    ------
    SeqmtlError
        If the loss leaves no window at alpha = 0.
    MemoryLimitError
        If more windows have alpha between its bounds than may be active.
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
    summary["n_support"] += int(active.bound.sum())
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
        self._scale = float(settings.fit_intercept)
        self._W: Any = None  # of the windows at the bound
        self._bias = np.zeros(T)
        self._started = time.perf_counter()

    def run(
        self,
        on_look: Callable[[Active, Progress], None] | None,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> tuple[Solution, Active, list[Answer]]:
        """Return the solution, the active windows and the last answers."""
        active = self._first() if state is None else self._resumed(state)
        gap, n = 1.0, len(self._store)
        history: list[Progress] = []
        epochs, work = 0, 0.0
        while True:
            share = self._share_of_gap(active, gap) if history else 1.0
            solution = self._train(active, max(0.5 * self._settings.tol, _INNER * gap) * share)
            active.alpha, active.margins = solution.alpha, solution.margins
            answers = self._look(active, solution, self._room(active))
            primal, dual = self._objectives(active, answers)
            active.primal = primal
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
            if self._is_stuck(history):
                raise self._too_many(int(self._is_free(active).sum()))
            kept = self._keep(active, sum(answer.rows.size for answer in answers))
            self._rebalance(active, kept, answers)
            active = active.exchange(kept, answers)
            del solution, answers  # the weights, and letters that have been copied

    def _first(self) -> Active:
        """Return a random part of the windows."""
        n = len(self._store)
        size = min(max(n // _FIRST, 2048), self._most // 2)
        drawn = np.random.default_rng(self._settings.seed).integers(n, size=size)
        rows = np.arange(n) if n <= 2 * size else np.unique(drawn)
        zeros = np.zeros(rows.size)
        return Active(rows, self._store[rows], zeros, zeros, np.zeros(n, np.bool_))

    def _resumed(self, state: Mapping[str, NDArray[Any]]) -> Active:
        active = Active.of(self._store, state)
        for part in self._store.parts:
            own = active.bound[part.first : part.first + part.n]
            self._weigh(part.load()[np.flatnonzero(own)], 1.0)
        return active

    def _share_of_gap(self, active: Active, gap: float) -> float:
        """Return the share of the gap that is due to the active windows."""
        loss, alpha, margins = self._settings.loss, active.alpha, active.margins
        C = np.where(active.y > 0, *self._costs)
        own = C * loss_values(loss, margins) + alpha * margins - dual_terms(loss, alpha, C)
        return min(float(own.sum()) / max(gap * active.primal, 1e-300), 1.0)

    def _train(self, active: Active, tol: float) -> Solution:
        """Train on the active windows, from where they are; return the whole solution."""
        rng, y, dtype = np.random.default_rng(self._settings.seed), active.y, self._settings.dtype
        state = State(active.alpha.copy(), np.arange(active.rows.size), rng)
        rows, ids = self._features.bind(active.windows), active.windows.task_ids
        options: dict[str, Any] = {"nodes": self._nodes, "state": state}
        if self._W is None:
            return solve(rows, y, ids, self._K, replace(self._inner, tol=tol), **options)
        given = scores_of(rows, ids, self._W, self._scale * self._bias)
        q = active.alpha * (active.margins - y * given)
        losses = np.where(y > 0, *self._costs) * loss_values(self._settings.loss, active.margins)
        solution = solve(
            rows, y, ids, self._K, replace(self._inner, tol=tol, dtype=_PRECISE), given=given,
            constant=active.primal - float((losses + 0.5 * q).sum()), **options,
        )  # fmt: skip
        solution.W += self._W
        solution.W = solution.W.astype(dtype)
        solution.bias += self._bias
        solution.margins += y * given
        return solution

    def _is_free(self, active: Active) -> NDArray[np.bool_]:
        upper = largest_alpha(active.y, self._inner, None)
        return (active.alpha > 0.0) & (active.alpha < upper)

    def _room(self, active: Active) -> int:
        """Return the number of windows for which there is room if all at a bound leave."""
        n_free = int(self._is_free(active).sum())
        if n_free > (1.0 - _LEAST_ROOM) * self._most and active.rows.size < len(self._store):
            raise self._too_many(n_free)
        return max(self._most - n_free, 0)

    def _keep(self, active: Active, n_new: int) -> NDArray[np.bool_]:
        """Tell which windows stay active: where there is little room, those close to the margin."""
        beyond = np.where(active.alpha > 0.0, 1.0 - active.margins, active.margins - 1.0)
        beyond[self._is_free(active)] = -np.inf
        wanted = (active.alpha > 0.0) | (beyond < BAND)
        n_wanted, n_kept = int(wanted.sum()), max(self._most - n_new, 0)
        if n_wanted > n_kept:
            last = np.argsort(np.where(wanted, beyond, np.inf), kind="stable")[n_kept:]
            wanted[last] = False
        return wanted

    def _too_many(self, n: int) -> MemoryLimitError:
        return MemoryLimitError(
            f"{n:,} windows or more have to be in memory, and there is room for {self._most:,}; "
            "give more --memory, or lower -C"
        )

    def _is_stuck(self, history: list[Progress]) -> bool:
        """Tell whether there is too little room to make progress."""
        if len(history) <= _PATIENCE:
            return False
        rise = history[-1].dual - history[-1 - _PATIENCE].dual
        return rise < 0.1 * self._settings.tol * history[-1].primal

    def _rebalance(self, active: Active, kept: NDArray[np.bool_], answers: list[Answer]) -> None:
        """Add windows that leave memory at the bound to the weights; take out those that return."""
        self._weigh(active.windows[np.flatnonzero(~kept & (active.alpha > 0.0))], 1.0)
        for answer in answers:
            self._weigh(answer.windows[np.flatnonzero(answer.alpha > 0.0)], -1.0)

    def _weigh(self, windows: Windows, sign: float) -> None:
        """Add windows to the weights of those at the bound."""
        if not len(windows):
            return
        rows, ids = self._features.bind(windows), windows.task_ids
        y = windows.labels.astype(np.float64)
        amount = sign * y * np.where(y > 0, *self._costs)
        weights = GroupedWeights(Coupling.of(self._K, self._nodes), rows.views, _PRECISE)
        W = weights.solution(np.arange(y.size), amount, ids.astype(np.int16))
        if self._W is None:
            self._W = W
        else:
            self._W += W
        sums = np.bincount(ids, amount, minlength=self._bias.size)
        self._bias += self._scale * (self._K.sum(axis=0) @ sums)

    def _look(self, active: Active, solution: Solution, room: int) -> list[Answer]:
        """Score all windows."""
        parts = self._store.parts
        bounds = np.searchsorted(active.rows, [part.first for part in parts] + [len(self._store)])
        jobs = [
            (part, active.rows[a:b], np.packbits(active.bound[part.first : part.first + part.n]))
            for part, (a, b) in zip(parts, pairwise(bounds), strict=True)
        ]
        question = Question(
            self._features, solution.W, solution.bias, self._scale, self._K, self._settings.loss,
            self._costs, room // len(parts),
        )  # fmt: skip
        return list(self._ask(question, jobs))

    def _objectives(self, active: Active, answers: list[Answer]) -> tuple[float, float]:
        """Return the primal and dual objective of all windows."""
        alpha, loss = active.alpha, self._settings.loss
        C = np.where(active.y > 0, *self._costs)
        pulls = float((alpha * active.margins).sum()) + sum(answer.pull for answer in answers)
        n_true = int((active.bound & (self._store.labels > 0)).sum())
        n_decoys = int(active.bound.sum()) - n_true
        bound = n_true * self._costs[0] + n_decoys * self._costs[1]  # alpha = C, hinge loss
        dual = float(dual_terms(loss, alpha, C).sum()) + bound - 0.5 * pulls
        return sum(answer.loss for answer in answers) + 0.5 * pulls, dual

    def calibrate(self, solution: Solution, active: Active, answers: list[Answer]) -> Array:
        """Fit the sigmoids to the active windows, and to the others by the mean of their bin."""
        y, ids, T = active.y, active.windows.task_ids, self._K.shape[-1]
        left_out, share = left_out_scores(
            self._features.bind(active.windows), y, ids, self._K, solution,
            upper=largest_alpha(y, self._inner, None),
            bias_scale=self._scale, weight=None,
        )  # fmt: skip
        bins, inverse = np.unique(
            np.concatenate([answer.bins for answer in answers]), return_inverse=True
        )

        def total(name: str) -> Array:
            found = np.concatenate([getattr(answer, name) for answer in answers])
            return np.bincount(inverse, found).astype(np.float64)

        counts, sides = total("counts"), np.where(bins // BINS % 2 == 1, 1.0, -1.0)
        means = (total("scores") - sides * share * total("steps")) / counts
        return calibrate_tasks(
            np.append(left_out, means), np.append(y, sides),
            np.append(ids.astype(np.int64), bins // (2 * BINS)), T,
            np.append(np.ones(y.size), counts),
        )  # fmt: skip


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
    weights = 8 * 4 * features.n_features(length) * len(store.task_names)
    scored = min(n, PART) * (length + _BYTES_PER_SCORED)
    fixed = _BASE_BYTES + weights + scored + 5 * n
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
