"""One rule for the names of organisms and tasks, used wherever two names are compared."""

from __future__ import annotations

import difflib
import functools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from seqmtl._messages import is_news
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.files import catalogue

logger = logging.getLogger(__name__)

_SHOWN = 5
_TABLES = ("organisms.tsv", "other_organisms.tsv")


def match_names(wanted: Iterable[str], known: Sequence[str], where: str) -> list[int]:
    """Find every wanted name among the known ones.

    The first rule with a match decides:

    1. the same name;
    2. the same name ignoring case, blanks, underscores, dots and hyphens;
    3. the same organism by NCBI taxid, scientific or common name in the shipped tables. An
       initial stands for the genus it has there: ``c_elegans`` is *Caenorhabditis elegans*, and
       so never *Cunninghamella elegans*;
    4. an initial that the tables lack, and a genus that starts with it, if no other known name
       fits (``x_bocki`` and ``Xenoturbella bocki``).

    A wanted initial that fits several known names is ambiguous. Different genera never match
    unless the tables call them one organism. Each match that is not by rule 1 is logged, once.

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
    tell_matches(((name, str(known[i])) for i, name in owner.items()), where)
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
        if key in self._keys:
            return self._keys[key]
        short = abbreviate(key)
        found = self._organisms.get(self._organism(key), [])
        if key == short and (found or identify(key) == key):
            found = sorted({*found, *self._genera.get(short, [])})
        elif short and not found and short not in self._genera:
            found = self._organisms.get(short, [])
        return found

    def hint(self, name: str) -> str:
        """List near matches among the known names, or the first few names."""
        key = simplify(name)
        simple = {simplify(known): known for known in reversed(self.known)}
        near = [k for k in simple if abbreviate(k) == key]
        near = near or difflib.get_close_matches(key, simple, n=3, cutoff=0.5)
        if near:
            return f"did you mean {' or '.join(repr(simple[key]) for key in near[:3])}?"
        shown = ", ".join(map(repr, self.known[:_SHOWN]))
        return f"it has {shown}" + (", ..." if len(self.known) > _SHOWN else "")

    def synonyms(self) -> list[list[int]]:
        """Return the indices of known names that mean one organism, in groups of two or more."""
        return [sorted(group) for group in self._organisms.values() if len(group) > 1]

    @functools.cached_property
    def _keys(self) -> dict[str, list[int]]:
        """Indices by simplified name."""
        return _positions((i, simplify(name)) for i, name in enumerate(self.known))

    @functools.cached_property
    def _genera(self) -> dict[str, list[int]]:
        """Indices of the names with a genus in full, by their abbreviation."""
        return _positions(
            (i, short)
            for key, found in self._keys.items()
            if (short := abbreviate(key)) not in ("", key)
            for i in found
        )

    @functools.cached_property
    def _organisms(self) -> dict[str, list[int]]:
        """Indices by organism."""
        return _positions((i, self._organism(k)) for k, found in self._keys.items() for i in found)

    def _organism(self, key: str) -> str:
        """Return what identifies an organism; an initial means the only known genus that fits."""
        organism = identify(key)
        if organism == key == abbreviate(key):
            fits = {identify(simplify(self.known[i])) for i in self._genera.get(key, [])}
            return fits.pop() if len(fits) == 1 else key
        return organism


def check_distinct(
    names: Sequence[str], path: str | None = None, lines: Sequence[int] | None = None
) -> None:
    """Check that no two names mean one organism.

    Parameters
    ----------
    names : sequence of str
        Names that are used side by side, such as the organisms of a data set.
    path : str, optional
        File they come from, for the message.
    lines : sequence of int, optional
        1-based line of each name.

    Raises
    ------
    InputFormatError
        If some do.
    """
    groups = NameIndex(names).synonyms()
    if groups:
        same = " and ".join(_shown([repr(str(names[i])) for i in group]) for group in groups)
        raise InputFormatError(
            f"every organism must have one name, got {same} for the same organism; "
            "write one of them throughout",
            path,
            lines[groups[0][1]] if lines else None,
        )


def tell_matches(pairs: Iterable[tuple[str, str]], where: str) -> None:
    """Log pairs of wanted and known names that are not the same text, each pair once.

    An initial that the shipped tables lack is a guess, and so a warning.
    """
    guessed: list[str] = []
    known: list[str] = []
    spelt: list[str] = []
    for a, b in pairs:
        if a == b or not is_news(frozenset((a, b))):
            continue
        left, right = simplify(a), simplify(b)
        is_guess = abbreviate(left) == abbreviate(right) != "" and identify(left) != identify(right)
        kind = spelt if left == right else guessed if is_guess else known
        kind.append(f"{a!r} is {b!r}")
    if guessed:
        logger.warning(
            "%s in %s, by the initial of the genus; check that they are one organism",
            ", ".join(guessed),
            where,
        )
    if known or spelt:
        logger.info("%s in %s", ", ".join(known + [_shown(spelt)] * bool(spelt)), where)


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


def identify(key: str) -> str:
    """Return the taxid of a simplified name, or the name with its genus in full, if shipped.

    Examples
    --------
    >>> identify("c elegans"), identify("c elegans n2"), identify("x bocki")
    ('6239', 'caenorhabditis elegans n2', 'x bocki')
    """
    taxids, genera = _shipped()
    words = key.split(" ", 2)
    genus = genera.get(" ".join(words[:2]))
    full = " ".join([genus, *words[1:]]) if genus else key
    return taxids.get(full, full)


def taxid_of(key: str) -> str:
    """Return the taxid of a simplified name in the shipped tables, or ""."""
    return found if (found := identify(key)) in _shipped()[0] else ""


@functools.cache
def _shipped() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Read taxids by name, and genera by abbreviated scientific name, from the shipped tables."""
    taxids: dict[str, str] = {}
    genera: dict[str, str] = {}
    for table in _TABLES:
        for line in (catalogue.table(table) or "").splitlines()[1:]:
            number, name, synonyms, *_ = [*line.split("\t"), "", ""]
            if not number.strip() or line.startswith("#"):
                continue
            for text in filter(None, (number, name, *synonyms.split("|"))):
                taxids.setdefault(simplify(text), number)
            genera[abbreviate(simplify(name))] = simplify(name).split()[0]
    return taxids, genera


def _positions(pairs: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Collect the indices of every key."""
    found: dict[str, list[int]] = {}
    for i, key in pairs:
        found.setdefault(key, []).append(i)
    return found
