"""Factors of task kernels: K as a sum over the nodes of trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factor:
    """Non-negative N of shape (T, J) with K_m = sum of N_j N_j' over the nodes j of kernel m.

    A node has a value on each task below it. Solvers use it where there are many tasks, because
    a task is below few nodes; see :mod:`seqmtl.solvers.groups`.

    Attributes
    ----------
    nodes : ndarray of float64, shape (T, J)
        N.
    owners : ndarray of int64, shape (J,)
        Kernel m of every node, from 0.
    """

    nodes: Array
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, *nodes: Array) -> Factor:
        """Return the factor of one kernel, its nodes in blocks of shape (T, j)."""
        N = np.concatenate(nodes, axis=1)
        return cls(N, np.zeros(N.shape[1], dtype=np.int64))

    def take(self, tasks: NDArray[np.int64] | list[int]) -> Factor:
        """Return the factor for some tasks, in this order, without the nodes that have none."""
        N = self.nodes[tasks]
        kept = N.any(axis=0)
        return Factor(N[:, kept], self.owners[kept])

    def of_kernels(self, kept: Iterable[int]) -> Factor:
        """Return the factor of some of the kernels, numbered anew in this order."""
        kept = list(kept)
        number = np.full(max([*kept, *self.owners.tolist()], default=0) + 1, -1)
        number[kept] = np.arange(len(kept))
        has_one = number[self.owners] >= 0
        return Factor(self.nodes[:, has_one], number[self.owners[has_one]])

    def scaled(self, factors: Array) -> Factor:
        """Return the factor of K[s, t] times factors[s] factors[t]."""
        return Factor(self.nodes * factors[:, None], self.owners)

    def combine(self, theta: Array) -> Factor:
        """Return the factor of the single kernel sum_m theta_m K_m."""
        return Factor.of(self.nodes * np.sqrt(theta[self.owners]))

    @staticmethod
    def join(factors: Iterable[Factor], sizes: Iterable[int]) -> Factor:
        """Return the factor of the kernels of several; sizes are their numbers of kernels."""
        nodes, owners, first = [], [], 0
        for factor, size in zip(factors, sizes, strict=True):
            nodes.append(factor.nodes)
            owners.append(factor.owners + first)
            first += size
        return Factor(np.concatenate(nodes, axis=1), np.concatenate(owners))
