"""``seqmtl adapt``: add an organism to a trained model, from few labels or none."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.adapt import Adapt

_TEXT = """\
  seqmtl adapt splice.seqmtl few.tsv --organism c_briggsae --tree nematodes -o new.seqmtl
  seqmtl adapt starter:donor few.tsv --organism midge --like Diptera --prevalence 0.01 -o new.seqmtl
  seqmtl adapt splice.seqmtl --organism c_briggsae --like c_elegans -o new.seqmtl  # no labels
  seqmtl adapt starter:splice --genome c_briggsae=c_briggsae.fa --organism c_briggsae -o pair.seqmtl

The data that the model was trained on are not needed. The organism starts as a mean of the
organisms of the model, in which its relatives count more; its labels, at least two of each class,
then change the weights of the relatives, the trust in them, and the weights of the k-mers. seqmtl
info shows how much each relative counts. An organism that was adapted before is adapted further:
give only labels that it has not seen. Without labels, it is scored from its relatives.

A paired model learns from the genome alone, in rounds, and from introns that are known (--introns).

Probabilities hold at --prevalence. With many labels, calibrate on others: seqmtl calibrate."""

COMMAND = Command(
    Adapt,
    "add an organism to a trained model, from few labels or none",
    _TEXT,
    usage="seqmtl adapt MODEL [DATA] --organism NAME -o MODEL [options]",
)
