"""Count the candidates of a genome by stratum, and draw decoys from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites

_BLOCK = 1 << 20  # bases: some arrays of 1 to 8 MiB; a plain choice

#: No candidates. Candidates have the columns strata, and is_near: counted, but never drawn.
_NONE = Sites(
    np.zeros(0, np.int64),
    np.zeros(0, np.bool_),
    {"strata": np.zeros(0, np.int16), "is_near": np.zeros(0, np.bool_)},
)


def memory_blocks(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Split first..end-1 into blocks that fit in memory; yield their begins and lengths."""
    for begin in range(first, end, _BLOCK):
        yield begin, min(_BLOCK, end - begin)


def clean_windows(codes: NDArray[np.uint8], length: int) -> NDArray[np.bool_]:
    """Return for each window of `length` whether it contains only A, C, G, T."""
    n_other = np.concatenate([[0], np.cumsum(codes == OTHER, dtype=np.int32)])
    is_clean: NDArray[np.bool_] = n_other[length:] == n_other[:-length]
    return is_clean


def count_strata(
    candidates: Iterator[Sites], n_strata: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of candidates in each stratum, and how many of them may be drawn."""
    population, free = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64)
    for block in candidates:
        population += np.bincount(block["strata"], minlength=n_strata)
        free += np.bincount(block["strata"][~block["is_near"]], minlength=n_strata)
    return population, free


def draw(
    candidates: Iterator[Sites],
    free: NDArray[np.int64],
    n_to_draw: NDArray[np.int64],
    rng: np.random.Generator,
) -> Sites:
    """Draw uniformly, without replacement; memory is proportional to the number drawn.

    Parameters
    ----------
    candidates : iterator of Sites
        The same candidates that were counted.
    free, n_to_draw : ndarray of int64, shape (n_strata,)
        Available candidates per stratum, see :func:`count_strata`, and how many to draw.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    Sites
        The candidates drawn, in their order.
    """
    ranks = [draw_ranks(int(n), int(k), rng) for n, k in zip(free, n_to_draw, strict=True)]
    # ranks[s]: which of the free candidates of stratum s are drawn, in their order
    n_passed = np.zeros(free.size, dtype=np.int64)
    drawn = [_NONE]
    for block in candidates:
        strata = block["strata"]
        rows = np.flatnonzero(~block["is_near"])
        order = rows[np.argsort(strata[rows], kind="stable")]
        counts = np.bincount(strata[rows], minlength=n_passed.size)
        ends = np.cumsum(counts)
        chosen = []
        for stratum in np.flatnonzero(counts):
            drawn_ranks, before = ranks[stratum], n_passed[stratum]
            low, high = np.searchsorted(drawn_ranks, [before, before + counts[stratum]])
            if low < high:
                chosen.append(
                    order[ends[stratum] - counts[stratum] + drawn_ranks[low:high] - before]
                )
        n_passed += counts
        if chosen:
            drawn.append(block.take(np.sort(np.concatenate(chosen))))
    return Sites.join(drawn)


def draw_ranks(total: int, n_to_draw: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw distinct numbers, sorted, in memory proportional to their count.

    Parameters
    ----------
    total : int
        Upper bound of the numbers, exclusive.
    n_to_draw : int
        How many to draw, at most `total`.
    rng : numpy.random.Generator
        Random generator.
    """
    if 2 * n_to_draw > total:
        return np.sort(rng.permutation(total)[:n_to_draw])
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < n_to_draw:
        added = rng.integers(total, size=n_to_draw - drawn.size + n_to_draw // 8 + 8)
        drawn = np.unique(np.concatenate([drawn, added]))
    surplus = rng.permutation(drawn.size)[: drawn.size - n_to_draw]
    return np.delete(drawn, surplus)
