"""Task kernels as sums over the nodes of trees, and as the solvers take them.

Values N of shape (T, J), non-negative and sparse, give K = sum_j l_j N_j N_j': column j is a node,
with a value on each task below it. A tree gives one column per branch; the identity adds one per
task, the matrix of ones a column that has all tasks.

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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.forest import Forest

Array = NDArray[np.float64]

#: Maximum number of columns of a group. For 300 organisms, groups of one column, which is one per
#: node, take 1.2 to 1.3 times the time, 1.3 times the memory and a model file of twice the size.
_WIDTH = 8
# The two limits below are plain choices.
#: Number of tasks up to which a single group is used, as it is as fast.
MAX_SINGLE_GROUP = 16
_MAX_WRITES = 0.75  # use groups only if steps write fewer of the T columns than this, on average


@dataclass(frozen=True, eq=False)
class TreeFactors:
    """K_m = sum of l_j N_j N_j' over the nodes j of kernel m; N is non-negative and sparse.

    A node has a value on each task below it. Solvers use this where there are many tasks, because
    a task is below few nodes; see :class:`GroupedKernel`.

    Attributes
    ----------
    values : ndarray of float64, shape (T, J)
        N.
    lengths : ndarray of float64, shape (J,)
        l_j, at least 0.
    owners : ndarray of int64, shape (J,)
        Kernel m of every node, from 0.
    """

    values: Array
    lengths: Array
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, *parts: tuple[Array, float | Array]) -> TreeFactors:
        """Return the nodes of one kernel, from blocks of values (T, j) and lengths."""
        l = np.concatenate([np.broadcast_to(length, N.shape[1]) for N, length in parts])
        N = np.concatenate([values for values, _ in parts], axis=1)[:, l > 0.0]
        return cls(N, l[l > 0.0], np.zeros(N.shape[1], dtype=np.int64))

    def matrices(self) -> Array:
        """Return K_1..K_M, shape (M, T, T)."""
        T, M = len(self.values), int(self.owners.max(initial=0)) + 1
        K = np.empty((M, T, T))
        for m in range(M):
            nodes = self.owners == m
            N = self.values[:, nodes]
            K[m] = (N * self.lengths[nodes]) @ N.T
        return K

    def take(
        self, tasks: NDArray[np.int64] | list[int], kernels: Iterable[int] | None = None
    ) -> TreeFactors:
        """Return the nodes of some tasks, in this order, and of some kernels, numbered anew."""
        N = self.values[tasks]
        owners = self.owners
        if kernels is not None:
            chosen = list(kernels)
            number = np.full(max([*chosen, *owners.tolist()], default=0) + 1, -1)
            number[chosen] = np.arange(len(chosen))
            owners = number[owners]
        has_tasks = N.any(axis=0) & (owners >= 0)
        return TreeFactors(N[:, has_tasks], self.lengths[has_tasks], owners[has_tasks])

    def scaled(self, factors: Array) -> TreeFactors:
        """Return the nodes of K[s, t] times factors[s] factors[t]."""
        return replace(self, values=self.values * factors[:, None])

    def combine(self, theta: Array) -> TreeFactors:
        """Return the nodes of the single kernel sum_m theta_m K_m."""
        return TreeFactors.of((self.values, self.lengths * theta[self.owners]))

    @staticmethod
    def join(parts: Iterable[tuple[TreeFactors, int]]) -> TreeFactors:
        """Return the nodes of the kernels of several, each with its number of kernels."""
        arrays, first = [], 0
        for nodes, size in parts:
            arrays.append((nodes.values, nodes.lengths, nodes.owners + first))
            first += size
        values, lengths, owners = zip(*arrays, strict=True)
        return TreeFactors(
            np.concatenate(values, axis=1), np.concatenate(lengths), np.concatenate(owners)
        )


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
    def of(
        cls, K: Array, nodes: TreeFactors | None = None, lengths: Array | None = None
    ) -> GroupedKernel:
        """Return kernels in several groups if steps are cheaper, or else in a single one.

        Parameters
        ----------
        K : ndarray of float64, shape (T, T) or (G, T, T)
            Task kernel, or that of every view.
        nodes : TreeFactors, optional
            The same kernel as a sum over nodes.
        lengths : ndarray of float64, shape (G, J), optional
            l_j of every view. Default: those of the nodes.
        """
        T = K.shape[-1]
        K = K.reshape(-1, T, T)
        # a single group: task t is column t, and K_g = K
        columns = np.arange(T, dtype=np.int64)[:, None]
        grouped = cls((K,), np.zeros_like(columns), columns, np.ones((T, 1)))
        if nodes is not None and T > MAX_SINGLE_GROUP:
            lengths = np.tile(nodes.lengths, (len(K), 1)) if lengths is None else lengths
            several = _pack(nodes.values, lengths)
            n_written = sum((several.widths[several.group] * (several.group >= 0)).sum(axis=1))
            grouped = several if n_written <= _MAX_WRITES * T**2 else grouped
        grouped.__dict__["K"] = K  # the cached property
        return grouped

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
        """Return B_g of every group needed, shape (G, w, k), with W A = sum_g V_g B_g.

        A has the shape (G, T, k).
        """
        weights: dict[int, Array] = {}
        for t in np.flatnonzero(A.any(axis=(0, 2))):  # w_t = sum_l r_l(t) V_g K_g[:, c_l(t)]
            for g, c, r in zip(self.group[t], self.column[t], self.scale[t], strict=True):
                if g >= 0:
                    K = self.kernels[g]
                    B = weights.setdefault(int(g), np.zeros((*K.shape[:2], A.shape[2])))
                    B += r * K[:, :, c, None] * A[:, t, None]
        return weights


def _pack(values: Array, lengths: Array) -> GroupedKernel:
    """Distribute the nodes of the trees over groups, from the roots down.

    A group starts with the children of a node of the level above (or with a root), and takes in
    their descendants while it has no more than _WIDTH columns. What is below its columns belongs to
    groups of the next level.
    """
    T, forest = len(values), Forest(values)
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []
    covered: list[tuple[NDArray[np.int64], Array]] = []
    for root in forest.roots:
        top = len(levels)
        queue = [(top, [root])]
        while queue:
            level, nodes = queue.pop()
            if level == len(levels):
                levels.append((np.full(T, -1), np.zeros(T, dtype=np.int64), np.ones(T)))
            columns = forest.expand(nodes, _WIDTH)
            group, column, scale = levels[level]
            for c, (node, tasks, _) in enumerate(columns):
                group[tasks], column[tasks] = len(covered), c
                scale[tasks] = forest.values[tasks, root]
                below = forest.children[node] if node >= 0 else []
                if len(below) <= _WIDTH:  # siblings share a group; a larger family has one each
                    queue += [(level + 1, below)] if below else []
                else:
                    queue += [(level + 1, [child]) for child in below]
            # values of the nodes on the path of every column, relative to the root of the group
            paths = np.zeros((len(columns), values.shape[1]))
            for row, (_, _, path) in zip(paths, columns, strict=True):
                for node in path:
                    row[forest.members[node]] = forest.heights[node]
            on_paths = np.flatnonzero(paths.any(axis=0))
            covered.append((on_paths, paths[:, on_paths]))
    kernels = tuple(_path_kernels(P, lengths[:, nodes]) for nodes, P in covered)
    group, column, scale = (np.stack(part, axis=1) for part in zip(*levels, strict=True))
    return GroupedKernel(kernels, group, column, scale, tuple(covered))


def _path_kernels(P: Array, lengths: Array) -> Array:
    """Return P diag(l) P' for l of every view, shape (G, w, w)."""
    return np.asarray((P * lengths[:, None]) @ P.T)
