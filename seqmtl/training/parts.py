"""What the parts of a store of windows contribute to training; see :mod:`~.out_of_core`.

A part is scored by :func:`score_part`, which needs the weights and nothing of other parts, so that
it may run in another process or on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.calibration.leave_one_out import find_copies, parts_of_copies
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import find_loss
from seqmtl.core.problem import Problem
from seqmtl.core.weights import TaskWeights
from seqmtl.io.window_store import StoredPart, compact
from seqmtl.sequences import Windows, concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings

Array = NDArray[np.float64]
#: Windows at a bound become active while their margin is within this distance of 1; see
#: :data:`seqmtl.core.dcd.SHRINK_MARGIN`.
BAND = 0.1
#: Bins of the scores to calibrate on.
BINS = 4096
_MAX_SCORE = 8.0  # bins are from -8 to 8


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
    weights : TaskWeights, shape (n_features, T)
        Weights.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature.
    max_new : int
        Number of windows that may become active.
    """

    features: Any
    settings: Settings
    task_kernel: GroupedKernel
    weights: TaskWeights
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
    counts, scores, parts : ndarray of float64, shape (b,)
        Number in each, and sums of the scores and of what each window and its copies add to its
        score, see :func:`seqmtl.calibration.leave_one_out.parts_of_copies`.
    """

    primal: float
    dual: float
    new: ActiveSet
    bins: NDArray[np.int64]
    counts: Array
    scores: Array
    parts: Array


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
    rows, examples = part_task.features.bind(windows), as_examples(windows)
    settings = part_task.settings
    y, ids, C = examples.y, examples.ids, settings.costs(examples)
    scores = part_task.weights.scores(rows, ids, settings.bias_scale * part_task.bias)
    is_active = np.zeros(y.size, dtype=np.bool_)
    is_active[active - part.first] = True
    alpha_all, margins = np.where(np.unpackbits(bound, count=y.size), C, 0.0), y * scores
    loss = find_loss(settings.loss)
    new_rows = np.flatnonzero(~is_active & ~loss.can_shrink(alpha_all, margins, C, BAND))
    if new_rows.size > part_task.max_new:  # a sample: the worst alone would not represent all
        order = np.random.default_rng(part.first).permutation(new_rows)
        new_rows = np.sort(order[: part_task.max_new])
    new = ActiveSet(part.first + np.arange(y.size), windows, alpha_all, margins).take(new_rows)
    alpha_all[is_active] = alpha
    binned = _binned(part_task, windows, scores, alpha_all, ~is_active)
    problem = Problem(rows, y, ids, part_task.task_kernel, C, loss, settings.bias_scale)
    primal, dual = problem.objectives(alpha_all, margins)
    return PartResult(primal, dual, new, *binned)


def _binned(
    part_task: PartTask, windows: Windows, scores: Array, alpha: Array, chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Return bins, counts, scores and parts of a result."""
    ids, y, held = windows.task_ids, windows.labels, np.flatnonzero(alpha)
    numbers = np.clip((scores[chosen] / _MAX_SCORE + 1.0) * (BINS / 2), 0, BINS - 1).astype(
        np.int64
    )
    numbers += BINS * (2 * ids[chosen].astype(np.int64) + (y[chosen] > 0))
    bins, inverse = np.unique(numbers, return_inverse=True)
    parts = np.zeros(y.size)
    rows = part_task.features.bind(windows[held])
    # copies in other tasks have other scores, and remain: to find them takes another pass
    copy_of = find_copies(scores[held], rows.squared_norms())
    K, scale = part_task.task_kernel.K, part_task.settings.bias_scale
    parts[held] = parts_of_copies(rows, ids[held], (alpha * y)[held], copy_of, K, scale)
    counts, totals, part_totals = (
        np.bincount(inverse, weights).astype(np.float64)
        for weights in (None, scores[chosen], parts[chosen])
    )
    return bins, counts, totals, part_totals


#: The arguments of :func:`score_part` besides the task.
Job = tuple[StoredPart, NDArray[np.int64], Array, NDArray[np.uint8]]
#: Calls that function with a task and each of the jobs; yields the results in order.
ScoreParts = Callable[[PartTask, list[Job]], Iterator[PartResult]]
