"""The nodes of a task kernel, ordered as trees.

A step on a task then updates only the groups of columns that its path is in; see
:mod:`seqmtl.core.grouped_kernel`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A node, its tasks, and the nodes on its path from the root. The node is -1 if the column stands
#: for the tasks of the last node of the path that none of its children has.
Column = tuple[int, NDArray[np.int64], list[int]]

_PROPORTIONAL = 1e-12  # relative difference of proportional columns, from rounding


class Forest:
    """Trees of the columns of N, shape (T, J).

    A node is below another if its tasks are among those of the other, and its values on them are
    proportional to those of the other. Columns with the same tasks and proportional values are one
    node. Nodes that are not below any other are the roots.

    Attributes
    ----------
    values : ndarray of float64, shape (T, n_nodes)
        A column of each node.
    members : list of list of int
        All columns of each node.
    heights : list of ndarray of float64
        Their values, relative to those of the root above.
    roots : list of int
        Nodes without parent.
    children : list of list of int
        Nodes directly below each node, which have no task in common.
    """

    def __init__(self, N: Array) -> None:
        self.members = _merge_proportional(N)
        self.values = N[:, [columns[0] for columns in self.members]]
        self._is_on = self.values > 0.0
        self.roots: list[int] = []
        self.children: list[list[int]] = [[] for _ in self.members]
        self.heights: list[Array] = []
        root_of: list[int] = []
        # N_i and N_j are proportional on the tasks of j if Cauchy-Schwarz holds with equality
        n_shared = self._is_on.astype(float).T @ self._is_on
        products = self.values.T @ self.values
        squares = self._is_on.astype(float).T @ self.values**2  # of column i on the tasks of j
        for j, columns in enumerate(self.members):
            parent = self._parent(j, n_shared, products, squares)
            root = j if parent < 0 else root_of[parent]
            root_of.append(root)
            (self.roots if parent < 0 else self.children[parent]).append(j)
            t = int(np.argmax(self.values[:, j]))
            self.heights.append(N[t, columns] / self.values[t, root])

    def _parent(self, j: int, n_shared: Array, products: Array, squares: Array) -> int:
        """Return the smallest earlier node that j is below of, or -1."""
        above = np.flatnonzero(
            (n_shared[j, :j] == n_shared[j, j])
            & (products[j, :j] ** 2 >= (1.0 - _PROPORTIONAL) * products[j, j] * squares[j, :j])
        )
        for i in above[::-1].tolist():
            if not n_shared[j, self.children[i]].any():
                return i
        return -1

    def expand(self, nodes: list[int], width: int) -> list[Column]:
        """Replace the largest nodes by their children, while there are at most `width`.

        Tasks of a node that none of its children has are one more column.
        """
        columns = [(node, np.flatnonzero(self._is_on[:, node]), [node]) for node in nodes]
        while True:
            grown = None
            # largest first: every step on one of its tasks writes the whole group
            for c in sorted(range(len(columns)), key=lambda c: -columns[c][1].size):
                node, tasks, path = columns[c]
                parts = self._parts(node, tasks, path)
                if parts and len(columns) - 1 + len(parts) <= width:
                    grown = columns[:c] + parts + columns[c + 1 :]
                    break
            if grown is None:
                return columns
            columns = grown

    def _parts(self, node: int, tasks: NDArray[np.int64], path: list[int]) -> list[Column]:
        if node < 0 or not self.children[node]:
            return []
        below = self.children[node]
        parts = [(k, np.flatnonzero(self._is_on[:, k]), [*path, k]) for k in below]
        remaining = tasks[~self._is_on[tasks][:, below].any(axis=1)]
        return [*parts, (-1, remaining, path)] if remaining.size else parts


def _merge_proportional(N: Array) -> list[list[int]]:
    """Return the columns of every node, nodes with more tasks first."""
    nodes: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(N.any(axis=0)).tolist():
        direction = N[:, j] / N[:, j].max()
        nodes.setdefault(np.round(direction, 11).tobytes(), []).append(j)
    return sorted(nodes.values(), key=lambda columns: -np.count_nonzero(N[:, columns[0]]))
