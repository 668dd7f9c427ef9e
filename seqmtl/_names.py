"""One rule for the names of organisms and tasks, used wherever two names are compared."""

from __future__ import annotations

import difflib
import functools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from seqmtl._messages import is_first_time
from seqmtl.exceptions import InputFormatError, UnknownTaskError

logger = logging.getLogger(__name__)

_SHOWN = 5
_SHORT = 3  # letters; shorter names are no typing errors of each other
_TABLES = ("organisms.tsv", "other_organisms.tsv")


def match_names(wanted: Iterable[str], names: Sequence[str], where: str) -> list[int]:
    """Find every wanted name among the names of a table, tree or model.

    The first rule with a match decides:

    1. the same name;
    2. the same name ignoring case, blanks, underscores, dots and hyphens;
    3. the same organism by NCBI taxid, scientific or common name in the shipped tables. An
       initial stands for the genus it has there: ``c_elegans`` is *Caenorhabditis elegans*, and
       so never *Cunninghamella elegans*;
    4. an initial that the tables lack, and a genus that starts with it, if no other name
       fits (``x_bocki`` and ``Xenoturbella bocki``).

    A wanted initial that fits several names is ambiguous. Different genera never match
    unless the tables call them one organism. Each match that is not by rule 1 is logged, once.

    Parameters
    ----------
    wanted : iterable of str
        Names to find.
    names : sequence of str
        Names to search, all different.
    where : str
        What these names belong to, for messages: "the tree metazoa".

    Returns
    -------
    list of int
        Index of every wanted name in `names`.

    Raises
    ------
    UnknownTaskError
        If a name is missing or ambiguous (the message lists near matches), or two wanted names
        match the same one.
    """
    index = NameIndex(names)
    wanted_names = [str(name) for name in wanted]
    order: list[int] = []
    owner: dict[int, str] = {}
    for name in wanted_names:
        matches = index.find(name)
        if len(matches) > 1:
            options = ", ".join(repr(str(names[i])) for i in matches[:_SHOWN])
            raise UnknownTaskError(
                f"task {name!r} is ambiguous in {where}: it could be {options}; write it in full",
                name,
            )
        if not matches:
            lost = [name for name in wanted_names if not index.find(name)]
            are = (
                f"task {name!r} is" if len(lost) == 1 else f"tasks {_shown([*map(repr, lost)])} are"
            )
            raise UnknownTaskError(f"{are} not in {where}; {index.hint(name)}", *lost)
        if matches[0] in owner:
            raise UnknownTaskError(
                f"task {name!r} is given twice: it and {owner[matches[0]]!r} are both "
                f"{str(names[matches[0]])!r} in {where}; leave one of them out",
                name,
                owner[matches[0]],
            )
        owner[matches[0]] = name
        order.append(matches[0])
    log_matches(((name, str(names[i])) for i, name in owner.items()), where)
    return order


class NameIndex:
    """Names, indexed for the rules of :func:`match_names`.

    Parameters
    ----------
    names : sequence of str
        Names to search.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [str(name) for name in names]
        self._exact = _positions(enumerate(self.names))

    def find(self, name: str) -> list[int]:
        """Return the indices by the first rule with a match; several mean the name is ambiguous."""
        if name in self._exact:
            return self._exact[name]
        key = simplify(name)
        if key in self._keys:
            return self._keys[key]
        short = abbreviate(key)
        matches = self._organisms.get(self._organism(key), [])
        if key == short and (matches or identify(key) == key):
            matches = sorted({*matches, *self._genera.get(short, [])})
        elif short and not matches and short not in self._genera:
            matches = self._organisms.get(short, [])
        return matches

    def hint(self, name: str) -> str:
        """List near matches among the names, or the first few names."""
        key = simplify(name)
        simple = {simplify(name): name for name in reversed(self.names)}
        near = [k for k in simple if abbreviate(k) == key]
        near = near or difflib.get_close_matches(key, simple, n=3, cutoff=0.5)
        if near:
            return f"did you mean {' or '.join(repr(simple[key]) for key in near[:3])}?"
        first_names = ", ".join(map(repr, self.names[:_SHOWN]))
        return f"it has {first_names}" + (", ..." if len(self.names) > _SHOWN else "")

    def synonyms(self) -> list[list[int]]:
        """Return the indices of names that mean one organism, in groups of two or more."""
        return [sorted(group) for group in self._organisms.values() if len(group) > 1]

    @functools.cached_property
    def _keys(self) -> dict[str, list[int]]:
        """Indices by simplified name."""
        return _positions((i, simplify(name)) for i, name in enumerate(self.names))

    @functools.cached_property
    def _genera(self) -> dict[str, list[int]]:
        """Indices of the names with a genus in full, by their abbreviation."""
        return _positions(
            (i, short)
            for key, indices in self._keys.items()
            if (short := abbreviate(key)) not in ("", key)
            for i in indices
        )

    @functools.cached_property
    def _organisms(self) -> dict[str, list[int]]:
        """Indices by organism."""
        return _positions(
            (i, self._organism(k)) for k, indices in self._keys.items() for i in indices
        )

    def _organism(self, key: str) -> str:
        """Return what identifies an organism; an initial means the only genus that fits."""
        organism = identify(key)
        if organism == key == abbreviate(key):
            fits = {identify(simplify(self.names[i])) for i in self._genera.get(key, [])}
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


def log_matches(pairs: Iterable[tuple[str, str]], where: str) -> None:
    """Log pairs of wanted and matching names that are not the same text, each pair once.

    An initial that the shipped tables lack is a guess, and so a warning.
    """
    guessed: list[str] = []
    renamed: list[str] = []
    spelt: list[str] = []
    for a, b in pairs:
        if a == b or not is_first_time(frozenset((a, b))):
            continue
        left, right = simplify(a), simplify(b)
        is_guess = abbreviate(left) == abbreviate(right) != "" and identify(left) != identify(right)
        kind = spelt if left == right else guessed if is_guess else renamed
        kind.append(f"{a!r} is {b!r}")
    if guessed:
        logger.warning(
            "%s in %s, by the initial of the genus; check that they are one organism",
            ", ".join(guessed),
            where,
        )
    if renamed or spelt:
        logger.info("%s in %s", ", ".join(renamed + [_shown(spelt)] * bool(spelt)), where)


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


def is_typo(key: str, other: str) -> bool:
    """Tell whether names differ by a letter more, less or changed, or two that are swapped.

    Examples
    --------
    >>> is_typo("culxe", "culex"), is_typo("sphagnum", "solanum"), is_typo("culex", "culex")
    (True, False, False)
    """
    if key == other or len(key) < _SHORT or abs(len(key) - len(other)) > 1:
        return False
    while key and other and key[0] == other[0]:
        key, other = key[1:], other[1:]
    while key and other and key[-1] == other[-1]:
        key, other = key[:-1], other[:-1]
    return max(len(key), len(other)) == 1 or (len(key) == 2 and key == other[::-1])


def abbreviate(key: str) -> str:
    """Abbreviate the genus of a simplified binomial to a letter; return "" for other names."""
    match = re.fullmatch(r"([^\W\d_])[^\W\d_]*( [^\W\d_]{2,}(?: .*)?)", key)
    return match[1] + match[2] if match else ""


def identify(key: str) -> str:
    """Return the taxid of a simplified name, or the name with its genus in full, if shipped.

    Examples
    --------
    >>> identify("c elegans"), identify("c elegans n2"), identify("x bocki")
    ('6239', 'caenorhabditis elegans n2', 'x bocki')
    """
    taxids, genera = _shipped()
    parts = key.split(" ", 2)
    genus = genera.get(" ".join(parts[:2]))
    full = " ".join([genus, *parts[1:]]) if genus else key
    return taxids.get(full, full)


def taxid_of(key: str) -> str:
    """Return the taxid of a simplified name in the shipped tables, or ""."""
    return taxid if (taxid := identify(key)) in _shipped()[0] else ""


@functools.cache
def _shipped() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Read taxids by name, and genera by abbreviated scientific name, from the shipped tables."""
    from seqmtl.files import catalogue

    taxids: dict[str, str] = {}
    genera: dict[str, str] = {}
    for table in _TABLES:
        for line in catalogue.table(table).splitlines()[1:]:
            number, name, synonyms, *_ = [*line.split("\t"), "", ""]
            if not number.strip() or line.startswith("#"):
                continue
            for text in filter(None, (number, name, *synonyms.split("|"))):
                taxids.setdefault(simplify(text), number)
            key, genus = abbreviate(simplify(name)), simplify(name).split()[0]
            genera[key] = genus if genera.get(key, genus) == genus else ""  # C. japonica is two
    return taxids, genera


def _positions(pairs: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Collect the indices of every key."""
    positions: dict[str, list[int]] = {}
    for i, key in pairs:
        positions.setdefault(key, []).append(i)
    return positions
