"""Distances between named organisms: symmetric, with a zero diagonal; and their trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.similarity import checks
from seqmtl.similarity.trees import Tree, TreeSource, prune_to


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between T organisms; immutable.

    Parameters
    ----------
    names : sequence of str
        Organisms, T of them, all different.
    matrix : array_like, shape (T, T)
        Non-negative distances, symmetric, zero on the diagonal; stored as read-only float64.
    source : str, optional
        Origin of the distances, for messages.

    Raises
    ------
    ValueError
        If the shape, the names or the values are invalid.
    """

    names: tuple[str, ...]
    matrix: NDArray[np.float64]
    source: str = "distances"

    def __post_init__(self) -> None:
        names = checks.check_names(self.names)
        D = np.array(self.matrix, dtype=np.float64)
        checks.check_square(names, D, "distances")
        checks.check_not_negative(D, "distances")
        if np.diagonal(D).any():
            i = int(np.argmax(np.diagonal(D)))
            raise ValueError(
                f"distances must be 0 on the diagonal, got {D[i, i]:g} for {names[i]!r}; "
                "similarities are not distances"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "matrix", checks.symmetrized(D))

    @classmethod
    def from_tree(cls, tree: TreeSource, names: Iterable[str] | None = None) -> Distances:
        """Return the path lengths between leaves of a tree.

        Parameters
        ----------
        tree : Tree, str or path-like
            See :func:`seqmtl.similarity.trees.read_tree`.
        names : iterable of str, optional
            Leaves to include, in this order and spelling. Default: all leaves, in their order.

        Raises
        ------
        InputFormatError
            If the tree cannot be read.
        UnknownTaskError
            If a name is not a leaf; the message lists near matches.
        """
        tree, wanted, order = prune_to(tree, names)
        D = tree.distances()[np.ix_(order, order)]
        return cls(wanted, D, f"tree({tree.source})")

    def restrict(self, names: Iterable[str]) -> Distances:
        """Return the distances of some organisms, in the given order and spelling.

        Raises
        ------
        UnknownTaskError
            If a name is unknown; the message lists near matches.
        """
        wanted = tuple(map(str, names))
        order = match_names(wanted, self.names, f"the distances from {self.source}")
        return Distances(wanted, self.matrix[np.ix_(order, order)], self.source)

    def __len__(self) -> int:
        return len(self.names)


def linkage_tree(distances: Distances) -> Tree:
    """Cluster organisms by average linkage (UPGMA).

    The distance of two groups is the mean over their pairs. Leaves keep the names and order of
    the distances. The height of a node is half the distance of its groups. Groups that join at
    the same height become one node.

    Parameters
    ----------
    distances : Distances
        Distances of T organisms.

    Returns
    -------
    Tree
        With branch lengths, without names of inner nodes.
    """
    T = len(distances)
    source = f"{distances.source} by average linkage"
    if T == 1:
        return Tree(np.array([-1]), np.array([np.nan]), distances.names, source)
    from scipy.cluster.hierarchy import linkage

    merges = linkage(distances.matrix[np.triu_indices(T, 1)], method="average")
    n = 2 * T - 1
    height = np.zeros(n)
    height[T:] = merges[:, 2] / 2
    parents = np.full(n, -1)
    for node, pair in enumerate(merges[:, :2].astype(np.int64), T):
        parents[pair] = node
    kept = np.ones(n, dtype=bool)
    for node in range(n - 2, -1, -1):  # from the root down
        if not kept[parents[node]]:
            parents[node] = parents[parents[node]]
        kept[node] = node < T or height[node] < height[parents[node]]
    number = np.cumsum(kept) - 1
    above = parents[kept]
    lengths = np.where(above < 0, np.nan, height[above] - height[kept])
    new_parents = np.where(above < 0, -1, number[above])
    labels = (*distances.names, *[""] * (int(kept.sum()) - T))
    return Tree(new_parents, lengths, labels, source)
