"""The command line with all commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from seqmtl.cli import (
    adapt,
    calibrate,
    compare,
    dataset,
    demo,
    evaluate,
    explain,
    info,
    pair,
    predict,
    report,
    scan,
    similarity,
    simulate,
    train,
    train_table,
    variants,
)
from seqmtl.cli._program import new_parser, run_command

_COMMANDS = (
    simulate,
    similarity,
    dataset,
    train,
    train_table,
    calibrate,
    adapt,
    pair,
    predict,
    evaluate,
    compare,
    scan,
    variants,
    explain,
    report,
    info,
    demo,
)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    return new_parser(_COMMANDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program name. Default: ``sys.argv[1:]``.

    Returns
    -------
    int
        Exit code.
    """
    return run_command(_COMMANDS, sys.argv[1:] if argv is None else argv)


def run() -> None:
    """Run as a program."""
    sys.exit(main())
