"""``seqmtl compare``: methods on the same splits, each tuned on its own training labels."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.verbs.compare import Compare

_TEXT = """\
  seqmtl compare windows.tsv.gz --tree tree.nwk --splits 10 --per-organism 1000 \\
                 --json comparison.json --plot comparison.png > comparison.md
  seqmtl compare windows.tsv.gz --methods individual,union --json comparison.json

Repeat the same command to resume an interrupted run. If you then ask for more splits or methods,
the finished ones are reused from comparison.json."""


def _show(_: Compare, document: dict[str, Any]) -> str:
    """Show the means and spreads."""
    from seqmtl.comparison.results import to_markdown

    return to_markdown(document)


COMMAND = Command(
    Compare,
    "compare individual, union, multi-task and MKL models and the default of train",
    _TEXT,
    _show,
    lambda document: all(all(entry["converged"]) for entry in document["methods"].values()),
)
