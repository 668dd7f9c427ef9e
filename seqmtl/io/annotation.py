"""Annotations: transcripts from GFF3, GTF and BED12."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from seqmtl.exceptions import InputFormatError
from seqmtl.io._fields import Lines, pop_header, read_lines
from seqmtl.io._stream import PAD_BYTES, PathLike, source_name

logger = logging.getLogger(__name__)

_GFF_FIELDS, _BED_FIELDS = 9, 12
_SHOWN = 12
_FOREIGN = {
    b">": "this looks like FASTA, not an annotation",
    b"LOCUS": "this looks like GenBank: convert it to GFF3",
    b"ID  ": "this looks like EMBL: convert it to GFF3",
    b"SQLite": "this looks like a database of gffutils: give the GFF3 or GTF it was made from",
}

#: An interval on the forward strand, 0-based half-open.
Segment = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as annotated; coordinates are 0-based half-open on the forward strand.

    Attributes
    ----------
    name : str
        Its identifier.
    gene : str
        Identifier of its gene; its own where the file names none.
    contig : str
        Contig.
    is_reverse : bool
        Whether it is on the minus strand.
    exons : tuple of (int, int)
        Exons by place; neither overlapping nor touching.
    cds : tuple of (int, int)
        Coding segments by place, empty where there are none. Whether the stop codon is among them
        depends on the file's format (GFF3: yes, GTF: no) and on who wrote it.
    phase : int or None
        Bases before the first whole codon of the first coding segment in reading direction.
    start_codon, stop_codon : tuple of (int, int)
        What the file calls so; empty where it does not say.
    biotype : str
        Kind of transcript in the file's own words.
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
        """Behind the last base on the forward strand."""
        return self.exons[-1][1]

    @property
    def introns(self) -> list[Segment]:
        """Gaps between consecutive exons, by place."""
        return [(left[1], right[0]) for left, right in pairwise(self.exons)]


class LeftOutTranscript(NamedTuple):
    """A transcript that cannot be used.

    Attributes
    ----------
    name, contig : str
        Its identifier, and the contig of its first row.
    start, end : int
        What its rows span, 0-based half-open.
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
        In the order of their first rows. One with several coding sequences is listed once for
        each.
    left_out : list of LeftOutTranscript
        What cannot be used.
    features : dict of str to int
        Rows of the file by type.
    """

    path: str
    format: str
    transcripts: list[Transcript]
    left_out: list[LeftOutTranscript] = field(default_factory=list)
    features: dict[str, int] = field(default_factory=dict)

    @property
    def contigs(self) -> list[str]:
        """Contigs with transcripts, by first appearance."""
        return list(dict.fromkeys(transcript.contig for transcript in self.transcripts))

    def describe(self) -> str:
        """Say what the file holds, for messages."""
        return describe_features(self.features)


def describe_features(features: dict[str, int]) -> str:
    """Return the commonest types of features with their numbers."""
    ordered = sorted(features.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{kind} ({count:,})" for kind, count in ordered[:_SHOWN])
    more = f", and {len(ordered) - _SHOWN} more types" if len(ordered) > _SHOWN else ""
    return shown + more if ordered else "no features"


def read_annotation(path: PathLike, *, sources: Collection[str] | None = None) -> Annotation:
    """Read transcripts from GFF3, GTF or BED12; which of them is told by the content.

    A transcript is whatever exons or coding segments (CDS) belong to: by ``Parent`` in GFF3, where
    one row may belong to several, and by ``transcript_id`` in GTF. Where a transcript has no
    exons, its coding segments, UTRs and codons make them. A coding sequence that belongs to a gene
    directly, or to nothing but has an ``ID``, counts as a transcript. Introns of a file are not
    looked at: they are the gaps between exons. Exons of one transcript that overlap or touch are
    joined; coding sequences of one transcript that overlap and have several IDs are alternatives.

    Transcripts without a strand, and those with exons on two strands or contigs (trans-splicing),
    are left out and listed. ``##FASTA`` ends the annotation.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    sources : collection of str, optional
        Take only rows with one of these in the second column (GFF3, GTF).

    Returns
    -------
    Annotation
        Transcripts in the order of the file.

    Raises
    ------
    InputFormatError
        If the file is none of these, a row is wrong (with its line), or there is no transcript.

    Examples
    --------
    >>> annotation = read_annotation("genes.gff3.gz")  # doctest: +SKIP
    """
    from seqmtl.io._bed12 import read_bed12
    from seqmtl.io._gff import read_gff

    source = source_name(path)
    lines = read_lines(path)
    first, rest = pop_header(lines, _is_row)
    line = rest.first_line - 1
    n_fields = first.count(b"\t") + 1
    again = Lines(first + b"\n" + bytes(PAD_BYTES), line)
    blocks = chain([again, rest], lines)
    if n_fields == _GFF_FIELDS:
        annotation = read_gff(blocks, source, sources)
    elif n_fields == _BED_FIELDS:
        if sources:
            raise ValueError("sources must be left out for BED12: it has no such column")
        annotation = read_bed12(blocks, source)
    else:
        raise InputFormatError(
            f"an annotation must have nine tab-separated fields (GFF3, GTF) or twelve (BED12), "
            f"got {n_fields if first else 0}; {_hint(first)}",
            path=source,
            line=line if first else None,
        )
    logger.info(
        "%s: %s, %d transcripts on %d contigs, %d left out",
        source,
        annotation.format,
        len(annotation.transcripts),
        len(annotation.contigs),
        len(annotation.left_out),
    )
    return annotation


def _is_row(line: bytes) -> bool:
    """Tell rows from comments, blank lines and the lines that speak to a browser."""
    return bool(line.strip()) and not line.startswith((b"#", b"track", b"browser"))


def _hint(first: bytes) -> str:
    """Say what a file may be instead."""
    if not first:
        return "the file has no rows; check how it was written"
    for start, remedy in _FOREIGN.items():
        if first.startswith(start):
            return remedy
    if first.count(b"\t") + 1 in (6, 3, 4, 5):
        return "this looks like BED; a BED of sites is no annotation"
    return "separate the fields by tabs" if b"\t" not in first else "check how it was written"
