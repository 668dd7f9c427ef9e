"""Rows of BED and other tab-separated text, one by one: coordinates, strands, refusals."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable, source_name
from seqmtl.sequences.genome import unknown_contig
from seqmtl.sequences.intervals import merge_intervals

logger = logging.getLogger(__name__)

#: Digits of the largest coordinate.
MAX_DIGITS = 18
#: What :func:`is_coordinate` asks for.
COORDINATES = f"whole numbers of up to {MAX_DIGITS} digits"
_NO_ROWS = (b"track", b"browser")
_MAX_LETTERS = 60
_GFF_FIELDS = 9
_STRANDS = ("+", "-", ".", "?")


def is_row(line: bytes) -> bool:
    """Return whether a BED line is a row, not blank, a comment, or a track or browser line."""
    first = line.split(None, 1)[:1]
    return bool(first) and not line.startswith(b"#") and first[0] not in _NO_ROWS


def is_coordinate(field: bytes | str) -> bool:
    """Return whether a field is a coordinate: a whole number that fits into 64 bits."""
    return field.isascii() and field.isdigit() and len(field) <= MAX_DIGITS


def is_gff(fields: Sequence[str]) -> bool:
    """Return whether a row is GFF3, GTF or the like, not STAR's or BED.

    It has more than nine columns if there are tabs among its attributes, or columns after them.
    """
    if len(fields) < _GFF_FIELDS or (is_coordinate(fields[1]) and is_coordinate(fields[2])):
        return False
    return len(fields) == _GFF_FIELDS or fields[6] in _STRANDS


def check_first_field(contig: str) -> bytes:
    """Return the name of a contig, with which lines of BED and the like begin.

    Raises
    ------
    InputFormatError
        If readers would take such lines for comments or headers.
    """
    name = contig.encode()
    if not is_row(name):
        raise InputFormatError(
            f"a line that begins with {contig!r} is a comment or a header in BED and tables; "
            "rename the contig (a scan can write GFF3 or bigWig)",
            record=contig,
        )
    return name


class Row(NamedTuple):
    """A row of tab-separated text; its methods raise InputFormatError with the file and the line.

    Attributes
    ----------
    source : str
        Name of the file.
    line : int
        1-based line.
    fields : list of str
        The columns.
    """

    source: str
    line: int
    fields: list[str]

    def refuse(self, message: str) -> NoReturn:
        """Raise the error for an invalid row."""
        raise InputFormatError(message, path=self.source, line=self.line)

    def check_columns(self, min_columns: int, rule: str, remedy: str = "correct the line") -> None:
        """Refuse a row of fewer columns."""
        if len(self.fields) < min_columns:
            self.refuse(f"{rule}, got {len(self.fields)}; {remedy}")

    def integer(self, column: int) -> int:
        """Return a coordinate or a count."""
        return self.parse(self.fields[column])

    def parse(self, text: str) -> int:
        """Return a part of a field as a coordinate or a count."""
        if not is_coordinate(text):
            self.refuse(
                f"coordinates must be {COORDINATES}, got {text[:_MAX_LETTERS]!r}; correct it"
            )
        return int(text)

    def strand(self, column: int, unknown: str = "") -> str:
        """Return ``+`` or ``-``, or ``.`` for one of the letters that stand for no strand."""
        strand = self.fields[column]
        if strand in ("+", "-"):
            return strand
        if strand not in list(unknown):
            rule = "+, - or ." if unknown else "+ or -"
            self.refuse(
                f"strand must be {rule}, got {strand[:_MAX_LETTERS]!r}; give that of the row"
            )
        return "."

    def interval(
        self, lengths: Mapping[str, int], remedy: str = "correct its coordinates"
    ) -> tuple[str, int, int]:
        """Return contig, start and end (0-based, half-open), given the lengths of the contigs."""
        contig = self.fields[0]
        start = self.integer(1)
        end = self.integer(2)
        if contig not in lengths:
            self.refuse(unknown_contig([contig], list(lengths)))
        if not start < end <= lengths[contig]:
            self.refuse(
                f"an interval must lie inside {contig} (0-based half-open, {lengths[contig]} "
                f"bases), got {start}-{end}; {remedy}"
            )
        return contig, start, end


def rows_of(lines: Iterable[tuple[int, bytes]], source: str) -> Iterator[Row]:
    """Yield the rows among numbered lines, without comments, track and browser lines."""
    for line, text in lines:
        if is_row(text):
            yield Row(source, line, readable(text).split("\t"))


def read_rows(path: PathLike) -> Iterator[Row]:
    """Yield the rows of a file of BED or the like, plain, gzip or bgzip."""
    return rows_of(numbered_lines(path), source_name(path))


#: A site: contig, first base (0-based), whether it is on the minus strand, name, 1-based line.
BedSite = tuple[str, int, bool, str, int]


def read_site_bed(path: PathLike, *, length: int) -> list[BedSite]:
    """Read the true sites of BED of six columns or more.

    If all scores are numbers, records of a score of 0 or less beside others above 0 are decoys,
    which are skipped and counted in the log.

    Parameters
    ----------
    path : path-like
        BED, plain, gzip or bgzip.
    length : int
        Required length of every interval in bases.

    Returns
    -------
    list of BedSite
        In the order of the file.

    Raises
    ------
    InputFormatError
        If a row is invalid or there is none; the message gives the line.
    """
    sites: list[BedSite] = []
    scores: list[float] = []
    for row in read_rows(path):
        rule = "BED must have at least six tab-separated columns"
        row.check_columns(6, rule, "add name, score and strand (+ or -)")
        start, end = row.integer(1), row.integer(2)
        if end - start != length:
            row.refuse(
                f"a site of this signal must have {length} base{'s' * (length > 1)}, "
                f"got {start}-{end}; give the interval of the site itself (0-based, half-open)"
            )
        sites.append((row.fields[0], start, row.strand(5) == "-", row.fields[3], row.line))
        scores.append(as_number(row.fields[4]))
    if not sites:
        raise InputFormatError("a BED of sites must have rows, but it is empty", source_name(path))
    is_true = np.array(scores) > 0
    if not np.isfinite(scores).all() or is_true.all() or not is_true.any():
        return sites
    n_decoys = len(sites) - int(is_true.sum())
    logger.info("%s: %d records with score 0 are decoys, not sites", source_name(path), n_decoys)
    return list(compress(sites, is_true))


def as_number(text: str) -> float:
    """Return the score of a BED record, NaN if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_regions(
    path: PathLike, lengths: Mapping[str, int]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Read intervals from the first three columns of BED.

    Parameters
    ----------
    path : path-like
        BED, plain, gzip or bgzip, sorted or not.
    lengths : mapping of str to int
        Length in bases of the genome's contigs.

    Returns
    -------
    dict of str to (starts, ends)
        Per contig int64 arrays, 0-based half-open, sorted; overlapping or adjacent intervals are
        merged.

    Raises
    ------
    InputFormatError
        If a line is not an interval inside a contig of the genome, or there is none; the message
        gives file and line.
    """
    intervals: dict[str, list[tuple[int, int]]] = {}
    for row in read_rows(path):
        row.check_columns(3, "a line must have contig, start and end between tabs (BED)")
        contig, start, end = row.interval(lengths)
        intervals.setdefault(contig, []).append((start, end))
    if not intervals:
        message = "there must be intervals (BED), but there are none"
        raise InputFormatError(message, path=source_name(path))
    merged = {contig: merge_intervals(np.array(rows)) for contig, rows in intervals.items()}
    return {contig: (rows[:, 0].copy(), rows[:, 1].copy()) for contig, rows in merged.items()}


def read_chrom_map(path: PathLike) -> dict[str, str]:
    """Read a two-column table: the name of a contig in use, and its name in the genome.

    Blank lines and lines that begin with ``#`` are skipped. ``bcftools annotate --rename-chrs``
    takes the same file.

    Parameters
    ----------
    path : path-like
        Table separated by tabs (or blanks), plain or gzip.

    Raises
    ------
    InputFormatError
        If a line does not have two columns, or a name is repeated in the first column.
    """
    names: dict[str, str] = {}
    for line, text in numbered_lines(path):
        row = Row(source_name(path), line, readable(text).split())
        if not row.fields or row.fields[0].startswith("#"):
            continue
        if len(row.fields) != 2 or row.fields[0] in names:
            is_pair = len(row.fields) == 2
            fault = f"{row.fields[0]} twice" if is_pair else f"{len(row.fields)} columns"
            row.refuse(
                "a table of contig names must have two columns, the name in use (each once) "
                f"and the name in the genome, got {fault}; correct the line"
            )
        names[row.fields[0]] = row.fields[1]
    return names
