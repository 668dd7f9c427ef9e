"""Trees of selected organisms from an NCBI taxonomy dump.

The dump has millions of nodes and names, so both files are streamed; two numbers per node are
stored, and only the requested names.
"""

from __future__ import annotations

import difflib
import itertools
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from seqmtl._names import abbreviate, identify, log_matches, simplify, taxid_of
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.files.streams import numbered_lines
from seqmtl.relations.trees import Tree

Row = TypeVar("Row")

_SEPARATOR = "\t|\t"
_EXAMPLES = 5
_MAX_DIGITS = 18  # digits of a taxid


def read_ncbi_taxonomy(directory: str | os.PathLike[str], organisms: Iterable[str | int]) -> Tree:
    """Read the tree of some organisms from an NCBI taxonomy dump (``taxdump``).

    Parameters
    ----------
    directory : str or path-like
        Folder with the unpacked ``nodes.dmp`` and ``names.dmp``, and optionally ``merged.dmp``.
    organisms : iterable of str or int
        Taxids, or names ignoring case, blanks, underscores, dots and hyphens. The first match
        decides, in this order: scientific names; the shipped table of organisms (``human``,
        ``h_sapiens``); synonyms and common names of the dump; its scientific names with an
        abbreviated genus that the table lacks. Merged taxids are followed.

    Returns
    -------
    Tree
        Leaves have the given names (the scientific name for an int), inner nodes their
        scientific names; there are no lengths. Nodes with one child are dropped. An organism
        that is an ancestor of another becomes a leaf below its node.

    Raises
    ------
    InputFormatError
        If a file is missing or malformed, or parents are missing or form a cycle.
    UnknownTaskError
        If an organism is unknown (the message lists near matches), ambiguous (it lists the
        taxids) or repeated.
    """
    requested = [str(o) if isinstance(o, str) else int(o) for o in organisms]
    if not requested:
        raise ValueError("organisms must be at least one name or taxid, got none")
    dump = _Dump(Path(directory))
    organism_of = dump.resolve(requested)
    above = _clades([dump.lineage(taxid) for taxid in organism_of])
    return _tree(organism_of, above, dump.scientific_names(above), dump.folder.resolve().name)


#: Names of the dump that match one wanted name, by taxid: scientific, other, and abbreviated ones.
_Hits = tuple[dict[int, str], dict[int, str], dict[int, str]]


class _Dump:
    """The files of a dump, with the parent of every taxid in sorted arrays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ids, parents = array("q"), array("q")
        for taxid, parent in self._read("nodes.dmp", "taxid | parent | rank", _pair_of):
            ids.append(taxid)
            parents.append(parent)
        if not ids:
            raise self._error("must have at least one node, got none")
        order = np.argsort(ids, kind="stable")
        self._ids, self._parents = np.asarray(ids)[order], np.asarray(parents)[order]
        duplicates = np.flatnonzero(self._ids[1:] == self._ids[:-1])
        if duplicates.size:
            raise self._error(
                f"taxids must be unique, got {self._ids[duplicates[0]]} twice; download a fresh "
                "dump",
                int(order[duplicates[0] + 1]) + 1,
            )

    def lineage(self, taxid: int) -> list[int]:
        """Return the taxids from the root to this one.

        Raises
        ------
        InputFormatError
            If a parent is missing, or the parents form a cycle.
        """
        path = [taxid]
        seen = {taxid}
        while (parent := self._parent(path[-1])) != path[-1]:
            if parent is None:
                below = f"the missing parent {path[-1]} of {path[-2]}" if path[1:] else taxid
                raise self._error(
                    f"every taxid and parent must be a node, got {below}; download a fresh dump"
                )
            if parent in seen:
                raise self._error(
                    f"parents must lead to the root, got a cycle through taxid {parent}; download "
                    "a fresh dump"
                )
            path.append(parent)
            seen.add(parent)
        return path[::-1]

    def resolve(self, requested: Sequence[str | int]) -> dict[int, str | int]:
        """Find the taxid of every organism, and return the organisms by taxid.

        Raises
        ------
        UnknownTaskError
            If an organism is unknown, ambiguous or repeated.
        """
        names = [
            name for name in requested if isinstance(name, str) and not name.strip().isdecimal()
        ]
        hits = self._search(names) if names else {}
        organism_of: dict[int, str | int] = {}
        for organism in requested:
            if isinstance(organism, str) and organism in hits:
                taxid = self._choose(organism, hits[organism])
            else:
                taxid = self._follow(int(organism))
            if taxid in organism_of:
                raise UnknownTaskError(
                    f"task {str(organism)!r} is given twice: it and "
                    f"{str(organism_of[taxid])!r} are both taxid {taxid}; leave one of them out",
                    str(organism),
                    str(organism_of[taxid]),
                )
            organism_of[taxid] = organism
        return organism_of

    def scientific_names(self, requested: Collection[int]) -> dict[int, str]:
        """Read the scientific names of some taxids."""
        keys = set(map(str, requested))
        return {
            int(taxid): name
            for taxid, name, is_scientific in self._names()
            if is_scientific and taxid in keys
        }

    def _parent(self, taxid: int) -> int | None:
        i = int(np.searchsorted(self._ids, taxid))
        return int(self._parents[i]) if i < len(self._ids) and self._ids[i] == taxid else None

    def _search(self, requested: Sequence[str]) -> dict[str, _Hits]:
        """Scan all names once, and keep the taxids of the wanted ones."""
        hits: dict[str, _Hits] = {name: ({}, {}, {}) for name in requested}
        by_key: dict[str, list[_Hits]] = {}
        for name in requested:
            for key in {simplify(name), identify(simplify(name))}:
                by_key.setdefault(key, []).append(hits[name])
        initials = {key for key in by_key if key == abbreviate(key) == identify(key)}
        for taxid, name, is_scientific in self._names():
            key = simplify(name)
            for hit in by_key.get(key, ()):
                hit[not is_scientific][int(taxid)] = name
            if initials and is_scientific and (abbreviated := abbreviate(key)) in initials:
                for hit in by_key[abbreviated]:
                    hit[2][int(taxid)] = name
        return hits

    def _choose(self, name: str, hits: _Hits) -> int:
        """Return the taxid by the first rule with a match."""
        number = taxid_of(simplify(name))
        shipped = {int(number): number} if number and self._parent(int(number)) is not None else {}
        scientific, other, abbreviated = hits
        matches = scientific or shipped or other or abbreviated
        taxids = sorted(matches)
        where = f"the taxonomy {self.folder.name}"
        if len(taxids) == 1:
            match = matches[taxids[0]] if matches is not other else str(taxids[0])
            log_matches([(name, match)], where)
            return taxids[0]
        if taxids:
            raise UnknownTaskError(
                f"task {name!r} is ambiguous in {where}: it could be taxid "
                f"{', '.join(map(str, taxids[:_EXAMPLES]))}; give the taxid",
                name,
            )
        similar = self._similar_names(name)
        hint = f"did you mean {' or '.join(map(repr, similar))}?" if similar else "give its taxid"
        raise UnknownTaskError(f"task {name!r} is not in {where}; {hint}", name)

    def _similar_names(self, name: str) -> list[str]:
        """Return similarly spelled names of the dump with the same first letter."""
        key = simplify(name)
        candidates = {
            other
            for _, other, _ in self._names()
            if abs(len(other) - len(key)) <= 2 and other[:1].casefold() == key[:1]
        }
        return difflib.get_close_matches(name, sorted(candidates), n=3, cutoff=0.7)

    def _follow(self, taxid: int) -> int:
        """Return the taxid itself or the one it was merged into."""
        if self._parent(taxid) is not None:
            return taxid
        if (self.folder / "merged.dmp").exists():
            for merged, current in self._read("merged.dmp", "old taxid | new taxid", _pair_of):
                if merged == taxid and self._parent(current) is not None:
                    return current
        raise UnknownTaskError(
            f"task '{taxid}' is not in the taxonomy {self.folder.name}; look up its taxid at NCBI, "
            "or download a newer dump",
            str(taxid),
        )

    def _names(self) -> Iterator[tuple[str, str, bool]]:
        """Yield taxid, name, and whether the name is the scientific one."""
        return self._read("names.dmp", "taxid | name | unique name | class", _name_of)

    def _read(self, name: str, form: str, parse: Callable[[str], Row]) -> Iterator[Row]:
        """Yield the parsed lines of a file."""
        path = self.folder / name
        try:
            for line, raw in numbered_lines(path):
                text = raw.decode()
                try:
                    row = parse(text)
                except (ValueError, IndexError) as error:
                    message = f"a line must be {form} with tab, bar, tab between them; download a "
                    raise self._error(f"{message}fresh dump", line, name) from error
                yield row
        except (OSError, UnicodeDecodeError) as error:
            fault = getattr(error, "strerror", None) or error
            message = f"cannot be read as a file of the NCBI taxonomy: {fault}; unpack "
            raise self._error(f"{message}taxdump.tar.gz there", name=name) from error

    def _error(
        self, message: str, line: int | None = None, name: str = "nodes.dmp"
    ) -> InputFormatError:
        return InputFormatError(message, path=str(self.folder / name), line=line)


def _pair_of(text: str) -> tuple[int, int]:
    one, other = text.rstrip("\t|\r\n").split(_SEPARATOR, 2)[:2]
    if len(one) > _MAX_DIGITS or len(other) > _MAX_DIGITS:
        raise ValueError("too many digits")
    return int(one), int(other)


def _name_of(text: str) -> tuple[str, str, bool]:
    taxid, name, _, kind = text.split(_SEPARATOR)
    if len(taxid) > _MAX_DIGITS or not taxid.isdecimal():
        raise ValueError("not a taxid")
    return taxid, name, kind.startswith("scientific name")


def _clades(lineages: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return every organism and every branching taxid, each with its nearest ancestor among them.

    The ancestor of the first is -1.
    """
    children: dict[int, set[int]] = {}
    for path in lineages:
        for parent, child in itertools.pairwise(path):
            children.setdefault(parent, set()).add(child)
    organisms = {path[-1] for path in lineages}
    above: dict[int, int] = {}
    for path in lineages:
        last = -1
        for taxid in path:
            if taxid in organisms or len(children[taxid]) > 1:
                above.setdefault(taxid, last)
                last = taxid
    return above


def _tree(
    organism_of: dict[int, str | int],
    above: dict[int, int],
    scientific: dict[int, str],
    source: str,
) -> Tree:
    """Build the tree; an organism that is an ancestor of others gets a leaf below its node."""
    number = {taxid: i for i, taxid in enumerate(above)}
    number[-1] = -1
    inner = set(above.values())
    parents = [number[parent] for parent in above.values()]
    labels = ["" if taxid in inner else _label(taxid, organism_of, scientific) for taxid in above]
    for taxid in organism_of.keys() & inner:
        parents.append(number[taxid])
        labels.append(_label(taxid, organism_of, scientific))
    taken = set(labels)
    for taxid, i in number.items():
        if taxid in inner and taxid >= 0:
            name = scientific.get(taxid, f"taxid {taxid}")
            labels[i] = f"{name} ({taxid})" if name in taken else name
            taken.add(labels[i])
    return Tree(np.array(parents), np.full(len(parents), np.nan), tuple(labels), source)


def _label(taxid: int, organism_of: dict[int, str | int], scientific: dict[int, str]) -> str:
    """Return an organism as given, or its scientific name for an int."""
    organism = organism_of[taxid]
    return organism if isinstance(organism, str) else scientific.get(taxid, str(taxid))
