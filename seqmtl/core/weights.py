"""Weights of all tasks, in groups of columns; see :mod:`seqmtl.core.grouped_kernel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.rows import Rows, View

_ALIGNMENT = 64  # bytes of a cache line
Array = NDArray[np.float64]

# Plain choices that bound the memory of copies.
_TASKS_AT_A_TIME = 16
_ROWS_AT_A_TIME = 1 << 14


class GroupedWeights:
    """One table of weights per group, all in one array.

    Parameters
    ----------
    groups : GroupedKernel
        Task kernels in groups; may be replaced by other kernels of the same groups.
    views : sequence of View
        Parts of the features.
    dtype : dtype
        Type of the weights.
    bias_scale : float, default=0
        Value of the constant feature.
    is_padded : bool, default=False
        Pad rows of more than one weight to a multiple of 4, for vector instructions on slots.

    Attributes
    ----------
    flat : ndarray, shape (n_weights,)
        All weights; tables begin at cache lines.
    tables : list of ndarray, shape (n_features, w or more)
        Views of the weights of every group.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature for every task.
    is_virtual : bool
        Whether the weights are V_g and not W_g, see :meth:`fill_virtual`.
    """

    def __init__(
        self,
        groups: GroupedKernel,
        views: Sequence[View],
        dtype: Any,
        bias_scale: float = 0.0,
        *,
        is_padded: bool = False,
    ) -> None:
        self.groups, self._views = groups, tuple(views)
        self._bias_scale, self.bias = bias_scale, np.zeros(len(groups.group))
        self.is_virtual = False
        widths, itemsize = groups.widths, np.dtype(dtype).itemsize
        # rows of w weights, or w rounded up to a multiple of 4; tables begin at cache lines
        self._strides = np.where(widths > 1, -(-widths // 4) * 4, 1) if is_padded else widths
        n_rows, line = sum(view.rows.n_features for view in views), _ALIGNMENT // itemsize
        sizes = n_rows * self._strides
        self._starts = np.append(0, np.cumsum(-(-sizes // line) * line)).astype(np.int64)
        n_bytes = int(self._starts[-1]) * itemsize
        raw = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
        skip = -raw.ctypes.data % _ALIGNMENT  # numpy may align to 16 bytes
        self.flat: NDArray[Any] = raw[skip : skip + n_bytes].view(dtype)
        self.tables = [
            self.flat[start : start + size].reshape(n_rows, stride)
            for start, size, stride in zip(self._starts, sizes, self._strides, strict=False)
        ]

    def free(self) -> None:
        """Free the memory of the weights."""
        self.tables, self.flat = [], self.flat[:0].copy()

    def as_numba_args(self) -> tuple[NDArray[Any], ...]:
        """Return the groups as the compiled loops take them."""
        groups = self.groups
        kernels, begins = groups.flat_kernels()
        return (
            groups.group,
            groups.column,
            groups.scale,
            kernels,
            begins,
            groups.widths,
            self._starts,
            self._strides,
        )

    def scores(self, tasks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the score of every example i with the weights of task tasks[i]."""
        scores: NDArray[np.float64] = self._bias_scale * self.bias[tasks]
        for g, rows, columns, scales in self.groups.iter_groups(tasks, np.arange(tasks.size)):
            for view in self._views:
                part = view.rows.scores(self.tables[g][view.columns], columns, rows)
                scores[rows] += scales[rows] * part[rows]
        return scores

    def fill(self, amount: NDArray[np.float64], tasks: NDArray[Any]) -> None:
        """Set the weights to W = V K, V the sum of amount[i] times example i of task tasks[i]."""
        self._clear()
        self.add(np.arange(tasks.size), amount, tasks)

    def fill_virtual(self, amount: NDArray[np.float64], tasks: NDArray[Any]) -> list[Array]:
        """Set the weights to V_g, until :meth:`apply_kernel`; return V_g'V_g of every group.

        Each has the shape (G, w, w), and counts the constant feature.
        """
        self._clear()
        self.is_virtual = True
        self.add(np.flatnonzero(amount), amount, tasks, is_virtual=True)
        self.bias = np.bincount(tasks, amount, minlength=self.bias.size).astype(np.float64)
        of_bias = np.outer(self.bias, self.bias)[np.newaxis] * self._bias_scale**2
        grams = self.groups.project_gram(np.repeat(of_bias, len(self._views), axis=0))
        for table, gram, w in zip(self.tables, grams, self.groups.widths, strict=True):
            for view, of_view in zip(self._views, gram, strict=True):
                of_view += view.rows.products(table[view.columns, :w])
        return grams

    def apply_kernel(self) -> None:
        """Replace V_g by W_g = V_g K_g (2015, eq. 26)."""
        groups, self.is_virtual = self.groups, False
        self.bias = self._bias_scale * (groups.K.sum(axis=0) @ self.bias)
        for table, kernels, w in zip(self.tables, groups.kernels, groups.widths, strict=True):
            for view, K in zip(self._views, kernels.astype(table.dtype), strict=True):
                part = table[view.columns, :w]
                for first in range(0, len(part), _ROWS_AT_A_TIME):
                    rows = slice(first, first + _ROWS_AT_A_TIME)
                    part[rows] = part[rows] @ K

    def _clear(self) -> None:
        self.flat[:] = 0
        self.bias[:] = 0

    def add(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        *,
        is_virtual: bool = False,
    ) -> None:
        """Add amount[i] times example i of task tasks[i], for i in rows, to W_g, or to V_g."""
        rows = rows[amount[rows] != 0.0]
        for g, members, columns, scales in self.groups.iter_groups(tasks, rows):
            for view, K in zip(self._views, self.groups.kernels[g], strict=True):
                table, scaled = self.tables[g][view.columns], amount * scales
                if not is_virtual:
                    view.rows.accumulate(members, scaled, columns, K, table)
                    continue
                for c in np.unique(columns[members]):  # one column at a time stays in cache
                    part = members[columns[members] == c]
                    column = np.zeros((len(table), 1), table.dtype)
                    view.rows.accumulate(part, scaled, 0 * columns, np.ones((1, 1)), column)
                    table[:, c] += column[:, 0]
        sums = np.bincount(tasks[rows], amount[rows], minlength=self.bias.size)
        self.bias += self._bias_scale * (self.groups.K.sum(axis=0) @ sums)

    def solution(
        self, rows: NDArray[np.int64], amount: NDArray[np.float64], tasks: NDArray[Any]
    ) -> NDArray[Any] | TaskWeights:
        """Return the weights for these examples, which this must have been made for."""
        self.add(rows, amount, tasks, is_virtual=not self.groups.is_single)
        if self.groups.is_single:
            return self.tables[0]
        n = len(self.tables[0])
        columns = [slice(*view.columns.indices(n)) for view in self._views]
        return TaskWeights(self.tables, self.groups, columns, self.flat.dtype)


class TaskWeights:
    """Weights of many tasks, as the virtual weights V_g of groups.

    Parameters
    ----------
    tables : sequence of ndarray, shape (n_features, w)
        V_g; may be read from a file when used.
    groups : GroupedKernel
        Task kernels in groups.
    columns : sequence of slice
        Features of every view.
    dtype : dtype
        Type of the weights.

    Attributes
    ----------
    shape : tuple of int
        n_features, T.
    """

    def __init__(
        self,
        tables: Sequence[NDArray[Any]],
        groups: GroupedKernel,
        columns: Sequence[slice],
        dtype: Any,
    ) -> None:
        self.tables, self.groups, self.columns = tables, groups, tuple(columns)
        self.shape = columns[-1].stop, len(groups.group)
        self.dtype = np.dtype(dtype)

    def __iadd__(self, other: TaskWeights) -> Self:
        """Add the weights of the same tasks and features."""
        for table, more in zip(self.tables, other.tables, strict=True):
            table += more
        return self

    def astype(self, dtype: Any) -> TaskWeights:
        """Return the weights in another type."""
        tables = [table.astype(dtype, copy=False) for table in self.tables]
        return TaskWeights(tables, self.groups, self.columns, dtype)

    def times(self, A: NDArray[np.float64]) -> NDArray[Any]:
        """Return W A, shape (n_features, k), from the groups that are needed.

        Parameters
        ----------
        A : ndarray, shape (T, k) or (G, T, k)
            Weights of the tasks, the same for every view or one matrix for each.
        """
        A = np.broadcast_to(A, (len(self.columns), *A.shape[-2:]))
        out = np.zeros((self.shape[0], A.shape[2]), dtype=self.dtype)
        for g, B in self.groups.group_weights(A).items():
            table = self.tables[g]
            for part, B_g in zip(self.columns, B, strict=True):
                out[part] += table[part] @ B_g.astype(self.dtype)
        return out

    def with_task(self, at: int, weights: NDArray[Any], *, replaces: bool) -> TaskWeights:
        """Return a copy with a task that forms a group alone.

        Parameters
        ----------
        at : int
            Its number.
        weights : ndarray, shape (n_features,)
            Its weights.
        replaces : bool
            Whether it replaces the task of this number, or else is inserted before it.
        """
        groups = self.groups

        def inserted(table: NDArray[Any], first: int, fill: int) -> NDArray[Any]:
            others = np.delete(table, at, axis=0) if replaces else table
            row = np.full(others.shape[1], fill, dtype=others.dtype)
            row[0] = first
            return np.insert(others, at, row, axis=0)

        group = inserted(groups.group, len(groups.kernels), -1)
        column, scale = inserted(groups.column, 0, 0), inserted(groups.scale, 1, 1)
        kernels = (*groups.kernels, np.ones((len(self.columns), 1, 1)))
        tables = [*self.tables, weights.astype(self.dtype)[:, np.newaxis]]
        return TaskWeights(
            tables, GroupedKernel(kernels, group, column, scale), self.columns, self.dtype
        )

    def scores(self, rows: Rows, tasks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the score of every row with the weights of its task, a few tasks at a time."""
        total, one_hot = np.zeros(rows.n_rows), np.eye(self.shape[1])
        used = np.unique(tasks)
        for first in range(0, used.size, _TASKS_AT_A_TIME):
            part = used[first : first + _TASKS_AT_A_TIME]
            chosen = np.flatnonzero(np.isin(tasks, part))
            columns = np.zeros(rows.n_rows, dtype=np.int64)
            columns[chosen] = np.searchsorted(part, tasks[chosen])
            total += rows.scores(self.times(one_hot[:, part]), columns, chosen)
        return total

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        W = self.times(np.eye(self.shape[1]))
        return W if dtype is None else W.astype(dtype, copy=False)


def scores_of(
    rows: Rows, ids: NDArray[Any], W: Any, intercepts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the score of every row with the weights and the intercept of its task."""
    scores = W.scores(rows, ids) if isinstance(W, TaskWeights) else rows.scores(W, ids)
    return np.asarray(scores + intercepts[ids])
