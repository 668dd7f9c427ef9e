"""``seqmtl train``: train one multi-task model on labelled windows."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.train import Train

COMMAND = Command(
    Train,
    "train one model for all organisms on windows",
    "  seqmtl train windows.tsv.gz --tree metazoa --window 141 -o splice.seqmtl",
    has_converged=lambda model: bool(model.training["converged"]),
    usage="seqmtl train DATA -o MODEL [options]",
)
