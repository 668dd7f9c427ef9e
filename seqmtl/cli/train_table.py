"""``seqmtl train-table``: train one model for all tasks on a table of numbers or sequences."""

from __future__ import annotations

from seqmtl.cli._command import Command, converged
from seqmtl.verbs.train_table import TrainTable

_TEXT = """\
  seqmtl train-table expression.csv --method pareto --kernel linear --kernel rbf:0.1 -C 10 -o m
  seqmtl train-table expression.csv --method pareto --p 0.1,0.5,1,2,10 --plot front.png -o m
  seqmtl train-table land.csv --method kernel-svc --graph neighbours.tsv --tune 0.1,1,10 -o m
  seqmtl train-table peptides.csv --method kernel-mkl --sequence peptide --task-column allele \\
         --kernel spectrum:2:protein --kernel gapped:5:3:protein -o m
  seqmtl train-table windows.tsv.gz --method kernel-svc --kernel wd:8 --tree tree.nwk -o m

FASTA files, and TSV files with columns organism and sequence, hold DNA windows. All other files,
and any file given with --label-column, --task-column or --sequence, are tables of examples: .csv or
.tsv. Columns other than label, task, name (or id) and split are features and must be numeric. With
--sequence COLUMN, the examples are the sequences in that column: DNA, or proteins with a kernel
such as spectrum:3:protein. Tables without tasks may have more than two classes, which are trained
one-vs-one by pareto and the other methods with one SVM per task."""


COMMAND = Command(
    TrainTable,
    "train on a table of numbers or sequences, or on windows with kernels",
    _TEXT,
    has_converged=converged,
    usage="seqmtl train-table DATA --method METHOD -o MODEL [options]",
)
