"""Fold position weights into tables of integer rows, with bounded error.

For every prefix c of at most D letters and every position l of a window,

    F[c, l] = sum over d <= len(c) with l + d <= L of w_d[l, first d letters of c]

so the score of a window is one sum over its positions. F is stored in integer multiples of a unit
that is small enough for the required precision. With the default features (6-mers) the rows stay in
the second-level cache. The same numbers are kept by position, for windows scored one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.scanning.scan_loops import GROUP, LINE, STEP

#: Largest absolute error of a score from rounding the tables.
PRECISION = 1e-5
#: Largest absolute value of a score in integer units.
MAX_UNITS = 2**30

_MAX_COLUMNS = 16  # positions folded at a time
_MAX_ENTRIES = 1 << 22  # entries folded at a time, about


class ScoreTables(NamedTuple):
    """Rows of integers for ``degree + 1`` concatenated levels of prefixes.

    Attributes
    ----------
    rows : ndarray of int32, shape (n_rows * stride + LINE,)
        One row per prefix of 0 to `degree` letters; entry ``GROUP - 1 + L - 1 - l`` belongs to
        position l of the window.
    columns : ndarray of int32, shape (ceil(L / STEP) * STEP * n_rows,)
        The same numbers by position, those of all rows for position 0 first; then zeros.
    first_row : ndarray of int64, shape (degree + 1,)
        First row of the prefixes of d letters.
    stride : int
        Distance between rows in entries: whole cache lines.
    degree : int
        Length of the prefix that selects a row.
    unit : float
        Score of one integer unit.
    """

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    first_row: NDArray[np.int64]
    stride: int
    degree: int
    unit: float

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.first_row[-1]) + 4**self.degree


def build_tables(weights: Sequence[NDArray[Any]], unit: float) -> ScoreTables:
    """Fold and round the weights.

    Parameters
    ----------
    weights : sequence of ndarray, shapes (L, 4), (L, 16), ... (L, 4**D)
        Weight of the d-mer with number c at position l; D <= L. Entries of d-mers that extend
        beyond the window are ignored.
    unit : float
        Requested rounding unit; a larger one is used if scores would exceed 32 bits.

    Raises
    ------
    MemoryLimitError
        If the tables do not fit into memory.
    """
    length = weights[0].shape[0]
    degree = len(weights)
    n_before = (4 ** np.arange(degree + 2, dtype=np.int64) - 1) // 3
    n_rows = int(n_before[-1])
    first_row = n_before[:-1]
    stride = -(-(length + GROUP - 1) // LINE) * LINE
    n_entries, n_columns = n_rows * stride + LINE, -(-length // STEP) * STEP
    n_at_once = max(1, min(_MAX_COLUMNS, length, _MAX_ENTRIES // n_rows))
    require_memory(
        4 * (n_entries + n_rows * n_columns) + 32 * n_rows * n_at_once,
        f"a scan with {degree}-mers and windows of {length} bases",
        "train with shorter k-mers or windows",
    )
    unit = max(unit, _max_score(weights, n_at_once) / MAX_UNITS, 1e-300)
    table = _aligned_zeros(n_entries)
    by_row = table[: n_rows * stride].reshape(n_rows, stride)
    by_column = np.zeros((n_columns, n_rows), dtype=np.int32)
    for first in range(0, length, n_at_once):
        last = min(first + n_at_once, length)
        columns = slice(GROUP - 1 + length - last, GROUP - 1 + length - first)
        levels = np.concatenate(_fold(weights, first, last), axis=1)
        by_column[first:last] = np.rint(levels / unit)
        by_row[:, columns] = by_column[first:last][::-1].T
    return ScoreTables(table, by_column.ravel(), first_row, stride, degree, unit)


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


def _max_score(weights: Sequence[NDArray[Any]], n_at_once: int) -> float:
    """Return sum_l max_c |F[c, l]|, an upper bound on scores."""
    length = weights[0].shape[0]
    total = 0.0
    for first in range(0, length, n_at_once):
        levels = _fold(weights, first, min(first + n_at_once, length))
        largest = [np.abs(level).max(axis=1) for level in levels]
        total += float(np.max(largest, axis=0).sum())
    return total


def _aligned_zeros(n: int) -> NDArray[np.int32]:
    """Return n zeros aligned to a cache line."""
    raw = np.zeros(4 * n + 64, dtype=np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + 4 * n].view(np.int32)
