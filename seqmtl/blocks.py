"""The shape in which examples travel from features to solvers: blocks of sparse rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class RowBlock(NamedTuple):
    """A few hundred sparse rows, generated on the fly and gone after use.

    Row ``r`` has the values ``values[indptr[r]:indptr[r + 1]]`` at the feature indices
    ``indices[indptr[r]:indptr[r + 1]]``. An index may occur twice in a row; its values add up.
    With G views (see :class:`View`) it is the part ``r % G`` of row ``r // G`` instead.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]


class TreeBlock(NamedTuple):
    """Rows over weights that are sums along a tree, so that a row reads few of them.

    Row ``r`` reads ``F[indices[r, p]]`` for every slot p. Adding the row adds
    ``shares[p, 0]`` to what it reads, and ``shares[p, 1]`` to that and its three neighbours, the
    four entries that differ in the last two bits of the index.

    Rows with N do not fit this pattern. Row ``r`` is one of them where
    ``indptr[r] < indptr[r + 1]``: of the entries q between, it reads the sum of
    ``reads[q] F[others[q]]``, and adding it adds ``writes[q]`` to ``F[others[q]]``.
    """

    indices: NDArray[np.int32]
    shares: NDArray[Any]
    indptr: NDArray[np.int64]
    others: NDArray[np.int32]
    reads: NDArray[Any]
    writes: NDArray[Any]


class Rows:
    """Examples bound to a feature map: all that a solver needs to know of them.

    What not all rows can do has a default here: they are one view, compare no two rows, and have
    no tree.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the matrix that is never formed.
    row_size : int
        Upper bound of the stored values of one row.
    scoring_cost : float
        Work of scoring every row once, in epochs of coordinate descent. Solvers use it to decide
        how often to look at the whole problem.
    gram_rows : int
        Rows whose kernel matrix is quickly made.
    """

    n_rows: int
    n_features: int
    row_size: int
    scoring_cost: float
    gram_rows: int = 0

    @property
    def views(self) -> tuple[View, ...]:
        """The parts of the features that have a task kernel each."""
        return (View(self, slice(None)),)

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Generate the given rows; the arrays are only valid until the next call."""
        raise NotImplementedError

    def squared_norms(self) -> NDArray[np.float64]:
        """Squared Euclidean norm of every row, shape (n_rows,)."""
        raise NotImplementedError

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Inner product of row i with ``W[:, columns[i]]``, for i in rows (default: all).

        Returns an array of shape (n_rows,), 0 where a row was not asked for.
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

    def virtual_gram(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        n_tasks: int,
    ) -> NDArray[np.float64]:
        """Return V'V, shape (T, T), v_t = sum of amount[i] phi(x_i) over the rows of task t."""
        V = np.zeros((self.n_features, n_tasks))
        self.accumulate(rows, amount, tasks, np.eye(n_tasks), V)
        return np.asarray(V.T @ V)

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any] | None:
        """Kernel matrix of the given rows, shape (m, m), of which the lower triangle is set.

        None where there is no quicker way than walking the rows.
        """
        return None

    def tree(self) -> Any:
        """Return the same rows over fewer look-ups, see :class:`TreeBlock`; None without them."""
        return None


class View(NamedTuple):
    """A part of the features that has a task kernel of its own: its rows, its rows of W."""

    rows: Any
    columns: slice


def rows_per_block(row_size: int) -> int:
    """Choose a block that stays in the second-level cache."""
    return int(np.clip(65_536 // max(row_size, 1), 16, 4096))
