"""``seqmtl variants``: effects of variants on a signal."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.variants import Variants

_TEXT = """\
  seqmtl variants donor.seqmtl --vcf in.vcf.gz --fasta worm.fa --organism c_elegans -o out.vcf.gz
  seqmtl variants tss.seqmtl --vcf in.vcf --fasta yeast.fa.gz --organism yeast --threshold 0.2 \\
      --chrom-map names.tsv --tsv effects.tsv -o out.vcf.gz
  bcftools view in.bcf | seqmtl variants m.seqmtl --vcf - --fasta g.fa --organism fly -o out.vcf

Every line is written unchanged, except for a new INFO entry with one item per ALT allele:
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

A model of seqmtl pair writes donors and acceptors, with probabilities given their partners, for all
sites that an intron can join to the windows; RS is the change in the log-odds of the probability.
Each item ends in IR_DG|IR_DL|IA_DG|IA_DL, the most probable intron of the site gained and of that
lost, in the reference (IR) and in the alternative (IA), as FIRST-LAST:PROBABILITY.
A third entry, SeqMTL_exon, is about exons between two successive introns. It has the same columns
for the exon gained and the exon lost (DS_EG, DS_EL, ...), and ends in ER_EG|ER_EL|EA_EG|EA_EL,
these exons in the reference (ER) and in the alternative (EA). A probability below 0.001 counts as
0, and its exon is written as a dot. DP is the position of the first base of the exon in reading
direction. An exon lost without a gain is skipped in the transcript."""


COMMAND = Command(Variants, "annotate variants (VCF) with site gains and losses", _TEXT)
