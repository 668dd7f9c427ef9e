"""BED of sites and of regions, and the names of contigs in such files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable, source_name
from seqmtl.io.tsv import Row, as_number, is_row, read_rows
from seqmtl.sequences.intervals import merge_intervals

logger = logging.getLogger(__name__)


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
    if not np.isfinite(scores).all() or not is_true.any():
        is_true[:] = True
    if n_decoys := int((~is_true).sum()):
        logger.info(
            "%s: %d records with score 0 are decoys, not sites", source_name(path), n_decoys
        )
    return list(compress(sites, is_true))


def read_regions(
    path: PathLike, lengths: Mapping[str, int]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Read intervals from the first three columns of BED.

    Those on contigs that the genome lacks are left out, with a warning, if there are others: such
    files are made for whole assemblies.

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
        If a line is not an interval inside its contig, or no contig is of the genome; the message
        gives file and line.
    """
    intervals: dict[str, list[tuple[int, int]]] = {}
    missing: list[Row] = []
    for row in read_rows(path):
        row.check_columns(3, "a line must have contig, start and end between tabs (BED)")
        if row.fields[0] not in lengths:
            missing.append(row)
            continue
        contig, start, end = row.interval(lengths)
        intervals.setdefault(contig, []).append((start, end))
    if missing and not intervals:
        missing[0].interval(lengths)
    if missing:
        contigs = dict.fromkeys(row.fields[0] for row in missing)
        logger.warning(
            "%s: %d intervals are left out, on %d contigs that the genome lacks (such as %s)",
            source_name(path),
            len(missing),
            len(contigs),
            next(iter(contigs)),
        )
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
