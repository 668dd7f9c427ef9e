"""Rooted trees of organisms: read, prune, measure."""

from __future__ import annotations

import difflib
import functools
import logging
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import InputFormatError
from seqmtl.files import catalogue
from seqmtl.files.streams import read_text
from seqmtl.relations import _newick

if TYPE_CHECKING:
    from Bio.Phylo.BaseTree import Tree as BioTree

logger = logging.getLogger(__name__)

#: End of the label of a node with two parents in extended Newick.
_HYBRID = re.compile(r"#[A-Z]*\d+$")


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted tree with named leaves; immutable.

    Parameters
    ----------
    parents : array_like of int, shape (n_nodes,)
        Parent of every node; -1 or its index for the root.
    lengths : array_like of float, shape (n_nodes,)
        Length of the branch above every node, NaN if missing. The length of the root is shared
        by all paths. A missing length counts as 0 for the root and as 1 for other nodes.
    labels : sequence of str
        Name of every node, or "". Names of leaves differ; those of inner nodes may be repeated.
    source : str, optional
        Origin of the tree, for messages.

    Attributes
    ----------
    parents, lengths, labels
        As given, in the order of the tree: the root is node 0, with parent -1, and is followed by
        the whole clade of its first child, then that of its second, and so on.

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
        labels = tuple(map(str, self.labels))
        parents = np.array(self.parents, dtype=np.int64)
        lengths = np.array(self.lengths, dtype=np.float64)
        n = len(labels)
        if parents.shape != (n,) or lengths.shape != (n,):
            raise self._error(
                "must have one parent, length and label per node, got "
                f"{parents.shape}, {lengths.shape} and {n}"
            )
        order = self._order_from_root(parents.tolist(), labels)
        number = np.empty(n, dtype=np.int64)
        number[order] = np.arange(n)
        parents = number[parents[order]]
        lengths = lengths[order]
        parents[0] = -1
        for array in (parents, lengths):
            array.setflags(write=False)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "labels", tuple(labels[i] for i in order))
        self._check_lengths()
        self._check_labels()

    @functools.cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Indices of the leaves, rising, shape (n_leaves,)."""
        return np.setdiff1d(np.arange(len(self.labels)), self.parents)

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Names of the leaves, in the order of `leaves`."""
        return tuple(self.labels[i] for i in self.leaves)

    @functools.cached_property
    def leaf_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First leaf below every node, and the end of these leaves, as indices to `leaves`."""
        n = len(self.labels)
        size = np.ones(n, dtype=np.int64)
        for i in range(n - 1, 0, -1):
            size[self.parents[i]] += size[i]
        nodes = np.arange(n)
        return np.searchsorted(self.leaves, nodes), np.searchsorted(self.leaves, nodes + size)

    def membership(self) -> NDArray[np.bool_]:
        """Return which leaves are below each node (a leaf is below itself), (n_nodes, n_leaves)."""
        n_leaves = len(self.leaves)
        require_memory(len(self) * n_leaves, f"the clades of {self!r}", "prune the tree first")
        first, end = self.leaf_ranges
        positions = np.arange(n_leaves)
        return (first[:, None] <= positions) & (positions < end[:, None])

    def prune(self, names: Iterable[str]) -> Tree:
        """Prune the tree to some of its leaves; distances between them do not change.

        Nodes left with one child are merged with it, adding their lengths. The path above the last
        common ancestor becomes the length of the root.

        Parameters
        ----------
        names : iterable of str
            Leaves to keep, matched by :func:`seqmtl._names.match_names`; they get this
            spelling. They stay in the order of the tree.

        Raises
        ------
        UnknownTaskError
            If a name does not match exactly one leaf.
        InputFormatError
            If another leaf is the same organism.
        """
        requested = [str(name) for name in names]
        positions = match_names(requested, self.leaf_names, f"the tree {self.source}")
        if not requested:
            raise ValueError("names must be at least one leaf of the tree, got none")
        self._check_synonyms(positions)
        new_name = dict(zip(self.leaves[positions].tolist(), requested, strict=True))
        counts = np.append(0, np.cumsum(np.isin(np.arange(len(self.leaves)), positions)))
        first, end = self.leaf_ranges
        nodes = np.flatnonzero(counts[end] > counts[first])
        n_children = np.bincount(self.parents[nodes[1:]], minlength=len(self))
        filled = self.filled_lengths()
        number = {-1: -1}  # index of the copy that a node's children attach to
        waiting: dict[int, tuple[float, str]] = {}  # length and label passed on to the only child
        parents: list[int] = []
        lengths: list[float] = []
        labels: list[str] = []
        for i in nodes.tolist():
            parent = int(self.parents[i])
            length = float(self.lengths[i])
            label = self.labels[i]
            if parent in waiting:
                length = waiting[parent][0] + float(filled[i])
                label = label or waiting[parent][1]
            if n_children[i] == 1:
                waiting[i] = (float(filled[i]) if np.isnan(length) else length, label)
                number[i] = number[parent]
                continue
            number[i] = len(parents)
            parents.append(number[parent])
            lengths.append(length)
            labels.append(new_name.get(i, label))
        return Tree(np.array(parents), np.array(lengths), tuple(labels), self.source)

    def shared(self) -> NDArray[np.float64]:
        """Return the path from the root shared by every two leaves, shape (n_leaves, n_leaves).

        The diagonal holds the distances of the leaves from the root. Missing lengths count as 1.
        """
        T = len(self.leaves)
        require_memory(24.0 * T * T, f"distances between {T} leaves", "prune the tree first")
        first, end = self.leaf_ranges
        depth = self.depths()
        shared = np.zeros((T, T))
        for i in range(1, len(depth)):  # with all leaves of preceding siblings
            parent = self.parents[i]
            shared[first[parent] : first[i], first[i] : end[i]] = depth[parent]
        shared += shared.T
        np.fill_diagonal(shared, depth[self.leaves])
        return shared

    def distances(self) -> NDArray[np.float64]:
        """Return the path length between every two leaves, shape (n_leaves, n_leaves).

        Missing lengths count as 1.
        """
        shared = self.shared()
        height = np.diagonal(shared).copy()
        shared *= -2.0
        shared += height[:, None] + height
        return shared

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

    def filled_lengths(self) -> NDArray[np.float64]:
        """Return the lengths with missing ones replaced: 1, and 0 above the root."""
        filled = np.where(np.isnan(self.lengths), 1.0, self.lengths)
        filled[0] = np.nan_to_num(self.lengths[0])
        return filled

    def depths(self) -> NDArray[np.float64]:
        """Return the path length from above the root to every node; missing lengths count as 1."""
        depths = self.filled_lengths()
        for i in range(1, len(depths)):
            depths[i] += depths[self.parents[i]]
        return depths

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        T = len(self.leaves)
        return f"Tree of {T} leaves and {len(self) - T} inner nodes from {self.source}"

    def _error(self, message: str) -> InputFormatError:
        return InputFormatError(message, path=self.source)

    def _order_from_root(self, parents: list[int], labels: Sequence[str]) -> list[int]:
        """Return the indices of the nodes, root first, each clade contiguous."""
        n = len(parents)
        children: list[list[int]] = [[] for _ in range(n)]
        roots = []
        for i, parent in enumerate(parents):
            if parent in (-1, i):
                roots.append(i)
            elif 0 <= parent < n:
                children[parent].append(i)
            else:
                raise self._error(
                    f"parents must be numbers of nodes, got {parent} for {labels[i]!r}"
                )
        order: list[int] = []
        stack = roots[::-1]
        while stack:
            order.append(stack.pop())
            stack.extend(reversed(children[order[-1]]))
        if len(order) < n:  # nodes that are not below a root are in or below a cycle
            i = min({*range(n)} - {*order})
            raise self._error(
                f"must be a tree, got a cycle of parents above {labels[i] or f'node {i}'}; "
                "correct the parents"
            )
        if len(roots) != 1:
            examples = ", ".join(repr(labels[i]) for i in roots[:3])
            raise self._error(f"must have one root, got {len(roots)}{': ' * bool(roots)}{examples}")
        return order

    def _check_lengths(self) -> None:
        bad = np.flatnonzero((self.lengths < 0) | np.isinf(self.lengths))
        if bad.size:
            raise self._error(
                f"branch lengths must be numbers from 0, got {self.lengths[bad[0]]:g} above "
                f"{self.labels[bad[0]] or 'an inner node'!r}; correct the tree"
            )

    def _check_labels(self) -> None:
        """Reject leaves without a name, or with the name of another, and networks."""
        leaves: set[str] = set()
        for label in self.leaf_names:
            if not label.strip():
                raise self._error("the tree has a leaf without a name; leaves need distinct names")
            if label in leaves:
                raise self._error(
                    f"the tree has the leaf {label!r} twice; leaves need distinct names"
                )
            leaves.add(label)
        is_inner = np.isin(np.arange(len(self)), self.parents)
        for i in np.flatnonzero(is_inner):
            label = self.labels[i]
            if _HYBRID.search(label) and label in leaves:
                raise self._error(
                    f"must be a tree, got {label!r} both as a leaf and as an inner node, as in the "
                    "Newick text of a network; remove one of them"
                )

    def _check_synonyms(self, positions: Iterable[int]) -> None:
        """Refuse leaves, by their positions, if another leaf is the same organism."""
        chosen = set(positions)
        for group in NameIndex(self.leaf_names).synonyms():
            if not chosen.isdisjoint(group):
                same = " and ".join(repr(self.leaf_names[i]) for i in group)
                raise self._error(
                    f"every organism must be one leaf, got {same} for the same organism; remove "
                    "all but one from the tree"
                )

    @functools.cached_property
    def node_names(self) -> tuple[str, ...]:
        """A unique, readable name of every node.

        This is its label, if no leaf or earlier node has it, or its first and last leaf:
        "(ape..fly)", or both.
        """
        leaf_names = self.leaf_names
        reserved = set(leaf_names)
        is_leaf = set(self.leaves.tolist())
        names: list[str] = []
        for i, (label, first, end) in enumerate(zip(self.labels, *self.leaf_ranges, strict=True)):
            if i in is_leaf:
                names.append(label)
                continue
            ends = f"({leaf_names[first]}..{leaf_names[end - 1]})"
            options = [label, f"{label} {ends}"] if label else [ends]
            options.append(f"{options[-1]} #{i}")
            names.append(next(option for option in options if option not in reserved))
            reserved.add(names[-1])
        return tuple(names)


#: The shipped tree in which organisms are looked up if no tree is given.
LARGEST_TREE = "eukaryotes"

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
    if isinstance(tree, (str, os.PathLike)):
        where, text = _load(tree)
        parents, lengths, labels = _newick.parse_tree(text, where)
    else:
        where = "Bio.Phylo tree"
        parents, lengths, labels = _newick.nodes_of(tree)
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
    requested = tree.leaf_names if names is None else tuple(str(name) for name in names)
    tree = tree.prune(requested)
    number_of = {name: i for i, name in enumerate(tree.leaf_names)}
    return tree, requested, np.array([number_of[name] for name in requested], dtype=np.int64)


def _load(tree: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name of a tree for messages, and its text."""
    where = os.path.basename(os.fspath(tree))
    shipped_names = catalogue.names()
    if isinstance(tree, str) and not os.path.exists(tree):
        if any(sign in tree for sign in "(;\n"):
            return "text", tree
        shipped = catalogue.find(tree)
        if shipped is not None:
            return where, shipped
    try:
        return where, read_text(tree, "a tree")
    except InputFormatError as error:
        if os.path.exists(tree) or not shipped_names:
            raise
        similar = difflib.get_close_matches(os.fspath(tree), shipped_names, n=3)
        hint = f"did you mean {' or '.join(similar)}? Shipped" if similar else "shipped"
        message = f"{error.message}; {hint} are {', '.join(shipped_names)}"
        raise InputFormatError(message, path=error.path) from error
