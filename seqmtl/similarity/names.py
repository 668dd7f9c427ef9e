"""Match names of organisms and tasks in their usual spellings."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from seqmtl.exceptions import UnknownTaskError
from seqmtl.similarity import catalogue

_SHOWN = 5


def match_names(wanted: Iterable[str], known: Sequence[str], where: str) -> list[int]:
    """Find every wanted name among the known ones.

    The first rule with a match decides: the same name; the same name ignoring case, blanks,
    underscores, dots and hyphens; the genus abbreviated to its initial on one side
    (``c_elegans`` and ``Caenorhabditis elegans``); the same organism by NCBI taxid, scientific
    or common name in the shipped table of organisms (``9606``, ``human``, ``h_sapiens``).

    Parameters
    ----------
    wanted : iterable of str
        Names to look for.
    known : sequence of str
        Names to search, all different.
    where : str
        What the known names belong to, for messages: "the tree metazoa".

    Returns
    -------
    list of int
        Index of every wanted name in `known`.

    Raises
    ------
    UnknownTaskError
        If a name is missing or ambiguous (the message lists near matches), or two wanted names
        match the same known one.
    """
    index = NameIndex(known)
    names = [str(name) for name in wanted]
    order: list[int] = []
    owner: dict[int, str] = {}
    for name in names:
        found = index.find(name)
        if len(found) > 1:
            options = ", ".join(repr(str(known[i])) for i in found[:_SHOWN])
            raise UnknownTaskError(
                f"task {name!r} is ambiguous in {where}: it could be {options}; write it in full"
            )
        if not found:
            lost = [repr(name) for name in names if not index.find(name)]
            are = f"task {lost[0]} is" if len(lost) == 1 else f"tasks {_shown(lost)} are"
            raise UnknownTaskError(f"{are} not in {where}; {index.hint(name)}")
        if found[0] in owner:
            raise UnknownTaskError(
                f"task {name!r} is given twice: it and {owner[found[0]]!r} are both "
                f"{str(known[found[0]])!r} in {where}; leave one of them out"
            )
        owner[found[0]] = name
        order.append(found[0])
    return order


class NameIndex:
    """Known names, indexed for the rules of :func:`match_names`.

    Parameters
    ----------
    known : sequence of str
        Names to search.
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.known = [str(name) for name in known]
        self._exact = _positions(enumerate(self.known))

    def find(self, name: str) -> list[int]:
        """Return the indices by the first rule with a match; several mean the name is ambiguous."""
        if name in self._exact:
            return self._exact[name]
        key = simplify(name)
        short = abbreviate(key)
        loose, abbreviated, organisms = self._tables
        found = loose.get(key, [])
        if not found and short:
            # an initial matches every genus that starts with it, a genus only its own initial
            found = abbreviated.get(short, []) if key == short else loose.get(short, [])
        if not found:
            found = sorted({i for taxid in taxids(key) for i in organisms.get(taxid, [])})
        return found

    def hint(self, name: str) -> str:
        """List near matches among the known names, or the first few names."""
        simple = {simplify(known): known for known in reversed(self.known)}
        near = difflib.get_close_matches(simplify(name), simple, n=3, cutoff=0.5)
        if near:
            return f"did you mean {' or '.join(repr(simple[key]) for key in near)}?"
        shown = ", ".join(map(repr, self.known[:_SHOWN]))
        return f"it has {shown}" + (", ..." if len(self.known) > _SHOWN else "")

    @functools.cached_property
    def _tables(self) -> tuple[dict[str, list[int]], dict[str, list[int]], dict[str, list[int]]]:
        """Indices by simplified name, by abbreviated name, and by taxid."""
        keys = [simplify(name) for name in self.known]
        loose = _positions(enumerate(keys))
        abbreviated = _positions((i, short) for i, k in enumerate(keys) if (short := abbreviate(k)))
        organisms = _positions((i, taxid) for i, key in enumerate(keys) for taxid in taxids(key))
        return loose, abbreviated, organisms


def _shown(texts: Sequence[str]) -> str:
    """Join texts, the first few if there are many."""
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return ", ".join([*texts[:_SHOWN], *more])


def simplify(name: str) -> str:
    """Return a name in lower case, with underscores, dots and hyphens as single blanks.

    Examples
    --------
    >>> simplify("Homo_sapiens"), simplify("C. elegans")
    ('homo sapiens', 'c elegans')
    """
    return re.sub(r"[\s_.-]+", " ", name).strip().casefold()


def abbreviate(key: str) -> str:
    """Abbreviate the genus of a simplified binomial to a letter; return "" for other names."""
    found = re.fullmatch(r"([^\W\d_])[^\W\d_]*( [^\W\d_]{2,}(?: .*)?)", key)
    return found[1] + found[2] if found else ""


def taxids(key: str) -> set[str]:
    """Return the taxids of a simplified name, or else of its abbreviation."""
    by_name, by_initial = _organisms()
    return by_name.get(key) or by_initial.get(key) or set()


@functools.cache
def _organisms() -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Read the shipped table (taxid, name, synonyms) to taxids by name and by abbreviation."""
    by_name: dict[str, set[str]] = {}
    by_initial: dict[str, set[str]] = {}
    for line in (catalogue.table("organisms.tsv") or "").splitlines()[1:]:
        taxid, name, synonyms, *_ = [*line.split("\t"), "", ""]
        if not taxid.strip() or line.startswith("#"):
            continue
        for text in (taxid, name, *synonyms.split("|")):
            by_name.setdefault(simplify(text), set()).add(taxid)
        by_initial.setdefault(abbreviate(simplify(name)), set()).add(taxid)
    by_name.pop("", None)
    by_initial.pop("", None)
    return by_name, by_initial


def _positions(pairs: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Collect the indices of every key."""
    found: dict[str, list[int]] = {}
    for i, key in pairs:
        found.setdefault(key, []).append(i)
    return found
