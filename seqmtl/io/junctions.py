"""Splice junctions of aligned reads: STAR's SJ.out.tab, BED12 and BED6."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import NamedTuple

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io.rows import Row, read_rows
from seqmtl.io.transcripts import read_blocks

logger = logging.getLogger(__name__)

_STAR, _BED12, _BED6 = 9, 12, 6
_STAR_STRANDS = {"0": ".", "1": "+", "2": "-"}
_STAR_MOTIFS = {str(motif) for motif in range(7)}
_OLD_STAR = (3, 4)
_N_ENDS = 2

#: Contig, start, end and strand.
_Intron = tuple[str, int, int, str]


class Junction(NamedTuple):
    """An intron that reads span.

    Attributes
    ----------
    contig : str
        Contig.
    start, end : int
        The intron, 0-based half-open.
    strand : str
        ``+`` or ``-`` as the file says, or ``.`` if it does not.
    reads : int
        Number of reads.
    line : int
        1-based line where it is first.
    """

    contig: str
    start: int
    end: int
    strand: str
    reads: int
    line: int


def read_junctions(path: PathLike) -> list[Junction]:
    """Read splice junctions; the format is detected from the number of columns.

    ========  ======================================================================================
    9         ``SJ.out.tab`` of STAR 2: the reads are those that map uniquely (column 7)
    12        BED12. If every row has two blocks, a row is a junction between them, and its score is
              the number of reads (regtools, TopHat, portcullis); otherwise a row is one spliced
              alignment (``paftools.js splice2bed``), which counts as one read
    6         BED6 of introns, a row for each read (``minimap2 --write-junc``)
    ========  ======================================================================================

    Reads of equal junctions are summed, so that the files of several samples may be concatenated.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.

    Returns
    -------
    list of Junction
        In the order of the file.

    Raises
    ------
    InputFormatError
        If the file has another format, a row is invalid (with its line), or it has no junction.
    """
    found: dict[_Intron, list[int]] = {}  # reads of the file, rows, first line
    n_columns, has_counts, n_rows = 0, True, 0
    for row in read_rows(path):
        n_rows += 1
        n_columns = _check_columns(row, n_columns)
        if n_columns == _STAR:
            introns, reads = _of_star(row)
        else:
            introns, reads, is_junction = _of_bed(row)
            has_counts &= is_junction
        for key in introns:
            totals = found.setdefault(key, [0, 0, row.line])
            totals[0] += reads
            totals[1] += 1
    if not found:
        raise InputFormatError(
            f"a file of splice junctions must have some, but its {n_rows:,} rows have none; "
            "check how it was written",
            path=source_name(path),
        )
    kind = "STAR" if n_columns == _STAR else f"BED{n_columns}"
    by_row = n_columns != _STAR and not has_counts
    counted = "rows" if by_row else "those of the file"
    logger.info("%s: %s, %d junctions; reads are %s", path, kind, len(found), counted)
    return [
        Junction(*key, rows if by_row else reads, line)
        for key, (reads, rows, line) in found.items()
    ]


def _check_columns(row: Row, expected: int) -> int:
    """Return the number of columns, that of a format and the same in all rows."""
    n = len(row.fields)
    if n not in (_STAR, _BED12, _BED6):
        hint = "check how it was written"
        if n in _OLD_STAR:
            hint = "this looks like the list of an early STAR: give the SJ.out.tab of STAR 2"
        row.refuse(
            "junctions must have nine tab-separated columns (STAR's SJ.out.tab), twelve (BED12) "
            f"or six (BED6), got {n}; {hint}"
        )
    if expected and n != expected:
        row.refuse(f"all rows must have {expected} columns, got {n}; correct the line")
    return n


def _of_star(row: Row) -> tuple[list[_Intron], int]:
    """Return the intron of a row of SJ.out.tab, whose coordinates are 1-based closed, and reads."""
    first, _, strand, motif, annotated, unique = row.fields[1:7]
    if not (first.isdigit() and strand in _STAR_STRANDS and motif in _STAR_MOTIFS):
        remedy = "give the SJ.out.tab of STAR 2"
        if strand.isdigit() and unique in ("+", "-", ".", "?"):
            remedy = "this looks like GFF3 or GTF: name it annotation instead of junctions"
        got = " ".join(row.fields[:6])[:60]
        row.refuse(
            "SJ.out.tab must have contig, first and last base of the intron, strand (0 to 2), "
            f"motif (0 to 6), got {got!r}; {remedy}"
        )
    if annotated not in ("0", "1"):
        row.refuse(
            f"column 6 of SJ.out.tab (annotated) must be 0 or 1, got {annotated[:30]!r}; give the "
            "SJ.out.tab of STAR 2"
        )
    start, end = row.integer(1) - 1, row.integer(2)
    return [_intron(row, start, end, _STAR_STRANDS[strand])], row.integer(6)


def _of_bed(row: Row) -> tuple[list[_Intron], int, bool]:
    """Return the introns of a row of BED, its score, and whether it may be one junction."""
    strand = row.strand(5, unknown=".?")
    if len(row.fields) == _BED6:
        return [_intron(row, row.integer(1), row.integer(2), strand)], 0, False
    blocks = read_blocks(row)
    introns = [_intron(row, left[1], right[0], strand) for left, right in pairwise(blocks)]
    is_junction = len(blocks) == _N_ENDS and row.fields[4].isdigit()
    return introns, row.integer(4) if is_junction else 0, is_junction


def _intron(row: Row, start: int, end: int, strand: str) -> _Intron:
    if not 0 < start < end:
        row.refuse(
            "an intron must begin after the first base of its contig and before its end, got "
            f"{start}-{end} (0-based); correct it"
        )
    return row.fields[0], start, end, strand
