"""Clades, genera and common names of the shipped table, and their leaves in a tree.

The table is from the NCBI taxonomy, down to families, genera and species with genomes. Of other
families and genera it has the name, and the smallest of these taxa around it. It has no
divergence times: a taxon without a leaf in the tree becomes a new leaf beside the leaves of the
smallest clade of the table that has any.
"""

from __future__ import annotations

import functools
import logging
import re
from typing import NamedTuple

import numpy as np

from seqmtl._names import is_typo, simplify, taxid_of
from seqmtl.exceptions import UnknownTaskError
from seqmtl.files import catalogue
from seqmtl.relations.trees import Tree

logger = logging.getLogger(__name__)

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
_MAX_NEAR = 3  # suggestions
_SHORT = 5  # letters; below, names of the table are alike by chance


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
        Lines of depth, taxid, scientific name and, optionally, another name, and the names of taxa
        within that have no line, separated by blanks. ``Genus:species,species`` is a genus whose
        name is also that of another. A header.
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
        self._within = [(i, row[4]) for i, row in enumerate(rows) if row[4:]]
        self._scientific = {simplify(row[2]): i for i, row in enumerate(rows)}
        self._taxids = {row[1]: i for i, row in enumerate(rows)}
        path: list[int] = []  # from the root
        self.ends = [len(rows)] * len(rows)
        for i, row in enumerate(rows):
            depth = int(row[0])
            for ended in path[depth:]:
                self.ends[ended] = i
            self.parents.append(path[depth - 1] if depth else -1)
            path[depth:] = [i]
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

    def taxa_around(self, name: str) -> list[str]:
        """Return the names of the taxa around an organism or a taxon, the smallest first.

        There are none if it is unknown, or a common name of several taxa.
        """
        taxon = self._find_exact(name)
        taxon = self._find_reading(name)[0] if taxon is None else taxon
        taxa = self._common.get(_singular(simplify(name)), []) if taxon is None else [taxon]
        return [self.names[i] for i in self.lineage(taxa[0])] if len(taxa) == 1 else []

    def near(self, name: str) -> list[str]:
        """Return at most three names that differ by a typing error, each with its group."""
        key = simplify(name)
        taxon_of = {
            **self._unlisted[0],
            **{key: taxa[0] for key, taxa in self._common.items()},
            **self._scientific,
        }
        texts = [text for text in (key, key.partition(" ")[0]) if len(text) >= _SHORT]
        alike = [other for text in texts for other in taxon_of if is_typo(text, other)]
        described = [self._described(other, taxon_of[other]) for other in alike]
        return list(dict.fromkeys(described))[:_MAX_NEAR]

    def locate(self, tree: Tree, name: str) -> TaxonLeaves | None:
        """Find the leaves of a taxon in a tree, or give the tree a leaf of it.

        A name that the table lacks is located by the first of its :func:`readings` that it has. A
        genus whose name several have is the one with most species, which is logged.

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
        taxon, reading, is_listed = self.find(name), simplify(name), True
        if taxon is None:
            taxon, reading, is_listed = self._find_reading(name)
        if taxon is None:
            return None
        self._log_homonyms(name, reading, self.parents[taxon] if is_listed else taxon)
        taxon_of = {}
        for leaf, label in enumerate(tree.leaf_names):
            match = self._find_exact(label)
            match = self._find_reading(label)[0] if match is None else match
            if match is not None:
                taxon_of[leaf] = match
        for around in self.lineage(taxon):
            leaves = [leaf for leaf, i in taxon_of.items() if around <= i < self.ends[around]]
            if leaves:
                break
        else:
            return None
        if around == taxon and is_listed:
            return TaxonLeaves(self.names[taxon], tree, leaves)
        depth = len(self.lineage(around))
        parts = {self.lineage(taxon_of[leaf])[-depth - 1 :][0] for leaf in leaves}  # just below it
        grown = _attach(tree, leaves, name, is_beside=len(parts) == 1)
        if grown is None:
            return None
        return TaxonLeaves(f"one of {self.names[around]}", grown, [grown.leaf_names.index(name)])

    def is_of_namesake(self, name: str) -> bool:
        """Tell whether a species is of the less known of several genera with the same name."""
        around, homonyms = self._unlisted
        *texts, genus = readings(name)
        return genus in homonyms and any(text in around for text in texts)

    def _find_exact(self, name: str) -> int | None:
        """Return the taxon of a scientific name or taxid, or of a name of a shipped organism."""
        key = simplify(name)
        number = taxid_of(key) or key
        return self._taxids.get(number, self._scientific.get(key))

    def _find_reading(self, name: str) -> tuple[int | None, str, bool]:
        """Return the first taxon that a reading names, or the one around it; the reading; which."""
        for reading in readings(name):
            if reading in self._scientific:
                return self._scientific[reading], reading, True
            if reading in self._unlisted[0]:
                return self._unlisted[0][reading], reading, False
        return None, "", False

    @functools.cached_property
    def _unlisted(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The taxon around each name without a line, and around genera of the same name."""
        around: dict[str, int] = {}
        homonyms: dict[str, list[int]] = {}
        for i, text in self._within:
            for entry in text.casefold().split(" "):
                name, colon, species = entry.replace("-", " ").partition(":")
                if colon:
                    homonyms.setdefault(name, []).append(i)
                    around.update((f"{name} {word}", i) for word in species.split(","))
                else:
                    around[name] = i
        return around, homonyms

    def _log_homonyms(self, name: str, reading: str, around: int) -> None:
        """Log the genera of a name, if there are several; a warning if no species is given."""
        others = self._unlisted[1].get(reading, [])
        if others:
            logger.log(
                logging.WARNING if reading == simplify(name) else logging.INFO,
                "%r could be in %s: taken as in %s; name a family or order if that is wrong",
                name,
                " or ".join(dict.fromkeys(self.names[i] for i in (around, *others))),
                self.names[around],
            )

    def _described(self, key: str, taxon: int) -> str:
        """Return a name, with the common name of the nearest taxon around it."""
        name = key.capitalize() if key in self._unlisted[0] else self.names[taxon]
        groups = (self._groups[i] for i in self.lineage(taxon))
        group = next(filter(None, groups), "")
        return f"{name!r} ({group})" if group else repr(name)


def readings(name: str) -> list[str]:
    """Return a simplified name without brackets, then its first two words, then its first.

    Examples
    --------
    >>> readings("[Candida] auris (strain B8441)"), readings("Phytomonas sp. EM1")
    (['candida auris', 'candida'], ['phytomonas sp em1', 'phytomonas sp', 'phytomonas'])
    """
    words = simplify(re.sub(r"\(.*?\)|[\[\]'\"]", " ", name)).split(" ")
    return list(dict.fromkeys(" ".join(words[:n]) for n in (len(words), 2, 1)))


@functools.cache
def shipped_clades() -> Clades:
    """Read the shipped tables."""
    return Clades(catalogue.table("clades.tsv"), catalogue.table("common_names.tsv"))


def _attach(tree: Tree, leaves: list[int], label: str, *, is_beside: bool) -> Tree | None:
    """Return the tree with a new leaf, as deep as some leaves.

    It is at their last common ancestor or, if it `is_beside` them, in the middle of the branch
    above, None if there is no such branch.
    """
    members = tree.membership()
    node = int(np.flatnonzero(members[:, leaves].all(axis=1))[-1])
    lengths, depths = tree.filled_lengths(), tree.depths()
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


def _singular(key: str) -> str:
    """Return a simplified English name in the singular.

    Examples
    --------
    >>> _singular("fruit flies"), _singular("mosses"), _singular("moss"), _singular("mosquitoes")
    ('fruit fly', 'moss', 'moss', 'mosquito')
    """
    ending = next((ending for ending in _ENDINGS if key.endswith(ending)), "")
    return key.removesuffix(ending) + _ENDINGS.get(ending, "")
