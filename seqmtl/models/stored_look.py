"""What the windows of a stored part contribute to training; computed where the part can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import find_loss
from seqmtl.core.problem import Problem, kernel_diagonal
from seqmtl.core.weights import scores_of
from seqmtl.io.window_store import StoredPart, compact
from seqmtl.models.examples import Examples
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows, concatenate

Array = NDArray[np.float64]

#: Windows at a bound become active while their margin is within this distance of 1.
BAND = 0.1
#: Bins of the scores to calibrate on.
BINS = 4096
_WIDEST = 8.0  # bins are from -8 to 8


def as_examples(windows: Windows) -> Examples:
    """Return windows with the tasks of the whole store as examples."""
    return Examples(
        windows, windows.labels.astype(np.float64), windows.task_ids, windows.task_names
    )


class Held(NamedTuple):
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

    def take(self, chosen: NDArray[Any]) -> Held:
        """Return some of them, with a copy of their letters."""
        windows = compact(self.windows[chosen])
        return Held(self.rows[chosen], windows, self.alpha[chosen], self.margins[chosen])

    @classmethod
    def join(cls, parts: Sequence[Held]) -> Held:
        """Return the windows of all parts."""
        rows, alpha, margins = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "alpha", "margins")
        )
        order, windows = np.argsort(rows), concatenate([part.windows for part in parts])
        return cls(rows[order], windows[order], alpha[order], margins[order])


class Question(NamedTuple):
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
    most : int
        Number of windows that may become active.
    """

    features: Any
    settings: Settings
    task_kernel: GroupedKernel
    W: Any
    bias: Array
    most: int


class Answer(NamedTuple):
    """What the windows of a part contribute.

    Attributes
    ----------
    primal, dual : float
        Their part of the objectives.
    new : Held
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
    new: Held
    bins: NDArray[np.int64]
    counts: Array
    scores: Array
    steps: Array


def look(
    q: Question, part: StoredPart, active: NDArray[np.int64], alpha: Array, bound: NDArray[np.uint8]
) -> Answer:
    """Score the windows of a part.

    Parameters
    ----------
    q : Question
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
    rows, examples, settings = q.features.bind(windows), as_examples(windows), q.settings
    y, ids, C = examples.y, examples.ids, settings.costs(examples)
    scores = scores_of(rows, ids, q.W, settings.bias_scale * q.bias)
    is_active = np.zeros(y.size, dtype=np.bool_)
    is_active[active - part.first] = True
    every, margins = np.where(np.unpackbits(bound, count=y.size), C, 0.0), y * scores
    loss = find_loss(settings.loss)
    short = np.flatnonzero(~is_active & ~loss.can_shrink(every, margins, C, BAND))
    if short.size > q.most:  # the worst alone would not stand for the rest
        short = np.sort(np.random.default_rng(part.first).permutation(short)[: q.most])
    new = Held(part.first + np.arange(y.size), windows, every, margins).take(short)
    binned = _binned(q, windows, scores, every, ~is_active)
    every[is_active] = alpha
    problem = Problem(rows, y, ids, q.task_kernel, C, loss, settings.bias_scale)
    primal, dual = problem.objectives(every, margins)
    return Answer(primal, dual, new, *binned)


def _binned(
    q: Question, windows: Windows, scores: Array, alpha: Array, rest: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Return bins, counts, scores and steps of an answer."""
    ids, y, held = windows.task_ids, windows.labels, np.flatnonzero(alpha)
    place = np.clip((scores[rest] / _WIDEST + 1.0) * (BINS / 2), 0, BINS - 1).astype(np.int64)
    place += BINS * (2 * ids[rest].astype(np.int64) + (y[rest] > 0))
    bins, inverse = np.unique(place, return_inverse=True)
    steps = alpha.copy()
    own = q.features.bind(windows[held])
    steps[held] *= kernel_diagonal(own, ids[held], q.task_kernel.K, q.settings.bias_scale)
    counts, totals, step_totals = (
        np.bincount(inverse, weights).astype(np.float64)
        for weights in (None, scores[rest], steps[rest])
    )
    return bins, counts, totals, step_totals
