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
from seqmtl.features.kmer_views import Layout, Slots
from seqmtl.features.position_tables import PositionTables
from seqmtl.sequences import Windows


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


class PositionalRows(TableRows):
    """Positional k-mers of given windows; see :class:`seqmtl.blocks.Rows`."""

    #: Number of windows up to which computing a kernel matrix is fast.
    gram_rows = 600

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        tables = PositionTables(windows, layout.span)
        super().__init__(windows, layout.slots(hash_bits > 0), tables, hash_bits)
        self.layout = layout
        self.n_features = 1 << hash_bits if hash_bits else layout.n_features
        self._norms: NDArray[np.float64] | None = None
        self.scoring_cost = 0.1 if tables.score_faster(self.n_rows, self.row_size) else 0.5

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,)."""
        from seqmtl.features._kmer_kernels import squared_norms

        if self._norms is None:
            layout, norms = self.layout, np.empty(self.n_rows)

            def compute(rows: NDArray[np.int64]) -> None:
                squared_norms(*self._where, rows, layout.span, layout.levels, layout.view, norms)

            each_part(compute, np.arange(norms.size))
            is_constant = norms.size > 0 and norms.min() == norms.max()
            self._norms = np.broadcast_to(norms[0], norms.shape) if is_constant else norms
        return self._norms

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the features of the given windows."""
        from seqmtl.features._kmer_kernels import fill_rows

        block = empty_block(rows.size, self.row_size, dtype)
        fill_rows(*self._where, rows, self.tables.span, self.slots, self.hash_bits, block)
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m); lower triangle only."""
        return gram_by_features(self, rows, dtype)

    def tree(self) -> TableRows | None:
        """Return the rows with fewer look-ups, or None if features are hashed."""
        from seqmtl.features.positional_tree import PositionalTree

        return None if self.hash_bits else PositionalTree(self.layout, self.windows, self.tables)
