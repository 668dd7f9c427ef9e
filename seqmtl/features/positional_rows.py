"""K-mers in bins of positions, of given windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import RowBlock, Rows
from seqmtl.features._base import (
    BlockBuffers,
    add_by_blocks,
    gram_by_features,
    score_by_blocks,
)
from seqmtl.features.kmer_views import Layout
from seqmtl.features.positional_kmers import table_levels
from seqmtl.sequences import Windows

if TYPE_CHECKING:
    from seqmtl.features.positional_tree import PositionalTree

_TABLE_BYTES = 1 << 20  # tables of a few positions at a time, so that they stay in cache
_LARGEST_SPAN = 11  # of tables: 4**11 weights at a position


class PositionalRows(Rows):
    """Positional k-mers of given windows; see :class:`seqmtl.blocks.Rows`."""

    #: Windows whose kernel matrix is quickly made.
    gram_rows = 600

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        self.windows, self.layout, self.hash_bits = windows, layout, hash_bits
        self.n_rows = len(windows)
        self.n_features = 1 << hash_bits if hash_bits else layout.n_features
        self.row_size = int((layout.levels.end - layout.levels.begin).sum())
        self._starts, self._width = table_levels(layout.span)
        self._norms: NDArray[np.float64] | None = None
        self._buffers = BlockBuffers()
        self.scoring_cost = 0.1 if self.folds(self.n_rows) else 0.5

    def folds(self, n: int) -> bool:
        """Whether n windows are sooner scored by tables of positions than k-mer by k-mer."""
        span = self.layout.span
        return span <= _LARGEST_SPAN and n * self.row_size > 2 * self._width * self.windows.length

    def squared_norms(self) -> NDArray[np.float64]:
        """Squared norm of every row, shape (n_rows,)."""
        from seqmtl.features._kmer_kernels import squared_norms

        if self._norms is None:
            w, norms = self.windows, np.empty(self.n_rows)
            layout = self.layout
            squared_norms(
                w.codes, w.starts, w.is_reverse, w.length, layout.span, layout.levels, layout.view,
                norms,
            )  # fmt: skip
            is_constant = norms.size > 0 and norms.min() == norms.max()
            self._norms = np.broadcast_to(norms[0], norms.shape) if is_constant else norms
        return self._norms

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Generate the features of the given windows."""
        from seqmtl.features._kmer_kernels import fill_rows

        w, layout = self.windows, self.layout
        block = self._buffers.get(rows.size, self.row_size, dtype)
        fill_rows(
            w.codes, w.starts, w.is_reverse, w.length, rows, layout.span, layout.levels,
            self.hash_bits, block,
        )  # fmt: skip
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Kernel matrix of the given windows, shape (m, m); only the lower triangle is set."""
        return gram_by_features(self, rows, dtype)

    def tables(self, dtype: Any) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Walk the positions in steps: first and last (half-open), and an empty table for them."""
        step = max(1, _TABLE_BYTES // (self._width * np.dtype(dtype).itemsize))
        table = np.empty((min(step, self.windows.length), self._width), dtype=dtype)
        for first in range(0, self.windows.length, step):
            last = min(first + step, self.windows.length)
            table[:] = 0
            yield first, last, table[: last - first]

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Inner product of window i with ``W[:, columns[i]]``, for i in rows (default: all).

        Many windows are scored by tables: one look-up per position.
        """
        from seqmtl.features._kmer_kernels import place_weights

        columns = np.asarray(columns)
        asked = np.arange(self.n_rows) if rows is None else rows
        total = np.zeros(self.n_rows)
        rest = []
        for column in np.unique(columns[asked]):
            chosen = asked[columns[asked] == column]
            if not self.folds(chosen.size):
                rest.append(chosen)
                continue
            for first, last, table in self.tables(W.dtype):
                place_weights(
                    W, int(column), first, last, self.layout.levels, self.hash_bits, self._starts,
                    table,
                )  # fmt: skip
                self.add_table_scores(chosen, first, last, table, total)
        if rest:
            total += score_by_blocks(self, np.sort(np.concatenate(rest)), W, columns)
        return total

    def add_table_scores(
        self,
        rows: NDArray[np.int64],
        first: int,
        last: int,
        table: NDArray[Any],
        total: NDArray[np.float64],
    ) -> None:
        """Add to total[i] what the weights in a table give window i, for i in rows."""
        from seqmtl.features._kmer_kernels import add_prefixes, score_folded

        w = self.windows
        add_prefixes(table, self._starts)
        score_folded(
            w.codes, w.starts, w.is_reverse, w.length, rows, first, last, self._starts, table, total
        )

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times the features of window i to W, for i in rows.

        The sums of many windows are formed position by position, in double precision.
        """
        from seqmtl.features._kmer_kernels import take_weights

        rest = []
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if not self.folds(chosen.size):
                rest.append(chosen)
                continue
            for first, last, table in self.gathered(chosen, amount):
                take_weights(
                    table, K[task], first, last, self.layout.levels, self.hash_bits, self._starts, W
                )
        if rest:
            add_by_blocks(self, np.concatenate(rest), amount, tasks, K, W)

    def gathered(
        self, rows: NDArray[np.int64], amount: NDArray[np.float64]
    ) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Walk the positions with the sums of amount[i] over the windows with each k-mer there."""
        from seqmtl.features._kmer_kernels import add_to_prefixes, scatter

        w = self.windows
        for first, last, table in self.tables(np.float64):
            scatter(
                w.codes, w.starts, w.is_reverse, w.length, rows, amount, first, last, self._starts,
                table,
            )  # fmt: skip
            add_to_prefixes(table, self._starts)
            yield first, last, table

    def tree(self) -> PositionalTree | None:
        """Return the view with fewer look-ups; None where features are hashed."""
        from seqmtl.features.positional_tree import PositionalTree

        return None if self.hash_bits else PositionalTree(self)
