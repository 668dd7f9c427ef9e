"""``seqmtl train``: train one multi-task model on labelled windows."""

from __future__ import annotations

import argparse
from typing import Any

from seqmtl.cli._command import Command, converged
from seqmtl.verbs.train import Train

_OF_TABLES = (
    "--method",
    "--kernel",
    "--p",
    "--share",
    "--q",
    "--standardize",
    "--no-standardize",
    "--tune",
    "--plot",
    "--label-column",
    "--task-column",
    "--sequence",
)


class _OfTables(argparse.Action):
    """An option of ``train-table``; its use is an error here."""

    def __call__(self, parser: Any, _: Any, value: Any, option: str | None = None) -> None:
        method = value if option == "--method" else "METHOD"
        parser.error(f"{option} is for tables: use seqmtl train-table DATA --method {method}")


def _refuse_tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(*_OF_TABLES, action=_OfTables, nargs="?", help=argparse.SUPPRESS)


COMMAND = Command(
    Train,
    "train one model for all organisms on windows (for tables: seqmtl train-table)",
    "  seqmtl train windows.tsv.gz --tree metazoa --window 141 -o splice.seqmtl",
    has_converged=converged,
    usage="seqmtl train DATA -o MODEL [options]",
    adjust=_refuse_tables,
)
