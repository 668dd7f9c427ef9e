"""The tree of the organisms, and the drift of traits along its branches."""

from __future__ import annotations

import logging
import math

import numpy as np

from seqmtl.exceptions import InputFormatError
from seqmtl.relations.trees import Tree, TreeSource, read_tree

logger = logging.getLogger(__name__)

_DEFAULT_TREE = (
    "(((velia_alba:0.06,velia_nigra:0.06):0.30,(brunia_parva:0.08,brunia_magna:0.09):0.26):0.25,"
    "coris_longa:0.70,dorma_prima:1.20);"
)


def default_tree() -> str:
    """Return the Newick text of a tree of six fictitious organisms.

    It has two close pairs that are related to each other, one distant relative and an outgroup.
    Branch lengths are in the unit of the `drift` of :func:`seqmtl.simulation.simulate`.

    Returns
    -------
    str
        A Newick tree with named leaves, and a length on every branch but the root's.

    Examples
    --------
    >>> default_tree().count(":")
    9
    """
    return _DEFAULT_TREE


def read_organisms(source: TreeSource | None) -> Tree:
    """Read a tree whose leaf names are suitable as organism names.

    Parameters
    ----------
    source : TreeSource or None
        Input of :func:`seqmtl.relations.read_tree`, or None for :func:`default_tree`.

    Returns
    -------
    Tree
        Every branch below the root has a length; missing ones are 1 (with a logged warning).

    Raises
    ------
    InputFormatError
        If the tree cannot be read, or a leaf's name is not printable.
    """
    tree = read_tree(_DEFAULT_TREE if source is None else source)
    for name in tree.leaf_names:
        if not name.isprintable():
            raise InputFormatError(
                f"every leaf of the tree must have a printable name, got {name!r}; name the leaf",
                path=tree.source,
            )
    if len(tree) > 1 and np.isnan(tree.lengths[1:]).all():
        logger.warning("%s: no branch has a length; each counts as 1", tree.source)
    return Tree(tree.parents, tree.filled_lengths(), tree.labels, tree.source)


def drift_traits(tree: Tree, n_traits: int, drift: float, rng: np.random.Generator) -> np.ndarray:
    """Simulate the evolution of independent traits from the root to every leaf.

    Every trait is a stationary Ornstein-Uhlenbeck process with mean 0 and variance 1: over a
    branch of length b a trait z becomes ``r z + sqrt(1 - r^2) e`` with ``r = exp(-drift b)`` and
    standard normal e, a random walk with variance ``2 drift b`` while that is small. Two leaves
    have correlation ``exp(-drift d)``, where d is the length of the path between them.

    Parameters
    ----------
    tree : Tree
        With a length on every branch below the root; that of the root is ignored.
    n_traits : int
        Number of traits.
    drift : float
        Rate per unit of branch length; 0 makes all leaves equal.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    numpy.ndarray
        Shape (leaves, n_traits), float64, leaves in the order of the tree.
    """
    traits = np.empty((len(tree), n_traits))
    traits[0] = rng.standard_normal(n_traits)
    children: list[list[int]] = [[] for _ in tree.labels]
    for child in range(1, len(tree)):
        children[tree.parents[child]].append(child)
    for parent, below in enumerate(children):
        for child in reversed(below):
            retained = math.exp(-drift * tree.lengths[child])
            noise = math.sqrt(max(0.0, 1.0 - retained * retained)) * rng.standard_normal(n_traits)
            traits[child] = retained * traits[parent] + noise
    return traits[tree.leaves]
