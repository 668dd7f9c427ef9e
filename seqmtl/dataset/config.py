"""What a dataset is to be made of: a TOML file as dataclasses."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from itertools import product

from seqmtl._checks import check_choice
from seqmtl.dataset._toml import Table
from seqmtl.models.site import SIGNALS, Site

logger = logging.getLogger(__name__)

#: Bases of the site of each signal.
SITE_LENGTHS = {"donor": 2, "acceptor": 2, "tss": 1, "start": 3, "stop": 3, "polya": 1}
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class SiteRules:
    """Which annotated sites are taken.

    Attributes
    ----------
    words : tuple of str
        What a site's bases may be, in reading direction; empty for anything.
    min_intron : int
        Bases of the shortest intron that has splice sites.
    sources : tuple of str or None
        Values of the annotation's second column to take.
    """

    words: tuple[str, ...]
    min_intron: int = 20
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True)
class DecoyRules:
    """How decoys are drawn.

    Attributes
    ----------
    ratio : float
        Decoys per true site.
    in_genes : float
        Share of the decoys from genes that have sites, on their strand.
    clearance : int
        A decoy's window starts at least this many bases from that of any annotated site.
    """

    ratio: float = 10.0
    in_genes: float = 0.5
    clearance: int = 141


@dataclass(frozen=True)
class SplitRules:
    """How genomes are cut into training, validation and test regions.

    Attributes
    ----------
    by : {"auto", "contigs", "blocks"}
        What is assigned whole.
    valid, test : float
        Shares of the sites.
    block : int
        Bases of a block; fewer where the genome would have less than 20 blocks.
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
    annotation, sites : str or None
        GFF3, GTF or BED12; or BED6 of the sites. One of them.
    contig_names : str or None
        Table of the annotation's and the FASTA's contig names.
    sources : tuple of str or None
        As of :class:`SiteRules`, for this organism.
    split : dict of str to tuple of str, or None
        Contigs of "valid" and "test", by name.
    allow_missing_contigs : bool
        Whether sites on contigs that the FASTA lacks are left out rather than refused.
    """

    genome: str
    annotation: str | None = None
    sites: str | None = None
    contig_names: str | None = None
    sources: tuple[str, ...] | None = None
    split: dict[str, tuple[str, ...]] | None = None
    allow_missing_contigs: bool = False


@dataclass(frozen=True)
class Config:
    """What a dataset is made of, see :func:`read_config`."""

    path: str
    signal: str
    window: int
    shift: int
    seed: int
    sites: SiteRules
    decoys: DecoyRules
    split: SplitRules
    organisms: dict[str, OrganismConfig]

    @property
    def site(self) -> Site:
        """Where the site is in a window."""
        length = SITE_LENGTHS[self.signal]
        offset = self.window // 2 - length // 2 - self.shift
        return Site(offset, length, ",".join(self.sites.words), self.signal)


def read_config(path: str | os.PathLike[str], *, signal: str | None = None) -> Config:
    """Read what a dataset is to be made of.

    Parameters
    ----------
    path : path-like
        TOML file; paths in it are relative to its folder.
    signal : str, optional
        Takes the place of the file's.

    Raises
    ------
    InputFormatError
        If a key is unknown, missing or wrong; names the file and the key.
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
        _decoy_rules(top.table("decoys"), window),
        _split_rules(top.table("split"), window),
        {name: _organism(table) for name, table in top.tables("organisms").items()},
    )
    top.finish()
    for name in config.organisms:
        if not name.strip() or not name.isprintable():
            top.refuse("organisms", "named by printable letters", name, "choose another name")
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
    """Return what a site's bases may be; a list that was meant for another signal is not used."""
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


def _organism(table: Table) -> OrganismConfig:
    genome, annotation, sites = (table.file(key) for key in ("genome", "annotation", "sites"))
    named = table.table("split")
    split = {name: named.words(name) or () for name in SPLITS[1:]}
    named.finish()
    names, sources = table.file("contig_names"), table.words("sources")
    allow_missing = table.boolean("allow_missing_contigs")
    table.finish()  # before anything is missed that may only be misspelt
    if genome is None:
        table.refuse("genome", "a FASTA file", None, "add it")
    if (annotation is None) == (sites is None):
        got = "both" if annotation else "neither"
        table.refuse("annotation", "given, or else sites", got, "give one of them")
    if sites is not None and sources is not None:
        table.refuse("sources", "left out with sites", list(sources), "a BED has no sources")
    by_name = split if "split" in table else None
    return OrganismConfig(genome, annotation, sites, names, sources, by_name, allow_missing)
