"""Rows of one transcript ID in GFF3 and GTF: its joined exons, and which ends are complete."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from seqmtl.files.streams import readable
from seqmtl.io.transcripts import Segment, Transcript, UncertainRegion

EXON, CDS, UTR, START, STOP = range(5)
STRANDS = (b"+", b"-")
_CODON = 3
_MAX_GAP = 7_000_000  # bases between exons of one transcript; the longest introns known have 4

# What a row says of the ends of its transcript, or of its coding sequence: on the forward strand,
# or in reading direction.
TRANS_SPLICED = 1
IN_PARTS = 2
_LEFT = 4
_RIGHT = 8
_TSS = 16
_POLYA = 32
_CDS_LEFT, _CDS_RIGHT, _CDS_START, _CDS_END = 64, 128, 256, 512
_PARTIAL = 1024
_CDS_PARTIAL = 2048
CODING_EXONS = 4096  # some rows are coding exons, which may be coding parts of exons
PSEUDO = 8192  # a row is that of a pseudogene
_TO_CDS = _CDS_LEFT // _LEFT
_SEMICOLON = b";"[0]
_PHASES = {b"0": 0, b"1": 1, b"2": 2}

# They are searched after a semicolon, as patterns that begin with a letter are searched fast.
_TRANS_SPLICING = re.compile(
    rb'(?i);\s*(?:exception[\s=]\s*"?[^;"]*trans.{1,3}splic|trans[-_]splic(?:ing|ed)\b)'
)
_PART = re.compile(rb';\s*part[\s=]\s*"?(?!1(?:/|%2F)1\b)\d')
_PARTIAL_VALUE = re.compile(rb';\s*partial[\s=]\s*"?(\w+)')
_RANGE = re.compile(rb";\s*(start|end)_range[\s=]")
_NOT_FOUND = re.compile(rb"(mRNA|cds)_(start|end)_NF\b")
_TRANSDECODER = re.compile(rb"type(?::|%3A)(5prime_partial|3prime_partial|internal)\b")
_PSEUDO_VALUE = re.compile(rb';\s*pseudo(?:gene)?(?!\s*=?\s*"?(?:false|no\b))\s*(?:;|$|[\s=])')
_LOOSE = {
    name + b"=": (name.lower(), re.compile(rb"(?i)(?:^|;)\s*%s\s*=" % name))
    for name in (b"ID", b"Parent", b"TCS_ID")
}
_NOT_FOUND_ENDS = {
    (b"mRNA", b"start"): _TSS,
    (b"mRNA", b"end"): _POLYA,
    (b"cds", b"start"): _CDS_START,
    (b"cds", b"end"): _CDS_END,
}
_TRANSDECODER_ENDS = {
    b"5prime_partial": _CDS_START,
    b"3prime_partial": _CDS_END,
    b"internal": _CDS_START | _CDS_END,
}


def attribute(attributes: bytes, key: bytes) -> bytes | None:
    """Return the value of an attribute of GFF3, such as that of ``b"Parent="``.

    Its name may be in upper or lower case, and blanks may surround the equals sign.
    """
    position = attributes.find(key)
    while position > 0 and attributes[position - 1] != _SEMICOLON:
        if attributes[:position].rstrip()[-1:] in (b"", b";"):
            break
        position = attributes.find(key, position + 1)
    begin = position + len(key)
    if position < 0:
        name, pattern = _LOOSE[key]
        match = pattern.search(attributes) if name in attributes.lower() else None
        if match is None:
            return None
        begin = match.end()
    end = attributes.find(b";", begin)
    return attributes[begin:] if end < 0 else attributes[begin:end]


def flags_of(attributes: bytes, is_cds: bool) -> int:
    """Return what the attributes of a row say of trans-splicing and of ends that are unknown.

    NCBI writes ``exception=trans-splicing``, ``part=1/2``, ``partial=true``, ``start_range`` and
    ``end_range`` (on the forward strand); Prodigal ``partial=10`` (left and right end).
    """
    if b"part" not in attributes and b"splic" not in attributes:
        return 0
    flags = 0
    if b"splic" in attributes and _TRANS_SPLICING.search(b";" + attributes):
        flags |= TRANS_SPLICED
    if b"part" in attributes:
        attributes = b";" + attributes
        if _PART.search(attributes):
            flags |= IN_PARTS
        value = _PARTIAL_VALUE.search(attributes) if b"partial" in attributes else None
        if value is not None:
            flags |= _partial(value[1], attributes) * (_TO_CDS if is_cds else 1)
            if value[1].lower() == b"true":
                flags |= _CDS_PARTIAL if is_cds else _PARTIAL
    return flags


def _partial(value: bytes, attributes: bytes) -> int:
    """Return which ends are unknown of a row with ``partial=``."""
    if len(value) == 2 and value.isdigit():
        return _LEFT * (value[:1] == b"1") | _RIGHT * (value[1:] == b"1")
    if b"_range" not in attributes:
        return 0
    ends = {match[1] for match in _RANGE.finditer(attributes)}
    return _LEFT * (b"start" in ends) | _RIGHT * (b"end" in ends)


def tags_of(attributes: bytes) -> int:
    """Return which ends are unknown by tags that all rows of a transcript have.

    GENCODE and Ensembl write ``mRNA_start_NF`` and the like (not found), TransDecoder
    ``type:5prime_partial``, NCBI ``pseudo=true`` or ``pseudogene=unprocessed``.
    """
    flags = 0
    if b"pseudo" in attributes and _PSEUDO_VALUE.search(b";" + attributes):
        flags |= PSEUDO
    if b"_NF" in attributes:
        for match in _NOT_FOUND.finditer(attributes):
            flags |= _NOT_FOUND_ENDS[match[1], match[2]]
    if b"type" in attributes:
        for match in _TRANSDECODER.finditer(attributes):
            flags |= _TRANSDECODER_ENDS[match[1]]
    return flags


class ParentRow(NamedTuple):
    """A row of a gene or of a transcript.

    Attributes
    ----------
    kind, parent, biotype : bytes
        Type of the feature, first ``Parent`` and type of the transcript, or b"".
    contig, strand : bytes
        Where it is.
    start, end : int
        0-based half-open.
    flags : int
        As :func:`flags_of` and :func:`tags_of`.
    line : int
        1-based line.
    """

    kind: bytes
    parent: bytes
    biotype: bytes
    contig: bytes
    strand: bytes
    start: int
    end: int
    flags: int
    line: int


@dataclass(slots=True)
class TranscriptRows:
    """The exons, coding segments and so on of a transcript on one strand of one contig.

    Attributes
    ----------
    contig, strand, gene, biotype : bytes
        As in the first row.
    line : int
        1-based line of the first row.
    parents : tuple of bytes
        All transcripts of the first row.
    is_gtf : bool
        Whether the rows are GTF.
    flags : int
        As :func:`flags_of` and :func:`tags_of`, of all rows.
    parts : list of sequence of (int, int)
        Exons, coding segments, UTRs, start and stop codons; see :meth:`add`.
    phases : sequence of (bytes, bytes)
        Phase and ID of each coding segment.
    elsewhere : tuple of TranscriptRows
        Rows of the same ID on other strands and contigs.
    """

    contig: bytes
    strand: bytes
    gene: bytes
    line: int
    parents: tuple[bytes, ...]
    is_gtf: bool
    biotype: bytes = b""
    flags: int = 0
    parts: list[Sequence[Segment]] = field(default_factory=lambda: [(), (), (), (), ()])
    phases: Sequence[tuple[bytes, bytes]] = ()
    elsewhere: tuple[TranscriptRows, ...] = ()

    def add(self, part: int, segment: Segment) -> None:
        """Add a row.

        Lists are made when they are needed: most transcripts lack some parts, and each list that
        is there slows the garbage collection of large annotations.
        """
        rows = self.parts[part]
        if rows:
            rows.append(segment)  # type: ignore[attr-defined]
        else:
            self.parts[part] = [segment]

    def add_phase(self, phase: bytes, cds_id: bytes) -> None:
        """Add the phase and ID of a row of a coding segment."""
        if self.phases:
            self.phases.append((phase, cds_id))  # type: ignore[attr-defined]
        else:
            self.phases = [(phase, cds_id)]

    @property
    def chained(self) -> int:
        """The part whose rows do not overlap in one transcript: exons, or else coding segments."""
        return EXON if self.parts[EXON] else CDS

    @property
    def segments(self) -> list[Segment]:
        """All rows."""
        return [segment for part in self.parts for segment in part]

    def on_strand(self, contig: bytes, strand: bytes) -> TranscriptRows | None:
        """Return the rows on a strand of a contig, if there are any."""
        for rows in (self, *self.elsewhere):
            if rows.contig == contig and rows.strand == strand:
                return rows
        return None

    def inside(self, span: ParentRow) -> TranscriptRows:
        """Return the rows that lie in that of a transcript."""
        chosen = [
            [i for i, (start, end) in enumerate(part) if span.start <= start and end <= span.end]
            for part in self.parts
        ]
        parts: list[Sequence[Segment]] = [
            [part[i] for i in rows] for part, rows in zip(self.parts, chosen, strict=True)
        ]
        phases = [self.phases[i] for i in chosen[CDS]]
        return replace(self, line=span.line, parts=parts, phases=phases, elsewhere=())

    def is_outside(self, spans: Sequence[ParentRow]) -> bool:
        """Return whether some rows lie apart from those of the transcript itself."""
        places = [
            (span.start, span.end)
            for span in spans
            if span.contig == self.contig and {span.strand, self.strand} != {*STRANDS}
        ]
        return _any_apart(self.segments, places)

    def lacks_exons(self) -> bool:
        """Return whether codons or UTRs lie apart from all exons and coding segments.

        Where no row is an exon, a stop codon may be one, behind an intron. UTRs may lie apart from
        exons that are coding parts alone.
        """
        exons, cds, utrs, *codons = self.parts
        if cds and not exons:
            return False
        rows = [*codons[0], *codons[1]]
        if not exons or any(overlap(sorted([utr, exon])) for utr in utrs for exon in exons):
            rows += utrs
        return _any_apart(rows, [*exons, *cds])

    def transcripts(self, name: str, row: int) -> list[Transcript]:
        """Return the transcript of a name and row, once for each of its coding sequences."""
        exons = join_exons(self.parts)
        flags = self.flags
        if flags & CODING_EXONS and not self.parts[CDS]:
            flags |= self._coding_ends(exons)
        contig, gene = decode(self.contig, self.is_gtf), decode(self.gene, self.is_gtf)
        biotype = decode(self.biotype, self.is_gtf)
        codons = join(self.parts[START]), join(self.parts[STOP])
        is_reverse = self.strand == b"-"
        return [
            Transcript(
                name,
                gene or name,
                contig,
                is_reverse,
                exons,
                join(segments),
                phase,
                *codons,
                biotype,
                self.line,
                row,
                _incomplete(flags, is_reverse),
            )
            for segments, phase in self._coding(is_reverse)
        ]

    def uncertain(self, ends: Iterable[bool] = ()) -> list[UncertainRegion]:
        """Return where its sites may be; `ends` are strands, whether it is the minus strand."""
        contig = decode(self.contig, self.is_gtf)
        exons = join_exons(self.parts)
        coding = join([*self.parts[CDS], *self.parts[START], *self.parts[STOP]])
        return [
            UncertainRegion(contig, is_reverse, exons, cds=coding)
            for is_reverse in ends or [self.strand == b"-"]
        ]

    def _coding_ends(self, exons: Sequence[Segment]) -> int:
        """Return the unknown ends: those in a coding exon, which may be the coding part of one."""
        left, right = exons[0][0], exons[-1][1]
        is_left = all(start != left for start, _ in self.parts[UTR])
        is_right = all(end != right for _, end in self.parts[UTR])
        return _LEFT * is_left | _RIGHT * is_right

    def _coding(self, is_reverse: bool) -> list[tuple[Sequence[Segment], int | None]]:
        """Return segments and phase of each coding sequence, or one entry without segments."""
        segments = self.parts[CDS]
        if not segments:
            return [([], None)]
        if len(segments) == 1:
            return [(segments, _PHASES.get(self.phases[0][0]))]
        ids = [cds_id for _, cds_id in self.phases]
        alternatives: list[list[int]] = [[*range(len(segments))]]
        if any(cds_id != ids[0] for cds_id in ids) and overlap(sorted(segments)):
            rows: dict[bytes, list[int]] = {}
            for i, cds_id in enumerate(ids):
                rows.setdefault(cds_id, []).append(i)
            alternatives = [*rows.values()]
        result: list[tuple[Sequence[Segment], int | None]] = []
        for alternative in alternatives:
            first = max(alternative, key=segments.__getitem__)
            if not is_reverse:
                first = min(alternative, key=segments.__getitem__)
            result.append(([segments[i] for i in alternative], _PHASES.get(self.phases[first][0])))
        return result


def decode_once(name: bytes, is_gtf: bool) -> str:
    """Return a name as text: undo %XX of GFF3, drop the gene before the name of GTF."""
    text = readable(name)
    if is_gtf:
        return text.rpartition("\t")[2]
    return unquote(text) if "%" in text else text


#: The same for names that repeat, such as those of contigs.
decode = lru_cache(maxsize=4096)(decode_once)


def _incomplete(flags: int, is_reverse: bool) -> tuple[str, ...]:
    """Return the signals whose ends are unknown."""
    if not flags:
        return ()
    for partial, left, right in ((_PARTIAL, _LEFT, _RIGHT), (_CDS_PARTIAL, _CDS_LEFT, _CDS_RIGHT)):
        if flags & partial and not flags & (left | right):
            flags |= left | right
    step = -1 if is_reverse else 1  # to reading direction
    first, last = (_LEFT, _RIGHT)[::step]
    cds_first, cds_last = (_CDS_LEFT, _CDS_RIGHT)[::step]
    ends = {
        "tss": _TSS | first,
        "polya": _POLYA | last,
        "start": _CDS_START | cds_first,
        "stop": _CDS_END | cds_last,
    }
    return tuple(signal for signal, bits in ends.items() if flags & bits)


def _any_apart(segments: Sequence[Segment], others: Sequence[Segment]) -> bool:
    """Return whether a segment neither overlaps nor touches any of the others."""
    for start, end in segments:
        for a, b in others:
            if a <= end and start <= b:
                break
        else:
            return True
    return False


def overlap(segments: Sequence[Segment]) -> bool:
    """Return whether sorted segments overlap."""
    last_end = -1
    for start, end in segments:
        if start < last_end:
            return True
        last_end = end
    return False


def join(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Sort segments, and merge those that overlap or touch."""
    if len(segments) < 2:
        return tuple(segments)
    joined: list[Segment] = []
    last_end = -1
    for segment in sorted(segments):
        start, end = segment
        if start > last_end:
            joined.append(segment)
            last_end = end
        elif end > last_end:
            joined[-1] = joined[-1][0], end
            last_end = end
    return tuple(joined)


def join_exons(parts: Sequence[Sequence[Segment]]) -> tuple[Segment, ...]:
    """Return the exons of a transcript: the union of all its rows.

    A codon that reaches from an exon into an intron is left out: some programs write the three
    bases from its first one even if an intron splits it.
    """
    codons = [*parts[START], *parts[STOP]]
    if codons and len(parts[EXON]) > 1:
        gaps = [(left[1], right[0]) for left, right in pairwise(join(parts[EXON]))]
        codons = [
            codon for codon in codons if not any(_overlaps_partly(codon, gap) for gap in gaps)
        ]
    return join([*parts[EXON], *parts[CDS], *parts[UTR], *codons])


def _overlaps_partly(codon: Segment, gap: Segment) -> bool:
    """Return whether a codon covers one edge of a gap, but not all of it."""
    start, end = max(codon[0], gap[0]), min(codon[1], gap[1])
    return start < end and (start == gap[0]) != (end == gap[1])


def separate_copies(
    rows: TranscriptRows, spans: Sequence[ParentRow]
) -> list[TranscriptRows] | None:
    """Return the transcripts that rows of one ID are, or None if they contradict that.

    Several rows of the transcript itself that lie apart are a transcript each.

    Parameters
    ----------
    rows : TranscriptRows
        All rows of an ID on one strand of a contig.
    spans : sequence of ParentRow
        The rows of the transcript itself there, if the file has any.
    """
    if len(spans) < 2:
        return None if _are_several(rows) else [rows]
    if _is_discontinuous(rows, spans) or _is_duplicated(rows, spans):
        return [rows]
    spans = sorted(spans, key=lambda span: span.start)
    copies = [copy for copy in map(rows.inside, spans) if copy.parts[copy.chained]]
    are_apart = all(left.end <= right.start for left, right in pairwise(spans))
    are_all = sum(len(copy.segments) for copy in copies) == len(rows.segments)
    return copies if are_apart and are_all and not any(map(_are_several, copies)) else None


def _is_discontinuous(rows: TranscriptRows, spans: Sequence[ParentRow]) -> bool:
    """Return whether rows of a transcript are its exons, one by one on consecutive lines."""
    lines = sorted(span.line for span in spans)
    is_together = lines[-1] - lines[0] == len(lines) - 1
    return is_together and sorted((span.start, span.end) for span in spans) == [
        *join_exons(rows.parts)
    ]


def _is_duplicated(rows: TranscriptRows, spans: Sequence[ParentRow]) -> bool:
    """Return whether the row of one transcript is repeated, and all others as often or not."""
    intervals = {(span.start, span.end) for span in spans}
    counts = Counter(rows.parts[rows.chained])
    is_alike = len(intervals) == 1 and {*counts.values()} in ({1}, {len(spans)})
    return is_alike and not overlap(sorted(counts))


def _are_several(rows: TranscriptRows) -> bool:
    """Return whether rows cannot be of one transcript.

    Exons are too far apart, one covers what is an intron between two others, or a start codon
    follows a stop codon.
    """
    exons = sorted({*rows.parts[rows.chained]})
    if any(right[0] - left[1] > _MAX_GAP for left, right in pairwise(exons)):
        return True
    return (rows.chained == EXON and _has_exon_over_intron(exons)) or _has_frames_apart(rows)


def _has_exon_over_intron(ordered: Sequence[Segment]) -> bool:
    if not overlap(ordered):
        return False
    for start, end in ordered:
        overlapping = [
            row for row in ordered if row[0] < end and row[1] > start and row != (start, end)
        ]
        if any(start < left[1] < right[0] < end for left, right in pairwise(join(overlapping))):
            return True
    return False


def _has_frames_apart(rows: TranscriptRows) -> bool:
    starts, stops = (_codons(rows.parts[part]) for part in (START, STOP))
    if len(starts) < 2 or len(starts) != len(stops):
        return False
    first, last = (starts, stops) if rows.strand == b"+" else (stops, starts)
    pairs = [*zip(first, last, strict=True)]
    return all(left[1] < right[0] for left, right in pairwise(pairs))


def _codons(segments: Sequence[Segment]) -> list[int]:
    """Return the first bases of codons, each of which may be in two or three rows."""
    codons = []
    length = 0
    for start, end in sorted({*segments}):
        if length % _CODON == 0:
            codons.append(start)
        length += end - start
    return codons
