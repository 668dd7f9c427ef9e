"""The interface between features and solvers: blocks of sparse rows.

Solvers ask for some rows at a time, 16 to 4,096, which feature maps compute on the fly: the whole
matrix would not fit into memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_A_TIME = 1 << 14  # of V, a multiple of 4 as slots need; a plain choice


class RowBlock(NamedTuple):
    """A few hundred sparse rows, computed on the fly and discarded after use.

    Row ``r`` reads the sum of ``values[q] w[indices[q]]`` for q from ``indptr[r]`` to ``indptr[r +
    1]``, and adding it adds ``writes[q]`` to ``w[indices[q]]``. Both are its features, unless the
    weights w are pair sums, so that a row needs few of them. With G views (see
    :class:`View`), row ``r`` is part ``r % G`` of example ``r // G``.

    Rows of pair sums without such entries read ``w[slots[r, p]]`` for every slot p. Adding one adds
    ``shares[p, 0]`` to this weight, and ``shares[p, 1]`` to it and its three neighbours, the four
    weights that differ in the last two bits of the index. Other blocks have no slots.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    writes: NDArray[Any]
    slots: NDArray[np.int32]
    shares: NDArray[Any]

    @classmethod
    def of(
        cls, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]
    ) -> RowBlock:
        """Return plain sparse rows; values of repeated indices in a row are summed."""
        slots = np.empty((indptr.size - 1, 0), dtype=np.int32)
        return cls(indptr, indices, values, values, slots, np.empty((0, 2), dtype=values.dtype))


class Rows:
    """Examples bound to a feature map, as solvers use them.

    Optional capabilities have a default here: a single view, no fast comparison of rows, not dense,
    and no pair sums.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the feature matrix, which is never formed.
    row_size : int
        Upper bound on the number of stored values per row.
    scoring_cost : float
        Cost of scoring every row once, in epochs of coordinate descent, by which solvers decide
        how often to check the whole problem.
    scoring_bytes : float
        Memory that scoring takes, besides the weights and blocks of rows.
    """

    n_rows: int
    n_features: int
    row_size: int
    scoring_cost: float
    scoring_bytes: float = 0.0

    @property
    def views(self) -> tuple[View, ...]:
        """The parts of the features, each with its own task kernel."""
        return (View(self, slice(None)),)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Compute the given rows; threads may do so at the same time."""
        raise NotImplementedError

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared Euclidean norm of every row, shape (n_rows,)."""
        raise NotImplementedError

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of row i with ``W[:, columns[i]]``, for i in rows or all.

        The array has shape (n_rows,), with 0 for rows that were not requested.
        """
        raise NotImplementedError

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in rows."""
        raise NotImplementedError

    def products(self, V: NDArray[Any]) -> NDArray[np.float64]:
        """Return V'V, shape (T, T), for sums V of rows as :meth:`accumulate` adds them, K = I."""
        # in double precision, part by part: V in float64 would be twice as large as the weights
        total = np.zeros((V.shape[1], V.shape[1]))
        for first in range(0, len(V), _ROWS_AT_A_TIME):
            part = self.plain(V, first, min(first + _ROWS_AT_A_TIME, len(V)))
            total += part.T @ part
        return total

    def plain(self, V: NDArray[Any], first: int, last: int) -> NDArray[np.float64]:
        """Return V from `first` to `last`; of pair sums, plain weights with the same products."""
        return V[first:last].astype(np.float64)

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any] | None:
        """Return the kernel matrix of the given rows, shape (m, m).

        Returns None if this is not faster than visiting the features.
        """
        return None

    @property
    def is_dense(self) -> bool:
        """Whether :meth:`dense` needs little more memory than the rows do."""
        return False

    def dense(self) -> NDArray[np.float64]:
        """Return all rows as a matrix, shape (n_rows, n_features)."""
        raise NotImplementedError

    def pair_sums(self) -> Any:
        """Return the same rows, which read fewer weights, see :class:`RowBlock`, or None."""
        return None


class View(NamedTuple):
    """A part of the features with its own task kernel: its rows, and its rows of W."""

    rows: Any
    columns: slice


def blocks_of(rows: NDArray[np.int64], row_size: int) -> list[NDArray[np.int64]]:
    """Split rows into blocks."""
    step = rows_per_block(row_size)
    return [rows[first : first + step] for first in range(0, rows.size, step)]


def rows_per_block(row_size: int) -> int:
    """Return the number of rows whose block fits into the second-level cache.

    A value and its index take 8 bytes, so that 262,144 of them are 2 MiB.
    """
    return int(np.clip(262_144 // max(row_size, 1), 16, 4096))
