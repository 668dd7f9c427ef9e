"""Transcripts from BED12."""

from __future__ import annotations

from collections.abc import Iterator

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io._fields import COORDINATES, is_coordinate, is_row
from seqmtl.io.transcripts import Annotation, LeftOutTranscript, Segment, Transcript

_N_FIELDS = 12
_REASON = "transcript without a strand"


def read_bed12(lines: Iterator[tuple[int, bytes]], source: str) -> Annotation:
    """Read transcripts from numbered BED12 lines; the thick part is the coding sequence.

    Raises
    ------
    InputFormatError
        If a row is invalid.
    """
    transcripts: list[Transcript] = []
    left_out: list[LeftOutTranscript] = []
    for line, row in filter(lambda numbered: is_row(numbered[1]), lines):
        try:
            _add(readable(row).split("\t"), line, transcripts, left_out)
        except ValueError as error:
            raise InputFormatError(str(error), path=source, line=line) from error
    features = {"BED12 rows": len(transcripts) + len(left_out)}
    return Annotation(source, "BED12", transcripts, left_out, features)


def _add(
    fields: list[str],
    line: int,
    transcripts: list[Transcript],
    left_out: list[LeftOutTranscript],
) -> None:
    """Add the transcript of one row.

    Raises
    ------
    ValueError
        If the row is invalid.
    """
    if len(fields) != _N_FIELDS:
        raise ValueError(
            f"BED12 must have twelve tab-separated fields, got {len(fields)}; correct the line"
        )
    contig, name, strand = fields[0], fields[3], fields[5]
    start, end, thick_start, thick_end = (integer(fields[i]) for i in (1, 2, 6, 7))
    if start >= end:
        raise ValueError(f"start must be before end, got {start}-{end}; swap or correct them")
    exons = read_blocks(fields, start, end)
    if strand not in ("+", "-"):
        if strand != ".":
            raise ValueError(f"strand must be +, - or ., got {strand!r}; correct it")
        left_out.append(LeftOutTranscript(name, contig, start, end, strand, _REASON, line))
        return
    thick = [(max(a, thick_start), min(b, thick_end)) for a, b in exons]
    cds = tuple((a, b) for a, b in thick if a < b)
    transcripts.append(Transcript(name, name, contig, strand == "-", exons, cds, line=line))


def read_blocks(fields: list[str], start: int, end: int) -> tuple[Segment, ...]:
    """Return the exons of a BED12 row, merging adjacent ones.

    Raises
    ------
    ValueError
        If the blocks are invalid.
    """
    count = integer(fields[9])
    sizes, starts = ([integer(part) for part in fields[i].rstrip(",").split(",")] for i in (10, 11))
    if not count == len(sizes) == len(starts):
        raise ValueError(
            f"blockCount must be the number of blockSizes and blockStarts, got {count}, "
            f"{len(sizes)} and {len(starts)}; correct the line"
        )
    exons: list[Segment] = []
    for begin, size in sorted(zip(starts, sizes, strict=True)):
        first, last = start + begin, start + begin + size
        if size < 1 or (exons and first < exons[-1][1]):
            raise ValueError(
                f"blocks must not be empty or overlap, got {first}-{last}; correct the line"
            )
        if exons and first == exons[-1][1]:
            exons[-1] = exons[-1][0], last
        else:
            exons.append((first, last))
    if (exons[0][0], exons[-1][1]) != (start, end):
        raise ValueError(
            f"blocks must span {start}-{end}, got {exons[0][0]}-{exons[-1][1]}; correct the line"
        )
    return tuple(exons)


def integer(text: str) -> int:
    """Parse a coordinate or a count.

    Raises
    ------
    ValueError
        If it is not one.
    """
    if not is_coordinate(text):
        raise ValueError(f"coordinates must be {COORDINATES}, got {text[:60]!r}; correct it")
    return int(text)
