"""Layout of a tree: positions of branches, joints and labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl.similarity import Tree


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
    x = _path_lengths(tree) if has_lengths else _levels(tree)
    rows = _leaf_rows(children)
    first, last, y = np.full(n, n), np.full(n, -1), np.zeros(n)
    layout = TreeLayout([], [], [], [], [], has_lengths)
    for i in range(n - 1, -1, -1):
        below = children[i]
        if not below:
            first[i] = last[i] = y[i] = rows[i]
            continue
        first[i], last[i] = first[below[0]], last[below[-1]]
        y[i] = (y[below[0]] + y[below[-1]]) / 2
        layout.joints.append((x[i], y[below[0]], y[below[-1]]))
        layout.branches.extend((x[i], x[child], y[child]) for child in below)
        if tree.labels[i]:
            # between the rows of two children, where neither has a line
            gaps = [last[child] + 0.5 for child in below[:-1]] or [y[i]]
            gap = min(gaps, key=lambda value: abs(value - y[i]))
            layout.labels.append((x[i], float(gap), tree.labels[i]))
    for i in sorted(rows, key=rows.__getitem__):
        layout.leaves.append(tree.labels[i])
        layout.tips.append(float(x[i]))
    return layout


def _path_lengths(tree: Tree) -> NDArray[np.float64]:
    """Return the distance of every node from the root; missing lengths count as 1."""
    x = np.where(np.isnan(tree.lengths), 1.0, tree.lengths)
    x[0] = 0.0
    for i in range(1, len(x)):
        x[i] += x[tree.parents[i]]
    return x


def _levels(tree: Tree) -> NDArray[np.float64]:
    """Return how far left every node must be for leaves to align on the right."""
    height = np.zeros(len(tree))
    for i in range(len(tree) - 1, 0, -1):
        height[tree.parents[i]] = max(height[tree.parents[i]], height[i] + 1)
    return height[0] - height


def _leaf_rows(children: list[list[int]]) -> dict[int, int]:
    """Return the row of every leaf, so that the leaves of every node are contiguous."""
    rows: dict[int, int] = {}
    stack = [0]
    while stack:
        i = stack.pop()
        if not children[i]:
            rows[i] = len(rows)
        stack.extend(reversed(children[i]))
    return rows
