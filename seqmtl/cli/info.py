"""``seqmtl info``: describe a model file."""

from __future__ import annotations

import argparse
import json
import os
import sys

from seqmtl.cli import _options
from seqmtl.cli._console import show

_EXAMPLES = """\
  seqmtl info splice.seqmtl
  seqmtl info starter:donor
  seqmtl info splice.seqmtl --json | jq .duality_gap

evidence of trust: the weight of each trust from 0 to 1 after seeing held-out labels, and
log-likelihood: that of these labels with each set of features; see "Which relatives to trust" on
the page Method of the documentation."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers,
        "info",
        run,
        "describe a model: tasks, task kernel, features, training",
        _EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="model file, starter:donor or starter:acceptor"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.files.catalogue import model_path
    from seqmtl.models.saved import load_model

    model = load_model(args.model)
    if args.json:
        summary = {"schema_version": 1, "path": args.model, **model.describe()}
        json.dump(summary, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return 0
    size = os.path.getsize(model_path(args.model)) / 2**20
    show("\n".join([*model.text(f"{args.model} ({size:.1f} MiB)"), ""]))
    return 0
