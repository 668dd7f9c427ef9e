"""Rooted trees of organisms: read, prune, measure."""

from __future__ import annotations

import difflib
import functools
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._memory import require_memory
from seqmtl._names import match_names
from seqmtl.exceptions import InputFormatError
from seqmtl.files import catalogue
from seqmtl.files.whole import read_text
from seqmtl.similarity import _newick, _nodes

if TYPE_CHECKING:
    from Bio.Phylo.BaseTree import Tree as BioTree

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted tree with named leaves; immutable.

    Parameters
    ----------
    parents : array_like of int, shape (n_nodes,)
        Parent of every node. The root is node 0, with parent -1; parents precede children.
    lengths : array_like of float, shape (n_nodes,)
        Length of the branch above every node, NaN if missing. The length of the root is shared
        by all paths. A missing length counts as 0 for the root and as 1 for other nodes.
    labels : sequence of str
        Name of every node, or "". Names of leaves are unique among all nodes.
    source : str, optional
        Origin of the tree, for messages.

    Raises
    ------
    InputFormatError
        If the nodes do not form a tree, names are missing or repeated, or a length is negative.
    """

    parents: NDArray[np.int64]
    lengths: NDArray[np.float64]
    labels: tuple[str, ...]
    source: str = "tree"

    def __post_init__(self) -> None:
        parents = np.array(self.parents, dtype=np.int64)
        lengths = np.array(self.lengths, dtype=np.float64)
        labels = tuple(str(label) for label in self.labels)
        for array in (parents, lengths):
            array.setflags(write=False)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "labels", labels)
        n = len(labels)
        if not n or parents.shape != (n,) or lengths.shape != (n,):
            raise self._error(
                "must have one parent, length and label per node, got "
                f"{parents.shape}, {lengths.shape} and {n}"
            )
        if parents[0] != -1 or (parents[1:] < 0).any() or (parents >= np.arange(n)).any():
            raise self._error("must have its root first and every parent before its children")
        self._check_lengths()
        _nodes.check_labels(labels, parents, self.leaves, self.source)

    @classmethod
    def from_parents(
        cls,
        parents: Sequence[int],
        labels: Sequence[str],
        lengths: ArrayLike | None = None,
        source: str = "table of parents",
    ) -> Tree:
        """Make a tree from nodes in any order.

        Parameters
        ----------
        parents : sequence of int
            Index of the parent of every node; for the root -1, or its own index.
        labels : sequence of str
            Name of every node, or "".
        lengths : array_like of float, optional
            Length of the branch above every node, NaN if missing. Default: all missing.
        source : str, optional
            Origin of the table, for messages.

        Raises
        ------
        InputFormatError
            If there is not exactly one root, a parent does not exist, or there is a cycle.
        """
        n = len(parents)
        order = _nodes.order_from_root(parents, labels, source)
        number = np.empty(n, dtype=np.int64)
        number[order] = np.arange(n)
        all_lengths = np.full(n, np.nan) if lengths is None else np.asarray(lengths, np.float64)
        above = number[np.asarray(parents)[order]]
        above[0] = -1
        return cls(above, all_lengths[order], tuple(labels[i] for i in order), source)

    @functools.cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Indices of the leaves, rising, shape (n_leaves,)."""
        is_leaf = np.ones(len(self.labels), dtype=bool)
        is_leaf[self.parents[1:]] = False
        return np.flatnonzero(is_leaf)

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Names of the leaves, in the order of `leaves`."""
        return tuple(self.labels[i] for i in self.leaves)

    def membership(self) -> NDArray[np.bool_]:
        """Tell which leaves are below each node (a leaf is below itself), (n_nodes, n_leaves)."""
        first, size, column = self._spans
        require_memory(
            len(self.labels) * len(self.leaves), f"the clades of {self!r}", "prune the tree first"
        )
        below = np.zeros((len(self.labels), len(self.leaves)), dtype=bool)
        for i in range(len(self.labels)):
            below[i, column[first[i] : first[i] + size[i]]] = True
        return below

    def prune(self, names: Iterable[str]) -> Tree:
        """Prune the tree to some of its leaves; distances between them do not change.

        Nodes left with one child are merged with it, adding their lengths. The path above the last
        common ancestor becomes the length of the root.

        Parameters
        ----------
        names : iterable of str
            Leaves to keep, matched by :func:`seqmtl._names.match_names`; they get this
            spelling. They keep the order of the tree.

        Raises
        ------
        UnknownTaskError
            If a name does not match exactly one leaf.
        """
        wanted = [str(name) for name in names]
        kept = np.zeros(len(self.labels), dtype=np.int64)
        new_name = {}
        for name, leaf in zip(
            wanted, match_names(wanted, self.leaf_names, f"the tree {self.source}"), strict=True
        ):
            new_name[int(self.leaves[leaf])] = name
            kept[self.leaves[leaf]] = 1
        if not wanted:
            raise ValueError("names must be at least one leaf of the tree, got none")
        n_children = np.zeros_like(kept)  # kept children
        for i in range(len(kept) - 1, 0, -1):
            if kept[i]:
                kept[self.parents[i]] += 1
                n_children[self.parents[i]] += 1
        return self._merged(np.flatnonzero(kept), n_children == 1, new_name)

    def shared(self) -> NDArray[np.float64]:
        """Return the path from the root shared by every two leaves, shape (n_leaves, n_leaves).

        The diagonal holds the distances of the leaves from the root. Missing lengths count as 1.
        """
        T = len(self.leaves)
        require_memory(24.0 * T * T, f"distances between {T} leaves", "prune the tree first")
        first, size, column = self._spans
        depth = self._depths()
        shared = np.zeros((T, T))
        for i in range(1, len(depth)):  # with all leaves of preceding siblings
            begin, end = first[i], first[i] + size[i]
            shared[first[self.parents[i]] : begin, begin:end] = depth[self.parents[i]]
        shared += shared.T
        np.fill_diagonal(shared, depth[self.leaves][column])
        place = np.argsort(column)
        return shared[np.ix_(place, place)]

    def distances(self) -> NDArray[np.float64]:
        """Return the path length between every two leaves, shape (n_leaves, n_leaves).

        Missing lengths count as 1.
        """
        shared = self.shared()
        height = np.diagonal(shared).copy()
        shared *= -2.0
        shared += height[:, None] + height
        return shared

    def node_name(self, i: int) -> str:
        """Return a unique, readable name for a node.

        This is its label, or its first and last leaf: "(ape..fly)".
        """
        return self._node_names[i]

    def to_newick(self) -> str:
        """Return the tree as one line of Newick; a length above the root becomes an outer node."""
        parts: list[list[str]] = [[] for _ in self.labels]
        text = ""
        for i in range(len(self.labels) - 1, -1, -1):
            below = f"({','.join(reversed(parts[i]))})" if parts[i] else ""
            length = self.lengths[i]
            text = below + _newick.quote(self.labels[i])
            text += "" if np.isnan(length) else f":{float(length)!r}"
            if i:
                parts[self.parents[i]].append(text)
        return f"({text});" if self.lengths[0] > 0 else f"{text};"

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        T = len(self.leaves)
        return f"Tree of {T} leaves and {len(self) - T} inner nodes from {self.source}"

    def _error(self, message: str) -> InputFormatError:
        return InputFormatError(message, path=self.source)

    def _check_lengths(self) -> None:
        bad = np.flatnonzero((self.lengths < 0) | np.isinf(self.lengths))
        if bad.size:
            raise self._error(
                f"branch lengths must be numbers from 0, got {self.lengths[bad[0]]:g} above "
                f"{self.labels[bad[0]] or 'an inner node'!r}; correct the tree"
            )

    def _depths(self) -> NDArray[np.float64]:
        """Return the distance of every node from the start of the root's branch."""
        depth = self.filled_lengths()
        for i in range(1, len(depth)):
            depth[i] += depth[self.parents[i]]
        return depth

    def filled_lengths(self) -> NDArray[np.float64]:
        """Return the lengths with missing ones replaced: 1, and 0 above the root."""
        filled = np.where(np.isnan(self.lengths), 1.0, self.lengths)
        filled[0] = np.nan_to_num(self.lengths[0])
        return filled

    @functools.cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Order the leaves so that those of every node are contiguous.

        Returns the first position and the number of leaves of every node, and the leaf (an index
        to `leaves`) at every position.
        """
        n = len(self.labels)
        size = np.zeros(n, dtype=np.int64)
        size[self.leaves] = 1
        for i in range(n - 1, 0, -1):
            size[self.parents[i]] += size[i]
        first = np.zeros(n, dtype=np.int64)
        free = np.zeros(n, dtype=np.int64)
        for i in range(1, n):
            parent = self.parents[i]
            first[i] = free[i] = free[parent]
            free[parent] += size[i]
        return first, size, np.argsort(first[self.leaves])

    @functools.cached_property
    def _node_names(self) -> tuple[str, ...]:
        first, size, column = self._spans
        leaf_names = self.leaf_names
        taken: set[str] = set()
        names = []
        for i, label in enumerate(self.labels):
            ends = f"({leaf_names[column[first[i]]]}..{leaf_names[column[first[i] + size[i] - 1]]})"
            options = [label, f"{label} {ends}"] if label else [ends]
            name = next((o for o in options if o not in taken), f"{options[-1]} #{i}")
            taken.add(name)
            names.append(name)
        return tuple(names)

    def _merged(
        self, kept: NDArray[np.int64], has_one_child: NDArray[np.bool_], new_name: dict[int, str]
    ) -> Tree:
        """Copy the kept nodes, merging each that has one child with it."""
        filled = self.filled_lengths()
        parents: list[int] = []
        lengths: list[float] = []
        labels: list[str] = []
        number = {-1: -1}  # index of the copy that a node's children attach to
        waiting: dict[int, tuple[float, str]] = {}  # length and label passed on to the only child
        for i in kept.tolist():
            parent = int(self.parents[i])
            length, label = float(self.lengths[i]), self.labels[i]
            if parent in waiting:
                length, label = waiting[parent][0] + float(filled[i]), label or waiting[parent][1]
            if has_one_child[i]:
                waiting[i] = (float(filled[i]) if np.isnan(length) else length, label)
                number[i] = number[parent]
                continue
            number[i] = len(parents)
            parents.append(number[parent])
            lengths.append(length)
            labels.append(new_name.get(i, label))
        return Tree(np.array(parents), np.array(lengths), tuple(labels), self.source)


TreeSource: TypeAlias = "Tree | BioTree | str | os.PathLike[str]"


def read_tree(tree: TreeSource) -> Tree:
    """Read a tree with named leaves.

    Parameters
    ----------
    tree : str, path-like, Bio.Phylo tree or Tree
        Newick or Nexus file (plain or gzip), Newick or Nexus text, the name of a shipped tree, or
        a Bio.Phylo tree. A Tree is returned unchanged.

    Returns
    -------
    Tree
        Nodes in the order of the file, without the branch above the root.

    Raises
    ------
    InputFormatError
        If there is no tree, more than one, or names or lengths are invalid.
    """
    if isinstance(tree, Tree):
        return tree
    where = describe(tree)
    is_source = isinstance(tree, (str, os.PathLike))
    nodes = _newick.parse_tree(_load(tree), where) if is_source else _newick.nodes_of(tree)
    parents, lengths, labels = nodes
    n_absent = int(np.isnan(lengths[1:]).sum())
    if 0 < n_absent < len(lengths) - 1:
        logger.warning("%s: branches without a length, counted as 1: %d", where, n_absent)
    return Tree(np.array(parents), np.array(lengths), tuple(labels), where)


def prune_to(
    tree: TreeSource, names: Iterable[str] | None
) -> tuple[Tree, tuple[str, ...], NDArray[np.int64]]:
    """Read a tree and prune it to some leaves, by default all.

    Returns
    -------
    tree : Tree
        Without nodes that have one child.
    names : tuple of str
        Leaves, in the requested order.
    order : ndarray of int64, shape (n_leaves,)
        Index of each of these names among the leaves of the tree.

    Raises
    ------
    InputFormatError
        If the tree cannot be read.
    UnknownTaskError
        If a name is not a leaf; the message lists near matches.
    """
    tree = read_tree(tree)
    wanted = tree.leaf_names if names is None else tuple(str(name) for name in names)
    tree = tree.prune(wanted)
    place = {name: i for i, name in enumerate(tree.leaf_names)}
    return tree, wanted, np.array([place[name] for name in wanted], dtype=np.int64)


def describe(tree: TreeSource) -> str:
    """Name a tree in messages: its file, or "text" if it was given as text."""
    if isinstance(tree, Tree):
        return tree.source
    if not isinstance(tree, (str, os.PathLike)):
        return "Bio.Phylo tree"
    return "text" if _is_text(tree) else os.path.basename(os.fspath(tree))


def _is_text(tree: str | os.PathLike[str]) -> bool:
    if not isinstance(tree, str) or os.path.exists(tree):
        return False
    return any(sign in tree for sign in "(;\n")


def _load(tree: str | os.PathLike[str]) -> str:
    if _is_text(tree):
        return str(tree)
    shipped = None
    if isinstance(tree, str) and not os.path.exists(tree):
        shipped = catalogue.find(tree)
    if shipped is not None:
        return shipped
    try:
        return read_text(tree, "a tree")
    except InputFormatError as error:
        known = catalogue.names()
        if os.path.exists(tree) or not known:
            raise
        near = difflib.get_close_matches(os.fspath(tree), known, n=3)
        hint = f"did you mean {' or '.join(near)}? Shipped" if near else "shipped"
        message = f"{error.message}; {hint} are {', '.join(known)}"
        raise InputFormatError(message, path=error.path) from error
