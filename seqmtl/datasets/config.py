"""Configuration of a dataset: a TOML file as dataclasses, whose fields are its keys."""

from __future__ import annotations

import logging
import os
import tomllib
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import product
from typing import Any, TypeVar

from seqmtl._checks import check_choice, refuse
from seqmtl._names import check_distinct
from seqmtl._schema import Rule, choice, either, flag, items, number, whole, word
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_bytes
from seqmtl.io.tsv import LONGEST_NAME
from seqmtl.linear_model.site import SIGNALS, Site

logger = logging.getLogger(__name__)

#: Length of the site of each signal in bases.
SITE_LENGTHS = {"donor": 2, "acceptor": 2, "tss": 1, "start": 3, "stop": 3, "polya": 1}

_Kind = TypeVar("_Kind")


def _key(rule: Rule | type, default: Any = MISSING, *, name: str = "", kind: str = "") -> Any:
    """Return a field for a key of a TOML file.

    Parameters
    ----------
    rule : Rule or type
        Rule of the value, or the dataclass of a table.
    default : object, optional
        Without one, the key must be given.
    name : str
        Name of the key, if it is not the field's.
    kind : {"", "file", "tables"}
        "file" for a path; "tables" for one or more tables of any names.
    """
    return field(default=default, metadata={"rule": rule, "name": name, "kind": kind})


_share = number(min_val=0, max_val=1)
_list_of_names = items(word, 1)


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

    words: tuple[str, ...] | str = _key(
        either((list,), _list_of_names, choice("canonical", "all")), "canonical", name="consensus"
    )
    min_intron: int = _key(whole(1), 20)
    sources: tuple[str, ...] | None = _key(_list_of_names, None)


@dataclass(frozen=True)
class JunctionRules:
    """Which splice junctions of reads count as introns.

    Attributes
    ----------
    min_reads : int
        Fewest reads.
    min_share : float
        Smallest share of the reads of the strongest junction that overlaps it.
    """

    min_reads: int = _key(whole(1), 3)
    min_share: float = _key(_share, 0.05)


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
        Minimum distance in bases between the window starts of a decoy and an annotated site;
        by default the length of a window, so that windows do not overlap.
    """

    ratio: float = _key(number(min_val=0.01, max_val=1e6), 10.0)
    in_genes: float = _key(_share, 0.5)
    clearance: int = _key(whole(1), 0)


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
    homologues : bool
        Whether sites of train may have a homologue in valid or test; otherwise they are left out.
    """

    by: str = _key(choice("auto", "contigs", "blocks"), "auto")
    valid: float = _key(_share, 0.1)
    test: float = _key(_share, 0.2)
    block: int = _key(whole(1), 100_000)
    homologues: bool = _key(flag, True)


@dataclass(frozen=True)
class NamedSplits:
    """Names of the contigs for validation and test; all others are for training."""

    valid: tuple[str, ...] = _key(_list_of_names, ())
    test: tuple[str, ...] = _key(_list_of_names, ())


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
    mask : str or None
        BED of regions to leave out: they have neither true sites nor decoys.
    sources : tuple of str or None
        As in :class:`SiteRules`, for this organism.
    split : NamedSplits or None
        Contigs by split.
    allow_missing_contigs : bool
        Whether to leave out sites on contigs that the FASTA file lacks, instead of failing.
    """

    genome: str = _key(word, kind="file")
    annotation: str | None = _key(word, None, kind="file")
    sites: str | None = _key(word, None, kind="file")
    junctions: str | None = _key(word, None, kind="file")
    contig_names: str | None = _key(word, None, kind="file")
    mask: str | None = _key(word, None, kind="file")
    sources: tuple[str, ...] | None = _key(_list_of_names, None)
    split: NamedSplits | None = _key(NamedSplits, None)
    allow_missing_contigs: bool = _key(flag, False)

    @property
    def source(self) -> str:
        """The file that has the sites."""
        return str(self.annotation or self.sites or self.junctions)

    @property
    def files(self) -> list[str]:
        """All files."""
        names = [key.name for key in fields(self) if key.metadata["kind"] == "file"]
        return [path for name in names if (path := getattr(self, name)) is not None]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Configuration of a dataset, see :func:`read_config`."""

    path: str = ""
    signal: str = _key(choice(*SIGNALS))
    window: int = _key(whole(1), 241)
    shift: int = _key(whole(-(1 << 31), 1 << 31), 0)
    seed: int = _key(whole(), 0)
    sites: SiteRules = _key(SiteRules, SiteRules())
    junctions: JunctionRules = _key(JunctionRules, JunctionRules())
    decoys: DecoyRules = _key(DecoyRules, DecoyRules())
    split: SplitRules = _key(SplitRules, SplitRules())
    organisms: dict[str, OrganismConfig] = _key(OrganismConfig, kind="tables")

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
    source = os.fspath(path)
    try:
        values = tomllib.loads(read_bytes(source).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputFormatError(f"the file is not TOML: {error}", path=source) from error
    if signal is not None:
        check_choice("signal", signal, SIGNALS)
        values.setdefault("signal", signal)
    try:
        stated = replace(_load(Config, values, "", os.path.dirname(source)), path=source)
        config = _complete(stated, signal or stated.signal)
    except ValueError as error:
        raise InputFormatError(str(error), path=source) from error
    check_distinct(list(config.organisms), source)
    return config


def _load(kind: type[_Kind], table: Any, name: str, folder: str) -> _Kind:
    """Return a table as the dataclass of its kind.

    Raises
    ------
    ValueError
        If a key is unknown, missing or invalid.
    """
    if not isinstance(table, dict):
        refuse(name, "a table", table, f"write [{name}]")
    keys = _keys(kind)
    prefix = f"{name}." if name else ""
    for key in table:
        if key not in keys:
            names = ", ".join(sorted(keys))
            close = get_close_matches(key, keys, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "move it to its table"
            raise ValueError(f"{prefix}{key} is not a key of this table ({names}); {remedy}")
    values = {}
    for key, description in keys.items():
        if key in table:
            values[description.name] = _value(description, table[key], f"{prefix}{key}", folder)
        elif description.default is MISSING:
            raise ValueError(f"{prefix}{key} must be given, got None; add it")
    return kind(**values)


def _keys(kind: type[Any]) -> dict[str, Field[Any]]:
    """Return the fields of a table by their keys."""
    return {key.metadata["name"] or key.name: key for key in fields(kind) if key.metadata}


def _value(key: Field[Any], value: Any, name: str, folder: str) -> Any:
    """Return the value of a key, checked and converted to the type of its field."""
    rule, kind = key.metadata["rule"], key.metadata["kind"]
    if kind == "tables":
        if not isinstance(value, dict) or not value:
            refuse(name, "a table with at least one entry", value, f"add [{name}.NAME]")
        return {key: _load(rule, entry, f"{name}.{key}", folder) for key, entry in value.items()}
    if isinstance(rule, type):
        return _load(rule, value, name, folder)
    rule(name, value)
    if kind != "file":
        value = float(value) if key.type == "float" else value
        return tuple(value) if isinstance(value, list) else value
    path = os.path.join(folder, value)
    if not os.path.isfile(path):
        remedy = "write the home folder in full: ~ is not expanded" if value[0] == "~" else ""
        refuse(name, "a file; paths are relative to the folder of this one", path, remedy)
    return path


def _complete(config: Config, signal: str) -> Config:
    """Return the configuration for a signal, checked, with the defaults that depend on others.

    Raises
    ------
    ValueError
        If keys contradict each other.
    """
    config = replace(
        config,
        signal=signal,
        sites=replace(config.sites, words=_allowed_sites(config, signal)),
        decoys=replace(config.decoys, clearance=config.decoys.clearance or config.window),
    )
    whole(SITE_LENGTHS[signal])("window", config.window)
    whole(config.window)("split.block", config.split.block)
    if config.split.valid + config.split.test >= 1:
        remedy = "leave a share to train"
        refuse("split.test", "below 1 together with valid", config.split.test, remedy)
    if not 0 <= config.site.offset <= config.window - config.site.length:
        rule = f"such that the site is in the window of {config.window}"
        refuse("shift", rule, config.shift, "choose a smaller shift or a longer window")
    for name, organism in config.organisms.items():
        if not name.strip() or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
            rule = f"named by printable letters, at most {LONGEST_NAME} bytes"
            refuse("organisms", rule, name, "choose another name")
        _check_files(f"organisms.{name}", organism, signal)
    return config


def _check_files(name: str, organism: OrganismConfig, signal: str) -> None:
    names = ("annotation", "sites", "junctions")
    given = [key for key in names if getattr(organism, key) is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        rule = "given, or else sites or junctions"
        refuse(f"{name}.annotation", rule, got, "give one of them")
    if organism.sources is not None and given != ["annotation"]:
        rule = f"left out with {given[0]}, as only GFF3 and GTF have sources"
        refuse(f"{name}.sources", rule, list(organism.sources))
    if organism.junctions is not None and signal not in ("donor", "acceptor"):
        rule = f"left out for {signal}: they have donors and acceptors only"
        refuse(f"{name}.junctions", rule, organism.junctions)


def _allowed_sites(config: Config, signal: str) -> tuple[str, ...]:
    """Return the allowed bases of a site; a list for another signal is ignored."""
    canonical = tuple(site for site in SIGNALS[signal].split(",") if site)
    allowed_sites = config.sites.words
    if isinstance(allowed_sites, str):
        return () if allowed_sites == "all" else canonical
    if signal != config.signal:
        logger.info(
            "%s: sites.consensus is that of %s; %s sites are taken with %s",
            config.path,
            config.signal,
            signal,
            " or ".join(canonical) or "any letters",
        )
        return canonical
    length = SITE_LENGTHS[signal]
    consensus = tuple(site.upper() for site in allowed_sites)
    allowed = {"".join(letters) for letters in product("ACGT", repeat=length)}
    for site in consensus:
        if site not in allowed:
            refuse("sites.consensus", f"words of {length} of A, C, G, T for {signal}", site)
    return tuple(dict.fromkeys(consensus))
