"""Transcripts of an annotation; those of BED12."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from seqmtl.io.tsv import Row

_MAX_TYPES = 12
_BED12_FIELDS = 12
_BLOCK_STARTS = 11  # column of the starts of blocks, after which gffread may write attributes
_BIG_GENE_PRED_FIELDS = 20
_CODING_STATES = {"none", "unk", "incmpl", "cmpl"}
_CODING_ENDS = ("start", "stop")
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
    row : int
        1-based line of its own row, in GFF3 and GTF that have one, or else `line`.
    incomplete : tuple of str
        Ends that the annotation calls incomplete, by the signals that are thus unknown: tss, polya,
        start, stop.
    is_cds_certain : bool
        False for a row of BED12 whose thick part is all of it: programs write non-coding
        transcripts so, and coding ones without UTRs. Only the genome tells them apart.
    reads : int
        Number of reads, of a junction, or 0.
    weak : str
        Why the evidence is too weak for true sites, and to exclude decoys near them, or empty.
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
    row: int = 0
    incomplete: tuple[str, ...] = ()
    is_cds_certain: bool = True
    reads: int = 0
    weak: str = ""

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


class ExcludedTranscript(NamedTuple):
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


class UncertainRegion(NamedTuple):
    """A part of the genome whose ends may be sites, by an incomplete annotation.

    Attributes
    ----------
    contig : str
        Contig.
    is_reverse : bool
        Whether it is on the minus strand; a feature without a strand is listed on both.
    exons : tuple of (int, int)
        Exons, of which each end may be a splice site, and the outer ones those of a transcript.
    introns : tuple of (int, int)
        Introns, of which both ends may be splice sites.
    cds : tuple of (int, int)
        Coding segments.
    """

    contig: str
    is_reverse: bool
    exons: tuple[Segment, ...] = ()
    introns: tuple[Segment, ...] = ()
    cds: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Annotation:
    """The transcripts of a file.

    Attributes
    ----------
    path : str
        The file.
    format : str
        GFF3, GTF, "GFF3 and GTF", BED12 or junctions.
    transcripts : list of Transcript
        In the order of their first rows. A transcript with several coding sequences is listed
        once for each.
    exclusions : list of ExcludedTranscript
        Transcripts that cannot be used.
    features : dict of str to int
        Number of rows of the file by type.
    uncertain : list of UncertainRegion
        Where sites may be: transcripts left out and those of other sources, exons that overlap
        others of their transcript, and rows of introns that are no gaps between exons.
    """

    path: str
    format: str
    transcripts: list[Transcript]
    exclusions: list[ExcludedTranscript] = field(default_factory=list)
    features: dict[str, int] = field(default_factory=dict)
    uncertain: list[UncertainRegion] = field(default_factory=list)

    @property
    def contigs(self) -> list[str]:
        """Contigs with transcripts, in order of appearance."""
        return list(dict.fromkeys(transcript.contig for transcript in self.transcripts))


def describe_features(features: dict[str, int]) -> str:
    """List the most common feature types with their counts."""
    ordered = sorted(features.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{kind} ({count:,})" for kind, count in ordered[:_MAX_TYPES])
    remainder = f", and {len(ordered) - _MAX_TYPES} more types" if len(ordered) > _MAX_TYPES else ""
    return text + remainder if ordered else "no features"


def read_bed12(rows: Iterable[Row], source: str) -> Annotation:
    """Read transcripts from rows of BED12 or more columns; the thick part is the coding sequence.

    Where it is the whole row, more columns may tell whether it is coding: those of bigGenePred, or
    the attributes of ``gffread --bed`` (``CDS=`` or only ``geneID=``).

    Raises
    ------
    InputFormatError
        If a row is invalid.
    """
    transcripts: list[Transcript] = []
    exclusions: list[ExcludedTranscript] = []
    uncertain: list[UncertainRegion] = []
    for row in rows:
        row.check_columns(_BED12_FIELDS, "BED12 must have twelve tab-separated fields or more")
        contig, name = row.fields[0], row.fields[3]
        start, end = row.integer(1), row.integer(2)
        if start >= end:
            row.refuse(f"start must be before end, got {start}-{end}; swap or correct them")
        exons = read_blocks(row)
        strand = row.strand(5, unknown=".?")
        thick_start, thick_end = _thick(row)
        thick = [(max(a, thick_start), min(b, thick_end)) for a, b in exons]
        cds = tuple((a, b) for a, b in thick if a < b)
        is_coding, incomplete = _coding_state(row)
        is_certain = is_coding is not None or (thick_start, thick_end) != (start, end)
        if is_coding is False:
            cds = ()
        if strand == ".":
            uncertain += [
                UncertainRegion(contig, is_reverse, exons, cds=cds) for is_reverse in (False, True)
            ]
            interval = contig, start, end, strand
            exclusions.append(ExcludedTranscript(name, *interval, NO_STRAND, row.line))
            continue
        transcripts.append(
            Transcript(
                name,
                name,
                contig,
                strand == "-",
                exons,
                cds,
                line=row.line,
                incomplete=incomplete,
                is_cds_certain=is_certain,
            )
        )
    features = {"BED12 rows": len(transcripts) + len(exclusions)}
    return Annotation(source, "BED12", transcripts, exclusions, features, uncertain)


def _thick(row: Row) -> tuple[int, int]:
    """Return the thick part of a row of BED12, empty if a dot says that there is none."""
    if "." in row.fields[6:8]:
        return 0, 0
    return row.integer(6), row.integer(7)


def _coding_state(row: Row) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether the columns after the twelfth call a row coding, and which ends are unknown.

    None stands for columns that do not tell.
    """
    remainder = row.fields[_BED12_FIELDS:]
    if len(row.fields) == _BIG_GENE_PRED_FIELDS and _CODING_STATES.issuperset(remainder[1:3]):
        if "none" in remainder[1:3]:
            return False, ()
        if "incmpl" in remainder[1:3]:  # writers differ in whether the first is that of the contig
            return True, _CODING_ENDS
        return True if "cmpl" in remainder[1:3] else None, ()
    keys = {
        part.partition("=")[0] for text in row.fields[_BLOCK_STARTS:] for part in text.split(";")
    }
    if "CDS" in keys:
        return True, ()
    return False if keys & {"geneID", "gene_name"} else None, ()


def read_blocks(row: Row) -> tuple[Segment, ...]:
    """Return the exons of a BED12 row, merging adjacent ones.

    Raises
    ------
    InputFormatError
        If the blocks are invalid.
    """
    start, end, count = row.integer(1), row.integer(2), row.integer(9)
    columns = row.fields[_BLOCK_STARTS - 1], row.fields[_BLOCK_STARTS].partition(";")[0]
    parts = [column.rstrip(",").split(",") for column in columns]
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
