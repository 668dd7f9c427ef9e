"""``seqmtl scan``: find signals in a genome."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.scan import Scan

_TEXT = """\
  seqmtl scan starter:donor mosquito.fa.gz --like Diptera --top 200 -o donors.bed.gz
  seqmtl scan splice.seqmtl worm.fa --organism worm -o worm.bw     # worm.plus.bw, worm.minus.bw
  seqmtl scan splice.seqmtl worm.fa.gz --organism worm --min-probability 0.5 -o sites.gff3
  seqmtl scan splice.seqmtl worm.fa --organism all --top 500 -o ag.bed.gz    # ag.NAME.bed.gz each
  seqmtl scan starter:splice worm.fa.gz --organism c_elegans --format introns -o introns.bed
  seqmtl scan donor.seqmtl worm.fa --organism worm --min-probability 0.1 -o donor.hints
  seqmtl scan donor.seqmtl worm.fa --organism worm -o donor.spsc
  cat donor.spsc acceptor.spsc > both.tsv; minimap2 -cx splice:hq --spsc=both.tsv worm.fa rna.fa

sites: if all training windows have the same letters at the site (GT of donors, AG of acceptors),
only sites with these letters are reported: the model was trained on no others, so its scores are
meaningless elsewhere. --consensus any reports every position. Output is sorted by contig (in FASTA
order), start and strand.

coordinates: 0-based half-open on the forward strand (GFF3: 1-based closed). A BED or GFF3 record is
the site itself: the AG of an acceptor, or the base at offset window // 2 if the training windows
share no two letters. bedGraph and bigWig put the value at the first base of that interval; bedGraph
takes the larger value of both strands. Files ending in .gz are bgzipped and indexed (.tbi).

A model of seqmtl pair reports donors and acceptors, with probabilities given their partners, in
OUT.donor.bed and OUT.acceptor.bed (and OUT.start.bed and so on, with pair --edge), or in one file
for spsc; the score is the log-odds of the probability. --format introns writes introns of at least
--min-probability (default: 0.1), with the probabilities of the intron, its donor and its acceptor.
Filters affect only what is written: the model uses all candidates. An intron is in a region if it
starts there, and soft-masked if one of its sites is."""

COMMAND = Command(Scan, "score every candidate site of a genome, both strands", _TEXT)
