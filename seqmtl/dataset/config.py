"""Configuration of a dataset: a TOML file as dataclasses."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from typing import Any, NoReturn

from seqmtl._checks import check_choice
from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError
from seqmtl.files.inputs import note_input
from seqmtl.files.whole import read_bytes
from seqmtl.io.fields import LONGEST_NAME
from seqmtl.models.site import SIGNALS, Site

logger = logging.getLogger(__name__)

#: Length of the site of each signal in bases.
SITE_LENGTHS = {"donor": 2, "acceptor": 2, "tss": 1, "start": 3, "stop": 3, "polya": 1}
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class SiteRules:
    """Which annotated sites are used.

    Attributes
    ----------
    words : tuple of str
        Allowed bases of a site, in reading direction; empty for any.
    min_intron : int
        Length in bases of the shortest intron with splice sites.
    sources : tuple of str or None
        Accepted values of the annotation's second column.
    """

    words: tuple[str, ...]
    min_intron: int = 20
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True)
class JunctionRules:
    """Which splice junctions of reads count as introns.

    Attributes
    ----------
    min_reads : int
        Fewest reads.
    min_share : float
        Smallest share of the reads of the strongest junction that overlaps it.
    decoys : {"genome", "introns"}
        Where decoys are drawn: everywhere, or within 250 bases of introns.
    """

    min_reads: int = 3
    min_share: float = 0.05
    decoys: str = "genome"


@dataclass(frozen=True)
class DecoyRules:
    """How decoys are drawn.

    Attributes
    ----------
    ratio : float
        Decoys per true site.
    in_genes : float
        Share of the decoys drawn from genes with sites, on their strand.
    clearance : int
        Minimum distance in bases between the window starts of a decoy and an annotated site.
    """

    ratio: float = 10.0
    in_genes: float = 0.5
    clearance: int = 141


@dataclass(frozen=True)
class SplitRules:
    """How genomes are divided into training, validation and test regions.

    Attributes
    ----------
    by : {"auto", "contigs", "blocks"}
        Unit that is assigned as a whole.
    valid, test : float
        Shares of the sites.
    block : int
        Length of a block in bases; smaller if the genome would have fewer than 20 blocks.
    """

    by: str = "auto"
    valid: float = 0.1
    test: float = 0.2
    block: int = 100_000


@dataclass(frozen=True)
class OrganismConfig:
    """The files of an organism.

    Attributes
    ----------
    genome : str
        FASTA.
    annotation, sites, junctions : str or None
        GFF3, GTF or BED12; BED6 of the sites; or splice junctions of reads, see
        :func:`seqmtl.io.junctions.read_junctions`. Exactly one of them is given.
    contig_names : str or None
        Table that maps contig names of the annotation to those of the FASTA file.
    sources : tuple of str or None
        As in :class:`SiteRules`, for this organism.
    split : dict of str to tuple of str, or None
        Contigs of "valid" and "test", by name.
    allow_missing_contigs : bool
        Whether to leave out sites on contigs that the FASTA file lacks, instead of failing.
    """

    genome: str
    annotation: str | None = None
    sites: str | None = None
    junctions: str | None = None
    contig_names: str | None = None
    sources: tuple[str, ...] | None = None
    split: dict[str, tuple[str, ...]] | None = None
    allow_missing_contigs: bool = False

    @property
    def source(self) -> str:
        """The file that has the sites."""
        return str(self.annotation or self.sites or self.junctions)

    @property
    def files(self) -> list[str]:
        """All files."""
        files = (self.genome, self.annotation, self.sites, self.junctions, self.contig_names)
        return [path for path in files if path is not None]

    def absolute(self) -> OrganismConfig:
        """Return the files by their full paths."""
        names = ("genome", "annotation", "sites", "junctions", "contig_names")
        given = {name: path for name in names if (path := getattr(self, name)) is not None}
        return replace(self, **{name: os.path.abspath(path) for name, path in given.items()})


@dataclass(frozen=True)
class Config:
    """Configuration of a dataset, see :func:`read_config`."""

    path: str
    signal: str
    window: int
    shift: int
    seed: int
    sites: SiteRules
    junctions: JunctionRules
    decoys: DecoyRules
    split: SplitRules
    organisms: dict[str, OrganismConfig]

    @property
    def site(self) -> Site:
        """Position of the site in a window."""
        length = SITE_LENGTHS[self.signal]
        offset = self.window // 2 - length // 2 - self.shift
        return Site(offset, length, ",".join(self.sites.words), self.signal)


def read_config(path: str | os.PathLike[str], *, signal: str | None = None) -> Config:
    """Read the configuration of a dataset.

    Parameters
    ----------
    path : path-like
        TOML file; paths in it are relative to its folder.
    signal : str, optional
        Overrides the signal in the file.

    Raises
    ------
    InputFormatError
        If a key is unknown, missing or invalid; the message gives the file and the key.
    """
    top = Table.read(path)
    stated = top.choice("signal", SIGNALS, signal)
    chosen = signal or stated
    check_choice("signal", chosen, SIGNALS)
    window = top.integer("window", 241, SITE_LENGTHS[chosen])
    config = Config(
        os.fspath(path),
        chosen,
        window,
        top.integer("shift", 0, None),
        top.integer("seed", 0, 0),
        _site_rules(top.table("sites"), chosen, stated),
        _junction_rules(top.table("junctions")),
        _decoy_rules(top.table("decoys"), window),
        _split_rules(top.table("split"), window),
        {name: _organism(table, chosen) for name, table in top.tables("organisms").items()},
    )
    top.finish()
    for name in config.organisms:
        if not name.strip() or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
            rule = f"named by printable letters, at most {LONGEST_NAME} bytes"
            top.refuse("organisms", rule, name[:60], "choose another name")
    check_distinct(list(config.organisms), config.path)
    if not 0 <= config.site.offset <= window - config.site.length:
        top.refuse("shift", f"such that the site is in the window of {window}", config.shift,
                   "choose a smaller shift or a longer window")  # fmt: skip
    return config


def _site_rules(table: Table, signal: str, stated: str) -> SiteRules:
    words = _words(table, signal, stated)
    rules = SiteRules(words, table.integer("min_intron", 20, 1), table.words("sources"))
    table.finish()
    return rules


def _words(table: Table, signal: str, stated: str) -> tuple[str, ...]:
    """Return the allowed bases of a site; a list for another signal is ignored."""
    key, length = "consensus", SITE_LENGTHS[signal]
    canonical = tuple(word for word in SIGNALS[signal].split(",") if word)
    value = table.values.get(key)
    if not isinstance(value, list):
        chosen = table.choice(key, ("canonical", "all"), "canonical")
        return () if chosen == "all" else canonical
    words = tuple(word.upper() for word in table.words(key) or ())
    if signal != stated:
        logger.info(
            "%s: sites.consensus is that of %s; %s sites are taken with %s",
            table.path, stated, signal, " or ".join(canonical) or "any letters",
        )  # fmt: skip
        return canonical
    allowed = {"".join(letters) for letters in product("ACGT", repeat=length)}
    for word in words:
        if word not in allowed:
            table.refuse(key, f"words of {length} of A, C, G, T for {signal}", word, "correct it")
    return tuple(dict.fromkeys(words))


def _junction_rules(table: Table) -> JunctionRules:
    rules = JunctionRules(
        table.integer("min_reads", 3, 1),
        table.number("min_share", 0.05, 0, 1),
        table.choice("decoys", ("genome", "introns"), "genome"),
    )
    table.finish()
    return rules


def _decoy_rules(table: Table, window: int) -> DecoyRules:
    rules = DecoyRules(
        table.number("ratio", 10.0, 0.01, 1e6),
        table.number("in_genes", 0.5, 0, 1),
        table.integer("clearance", window, 1),
    )
    table.finish()
    return rules


def _split_rules(table: Table, window: int) -> SplitRules:
    rules = SplitRules(
        table.choice("by", ("auto", "contigs", "blocks"), "auto"),
        table.number("valid", 0.1, 0, 1),
        table.number("test", 0.2, 0, 1),
        table.integer("block", 100_000, window),
    )
    if rules.valid + rules.test >= 1:
        table.refuse("test", "below 1 together with valid", rules.test, "leave a share to train")
    table.finish()
    return rules


def _organism(table: Table, signal: str) -> OrganismConfig:
    genome = table.file("genome")
    given = {key: table.file(key) for key in ("annotation", "sites", "junctions")}
    named = table.table("split")
    split = {name: named.words(name) or () for name in SPLITS[1:]}
    named.finish()
    names, sources = table.file("contig_names"), table.words("sources")
    allow_missing = table.boolean("allow_missing_contigs")
    table.finish()  # unknown keys first, as a missing one may only be misspelt
    if genome is None:
        table.refuse("genome", "a FASTA file", None, "add it")
    stated = [key for key, path in given.items() if path is not None]
    if len(stated) != 1:
        got = " and ".join(stated) or "none of them"
        table.refuse("annotation", "given, or else sites or junctions", got, "give one of them")
    if sources is not None and stated != ["annotation"]:
        rule = f"left out with {stated[0]}"
        table.refuse("sources", rule, list(sources), "only GFF3 and GTF have sources")
    if stated == ["junctions"] and signal not in ("donor", "acceptor"):
        rule = f"left out for {signal}"
        table.refuse("junctions", rule, given["junctions"], "they have donors and acceptors only")
    by_name = split if "split" in table else None
    return OrganismConfig(
        genome, **given, contig_names=names, sources=sources, split=by_name,
        allow_missing_contigs=allow_missing,
    )  # fmt: skip


class Table:
    """A table of a TOML file; keys that have not been read by the end are errors.

    Parameters
    ----------
    values : dict
        Table as parsed by tomllib.
    path : str
        Path of the file, for messages.
    name : str
        Dotted name of the table; "" for the top level.
    """

    def __init__(self, values: dict[str, Any], path: str, name: str = "") -> None:
        self.values, self.path, self.name = values, path, name
        self._known: list[str] = []

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Table:
        """Read a file.

        Raises
        ------
        InputFormatError
            If it is not valid TOML.
        """
        source = os.fspath(path)
        try:
            return cls(tomllib.loads(read_bytes(source).decode()), source)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputFormatError(f"the file is not TOML: {error}", path=source) from error

    def refuse(self, key: str, rule: str, got: Any, remedy: str) -> NoReturn:
        """Raise an error that gives file and key."""
        if key not in self.values and (close := get_close_matches(key, self.values, n=1)):
            remedy = f"{close[0]!r} is no key: did you mean {key!r}?"
        raise InputFormatError(
            f"{self._full(key)} must be {rule}, got {got!r}; {remedy}", self.path
        )

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def _full(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _get(self, key: str) -> Any:
        self._known.append(key)
        return self.values.get(key)

    def table(self, key: str) -> Table:
        """Return a subtable, or an empty one if it is missing."""
        value = self._get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.refuse(key, "a table", value, f"write [{self._full(key)}]")
        return Table(value, self.path, self._full(key))

    def tables(self, key: str) -> dict[str, Table]:
        """Return the subtables of a table, at least one."""
        outer = self.table(key)
        if not outer.values:
            self.refuse(key, "a table with at least one entry", {}, f"add [{self._full(key)}.NAME]")
        return {name: outer.table(name) for name in outer.values}

    def text(self, key: str) -> str | None:
        """Return a non-empty string, or None if it is missing."""
        value = self._get(key)
        if value is not None and not (isinstance(value, str) and value):
            self.refuse(key, "a text", value, "put it in quotes")
        return value

    def choice(self, key: str, choices: Collection[str], default: str | None = None) -> str:
        """Return one of the given choices."""
        value = self._get(key)
        value = default if value is None else value
        if value not in list(choices):  # it may be a table, which a set cannot look up
            close = get_close_matches(str(value), choices, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "choose one of them"
            self.refuse(key, f"one of {', '.join(choices)}", value, remedy)
        return str(value)

    def integer(self, key: str, default: int, lowest: int | None) -> int:
        """Return an integer of at least `lowest`."""
        value = self._get(key)
        value = default if value is None else value
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or (lowest is not None and value < lowest):
            rule = "a whole number" + ("" if lowest is None else f" of {lowest} or more")
            self.refuse(key, rule, value, "correct it")
        return int(value)

    def number(self, key: str, default: float, lowest: float, highest: float) -> float:
        """Return a number from `lowest` to `highest`."""
        value = self._get(key)
        value = default if value is None else value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not lowest <= value <= highest:
            rule = f"a number from {lowest:g} to {highest:g}"
            self.refuse(key, rule, value, "correct it")
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return true or false; false if it is missing."""
        value = self._get(key)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, "true or false", value, "correct it")
        return bool(value)

    def words(self, key: str) -> tuple[str, ...] | None:
        """Return a non-empty list of strings, or None if it is missing."""
        value = self._get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(w, str) for w in value):
            self.refuse(key, "a list of texts", value, 'write ["...", "..."]')
        return tuple(value)

    def file(self, key: str) -> str | None:
        """Return the path of an existing file, relative to the folder of the TOML file."""
        value = self.text(key)
        if value is None:
            return None
        path = os.path.join(os.path.dirname(self.path), value)
        if not os.path.isfile(path):
            remedy = "paths are relative to the folder of this file"
            self.refuse(key, "a file", path, remedy)
        note_input(path)
        return path

    def finish(self) -> None:
        """Raise an error for keys that have not been read."""
        for key in self.values:
            if key not in self._known:
                close = get_close_matches(key, self._known, n=1)
                remedy = f"did you mean {close[0]!r}?" if close else "leave it out"
                known = ", ".join(sorted(self._known))
                raise InputFormatError(
                    f"{self._full(key)} is no key of this table ({known}); {remedy}", self.path
                )
