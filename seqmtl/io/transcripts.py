"""Transcripts of an annotation; those of BED12."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from seqmtl.io.rows import Row

_SHOWN = 12
_BED12_FIELDS = 12
NO_STRAND = "transcript without a strand"

#: An interval on the forward strand, 0-based half-open.
Segment = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as annotated; coordinates are 0-based half-open on the forward strand.

    Attributes
    ----------
    name : str
        Identifier.
    gene : str
        Identifier of its gene, or its own if the file names no gene.
    contig : str
        Contig.
    is_reverse : bool
        Whether it is on the minus strand.
    exons : tuple of (int, int)
        Exons by position; neither overlapping nor adjacent.
    cds : tuple of (int, int)
        Coding segments by position, or empty. Whether they include the stop codon depends on
        the format (GFF3: yes, GTF: no) and on the program that wrote the file.
    phase : int or None
        Bases before the first complete codon of the first coding segment in reading direction.
    start_codon, stop_codon : tuple of (int, int)
        Codons as annotated, or empty.
    biotype : str
        Type of the transcript as annotated.
    line : int
        1-based line of its first exon or coding segment.
    """

    name: str
    gene: str
    contig: str
    is_reverse: bool
    exons: tuple[Segment, ...]
    cds: tuple[Segment, ...] = ()
    phase: int | None = None
    start_codon: tuple[Segment, ...] = ()
    stop_codon: tuple[Segment, ...] = ()
    biotype: str = ""
    line: int = 0

    @property
    def start(self) -> int:
        """First base on the forward strand."""
        return self.exons[0][0]

    @property
    def end(self) -> int:
        """End on the forward strand (exclusive)."""
        return self.exons[-1][1]

    @property
    def introns(self) -> list[Segment]:
        """Gaps between consecutive exons, by position."""
        return [(left[1], right[0]) for left, right in pairwise(self.exons)]


class LeftOutTranscript(NamedTuple):
    """A transcript that cannot be used.

    Attributes
    ----------
    name, contig : str
        Identifier, and contig of its first row.
    start, end : int
        Range of its rows, 0-based half-open.
    strand : str
        As in the first row.
    reason : str
        Why it cannot be used.
    line : int
        1-based line of its first row.
    """

    name: str
    contig: str
    start: int
    end: int
    strand: str
    reason: str
    line: int


@dataclass(frozen=True)
class Annotation:
    """The transcripts of a file.

    Attributes
    ----------
    path : str
        The file.
    format : str
        GFF3, GTF or BED12.
    transcripts : list of Transcript
        In the order of their first rows. A transcript with several coding sequences is listed
        once for each.
    left_out : list of LeftOutTranscript
        Transcripts that cannot be used.
    features : dict of str to int
        Number of rows of the file by type.
    """

    path: str
    format: str
    transcripts: list[Transcript]
    left_out: list[LeftOutTranscript] = field(default_factory=list)
    features: dict[str, int] = field(default_factory=dict)

    @property
    def contigs(self) -> list[str]:
        """Contigs with transcripts, in order of appearance."""
        return list(dict.fromkeys(transcript.contig for transcript in self.transcripts))

    def describe(self) -> str:
        """Summarise the contents of the file, for messages."""
        return describe_features(self.features)


def describe_features(features: dict[str, int]) -> str:
    """List the most common feature types with their counts."""
    ordered = sorted(features.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{kind} ({count:,})" for kind, count in ordered[:_SHOWN])
    more = f", and {len(ordered) - _SHOWN} more types" if len(ordered) > _SHOWN else ""
    return shown + more if ordered else "no features"


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
        if len(row.fields) != _BED12_FIELDS:
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
            left_out.append(
                LeftOutTranscript(name, contig, start, end, strand, NO_STRAND, row.line)
            )
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
