"""Write the effects of variants into their VCF file, as a stream."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from seqmtl._version import __version__
from seqmtl.exceptions import InputFormatError
from seqmtl.io._fields import readable
from seqmtl.io._stream import PathLike
from seqmtl.io.vcf import (
    ALT,
    CHROM,
    REF,
    VcfBatch,
    VcfReader,
    add_info,
    escape,
    open_packed,
    pack,
)
from seqmtl.sequences import Genome
from seqmtl.variants.alleles import REASONS, AlleleList, is_allele
from seqmtl.variants.effects import Effects, EffectScorer

_RECORDS = 2048  # in a batch
_REPORT_EVERY = 100_000
_LETTER = {"donor": "D", "acceptor": "A", "tss": "T"}
_TABLE = (
    "contig", "pos", "ref", "alt", "organism", "kind", "gain", "gain_pos", "gain_offset",
    "gain_strand", "gain_ref_probability", "gain_alt_probability", "gain_ref_score",
    "gain_alt_score", "loss", "loss_pos", "loss_offset", "loss_strand", "loss_ref_probability",
    "loss_alt_probability", "loss_ref_score", "loss_alt_score",
)  # fmt: skip

Output = str | os.PathLike[str] | IO[bytes]
_log = logging.getLogger(__name__)


@dataclass
class AnnotationSummary:
    """What became of the records of a VCF file.

    Attributes
    ----------
    n_records : int
        Records, all of which are written.
    n_without_alleles : int
        Records without an allele: ALT is ``.``, ``<NON_REF>`` or ``<*>``.
    n_alleles, n_scored : int
        Alleles, and those that were scored.
    n_reported : int
        Alleles whose gain or loss reaches the threshold, all where there is none.
    not_scored : dict of str to int
        Alleles that were not scored, by reason.
    examples : dict of str to str
        The first allele of each reason.
    is_sorted : bool
        Whether every contig is in one piece and sorted by POS, as an index needs it.
    """

    n_records: int = 0
    n_without_alleles: int = 0
    n_alleles: int = 0
    n_scored: int = 0
    n_reported: int = 0
    not_scored: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    is_sorted: bool = True

    def add(self, other: AnnotationSummary) -> None:
        """Add the counts of later records."""
        self.n_records += other.n_records
        self.n_without_alleles += other.n_without_alleles
        self.n_alleles += other.n_alleles
        self.n_scored += other.n_scored
        self.n_reported += other.n_reported
        self.not_scored.update(other.not_scored)
        self.examples = other.examples | self.examples


class _Allele(NamedTuple):
    """One entry of ALT: its record, its letters, and its row of effects or why it has none."""

    record: int
    alt: bytes
    row: int
    reason: str


class _Done(NamedTuple):
    text: bytes
    table: bytes
    summary: AnnotationSummary


class Annotator:
    """Turns batches of records into annotated lines.

    Parameters
    ----------
    scorer : EffectScorer
        Scores alleles.
    genome : Genome
        The reference.
    chrom_map : mapping of str to str, optional
        Names of contigs in the VCF file to those in the genome, where they differ.
    threshold : float, optional
        Lowest gain or loss to report. Default: all.

    Attributes
    ----------
    field : str
        The entry of INFO, ``SeqMTL_`` and the kind of site.
    """

    def __init__(
        self,
        scorer: EffectScorer,
        genome: Genome,
        *,
        chrom_map: Mapping[str, str] | None = None,
        threshold: float | None = None,
    ) -> None:
        self.scorer, self.genome = scorer, genome
        self.chrom_map = {} if chrom_map is None else chrom_map
        self.threshold = threshold
        self.field = f"SeqMTL_{scorer.site.kind}"

    def header(self, vcf: VcfReader, command: str) -> bytes:
        """Return the header of the annotated file.

        Raises
        ------
        InputFormatError
            If the file has the entry already.
        """
        names = (self.field, f"{self.field}_skipped")
        for name in names:
            if name in vcf.info_ids:
                raise InputFormatError(
                    f"the file has INFO/{name} already; take it off with: bcftools annotate -x "
                    f"{','.join(f'INFO/{each}' for each in names)}",
                    path=vcf.source,
                )
        kind, letter = self.scorer.site.kind, _LETTER.get(self.scorer.site.kind, "")
        columns = [f"{what}_{letter}{c}" for what in ("DS", "DP", "ST", "RS") for c in "GL"]
        what = (
            f"seqmtl {__version__}: change of the probability of a {kind} site, the largest gain "
            "(G) and loss (L) among the windows that the variant touches: delta score (DS, 0 to "
            "1), delta position (DP, from POS to the first base of the site in reading "
            "direction), strand of the site (ST), change of the raw score (RS, where both "
            f"alleles have the site). Format: ALLELE|ORGANISM|{'|'.join(columns)}"
        )
        why = "; ".join(f"{reason}: {text}" for reason, text in REASONS.items())
        command = command.replace("\\", "\\\\").replace('"', '\\"')
        lines = [
            f'##INFO=<ID={names[0]},Number=.,Type=String,Description="{what}">',
            f'##INFO=<ID={names[1]},Number=.,Type=String,Description="Why seqmtl did not score '
            f'an allele ({why})">',
            f'##seqmtl=<Version="{__version__}",Command="{command}">',
        ]
        added = [line.encode("utf-8", "surrogateescape") for line in lines]
        return b"".join(line + b"\n" for line in (*vcf.meta, *added, vcf.columns))

    def annotate(self, batch: VcfBatch) -> tuple[bytes, bytes, AnnotationSummary]:
        """Return the lines of a batch with their effects, the same as a table, and the counts."""
        alleles, list_ = self._alleles(batch)
        effects = self.scorer.score(self.genome, list_.alleles())
        summary = AnnotationSummary(n_records=len(batch.rows), n_alleles=len(alleles))
        entries: list[list[str]] = [[] for _ in batch.rows]
        reasons: list[list[str]] = [[] for _ in batch.rows]
        table: list[str] = []
        numbers = _Numbers(effects)
        for allele in alleles:
            row, position = batch.rows[allele.record], batch.positions[allele.record]
            if allele.reason:
                _note(summary, allele, row, position)
                if allele.reason not in reasons[allele.record]:
                    reasons[allele.record].append(allele.reason)
                continue
            summary.n_scored += 1
            if self.threshold is None or numbers.largest[allele.row] >= self.threshold:
                summary.n_reported += 1
                entries[allele.record].append(self._entry(allele, numbers, position))
                table.append(self._line(allele, numbers, row, position))
        summary.n_without_alleles = len(batch.rows) - len({allele.record for allele in alleles})
        text = b"".join(
            add_info(row, self._info(*both))
            for row, *both in zip(batch.rows, entries, reasons, strict=True)
        )
        return text, "".join(table).encode("utf-8", "surrogateescape"), summary

    def table_header(self) -> bytes:
        """Return the first line of the table."""
        return ("\t".join(_TABLE) + "\n").encode()

    def _alleles(self, batch: VcfBatch) -> tuple[list[_Allele], AlleleList]:
        """Check the alleles of all records, and collect those that can be scored."""
        found, kept = [], AlleleList(self.genome)
        for number, (row, position) in enumerate(zip(batch.rows, batch.positions, strict=True)):
            alts = [alt for alt in row[ALT].split(b",") if is_allele(alt)]
            if not alts:
                continue
            contig = readable(row[CHROM])
            contig = self.chrom_map.get(contig, contig)
            refused = kept.refuse_record(contig, position - 1, row[REF])
            for alt in alts:
                place = len(kept)
                reason = refused or kept.add(contig, position - 1, row[REF], alt)
                found.append(_Allele(number, alt, place, reason))
        return found, kept

    def _info(self, entries: list[str], reasons: list[str]) -> bytes:
        parts = []
        if entries:
            parts.append(f"{self.field}={','.join(entries)}")
        if reasons:
            parts.append(f"{self.field}_skipped={','.join(reasons)}")
        return ";".join(parts).encode("ascii")

    def _entry(self, allele: _Allele, numbers: _Numbers, position: int) -> str:
        i = allele.row
        gain, loss = numbers.changes[i]
        columns = [
            f"{gain:.4f}", f"{loss:.4f}",
            *(numbers.offset(i, c, position) for c in (0, 1)),
            *("+-."[numbers.strands[i][c]] for c in (0, 1)),
            *(numbers.score_change(i, c) for c in (0, 1)),
        ]  # fmt: skip
        return "|".join([allele.alt.decode(), escape(self.scorer.organism), *columns])

    def _line(self, allele: _Allele, numbers: _Numbers, row: list[bytes], position: int) -> str:
        i = allele.row
        fields = [
            readable(row[CHROM]), str(position), readable(row[REF]), allele.alt.decode(),
            self.scorer.organism, self.scorer.site.kind,
        ]  # fmt: skip
        for c in (0, 1):
            is_found = numbers.strands[i][c] >= 0
            fields += [
                f"{numbers.changes[i][c]:.6g}",
                str(numbers.places[i][c] + 1) if is_found else ".",
                numbers.offset(i, c, position),
                "+-."[numbers.strands[i][c]],
                *(f"{p:.6g}" if is_found else "." for p in numbers.probabilities[i][c]),
                *(f"{score:.5f}" if score == score else "." for score in numbers.scores[i][c]),
            ]
        return "\t".join(fields) + "\n"


class _Numbers:
    """Effects as lists, which are quicker than arrays entry by entry."""

    def __init__(self, effects: Effects) -> None:
        self.changes = effects.changes.tolist()
        self.strands = effects.strands.tolist()
        self.places = effects.places.tolist()
        self.probabilities = effects.probabilities.tolist()
        self.scores = effects.scores.tolist()
        self.largest = effects.changes.max(axis=1).tolist()

    def offset(self, i: int, c: int, position: int) -> str:
        """Return how far from POS the site is that allele i changes, gain (0) or loss (1)."""
        return str(self.places[i][c] + 1 - position) if self.strands[i][c] >= 0 else "."

    def score_change(self, i: int, c: int) -> str:
        """Return how far the raw score rises at this site, where both haplotypes have one."""
        ref, alt = self.scores[i][c]
        change = alt - ref
        return f"{change:.4f}" if change == change else "."


def annotate_vcf(
    vcf: PathLike,
    output: Output,
    annotator: Annotator,
    *,
    table: Output | None = None,
    command: str = "",
) -> AnnotationSummary:
    """Annotate a VCF file.

    Every line is written, in order and as it is but for INFO. Memory does not grow with the file.

    Parameters
    ----------
    vcf : path-like
        Plain, gzip or bgzip, or ``"-"`` for standard input.
    output : path-like or binary stream
        VCF; a name in ``.gz`` is compressed by blocks (bgzip).
    annotator : Annotator
        What to add.
    table : path-like or binary stream, optional
        The reported alleles as a table, too: tab-separated with a header, positions 1-based.
    command : str
        What the header is to say of how the file was made.

    Raises
    ------
    InputFormatError
        If the file cannot be read, see :class:`~seqmtl.io.vcf.VcfReader`, or has the entry
        already.
    SeqmtlError
        If an output cannot be written; nothing is left behind.
    """
    reader = VcfReader(vcf)
    summary = AnnotationSummary()
    head = pack(annotator.header(reader, command), output)

    def work(batch: VcfBatch) -> _Done:
        text, lines, counts = annotator.annotate(batch)
        return _Done(pack(text, output), pack(lines, table) if table else b"", counts)

    batches = _watch_order(reader.batches(_RECORDS), summary)
    with ExitStack() as stack:
        stream = stack.enter_context(open_packed(output))
        stream.write(head)
        lines = None if table is None else stack.enter_context(open_packed(table))
        if lines is not None and table is not None:
            lines.write(pack(annotator.table_header(), table))
        for done in annotator.scorer.scanner.run(work, batches):
            stream.write(done.text)
            if lines is not None:
                lines.write(done.table)
            n_before = summary.n_records
            summary.add(done.summary)
            if summary.n_records // _REPORT_EVERY > n_before // _REPORT_EVERY:
                _log.info("%d records", summary.n_records)
    return summary


def _watch_order(batches: Iterator[VcfBatch], summary: AnnotationSummary) -> Iterator[VcfBatch]:
    """Note whether the records are sorted as an index needs them."""
    seen: set[bytes] = set()
    contig, last = b"", 0
    for batch in batches:
        for row, position in zip(batch.rows, batch.positions, strict=True):
            if row[CHROM] != contig:
                contig, last = row[CHROM], 0
                summary.is_sorted &= contig not in seen
                seen.add(contig)
            summary.is_sorted &= position >= last
            last = position
        yield batch


def _note(summary: AnnotationSummary, allele: _Allele, row: list[bytes], position: int) -> None:
    """Count an allele that was not scored, and keep the first of its kind as an example."""
    summary.not_scored[allele.reason] += 1
    if allele.reason not in summary.examples:
        ref, alt = (readable(letters[:20]) for letters in (row[REF], allele.alt))
        summary.examples[allele.reason] = f"{readable(row[CHROM])}:{position} {ref}>{alt}"
