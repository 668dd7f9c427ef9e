"""Collapse the organisms of a large tree into clades, so that a figure stays readable."""

from __future__ import annotations

import numpy as np

from seqmtl.similarity import TaskKernel, Tree


def collapse(kernel: TaskKernel, tree: Tree, most: int) -> tuple[TaskKernel, Tree]:
    """Return the mean similarity within and between clades, and the tree of the clades.

    The clade with the most organisms is opened until there would be more than `most`. A clade has
    the name of its node, or of its first and last organism, and their number.

    Parameters
    ----------
    kernel : TaskKernel
        K of the leaves of the tree, in any order.
    tree : Tree
        Its leaves are the tasks.
    most : int
        Number of clades, at least 1.
    """
    below = tree.membership()
    n_children = np.bincount(tree.parents[1:], minlength=len(tree))
    clades, size = {0}, below.sum(axis=1)
    while True:
        widest = max(sorted(clades), key=lambda node: size[node])
        if size[widest] == 1 or len(clades) - 1 + n_children[widest] > most:
            break
        clades.remove(widest)
        clades |= set(np.flatnonzero(tree.parents == widest).tolist())
    nodes = sorted(clades)
    names = [
        tree.node_name(node) + (f" ({size[node]})" if size[node] > 1 else "") for node in nodes
    ]
    first = [tree.leaf_names[int(below[node].argmax())] for node in nodes]
    place = [kernel.names.index(name) for name in tree.leaf_names]
    share = np.zeros((len(nodes), len(kernel)))
    share[:, place] = below[nodes] / size[nodes, None]
    matrices = share @ kernel.matrices @ share.T
    pruned, new_name = tree.prune(first), dict(zip(first, names, strict=True))
    labels = [new_name.get(label, label) for label in pruned.labels]
    shown = Tree(pruned.parents, pruned.lengths, tuple(labels), tree.source)
    return TaskKernel(tuple(names), matrices, kernel.source, labels=kernel.labels), shown
