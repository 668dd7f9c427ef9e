"""Where the rows of a task kernel and the branches of a tree beside it are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.relations.distances import Distances, linkage_tree
from seqmtl.relations.trees import Tree


def joined(kernel: Any) -> Tree:
    """Return the tree that joins the most similar tasks of a kernel first."""
    scale = np.sqrt(np.diagonal(kernel.matrix))
    D = np.maximum(1.0 - kernel.matrix / np.outer(scale, scale), 0.0)
    np.fill_diagonal(D, 0.0)
    return linkage_tree(Distances(kernel.names, D, "1 - similarity"))


@dataclass(frozen=True)
class TreeLayout:
    """A tree from left to right: x is the distance from the root, leaf i is at height i.

    Attributes
    ----------
    leaves : list of str
        Leaves from top to bottom.
    tips : list of float
        x of every leaf.
    branches : list of (x0, x1, y)
        Horizontal lines.
    joints : list of (x, y0, y1)
        Vertical lines at inner nodes.
    labels : list of (x, y, text)
        Labels of inner nodes; the row to the right of (x, y) has no lines and no other label.
    has_lengths : bool
        Whether x is a path length; otherwise all leaves are at the same x.
    """

    leaves: list[str]
    tips: list[float]
    branches: list[tuple[float, float, float]]
    joints: list[tuple[float, float, float]]
    labels: list[tuple[float, float, str]]
    has_lengths: bool


def lay_out(tree: Tree) -> TreeLayout:
    """Place the nodes of a tree; without lengths all leaves are at the same x."""
    n = len(tree)
    children: list[list[int]] = [[] for _ in range(n)]
    for i in range(1, n):
        children[tree.parents[i]].append(i)
    has_lengths = bool(np.isfinite(tree.lengths[1:]).any())
    x = tree.depths() - tree.filled_lengths()[0] if has_lengths else _levels(tree)
    first, end = tree.leaf_ranges
    y = first.astype(np.float64)  # of leaves, which have a row each
    layout = TreeLayout(list(tree.leaf_names), x[tree.leaves].tolist(), [], [], [], has_lengths)
    for i in range(n - 1, -1, -1):
        below = children[i]
        if not below:
            continue
        y[i] = (y[below[0]] + y[below[-1]]) / 2
        layout.joints.append((x[i], y[below[0]], y[below[-1]]))
        layout.branches.extend((x[i], x[child], y[child]) for child in below)
        if tree.labels[i]:
            # between the rows of two children, where neither has a line
            gaps = [end[child] - 0.5 for child in below[:-1]] or [y[i]]
            gap = min(gaps, key=lambda value: abs(value - y[i]))
            layout.labels.append((x[i], float(gap), tree.labels[i]))
    return layout


def _levels(tree: Tree) -> NDArray[np.float64]:
    """Return how far left every node must be for leaves to align on the right."""
    height = np.zeros(len(tree))
    for i in range(len(tree) - 1, 0, -1):
        height[tree.parents[i]] = max(height[tree.parents[i]], height[i] + 1)
    return height[0] - height
