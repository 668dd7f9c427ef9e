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

from seqmtl.blocks import RowBlock
from seqmtl.features.kmer_views import Layout, Slots
from seqmtl.features.position_tables import TableRows
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import OTHER


class PositionalTree(TableRows):
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

    def __init__(self, layout: Layout, windows: Windows) -> None:
        slots, self.n_weights = _make_slots(layout, windows.length)
        super().__init__(windows, slots, layout.span, 0)
        self._fits_tables = _are_clean(windows)
        has_n = not self._fits_tables.all()
        self.n_features = self.n_weights + (self.n_weights // 4 if has_n else 0)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the indices of the given windows."""
        from seqmtl.features._kmer_kernels import fill_slots, fill_slots_with_n

        slots, span = self.slots, self.span
        indices = np.empty((rows.size, self.row_size), dtype=np.int32)
        fill_slots(*self._where, rows, span, slots, indices)
        with_n = np.flatnonzero(~self._fits_tables[rows])
        n = with_n.size * self.row_size * 5
        indptr, others = np.zeros(rows.size + 1, dtype=np.int64), np.empty(n, dtype=np.int32)
        reads, writes = np.empty(n, dtype=dtype), np.empty(n, dtype=dtype)
        block = RowBlock(indptr, others, reads, writes, indices, slots.shares.astype(dtype))
        if n:
            fill_slots_with_n(*self._where, rows, with_n, span, slots, self.n_weights, block)
        return block


def _are_clean(windows: Windows) -> NDArray[np.bool_]:
    """Tell for every window whether all its letters are A, C, G or T, shape (n,)."""
    if windows.codes.max(initial=0) < OTHER:
        return np.ones(len(windows), dtype=np.bool_)
    others = np.flatnonzero(windows.codes >= OTHER)
    first = np.searchsorted(others, windows.starts)
    return first == np.searchsorted(others, windows.starts + windows.length)


def _make_slots(layout: Layout, length: int) -> tuple[Slots, int]:
    """List the numbers that a window reads, by position, and count the indices in use."""
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
    position, depth, first = columns[:, :3].T.astype(np.int64).copy()
    return Slots(position, depth, first, np.ones(depth.size), columns[:, 3:].copy()), base
