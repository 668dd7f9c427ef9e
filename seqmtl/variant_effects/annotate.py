"""Annotate a VCF file with the effects of its variants, as a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from seqmtl._progress import Progress, short
from seqmtl._threads import in_order
from seqmtl.files.bgzip import open_packed, packer
from seqmtl.files.streams import Output, PathLike, readable
from seqmtl.io.vcf import ALT, CHROM, POS, REF, Record, VcfReader, add_info
from seqmtl.sequences import Genome
from seqmtl.variant_effects.alleles import Alleles, is_allele
from seqmtl.variant_effects.annotated_exons import ExonScorer
from seqmtl.variant_effects.effect_text import ExonText, vcf_header
from seqmtl.variant_effects.effects import AlleleScorer

_COUNTS = ("n_records", "n_without_alleles", "n_alleles", "n_scored", "n_in_exons")


@dataclass
class AnnotationSummary:
    """Counts of the records of a VCF file by what became of them.

    Attributes
    ----------
    n_records : int
        Number of records, all of which are written.
    n_without_alleles : int
        Records without an allele: ALT is ``.``, ``<NON_REF>`` or ``<*>``.
    n_alleles, n_scored : int
        Alleles, and those that were scored.
    n_in_exons : int
        Alleles that reach annotated exons.
    not_scored : dict of str to int
        Alleles that were not scored, by reason.
    examples : dict of str to str
        The first allele for each reason.
    is_sorted : bool
        Whether every contig is contiguous and sorted by POS, as an index requires.
    max_position : int
        Upper bound on the positions of the bases of REF.
    """

    n_records: int = 0
    n_without_alleles: int = 0
    n_alleles: int = 0
    n_scored: int = 0
    n_in_exons: int = 0
    not_scored: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    is_sorted: bool = True
    max_position: int = 0

    def add(self, other: AnnotationSummary) -> None:
        """Add the counts of later records."""
        for count in _COUNTS:
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.not_scored.update(other.not_scored)
        self.examples = other.examples | self.examples


class Annotator:
    """Converts batches of records to annotated lines.

    Parameters
    ----------
    scorer : AlleleScorer
        Scores alleles.
    genome : Genome
        Reference genome.
    exons : ExonScorer, optional
        Scores the ends of annotated exons. Default: none.

    Attributes
    ----------
    texts : list of EffectText
        Names and formats the INFO entries of each signal, and of annotated exons.
    texts_of_table : list of EffectText
        Those of which the table has lines: of annotated exons alone, if there are any.
    """

    def __init__(
        self,
        scorer: AlleleScorer,
        genome: Genome,
        *,
        exons: ExonScorer | None = None,
    ) -> None:
        self.scorer = scorer
        self.exons = exons
        self.genome = genome
        self.texts = self.texts_of_table = scorer.texts()
        if exons is not None:
            self.texts_of_table = [ExonText(scorer.organism, exons.exons)]
            self.texts = self.texts + self.texts_of_table

    def annotate(
        self, batch: list[Record], output: Output, table: Output | None
    ) -> tuple[bytes, bytes, AnnotationSummary]:
        """Return what a batch adds to the outputs of :func:`annotate_vcf`: file, table, counts."""
        alts = [
            (record, row, alt)
            for record, row in enumerate(batch)
            for alt in row[ALT].split(b",")
            if is_allele(alt)
        ]
        variants = (
            (readable(row[CHROM]), int(row[POS]) - 1, row[REF], alt) for _, row, alt in alts
        )
        alleles, faults = Alleles.of(self.genome, variants)
        effects_of_texts: list[Any] = [
            of_signal.lists() for of_signal in self.scorer.by_signal(self.genome, alleles)
        ]
        if self.exons is not None:
            of_exons = self.exons.score(alleles)
            effects_of_texts.append(of_exons.by_allele(alleles.starts.size))
        summary = AnnotationSummary(n_records=len(batch), n_alleles=len(faults))
        entries: list[list[list[str]]] = [[[] for _ in self.texts] for _ in batch]
        reasons: list[list[str]] = [[] for _ in batch]
        rows: list[str] = []
        for (record, row, alt), fault in zip(alts, faults, strict=True):
            position = int(row[POS])
            if fault:
                _note(summary, fault, row, position, alt)
                reasons[record].append(fault)
                continue
            i = summary.n_scored
            summary.n_scored += 1
            if self.exons is not None:
                summary.n_in_exons += len(effects_of_texts[-1][i].exons) > 0
            for k, (text, effects) in enumerate(zip(self.texts, effects_of_texts, strict=True)):
                entries[record][k].append(text.entry(alt, effects, i, position))
                if table is not None and text in self.texts_of_table:
                    rows.append(text.line(row, alt, effects, i, position))
        summary.n_without_alleles = len(batch) - len({record for record, *_ in alts})
        lines = []
        for row, of_signals, why in zip(batch, entries, reasons, strict=True):
            parts = (
                text.info(of_signal, why)
                for text, of_signal in zip(self.texts, of_signals, strict=True)
            )
            lines.append(add_info(row, b";".join(filter(None, parts))))
        lines_of_table = "".join(rows).encode("utf-8", "surrogateescape")
        packed = packer(table)(lines_of_table) if table is not None else b""
        return packer(output)(b"".join(lines)), packed, summary


def annotate_vcf(
    vcf: PathLike,
    output: Output,
    annotator: Annotator,
    *,
    table: Output | None = None,
    command: str = "",
) -> AnnotationSummary:
    """Annotate a VCF file.

    Lines are written in order and unchanged except for INFO. Memory does not grow with the file.

    Parameters
    ----------
    vcf : path-like
        Plain, gzip or bgzip, or ``"-"`` for standard input.
    output : path-like or binary stream
        VCF; a name in ``.gz`` is compressed in blocks (bgzip).
    annotator : Annotator
        Annotator to apply.
    table : path-like or binary stream, optional
        Also write the alleles as a tab-separated table with a header; positions 1-based.
    command : str
        Command line to record in the header.

    Raises
    ------
    InputFormatError
        If the file cannot be read, see :class:`~seqmtl.io.vcf.VcfReader`, or already has the
        INFO entry.
    SeqmtlError
        If an output cannot be written; nothing is left behind.
    """
    reader = VcfReader(vcf)
    summary = AnnotationSummary()
    head = packer(output)(vcf_header(annotator.texts, reader, command))
    columns = annotator.texts_of_table[0].columns
    work = partial(annotator.annotate, output=output, table=table)
    batches = _watch_order(reader.batches(annotator.scorer.n_records), summary)
    progress = Progress()
    with ExitStack() as stack:
        stack.callback(progress.close)
        stream = stack.enter_context(open_packed(output))
        stream.write(head)
        rows = None
        if table is not None:
            rows = stack.enter_context(open_packed(table))
            rows.write(packer(table)(("\t".join(columns) + "\n").encode()))
        for lines, lines_of_table, counts in in_order(work, batches):
            stream.write(lines)
            if rows is not None:
                rows.write(lines_of_table)
            summary.add(counts)
            progress.update(partial(_speed, summary.n_records))
    return summary


def _speed(n_records: int, seconds: float) -> str:
    return f"{n_records:,} records, {short(n_records / seconds)}/s"


def _watch_order(
    batches: Iterator[list[Record]], summary: AnnotationSummary
) -> Iterator[list[Record]]:
    """Record whether the records are sorted as an index requires."""
    finished_contigs: set[bytes] = set()
    contig = b""
    last = 0
    for batch in batches:
        for row in batch:
            position = int(row[POS])
            if row[CHROM] != contig:
                contig = row[CHROM]
                last = 0
                summary.is_sorted &= contig not in finished_contigs
                finished_contigs.add(contig)
            summary.is_sorted &= position >= last
            last = position
            summary.max_position = max(summary.max_position, position + len(row[REF]))
        yield batch


def _note(summary: AnnotationSummary, reason: str, row: Record, position: int, alt: bytes) -> None:
    """Count an allele that was not scored, and keep the first of its reason as an example."""
    summary.not_scored[reason] += 1
    if reason not in summary.examples:
        ref = readable(row[REF][:20])
        letters = readable(alt[:20])
        summary.examples[reason] = f"{readable(row[CHROM])}:{position} {ref}>{letters}"
