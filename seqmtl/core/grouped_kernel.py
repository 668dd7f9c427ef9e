"""Task kernels as the solvers take them: in groups of columns.

Weights are stored in groups of a few columns. A group covers a small connected part of a tree; its
columns are the lowest nodes of this part, and its kernel K_g holds what their paths share within
it. With group g_l(t), column c_l(t) and scale r_l(t) of task t at level l,

    K[s, t] = sum_l [g_l(s) = g_l(t)] r_l(s) r_l(t) K_g[c_l(s), c_l(t)],

    w_t = sum_l r_l(t) W_g[:, c_l(t)],    W_g = V_g K_g,    v_gc = sum_{t: c_l(t) = c} r_l(t) v_t.

A step on an example of task t reads one column and writes one group per level, so its cost grows
with the depth of the tree and, but for the T intercepts, not with T. Any K is a single group of T
columns, at a single level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.kernel_stack import KernelStack

Array = NDArray[np.float64]

#: Maximum number of columns of a group. For 300 organisms, groups of one column, which is one per
#: node, take 1.2 to 1.3 times the time, 1.3 times the memory and a model file of twice the size.
_WIDTH = 8
#: Groups are used only if steps write fewer of the T columns than this, on average; a plain choice.
_MAX_WRITES = 0.75
_PROPORTIONAL = 1e-12  # relative difference of proportional columns, from rounding
#: A node, its tasks, and the nodes on its path from the root. The node is -1 if the column stands
#: for the tasks of the last node of the path that none of its children has.
_Column = tuple[int, NDArray[np.int64], list[int]]


@dataclass(frozen=True, eq=False)
class GroupedKernel:
    """The task kernel of every view, split into groups of columns.

    Attributes
    ----------
    kernels : tuple of ndarray of float64, shape (G, w, w)
        K_g of every group, for each of the G views.
    group : ndarray of int64, shape (T, L)
        Group of every task at every level, -1 for none. A group has a single level.
    column : ndarray of int64, shape (T, L)
        Column of every task in its group.
    scale : ndarray of float64, shape (T, L)
        Factor on this column.
    paths : tuple of (ndarray of int64, shape (j,), ndarray of float64, shape (w, j))
        Of every group: the nodes that it covers, and their values on its columns, P with
        K_g = P diag(l) P'. A node is in one group. Empty if K is not given as a sum over nodes.
    """

    kernels: tuple[Array, ...]
    group: NDArray[np.int64]
    column: NDArray[np.int64]
    scale: Array
    paths: tuple[tuple[NDArray[np.int64], Array], ...] = ()

    @classmethod
    def of(cls, kernels: Array | KernelStack) -> GroupedKernel:
        """Return kernels in several groups if steps are cheaper, or else in a single one.

        Parameters
        ----------
        kernels : ndarray of float64, shape (T, T) or (G, T, T), or KernelStack
            Task kernel, or that of every view.
        """
        if isinstance(kernels, KernelStack):
            if kernels.nodes is not None:
                several = _pack(kernels.nodes, kernels.values)
                written = several.widths[several.group] * (several.group >= 0)
                if written.sum() <= _MAX_WRITES * kernels.nodes.shape[0] ** 2:
                    return several
            kernels = kernels.matrices()
        T = kernels.shape[-1]
        # a single group: task t is column t, and K_g = K
        columns = np.arange(T, dtype=np.int64)[:, None]
        stack = kernels if kernels.ndim == 3 else kernels[np.newaxis]
        return cls((stack,), np.zeros_like(columns), columns, np.ones((T, 1)))

    def weighted(self, lengths: Array) -> GroupedKernel:
        """Return the same groups of the nodes with other lengths, shape (G, J)."""
        kernels = tuple(_path_kernels(P, lengths[:, nodes]) for nodes, P in self.paths)
        return replace(self, kernels=kernels)

    def project_gram(self, grams: Array) -> list[Array]:
        """Return V_g'V_g of every group, (G, w, w), from V'V of all tasks, (G, T, T)."""
        if self.is_single:
            return [grams]
        projected = [np.zeros_like(K) for K in self.kernels]
        for group, column, scale in zip(self.group.T, self.column.T, self.scale.T, strict=True):
            for g in np.unique(group[group >= 0]).tolist():
                t = np.flatnonzero(group == g)
                # V_g = V R: tasks of the same column are added, by their scales
                R = np.zeros((t.size, projected[g].shape[-1]))
                R[np.arange(t.size), column[t]] = scale[t]
                projected[g] += R.T @ grams[:, t[:, None], t] @ R
        return projected

    @cached_property
    def K(self) -> Array:  # noqa: N802
        """The task kernel of every view, shape (G, T, T)."""
        if self.is_single:
            return self.kernels[0]
        T = len(self.group)
        K = np.zeros((len(self.kernels[0]), T, T))
        for group, column, scale in zip(self.group.T, self.column.T, self.scale.T, strict=True):
            for g in np.unique(group[group >= 0]):
                t = np.flatnonzero(group == g)
                shared = self.kernels[g][:, column[t]][:, :, column[t]]
                K[:, t[:, None], t] += shared * np.outer(scale[t], scale[t])
        return K

    @property
    def is_single(self) -> bool:
        """Whether there is a single group with one column per task, in their order."""
        return len(self.kernels) == 1 and self.widths[0] == len(self.group)

    @property
    def widths(self) -> NDArray[np.int64]:
        """Number of columns of every group."""
        return np.array([K.shape[-1] for K in self.kernels], dtype=np.int64)

    def flat_kernels(self) -> tuple[Array, NDArray[np.int64]]:
        """Return all K_g in one flat array, and where each begins."""
        sizes = np.cumsum([0, *(K.size for K in self.kernels)])
        flat = np.concatenate([np.ascontiguousarray(K).reshape(-1) for K in self.kernels])
        return flat, sizes.astype(np.int64)

    def iter_groups(
        self, tasks: NDArray[Any], rows: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int16], Array]]:
        """Yield every group with its examples among `rows`, in their order.

        Also yields, for all examples, their columns and scales at the level of the group; these
        are meaningful for the examples of the group.
        """
        if self.is_single:
            yield 0, rows, tasks.astype(np.int16, copy=False), np.ones(tasks.size)
            return
        if not rows.size:
            return
        for group, column, scale in zip(self.group.T, self.column.T, self.scale.T, strict=True):
            # rows sorted by group, so that each group is one slice of them
            group_of_row = group[tasks[rows]]
            order = np.argsort(group_of_row, kind="stable")
            groups, first = np.unique(group_of_row[order], return_index=True)
            columns, scales = column.astype(np.int16)[tasks], scale[tasks]
            for g, part in zip(groups.tolist(), np.split(order, first[1:]), strict=True):
                if g >= 0:
                    yield g, rows[part], columns, scales

    def group_weights(self, A: Array) -> dict[int, Array]:
        """Return B_g of every group needed, shape (G, w, k), with W A = sum_g W_g B_g.

        A has the shape (G, T, k).
        """
        weights: dict[int, Array] = {}
        for t in np.flatnonzero(A.any(axis=(0, 2))):  # w_t = sum_l r_l(t) W_g[:, c_l(t)]
            for g, c, r in zip(self.group[t], self.column[t], self.scale[t], strict=True):
                if g >= 0:
                    shape = len(A), self.kernels[g].shape[-1], A.shape[2]
                    B = weights.setdefault(int(g), np.zeros(shape))
                    B[:, c] += r * A[:, t]
        return weights


def _pack(N: Any, lengths: Array) -> GroupedKernel:
    """Distribute the nodes of trees, a csc_array (T, J), over groups, from the roots down.

    A node is below another if its tasks are among those of the other, and its values on them are
    proportional to those of the other. Columns with the same tasks and proportional values are one
    node.

    A group starts with the children of a node of the level above (or with a root), and takes in
    their descendants while it has no more than _WIDTH columns. What is below its columns belongs to
    groups of the next level.
    """
    members = _merge_proportional(N)
    values = N[:, [columns[0] for columns in members]]
    tasks_of = np.split(values.indices.astype(np.int64), values.indptr[1:-1])
    parents, largest = _parents(values), N.max(axis=0).toarray().ravel()
    first_of = np.ravel(values.argmax(axis=0))  # of the tasks with the largest value
    children = [np.flatnonzero(parents == node).tolist() for node in range(len(members))]
    T, levels = N.shape[0], list[tuple[NDArray[np.int64], NDArray[np.int64], Array]]()
    covered: list[tuple[NDArray[np.int64], Array]] = []
    for root in np.flatnonzero(parents < 0).tolist():
        top, of_root = len(levels), values[:, [root]].toarray()[:, 0]
        queue = [(top, [root])]
        while queue:
            level, nodes = queue.pop()
            if level == len(levels):
                levels.append((np.full(T, -1), np.zeros(T, dtype=np.int64), np.ones(T)))
            columns = _expand(nodes, tasks_of, children)
            group, column, scale = levels[level]
            for c, (node, tasks, _) in enumerate(columns):
                group[tasks], column[tasks] = len(covered), c
                scale[tasks] = of_root[tasks]
                below = children[node] if node >= 0 else []
                if len(below) <= _WIDTH:  # siblings share a group; a larger family has one each
                    queue += [(level + 1, below)] if below else []
                else:
                    queue += [(level + 1, [child]) for child in below]
            # values of the nodes on the path of every column, relative to the root of the group
            paths = np.zeros((len(columns), N.shape[1]))
            for row, (_, _, path) in zip(paths, columns, strict=True):
                for node in path:
                    row[members[node]] = largest[members[node]] / of_root[first_of[node]]
            on_paths = np.flatnonzero(paths.any(axis=0))
            covered.append((on_paths, paths[:, on_paths]))
    kernels = tuple(_path_kernels(P, lengths[:, nodes]) for nodes, P in covered)
    group, column, scale = (np.stack(part, axis=1) for part in zip(*levels, strict=True))
    return GroupedKernel(kernels, group, column, scale, tuple(covered))


def _merge_proportional(N: Any) -> list[list[int]]:
    """Return the columns of every node, nodes with more tasks first."""
    nodes: dict[tuple[bytes, bytes], list[int]] = {}
    for j, (first, last) in enumerate(pairwise(N.indptr.tolist())):
        tasks, column = N.indices[first:last], N.data[first:last]
        direction = np.round(column / column.max(), 11)
        nodes.setdefault((tasks.tobytes(), direction.tobytes()), []).append(j)
    n_tasks = np.diff(N.indptr)
    return sorted(nodes.values(), key=lambda columns: -n_tasks[columns[0]])


def _parents(values: Any) -> NDArray[np.int64]:
    """Return the smallest earlier node that every node is below of, or -1.

    Children of a node have no task in common.
    """
    is_on, parents = (values > 0.0).astype(np.float64), np.full(values.shape[1], -1)
    # N_i and N_j are proportional on the tasks of j if Cauchy-Schwarz holds with equality
    n_shared, products, squares = (
        (A.T @ B).tocsr() for A, B in ((is_on, is_on), (values, values), (is_on, values**2))
    )  # squares: of column i on the tasks of j
    n_tasks, norms = n_shared.diagonal(), products.diagonal()
    for matrix in (n_shared, products, squares):
        matrix.sort_indices()  # then the entries of all are at the same pairs
    for j, (first, last) in enumerate(pairwise(n_shared.indptr.tolist())):
        pairs = slice(first, first + np.searchsorted(n_shared.indices[first:last], j))
        earlier = n_shared.indices[pairs]
        is_above = (n_shared.data[pairs] == n_tasks[j]) & (
            products.data[pairs] ** 2 >= (1.0 - _PROPORTIONAL) * norms[j] * squares.data[pairs]
        )
        for i in earlier[is_above][::-1].tolist():
            if not (parents[earlier] == i).any():
                parents[j] = i
                break
    return parents


def _expand(
    nodes: list[int], tasks_of: list[NDArray[np.int64]], children: list[list[int]]
) -> list[_Column]:
    """Replace the largest nodes by their children, while there are at most _WIDTH.

    Tasks of a node that none of its children has are one more column.
    """

    def parts(node: int, tasks: NDArray[np.int64], path: list[int]) -> list[_Column]:
        if node < 0 or not children[node]:
            return []
        below = [(k, tasks_of[k], [*path, k]) for k in children[node]]
        remaining = np.setdiff1d(tasks, np.concatenate([tasks_of[k] for k in children[node]]))
        return [*below, (-1, remaining, path)] if remaining.size else below

    columns = [(node, tasks_of[node], [node]) for node in nodes]
    while True:
        grown = None
        # largest first: every step on one of its tasks writes the whole group
        for c in sorted(range(len(columns)), key=lambda c: -columns[c][1].size):
            below = parts(*columns[c])
            if below and len(columns) - 1 + len(below) <= _WIDTH:
                grown = columns[:c] + below + columns[c + 1 :]
                break
        if grown is None:
            return columns
        columns = grown


def _path_kernels(P: Array, lengths: Array) -> Array:
    """Return P diag(l) P' for l of every view, shape (G, w, w)."""
    return np.asarray((P * lengths[:, None]) @ P.T)
