"""Task kernels as sums over the nodes of trees, and the weights of many tasks in groups of nodes.

A factor N of shape (T, J), non-negative and sparse, gives K = sum_j l_j N_j N_j': column j is a
node, with a value on each task below it. A tree gives one column per branch; the identity adds one
per task, the matrix of ones a column that has all tasks.

Weights are stored in groups of a few columns. A group covers a small connected part of a tree; its
columns are the lowest nodes of this part, and its kernel K_g holds what their paths share within
it. With group g_l(t), column c_l(t) and scale r_l(t) of task t at level l,

    K[s, t] = sum_l [g_l(s) = g_l(t)] r_l(s) r_l(t) K_g[c_l(s), c_l(t)],

    w_t = sum_l r_l(t) W_g[:, c_l(t)],    W_g = V_g K_g,    v_gc = sum_{t: c_l(t) = c} r_l(t) v_t.

A step on an example of task t reads one column and writes one group per level, so its cost grows
with the depth of the tree and not with T. Any K is a single group of T columns, at a single level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.forest import Forest

Array = NDArray[np.float64]

_WIDTH = 8  # columns of a group, at most
#: Number of tasks up to which a single group is as fast.
FEWEST = 16
_WORTH = 0.75  # share of the columns of a single group that several groups may write


@dataclass(frozen=True, eq=False)
class Groups:
    """A task kernel of every view, split into groups of columns.

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
    """

    kernels: tuple[Array, ...]
    group: NDArray[np.int64]
    column: NDArray[np.int64]
    scale: Array

    @classmethod
    def single(cls, K: Array) -> Groups:
        """Return the kernels K of shape (G, T, T) as a single group."""
        T = K.shape[-1]
        columns = np.arange(T, dtype=np.int64)[:, None]
        return cls((K,), np.zeros_like(columns), columns, np.ones((T, 1)))

    @classmethod
    def of(cls, K: Array, factor: Array | None, lengths: Array | None = None) -> Groups:
        """Return kernels as groups if this is worth it, or else as a single one.

        Parameters
        ----------
        K : ndarray of float64, shape (G, T, T)
            Task kernel of every view.
        factor : ndarray of float64, shape (T, J), or None
            N, where known.
        lengths : ndarray of float64, shape (G, J), optional
            l_j of every view. Default: 1.
        """
        if factor is None or len(factor) <= FEWEST:
            return cls.single(K)
        lengths = np.ones((len(K), factor.shape[1])) if lengths is None else lengths
        found = _pack(factor, lengths)
        n_written = sum((found.widths[found.group] * (found.group >= 0)).sum(axis=1))
        return found if n_written <= _WORTH * len(factor) ** 2 else cls.single(K)

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

    def members(
        self, tasks: NDArray[Any], rows: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int16], Array]]:
        """Yield every group with its examples among `rows`, in their order.

        Also yields, for all examples, their columns and scales at the level of the group; these
        are meaningful for the examples of the group.
        """
        if self.is_single:
            yield 0, rows, tasks.astype(np.int16, copy=False), np.ones(tasks.size)
            return
        for group, column, scale in zip(self.group.T, self.column.T, self.scale.T, strict=True):
            own = group[tasks[rows]]
            order = np.argsort(own, kind="stable")
            found, first = np.unique(own[order], return_index=True)
            columns, scales = column.astype(np.int16)[tasks], scale[tasks]
            for g, part in zip(found.tolist(), np.split(order, first[1:]), strict=True):
                if g >= 0:
                    yield g, rows[part], columns, scales

    def mix(self, A: Array) -> dict[int, Array]:
        """Return B_g of every group needed, shape (G, w, k), with W A = sum_g V_g B_g.

        A has the shape (G, T, k).
        """
        found: dict[int, Array] = {}
        for t in np.flatnonzero(A.any(axis=(0, 2))):
            for g, c, r in zip(self.group[t], self.column[t], self.scale[t], strict=True):
                if g >= 0:
                    K = self.kernels[g]
                    B = found.setdefault(int(g), np.zeros((*K.shape[:2], A.shape[2])))
                    B += r * K[:, :, c, None] * A[:, t, None]
        return found


def _pack(factor: Array, lengths: Array) -> Groups:
    """Distribute the nodes of the trees over groups."""
    T, forest = len(factor), Forest(factor)
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []
    kernels: list[Array] = []
    for root in forest.roots:
        top = len(levels)
        waiting = [(top, [root])]
        while waiting:
            level, nodes = waiting.pop()
            if level == len(levels):
                levels.append((np.full(T, -1), np.zeros(T, dtype=np.int64), np.ones(T)))
            columns = forest.expand(nodes, _WIDTH)
            group, column, scale = levels[level]
            for c, (node, tasks, _) in enumerate(columns):
                group[tasks], column[tasks] = len(kernels), c
                scale[tasks] = forest.values[tasks, root]
                below = forest.children[node] if node >= 0 else []
                if len(below) <= _WIDTH:
                    waiting += [(level + 1, below)] if below else []
                else:
                    waiting += [(level + 1, [child]) for child in below]
            paths = np.zeros((len(columns), factor.shape[1]))
            for row, (_, _, path) in zip(paths, columns, strict=True):
                for node in path:
                    row[forest.members[node]] = forest.heights[node]
            kernels.append(np.einsum("cj,gj,dj->gcd", paths, lengths, paths))
    return Groups(tuple(kernels), *(np.stack(part, axis=1) for part in zip(*levels, strict=True)))
