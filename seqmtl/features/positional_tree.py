"""Weights of positional k-mers summed over pairs of lengths, to halve the look-ups per window.

Instead of one weight per k-mer and length, F holds for every bin and every second length the sum
over the k-mer and its prefix one letter shorter. A window then reads half as many numbers, and
adding a window touches each k-mer and its three siblings: one vector instruction. Scores, and
hence the optimum, are those of the plain weights.

If the longer k-mer of a pair contains N but its prefix does not, the window has only the prefix.
Let A be the plain sum of a k-mer or prefix, c and c' their weights in the kernel, and E the part
of A[prefix] from such lone prefixes. Every other prefix is continued by one of four letters, so
A[prefix] = E + sum of A[k-mer] over the four, and

    sum of F over the four = c (A[prefix] - E) + 4 c' A[prefix]

gives A[prefix] from F and E. E is stored after the weights of F, with a quarter as many entries,
and only windows with N use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import ahead, run_all
from seqmtl.blocks import TreeBlock, blocks_of
from seqmtl.features.kmer_views import Layout
from seqmtl.features.position_tables import PositionTables
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import OTHER


class PositionalTree:
    """Rows for tree weights F; the counterpart of rows for plain weights.

    Attributes
    ----------
    n_weights : int
        Number of weights in F, per task.
    n_features : int
        The same, with E if windows contain N.
    row_size : int
        Numbers read per window.
    """

    def __init__(self, layout: Layout, windows: Windows, tables: PositionTables) -> None:
        self._windows, self._tables = windows, tables
        self._slots, self._shares, self.n_weights = _make_slots(layout, windows.length)
        self.row_size = self._shares.shape[0]
        self._is_clean = _are_clean(windows)
        self.n_features = self.n_weights + (0 if self._is_clean.all() else self.n_weights // 4)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> TreeBlock:
        """Compute the indices of the given windows."""
        from seqmtl.features._kmer_kernels import fill_tree, fill_tree_with_n

        w = self._windows
        indices = np.empty((rows.size, self.row_size), dtype=np.int32)
        where = (w.codes, w.starts, w.is_reverse, w.length, rows)
        span = self._tables.span
        fill_tree(*where, span, self._slots, indices)
        with_n = np.flatnonzero(~self._is_clean[rows])
        n = with_n.size * self.row_size * 5
        entries = (
            np.zeros(rows.size + 1, dtype=np.int64), np.empty(n, dtype=np.int32),
            np.empty(n, dtype=dtype), np.empty(n, dtype=dtype),
        )  # fmt: skip
        if n:
            fill_tree_with_n(
                *where, with_n, span, self._slots, self._shares, self.n_weights, entries
            )
        return TreeBlock(indices, self._shares.astype(dtype), *entries)

    def scores(
        self, F: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Score window i with the tree weights ``F[:, columns[i]]``, for i in rows or all."""
        from seqmtl.features._kmer_kernels import place_tree, score_tree

        total = np.zeros(len(self._windows))
        asked = np.arange(total.size) if rows is None else rows
        rest, by_table = [], []
        for column in np.unique(columns[asked]):
            chosen = asked[columns[asked] == column]
            in_table = self._is_clean[chosen]
            in_table &= self._tables.score_faster(chosen.size, self.row_size)
            rest.append(chosen[~in_table])
            if in_table.any():
                by_table.append((int(column), chosen[in_table]))

        def score(part: NDArray[np.int64]) -> None:
            score_tree(self.block(part, F.dtype), part, columns, F, total)

        def place(column: int, first: int, last: int, table: NDArray[Any]) -> None:
            place_tree(F, column, first, last, self._slots, self._tables.starts, table)

        parts = [part for own in rest for part in blocks_of(own, self.row_size)]
        run_all(score, parts)
        self._tables.add_scores(by_table, place, F.dtype, total)
        return total

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        F: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times window i to F, for i in rows."""
        from seqmtl.features._kmer_kernels import add_tree, take_tree

        by_kmer = []
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if self._tables.sum_faster(chosen.size, self.row_size):
                by_kmer.append(chosen[~self._is_clean[chosen]])
                chosen = chosen[self._is_clean[chosen]]
                for first, last, table in self._tables.sums(chosen, amount):
                    take_tree(
                        table,
                        K[task],
                        first,
                        last,
                        self._slots,
                        self._shares,
                        self._tables.starts,
                        F,
                    )
            else:
                by_kmer.append(chosen)

        def compute(part: NDArray[np.int64]) -> TreeBlock:
            return self.block(part, F.dtype)

        parts = blocks_of(np.concatenate(by_kmer) if by_kmer else rows, self.row_size)
        for part, block in zip(parts, ahead(compute, parts), strict=True):
            add_tree(block, part, amount, tasks, K, F)


def _are_clean(windows: Windows) -> NDArray[np.bool_]:
    """Tell for every window whether all its letters are A, C, G or T, shape (n,)."""
    if windows.codes.max(initial=0) < OTHER:
        return np.ones(len(windows), dtype=np.bool_)
    others = np.flatnonzero(windows.codes >= OTHER)
    first = np.searchsorted(others, windows.starts)
    return first == np.searchsorted(others, windows.starts + windows.length)


def _make_slots(layout: Layout, length: int) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """List the numbers that a window reads, by position.

    Returns
    -------
    slots : ndarray of int64, shape (3, n)
        Position of the k-mer, its length, and the index of the first k-mer of its bin.
    shares : ndarray of float64, shape (n, 2)
        Weights in the kernel of the k-mer and of its prefix one letter shorter.
    n_weights : int
        Number of indices in use.
    """
    levels = layout.levels
    found, base = [], 0
    for view in np.unique(layout.view):
        mine = np.flatnonzero(layout.view == view)[::-1]  # longest k-mers first
        for upper, lower in zip(mine[::2], [*mine[1::2], -1][: mine[::2].size], strict=True):
            begin, end = levels.begin[upper], levels.end[upper]
            if lower >= 0:
                end = levels.end[lower]
            bins, k = levels.bins[upper], levels.k[upper]
            for l in range(begin, end):
                fits = l + k <= length
                depth, share = (k, levels.weight[upper]) if fits else (k - 1, levels.weight[lower])
                below = levels.weight[lower] if fits and lower >= 0 else 0.0
                found.append((l, depth, base + (int(bins[l]) << (2 * k)), share, below))
            base += (int(bins[begin:end].max()) + 1) << (2 * k)
    found.sort()
    columns = np.array(found)
    return columns[:, :3].T.astype(np.int64).copy(), columns[:, 3:].copy(), base
