"""Configuration of a dataset: a TOML file as dataclasses."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from itertools import product

from seqmtl.dataset._toml import Table
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
    annotation, sites : str or None
        GFF3, GTF or BED12; or BED6 of the sites. Exactly one of them is given.
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
    contig_names: str | None = None
    sources: tuple[str, ...] | None = None
    split: dict[str, tuple[str, ...]] | None = None
    allow_missing_contigs: bool = False


@dataclass(frozen=True)
class Config:
    """Configuration of a dataset, see :func:`read_config`."""

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
    if chosen not in SIGNALS:
        raise ValueError(f"signal must be one of {', '.join(SIGNALS)}, got {chosen!r}; choose one")
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
    table.finish()  # unknown keys first, as a missing one may only be misspelt
    if genome is None:
        table.refuse("genome", "a FASTA file", None, "add it")
    if (annotation is None) == (sites is None):
        got = "both" if annotation else "neither"
        table.refuse("annotation", "given, or else sites", got, "give one of them")
    if sites is not None and sources is not None:
        table.refuse("sources", "left out with sites", list(sources), "a BED has no sources")
    by_name = split if "split" in table else None
    return OrganismConfig(genome, annotation, sites, names, sources, by_name, allow_missing)
