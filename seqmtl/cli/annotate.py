"""``seqmtl annotate``: the introns of a genome without labels."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.annotate import Annotate

_TEXT = """\
  seqmtl annotate mosquito.fa.gz --like Diptera -o mosquito
  seqmtl annotate briggsae.fa --like c_elegans --organism c_briggsae -o briggsae
  seqmtl annotate alga.fa --like auto --organism alga --model pair.seqmtl -o alga

Nothing but the genome and a relative is needed. The model of the relatives finds introns, learns
from what it found, and finds more, in rounds (seqmtl adapt PAIR --genome). FOLDER gets

  report.html            the rounds, expected numbers and lengths of introns; open it in a browser
  sites.introns.gff3     introns of probability 0.1 or more
  sites.donor.bed.gz     donors and acceptors of probability 0.1 or more, each in a file
  sites.donor.plus.bw    probabilities of all candidates, each signal and strand in a file
  model.seqmtl           the adapted model, for seqmtl scan, variants and explain
  summary.json           the rounds, and the numbers of what was written

Calls of probability 0.9 or more were right in 0.81 to 0.99 of cases where organisms left out of the
training had enough of them to learn from, and in .25 to .36 on one repeat-rich genome that had not.
A warning tells if there is too little to learn from. If introns are known, of reads, of proteins or
of a few genes, give them with --introns. If --organism is one of the model, it is scored as it is,
without learning. Repeat the command to go on after an interruption: what is complete, of the same
files and options, is not done again."""

COMMAND = Command(
    Annotate,
    "find the introns of a genome without labels",
    _TEXT,
    usage="seqmtl annotate FASTA --like NAME -o FOLDER [options]",
)
