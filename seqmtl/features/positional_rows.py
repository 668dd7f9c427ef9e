"""Positional k-mers of given windows: features on demand, sums by tables, and pair sums.

As in COFFIN (Sonnenburg and Franc 2010), no feature matrix is stored: the features of a few hundred
windows are computed, used and discarded. Training needs two operations on a window x of task t, the
score <W[:, t], phi(x)> and the step W[:, s] += a K[t, s] phi(x) for every task s. Row j of W is for
feature j, column t for task t. Both are done by tables, see :mod:`seqmtl.features.table_rows`, or
window by window.

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

from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import each_part
from seqmtl.core.rows import RowBlock
from seqmtl.features._base import empty_block, gram_by_features
from seqmtl.features.kmer_views import Layout, Slots
from seqmtl.features.table_rows import TableRows, count_other
from seqmtl.sequences import Windows


class PositionalRows(TableRows):
    """Positional k-mers of given windows; see :class:`seqmtl.core.rows.Rows`."""

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        self.layout, self.slots = layout, layout.slots(hash_bits > 0)
        super().__init__(windows, self.slots.depth.size, layout.span, hash_bits)
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
            norms = np.empty(self.n_rows)

            def compute(rows: NDArray[np.int64]) -> None:
                squared_norms(*self._where, rows, self.span, self.layout, norms)

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
        """Return the kernel matrix of the given windows, shape (m, m)."""
        return gram_by_features(self, rows, dtype)

    def pair_sums(self) -> PairSumRows | None:
        """Return the rows with pair sums as weights, or None if features are hashed."""
        return None if self.hash_bits else PairSumRows(self.layout, self.windows)


class PairSumRows(TableRows):
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
        self.slots, self.n_weights = _make_slots(layout, windows.length)
        super().__init__(windows, self.slots.depth.size, layout.span, 0)
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


def _make_slots(layout: Layout, length: int) -> tuple[Slots, int]:
    """Return a slot for every pair of levels and position, and the number of weights in F.

    The lengths of a view are paired from the longest down; a single shortest one has no prefix.
    """
    rows = []
    base = 0
    for view in np.unique(layout.view):
        of_view = np.flatnonzero(layout.view == view)[::-1]  # longest k-mers first
        for upper, lower in zip_longest(of_view[::2], of_view[1::2]):
            begin, end = layout.begin[upper], layout.end[upper if lower is None else lower]
            bins, k = layout.bins[upper], layout.k[upper]
            c_prefix = 0.0 if lower is None else layout.weight[lower]
            for l in range(begin, end):
                first = base + (int(bins[l]) << (2 * k))
                if l + k <= length:
                    rows.append((l, k, first, layout.weight[upper], c_prefix))
                else:  # at the end of the window, only the prefix fits
                    rows.append((l, k - 1, first, c_prefix, 0.0))
            base += (int(bins[begin:end].max()) + 1) << (2 * k)
    rows.sort()  # by position, as the windows are read
    columns = np.array(rows)
    position, depth, first = columns[:, :3].T.astype(np.int64).copy()
    return Slots(position, depth, first, np.ones(depth.size), columns[:, 3:].copy()), base
