"""Distances between named organisms: of trees and of alignments, and trees from distances."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.relations import checks
from seqmtl.relations.trees import Tree, TreeSource, prune_to
from seqmtl.sequences.alphabet import PROTEIN_LETTERS, is_protein


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
            See :func:`seqmtl.relations.trees.read_tree`.
        names : iterable of str, optional
            Leaves to include, in this order and spelling. Default: all leaves, in their order.

        Raises
        ------
        InputFormatError
            If the tree cannot be read.
        UnknownTaskError
            If a name is not a leaf; the message lists near matches.
        """
        tree, requested, order = prune_to(tree, names)
        D = tree.distances()[np.ix_(order, order)]
        return cls(requested, D, f"tree({tree.source})")

    def restrict(self, names: Iterable[str]) -> Distances:
        """Return the distances of some organisms, in the given order and spelling.

        Raises
        ------
        UnknownTaskError
            If a name is unknown; the message lists near matches.
        """
        requested = tuple(map(str, names))
        order = match_names(requested, self.names, f"the distances from {self.source}")
        return Distances(requested, self.matrix[np.ix_(order, order)], self.source)

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
    is_node = np.ones(n, dtype=bool)  # merges at the same height are one node
    for node in range(n - 2, -1, -1):  # from the root down
        if not is_node[parents[node]]:
            parents[node] = parents[parents[node]]
        is_node[node] = node < T or height[node] < height[parents[node]]
    number = np.cumsum(is_node) - 1
    above = parents[is_node]
    lengths = np.where(above < 0, np.nan, height[above] - height[is_node])
    new_parents = np.where(above < 0, -1, number[above])
    labels = (*distances.names, *[""] * (int(is_node.sum()) - T))
    return Tree(new_parents, lengths, labels, source)


_BASES = (b"Aa", b"Cc", b"Gg", b"TtUu")


def read_alignment_distances(path: str | os.PathLike[str]) -> Distances:
    """Return the share of mismatches between aligned sequences.

    A column counts for two organisms if both have a base (A, C, G, T or U in any case, where U
    is T) and not a gap, N or another letter. For small-subunit rRNA this is the distance of
    Widmer et al. 2015, section 4.3.

    Parameters
    ----------
    path : str or path-like
        FASTA file, plain or gzip, with sequences of equal length. The first word after ``>`` is
        the name of the organism: ``Genus_species``.

    Returns
    -------
    Distances
        Mismatches per shared column, 0 to 1, in the order of the file.

    Raises
    ------
    InputFormatError
        If the file is not an alignment of two or more organisms, a sequence is a protein, a name
        is repeated, or two organisms share no column.
    """
    path = os.fspath(path)
    names, rows = _read_rows(path)
    letters = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    n_shared, n_equal = _count_columns(letters)
    if not n_shared.all():
        s, t = np.argwhere(n_shared == 0)[0]
        raise InputFormatError(
            "organisms must share a column in which both have a base, got none for "
            f"{names[s]!r} and {names[t]!r}; realign them or leave one out",
            path=path,
        )
    # in integers, so that the distance of equal sequences is exactly 0
    return Distances(tuple(names), (n_shared - n_equal) / n_shared, os.path.basename(path))


def _count_columns(letters: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the columns with two bases, and those with two equal bases, shape (T, T) each."""
    # float32 represents integers up to 2**24 exactly, and its matrix product is twice as fast
    dtype = np.dtype("f4" if letters.shape[1] < 1 << 24 else "f8")
    n_equal = np.zeros((len(letters), len(letters)))
    any_base = np.zeros(letters.shape, dtype=dtype)
    for base in _BASES:
        is_base = np.asarray(np.isin(letters, np.frombuffer(base, dtype=np.uint8)), dtype=dtype)
        n_equal += is_base @ is_base.T
        any_base += is_base
    return (any_base @ any_base.T).astype(np.int64), n_equal.astype(np.int64)


def _read_rows(path: str) -> tuple[list[str], list[bytes]]:
    """Read names and sequences of equal length."""
    text = "\n".join(read_text(path, "a FASTA file").splitlines())
    rows, lines = dict[str, bytes](), dict[str, int]()
    first_line = re.search(r"^.*\S", text, re.MULTILINE)
    line = 1 + text.count("\n", 0, first_line.start() if first_line else 0)
    if first_line and not first_line[0].startswith(">"):
        raise InputFormatError("a FASTA file must start with a > line", path, line)
    for record in re.findall(r"^>(.*(?:\n(?!>).*)*)", text, re.MULTILINE):
        header, _, letters = record.partition("\n")
        name = next(iter(header.split()), "")
        if not name:
            raise InputFormatError("a record has no name; write >Genus_species", path, line)
        if name in rows:
            message = f"names must differ, got {name!r} twice; keep one sequence per organism"
            raise InputFormatError(message, path, line)
        rows[name] = "".join(letters.split()).encode("ascii", "replace")
        lines[name] = line
        line += record.count("\n") + 1
    if len(rows) < 2:
        raise InputFormatError(
            f"an alignment must have at least 2 sequences, got {len(rows)}", path
        )
    _check_nucleotides(rows, path, lines)
    first, length = next((name, len(row)) for name, row in rows.items())
    for name, row in rows.items():
        if len(row) != length:
            raise InputFormatError(
                f"aligned sequences must have one length, got {len(row)} after {length} of "
                f"{first!r}; align them first",
                path,
                lines[name],
                record=name,
            )
    return list(rows), list(rows.values())


def _check_nucleotides(rows: dict[str, bytes], path: str, lines: dict[str, int]) -> None:
    """Refuse proteins, by letters that nucleotides lack or, if there are none, by their share."""
    amino = {name: sorted({*row.upper().decode()} & PROTEIN_LETTERS) for name, row in rows.items()}
    name = next((name for name, letters in amino.items() if letters), next(iter(rows)))
    if amino[name] or is_protein(b"".join(rows.values())):
        raise InputFormatError(
            f"aligned sequences must be of nucleotides, got {', '.join(amino[name]) or 'others'}, "
            "as in a protein; give nucleotides, or a table of distances",
            path=path,
            line=lines[name],
            record=name,
        )
