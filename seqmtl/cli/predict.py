"""``seqmtl predict``: score windows."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.verbs.predict import Predict, write_scores

_TEXT = """\
  seqmtl predict splice.seqmtl windows.tsv.gz -o scores.tsv
  seqmtl predict splice.seqmtl candidates.fa --organism c_elegans > scores.tsv
  seqmtl predict starter:acceptor candidates.fa --like "Apis mellifera"

The last column tells whether a window has the letters of the model's sites, such as AG (yes or no).
The score of a window that has lost them means little."""


def _show(request: Predict, columns: dict[str, Any]) -> str:
    """Write the scores to standard output, unless they have a file."""
    if request.output is None:
        write_scores(columns, "-")
    return ""


COMMAND = Command(
    Predict, "score windows; write name, organism, score, probability, has_site", _TEXT, _show
)
