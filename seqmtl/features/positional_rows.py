"""Positional k-mers of given windows: features on demand, sums by tables, and pair sums.

As in COFFIN (Sonnenburg and Franc 2010), no feature matrix is stored: the features of a few hundred
windows are computed, used and discarded. Training needs two operations on a window x of task t, the
score <W[:, t], phi(x)> and the step W[:, s] += a K[t, s] phi(x) for every task s. Row j of W is for
feature j, column t for task t.

**Tables.** Many windows of one task are scored by adding up, for a few positions at a time, the
weights of all features of each k-mer; a window then reads one number per position. The adjoint sums
many steps. Otherwise windows are visited one by one.

**Pair sums.** Reading a weight is a random access to memory, which costs more than its arithmetic.
A k-mer determines its prefix, the k-mer without its last letter. So instead of one weight per k-mer
and one per prefix, F holds the sum of both, for every bin and every second length. Let c and c' be
the kernel weights of k-mers and prefixes, and A the sum of all steps a on a k-mer or prefix. Then

    F[k-mer] = c A[k-mer] + c' A[prefix]

and a window reads half as many numbers. A step on the k-mer ACG adds (c + c') a to F[ACG], and c' a
to its siblings ACA, ACC, ACT, which have the same prefix AC. The four are neighbours in memory, so
this is one vector instruction. Scores, and hence the optimum, are those of the plain weights, which
are root(c) A[k-mer] and root(c') A[prefix].

**N.** If the last letter of a k-mer is N, the window has only its prefix. Let E be the part of
A[prefix] from such windows. Every other prefix is continued by one of four letters, so
A[prefix] = E + sum of A[k-mer] over the four, and

    sum of F over the four = c (A[prefix] - E) + 4 c' A[prefix]

gives A[prefix] from F and E. E is stored after F, with a quarter as many entries, and only windows
with N use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import each_part, in_order, n_threads, run_all
from seqmtl.core.rows import RowBlock, Rows
from seqmtl.features._base import add_by_blocks, empty_block, gram_by_features, score_by_blocks
from seqmtl.features.kmer_views import Layout, Slots, table_levels
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
    """

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
        raise NotImplementedError

    def _unfold(
        self,
        table: NDArray[np.float64],
        coupling: NDArray[np.float64],
        ends: tuple[int, int],
        W: NDArray[Any],
    ) -> None:
        """Add the tables of a range of positions to W, times the coupling of each column."""
        raise NotImplementedError

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


class SlotRows(TableRows):
    """Windows whose features are those of slots.

    Parameters
    ----------
    windows, span, hash_bits
        See :class:`TableRows`.
    slots : Slots
        Positions and lengths of the k-mers of a window.
    """

    def __init__(self, windows: Windows, slots: Slots, span: int, hash_bits: int) -> None:
        super().__init__(windows, slots.depth.size, span, hash_bits)
        self.slots = slots

    def _fold(
        self, W: NDArray[Any], column: int, ends: tuple[int, int], table: NDArray[Any]
    ) -> None:
        from seqmtl.features.kmer_loops import fold_weights

        fold_weights(W, column, *ends, self.slots, self.hash_bits, self._starts, table)

    def _unfold(
        self,
        table: NDArray[np.float64],
        coupling: NDArray[np.float64],
        ends: tuple[int, int],
        W: NDArray[Any],
    ) -> None:
        from seqmtl.features.kmer_loops import unfold_sums

        unfold_sums(table, coupling, *ends, self.slots, self.hash_bits, self._starts, W)


class PositionalRows(SlotRows):
    """Positional k-mers of given windows; see :class:`seqmtl.core.rows.Rows`."""

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        super().__init__(windows, layout.slots(hash_bits > 0), layout.span, hash_bits)
        self.layout = layout
        self.n_features = 1 << hash_bits if hash_bits else layout.n_features
        self._norms: NDArray[np.float64] | None = None
        n_letters = 1 + (self.span - 1) // self._step(np.float32)  # read at each position
        self.scoring_cost = 0.5
        if self.score_faster(self.n_rows):
            self.scoring_cost = min(0.1 * n_letters, 0.5)

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,)."""
        from seqmtl.features.kmer_loops import squared_norms

        if self._norms is None:
            layout = self.layout
            norms = np.empty(self.n_rows)

            def compute(rows: NDArray[np.int64]) -> None:
                squared_norms(*self._where, rows, layout.span, layout.levels, layout.view, norms)

            each_part(compute, np.arange(norms.size))
            is_constant = norms.size > 0 and norms.min() == norms.max()
            self._norms = np.broadcast_to(norms[0], norms.shape) if is_constant else norms
        return self._norms

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the features of the given windows."""
        from seqmtl.features.kmer_loops import fill_rows

        block = empty_block(rows.size, self.row_size, dtype)
        fill_rows(*self._where, rows, self.span, self.slots, self.hash_bits, block)
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m); lower triangle only."""
        return gram_by_features(self, rows, dtype)

    def pair_sums(self) -> PairSumRows | None:
        """Return the rows with pair sums as weights, or None if features are hashed."""
        return None if self.hash_bits else PairSumRows(self.layout, self.windows)


class PairSumRows(SlotRows):
    """Rows whose weights are pair sums F, instead of plain weights.

    Attributes
    ----------
    n_weights : int
        Number of weights in F, per task.
    n_features : int
        The same, and the number of weights in E if windows contain N.
    row_size : int
        Number of slots of a window.
    """

    def __init__(self, layout: Layout, windows: Windows) -> None:
        slots, self.n_weights = _make_slots(layout, windows.length)
        super().__init__(windows, slots, layout.span, 0)
        self._fits_tables = count_other(windows) == 0
        has_n = not self._fits_tables.all()
        self.n_features = self.n_weights + (self.n_weights // 4 if has_n else 0)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the indices of the given windows."""
        from seqmtl.features.kmer_loops import fill_slots, fill_slots_with_n

        slots = self.slots
        span = self.span
        indices = np.empty((rows.size, self.row_size), dtype=np.int32)
        fill_slots(*self._where, rows, span, slots, indices)
        rows_with_n = np.flatnonzero(~self._fits_tables[rows])
        n = rows_with_n.size * self.row_size * 5
        indptr = np.zeros(rows.size + 1, dtype=np.int64)
        indices_n = np.empty(n, dtype=np.int32)
        reads, writes = np.empty(n, dtype=dtype), np.empty(n, dtype=dtype)
        block = RowBlock(indptr, indices_n, reads, writes, indices, slots.shares.astype(dtype))
        if n:
            fill_slots_with_n(*self._where, rows, rows_with_n, span, slots, self.n_weights, block)
        return block

    def plain(self, V: NDArray[Any], first: int, last: int) -> NDArray[np.float64]:
        """Return the plain weights of a range of F, those of prefixes after those of k-mers."""
        if first >= self.n_weights:
            return np.zeros((0, V.shape[1]))
        last = min(last, self.n_weights)
        c, c_prefix = self._shares[first // 4 : last // 4, :, None].swapaxes(0, 1)
        F = V[first:last].astype(np.float64).reshape(c.shape[0], 4, -1)
        A = F.sum(axis=1)
        if self.n_features > self.n_weights:
            A += c * V[self.n_weights + first // 4 : self.n_weights + last // 4]
        A /= c + 4.0 * c_prefix
        kmers = (F - (c_prefix * A)[:, None]) / np.sqrt(c)[:, None]
        return np.concatenate([kmers.reshape(-1, V.shape[1]), np.sqrt(c_prefix) * A])

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """The kernel weights c and c' of every four sibling k-mers and their prefix."""
        _, depth, base, _, shares = self.slots
        weights_of_siblings = np.ones((self.n_weights // 4, 2))
        for first, n, pair in zip(base // 4, 4 ** (depth - 1), shares, strict=True):
            weights_of_siblings[first : first + n] = pair
        return weights_of_siblings


def count_other(windows: Windows) -> NDArray[np.int64]:
    """Return the number of letters other than A, C, G, T in every window, shape (n,)."""
    if windows.codes.max(initial=0) < OTHER:
        return np.zeros(len(windows), dtype=np.int64)
    other_letters = np.flatnonzero(windows.codes >= OTHER)
    first = np.searchsorted(other_letters, windows.starts)
    return np.searchsorted(other_letters, windows.starts + windows.length) - first


def _make_slots(layout: Layout, length: int) -> tuple[Slots, int]:
    """Return a slot for every pair of levels and position, and the number of weights in F.

    The lengths of a view are paired from the longest down; a single shortest one has no prefix.
    """
    levels = layout.levels
    rows = []
    base = 0
    for view in np.unique(layout.view):
        of_view = np.flatnonzero(layout.view == view)[::-1]  # longest k-mers first
        for upper, lower in zip(
            of_view[::2], [*of_view[1::2], -1][: of_view[::2].size], strict=True
        ):
            begin, end = levels.begin[upper], levels.end[upper]
            if lower >= 0:
                end = levels.end[lower]
            bins, k = levels.bins[upper], levels.k[upper]
            for l in range(begin, end):
                fits = l + k <= length  # at the end of the window, only the prefix does
                depth, kmer_weight = (
                    (k, levels.weight[upper]) if fits else (k - 1, levels.weight[lower])
                )
                prefix_weight = levels.weight[lower] if fits and lower >= 0 else 0.0
                rows.append(
                    (l, depth, base + (int(bins[l]) << (2 * k)), kmer_weight, prefix_weight)
                )
            base += (int(bins[begin:end].max()) + 1) << (2 * k)
    rows.sort()  # by position, as the windows are read
    columns = np.array(rows)
    position, depth, first = columns[:, :3].T.astype(np.int64).copy()
    return Slots(position, depth, first, np.ones(depth.size), columns[:, 3:].copy()), base
