"""Trees of selected organisms from an NCBI taxonomy dump.

The dump has millions of nodes and names, so both files are streamed: two numbers are kept per node,
and only the requested names.
"""

from __future__ import annotations

import difflib
import itertools
import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import abbreviate, identify, simplify, taxid_of, tell_matches
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.files.streams import numbered_lines
from seqmtl.similarity.trees import Tree

_SEPARATOR = "\t|\t"
_SHOWN = 5


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
        that is an ancestor of another becomes a leaf below its own node.

    Raises
    ------
    InputFormatError
        If a file is missing or malformed, or parents are missing or form a cycle.
    UnknownTaskError
        If an organism is unknown (the message lists near matches), ambiguous (it lists the
        taxids) or repeated.
    """
    folder = Path(directory)
    wanted = [str(o) if isinstance(o, str) else int(o) for o in organisms]
    if not wanted:
        raise ValueError("organisms must be at least one name or taxid, got none")
    parents = _Parents.read(folder / "nodes.dmp")
    found = _resolve(wanted, parents, folder)
    lineages = [parents.lineage(taxid) for taxid in found]
    above = _clades(lineages)
    unnamed = {taxid for taxid in {*above, *found} if not isinstance(found.get(taxid), str)}
    unnamed |= {taxid for taxid in found if taxid in above.values()}
    scientific = _scientific_names(folder / "names.dmp", unnamed)
    return _tree(found, above, scientific, folder.resolve().name)


@dataclass
class _Parents:
    """Parent of every taxid, by binary search in a sorted array."""

    path: Path
    ids: NDArray[np.int64]
    parents: NDArray[np.int64]

    @classmethod
    def read(cls, path: Path) -> _Parents:
        ids, parents = array("q"), array("q")
        for line, text in _lines(path):
            fields = text.split(_SEPARATOR, 2)
            try:
                ids.append(int(fields[0]))
                parents.append(int(fields[1]))
            except (ValueError, IndexError, OverflowError) as error:
                raise _malformed(path, line, "taxid | parent | rank") from error
        if not ids:
            raise InputFormatError("must have at least one node, got none", path=str(path))
        order = np.argsort(ids, kind="stable")
        nodes = cls(path, np.asarray(ids)[order], np.asarray(parents)[order])
        doubled = np.flatnonzero(nodes.ids[1:] == nodes.ids[:-1])
        if doubled.size:
            raise InputFormatError(
                f"taxids must be unique, got {nodes.ids[doubled[0]]} twice; download a fresh dump",
                path=str(path),
                line=int(order[doubled[0] + 1]) + 1,
            )
        return nodes

    def __contains__(self, taxid: int) -> bool:
        return self._parent(taxid) is not None

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
                raise InputFormatError(
                    f"every taxid and parent must be a node, got {below}; download a fresh dump",
                    path=str(self.path),
                )
            if parent in seen:
                raise InputFormatError(
                    f"parents must lead to the root, got a cycle through taxid {parent}; download "
                    "a fresh dump",
                    path=str(self.path),
                )
            path.append(parent)
            seen.add(parent)
        return path[::-1]

    def _parent(self, taxid: int) -> int | None:
        i = int(np.searchsorted(self.ids, taxid))
        return int(self.parents[i]) if i < len(self.ids) and self.ids[i] == taxid else None


@dataclass
class _Hits:
    """Names found in the dump for one wanted name, by taxid."""

    scientific: dict[int, str] = field(default_factory=dict)
    other: dict[int, str] = field(default_factory=dict)
    abbreviated: dict[int, str] = field(default_factory=dict)


def _resolve(wanted: Sequence[str | int], parents: _Parents, folder: Path) -> dict[int, str | int]:
    """Find the taxid of every organism, and return the organisms by taxid."""
    names = [name for name in wanted if isinstance(name, str) and not name.strip().isdecimal()]
    hits = _search(folder / "names.dmp", names) if names else {}
    merged = _Merged(folder / "merged.dmp")
    found: dict[int, str | int] = {}
    for organism in wanted:
        if isinstance(organism, str) and organism in hits:
            taxid = _choose(organism, hits[organism], parents, folder)
        else:
            taxid = merged.follow(int(organism), parents)
        if taxid in found:
            raise UnknownTaskError(
                f"task {str(organism)!r} is given twice: it and {str(found[taxid])!r} are both "
                f"taxid {taxid}; leave one of them out"
            )
        found[taxid] = organism
    return found


def _search(path: Path, wanted: Sequence[str]) -> dict[str, _Hits]:
    """Scan all names once, and keep the taxids of the wanted ones."""
    hits = {name: _Hits() for name in wanted}
    by_key: dict[str, list[_Hits]] = {}
    for name in wanted:
        for key in {simplify(name), identify(simplify(name))}:
            by_key.setdefault(key, []).append(hits[name])
    initials = {key for key in by_key if key == abbreviate(key) == identify(key)}
    for taxid, name, is_scientific in _names(path):
        key = simplify(name)
        for hit in by_key.get(key, ()):
            (hit.scientific if is_scientific else hit.other)[int(taxid)] = name
        if initials and is_scientific and (short := abbreviate(key)) in initials:
            for hit in by_key[short]:
                hit.abbreviated[int(taxid)] = name
    return hits


def _choose(name: str, hits: _Hits, parents: _Parents, folder: Path) -> int:
    """Return the taxid by the first rule with a match."""
    own = taxid_of(simplify(name))
    shipped = {int(own): own} if own and int(own) in parents else {}
    matches = hits.scientific or shipped or hits.other or hits.abbreviated
    found = sorted(matches)
    if len(found) == 1:
        match = matches[found[0]] if matches is not hits.other else str(found[0])
        tell_matches([(name, match)], f"the taxonomy {folder.name}")
        return found[0]
    if found:
        raise UnknownTaskError(
            f"task {name!r} is ambiguous in the taxonomy {folder.name}: it could be taxid "
            f"{', '.join(map(str, found[:_SHOWN]))}; give the taxid"
        )
    near = _near(name, folder / "names.dmp")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "give its taxid"
    raise UnknownTaskError(f"task {name!r} is not in the taxonomy {folder.name}; {hint}")


def _near(name: str, path: Path) -> list[str]:
    """Return similarly spelled names of the dump with the same first letter."""
    key = simplify(name)
    candidates = {
        other
        for _, other, _ in _names(path)
        if abs(len(other) - len(key)) <= 2 and other[:1].casefold() == key[:1]
    }
    return difflib.get_close_matches(name, sorted(candidates), n=3, cutoff=0.7)


class _Merged:
    """Merged taxids; the file is read when a taxid is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._into: dict[int, int] | None = None

    def follow(self, taxid: int, parents: _Parents) -> int:
        """Return the taxid itself or the one it was merged into.

        Raises
        ------
        UnknownTaskError
            If neither is in the dump.
        """
        if taxid in parents:
            return taxid
        if self._into is None:
            self._into = dict(self._read()) if self.path.exists() else {}
        into = self._into.get(taxid)
        if into is None or into not in parents:
            raise UnknownTaskError(
                f"task '{taxid}' is not in the taxonomy {self.path.parent.name}; look up its "
                "taxid at NCBI, or download a newer dump"
            )
        return into

    def _read(self) -> Iterator[tuple[int, int]]:
        for line, text in _lines(self.path):
            try:
                old, new = text.rstrip("\t|\r\n").split(_SEPARATOR)
                yield int(old), int(new)
            except ValueError as error:
                raise _malformed(self.path, line, "old taxid | new taxid") from error


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


def _scientific_names(path: Path, wanted: Collection[int]) -> dict[int, str]:
    """Read the scientific names of some taxids."""
    keys = set(map(str, wanted))
    names = _names(path) if keys else ()
    return {int(taxid): name for taxid, name, scientific in names if scientific and taxid in keys}


def _tree(
    found: dict[int, str | int], above: dict[int, int], scientific: dict[int, str], source: str
) -> Tree:
    """Build the tree; an organism that is an ancestor of others gets a leaf below its node."""
    number = {taxid: i for i, taxid in enumerate(above)}
    number[-1] = -1
    inner = set(above.values())
    parents = [number[parent] for parent in above.values()]
    labels = ["" if taxid in inner else _label(taxid, found, scientific) for taxid in above]
    for taxid in found.keys() & inner:
        parents.append(number[taxid])
        labels.append(_label(taxid, found, scientific))
    taken = set(labels)
    for taxid, i in number.items():
        if taxid in inner and taxid >= 0:
            name = scientific.get(taxid, f"taxid {taxid}")
            labels[i] = f"{name} ({taxid})" if name in taken else name
            taken.add(labels[i])
    return Tree.from_parents(parents, labels, source=source)


def _label(taxid: int, found: dict[int, str | int], scientific: dict[int, str]) -> str:
    """Return an organism as given, or its scientific name for an int."""
    organism = found[taxid]
    return organism if isinstance(organism, str) else scientific.get(taxid, str(taxid))


def _names(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield taxid, name, and whether the name is the scientific one."""
    for line, text in _lines(path):
        fields = text.split(_SEPARATOR)
        if len(fields) != 4 or not (fields[0].isdecimal() and len(fields[0]) < 19):
            raise _malformed(path, line, "taxid | name | unique name | class")
        yield fields[0], fields[1], fields[3].startswith("scientific name")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a dump with their 1-based numbers."""
    try:
        for line, text in numbered_lines(path):
            yield line, text.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputFormatError(
            f"cannot be read as a file of the NCBI taxonomy: {error}; unpack taxdump.tar.gz there",
            path=str(path),
        ) from error


def _malformed(path: Path, line: int, form: str) -> InputFormatError:
    return InputFormatError(
        f"a line must be {form} with tab, bar, tab between them; download a fresh dump",
        path=str(path),
        line=line,
    )
