"""Annotations: transcripts from GFF3 and GTF, in one pass, and from BED12."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NoReturn

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable, source_name
from seqmtl.io.junctions import is_gff
from seqmtl.io.transcript_rows import (
    CDS,
    CODING_EXONS,
    EXON,
    IN_PARTS,
    PSEUDO,
    START,
    STOP,
    STRANDS,
    TRANS_SPLICED,
    UTR,
    ParentRow,
    TranscriptRows,
    attribute,
    decode,
    decode_once,
    flags_of,
    join,
    overlap,
    separate_copies,
    tags_of,
)
from seqmtl.io.transcripts import (
    NO_STRAND,
    Annotation,
    ExcludedTranscript,
    Segment,
    Transcript,
    UncertainRegion,
    describe_features,
    read_bed12,
)
from seqmtl.io.tsv import MAX_DIGITS, WHOLE_NUMBER, is_coordinate, is_row, rows_of

logger = logging.getLogger(__name__)

_GFF_FIELDS, _BED_FIELDS = 9, 12
_FOREIGN = {
    b">": "this looks like FASTA, not an annotation",
    b"LOCUS": "this looks like GenBank: convert it to GFF3",
    b"ID  ": "this looks like EMBL: convert it to GFF3",
    b"SQLite": "this looks like a gffutils database: give the GFF3 or GTF it was made from",
}

# Feature types that are no part of a transcript: possible parents of parts, or neither.
_OTHER = -1
_INTRON = -2
_IGNORED = -3
_UTR_NAME = re.compile(rb"(?:^|[^a-z])utr|utr$")
_TRANSCRIPT_NAME = re.compile(rb"(?:transcript|rna|gene_segment)$")
_PROTEINS = {b"protein", b"polypeptide"}
_ANY_KIND = {b"", b"gene", b"transcript", b"RNA"}  # types that tell nothing
_CODING_EXONS = {b"einit", b"eterm", b"esngl", b"initial", b"internal", b"terminal", b"single"}
_ANY_STRAND = {b"+", b"-", b".", b"?"}
_AROUND = b' "'  # may be around a name
_MAX_LETTERS = 60

OUTSIDE = "transcript with exons outside its own row"
TRANS = "transcript of several RNAs (trans-splicing, as the annotation says)"
PARTS = "transcript in parts (part=), whose gaps need not be introns"
COPIES = "several transcripts with one ID"
NO_PARENT = "exon or CDS that belongs to no transcript"
NO_EXON = "transcript of codons or UTRs whose exons or CDS are missing"
OF_GENE = "exons that belong to a gene that has transcripts of its own"
INSIDE = "part of a longer transcript (such as a microRNA of its precursor)"

_TYPE_AS_SOURCE = re.compile(rb"(?:rna|RNA|pseudogene)$")  # of Ensembl before 2014
_GTF_NAMES = {
    name: re.compile(rb'(?:^|[\s;])%s\s+(?:"([^"]*)"|([^\s";]+))' % name)
    for name in (b"transcript_id", b"gene_id", b"Parent", b"name")
}
_TYPE = re.compile(
    rb'(?:^|;)\s*(?:(transcript|gene)_(?:bio)?type(?:=|\s)|(?:bio)?type=)\s*"?([^;"]*)'
)
_IS_GTF = re.compile(rb'^\s*[^\s=";]+\s+["\w]')
_IS_GFF3 = re.compile(rb'^\s*[^\s=";]+\s*=')
_IS_NAME = re.compile(rb"^[^\s=;\"]+$")


def read_annotation(path: PathLike, *, sources: Collection[str] | None = None) -> Annotation:
    """Read transcripts from GFF3, GTF or BED12; the format is detected from the content.

    A transcript is the parent of exons or coding segments (CDS): by ``Parent`` in GFF3, where a row
    may have several, and by ``transcript_id`` in GTF; both may be in one file. Its exons are the
    union of its exons, coding segments, UTRs and codons; pieces that overlap or touch are joined. A
    coding sequence whose parent is a gene, or that has only an ``ID``, counts as a transcript.
    Introns are the gaps between exons. Overlapping coding sequences of a transcript with different
    IDs are alternatives.

    Rows of one ID on two contigs or strands are several transcripts, and so are those inside rows
    of the transcript that lie apart; a warning says so. If other rows cannot be of one transcript,
    as an exon covers an intron or is more than 7 million bases away, the ID is left out, with a
    warning. So is a transcript with an exon apart from its own row (without one, that of its gene),
    or on another contig or strand.

    Some transcripts are left out and listed: those without a strand, those that the annotation
    calls trans-spliced, those that are part of another one, such as microRNAs of a precursor,
    exons of a gene whose transcripts have some, and codons or UTRs whose exons or CDS are missing.
    A warning counts them, but not those that are in another transcript. ``##FASTA`` ends the
    annotation.

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
    fields = readable(first).split("\t")
    n_fields, is_of_genes = len(fields), is_gff(fields)
    if kind := _other_kind(fields):
        raise InputFormatError(
            f"an annotation must be GFF3, GTF or BED12 of transcripts, but this looks like {kind}",
            path=source,
            line=line,
        )
    lines = chain([(line, first)], lines)
    if is_of_genes:
        reader = _GffReader(source, sources)
        reader.read(lines)
        annotation = reader.annotation()
    elif n_fields >= _BED_FIELDS:
        if sources:
            raise InputFormatError(
                "sources must be left out for BED12, which has no such column; name them for the "
                "organisms with GFF3 or GTF",
                path=source,
            )
        annotation = read_bed12(rows_of(lines, source), source)
    else:
        raise InputFormatError(
            f"an annotation must have nine tab-separated fields (GFF3, GTF) or at least twelve "
            f"(BED12), got {n_fields if first else 0}; {_hint(first)}",
            path=source,
            line=line if first else None,
        )
    n_excluded = len(annotation.exclusions)
    text = "%s: %s, %d transcripts on %d contigs, %d left out"
    counts = len(annotation.transcripts), len(annotation.contigs), n_excluded
    logger.info(text, source, annotation.format, *counts)
    _warn_of_excluded(annotation)
    return annotation


def _other_kind(fields: list[str]) -> str:
    """Return which other kind of table a first row is of, and what to do; "" for none."""
    if len(fields) == _GFF_FIELDS and all(field.isdigit() for field in fields[1:]):
        return "STAR's SJ.out.tab; name it junctions instead of annotation"
    if len(fields) > _GFF_FIELDS and not fields[1].isdigit() and {*fields[2:4]} & {"+", "-"}:
        return "genePred (refGene.txt and the like of UCSC); convert it with genePredToGtf"
    return ""


def _warn_of_excluded(annotation: Annotation) -> None:
    """Warn if transcripts are left out that are not also in others."""
    excluded = [row for row in annotation.exclusions if row.reason not in (INSIDE, OF_GENE)]
    if excluded:
        reasons = Counter(row.reason for row in excluded)
        logger.warning(
            "%s: %d of %d transcripts are left out: %s; such as %s (line %d)",
            annotation.path,
            len(excluded),
            len(annotation.transcripts) + len(excluded),
            "; ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common()),
            excluded[0].name or f"{excluded[0].contig}:{excluded[0].start + 1}-{excluded[0].end}",
            excluded[0].line,
        )


def _hint(first: bytes) -> str:
    """Suggest what a file may be instead."""
    if not first:
        return "the file has no rows; check how it was written"
    for start, remedy in _FOREIGN.items():
        if first.startswith(start):
            return remedy
    fields = readable(first).split("\t")
    if len(fields) > 2 and fields[1].isdigit() and fields[2].isdigit():
        return "this looks like BED; a BED of sites is not an annotation"
    return "separate the fields by tabs" if b"\t" not in first else "check how it was written"


class _GffReader:
    """State of reading GFF3 or GTF."""

    def __init__(self, source: str, sources: Collection[str] | None) -> None:
        self.source = source
        self.sources = None if sources is None else {name.encode() for name in sources}
        self.other_sources = None if sources is None else _GffReader(source, None)
        self.is_gtf: bool | None = None  # of the last row
        # Of the last part: which it is, its attributes, and what they say.
        self.part = -1
        self.attributes = b""
        self.names: list[bytes] = []
        self.gene = self.cds_id = b""
        self.flags = 0
        self.formats: set[bool] = set()
        self.kinds: dict[bytes, int] = {}
        self.groups: dict[bytes, TranscriptRows] = {}
        self.rows: dict[bytes, tuple[ParentRow, ...]] = {}
        self.owners: dict[bytes, bytes] = {}  # of exons that CDS rows name as their parents
        self.features: Counter[bytes] = Counter()
        self.source_counts: Counter[bytes] = Counter()
        self.exclusions: list[ExcludedTranscript] = []
        self.orphan = b""  # attributes of the first part without a transcript
        self.uncertain: list[UncertainRegion] = []
        self.introns: set[tuple[str, bytes, Segment]] = set()
        self.line = 0

    def read(self, lines: Iterator[tuple[int, bytes]]) -> None:
        """Read all lines of the annotation, up to the FASTA section if there is one."""
        add = self._add_row if self.sources is None else self._add_by_source
        for self.line, row in lines:
            if row[:1] in b"#>":  # or empty
                if row.startswith((b"##FASTA", b">")):
                    return
                continue
            fields = row.split(b"\t")
            if len(fields) == _GFF_FIELDS:
                add(fields)
            elif len(fields) > _GFF_FIELDS:  # tabs among the attributes, or columns after them
                add([*fields[: _GFF_FIELDS - 1], b";".join(fields[_GFF_FIELDS - 1 :])])
            elif row.strip() and not row.startswith((b"track", b"browser")):
                self._refuse(
                    f"a feature must have nine tab-separated fields, got {len(fields)}; "
                    "correct the line"
                )

    def _refuse(self, message: str) -> NoReturn:
        raise InputFormatError(message, path=self.source, line=self.line)

    def _add_by_source(self, fields: list[bytes]) -> None:
        """Add a row, or record it among those of other sources."""
        self.source_counts[fields[1]] += 1
        assert self.sources is not None
        assert self.other_sources is not None
        reader = self if fields[1] in self.sources else self.other_sources
        reader.line = self.line
        reader._add_row(fields)

    def _add_row(self, fields: list[bytes]) -> None:
        """Add a part of transcripts to them, or record a gene or transcript."""
        contig, _, kind, first, last, _, strand, phase, attributes = fields
        self.features[kind] += 1
        is_number = first.isdigit() and last.isdigit() and len(first) + len(last) < MAX_DIGITS
        segment = (int(first) - 1, int(last)) if is_number else (-1, -1)
        if not 0 <= segment[0] < segment[1]:
            segment = self._segment(first, last)
        part = self.kinds.get(kind, _OTHER)
        if part < 0:
            part = self._other_part(fields, segment)
            if part < 0:
                return
        if attributes != self.attributes or (
            part != self.part and not (self.is_gtf and not self.flags)
        ):
            self._read_attributes(part, kind, attributes)
        for name in self.names:
            group = self.groups.get(name)
            if group is None or group.contig != contig or group.strand != strand:
                group = self._group_of(name, fields)
            group.add(part, segment)
            group.flags |= self.flags
            if part == CDS:
                group.add_phase(phase, self.cds_id)
        if not self.names:
            self._add_orphan(part, fields, segment)

    def _other_part(self, fields: list[bytes], segment: Segment) -> int:
        """Record a row that is a gene or a transcript, and return the part that another row is."""
        kind = fields[2]
        part = self.kinds.get(kind)
        if part is None:
            part = self.kinds[kind] = _part_of(kind)
        if part == _OTHER:
            self._add_parent(fields, segment)
        elif part == _INTRON:
            is_gff3 = attribute(fields[8], b"Parent=") is not None
            if is_gff3 or b"transcript_id" in fields[8]:
                self.introns.add((decode(fields[0], not is_gff3), fields[6], segment))
        return part

    def _read_attributes(self, part: int, kind: bytes, attributes: bytes) -> None:
        """Record names, genes and flags from the attributes of a part."""
        self.part = part
        self.attributes = attributes
        if self.is_gtf is None:
            self._detect_format(attributes)
        self._read_names(part, kind, attributes)
        if not self.names and _is_gtf(attributes) is (not self.is_gtf):
            self.is_gtf = not self.is_gtf
            self._read_names(part, kind, attributes)
        self.flags = 0
        if b"part" in attributes or b"splic" in attributes:
            self.flags = flags_of(attributes, part == CDS)
        if kind.lower() == b"coding_exon":
            self.flags |= CODING_EXONS

    def _group_of(self, name: bytes, fields: list[bytes]) -> TranscriptRows:
        """Return the rows of a transcript on a strand of a contig, which may have none so far."""
        contig = fields[0]
        strand = self._strand(fields)
        attributes = fields[8]
        first = self.groups.get(name)
        group = first.on_strand(contig, strand) if first is not None else None
        if group is not None:
            return group
        names = self.names
        is_gtf = bool(self.is_gtf)
        group = TranscriptRows(contig, strand, self.gene, self.line, tuple(names), is_gtf)
        group.flags = tags_of(attributes)
        self.formats.add(is_gtf)
        if is_gtf:
            group.biotype = _type_of(attributes)
            if not group.biotype and _TYPE_AS_SOURCE.search(fields[1]):
                group.biotype = fields[1]
        if first is not None:
            first.elsewhere += (group,)
        else:
            self.groups[name] = group
        return group

    def _strand(self, fields: list[bytes]) -> bytes:
        if fields[6] not in _ANY_STRAND:
            text = readable(fields[6])
            self._refuse(f"strand must be +, -, . or ?, got {text!r}; correct it")
        return fields[6]

    def _add_orphan(self, part: int, fields: list[bytes], segment: Segment) -> None:
        """List an exon, coding segment or the like that belongs to no transcript."""
        contig = readable(fields[0])
        strand = self._strand(fields)
        interval = contig, *segment, readable(strand)
        self.orphan = self.orphan or fields[8]
        self.exclusions.append(ExcludedTranscript("", *interval, NO_PARENT, self.line))
        rows = TranscriptRows(fields[0], strand, b"", self.line, (), bool(self.is_gtf))
        rows.add(part, segment)
        self.uncertain += rows.uncertain(_sides(strand))

    def _segment(self, first: bytes, last: bytes) -> Segment:
        """Return the interval of a feature, 0-based half-open."""
        if not (is_coordinate(first) and is_coordinate(last)):
            text = readable(last if is_coordinate(first) else first)[:_MAX_LETTERS]
            self._refuse(f"start and end must each be {WHOLE_NUMBER}, got {text!r}; correct it")
        start, end = int(first), int(last)
        if start < 1:
            self._refuse(f"start must be 1 or more (1-based, closed), got {start}; correct it")
        if start > end:
            self._refuse(f"start must not be after end, got {start}-{end}; swap or correct them")
        return start - 1, end

    def _detect_format(self, attributes: bytes) -> None:
        self.is_gtf = _is_gtf(attributes)
        if self.is_gtf is None:
            self._refuse(
                "the ninth field must have attributes as GFF3 (Parent=...) or GTF (transcript_id "
                f'"..."), got {readable(attributes)[:_MAX_LETTERS]!r}; correct the line'
            )

    def _add_parent(self, fields: list[bytes], segment: Segment) -> None:
        """Record the row of a gene or transcript by its ID."""
        contig, _, kind, _, _, _, strand, _, attributes = fields
        parent = b""
        is_gtf = _is_gtf(attributes)
        if is_gtf is False:
            if (name := attribute(attributes, b"ID=")) is None:
                return
            key = name.strip(_AROUND)
            parent = (attribute(attributes, b"Parent=") or b"").split(b",")[0].strip(_AROUND)
        else:
            is_gene = kind.lower().endswith(b"gene")
            if not is_gene and not _TRANSCRIPT_NAME.search(kind.lower()):
                return
            if is_gtf:
                gene, name = (_gtf_value(key, attributes) for key in (b"gene_id", b"transcript_id"))
                if not gene and not name:
                    return
                if kind.lower() == b"gene":  # a pseudogene with a name is a transcript in FlyBase's
                    name = b""
                key = gene + b"\t" + name
            elif not is_gene and _IS_NAME.match(attributes.strip()):
                name = attributes.strip()  # as AUGUSTUS writes it
                key = b"\t" + name
            else:
                return
        row = ParentRow(
            kind,
            parent,
            _type_of(attributes),
            contig,
            strand,
            *segment,
            flags_of(attributes, False) | tags_of(attributes),
            self.line,
        )
        self.rows[key] = (*self.rows.get(key, ()), row)

    def _read_names(self, part: int, kind: bytes, attributes: bytes) -> None:
        """Take note of the transcripts of a part, and of their gene in GTF.

        In GTF a transcript is identified by gene and name: NCBI files may have
        ``unknown_transcript_1`` in many genes. In GFF3 the gene is read from the parents later.
        """
        self.gene = self.cds_id = b""
        if self.is_gtf:
            self.gene = gene = _gtf_value(b"gene_id", attributes)
            name = _gtf_value(b"transcript_id", attributes) or gene
            for other in (b"Parent", b"name"):  # as rtracklayer and JGI write it
                name = name or _gtf_value(other, attributes)
            self.names = [gene + b"\t" + name] if name else []
            return
        parents = attribute(attributes, b"Parent=")
        if part == CDS:
            self.cds_id = attribute(attributes, b"ID=") or b""
            parents = self.cds_id if parents is None else parents
        if not parents:
            self.names = []
        elif b"," in parents:
            names = [name.strip(_AROUND) for name in parents.split(b",")]
            self.names = [name for name in dict.fromkeys(names) if name]
        else:
            self.names = [self._parent_of(kind, attributes, parents.strip(_AROUND))]

    def _parent_of(self, kind: bytes, attributes: bytes, parent: bytes) -> bytes:
        """Return the transcript of a part: in MetaEuk's files the parent of a CDS is an exon."""
        if b"TCS_ID=" in attributes and kind == b"exon":
            self.owners[(attribute(attributes, b"TCS_ID=") or b"").strip(_AROUND)] = parent
        return self.owners.get(parent, parent)

    def annotation(self) -> Annotation:
        """Build the transcripts from the rows."""
        if self.sources is not None and not self.sources & set(self.source_counts):
            requested = ", ".join(sorted(map(readable, self.sources)))
            available = describe_features(_readable_counts(self.source_counts))
            raise InputFormatError(
                f"sources must be among the file's, got {requested}; the second column has "
                f"{available}",
                path=self.source,
            )
        features = _readable_counts(self.features)
        transcripts = _Builder(self).build()
        if not transcripts and not self.exclusions:
            raise InputFormatError(
                "an annotation must have transcripts (exons or CDS with Parent= or "
                f"transcript_id), but this file has only {describe_features(features)}; give the "
                "annotation of genes, or name a file of introns junctions instead of annotation",
                path=self.source,
            )
        if not transcripts and all(row.reason == NO_PARENT for row in self.exclusions):
            raise InputFormatError(
                "exons and coding segments must name their transcript, by Parent= (GFF3) or "
                f"transcript_id (GTF), but none of {len(self.exclusions):,} does, such as that "
                f"with {readable(self.orphan)[:_MAX_LETTERS]!r}; convert the file, or give "
                "hints of introns as junctions",
                path=self.source,
                line=self.exclusions[0].line,
            )
        if self.other_sources is not None:
            other_transcripts = _Builder(self.other_sources).build()
            logger.info(
                "%s: %d transcripts are of other sources", self.source, len(other_transcripts)
            )
            self.uncertain += self.other_sources.uncertain
            self.uncertain += [
                UncertainRegion(t.contig, t.is_reverse, t.exons, cds=t.cds)
                for t in other_transcripts
            ]
        kind_of_file = " and ".join("GTF" if is_gtf else "GFF3" for is_gtf in sorted(self.formats))
        return Annotation(
            self.source, kind_of_file, transcripts, self.exclusions, features, self.uncertain
        )


class _Builder:
    """Makes transcripts of the rows that were read; those left out are added to the reader's."""

    def __init__(self, reader: _GffReader) -> None:
        self.reader = reader
        self.groups = reader.groups
        self.rows = {name: self._rows_of(name) for name in self.groups}
        self.owners = dict[bytes, int]()  # kinds of rows that the transcripts of a gene have
        for name, rows in self.rows.items():
            for row in rows:
                if row.parent != name:
                    self.owners[row.parent] = self.owners.get(row.parent, 0) | self._kinds(name)
        self.self_owned = set()
        self.flags = dict[bytes, int]()
        for name, rows in reader.rows.items():
            for row in rows:
                if row.parent == name:
                    self.self_owned.add(name)
                if row.flags & (TRANS_SPLICED | IN_PARTS):
                    self.flags[name] = self.flags.get(name, 0) | row.flags
        self.repeated: list[tuple[str, list[TranscriptRows]]] = []
        self.n_joined = 0

    def build(self) -> list[Transcript]:
        """Return the transcripts, in the order of the file."""
        transcripts: list[Transcript] = []
        for name, group in self.groups.items():
            if len(group.parents) == 1 or not self._is_protein(name, group):
                transcripts += self._of_group(name, group)
        self._note_introns(transcripts)
        source = self.reader.source
        if self.n_joined:
            logger.info("%s: joined overlapping exons of %d transcripts", source, self.n_joined)
        if self.repeated:
            transcripts.sort(key=lambda transcript: transcript.line)
            example, copies = self.repeated[0]
            positions = [f"{readable(copy.contig)} (line {copy.line})" for copy in copies[:2]]
            logger.warning(
                "%s: transcripts with one ID are told apart (%d IDs); such as %s on %s",
                source,
                len(self.repeated),
                example,
                " and ".join(positions),
            )
        return transcripts

    def _rows_of(self, name: bytes) -> Sequence[ParentRow]:
        """Return the rows of a transcript itself, or else those of a gene of this name."""
        rows_of_name = self.reader.rows
        rows = rows_of_name.get(name)
        if rows is None and b"\t" in name:
            gene, _, transcript = name.partition(b"\t")
            rows = rows_of_name.get(b"\t" + transcript) or rows_of_name.get(gene + b"\t")
        if rows is None or len(rows) < 2:
            return rows or ()
        chosen = [row for row in rows if not _is_gene_kind(row.kind) and row.kind not in _PROTEINS]
        return chosen or rows

    def _of_group(self, name: bytes, group: TranscriptRows) -> list[Transcript]:
        """Return the transcripts of an ID."""
        text = decode_once(name, group.is_gtf)
        rows = self.rows[name]
        pieces = [group]
        if group.elsewhere or group.strand not in STRANDS:
            pieces = _with_strands([group, *group.elsewhere], rows)
        for piece in pieces:
            if rows and not group.is_gtf:
                piece.gene = _row_of(piece, rows).parent
            piece.biotype = self._biotype(piece, rows)
        if reason := self._problem(name, pieces):
            self._exclude(text, pieces, reason)
            return []
        transcripts: list[Transcript] = []
        copies = [copy for piece in pieces for copy in self._copies(text, piece, rows)]
        if len(copies) > 1:
            self.repeated.append((text, copies))
        for copy in copies:
            line = copy.line
            if rows:
                row = _row_of(copy, rows)
                copy.flags |= row.flags
                is_of_copy = row[3:5] == (copy.contig, copy.strand) and name in self.reader.rows
                if is_of_copy and _TRANSCRIPT_NAME.search(row.kind.lower()):
                    line = row.line
            transcripts += copy.transcripts(text, line)
        return transcripts

    def _biotype(self, piece: TranscriptRows, rows: Sequence[ParentRow]) -> bytes:
        """Return the type of a transcript: as an attribute says, or else its row or its gene."""
        flags, stated, kind = piece.flags, piece.biotype, b""
        if rows:
            row = _row_of(piece, rows)
            flags, stated, kind = flags | row.flags, stated or row.biotype, row.kind
        if not stated:
            for gene in self.reader.rows.get(piece.gene + b"\t" * piece.is_gtf, ())[:1]:
                flags |= gene.flags | PSEUDO * (b"pseudo" in gene.kind + gene.biotype)
                stated = gene.biotype if kind in _ANY_KIND else b""
        stated = stated or kind
        return b"pseudogene" if flags & PSEUDO and b"pseudo" not in stated else stated

    def _copies(
        self, text: str, piece: TranscriptRows, rows: Sequence[ParentRow]
    ) -> list[TranscriptRows]:
        """Return the transcripts that the rows of an ID on one strand of a contig are."""
        if piece.strand not in STRANDS:
            self._exclude(text, [piece], NO_STRAND)
            return []
        piece.parts[EXON] = sorted(piece.parts[EXON])
        rows = [row for row in rows if row[3:5] == (piece.contig, piece.strand)]
        copies = separate_copies(piece, rows)
        if copies is None:
            self._exclude(text, [piece], COPIES)
            for segment in piece.segments:  # each may be the first or the last of one of them
                alone = replace(piece, parts=[[segment], [segment], (), (), ()])
                self.reader.uncertain += alone.uncertain()
            return []
        for copy in copies:
            self._note_overlaps(copy)
        return copies

    def _note_overlaps(self, copy: TranscriptRows) -> None:
        """Record exons whose ends are hidden because they are joined with others."""
        exons = sorted(copy.parts[EXON])
        if not overlap(exons):
            return
        self.n_joined += 1
        edges = {edge for exon in join(exons) for edge in exon}
        hidden = [exon for exon in exons if not edges.issuperset(exon)]
        for exon in hidden:
            rows = replace(copy, parts=[[exon], (), (), (), ()], phases=())
            self.reader.uncertain += rows.uncertain()

    def _note_introns(self, transcripts: list[Transcript]) -> None:
        """Record introns that have a row but are not gaps between exons."""
        if not self.reader.introns:
            return
        gaps = {(t.contig, gap) for t in transcripts for gap in t.introns}
        for contig, strand, segment in sorted(self.reader.introns):
            if (contig, segment) not in gaps:
                self.reader.uncertain += [
                    UncertainRegion(contig, is_reverse, introns=(segment,))
                    for is_reverse in _sides(strand)
                ]

    def _exclude(self, text: str, pieces: list[TranscriptRows], reason: str) -> None:
        segments = [segment for piece in pieces for segment in piece.segments]
        if len({piece.contig for piece in pieces}) > 1:
            segments = pieces[0].segments
        starts, ends = zip(*segments, strict=True)
        contig, strand = readable(pieces[0].contig), readable(pieces[0].strand)
        interval = contig, min(starts), max(ends), strand
        line = min(piece.line for piece in pieces)
        self.reader.exclusions.append(ExcludedTranscript(text, *interval, reason, line))
        for piece in pieces:
            self.reader.uncertain += piece.uncertain(_sides(piece.strand))

    def _is_protein(self, name: bytes, group: TranscriptRows) -> bool:
        """Return whether a group is that of a protein, which shares its rows with a transcript."""
        parents = [other for other in group.parents if other != name and other in self.groups]
        if not parents or group.parts[EXON]:
            return False
        rows = self.rows[name]
        is_named = bool(rows) and rows[0].kind in _PROTEINS
        return is_named or any(self.groups[other].parts[EXON] for other in parents)

    def _problem(self, name: bytes, pieces: list[TranscriptRows]) -> str:
        """Return the reason why a transcript cannot be used, or ""."""
        gene = pieces[0].gene
        flags = 0
        if name in self.owners and name not in self.self_owned and self._is_gene(name):
            if not self._kinds(name) & ~self.owners[name]:
                return OF_GENE
        elif name != gene in self.owners and gene in self.groups and not self._is_gene(gene):
            return INSIDE
        for piece in pieces:
            flags |= piece.flags
        if self.flags:
            flags |= self.flags.get(gene + b"\t" * pieces[0].is_gtf, 0)
            for row in self.rows[name]:
                flags |= row.flags
        if any(piece.lacks_exons() for piece in pieces):
            return NO_EXON
        if flags & TRANS_SPLICED:
            return TRANS
        if flags & IN_PARTS:
            return PARTS
        rows = self.rows[name]
        is_outside = len(pieces) > len(rows) or any(piece.is_outside(rows) for piece in pieces)
        return OUTSIDE if rows and is_outside else ""

    def _kinds(self, name: bytes) -> int:
        """Return which of exons and coding segments the rows of an ID have, a bit each."""
        parts = self.groups[name].parts
        return bool(parts[EXON]) << EXON | bool(parts[CDS]) << CDS

    def _is_gene(self, name: bytes) -> bool:
        """Return whether an ID is a gene, of any type or without a row of its own."""
        rows = self.reader.rows.get(name)
        return not rows or name in self.self_owned or any(_is_gene_kind(row.kind) for row in rows)


def _part_of(kind: bytes) -> int:
    """Return the part of a transcript that a feature type is, or a negative number."""
    name = kind.lower().strip()
    if name.endswith(b"intron"):
        return _INTRON
    if name.endswith((b"match", b"match_part")):
        return _IGNORED
    if _UTR_NAME.search(name):
        return UTR
    if name.endswith(b"exon"):
        return EXON
    if name == b"cds" or name in _CODING_EXONS:
        return CDS
    if b"codon" in name and b"redefined" not in name and b"read" not in name:
        if b"start" in name:
            return START
        if b"stop" in name:
            return STOP
    return _OTHER


def _is_gtf(attributes: bytes) -> bool | None:
    """Return whether the attributes of a row are GTF, not GFF3; None if neither."""
    if _IS_GFF3.match(attributes):
        return False
    return True if _IS_GTF.match(attributes) else None


def _is_gene_kind(kind: bytes) -> bool:
    return kind.lower().endswith(b"gene")


def _sides(strand: bytes) -> list[bool]:
    """Return whether a feature is on the minus strand; both if it has no strand."""
    return [strand == b"-"] if strand in STRANDS else [False, True]


def _with_strands(pieces: list[TranscriptRows], rows: Sequence[ParentRow]) -> list[TranscriptRows]:
    """Give rows without a strand that of the others of their transcript on the contig."""
    result = [piece for piece in pieces if piece.strand in STRANDS]
    for piece in (piece for piece in pieces if piece.strand not in STRANDS):
        same_contig = [other for other in result if other.contig == piece.contig]
        strands = {row.strand for row in rows if row.contig == piece.contig} & {*STRANDS}
        if len(same_contig) == 1:
            same_contig[0].parts = [
                [*mine, *more] for mine, more in zip(same_contig[0].parts, piece.parts, strict=True)
            ]
            same_contig[0].phases = [*same_contig[0].phases, *piece.phases]
            same_contig[0].flags |= piece.flags
            same_contig[0].line = min(same_contig[0].line, piece.line)
        else:
            if not same_contig and len(strands) == 1:
                piece.strand = strands.pop()
            result.append(piece)
    return sorted(result, key=lambda piece: piece.line)


def _row_of(piece: TranscriptRows, rows: Sequence[ParentRow]) -> ParentRow:
    """Return the row of a transcript that a piece of it belongs to, or the first one."""
    if len(rows) > 1:
        start, end = min(piece.segments)[0], max(piece.segments)[1]
        for row in rows:
            if row.contig == piece.contig and row.start <= start and end <= row.end:
                return row
    return rows[0]


def _type_of(attributes: bytes) -> bytes:
    """Return the type of a transcript, or else that of its gene, as attributes say it."""
    if b"type" not in attributes:
        return b""
    types = dict(_TYPE.findall(attributes))
    return types.get(b"transcript") or types.get(b"") or types.get(b"gene") or b""


def _readable_counts(counts: Counter[bytes]) -> dict[str, int]:
    return {readable(name): count for name, count in counts.items()}


def _gtf_value(name: bytes, attributes: bytes) -> bytes:
    """Return the value of an attribute, ignoring matches inside quotes of another."""
    first = attributes.find(name + b' "')
    if first == 0 or (first > 0 and attributes.count(b'"', 0, first) % 2 == 0):
        begin = first + len(name) + 2
        if attributes[first - 1 : first] in (b"", b" ", b";"):
            return attributes[begin : attributes.find(b'"', begin)]
    for match in _GTF_NAMES[name].finditer(attributes):
        if attributes.count(b'"', 0, match.start()) % 2 == 0:
            return match[1] if match[1] is not None else match[2]
    return b""
