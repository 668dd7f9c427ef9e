"""Task kernels K_1..K_M of the same T tasks, as matrices or as sums over the nodes of trees.

    K_m = sum_j l_mj N_j N_j',    N and l non-negative, N sparse

Column N_j, of length T, is a node, with a value on each task below it. A tree gives a column for
each branch, the identity one for each task, the matrix of ones a column of all tasks. With many
tasks, each of which is below few nodes, solvers take steps on nodes that cost less; see
:mod:`seqmtl.core.grouped_kernel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Number of tasks up to which matrices are as fast as nodes; a plain choice.
MAX_TASKS_AS_MATRIX = 16


@dataclass(frozen=True, eq=False)
class KernelStack:
    """K_1..K_M: matrices, or nodes where there is a formula and more than 16 tasks.

    Attributes
    ----------
    values : ndarray of float64, shape (M, T, T) or (M, J)
        K_m, or l.
    nodes : SciPy csc_array of float64, shape (T, J), optional
        N.
    """

    values: Array
    nodes: Any = None

    @classmethod
    def of_nodes(cls, N: Any, l: Array) -> KernelStack:
        """Return the sums over nodes, dense or sparse, shape (T, J), of lengths l, shape (M, J)."""
        if N.shape[0] <= MAX_TASKS_AS_MATRIX:
            dense = N if isinstance(N, np.ndarray) else N.toarray()
            K = np.zeros((len(l), len(dense), len(dense)))
            for node, lengths in zip(dense.T, l.T, strict=True):
                K += lengths[:, None, None] * np.outer(node, node)
            return cls(K)
        from scipy.sparse import csc_array

        N = csc_array(N)
        N.sum_duplicates()  # sorts the tasks of every node
        N.eliminate_zeros()
        is_used = (np.diff(N.indptr) > 0) & l.any(axis=0)
        return cls(l[:, is_used], N[:, is_used])

    @classmethod
    def join(cls, stacks: Sequence[KernelStack]) -> KernelStack:
        """Return the kernels of all stacks, which are of the same tasks."""
        nodes = [stack.nodes for stack in stacks if stack.nodes is not None]
        if len(nodes) < len(stacks):
            return cls(np.concatenate([stack.matrices() for stack in stacks]))
        from scipy.sparse import hstack

        M, J = np.cumsum([(0, 0), *(stack.values.shape for stack in stacks)], axis=0).T
        l = np.zeros((M[-1], J[-1]))
        for i, stack in enumerate(stacks):
            l[M[i] : M[i + 1], J[i] : J[i + 1]] = stack.values
        return cls.of_nodes(hstack(nodes), l)

    def matrices(self) -> Array:
        """Return all K_m, shape (M, T, T)."""
        if self.nodes is None:
            return self.values
        N, T = self.nodes, self.nodes.shape[0]
        K = np.zeros((len(self.values), T, T))
        # node by node: the kernel of some tasks is, bit by bit, a part of that of all
        for j, l in enumerate(self.values.T):
            m, below = np.flatnonzero(l), slice(*N.indptr[j : j + 2])
            t, values = N.indices[below], N.data[below]
            K[np.ix_(m, t, t)] += l[m, None, None] * np.outer(values, values)
        return K

    def diagonals(self) -> Array:
        """Return the diagonals of all K_m, shape (M, T)."""
        if self.nodes is None:
            return np.einsum("mtt->mt", self.values)
        return np.asarray((self.nodes**2 @ self.values.T).T)

    def take(self, tasks: Any) -> KernelStack:
        """Return all K_m for some tasks: a slice, or their numbers in order."""
        if self.nodes is None:
            return KernelStack(self.values[:, tasks][:, :, tasks])
        return self.of_nodes(self.nodes[tasks], self.values)

    def rescaled(self, by: Array) -> KernelStack:
        """Return K_m[s, t] times by[s] by[t]."""
        if self.nodes is None:
            return KernelStack(self.values * np.outer(by, by))
        return self.of_nodes(self.nodes.multiply(by[:, None]), self.values)

    def mix(self, A: Array) -> KernelStack:
        """Return sum_m A[i, m] K_m of every row i of non-negative weights, shape (I, M)."""
        return replace(self, values=np.einsum("im,m...->i...", A, self.values))

    def pick(self, kernels: Sequence[int] | NDArray[Any]) -> KernelStack:
        """Return the K_m of some numbers m."""
        return replace(self, values=self.values[kernels])

    def means(self, groups: Sequence[Sequence[int]]) -> KernelStack:
        """Return the mean of the K_m of every group of numbers m."""
        means = [self.values[list(group)].mean(axis=0) for group in groups]
        return replace(self, values=np.array(means))

    def with_unit_diagonals(self) -> KernelStack:
        """Return K_m with a part of each task alone that makes K_m[t, t], at most 1, 1."""
        if self.nodes is None:
            values = self.values.copy()
            np.einsum("mtt->mt", values)[:] = 1.0
            return KernelStack(values)
        from scipy.sparse import eye_array, hstack

        alone = np.maximum(1.0 - self.diagonals(), 0.0)
        N = hstack([self.nodes, eye_array(self.nodes.shape[0])])
        return self.of_nodes(N, np.concatenate([self.values, alone], axis=1))
