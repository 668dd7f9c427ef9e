"""Weighted-degree weights summed over pairs of degrees, where a window reads half as many.

In place of one weight per d-mer and degree, F holds for every position and every second degree
the sum over the d-mer and its prefix one letter shorter. A window then reads D / 2 numbers per
position, and adding a window touches each d-mer and its three siblings: one vector instruction.
Scores, and hence the optimum, are those of the plain weights. Only windows without N can be read
this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import TreeBlock

if TYPE_CHECKING:
    from seqmtl.features.weighted_degree import WeightedDegreeRows

_ALIGNMENT = 64
_SCORE_BYTES = 2 << 20  # of the tables of a step: they should stay in the second-level cache


class WeightedDegreeTree:
    """Rows over tree weights F; the counterpart of :class:`WeightedDegreeRows`.

    Attributes
    ----------
    n_weights : int
        Rows of F.
    row_size : int
        Numbers that a window reads.
    """

    def __init__(self, rows: WeightedDegreeRows) -> None:
        self._rows = rows
        self._degree = rows.degree
        length, beta = rows.windows.length, rows.root_beta**2
        tops = list(range(self._degree, 0, -2))[::-1]
        slots, shares, base = [], [], 0
        for top, below in zip(tops, [0, *tops], strict=False):
            for l in range(length - below):
                deepest = min(top, length - l)
                slots.append((l, deepest, base))
                shares.append(
                    (beta[deepest - 1], beta[deepest - 2] if deepest - 1 > below else 0.0)
                )
                base += 4**deepest
        self._slots = tuple(np.array(column, dtype=np.int64) for column in zip(*slots, strict=True))
        position, depth, origin = self._slots
        shift = 2 * (self._degree - depth)
        self._fill_slots = (position.astype(np.uint64), shift, origin)
        self._shares = np.array(shares)
        self.n_weights = base
        self.row_size = len(slots)
        self._indices = np.empty((0, self.row_size), dtype=np.int32)

    def new_weights(self, n_tasks: int, dtype: Any) -> NDArray[Any]:
        """Return F = 0, shape (n_weights, n_tasks or the next multiple of 4), at a cache line."""
        columns = 1 if n_tasks == 1 else -(-n_tasks // 4) * 4
        n_bytes = self.n_weights * columns * np.dtype(dtype).itemsize
        raw = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
        skip = -raw.ctypes.data % _ALIGNMENT
        return raw[skip : skip + n_bytes].view(dtype).reshape(self.n_weights, columns)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> TreeBlock:
        """Generate the indices of the given windows; valid until the next call."""
        from seqmtl.features._wd_kernels import fill_tree

        w = self._rows.windows
        if self._indices.shape[0] < rows.size:
            self._indices = np.empty((rows.size, self.row_size), dtype=np.int32)
        indices = self._indices[: rows.size]
        fill_tree(
            w.codes, w.starts, w.is_reverse, w.length, rows, self._degree, self._fill_slots, indices
        )
        scale = np.ascontiguousarray(self._rows.scale[rows])
        return TreeBlock(indices, self._shares.astype(dtype), scale)

    def scores(self, F: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
        """Score window i with the tree weights ``F[:, columns[i]]``, shape (n,)."""
        from seqmtl.features._wd_kernels import add_folded_clean, fold_tree

        w, total = self._rows.windows, np.zeros(self._rows.n_rows)
        running = np.zeros(self._rows.n_rows, dtype=np.int32)
        for column in np.unique(columns):
            rows = np.flatnonzero(columns == column)
            for first, last, levels, table in self._rows.tables(F.dtype, _SCORE_BYTES):
                fold_tree(F, int(column), first, last, self._slots, levels, table)
                add_folded_clean(
                    w.codes, w.starts, w.is_reverse, w.length, rows, first, last, running, levels,
                    table, total,
                )  # fmt: skip
        return total * self._rows.scale

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        F: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times window i to F, for i in rows."""
        from seqmtl.features._wd_kernels import scatter_codes, unfold_tree

        w, amount = self._rows.windows, amount * self._rows.scale
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            for first, last, levels, table in self._rows.tables(np.float64):
                scatter_codes(
                    w.codes, w.starts, w.is_reverse, w.length, chosen, amount, first, last, levels,
                    table,
                )  # fmt: skip
                unfold_tree(table, K[task], first, last, self._slots, self._shares, levels, F)
