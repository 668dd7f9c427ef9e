"""The command line: run a command, and turn errors into messages and exit codes.

Exit codes: 0 success, 1 bad data or an unreadable or unwritable file, 2 usage error, 3 training hit
its epoch limit before reaching the tolerance (the model is still written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from seqmtl._messages import message_of
from seqmtl._names import forget_told
from seqmtl._version import __version__
from seqmtl.cli._command import Command
from seqmtl.cli._console import setup_logging, warnings_as_messages
from seqmtl.exceptions import (
    ClusterError,
    ScanInterrupted,
    SeqmtlError,
    TrainingInterrupted,
    UsageError,
)
from seqmtl.files.inputs import FilesOfACommand
from seqmtl.files.outputs import files_of_a_run

# The compiled loops do the work; idle BLAS threads would only burn CPU time. This must be set
# before numpy is imported. A user's own setting wins.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

logger = logging.getLogger("seqmtl")

_COMMANDS = (
    "simulate similarity dataset train train_table calibrate adapt pair predict evaluate compare "
    "scan annotate variants explain report info demo"
)

_DESCRIPTION = """\
Train predictors of genomic signals (splice sites, transcription starts) jointly for many
organisms. Each organism is a task; a multi-task SVM on weighted-degree string features shares
information between them, guided by a tree or another measure of relatedness."""

_EXAMPLES = """\
examples:
  seqmtl demo -o demo                      simulate, train, evaluate, scan, write demo/report.html
  seqmtl similarity --tree metazoa --organisms human,mouse,fruit_fly --plot similarity.png
  seqmtl train windows.tsv.gz --tree tree.nwk --window 141 -o splice.seqmtl
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json
  seqmtl compare windows.tsv.gz --tree tree.nwk --splits 10 --json comparison.json
  seqmtl scan splice.seqmtl genome.fa --organism c_elegans --consensus AG -o sites.bed
  seqmtl explain splice.seqmtl -o explained

exit codes: 0 success, 1 bad data, 2 usage error, 3 not converged, 130 interrupted"""


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of all commands, or of the one that the words begin with."""
    parser = argparse.ArgumentParser(
        prog="seqmtl",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"seqmtl {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    names = _COMMANDS.split()
    asked = [name for name in names if name.replace("_", "-") in words[:1]]
    for name in asked or names:
        import_module(f"seqmtl.cli.{name}").COMMAND.add_to(subparsers)
    return parser


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
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser(words)
    odd = [word for word in words if re.search("[\ud800-\udfff]", word)]
    if odd:
        parser.error(f"{odd[0]!a} is not UTF-8, as models and summaries are; rename the file")
    args = parser.parse_args(words)
    setup_logging(args)
    forget_told()
    with files_of_a_run() as files:
        return _run(args, shlex.join(["seqmtl", *words]), files)


def _run(args: argparse.Namespace, command_line: str, files: FilesOfACommand) -> int:
    """Run the command; turn errors into messages."""
    command: Command = args.of
    try:
        with warnings_as_messages():
            request = command.request_of(args, command_line)
            with request.threads_in_use():
                code = command.show(request, request.run()) or 0
            sys.stdout.flush()  # a full disk shows here, not when Python exits
            return code
    except UsageError as error:
        refuse: Callable[[str], NoReturn] = args.usage_error
        refuse(str(error))
    except BrokenPipeError:
        return 0
    except (KeyboardInterrupt, ScanInterrupted, TrainingInterrupted) as error:
        logger.error("%s", str(error) or "interrupted")
        return 130
    except (SeqmtlError, ValueError, OSError, ImportError, MemoryError) as error:
        if args.debug:
            raise
        is_of_data = isinstance(error, (SeqmtlError, ValueError))
        data = None if isinstance(error, ClusterError) else getattr(args, "data", None)
        logger.error("%s", _with_input(message_of(error), data if is_of_data else None, files))
        return 1


def _with_input(text: str, data: str | None, files: FilesOfACommand) -> str:
    """Put the name of DATA before an error message that names no file of the command."""
    if not data or not os.path.exists(data):
        return text
    paths = [data, *files.inputs.values(), *files.outputs.values()]
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    return text if any(name in text for name in names) else f"{data}: {text}"


def run() -> None:
    """Run as a program."""
    sys.exit(main())
