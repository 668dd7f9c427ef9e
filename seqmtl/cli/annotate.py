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

Precision at probability 0.9 or more: 0.81 to 0.99 in held-out organisms, and 0.25 to 0.36 in one
repeat-rich genome with too few calls to learn from, of which a warning tells. If introns are known
from reads, proteins or a few genes, give them with --introns. An --organism that the model has is
scored without further learning. After an interruption, repeat the command: finished steps with the
same files and options are not repeated."""

COMMAND = Command(
    Annotate,
    "find the introns of a genome without labels",
    _TEXT,
    usage="seqmtl annotate FASTA --like NAME -o FOLDER [options]",
)
