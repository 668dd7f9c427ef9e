"""Folders of ``seqmtl dataset``: windows into genomes; regions and sites of splits."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import refuse
from seqmtl._names import check_distinct, match_names
from seqmtl._schema import either, mapping, record, text, whole, word
from seqmtl._version import __version__
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.files.streams import PathLike, first_bytes, line_blocks, read_json
from seqmtl.files.write import UNFINISHED, atomic_folder, write_json, write_lines
from seqmtl.io.genome import load_genomes
from seqmtl.io.tsv import Columns, LabelColumn, NameColumn, as_number, pop_row, read_columns
from seqmtl.sequences import ContigTable, Genome, Windows
from seqmtl.sequences.sites import Sites

logger = logging.getLogger(__name__)

KIND = "seqmtl dataset"
WINDOWS = "windows.tsv"
SUMMARY = "summary.json"
EXCLUDED = "excluded.tsv"
REGIONS = "regions.tsv"
SITES = "sites.tsv"
SPLITS = ("train", "valid", "test")
_MASK = "mask"  # written as the split of an excluded region
#: First line of windows.tsv.
HEADER = "#contig\tstart\tend\tname\tscore\tstrand\torganism\tlabel\tsplit\tweight"
#: First lines of the tables, whose rows are those of :func:`window_rows` and the like.
HEADERS = {
    WINDOWS: HEADER,
    REGIONS: "#contig\tstart\tend\tsplit\torganism",
    SITES: "#contig\tstart\tend\tname\tscore\tstrand\torganism\tlabel",
    EXCLUDED: "organism\tcontig\tstart\tend\tstrand\tname\treason\tcount\tsource",
}
#: The files of a dataset, the summary last.
MEMBERS = (*HEADERS, SUMMARY)
_VERSION = 3

_sites = record({"sites": whole(), "decoys": whole()})
_genome = record({"path": word, "bytes": whole(), "n_bases": whole(), "crc32": whole()})
_organism = record(
    {"sites": whole(), "decoys": whole(), "splits": mapping(_sites), "excluded": mapping(whole())}
)
_SUMMARY = record(
    {
        "signal": word,
        "window": whole(1, 10_000_000),
        "shift": whole(-(1 << 31), 1 << 31),
        "site": record({"offset": whole(), "length": whole(), "letters": text, "signal": text}),
        "genomes": mapping(_genome, 1),
        "organisms": mapping(_organism, 1),
        "leakage": mapping(either((Mapping,), mapping(whole()), whole())),
        "excluded": mapping(whole()),
    },
    {"command": text, "folder": text},
)

#: Numbers of the columns of the tables, by name.
_COLUMNS = {
    table: {name: i for i, name in enumerate(header.removeprefix("#").split("\t"))}
    for table, header in HEADERS.items()
}
_COLUMN = _COLUMNS[WINDOWS]
_ROWS = 65_536  # windows that are written at a time
#: Remedy for a damaged dataset.
REMEDY = "build it again with seqmtl dataset"


def is_dataset(path: PathLike) -> bool:
    """Return whether a path is a dataset (its folder or its windows.tsv), by content."""
    if os.fspath(path) == "-":
        return False
    windows = os.path.join(path, WINDOWS) if os.path.isdir(path) else path
    return os.path.isfile(windows) and first_bytes(windows).startswith(HEADER.encode())


def read_summary(path: PathLike) -> dict[str, Any]:
    """Return the summary of a dataset, given its folder or its windows.tsv.

    Raises
    ------
    InputFormatError
        If the summary is missing or not that of a dataset.
    """
    source = os.path.join(folder_of(path), SUMMARY)
    try:
        summary = read_json(source)
    except FileNotFoundError:
        raise InputFormatError(
            f"a dataset must have {WINDOWS} and {SUMMARY} in one folder, but this is missing; "
            f"{REMEDY}",
            path=source,
        ) from None
    except ValueError as error:
        raise InputFormatError(f"the file is not JSON ({error}); {REMEDY}", source) from error
    if not isinstance(summary, dict) or summary.get("kind") != KIND:
        raise InputFormatError(f"the file must be the summary of a {KIND}; {REMEDY}", source)
    if summary.get("schema_version") != _VERSION:
        got = summary.get("schema_version")
        raise InputFormatError(f"schema_version must be {_VERSION}, got {got!r}; {REMEDY}", source)
    try:
        _SUMMARY("", summary)
        if summary["organisms"].keys() != summary["genomes"].keys():
            genomes, organisms = (", ".join(summary[key]) for key in ("genomes", "organisms"))
            refuse("organisms", f"the same as genomes, {genomes}", organisms)
    except ValueError as error:
        raise InputFormatError(f"{error}; {REMEDY}", source) from error
    return summary


def files_of_data(path: PathLike | None) -> list[str]:
    """Return the files that DATA stands for: those of a dataset and its genomes, or itself."""
    if path is None or not is_dataset(path):
        return [] if path is None else [os.fspath(path)]
    folder, summary = folder_of(path), read_summary(path)
    genomes = [
        genome for name in summary["genomes"] for genome in _candidate_paths(folder, name, summary)
    ]
    return [*(os.path.join(folder, name) for name in MEMBERS), *genomes]


def folder_of(path: PathLike) -> str:
    """Return the folder of a dataset, given the folder or its windows.tsv.

    Raises
    ------
    InputFormatError
        If there is neither.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise InputFormatError(
            f"a dataset must be a folder of seqmtl dataset, or the {WINDOWS} in it, but there is "
            "no such file; check its name",
            path,
        )
    return path if os.path.isdir(path) else os.path.dirname(path) or "."


def read_dataset(
    path: PathLike,
    *,
    split: str | None = None,
    organism: str | None = None,
    cut: tuple[int, int] | None = None,
) -> Windows:
    """Read a dataset as virtual windows into its genomes.

    Parameters
    ----------
    path : path-like
        Folder written by ``seqmtl dataset``, or the windows.tsv in it.
    split : str, optional
        Keep only the windows of this split: train, valid or test.
    organism : str, optional
        Keep only the windows of this organism, and read only its genome.
    cut : tuple of int, optional
        First base, in reading direction and from the first of the dataset's window, and length of
        the windows to return, which may be longer. Those over an end of their contig are left out.

    Returns
    -------
    Windows
        In the order of the file, named ``contig:start-end(strand)``, with labels, organisms as
        tasks, splits and weights; :func:`read_summary` has the letters of the site, and counts.

    Raises
    ------
    InputFormatError
        If the files are not a dataset; the message gives the file and the line.
    SeqmtlError
        If a genome is missing or differs from the one used to build the dataset.
    UnknownTaskError
        If the dataset lacks an organism.

    Examples
    --------
    >>> windows = read_dataset("donors", split="train")  # doctest: +SKIP
    """
    summary, folder = read_summary(path), folder_of(path)
    loaded = _load_genomes(folder, summary, chosen_organisms(summary, organism))
    length = int(summary["window"])
    cut = cut or (0, length)
    windows = _read_windows(folder, loaded, length, split, cut)
    offset = summary["site"]["offset"] - cut[0]
    windows.site = offset if 0 <= offset < windows.length else None
    return windows


def chosen_organisms(summary: Mapping[str, Any], organism: str | None) -> list[str]:
    """Return the name of one organism as a dataset spells it, or all names.

    Raises
    ------
    UnknownTaskError
        If the dataset lacks the organism.
    InputFormatError
        If two names of the dataset mean one organism.
    """
    names = list(summary["genomes"])
    if organism is not None:
        return [names[match_names([organism], names, "the dataset")[0]]]
    check_distinct(names)
    return names


def _load_genomes(
    folder: str, summary: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Genome]:
    """Read the genomes of organisms into one buffer.

    Raises
    ------
    SeqmtlError
        If one is missing or differs from the one used to build the dataset.
    """
    paths = {name: _genome_path(folder, name, summary) for name in names}
    genomes = load_genomes(paths, padding=int(summary["window"]))
    for name, genome in genomes.items():
        if _checksum(genome) != summary["genomes"][name]["crc32"]:
            raise SeqmtlError(
                f"the genome of {name} must be the one that the dataset was made from, but the "
                f"bases in {paths[name]} differ; restore it or build the dataset again"
            )
    return genomes


def _genome_path(folder: str, name: str, summary: Mapping[str, Any]) -> str:
    """Return the path of an organism's genome.

    It is where it was relative to the dataset, if both were moved, or else where it was.
    """
    facts = summary["genomes"][name]
    paths = _candidate_paths(folder, name, summary)
    path = next(filter(os.path.isfile, paths), None)
    if path is None:
        raise SeqmtlError(
            f"the genome of {name} must be at {' or '.join(paths)}, but there is no such file; "
            "put it or a link to it there, or build the dataset again"
        )
    size = os.path.getsize(path)
    if size != facts["bytes"]:
        raise SeqmtlError(
            f"the genome of {name} must be the one that the dataset was made from, but {path} has "
            f"{size:,} bytes, not {facts['bytes']:,}; restore it or build the dataset again"
        )
    return path


def _candidate_paths(folder: str, name: str, summary: Mapping[str, Any]) -> list[str]:
    """Return paths to try for a genome: relative to the dataset's folder, now and when made."""
    folders = [os.path.realpath(folder), summary.get("folder", "")]
    relative = summary["genomes"][name]["path"]
    paths = [os.path.normpath(os.path.join(base, relative)) for base in folders if base]
    return list(dict.fromkeys(paths))


def genome_facts(path: str, genome: Genome) -> dict[str, Any]:
    """Return what the summary of a dataset has of a genome, with the path from here."""
    return {
        "path": path,
        "bytes": os.path.getsize(path),
        "n_contigs": len(genome),
        "n_bases": genome.n_bases,
        "crc32": _checksum(genome),
    }


def _checksum(genome: Genome) -> int:
    """Return the CRC-32 of the codes of the contigs of a genome, in order."""
    value = 0
    for start, length in zip(genome.starts.tolist(), genome.lengths.tolist(), strict=True):
        value = zlib.crc32(genome.codes[start : start + length].data, value)
    return value


def _read_windows(
    folder: str,
    genomes: Mapping[str, Genome],
    length: int,
    split: str | None,
    cut: tuple[int, int],
) -> Windows:
    """Read windows.tsv: the windows of a split and of the organisms of some genomes."""
    source = os.path.join(folder, WINDOWS)
    labels, splits = LabelColumn(source), NameColumn("split", _COLUMN["split"])
    numbers = {name: number for number, name in enumerate(genomes)}
    parts: dict[str, list[NDArray[Any]]] = {}
    for rows in _read_member(folder, WINDOWS):
        split_ids = splits.numbers(rows)
        is_of_split = np.array([split in (None, name) for name in splits.names])
        organisms = rows.texts(_COLUMN["organism"])
        task_ids = np.fromiter(map(numbers.get, organisms, repeat(-1)), np.int16, len(rows))
        chosen = (task_ids >= 0) & is_of_split[split_ids]
        if not chosen.any():
            continue
        chosen_rows = rows.take(chosen)
        located = [
            _located(run, genomes[name], length, cut)
            for name, run in chosen_rows.runs(_COLUMN["organism"])
        ]
        block = {name: np.concatenate([part[name] for part in located]) for name in located[0]}
        block["task_ids"] = task_ids[chosen]
        block["labels"] = labels.signs(chosen_rows, _COLUMN["label"])
        block["splits"] = split_ids[chosen]
        block["weights"] = _weights(chosen_rows)
        for name, column in block.items():
            parts.setdefault(name, []).append(column)
    if not parts:
        raise InputFormatError(
            f"no windows of split {split!r}, organism {', '.join(genomes)}; the file has the "
            f"splits {', '.join(sorted(splits.names)) or 'none'}",
            source,
        )
    columns: dict[str, Any] = {name: np.concatenate(part) for name, part in parts.items()}
    is_inside = columns.pop("is_inside")
    if n_past_end := int((~is_inside).sum()):
        logger.warning("%d windows skipped: beyond an end of a contig", n_past_end)
        columns = {name: column[is_inside] for name, column in columns.items()}
    tables = [genome.contigs for genome in genomes.values()]
    contigs = ContigTable(
        tuple(name for table in tables for name in table.names),
        np.concatenate([table.starts for table in tables]),
        np.concatenate([table.lengths for table in tables]),
    )
    return Windows(
        next(iter(genomes.values())).codes,
        length=cut[1],
        task_names=list(genomes),
        split_names=splits.names,
        locator=contigs.window_names,
        **columns,
    )


def _located(
    rows: Columns, genome: Genome, length: int, cut: tuple[int, int]
) -> dict[str, NDArray[Any]]:
    """Return where windows are in their genome, and which are inside their contig."""
    lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
    contigs, begins, ends = rows.intervals(lengths, what="a window", remedy=REMEDY)
    for number in np.flatnonzero(ends - begins != length)[:1].tolist():
        rows.row(number).refuse(
            f"a window must have {length} bases, got {ends[number] - begins[number]}; {REMEDY}"
        )
    is_reverse = rows.is_reverse(_COLUMN["strand"])
    begins += np.where(is_reverse, length - sum(cut), cut[0])
    numbers = np.array([*map(genome.index, contigs)])
    return {
        "starts": genome.starts[numbers] + begins,
        "is_reverse": is_reverse,
        "is_inside": (begins >= 0) & (begins + cut[1] <= genome.lengths[numbers]),
    }


def _weights(rows: Columns) -> NDArray[np.float32]:
    texts = rows.texts(_COLUMN["weight"])
    weights = np.array([*map(as_number, texts)])
    for number in np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))[:1].tolist():
        rows.row(number).refuse(f"weight must be a number above 0, got {texts[number]!r}; {REMEDY}")
    return weights.astype(np.float32)


@dataclass(frozen=True, eq=False)
class SplitGenome:
    """The genome of an organism, the regions of some splits, and its annotated sites.

    Attributes
    ----------
    genome : Genome
        All contigs, in one buffer.
    regions : ndarray of int64, shape (n, 2)
        Bounds of the regions in the buffer; increasing and disjoint.
    sites : Sites
        Every annotated site, in the buffer; the column is_true tells which are true sites of the
        dataset. The others were excluded from it.
    masked : ndarray of int64, shape (k, 2)
        Bounds of what is left out, in the buffer; increasing and disjoint.
    """

    genome: Genome
    regions: NDArray[np.int64]
    sites: Sites
    masked: NDArray[np.int64]


def read_split_genome(
    path: PathLike,
    organism: str,
    split: str | None = None,
    *,
    genome: Genome | None = None,
) -> SplitGenome:
    """Read the regions of a split, and the annotated sites, of one organism of a dataset.

    Parameters
    ----------
    path : path-like
        Folder written by ``seqmtl dataset``, or the windows.tsv in it.
    organism : str
        Organism of the dataset.
    split : str, optional
        train, valid or test. Default: all regions.
    genome : Genome, optional
        Its genome, if another dataset has read it.

    Raises
    ------
    InputFormatError
        If a file is missing or damaged; the message gives the file and the line.
    SeqmtlError
        If the genome is missing or differs from the one used to build the dataset.
    """
    summary, folder = read_summary(path), folder_of(path)
    organism = chosen_organisms(summary, organism)[0]
    if genome is None:
        genome = _load_genomes(folder, summary, [organism])[organism]
    regions: dict[str, list[NDArray[np.int64]]] = {}
    column = _COLUMNS[REGIONS]
    for rows in _read_member(folder, REGIONS):
        for name, run in rows.runs(column["split"]):
            bounds = _bounds(run, column["organism"], organism, genome)
            regions.setdefault(name, []).append(bounds)
    masked = regions.pop(_MASK, [])
    of_split = [*chain(*regions.values())] if split is None else regions.get(split, [])
    starts: list[NDArray[np.int64]] = []
    is_reverse: list[bool] = []
    is_true: list[bool] = []
    column = _COLUMNS[SITES]
    for rows in _read_member(folder, SITES):
        starts.append(_bounds(rows, column["organism"], organism, genome)[:, 0])
        is_of_organism = [name == organism for name in rows.texts(column["organism"])]
        is_reverse += compress(rows.is_reverse(column["strand"]), is_of_organism)
        labels = rows.texts(column["label"])
        is_true += compress((label == "1" for label in labels), is_of_organism)
    sites = Sites(
        np.concatenate([np.empty(0, dtype=np.int64), *starts]),
        np.array(is_reverse, dtype=np.bool_),
        {"is_true": np.array(is_true, dtype=np.bool_)},
    )
    return SplitGenome(genome, _sorted(of_split), sites, _sorted(masked))


def _bounds(rows: Columns, column: int, organism: str, genome: Genome) -> NDArray[np.int64]:
    """Return the bounds of the intervals of an organism in the buffer of its genome."""
    rows = rows.take([name == organism for name in rows.texts(column)])
    if not len(rows):
        return np.empty((0, 2), dtype=np.int64)
    lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
    contigs, begins, ends = rows.intervals(lengths, remedy=REMEDY)
    starts = genome.starts[[*map(genome.index, contigs)]]
    return np.column_stack([starts + begins, starts + ends])


def _sorted(bounds: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    intervals = np.concatenate([np.empty((0, 2), dtype=np.int64), *bounds])
    return intervals[np.lexsort((intervals[:, 1], intervals[:, 0]))]


def _read_member(folder: str, name: str) -> Iterator[Columns]:
    """Yield the rows of a table of a dataset in blocks."""
    source, header = os.path.join(folder, name), HEADERS[name]
    if not os.path.exists(source):
        raise InputFormatError(
            "a dataset must have this file beside its windows, but it is missing "
            f"(earlier versions did not write it); {REMEDY}",
            source,
        )
    first, blocks = pop_row(line_blocks(source), source, bytes.strip)
    if first is None or first.line > 1 or first.fields != header.split("\t"):
        raise InputFormatError(f"the first line must be {header!r}; {REMEDY}", source, 1)
    return read_columns(blocks, source, len(first.fields), bytes.strip)


def check_folder(target: Path) -> None:
    """Check that a folder is empty or an earlier dataset.

    Raises
    ------
    SeqmtlError
        If it contains other files, or cannot be created.
    """
    if os.path.lexists(target) and not target.is_dir():
        raise SeqmtlError(f"cannot write {target}: it is a file; choose a folder")
    if not target.exists():
        parent = next(folder for folder in target.absolute().parents if folder.exists())
        if not os.access(parent, os.W_OK):
            raise SeqmtlError(f"cannot write {target}: the folder {parent} is not writable")
        return
    if not os.access(target, os.W_OK):
        raise SeqmtlError(f"cannot write {target}: the folder is not writable")
    other_files = [entry for entry in target.iterdir() if not entry.name.startswith(UNFINISHED)]
    if other_files and not is_dataset(target):
        raise SeqmtlError(
            f"{target} must be empty or an earlier dataset, but it holds other files; "
            "choose another folder"
        )


class Exclusion(NamedTuple):
    """An item excluded from a dataset; a line of excluded.tsv.

    Attributes
    ----------
    organism, contig, start, end, strand, name : str or int
        Item and location, 0-based half-open; "." for a group of items.
    reason : str
        Reason of the exclusion.
    number : int
        Number of items.
    source : str
        File, and line if there is one.
    """

    organism: str
    contig: str
    start: int | str
    end: int | str
    strand: str
    name: str
    reason: str
    number: int
    source: str

    @classmethod
    def of_many(cls, number: int, reason: str, organism: str, source: str) -> Exclusion:
        """Return the record of a group of items."""
        return cls(organism, ".", ".", ".", ".", ".", reason, number, source)


#: A row of a table.
Row = Iterable[object]


def window_rows(
    organism: str,
    contigs: ContigTable,
    windows: Sites,
    *,
    signal: str,
    words: Sequence[str],
    weights: NDArray[np.float32],
    length: int,
) -> Iterator[Row]:
    """Yield the rows of the windows of an organism.

    Parameters
    ----------
    organism : str
        Its name.
    contigs : ContigTable
        Contigs of its genome in the buffer.
    windows : Sites
        Windows in the buffer; the columns are labels (1 or -1), splits, numbers in
        :data:`SPLITS`, and consensus, numbers in `words`.
    signal : str
        The signal.
    words : sequence of str
        Letters that sites have.
    weights : ndarray of float32, shape (n,)
        Number of genomic positions that each window stands for.
    length : int
        Bases of a window.
    """
    for first in range(0, len(windows), _ROWS):
        rows = slice(first, first + _ROWS)
        part = windows.take(rows)
        labels = part["labels"].tolist()
        kinds = [signal if label > 0 else "decoy" for label in labels]
        names, starts = _on_contigs(contigs, part.starts)
        yield from zip(
            names,
            starts,
            [start + length for start in starts],
            map("{}:{}".format, kinds, _named(words, part["consensus"])),
            [1000 if label > 0 else 0 for label in labels],
            _named("+-", part.is_reverse),
            repeat(organism, len(part)),
            labels,
            _named(SPLITS, part["splits"]),
            map("{:.7g}".format, weights[rows].tolist()),
            strict=True,
        )


def region_rows(
    organism: str,
    contigs: ContigTable,
    bounds: NDArray[np.int64],
    splits: NDArray[np.int8] | None = None,
) -> Iterator[Row]:
    """Return the rows of regions of an organism.

    Parameters
    ----------
    organism, contigs
        As :func:`window_rows` takes them.
    bounds : ndarray of int64, shape (n, 2)
        First base of each in the buffer, and the base after its last one.
    splits : ndarray of int8, shape (n,), optional
        Numbers in :data:`SPLITS`. Default: the regions are masked.
    """
    names, starts = _on_contigs(contigs, bounds[:, 0])
    ends = (bounds[:, 1] - bounds[:, 0] + starts).tolist()
    of_splits = repeat(_MASK, len(bounds)) if splits is None else _named(SPLITS, splits)
    return zip(names, starts, ends, of_splits, repeat(organism, len(bounds)), strict=True)


def site_rows(
    organism: str, contigs: ContigTable, sites: Sites, *, signal: str, length: int
) -> Iterator[Row]:
    """Return the rows of annotated sites of an organism.

    Parameters
    ----------
    organism, contigs, signal
        As :func:`window_rows` takes them.
    sites : Sites
        Sites in the buffer; the column is_true tells which are true sites of the dataset.
    length : int
        Bases of a site.
    """
    names, starts = _on_contigs(contigs, sites.starts)
    return zip(
        names,
        starts,
        [start + length for start in starts],
        repeat(signal, len(sites)),
        repeat(0, len(sites)),
        _named("+-", sites.is_reverse),
        repeat(organism, len(sites)),
        sites["is_true"].astype(int).tolist(),
        strict=True,
    )


def _named(names: Sequence[str], numbers: NDArray[Any]) -> list[str]:
    return [names[number] for number in numbers.tolist()]


def _on_contigs(contigs: ContigTable, starts: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Return the contigs of positions in the buffer, and the positions on them."""
    contig = contigs.contig_of(starts)
    return _named(contigs.names, contig), (starts - contigs.starts[contig]).tolist()


def write_folder(
    target: Path, tables: Mapping[str, Iterable[Row]], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the folder of a dataset; return its summary.

    Parameters
    ----------
    target : path
        The folder, see :func:`seqmtl.files.write.atomic_folder`.
    tables : mapping of str to iterable
        Rows of each of :data:`HEADERS`.
    summary : mapping
        The summary but its first keys, with the paths of genomes from here.
    """
    folder = target.resolve()
    genomes = {
        name: {**facts, "path": os.path.relpath(os.path.realpath(facts["path"]), folder)}
        for name, facts in summary["genomes"].items()
    }
    summary = {
        "schema_version": _VERSION,
        "kind": KIND,
        "seqmtl_version": __version__,
        **summary,
        "folder": str(folder),
        "genomes": genomes,
    }
    with atomic_folder(target, last=SUMMARY, first=WINDOWS) as scratch:
        for name, rows in tables.items():
            lines = ("\t".join(map(str, row)) + "\n" for row in rows)
            write_lines(scratch / name, chain([f"{HEADERS[name]}\n"], lines))
        write_json(scratch / SUMMARY, summary)
    return dict(summary)
