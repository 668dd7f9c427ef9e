"""Transcripts from BED12."""

from __future__ import annotations

from collections.abc import Iterable

from seqmtl.io.rows import Row
from seqmtl.io.transcripts import Annotation, LeftOutTranscript, Segment, Transcript

_N_FIELDS = 12
_REASON = "transcript without a strand"


def read_bed12(rows: Iterable[Row], source: str) -> Annotation:
    """Read transcripts from rows of BED12; the thick part is the coding sequence.

    Raises
    ------
    InputFormatError
        If a row is invalid.
    """
    transcripts: list[Transcript] = []
    left_out: list[LeftOutTranscript] = []
    for row in rows:
        if len(row.fields) != _N_FIELDS:
            row.refuse(
                f"BED12 must have twelve tab-separated fields, got {len(row.fields)}; correct the "
                "line"
            )
        contig, name = row.fields[0], row.fields[3]
        start, end, thick_start, thick_end = (row.integer(i) for i in (1, 2, 6, 7))
        if start >= end:
            row.refuse(f"start must be before end, got {start}-{end}; swap or correct them")
        exons, strand = read_blocks(row), row.strand(5, unknown=".")
        if strand == ".":
            left_out.append(LeftOutTranscript(name, contig, start, end, strand, _REASON, row.line))
            continue
        thick = [(max(a, thick_start), min(b, thick_end)) for a, b in exons]
        cds = tuple((a, b) for a, b in thick if a < b)
        transcripts.append(Transcript(name, name, contig, strand == "-", exons, cds, line=row.line))
    features = {"BED12 rows": len(transcripts) + len(left_out)}
    return Annotation(source, "BED12", transcripts, left_out, features)


def read_blocks(row: Row) -> tuple[Segment, ...]:
    """Return the exons of a BED12 row, merging adjacent ones.

    Raises
    ------
    InputFormatError
        If the blocks are invalid.
    """
    start, end, count = row.integer(1), row.integer(2), row.integer(9)
    parts = [row.fields[column].rstrip(",").split(",") for column in (10, 11)]
    sizes, starts = ([row.parse(part) for part in column] for column in parts)
    if not count == len(sizes) == len(starts):
        row.refuse(
            f"blockCount must be the number of blockSizes and blockStarts, got {count}, "
            f"{len(sizes)} and {len(starts)}; correct the line"
        )
    exons: list[Segment] = []
    for begin, size in sorted(zip(starts, sizes, strict=True)):
        first, last = start + begin, start + begin + size
        if size < 1 or (exons and first < exons[-1][1]):
            row.refuse(f"blocks must not be empty or overlap, got {first}-{last}; correct the line")
        if exons and first == exons[-1][1]:
            exons[-1] = exons[-1][0], last
        else:
            exons.append((first, last))
    if (exons[0][0], exons[-1][1]) != (start, end):
        row.refuse(
            f"blocks must span {start}-{end}, got {exons[0][0]}-{exons[-1][1]}; correct the line"
        )
    return tuple(exons)
