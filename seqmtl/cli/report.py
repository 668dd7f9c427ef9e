"""``seqmtl report``: a folder of results as one page."""

from __future__ import annotations

from seqmtl.cli._command import Command
from seqmtl.verbs.report import Report

_TEXT = """\
  seqmtl report results -o report.html
  seqmtl report mosquito --annotation mosquito=old.gff3 -o report.html
  seqmtl report results --tree tree.nwk --title "Splice sites of nematodes" -o report.html

The report shows what commands wrote in DIR: datasets (seqmtl dataset), models (*.seqmtl),
evaluations (seqmtl evaluate --json, with the picture of --plot beside it, on the test regions of
datasets; also of models of seqmtl pair), comparisons (seqmtl compare --json; several sizes of
--per-organism make a learning curve), scans (seqmtl scan --json) and introns (seqmtl annotate;
also how many of them are in --annotation). It scores nothing. The details are those of one model
that shares information between organisms: the default of seqmtl train if present. Test labels play
no part in this choice. The page is a single file that needs no network."""

COMMAND = Command(Report, "summarize a folder of results as one HTML page", _TEXT)
