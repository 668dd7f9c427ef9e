"""Numeric features, dense or CSR, with the interface of string features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.rows import RowBlock, Rows
from seqmtl.features._base import FeatureDefinition, mirror
from seqmtl.sequences import Windows


class Numeric(FeatureDefinition):
    """The identity map on a numeric matrix of shape (n, d), dense or CSR."""

    kind = "numeric"

    def bind(self, data: Any) -> NumericRows:
        """Bind the map to a matrix.

        Raises
        ------
        TypeError
            If `data` are Windows.
        """
        if isinstance(data, Windows):
            raise TypeError("Numeric needs a matrix of numbers, got Windows; use PositionalKmers")
        return NumericRows(data)

    def n_features(self, length: int) -> int:
        """Return the number of features of rows of `length` numbers."""
        return length

    def feature_names(self, length: int) -> NDArray[np.str_]:
        """Return the columns: x0, x1, ..."""
        return np.array([f"x{k}" for k in range(length)])


class NumericRows(Rows):
    """Rows of a numeric matrix; see :class:`seqmtl.core.rows.Rows`.

    Parameters
    ----------
    X : ndarray or scipy.sparse.csr_matrix, shape (n, d)
        Finite numbers.
    """

    scoring_cost = 0.5

    def __init__(self, X: Any) -> None:
        self.X = X
        self.is_sparse = not isinstance(X, np.ndarray)
        self.n_rows, self.n_features = X.shape
        self.row_size = int(np.diff(X.indptr).max(initial=1)) if self.is_sparse else self.n_features

    def squared_norms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, shape (n_rows,)."""
        if self.is_sparse:
            return np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=np.float64).ravel()
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Copy the given rows."""
        part = self.X[rows]
        if self.is_sparse:
            return RowBlock.of(
                part.indptr.astype(np.int64),
                part.indices.astype(np.int32, copy=False),
                part.data.astype(dtype, copy=False),
            )
        n, d = part.shape
        return RowBlock.of(
            np.arange(n + 1, dtype=np.int64) * d,
            np.tile(np.arange(d, dtype=np.int32), n),
            np.ascontiguousarray(part, dtype=dtype).reshape(-1),
        )

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any] | None:
        """Return inner products of the given rows, shape (m, m), or None if it would be slow."""
        if rows.size > max(1024, 4 * self.row_size):
            return None
        part = self.X[rows]
        product = part @ part.T
        G = product.toarray() if self.is_sparse else product
        return mirror(np.ascontiguousarray(G, dtype=dtype))

    @property
    def is_dense(self) -> bool:
        """Whether at least a quarter of the numbers are stored."""
        return not self.is_sparse or 4 * self.X.nnz >= self.n_rows * self.n_features

    def dense(self) -> NDArray[np.float64]:
        """Return the matrix, shape (n_rows, n_features)."""
        return np.asarray(self.X.toarray() if self.is_sparse else self.X, dtype=np.float64)

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner product of row i with ``W[:, columns[i]]``, for i in rows or all."""
        total = np.zeros(self.n_rows)
        requested = np.arange(self.n_rows) if rows is None else rows
        columns = np.asarray(columns)
        for column in np.unique(columns[requested]):
            chosen = requested[columns[requested] == column]
            part = self.X if chosen.size == self.n_rows else self.X[chosen]
            weights = W[:, column].astype(np.float64)
            # einsum: on tall matrices a threaded BLAS is slower, much slower if cores are busy
            total[chosen] = (
                part @ weights if self.is_sparse else np.einsum("ij,j->i", part, weights)
            )
        return total

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in rows."""
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            W += np.outer(self.X[chosen].T @ amount[chosen], K[task]).astype(W.dtype)
