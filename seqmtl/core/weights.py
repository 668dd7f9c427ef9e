"""Weights of all tasks, in groups of columns; see :mod:`seqmtl.core.grouped_kernel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.rows import Rows

_ALIGNMENT = 64  # bytes of a cache line
Array = NDArray[np.float64]

# Plain choices that bound the memory of copies.
_TASKS_AT_A_TIME = 16
_ROWS_AT_A_TIME = 1 << 14


class TaskWeights:
    """Weights of all tasks, as a table for every group of columns.

    Solvers fill them, models keep them, and files hold them. With a single group, whose columns are
    the tasks, the table is W.

    Parameters
    ----------
    tables : sequence of ndarray, shape (n_features, w)
        W_g, or V_g if `is_virtual`; may be read from a file when used.
    groups : GroupedKernel
        Task kernels in groups; may be replaced by other kernels of the same groups.
    columns : sequence of slice
        Features of every view.
    dtype : dtype
        Type of the weights.
    is_virtual : bool, default=True
        Whether the weights are V_g.

    Attributes
    ----------
    shape : tuple of int
        n_features, T.
    flat : ndarray, shape (n_weights,)
        All weights, if made by :meth:`zeros`.
    """

    flat: NDArray[Any]
    _starts: NDArray[np.int64]
    _strides: NDArray[np.int64]

    def __init__(
        self,
        tables: Sequence[NDArray[Any]],
        groups: GroupedKernel,
        columns: Sequence[slice],
        dtype: Any,
        *,
        is_virtual: bool = True,
    ) -> None:
        self.tables, self.groups, self.columns = tables, groups, tuple(columns)
        self.shape = columns[-1].stop, len(groups.group)
        self.dtype, self.is_virtual = np.dtype(dtype), is_virtual

    @classmethod
    def zeros(
        cls,
        rows: Rows,
        groups: GroupedKernel,
        dtype: Any,
        *,
        is_virtual: bool = False,
        is_padded: bool = False,
    ) -> Self:
        """Return weights of zero for the features of some rows, all in one array.

        Tables begin at cache lines. With `is_padded`, rows of w > 1 weights have a multiple of 4,
        for vector instructions on slots.
        """
        widths, itemsize = groups.widths, np.dtype(dtype).itemsize
        strides = np.where(widths > 1, -(-widths // 4) * 4, 1) if is_padded else widths
        n, line = sum(view.rows.n_features for view in rows.views), _ALIGNMENT // itemsize
        sizes = n * strides
        starts = np.append(0, np.cumsum(-(-sizes // line) * line)).astype(np.int64)
        n_bytes = int(starts[-1]) * itemsize
        raw = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
        skip = -raw.ctypes.data % _ALIGNMENT  # numpy may align to 16 bytes
        flat = raw[skip : skip + n_bytes].view(dtype)
        tables = [
            flat[start : start + size].reshape(n, stride)
            for start, size, stride in zip(starts, sizes, strides, strict=False)
        ]
        columns = [slice(*view.columns.indices(n)) for view in rows.views]
        weights = cls(tables, groups, columns, dtype, is_virtual=is_virtual)
        weights.flat, weights._starts, weights._strides = flat, starts, strides
        return weights

    @classmethod
    def of(cls, W: NDArray[Any], columns: Sequence[slice]) -> Self:
        """Return the weights W, shape (n_features, T), in a single group."""
        groups = GroupedKernel.of(np.eye(W.shape[1])[np.newaxis])
        return cls([W], groups, columns, W.dtype, is_virtual=False)

    @classmethod
    def sums(
        cls, rows: Rows, groups: GroupedKernel, dtype: Any, amount: Array, tasks: NDArray[Any]
    ) -> TaskWeights:
        """Return the sums of :meth:`add` as models store them: W, or V_g of several groups."""
        weights = cls.zeros(rows, groups, dtype, is_virtual=not groups.is_single)
        weights.add(rows, amount, tasks)
        return weights.astype(dtype)

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

    def add(self, rows: Rows, amount: Array, tasks: NDArray[Any]) -> None:
        """Add amount[i] times example i of task tasks[i] to V, and thus to W = V K."""
        used = np.flatnonzero(amount)
        for g, members, columns, scales in self.groups.iter_groups(tasks, used):
            for view, K in zip(rows.views, self.groups.kernels[g], strict=True):
                table, scaled = self.tables[g][view.columns], amount * scales
                if not self.is_virtual:
                    view.rows.accumulate(members, scaled, columns, K, table)
                    continue
                for c in np.unique(columns[members]):  # one column at a time stays in cache
                    part = members[columns[members] == c]
                    column = np.zeros((len(table), 1), table.dtype)
                    view.rows.accumulate(part, scaled, 0 * columns, np.ones((1, 1)), column)
                    table[:, c] += column[:, 0]

    def grams(self, rows: Rows, of_bias: Array) -> list[Array]:
        """Return V_g'V_g of every group, shape (G, w, w).

        `of_bias`, shape (T, T), is that of the constant feature, and part of every view.
        """
        grams = self.groups.project_gram(np.repeat(of_bias[np.newaxis], len(rows.views), axis=0))
        for table, gram, w in zip(self.tables, grams, self.groups.widths, strict=True):
            for view, of_view in zip(rows.views, gram, strict=True):
                of_view += view.rows.products(table[view.columns, :w])
        return grams

    def apply_kernel(self) -> None:
        """Replace V_g by W_g = V_g K_g (2015, eq. 26)."""
        groups, self.is_virtual = self.groups, False
        for table, kernels, w in zip(self.tables, groups.kernels, groups.widths, strict=True):
            for columns, K in zip(self.columns, kernels.astype(self.dtype), strict=True):
                part = table[columns, :w]
                for first in range(0, len(part), _ROWS_AT_A_TIME):
                    slab = slice(first, first + _ROWS_AT_A_TIME)
                    part[slab] = part[slab] @ K

    def scores(self, rows: Rows, tasks: NDArray[Any], intercepts: Array) -> Array:
        """Return the score of every row with the weights and the intercept of its task."""
        total = intercepts[tasks]
        if not self.is_virtual:
            for g, members, columns, scales in self.groups.iter_groups(
                tasks, np.arange(total.size)
            ):
                for view in rows.views:
                    part = view.rows.scores(self.tables[g][view.columns], columns, members)
                    total[members] += scales[members] * part[members]
            return total
        used, one_hot = np.unique(tasks), np.eye(self.shape[1])
        for first in range(0, used.size, _TASKS_AT_A_TIME):
            part = used[first : first + _TASKS_AT_A_TIME]
            chosen = np.flatnonzero(np.isin(tasks, part))
            columns = np.zeros(rows.n_rows, dtype=np.int64)
            columns[chosen] = np.searchsorted(part, tasks[chosen])
            total += rows.scores(self.times(one_hot[:, part]), columns, chosen)
        return total

    def __iadd__(self, other: TaskWeights) -> Self:
        """Add the weights of the same tasks and features."""
        for table, more in zip(self.tables, other.tables, strict=True):
            table += more
        return self

    def astype(self, dtype: Any) -> TaskWeights:
        """Return the weights in another type."""
        tables = [table.astype(dtype, copy=False) for table in self.tables]
        return TaskWeights(tables, self.groups, self.columns, dtype, is_virtual=self.is_virtual)

    def times(self, A: NDArray[np.float64]) -> NDArray[Any]:
        """Return W A, shape (n_features, k), from the groups that are needed.

        Parameters
        ----------
        A : ndarray, shape (T, k) or (G, T, k)
            Weights of the tasks, the same for every view or one matrix for each.
        """
        T = self.shape[1]
        if self.groups.is_single and A.shape[-1] == T and (A == np.eye(T)).all():
            return self.tables[0]
        A = np.broadcast_to(A, (len(self.columns), *A.shape[-2:]))
        out = np.zeros((self.shape[0], A.shape[2]), dtype=self.dtype)
        for g, B in self.groups.group_weights(A).items():
            table = self.tables[g]
            if self.is_virtual:
                B = self.groups.kernels[g] @ B
            for part, B_g in zip(self.columns, B.astype(self.dtype), strict=True):
                _add_product(out[part], table[part], B_g)
        return out

    def with_task(self, at: int, weights: NDArray[Any], *, replaces: bool) -> TaskWeights:
        """Return a copy with one more task, in several groups as one that forms a group alone.

        Parameters
        ----------
        at : int
            Its number.
        weights : ndarray, shape (n_features,)
            Its weights.
        replaces : bool
            Whether it replaces the task of this number, or else is inserted before it.
        """

        def inserted(table: NDArray[Any], new: Any, axis: int) -> NDArray[Any]:
            others = np.delete(table, at, axis) if replaces else table
            return np.insert(others, at, new, axis)

        if self.groups.is_single:
            return TaskWeights.of(inserted(self.tables[0], weights, 1), self.columns)
        groups = self.groups
        n_levels = groups.group.shape[1]

        def with_row(table: NDArray[Any], first: int, fill: int) -> NDArray[Any]:
            return inserted(table, [first] + [fill] * (n_levels - 1), 0)

        group = with_row(groups.group, len(groups.kernels), -1)
        column, scale = with_row(groups.column, 0, 0), with_row(groups.scale, 1, 1)
        kernels = (*groups.kernels, np.ones((len(self.columns), 1, 1)))
        tables = [*self.tables, weights.astype(self.dtype)[:, np.newaxis]]
        return TaskWeights(
            tables, GroupedKernel(kernels, group, column, scale), self.columns, self.dtype
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.times(np.eye(self.shape[1])), dtype, copy=copy)


def _add_product(out: NDArray[Any], table: NDArray[Any], B: NDArray[Any]) -> None:
    """Add table B to out, slab by slab; if B only selects columns, they are copied."""
    picked = B.argmax(axis=0)
    is_pick = np.array_equal(B, np.eye(len(B))[:, picked])
    for first in range(0, len(out), _ROWS_AT_A_TIME):
        slab = table[first : first + _ROWS_AT_A_TIME]
        out[first : first + _ROWS_AT_A_TIME] += slab[:, picked] if is_pick else slab @ B


def bias_of(groups: GroupedKernel, amount: Array, tasks: NDArray[Any]) -> Array:
    """Return the sums of :meth:`TaskWeights.add` for a constant feature of 1, shape (T,)."""
    sums = np.bincount(tasks, amount, minlength=len(groups.group))
    return np.asarray(groups.K.sum(axis=0) @ sums)
