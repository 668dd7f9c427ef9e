"""Per-position k-mer weights of a model, and window scores computed from features instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.features._base import score_by_blocks
from seqmtl.features.joint import JointFeatures, add_levels
from seqmtl.sequences import Windows, encode

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.linear_model.site import Site

_SLAB = 1 << 18  # weights of the longest k-mers that are listed at once

PositionWeights = list[NDArray[np.float64]]


def position_weights(
    model: MultiTaskModel,
    tasks: Sequence[str],
    *,
    length: int | None = None,
    anywhere: bool | None = None,
) -> Callable[[int, int], PositionWeights]:
    """Return the function that gives the mean weights of tasks in a range of positions.

    They are for windows of `length` bases, by default the model's, and of all features, or only of
    those that are anywhere or that are not. See
    :meth:`~seqmtl.linear_model.model.MultiTaskModel.position_weights`.
    """
    length = model.length if length is None else length
    features, rows = part_of(model, anywhere)
    column = _mean_column(model, tasks)[rows]
    site = model.site
    codes = encode("".join(site.consensus)).reshape(len(site.consensus), site.length)
    numbers = codes @ 4 ** np.arange(site.length)[::-1]
    added = model.consensus_biases(tasks).mean(axis=0)[:-1]

    def within(first: int, last: int) -> PositionWeights:
        weights: PositionWeights = features.position_weights(column, length, first, last)
        if model.consensus_bias is not None and not anywhere:
            for d in range(len(weights) + 1, site.length + 1):
                weights.append(np.zeros((last - first, 4**d)))
            if first <= site.offset < last:
                weights[site.length - 1][site.offset - first, numbers] += added
        return weights

    return within


def part_of(
    model: MultiTaskModel, anywhere: bool | None
) -> tuple[JointFeatures, NDArray[np.int64]]:
    """Return the features that are anywhere, that are not, or all (None), and their rows of W."""
    views = [
        (view, columns)
        for view, columns in zip(
            model.features.flat_views(), model.features.view_columns(model.length), strict=True
        )
        if anywhere in (None, view.is_position_free)
    ]
    rows = [np.arange(columns.start, columns.stop) for _, columns in views]
    return JointFeatures([view for view, _ in views]), np.concatenate([np.arange(0), *rows])


def weights_of_first(weights: PositionWeights, site: Site) -> PositionWeights:
    """Return weights by which other letters at a site count as those of its first consensus.

    Where a k-mer has a letter at a base of the site that no consensus has there, it gets the weight
    of that with the letter of the first one.
    """
    changed = [level.copy() for level in weights]
    for base in range(site.length):
        letters, at = site.letters_at(base).tolist(), site.offset + base
        others = [code for code in range(4) if code not in letters]
        for k, level in enumerate(changed, 1):
            for first in range(max(0, at - k + 1), min(at, level.shape[0] - k) + 1):
                by_letter = level[first].reshape(4 ** (at - first), 4, -1)
                by_letter[:, others] = by_letter[:, letters[:1]]
    return changed


def _mean_column(model: MultiTaskModel, tasks: Sequence[str]) -> NDArray[np.floating]:
    first, *others = tasks
    column: NDArray[np.floating] = model.weights([first])[0][:, 0]
    if others:
        column = column.copy()
        for task in others:
            column += model.weights([task])[0][:, 0]
        column /= len(tasks)
    return column


def weights_by_position(
    model: MultiTaskModel,
    tasks: Sequence[str],
    *,
    length: int | None = None,
    anywhere: bool | None = None,
) -> Iterator[PositionWeights]:
    """Yield the mean weights of tasks at one position after another.

    If k-mers are so long that their weights at all positions do not fit into memory, they may fit
    one by one. The parameters are those of :func:`position_weights`.

    Yields
    ------
    list of ndarray of float64
        For d = 1..S, an array of shape (4**d,).

    Raises
    ------
    SeqmtlError
        If the inputs are not DNA windows.
    MemoryLimitError
        If the weights of three positions do not fit into memory.
    """
    span = part_of(model, anywhere)[0].span(model.length)
    require_memory(32.0 * 4.0**span, f"the weights of {span}-mers", "train with shorter k-mers")
    in_bins, free = (
        position_weights(model, tasks, length=length, anywhere=is_free) for is_free in (False, True)
    )
    at_any = [] if anywhere is False else free(0, 1)
    L, n_at_once = length or model.length, max(1, _SLAB >> (2 * span))
    for first in range(0, L, n_at_once):
        n = min(n_at_once, L - first)
        here = [] if anywhere else in_bins(first, first + n)
        levels = add_levels(here, at_any)
        for k in range(n):
            yield [level[min(k, len(level) - 1)] for level in levels]


def window_scorer(model: MultiTaskModel, task: str) -> Callable[[Windows], NDArray[np.float64]]:
    """Return a function that scores windows, each in the same way whatever the others are."""
    W, bias = model.weights([task])
    added = model.consensus_biases([task])[0]

    def score(windows: Windows) -> NDArray[np.float64]:
        n = len(windows)
        scores, columns = np.full(n, bias[0]), np.zeros(n, dtype=np.int64)
        for view in model.features.bind(windows).views:
            scores += score_by_blocks(view.rows, np.arange(n), W[view.columns], columns)
        if model.consensus_bias is not None:
            scores += added[model.site.consensus_of(windows)]
        return scores

    return score
