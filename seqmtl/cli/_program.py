"""Build the parser, run a command, and turn errors into messages and exit codes.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn

from seqmtl._messages import message_of
from seqmtl._names import forget_told
from seqmtl._version import __version__
from seqmtl.cli._command import Command
from seqmtl.cli._console import setup_logging, warnings_as_messages
from seqmtl.cli._output import with_input
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


def new_parser(commands: Iterable[ModuleType]) -> argparse.ArgumentParser:
    """Build a parser for the given commands, each a module with ``add_parser``."""
    parser = argparse.ArgumentParser(
        prog="seqmtl",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"seqmtl {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in commands:
        if hasattr(command, "COMMAND"):
            command.COMMAND.add_to(subparsers)
        else:
            command.add_parser(subparsers)
    return parser


def run_command(commands: Iterable[ModuleType], words: Sequence[str]) -> int:
    """Parse `words`, run the command, and return the exit code."""
    parser = new_parser(commands)
    odd = [word for word in words if re.search("[\ud800-\udfff]", word)]
    if odd:
        parser.error(f"{odd[0]!a} is not UTF-8, as models and summaries are; rename the file")
    args = parser.parse_args(words)
    args.command_line = shlex.join(["seqmtl", *words])
    setup_logging(args)
    forget_told()
    with files_of_a_run() as files:
        return _run(args, files)


def _run(args: argparse.Namespace, files: FilesOfACommand) -> int:
    """Run the command; turn errors into messages."""
    try:
        with warnings_as_messages():
            code = _carry_out(args) if hasattr(args, "of") else _run_old(args)
            sys.stdout.flush()  # a full disk shows here, not when Python exits
            return code
    except UsageError as error:
        refuse: Callable[[str], NoReturn] = args.usage_error
        refuse(str(error))
    except BrokenPipeError:
        return 0
    except (ScanInterrupted, TrainingInterrupted) as error:
        logger.error("%s", error)
        return 130
    except KeyboardInterrupt:
        logger.error("interrupted")
        return 130
    except (SeqmtlError, ValueError, OSError, ImportError, MemoryError) as error:
        if args.debug:
            raise
        text = message_of(error)
        is_of_data = isinstance(error, (SeqmtlError, ValueError))
        is_of_data &= not isinstance(error, ClusterError)
        logger.error("%s", with_input(text, args, files) if is_of_data else text)
        return 1


def _carry_out(args: argparse.Namespace) -> int:
    """Do what a command is asked to do, and show the result; return the exit code."""
    command: Command = args.of
    request = command.request_of(args, args.command_line)
    with request.threads_in_use():
        return command.show(request, request.run()) or 0


def _run_old(args: argparse.Namespace) -> int:
    with _threads_of(args):
        return int(args.run(args) or 0)


@contextmanager
def _threads_of(args: argparse.Namespace) -> Iterator[None]:
    """Give a command its threads: at most as many as there are cores."""
    if not hasattr(args, "threads"):
        yield
        return
    from seqmtl._threads import usable_cores, use_threads

    cores = usable_cores()
    if args.threads is not None and args.threads > cores:
        logger.warning("--threads %d: only %d cores may be used; using these", args.threads, cores)
    args.threads = min(args.threads or cores, cores)
    with use_threads(args.threads):
        yield
