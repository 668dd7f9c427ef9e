"""Positional k-mers bound to windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import each_part
from seqmtl.blocks import RowBlock, Rows
from seqmtl.features._base import (
    add_by_blocks,
    empty_block,
    gram_by_features,
    score_by_blocks,
)
from seqmtl.features.kmer_views import Layout
from seqmtl.features.position_tables import PositionTables
from seqmtl.features.positional_tree import PositionalTree
from seqmtl.sequences import Windows


class PositionalRows(Rows):
    """Positional k-mers of given windows; see :class:`seqmtl.blocks.Rows`."""

    #: Number of windows up to which computing a kernel matrix is fast.
    gram_rows = 600

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        self.windows, self.layout, self.hash_bits = windows, layout, hash_bits
        self.n_rows = len(windows)
        self.n_features = 1 << hash_bits if hash_bits else layout.n_features
        self.row_size = int((layout.levels.end - layout.levels.begin).sum())
        self.tables = PositionTables(windows, layout.span)
        self._norms: NDArray[np.float64] | None = None
        self.scoring_cost = 0.1 if self.tables.score_faster(self.n_rows, self.row_size) else 0.5

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,)."""
        from seqmtl.features._kmer_kernels import squared_norms

        if self._norms is None:
            w, norms = self.windows, np.empty(self.n_rows)
            layout = self.layout

            def compute(rows: NDArray[np.int64]) -> None:
                squared_norms(
                    w.codes, w.starts, w.is_reverse, w.length, rows, layout.span, layout.levels,
                    layout.view, norms,
                )  # fmt: skip

            each_part(compute, np.arange(norms.size))
            is_constant = norms.size > 0 and norms.min() == norms.max()
            self._norms = np.broadcast_to(norms[0], norms.shape) if is_constant else norms
        return self._norms

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the features of the given windows."""
        from seqmtl.features._kmer_kernels import fill_rows

        w, layout = self.windows, self.layout
        block = empty_block(rows.size, self.row_size, dtype)
        fill_rows(
            w.codes, w.starts, w.is_reverse, w.length, rows, layout.span, layout.levels,
            self.hash_bits, block,
        )  # fmt: skip
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m); lower triangle only."""
        return gram_by_features(self, rows, dtype)

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
                by_table.append((int(column), chosen))
            else:
                rest.append(chosen)

        def place(column: int, first: int, last: int, table: NDArray[Any]) -> None:
            levels, starts = self.layout.levels, self.tables.starts
            place_weights(W, column, first, last, levels, self.hash_bits, starts, table)

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

        rest = []
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if not self.tables.sum_faster(chosen.size, self.row_size):
                rest.append(chosen)
                continue
            for first, last, table in self.tables.sums(chosen, amount):
                take_weights(
                    table,
                    K[task],
                    first,
                    last,
                    self.layout.levels,
                    self.hash_bits,
                    self.tables.starts,
                    W,
                )
        if rest:
            add_by_blocks(self, np.concatenate(rest), amount, tasks, K, W)

    def tree(self) -> PositionalTree | None:
        """Return the rows with fewer look-ups, or None if features are hashed."""
        if self.hash_bits:
            return None
        return PositionalTree(self.layout, self.windows, self.tables)
