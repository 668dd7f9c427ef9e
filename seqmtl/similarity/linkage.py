"""Trees from distances, by average linkage."""

from __future__ import annotations

import numpy as np

from seqmtl.similarity.distances import Distances
from seqmtl.similarity.trees import Tree


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
