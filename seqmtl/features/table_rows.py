"""Rows of windows of DNA that tables of k-mers score and sum, of features of any kind.

Many windows of one task are scored by adding up, for a few positions at a time, the weights of all
features of each k-mer; a window then reads one number per position. The adjoint sums many steps.
Otherwise windows are visited one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order, n_threads, run_all
from seqmtl.core.rows import Rows
from seqmtl.features._base import add_by_blocks, score_by_blocks
from seqmtl.features.kmer_views import Slots, table_levels
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import OTHER

# Tables of a few positions stay in the second-level cache; untuned.
_TABLE_BYTES = 1 << 20
_MAX_SPAN = 11  # 4**11 entries per position


class TableRows(Rows):
    """Windows that are scored and summed by tables of k-mers if that is faster.

    Parameters
    ----------
    windows : Windows
        The windows.
    row_size : int
        Number of k-mers of a window.
    span : int
        Length of the longest k-mers.
    hash_bits : int
        Bits of hashed indices, or 0.

    Attributes
    ----------
    slots : Slots
        Positions and lengths of the k-mers of a window, unless they are anywhere.
    """

    slots: Slots
    _scale: Any = 1.0  # of the features of each window

    def __init__(self, windows: Windows, row_size: int, span: int, hash_bits: int) -> None:
        self.windows = windows
        self.span = span
        self.hash_bits = hash_bits
        self.n_rows = len(windows)
        self.row_size = row_size
        self._starts, self._width = table_levels(span)
        self._work = float(self._width * windows.length)  # of filling the tables
        self._fits_tables = np.ones(len(windows), dtype=np.bool_)
        self._where = windows.codes, windows.starts, windows.is_reverse, windows.length

    def _tables(self, ends: tuple[int, int], dtype: Any) -> NDArray[Any]:
        """Return tables of zeros for a range of positions."""
        return np.zeros((ends[1] - ends[0], self._width), dtype=dtype)

    def _fold(
        self, W: NDArray[Any], column: int, ends: tuple[int, int], table: NDArray[Any]
    ) -> None:
        """Add a column of W to the tables of a range of positions."""
        from seqmtl.features.kmer_loops import fold_weights

        fold_weights(W, column, *ends, self.slots, self.hash_bits, self._starts, table)

    def _unfold(
        self,
        table: NDArray[np.float64],
        coupling: NDArray[np.float64],
        ends: tuple[int, int],
        W: NDArray[Any],
    ) -> None:
        """Add the tables of a range of positions to W, times the coupling of each column."""
        from seqmtl.features.kmer_loops import unfold_sums

        unfold_sums(table, coupling, *ends, self.slots, self.hash_bits, self._starts, W)

    def score_faster(self, n: int) -> bool:
        """Return whether tables score n windows faster than visiting their features."""
        return self._tables_pay(2, n)

    def sum_faster(self, n: int) -> bool:
        """Return whether tables sum n windows faster than adding their features."""
        return self._tables_pay(0.5, n)

    def _tables_pay(self, factor: float, n: int) -> bool:
        """Return whether the reads of n windows outweigh the work of filling the tables."""
        return self.span <= _MAX_SPAN and n * self.row_size > factor * self._work

    def _step(self, dtype: Any) -> int:
        """Return the number of positions whose tables are in memory at a time."""
        return max(1, _TABLE_BYTES // (self._width * np.dtype(dtype).itemsize))

    def _ranges(self, dtype: Any) -> list[tuple[int, int]]:
        L = self.windows.length
        step = self._step(dtype)
        return [(first, min(first + step, L)) for first in range(0, L, step)]

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of window i with ``W[:, columns[i]]``, for i in rows or all.

        Many windows are scored with tables, reading one entry per position.
        """
        columns = np.asarray(columns)
        requested = np.arange(self.n_rows) if rows is None else rows
        total = np.zeros(self.n_rows)
        by_row, by_table = [requested[:0]], []
        for column in np.unique(columns[requested]):
            chosen = requested[columns[requested] == column]
            if self.score_faster(chosen.size):
                by_table.append((int(column), chosen[self._fits_tables[chosen]]))
                chosen = chosen[~self._fits_tables[chosen]]
            by_row.append(chosen)
        self._score_by_tables(by_table, W, total)
        total *= self._scale
        total += score_by_blocks(self, np.sort(np.concatenate(by_row)), W, columns)
        return total

    def _score_by_tables(
        self,
        groups: list[tuple[int, NDArray[np.int64]]],
        W: NDArray[Any],
        total: NDArray[np.float64],
    ) -> None:
        """Add the scores of windows with a column of W, for groups of both."""
        from seqmtl.features.kmer_loops import add_prefixes, score_folded

        ranges = self._ranges(W.dtype)
        starts = self._starts
        W = np.ascontiguousarray(W)
        n_parts = n_threads() // gcd(n_threads(), len(groups))
        jobs = [(column, part) for column, rows in groups for part in np.array_split(rows, n_parts)]

        def score(job: tuple[int, NDArray[np.int64]]) -> None:
            column, rows = job
            tables = self._tables(ranges[0], W.dtype)
            for ends in ranges:
                table = tables[: ends[1] - ends[0]]
                table.fill(0)
                self._fold(W, column, ends, table)
                add_prefixes(table, starts)
                score_folded(*self._where, rows, *ends, starts, table, total, False)

        run_all(score, jobs)

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times the features of window i to W, for i in rows.

        Many windows are summed position by position, in double precision.
        """
        by_row = [rows[:0]]
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if self.sum_faster(chosen.size // min(W.shape[1], 2)):  # one column is faster by rows
                clean = chosen[self._fits_tables[chosen]]
                chosen = chosen[~self._fits_tables[chosen]]
                for ends, table in self._sums(clean, amount * self._scale):
                    self._unfold(table, K[task], ends, W)
            by_row.append(chosen)
        add_by_blocks(self, np.concatenate(by_row), amount, tasks, K, W)

    def _sums(
        self, rows: NDArray[np.int64], amount: NDArray[np.float64]
    ) -> Iterator[tuple[tuple[int, int], NDArray[np.float64]]]:
        """Yield ranges of positions with the sum of amount[i] over windows for each k-mer."""
        from seqmtl.features.kmer_loops import add_to_prefixes, score_folded

        def add(ends: tuple[int, int]) -> tuple[tuple[int, int], NDArray[np.float64]]:
            table = self._tables(ends, np.float64)
            score_folded(*self._where, rows, *ends, self._starts, table, amount, True)
            add_to_prefixes(table, self._starts)
            return ends, table

        yield from in_order(add, self._ranges(np.float64))


def count_other(windows: Windows) -> NDArray[np.int64]:
    """Return the number of letters other than A, C, G, T in every window, shape (n,)."""
    if windows.codes.max(initial=0) < OTHER:
        return np.zeros(len(windows), dtype=np.int64)
    other_letters = np.flatnonzero(windows.codes >= OTHER)
    first = np.searchsorted(other_letters, windows.starts)
    return np.searchsorted(other_letters, windows.starts + windows.length) - first
