"""Positional k-mers bound to windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import each_part
from seqmtl.blocks import RowBlock
from seqmtl.features._base import empty_block, gram_by_features
from seqmtl.features.kmer_views import Layout
from seqmtl.features.position_tables import TableRows
from seqmtl.features.positional_tree import PositionalTree
from seqmtl.sequences import Windows


class PositionalRows(TableRows):
    """Positional k-mers of given windows; see :class:`seqmtl.blocks.Rows`."""

    #: Number of windows up to which computing a kernel matrix is fast.
    gram_rows = 600

    def __init__(self, layout: Layout, windows: Windows, hash_bits: int) -> None:
        super().__init__(windows, layout.slots(hash_bits > 0), layout.span, hash_bits)
        self.layout = layout
        self.n_features = 1 << hash_bits if hash_bits else layout.n_features
        self._norms: NDArray[np.float64] | None = None
        self.scoring_cost = 0.1 if self.score_faster(self.n_rows) else 0.5

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
        fill_rows(*self._where, rows, self.span, self.slots, self.hash_bits, block)
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Return the kernel matrix of the given windows, shape (m, m); lower triangle only."""
        return gram_by_features(self, rows, dtype)

    def tree(self) -> PositionalTree | None:
        """Return the rows with fewer look-ups, or None if features are hashed."""
        return None if self.hash_bits else PositionalTree(self.layout, self.windows)
