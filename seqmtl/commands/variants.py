r"""Annotate variants (VCF) with site gains and losses.

examples:
  seqmtl variants donor.seqmtl --vcf in.vcf.gz --fasta worm.fa --organism c_elegans -o out.vcf.gz
  seqmtl variants tss.seqmtl --vcf in.vcf --fasta yeast.fa.gz --organism yeast \
      --tsv effects.tsv -o out.vcf.gz
  seqmtl variants starter:splice --like dog --vcf in.vcf --fasta dog.fa --annotation dog.gtf.gz \
      --tsv exons.tsv -o out.vcf.gz
  bcftools view in.bcf | seqmtl variants m.seqmtl --vcf - --fasta g.fa --organism fly -o out.vcf

Every record is written unchanged, except for a new INFO entry with one item per ALT allele (and the
first line, ##fileformat, is added where it is missing):
  SeqMTL_donor=ALLELE|ORGANISM|DS_DG|DS_DL|DP_DG|DP_DL|ST_DG|ST_DL|RS_DG|RS_DL
(acceptors: AG, AL; transcription starts: TG, TL; other sites: G, L)
  DS  largest increase (gain, G) and decrease (loss, L) in the probability of a site, 0 to 1
  DP  its position: bases from POS to the first base of the site in reading direction, on the
      reference
  ST  strand of the site; both strands are scored
  RS  change in raw score there; . if one of the alleles has no such site
Sites on deleted bases are lost. Sites on inserted bases are gained and placed at the base before
the insertion. If an indel can be placed at several positions, the one with the smallest effect
counts, so the result does not depend on how the variant is written. A position without the letters
of the model's sites (such as GT) has probability 0. Windows that cross a contig end are padded with
N. To add a second signal (acceptors after donors), run the command again on its own output.

A model without a site (of spectrum or gapped features) writes the score of the window around the
variant: SeqMTL_score=ALLELE|ORGANISM|SCORE_REF|SCORE_ALT|DELTA. Both windows have the length of the
model, with the changed bases in the middle.

A model of seqmtl pair writes donors and acceptors, with probabilities given their partners, for all
sites that an intron can join to the windows; RS is the change in the log-odds of the probability.
Each item ends in IR_DG|IR_DL|IA_DG|IA_DL, the most probable intron of the site gained and of that
lost, in the reference (IR) and in the alternative (IA), as FIRST-LAST:PROBABILITY.
A third entry, SeqMTL_exon, is about exons between two successive introns. It has the same columns
for the exon gained and the exon lost (DS_EG, DS_EL, ...), and ends in ER_EG|ER_EL|EA_EG|EA_EL,
these exons in the reference (ER) and in the alternative (EA). A probability below 0.001 counts as
0, and its exon is written as a dot. DP is the position of the first base of the exon in reading
direction. An exon lost without a gain is skipped in the transcript.
In contigs shorter than two introns (of median length), sites lack their partners: they have the
probabilities of the models of the sites alone, without introns and exons, and a warning says so.

With --annotation, a fourth entry has the annotated exons that the allele reaches, with its changed
bases in the exon or in the windows of its ends, one item per ALT allele and exon:
  SeqMTL_annotated_exon=ALLELE|ORGANISM|TRANSCRIPTS|FIRST-LAST|STRAND|
      ACC_REF|ACC_ALT|DON_REF|DON_ALT|EFFECT
  TRANSCRIPTS  those with the exon, joined by &
  FIRST-LAST   its first and last base, 1-based
  ACC, DON     log-odds of its acceptor and its donor by the models of the sites alone; . where the
               transcript begins or ends
  EFFECT       the sum of both changes, below 0 if the exon becomes weaker
The shipped models see 50 bases of an exon at either end, and 88 of the intron. An end that loses
its letters (AG; GT, or GC where the model has such donors) has the least log-odds of the model,
about -10, or 5 less than before. One without them in the reference has a dot. Of an indel that
can be placed on either side of an end, the smaller change counts. The exon of a transcript
without introns, as in a minigene, counts if AG is before it and GT or GC behind. --tsv then has
these columns, a line per allele and exon; gains and losses are in the VCF alone.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from seqmtl.commands import _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import InputFormatError, SeqmtlError, UsageError
from seqmtl.files.bgzip import index_packed
from seqmtl.files.write import check_outputs

if TYPE_CHECKING:
    from seqmtl.sequences import Genome
    from seqmtl.variant_effects import (
        AlleleScorer,
        AnnotationSummary,
        ExonScorer,
        PairedEffectScorer,
    )

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Variants(_options.Relatives):
    """Annotate variants (VCF) with gains and losses of sites."""

    model: str = _options.model_file()
    vcf: str = required("variants: plain, gzip or bgzip; - for stdin", metavar="VCF")
    fasta: str = required("reference genome of the VCF: plain, gzip or bgzip", metavar="FASTA")
    organism: str | None = option(
        "organism whose model to use (default: the only one)", metavar="NAME"
    )
    output: str = required(
        "-o",
        "annotated variants (.vcf or .vcf.gz); - for standard output",
        metavar="VCF",
        affects_output=False,
    )
    annotation: str | None = option(
        "also the effect on each exon of an annotation: GFF3, GTF or BED12 (model of seqmtl pair)",
        metavar="FILE",
    )
    tsv: str | None = option(
        "also write the effects as a table; - for standard output",
        metavar="FILE",
        affects_output=False,
    )

    def run(self) -> Document:
        """Annotate the variants.

        Returns
        -------
        dict
            Counts of records and alleles by what became of them.
        """
        from seqmtl.variant_effects import Annotator, annotate_vcf

        self._check_outputs()
        scorer = self._scorer()
        genome = self._genome(scorer)
        _warn_of_short_contigs(scorer, genome)
        annotator = Annotator(scorer, genome, exons=self._exons(scorer, genome))
        started = time.perf_counter()
        summary = annotate_vcf(
            self.vcf,
            self.output,
            annotator,
            table=self.tsv,
            command=self.command,
        )
        seconds = time.perf_counter() - started
        _report(summary, self.output, seconds, has_exons=self.annotation is not None)
        if summary.is_sorted:
            index_packed(self.output, "vcf", summary.max_position)
        elif self.output.endswith(".gz"):
            logger.warning("%s is not sorted: no index; run bcftools sort", self.output)
        return {"organism": annotator.scorer.organism, **vars(summary)}

    def _check_outputs(self) -> None:
        inputs = [self.model, self.vcf, self.fasta, self.annotation]
        check_outputs(inputs, [self.output, self.tsv])
        if self.output != "-" and not self.output.endswith((".vcf", ".vcf.gz")):
            raise UsageError(
                f"must end in .vcf or .vcf.gz, or be -, got {self.output}; for BCF, write .vcf.gz "
                "and convert it with: bcftools view -Ob",
                "output",
            )
        if self.output == self.tsv == "-":
            raise UsageError("only one output can go to standard output; name a file for the other")

    def _scorer(self) -> AlleleScorer:
        """Return the scorer of alleles for the model."""
        from seqmtl.adaptation.relatives import name_organism
        from seqmtl.loading import load_site_model

        model = load_site_model(self.model)
        organism = name_organism(model.tasks, self.organism, self.like, self.fasta)
        predictor = model.predictor(organism, like=self.like)
        if not predictor.has_introns:
            self.refuse(("annotation",), "needs a model of seqmtl pair, with both ends of exons")
        return predictor.allele_scorer()

    def _genome(self, scorer: AlleleScorer) -> Genome:
        """Load the contigs that have variants; all contigs if the variants come from a stream."""
        from seqmtl.io import load_genome
        from seqmtl.io.vcf import VcfReader

        if self.vcf == "-":
            return load_genome(self.fasta, padding=1)
        reader = VcfReader(self.vcf)
        for text in scorer.texts():
            text.check(reader)
        try:
            return load_genome(self.fasta, padding=1, only=dict.fromkeys(reader.contigs()))
        except InputFormatError:
            raise
        except ValueError as error:  # the genome has none of the contigs
            remedy = "such as with bcftools annotate --rename-chrs"
            raise SeqmtlError(f"{self.vcf}, {self.fasta}: {error}, {remedy}") from error

    def _exons(self, scorer: AlleleScorer, genome: Genome) -> ExonScorer | None:
        """Return the scorer of annotated exons, if they are asked for."""
        from seqmtl.io import read_annotation
        from seqmtl.io.genome import contig_lengths
        from seqmtl.sequences.genome import unknown_contig
        from seqmtl.variant_effects import ExonScorer

        if self.annotation is None:
            return None
        finder = cast("PairedEffectScorer", scorer).finder
        annotation = read_annotation(self.annotation)
        n_contigs = len({*annotation.contigs} & {*genome.names})
        if not n_contigs:
            contigs = [*contig_lengths(self.fasta)]
            if not {*annotation.contigs} & {*contigs}:
                fault = unknown_contig(annotation.contigs, contigs)
                raise SeqmtlError(f"{self.annotation}, {self.fasta}: {fault}")
        exons = ExonScorer(finder, genome, annotation.transcripts)
        n = len(exons.exons.names)
        logger.info("%s: %d exons on %d contigs of variants", self.annotation, n, n_contigs)
        if exons.n_without_letters:
            logger.log(
                logging.WARNING if 2 * exons.n_without_letters > exons.n_ends else logging.INFO,
                "%s: %d of %d ends of exons lack the letters of a splice site in %s and have no "
                "effects%s",
                self.annotation,
                exons.n_without_letters,
                exons.n_ends,
                self.fasta,
                "; is it the annotation of this assembly?"
                if 2 * exons.n_without_letters > exons.n_ends
                else "",
            )
        return exons


def _warn_of_short_contigs(scorer: AlleleScorer, genome: Genome) -> None:
    """Warn of contigs in which sites are scored without their partners."""
    lengths = zip(genome.names, genome.lengths.tolist(), strict=True)
    short = [name for name, n_bases in lengths if n_bases < scorer.shortest_contig]
    if short:
        logger.warning(
            "%d of %d contigs, such as %s, are shorter than two introns (%d bases): their sites "
            "are scored alone, without partners; --annotation has the effects on their exons",
            len(short),
            len(genome),
            short[0],
            scorer.shortest_contig,
        )


def _report(summary: AnnotationSummary, output: str, seconds: float, *, has_exons: bool) -> None:
    """Log the numbers of variants scored and skipped, with reasons."""
    from seqmtl.variant_effects.alleles import REASONS

    logger.info(
        "%s: %d records, %d alleles, %d scored in %.1f s (%.0f per second)",
        output,
        summary.n_records,
        summary.n_alleles,
        summary.n_scored,
        seconds,
        summary.n_alleles / max(seconds, 1e-9),
    )
    if summary.n_without_alleles:
        logger.info(
            "%d records have no allele to score (ALT is ., <NON_REF> or <*>) and are not changed",
            summary.n_without_alleles,
        )
    for reason, n in summary.not_scored.items():
        logger.warning(
            "%d of %d alleles were not scored: %s (%s; first: %s)",
            n,
            summary.n_alleles,
            REASONS[reason],
            reason,
            summary.examples[reason],
        )
    if has_exons:
        report = logger.info if summary.n_in_exons else logger.warning
        report("%d of %d alleles reach annotated exons", summary.n_in_exons, summary.n_scored)
    if 2 * summary.not_scored["ref_mismatch"] > summary.n_alleles:
        logger.warning("most REF alleles differ from the genome; is it the right assembly?")


variants = python_function(Variants)
