"""``seqmtl info``: describe a model file."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.cli._console import show
from seqmtl.files.outputs import write_json
from seqmtl.verbs.info import Info

_TEXT = """\
  seqmtl info splice.seqmtl
  seqmtl info starter:donor
  seqmtl info splice.seqmtl --json | jq .duality_gap

evidence of trust: the weight of each trust from 0 to 1 after seeing held-out labels, and
log-likelihood: that of these labels with each set of features; see "Which relatives to trust" on
the page Method of the documentation."""


def _show(request: Info, description: dict[str, Any]) -> None:
    text = description.pop("text")
    if request.json:
        write_json("-", description)
    else:
        show(text)


COMMAND = Command(Info, "describe a model: tasks, task kernel, features, training", _TEXT, _show)
