"""Annotations: transcripts from GFF3 and GTF, in one pass, and from BED12."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NoReturn
from urllib.parse import unquote

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable, source_name
from seqmtl.io.rows import COORDINATES, is_coordinate, is_row, rows_of
from seqmtl.io.transcripts import (
    NO_STRAND,
    Annotation,
    LeftOutTranscript,
    Segment,
    Transcript,
    describe_features,
    read_bed12,
)

logger = logging.getLogger(__name__)

_GFF_FIELDS, _BED_FIELDS = 9, 12
_FOREIGN = {
    b">": "this looks like FASTA, not an annotation",
    b"LOCUS": "this looks like GenBank: convert it to GFF3",
    b"ID  ": "this looks like EMBL: convert it to GFF3",
    b"SQLite": "this looks like a gffutils database: give the GFF3 or GTF it was made from",
}

_EXON, _CDS, _UTR, _START, _STOP = range(5)
_PARTS = {
    b"exon": _EXON,
    b"noncoding_exon": _EXON,
    b"pseudogenic_exon": _EXON,
    b"coding_exon": _EXON,
    b"CDS": _CDS,
    b"cds": _CDS,
    b"five_prime_UTR": _UTR,
    b"three_prime_UTR": _UTR,
    b"UTR": _UTR,
    b"5UTR": _UTR,
    b"3UTR": _UTR,
    b"five_prime_utr": _UTR,
    b"three_prime_utr": _UTR,
    b"5'-UTR": _UTR,
    b"3'-UTR": _UTR,
    b"start_codon": _START,
    b"stop_codon": _STOP,
}
# Feature types that are never parents of exons, and often make up most of a file.
_NO_PARENTS = {b"intron", b"match", b"match_part", b"cDNA_match", b"cdna_match", b"EST_match"}
_PROTEINS = {b"protein", b"polypeptide"}
_STRANDS = {b"+", b"-"}
_ANY_STRAND = {b"+", b"-", b".", b"?"}

MIXED = "transcript with exons on two strands or contigs (trans-splicing)"
NO_PARENT = "exon or CDS that belongs to no transcript"
OF_GENE = "exons that belong to a gene that has transcripts of its own"
INSIDE = "part of a longer transcript (such as a microRNA of its precursor)"

_ID = re.compile(rb"(?:^|;)\s*ID=([^;]*)")
_METAEUK_ID = re.compile(rb"(?:^|;)TCS_ID=([^;]*)")
_PARENT = re.compile(rb"(?:^|;)\s*Parent=([^;]*)")
_BIOTYPE = re.compile(rb"(?:^|;)\s*(?:transcript_)?(?:bio)?type=([^;]*)")
_GTF_NAMES = {
    name: re.compile(rb'(?:^|[\s;])%s\s+(?:"([^"]*)"|([^\s";]+))' % name)
    for name in (b"transcript_id", b"gene_id")
}
_GTF_BIOTYPE = re.compile(rb'(?:^|[\s;])(?:transcript|gene)_(?:bio)?type\s+"?([^";]*)')
_IS_GTF = re.compile(rb'^\s*[^\s=";]+\s+["\w]')
_IS_GFF3 = re.compile(rb'^\s*[^\s=";]+=')


def read_annotation(path: PathLike, *, sources: Collection[str] | None = None) -> Annotation:
    """Read transcripts from GFF3, GTF or BED12; the format is detected from the content.

    A transcript is the parent of exons or coding segments (CDS): by ``Parent`` in GFF3, where a row
    may have several, and by ``transcript_id`` in GTF. If a transcript has no exons, they are
    derived from its coding segments, UTRs and codons. A coding sequence whose parent is a gene, or
    that has only an ``ID``, counts as a transcript. Intron rows are ignored: introns are the gaps
    between exons. Exons of a transcript that overlap or touch are merged. Overlapping coding
    sequences of a transcript with different IDs are alternatives.

    Some transcripts are left out and listed: those without a strand, those with exons on two
    strands or contigs (trans-splicing), those that are part of another one, such as microRNAs of a
    precursor, and exons of a gene that has transcripts of its own. ``##FASTA`` ends the annotation.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    sources : collection of str, optional
        Use only rows with one of these in the second column (GFF3, GTF).

    Returns
    -------
    Annotation
        Transcripts in the order of the file.

    Raises
    ------
    InputFormatError
        If the file has another format, a row is invalid (with its line), or there is no
        transcript.

    Examples
    --------
    >>> annotation = read_annotation("genes.gff3.gz")  # doctest: +SKIP
    """
    source = source_name(path)
    lines = numbered_lines(path)
    line, first = next((numbered for numbered in lines if is_row(numbered[1])), (0, b""))
    n_fields = first.count(b"\t") + 1
    if n_fields == _GFF_FIELDS and all(field.isdigit() for field in first.split(b"\t")[1:]):
        raise InputFormatError(
            "an annotation must have text in columns 2, 3 and 7, but all columns after the first "
            "are numbers; this looks like STAR's SJ.out.tab: name it junctions instead of "
            "annotation",
            path=source,
            line=line,
        )
    lines = chain([(line, first)], lines)
    if n_fields == _GFF_FIELDS:
        reader = _GffReader(source, sources)
        reader.read(lines)
        annotation = reader.annotation()
    elif n_fields == _BED_FIELDS:
        if sources:
            raise InputFormatError(
                "sources must be left out for BED12, which has no such column; name them for the "
                "organisms with GFF3 or GTF",
                path=source,
            )
        annotation = read_bed12(rows_of(lines, source), source)
    else:
        raise InputFormatError(
            f"an annotation must have nine tab-separated fields (GFF3, GTF) or twelve (BED12), "
            f"got {n_fields if first else 0}; {_hint(first)}",
            path=source,
            line=line if first else None,
        )
    left_out, text = len(annotation.left_out), "%s: %s, %d transcripts on %d contigs, %d left out"
    counts = len(annotation.transcripts), len(annotation.contigs), left_out
    logger.info(text, source, annotation.format, *counts)
    return annotation


def _hint(first: bytes) -> str:
    """Suggest what a file may be instead."""
    if not first:
        return "the file has no rows; check how it was written"
    for start, remedy in _FOREIGN.items():
        if first.startswith(start):
            return remedy
    if first.count(b"\t") + 1 in (6, 3, 4, 5):
        return "this looks like BED; a BED of sites is not an annotation"
    return "separate the fields by tabs" if b"\t" not in first else "check how it was written"


@dataclass(slots=True)
class _Group:
    """The rows of one transcript; `parents` are all transcripts of its first row."""

    contig: bytes
    strand: bytes
    gene: bytes
    line: int
    parents: list[bytes]
    biotype: bytes = b""
    is_mixed: bool = False
    parts: tuple[list[Segment], ...] = field(default_factory=lambda: ([], [], [], [], []))
    coding: list[tuple[Segment, bytes, bytes]] = field(default_factory=list)


class _GffReader:
    """State of reading GFF3 or GTF."""

    def __init__(self, source: str, sources: Collection[str] | None) -> None:
        self.source = source
        self.wanted = None if sources is None else {name.encode() for name in sources}
        self.is_gtf: bool | None = None
        self.groups: dict[bytes, _Group] = {}
        self.parents: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        self.owners: dict[bytes, bytes] = {}  # of exons that CDS rows name as their parents
        self.features: Counter[bytes] = Counter()
        self.seen_sources: Counter[bytes] = Counter()
        self.left_out: list[LeftOutTranscript] = []
        self.line = 0

    def read(self, lines: Iterator[tuple[int, bytes]]) -> None:
        """Read all lines of the annotation, up to the FASTA section if there is one."""
        for self.line, row in lines:
            if not row or row.startswith(b"#"):
                if row.startswith(b"##FASTA"):
                    return
                continue
            if row.startswith(b">"):
                return
            fields = row.split(b"\t")
            if len(fields) == _GFF_FIELDS:
                self._add_row(fields)
            elif row.strip() and not row.startswith((b"track", b"browser")):
                self._refuse(
                    f"a feature must have nine tab-separated fields, got {len(fields)}; "
                    "correct the line"
                )

    def _refuse(self, message: str) -> NoReturn:
        raise InputFormatError(message, path=self.source, line=self.line)

    def _add_row(self, fields: list[bytes]) -> None:
        _, origin, kind, first, last, _, _, _, attributes = fields
        if self.wanted is not None:
            self.seen_sources[origin] += 1
            if origin not in self.wanted:
                return
        self.features[kind] += 1
        segment = self._segment(first, last)
        part = _PARTS.get(kind)
        if part is not None:
            self._add_part(part, fields, segment)
        elif not self.is_gtf and kind not in _NO_PARENTS:
            self._add_parent(kind, attributes)

    def _add_part(self, part: int, fields: list[bytes], segment: Segment) -> None:
        """Add an exon, coding segment, UTR or codon to its transcripts."""
        contig, _, kind, _, _, _, strand, phase, attributes = fields
        if strand not in _ANY_STRAND:
            self._refuse(f"strand must be +, -, . or ?, got {readable(strand)!r}; correct it")
        if self.is_gtf is None:
            self.is_gtf = self._tell_format(attributes)
        names = (self._gtf_names if self.is_gtf else self._gff3_names)(kind, attributes)
        if not names:
            place = (readable(contig), *segment, readable(strand))
            self.left_out.append(LeftOutTranscript("", *place, NO_PARENT, self.line))
        cds_id = b""
        if part == _CDS and not self.is_gtf and (found := _ID.search(attributes)):
            cds_id = found[1]
        for name, gene in names:
            group = self.groups.get(name)
            if group is None:
                group = _Group(contig, strand, gene, self.line, [one for one, _ in names])
                if self.is_gtf and (found := _GTF_BIOTYPE.search(attributes)):
                    group.biotype = found[1]
                self.groups[name] = group
            group.is_mixed |= group.contig != contig or group.strand != strand
            group.parts[part].append(segment)
            if part == _CDS:
                group.coding.append((segment, phase, cds_id))

    def _segment(self, first: bytes, last: bytes) -> Segment:
        """Return the interval of a feature, 0-based half-open."""
        if not (is_coordinate(first) and is_coordinate(last)):
            got = readable(last if is_coordinate(first) else first)[:60]
            self._refuse(f"start and end must be {COORDINATES}, got {got!r}; correct it")
        start, end = int(first), int(last)
        if start < 1:
            self._refuse(f"start must be 1 or more (1-based, closed), got {start}; correct it")
        if start > end:
            self._refuse(f"start must not be after end, got {start}-{end}; swap or correct them")
        return start - 1, end

    def _tell_format(self, attributes: bytes) -> bool:
        if _IS_GFF3.match(attributes):
            return False
        if _IS_GTF.match(attributes):
            return True
        self._refuse(
            "the ninth field must have attributes as GFF3 (Parent=...) or GTF (transcript_id "
            f'"..."), got {readable(attributes)[:60]!r}; correct the line'
        )

    def _add_parent(self, kind: bytes, attributes: bytes) -> None:
        """Record the type of the feature with an ID, and its parents."""
        found = _ID.search(attributes)
        if found is not None:
            parent, biotype = _PARENT.search(attributes), _BIOTYPE.search(attributes)
            self.parents[found[1].strip()] = (
                kind,
                parent[1].split(b",")[0].strip() if parent else b"",
                biotype[1] if biotype else b"",
            )

    def _gff3_names(self, kind: bytes, attributes: bytes) -> list[tuple[bytes, bytes]]:
        """Return the transcripts of a row; their genes are resolved later."""
        found = _PARENT.search(attributes)
        if found is None and kind == b"CDS":
            found = _ID.search(attributes)
        if found is None:
            return []
        if b"," not in found[1]:
            name = found[1].strip()
            if kind == b"exon" and (exon := _METAEUK_ID.search(attributes)):
                self.owners[exon[1].strip()] = name
            return [(self.owners.get(name, name), b"")] if name else []
        names = [name.strip() for name in found[1].split(b",")]
        return [(name, b"") for name in dict.fromkeys(names) if name]

    def _gtf_names(self, kind: bytes, attributes: bytes) -> list[tuple[bytes, bytes]]:
        """Return the transcript of a row, identified by gene and name, and the gene.

        NCBI files may have ``unknown_transcript_1`` in many genes.
        """
        gene = _gtf_value(b"gene_id", attributes)
        name = _gtf_value(b"transcript_id", attributes) or gene
        return [(gene + b"\t" + name, gene)] if name else []

    def annotation(self) -> Annotation:
        """Build the transcripts from the rows."""
        if self.wanted is not None and not self.wanted & set(self.seen_sources):
            wanted = ", ".join(sorted(map(readable, self.wanted)))
            seen = describe_features(_readable_counts(self.seen_sources))
            raise InputFormatError(
                f"sources must be among the file's, got {wanted}; the second column has {seen}",
                path=self.source,
            )
        features = _readable_counts(self.features)
        owners = {self.parents[name][1] for name in self.groups if name in self.parents}
        transcripts: list[Transcript] = []
        n_joined = 0
        for name, group in self.groups.items():
            kind, parent, biotype = self.parents.get(name, (b"", b"", b""))
            if kind in _PROTEINS or self._is_protein(name, group):
                continue
            group.gene = group.gene or parent
            group.biotype = group.biotype or biotype or kind
            reason = self._problem(name, group, owners)
            if reason:
                self.left_out.append(_left_out(_text(name, self.is_gtf), group, reason))
                continue
            transcripts += _transcripts(_text(name, self.is_gtf), group, self.is_gtf)
            n_joined += _overlap(sorted(group.parts[_EXON]))
        if n_joined:
            logger.info("%s: joined overlapping exons of %d transcripts", self.source, n_joined)
        if not transcripts and not self.left_out:
            raise InputFormatError(
                "an annotation must have transcripts (exons or CDS with Parent= or "
                f"transcript_id), but this file has only {describe_features(features)}; "
                "give the annotation of genes",
                path=self.source,
            )
        kind_of_file = "GTF" if self.is_gtf else "GFF3"
        return Annotation(self.source, kind_of_file, transcripts, self.left_out, features)

    def _is_protein(self, name: bytes, group: _Group) -> bool:
        """Tell whether a group has no exons but shares its rows with a transcript that has."""
        return not group.parts[_EXON] and any(
            other != name and self.groups[other].parts[_EXON] for other in group.parents
        )

    def _problem(self, name: bytes, group: _Group, owners: set[bytes]) -> str:
        """Return the reason why a transcript cannot be used, or ""."""
        if name in owners and self._is_gene(name):
            return OF_GENE
        if group.gene in self.groups and group.gene in owners and not self._is_gene(group.gene):
            return INSIDE
        if group.is_mixed:
            return MIXED
        return "" if group.strand in _STRANDS else NO_STRAND

    def _is_gene(self, name: bytes) -> bool:
        """Tell whether an ID is a gene, of any type or without a row of its own."""
        kind = self.parents.get(name, (b"", b"", b""))[0]
        return not kind or kind.lower().endswith(b"gene")


def _left_out(name: str, group: _Group, reason: str) -> LeftOutTranscript:
    starts, ends = zip(*(segment for part in group.parts for segment in part), strict=True)
    contig, strand = readable(group.contig), readable(group.strand)
    return LeftOutTranscript(name, contig, min(starts), max(ends), strand, reason, group.line)


def _readable_counts(counts: Counter[bytes]) -> dict[str, int]:
    return {readable(name): count for name, count in counts.items()}


def _text(name: bytes, is_gtf: bool | None) -> str:
    """Decode a name: undo %XX of GFF3, drop the gene before the name of GTF."""
    text = readable(name)
    return unquote(text) if "%" in text and not is_gtf else text.rpartition("\t")[2]


def _gtf_value(name: bytes, attributes: bytes) -> bytes:
    """Return the value of an attribute, ignoring matches inside quotes of another."""
    for found in _GTF_NAMES[name].finditer(attributes):
        if attributes.count(b'"', 0, found.start()) % 2 == 0:
            return found[1] if found[1] is not None else found[2]
    return b""


def _transcripts(name: str, group: _Group, is_gtf: bool | None) -> list[Transcript]:
    """Return the transcript of a group, once for each of its coding sequences."""
    exons = group.parts[_EXON] or [segment for part in group.parts for segment in part]
    start_codon, stop_codon = _join(group.parts[_START]), _join(group.parts[_STOP])
    return [
        Transcript(
            name,
            _text(group.gene, is_gtf) or name,
            _text(group.contig, is_gtf),
            group.strand == b"-",
            _join(exons),
            _join(segments),
            phase,
            start_codon,
            stop_codon,
            _text(group.biotype, is_gtf),
            group.line,
        )
        for segments, phase in _coding(group)
    ]


def _coding(group: _Group) -> list[tuple[list[Segment], int | None]]:
    """Return segments and phase of each coding sequence, or one entry without segments."""
    if not group.coding:
        return [([], None)]
    ids = dict.fromkeys(row[2] for row in group.coding)
    alternatives = [group.coding]
    if len(ids) > 1 and _overlap(sorted(row[0] for row in group.coding)):
        alternatives = [[row for row in group.coding if row[2] == one] for one in ids]
    result: list[tuple[list[Segment], int | None]] = []
    for rows in alternatives:
        first = max(rows) if group.strand == b"-" else min(rows)
        phase = int(first[1]) if first[1] in (b"0", b"1", b"2") else None
        result.append(([row[0] for row in rows], phase))
    return result


def _overlap(segments: Sequence[Segment]) -> bool:
    """Tell whether sorted segments overlap."""
    return any(a[1] > b[0] for a, b in pairwise(segments))


def _join(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Sort segments, and merge those that overlap or touch."""
    joined: list[Segment] = []
    for start, end in sorted(segments):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)
