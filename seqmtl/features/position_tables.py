"""Windows that are scored or summed with tables of all k-mers at a few positions."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order, n_threads, run_all
from seqmtl.blocks import Rows
from seqmtl.features._base import add_by_blocks, score_by_blocks
from seqmtl.features.kmer_views import Slots, table_levels
from seqmtl.sequences import Windows

_BYTES = 1 << 20  # table size: few positions at a time, so that they stay in cache
_LARGEST_SPAN = 11  # 4**11 entries per position


class TableRows(Rows):
    """Windows that are scored and summed by tables of k-mers, if they are many.

    Parameters
    ----------
    windows : Windows
        The windows.
    slots : Slots
        The numbers that a window reads.
    span : int
        Length of the longest k-mers.
    hash_bits : int
        Bits of hashed indices, or 0.
    """

    def __init__(self, windows: Windows, slots: Slots, span: int, hash_bits: int) -> None:
        self.windows, self.slots, self.span, self.hash_bits = windows, slots, span, hash_bits
        self.n_rows, self.row_size = len(windows), slots.depth.size
        self._starts, self._width = table_levels(span)
        self._fits_tables = np.ones(len(windows), dtype=np.bool_)
        self._where = windows.codes, windows.starts, windows.is_reverse, windows.length

    def score_faster(self, n: int) -> bool:
        """Tell whether tables score n windows faster than visiting their features."""
        return self._are_smaller(2, n)

    def sum_faster(self, n: int) -> bool:
        """Tell whether tables sum n windows faster than adding their features."""
        return self._are_smaller(0.5, n)

    def _are_smaller(self, factor: float, n: int) -> bool:
        n_in_tables = self._width * self.windows.length
        return self.span <= _LARGEST_SPAN and n * self.row_size > factor * n_in_tables

    def _ranges(self, dtype: Any) -> list[tuple[int, int]]:
        step = max(1, _BYTES // (self._width * np.dtype(dtype).itemsize))
        L = self.windows.length
        return [(first, min(first + step, L)) for first in range(0, L, step)]

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of window i with ``W[:, columns[i]]``, for i in rows or all.

        Many windows are scored with tables, at one look-up per position.
        """
        columns = np.asarray(columns)
        asked = np.arange(self.n_rows) if rows is None else rows
        total = np.zeros(self.n_rows)
        rest, by_table = [asked[:0]], []
        for column in np.unique(columns[asked]):
            chosen = asked[columns[asked] == column]
            if self.score_faster(chosen.size):
                by_table.append((int(column), chosen[self._fits_tables[chosen]]))
                chosen = chosen[~self._fits_tables[chosen]]
            rest.append(chosen)
        self._score_by_tables(by_table, W, total)
        total += score_by_blocks(self, np.sort(np.concatenate(rest)), W, columns)
        return total

    def _score_by_tables(
        self,
        groups: list[tuple[int, NDArray[np.int64]]],
        W: NDArray[Any],
        total: NDArray[np.float64],
    ) -> None:
        """Add the scores of windows with a column of W, for groups of both."""
        from seqmtl.features._kmer_kernels import add_prefixes, place_weights, score_folded

        ranges, starts = self._ranges(W.dtype), self._starts
        n_parts = n_threads() // gcd(n_threads(), len(groups))
        jobs = [(column, part) for column, own in groups for part in np.array_split(own, n_parts)]

        def score(job: tuple[int, NDArray[np.int64]]) -> None:
            column, rows = job
            tables = np.empty((ranges[0][1], self._width), dtype=W.dtype)
            for ends in ranges:
                table = tables[: ends[1] - ends[0]]
                table.fill(0)
                place_weights(W, column, *ends, self.slots, self.hash_bits, starts, table)
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
        from seqmtl.features._kmer_kernels import take_weights

        rest = [rows[:0]]
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if self.sum_faster(chosen.size):
                own = chosen[self._fits_tables[chosen]]
                chosen = chosen[~self._fits_tables[chosen]]
                for ends, table in self._sums(own, amount):
                    slots, starts = self.slots, self._starts
                    take_weights(table, K[task], *ends, slots, self.hash_bits, starts, W)
            rest.append(chosen)
        add_by_blocks(self, np.concatenate(rest), amount, tasks, K, W)

    def _sums(
        self, rows: NDArray[np.int64], amount: NDArray[np.float64]
    ) -> Iterator[tuple[tuple[int, int], NDArray[np.float64]]]:
        """Yield ranges of positions with the sum of amount[i] over windows for each k-mer."""
        from seqmtl.features._kmer_kernels import add_to_prefixes, score_folded

        def add(ends: tuple[int, int]) -> tuple[tuple[int, int], NDArray[np.float64]]:
            table = np.zeros((ends[1] - ends[0], self._width))
            score_folded(*self._where, rows, *ends, self._starts, table, amount, True)
            add_to_prefixes(table, self._starts)
            return ends, table

        yield from in_order(add, self._ranges(np.float64))
