"""Fold position weights into tables of integer rows, exact to a stated error.

For every prefix c of at most D letters and every position l of a window,

    F[c, l] = sum over d <= len(c) with l + d <= L of w_d[l, first d letters of c]

so the score of a window is one sum over its positions. F is held in whole multiples of a unit
that is small enough for the precision asked for. Sixteen bits a number are too few for that, so
where needed F is the sum of a *coarse* row, which only the first few letters choose (a small
table that stays in cache), times a power of two, and a *fine* row for the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.scan._scan_kernels import GROUP, LINE, STEP

#: Largest absolute error of a score by the rounding of the tables.
PRECISION = 8e-5

_LIMIT = 32_767  # of int16
_COLUMNS = 16  # folded at a time


class ScoreTables(NamedTuple):
    """Rows of integers, ``degree + 1`` levels of prefixes laid end to end.

    Attributes
    ----------
    fine, coarse : ndarray of int16, shape (n_rows * stride,)
        One row per prefix of 0 to `degree` (`coarse_degree`) letters; entry
        ``GROUP - 1 + L - 1 - l`` belongs to position l of the window. `coarse` is empty where
        sixteen bits are enough.
    first_row : ndarray of int64, shape (degree + 2,)
        Row of the first prefix of d letters.
    stride : int
        Entries from row to row: whole cache lines.
    degree, coarse_degree : int
        Letters that choose a row.
    shift : int
        A coarse number counts 2**shift units.
    unit : float
        Raw score (before division by the window's norm) of one unit.
    """

    fine: NDArray[np.int16]
    coarse: NDArray[np.int16]
    first_row: NDArray[np.int64]
    stride: int
    degree: int
    coarse_degree: int
    shift: int
    unit: float


def build_tables(weights: Sequence[NDArray[Any]], unit: float) -> ScoreTables:
    """Fold and round the weights.

    Parameters
    ----------
    weights : sequence of ndarray, shapes (L, 4), (L, 16), ... (L, 4**D)
        Weight of the d-mer with number c at position l; D <= L. Entries of d-mers that would run
        over the window's end are not read.
    unit : float
        Rounding step wished for; a larger one is taken where 32 bits could not hold a score.

    Raises
    ------
    MemoryLimitError
        If the tables do not fit.
    """
    length, degree = weights[0].shape[0], len(weights)
    first_row = (4 ** np.arange(degree + 2, dtype=np.int64) - 1) // 3
    width = -(-(length + GROUP - 1) // STEP) * STEP
    stride = -(-(width + GROUP - 1) // LINE) * LINE
    total, reach, spread = _survey(weights)
    unit = max(unit, total / 2**30, 1e-300)
    coarse_degree, shift = _split(reach / unit, spread / unit)
    n_rows = (int(first_row[degree + 1]), int(first_row[coarse_degree + 1]) if coarse_degree else 0)
    require_memory(
        sum(n_rows) * stride * 2,
        f"a scan with degree {degree} and window {length}",
        "train with a smaller degree or window",
    )
    fine, coarse = (_aligned_zeros(n * stride) for n in n_rows)
    tables = ScoreTables(fine, coarse, first_row, stride, degree, coarse_degree, shift, unit)
    for first in range(0, length, _COLUMNS):
        _fill(tables, weights, first, min(first + _COLUMNS, length))
    return tables


def _fold(weights: Sequence[NDArray[Any]], first: int, last: int) -> list[NDArray[np.float64]]:
    """Return F for prefixes of 0..D letters and positions first..last-1, shapes (n, 4**d)."""
    length = weights[0].shape[0]
    levels = [np.zeros((last - first, 1))]
    for d, w in enumerate(weights, start=1):
        level = np.repeat(levels[-1], 4, axis=1)
        n_inside = max(0, min(last, length - d + 1) - first)
        level[:n_inside] += w[first : first + n_inside]
        levels.append(level)
    return levels


def _ranges(
    levels: list[NDArray[np.float64]], depth: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and largest F over each prefix of `depth` letters and its extensions."""
    low = high = levels[-1]
    for level in reversed(levels[depth:-1]):
        low, high = _widen(low, high, level)
    return low, high


def _widen(
    low: NDArray[np.float64], high: NDArray[np.float64], level: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Step from ranges over prefixes of d + 1 letters to ranges over prefixes of d."""
    lower = higher = level
    for k in range(4):
        lower = np.minimum(lower, low[:, k::4])
        higher = np.maximum(higher, high[:, k::4])
    return lower, higher


def _survey(weights: Sequence[NDArray[Any]]) -> tuple[float, float, NDArray[np.float64]]:
    """Return sum_l max |F|, max |F|, and how far F strays from its prefix's middle, by d."""
    length, degree = weights[0].shape[0], len(weights)
    total = reach = 0.0
    spread = np.zeros(degree + 1)
    for first in range(0, length, _COLUMNS):
        levels = _fold(weights, first, min(first + _COLUMNS, length))
        low = high = levels[-1]
        for d in range(degree - 1, -1, -1):
            low, high = _widen(low, high, levels[d])
            spread[d] = max(spread[d], float((high - low).max()) / 2)
        largest = np.maximum(high, -low)[:, 0]
        total += float(largest.sum())
        reach = max(reach, float(largest.max()))
    return total, reach, spread


def _split(reach: float, spread: NDArray[np.float64]) -> tuple[int, int]:
    """Return the fewest letters that choose the coarse row (0: none needed) and its shift."""
    if reach + 1 <= _LIMIT:
        return 0, 0
    shift = int(np.ceil(np.log2(reach / _LIMIT)))
    for depth in range(1, spread.size - 1):
        if spread[depth] + 2.0 ** (shift - 1) + 2 <= _LIMIT:
            return depth, shift
    return spread.size - 1, shift


def _fill(tables: ScoreTables, weights: Sequence[NDArray[Any]], first: int, last: int) -> None:
    """Write the rows' entries of positions first..last-1."""
    levels = _fold(weights, first, last)
    length, step = weights[0].shape[0], tables.unit * 2.0**tables.shift
    columns = slice(GROUP - 1 + length - last, GROUP - 1 + length - first)
    fine = tables.fine.reshape(-1, tables.stride)[:, columns]
    coarse = tables.coarse.reshape(-1, tables.stride)[:, columns]
    middle = np.zeros((last - first, 1), dtype=np.int32)
    for d, level in enumerate(levels):
        rows = slice(tables.first_row[d], tables.first_row[d + 1])
        units = np.rint(level / tables.unit).astype(np.int32)
        if 0 < d <= tables.coarse_degree:
            low, high = _ranges(levels, d) if d == tables.coarse_degree else (level, level)
            middle = np.rint((low + high) / (2 * step)).astype(np.int32)
            coarse[rows] = middle[::-1].T
        elif d > 0:
            middle = np.repeat(middle, 4, axis=1)
        units -= middle << tables.shift
        fine[rows] = units[::-1].T


def _aligned_zeros(n: int) -> NDArray[np.int16]:
    """Return n zeros that begin with a cache line."""
    raw = np.zeros(2 * n + 64, dtype=np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + 2 * n].view(np.int16)
