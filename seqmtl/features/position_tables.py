"""Tables of all k-mers at a few positions, to score or sum many windows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


class PositionTables:
    """Tables of 1-mers to span-mers at the positions of given windows.

    Attributes
    ----------
    starts : ndarray of int64, shape (span,)
        Column of the first k-mer of every length.
    """

    def __init__(self, windows: Windows, span: int) -> None:
        self._windows = windows
        self.span = span
        self.starts, self._width = table_levels(span)

    def score_faster(self, n: int, row_size: int) -> bool:
        """Tell whether tables score n windows faster than visiting their `row_size` features."""
        return self._are_smaller(2, n * row_size)

    def sum_faster(self, n: int, row_size: int) -> bool:
        """Tell whether tables sum n windows faster than adding their `row_size` features."""
        return self._are_smaller(0.5, n * row_size)

    def _are_smaller(self, factor: float, n_walked: int) -> bool:
        n_in_tables = self._width * self._windows.length
        return self.span <= _LARGEST_SPAN and n_walked > factor * n_in_tables

    def _ranges(self, dtype: Any) -> list[tuple[int, int]]:
        step = max(1, _BYTES // (self._width * np.dtype(dtype).itemsize))
        L = self._windows.length
        return [(first, min(first + step, L)) for first in range(0, L, step)]

    def add_scores(
        self,
        groups: Sequence[tuple[int, NDArray[np.int64]]],
        place: Callable[[int, int, int, NDArray[Any]], None],
        dtype: Any,
        total: NDArray[np.float64],
    ) -> None:
        """Add to total[i] the weights of the k-mers of window i.

        Parameters
        ----------
        groups : sequence of (int, ndarray)
            Columns of the weights, with the windows that are scored by each.
        place : callable
            Given a column and a range of positions (first, last; half-open), adds the weights to
            an empty table of the type `dtype`.
        dtype : dtype
            Type of the weights.
        total : ndarray of float64
            Scores of all windows.
        """
        from seqmtl.features._kmer_kernels import add_prefixes, score_folded

        w, ranges = self._windows, self._ranges(dtype)
        n_parts = n_threads() // gcd(n_threads(), len(groups))
        jobs = [(column, part) for column, own in groups for part in np.array_split(own, n_parts)]

        def score(job: tuple[int, NDArray[np.int64]]) -> None:
            column, rows = job
            tables = np.empty((ranges[0][1], self._width), dtype=dtype)
            for first, last in ranges:
                table = tables[: last - first]
                table.fill(0)
                place(column, first, last, table)
                add_prefixes(table, self.starts)
                score_folded(
                    w.codes, w.starts, w.is_reverse, w.length, rows, first, last, self.starts,
                    table, total, False,
                )  # fmt: skip

        run_all(score, jobs)

    def sums(
        self, rows: NDArray[np.int64], amount: NDArray[np.float64]
    ) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Yield ranges of positions with the sum of amount[i] over windows for each k-mer."""
        from seqmtl.features._kmer_kernels import add_to_prefixes, score_folded

        w = self._windows

        def add(ends: tuple[int, int]) -> tuple[int, int, NDArray[np.float64]]:
            table = np.zeros((ends[1] - ends[0], self._width))
            score_folded(
                w.codes, w.starts, w.is_reverse, w.length, rows, *ends, self.starts, table, amount,
                True,
            )  # fmt: skip
            add_to_prefixes(table, self.starts)
            return *ends, table

        yield from in_order(add, self._ranges(np.float64))


class TableRows(Rows):
    """Windows that are scored and summed by tables of k-mers, if they are many.

    Parameters
    ----------
    windows : Windows
        The windows.
    slots : Slots
        The numbers that a window reads.
    tables : PositionTables
        Tables at the positions of the windows.
    hash_bits : int
        Bits of hashed indices, or 0.
    """

    def __init__(
        self, windows: Windows, slots: Slots, tables: PositionTables, hash_bits: int
    ) -> None:
        self.windows, self.slots, self.tables, self.hash_bits = windows, slots, tables, hash_bits
        self.n_rows, self.row_size = len(windows), slots.depth.size
        self._fits_tables = np.ones(len(windows), dtype=np.bool_)
        self._where = windows.codes, windows.starts, windows.is_reverse, windows.length

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of window i with ``W[:, columns[i]]``, for i in rows or all.

        Many windows are scored with tables, at one look-up per position.
        """
        from seqmtl.features._kmer_kernels import place_weights

        columns = np.asarray(columns)
        asked = np.arange(self.n_rows) if rows is None else rows
        total = np.zeros(self.n_rows)
        rest, by_table = [], []
        for column in np.unique(columns[asked]):
            chosen = asked[columns[asked] == column]
            if self.tables.score_faster(chosen.size, self.row_size):
                by_table.append((int(column), chosen[self._fits_tables[chosen]]))
                chosen = chosen[~self._fits_tables[chosen]]
            rest.append(chosen)

        def place(column: int, first: int, last: int, table: NDArray[Any]) -> None:
            starts = self.tables.starts
            place_weights(W, column, first, last, self.slots, self.hash_bits, starts, table)

        self.tables.add_scores(by_table, place, W.dtype, total)
        if rest:
            total += score_by_blocks(self, np.sort(np.concatenate(rest)), W, columns)
        return total

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
            if self.tables.sum_faster(chosen.size, self.row_size):
                own = chosen[self._fits_tables[chosen]]
                chosen = chosen[~self._fits_tables[chosen]]
                for first, last, table in self.tables.sums(own, amount):
                    take_weights(
                        table, K[task], first, last, self.slots, self.hash_bits,
                        self.tables.starts, W,
                    )  # fmt: skip
            rest.append(chosen)
        add_by_blocks(self, np.concatenate(rest), amount, tasks, K, W)
