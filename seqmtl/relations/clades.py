"""Clades, genera and common names of the shipped table, and their leaves in a tree.

The table is from the NCBI taxonomy, down to families, genera and species with genomes. It has no
divergence times: a taxon without a leaf in the tree becomes a new leaf beside the leaves of the
smallest clade of the table that has any.
"""

from __future__ import annotations

import functools
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import simplify, taxid_of
from seqmtl.exceptions import UnknownTaskError
from seqmtl.files import catalogue
from seqmtl.relations.trees import Tree

_ENDINGS = {  # of plurals, and of singulars that end like them, with the singular
    "mice": "mouse",
    "lice": "louse",
    "algae": "alga",
    "fungi": "fungus",
    "uses": "us",
    "us": "us",
    "ises": "is",
    "is": "is",
    "sses": "ss",
    "ss": "ss",
    "shes": "sh",
    "ches": "ch",
    "xes": "x",
    "oes": "o",
    "ies": "y",
    "lves": "lf",
    "s": "",
}
_MIN_SPELLING = 0.8  # similarity of a name and a suggestion


class TaxonLeaves(NamedTuple):
    """Leaves of a tree that stand for a taxon, which is at their mean.

    Attributes
    ----------
    name : str
        The taxon, or where the new leaf is, for messages.
    tree : Tree
        The tree, with a new leaf if it had none of the taxon.
    leaves : list of int
        Indices among the leaves of `tree`.
    """

    name: str
    tree: Tree
    leaves: list[int]


class Clades:
    """The taxa of a table, each followed by all that are in it.

    Parameters
    ----------
    table : str
        Lines of depth, taxid, scientific name and, optionally, another name; a header.
    common : str
        Lines of a common name and a scientific name, which overrule the names of `table`; a header.

    Attributes
    ----------
    names : list of str
        Scientific names.
    parents : list of int
        Index of the taxon around each; -1 for the root.
    ends : list of int
        End of the taxa in each: those of taxon i are i to ``ends[i] - 1``, itself included.
    """

    def __init__(self, table: str, common: str) -> None:
        rows = [line.split("\t") for line in table.splitlines()[1:]]
        self.names = [row[2] for row in rows]
        self.parents: list[int] = []
        self._groups = [row[3] if row[3:] else "" for row in rows]
        self._scientific = {simplify(row[2]): i for i, row in enumerate(rows)}
        self._taxids = {row[1]: i for i, row in enumerate(rows)}
        last: dict[int, int] = {-1: -1}  # taxon by depth
        self.ends = [len(rows)] * len(rows)
        for i, row in enumerate(rows):
            depth = int(row[0])
            for deeper in [other for other in last if other >= depth]:
                self.ends[last.pop(deeper)] = i
            self.parents.append(last[depth - 1])
            last[depth] = i
        self._common: dict[str, list[int]] = {}
        for i, group in enumerate(self._groups):
            parts = [part.strip() for part in group.replace("&", ",").split(",")]
            for text in {group, *(part for part in parts if part.endswith("s"))} - {""}:
                self._common.setdefault(_singular(simplify(text)), []).append(i)
        for line in common.splitlines()[1:]:
            text, name = line.split("\t")
            self._common[_singular(simplify(text))] = [self._scientific[simplify(name)]]

    def find(self, name: str) -> int | None:
        """Return the taxon of a scientific or common name or taxid, or None.

        Common names may be in the singular or plural. A common name of several taxa is that of the
        taxon around the others.

        Raises
        ------
        UnknownTaskError
            If none of them is around the others.
        """
        if (exact := self._find_exact(name)) is not None:
            return exact
        taxa = self._common.get(_singular(simplify(name)), [])
        if not taxa:
            return None
        if taxa[-1] >= self.ends[taxa[0]]:
            options = " or ".join(self.names[i] for i in taxa)
            raise UnknownTaskError(f"{name!r} could be {options}; write one of them", name)
        return taxa[0]

    def lineage(self, taxon: int) -> list[int]:
        """Return a taxon and those around it, the smallest first."""
        path = []
        while taxon >= 0:
            path.append(taxon)
            taxon = self.parents[taxon]
        return path

    def near(self, name: str) -> list[str]:
        """Return at most three names of similar spelling, each with its group."""
        key = simplify(name)
        taxon_of = {**self._scientific, **{key: taxa[0] for key, taxa in self._common.items()}}
        alike = get_close_matches(key, taxon_of, cutoff=_MIN_SPELLING)
        alike = alike or get_close_matches(key.partition(" ")[0], taxon_of, cutoff=_MIN_SPELLING)
        return list(dict.fromkeys(self._described(taxon_of[key]) for key in alike))

    def locate(self, tree: Tree, name: str) -> TaxonLeaves | None:
        """Find the leaves of a taxon in a tree, or give the tree a leaf of it.

        A species that the table lacks is located as its genus.

        The new leaf is beside the leaves of the smallest taxon around it that has some: at their
        last common ancestor, if that taxon divides there, else in the middle of the branch
        above.

        Parameters
        ----------
        tree : Tree
            Leaves that the table lacks are ignored.
        name : str
            Name of the taxon, and of a new leaf.

        Returns
        -------
        TaxonLeaves or None
            None if no table has the name, or the tree has no leaf of a taxon around or no branch
            above.

        Raises
        ------
        UnknownTaskError
            If it is a common name of several taxa, see :meth:`find`.
        """
        taxon = self.find(name)
        taxon = self._find_genus(name) if taxon is None else taxon
        if taxon is None:
            return None
        taxon_of = {}
        for leaf, label in enumerate(tree.leaf_names):
            match = self._find_exact(label)
            match = self._find_genus(label) if match is None else match
            if match is not None:
                taxon_of[leaf] = match
        for around in self.lineage(taxon):
            leaves = [leaf for leaf, i in taxon_of.items() if around <= i < self.ends[around]]
            if leaves:
                break
        else:
            return None
        if around == taxon:
            return TaxonLeaves(self.names[taxon], tree, leaves)
        depth = len(self.lineage(around))
        parts = {self.lineage(taxon_of[leaf])[-depth - 1 :][0] for leaf in leaves}  # just below it
        grown = _attach(tree, leaves, name, is_beside=len(parts) == 1)
        if grown is None:
            return None
        return TaxonLeaves(f"one of {self.names[around]}", grown, [grown.leaf_names.index(name)])

    def _find_exact(self, name: str) -> int | None:
        """Return the taxon of a scientific name or taxid, or of a name of a shipped organism."""
        key = simplify(name)
        number = taxid_of(key) or key
        return self._taxids.get(number, self._scientific.get(key))

    def _find_genus(self, name: str) -> int | None:
        """Return the taxon of the first word of a name, or None."""
        return self._scientific.get(simplify(name).partition(" ")[0])

    def _described(self, taxon: int) -> str:
        """Return the name of a taxon, with the common name of the nearest one around it."""
        groups = (self._groups[i] for i in self.lineage(taxon))
        group = next(filter(None, groups), "")
        return f"{self.names[taxon]!r} ({group})" if group else repr(self.names[taxon])


@functools.cache
def shipped_clades() -> Clades:
    """Read the shipped tables."""
    return Clades(catalogue.table("clades.tsv") or "", catalogue.table("common_names.tsv") or "")


def _attach(tree: Tree, leaves: list[int], label: str, *, is_beside: bool) -> Tree | None:
    """Return the tree with a new leaf, as deep as some leaves.

    It is at their last common ancestor or, if it `is_beside` them, in the middle of the branch
    above, None if there is no such branch.
    """
    members = tree.membership()
    node = int(np.flatnonzero(members[:, leaves].all(axis=1))[-1])
    lengths = tree.filled_lengths()
    depths = _depths(tree, lengths)
    age = float(depths[tree.leaves[np.flatnonzero(members[node])]].mean() - depths[node])
    parents = tree.parents.tolist()
    labels = [*tree.labels]
    if is_beside:
        if node == 0:
            return None
        half = lengths[node] / 2.0
        lengths[node] = half
        parents.append(parents[node])
        parents[node] = node = len(labels)
        lengths = np.append(lengths, half)
        labels.append("")
        age += half
    return Tree(np.array([*parents, node]), np.append(lengths, age), (*labels, label), tree.source)


def _depths(tree: Tree, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of every node from the root."""
    depths = lengths.copy()
    for i in range(1, len(tree)):
        depths[i] += depths[tree.parents[i]]
    return depths


def _singular(key: str) -> str:
    """Return a simplified English name in the singular.

    Examples
    --------
    >>> _singular("fruit flies"), _singular("mosses"), _singular("moss"), _singular("mosquitoes")
    ('fruit fly', 'moss', 'moss', 'mosquito')
    """
    ending = next((ending for ending in _ENDINGS if key.endswith(ending)), "")
    return key.removesuffix(ending) + _ENDINGS.get(ending, "")
