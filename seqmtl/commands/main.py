"""The command line: run a command, and turn errors into messages and exit codes.

Exit codes: 0 success, 1 bad data or an unreadable or unwritable file, 2 usage error, 3 training hit
its epoch limit before reaching the tolerance (the model is still written), 130 interrupted, 141 the
reader of standard output closed the pipe before all was written, as other programs end by SIGPIPE.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from seqmtl._messages import forget_logged, message_of
from seqmtl._surroundings import unchanged_environment
from seqmtl.commands._command import Command
from seqmtl.commands._console import (
    open_streams,
    setup_logging,
    show,
    warnings_as_messages,
    writing_to_the_end,
)
from seqmtl.commands._parser import Parser
from seqmtl.exceptions import (
    ClusterError,
    InputFormatError,
    SeqmtlError,
    TrainingInterrupted,
    UnknownTaskError,
    UsageError,
)

logger = logging.getLogger("seqmtl")

_CLOSED_PIPE = 128 + 13  # SIGPIPE, as a shell tells it

#: Commands by what they are for, in the order in which a newcomer needs them.
GROUPS = {
    "a genome, with models that are shipped": "annotate scan",
    "models of your own, from annotated genomes": "dataset train calibrate evaluate pair adapt",
    "with any model": "predict variants explain info report",
    "organisms and methods": "similarity compare",
    "to begin with": "demo simulate",
}

_DESCRIPTION = """\
Find splice sites and other genomic signals, jointly for many organisms: each organism is a task of
one multi-task SVM on k-mers around the site, guided by a tree or another measure of relatedness."""

_EXAMPLES = """\
  seqmtl help COMMAND        its options, with examples

examples:
  seqmtl annotate genome.fa --like drosophila -o results    # introns of a genome without labels
  seqmtl scan starter:donor genome.fa.gz --like Drosophila --top 500 -o donors.bed
  seqmtl dataset splice.toml -o donors && seqmtl train donors --tree tree.nwk -o donor.seqmtl
  seqmtl demo -o demo                      # all steps on simulated genomes; demo/report.html

exit codes: 0 success, 1 bad data, 2 usage error, 3 not converged, 130 interrupted"""


class _Version(argparse.Action):
    """Print the version; it is looked up only here, because this takes longer than the help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from seqmtl._version import __version__

        show(f"seqmtl {__version__}\n")
        parser.exit()


def build_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of all commands, or of the one that the arguments begin with."""
    parser = Parser(
        prog="seqmtl",
        usage="seqmtl [-h] [--version] COMMAND ...",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    subparsers = parser.add_subparsers(
        prog="seqmtl", dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS
    )
    groups = {title: names.split() for title, names in GROUPS.items()}
    asked = [
        name
        for names in groups.values()
        for name in names
        if name.replace("_", "-") in arguments[:1]
    ]
    for title, names in groups.items():
        group = parser.add_argument_group(title)
        for name in names:
            if name in (asked or names):
                import_module(f"seqmtl.commands.{name}").COMMAND.add_to(subparsers)
                group._group_actions.append(subparsers._choices_actions[-1])
    return parser


def parsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands by name."""
    choices = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(next(choices))


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
    with unchanged_environment():
        # The compiled loops do the work; idle BLAS threads would only burn CPU time. This must be
        # set before numpy is imported. A user's own setting wins.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            return _main([*(sys.argv[1:] if argv is None else argv)])
        except BrokenPipeError:
            return _CLOSED_PIPE


def _main(arguments: list[str]) -> int:
    """Run the command of the arguments."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    parser = build_parser(arguments)
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    odd = [argument for argument in arguments if re.search("[\ud800-\udfff]", argument)]
    if odd:
        parser.error(f"{odd[0]!a} is not UTF-8, as models and summaries are; rename the file")
    try:
        args = parser.parse_args(arguments)
    except BrokenPipeError:
        raise
    except OSError as error:  # of showing the help
        parser.exit(1, f"seqmtl: error: {message_of(error)}\n")
    setup_logging(args)
    forget_logged()
    return _run(args, shlex.join(["seqmtl", *arguments]))


def _run(args: argparse.Namespace, command_line: str) -> int:
    """Run the command; turn errors into messages."""
    command: Command = args.of
    try:
        with warnings_as_messages():
            request = command.request_of(args, command_line)
            code = command.finish(request, request())
            sys.stdout.flush()  # a full disk shows here, not when Python exits
            return code
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, TrainingInterrupted) as error:
        logger.error("%s", str(error) or "interrupted")
        return 130
    except (SeqmtlError, ValueError, OSError, ImportError, MemoryError) as error:
        message = _of_an_option(error, args)
        if message:
            args.usage_error(message)
        if args.debug:
            raise
        logger.error("%s", _with_data(error, args))
        return 1


def _of_an_option(error: Exception, args: argparse.Namespace) -> str | None:
    """Return the message if an option has a wrong value, None if it is about data."""
    if isinstance(error, InputFormatError):
        return _of_a_choice(error, args)
    text = str(error)
    for action in args.usage_error.__self__._actions:
        value = getattr(args, action.dest, None)
        if value is None:
            continue
        rule = text.removeprefix(f"{action.dest} ")
        if rule.startswith("must ") and rule != text:
            return str(argparse.ArgumentError(action, rule))
        if text.startswith(tuple(f"{flag}{end}" for flag in action.option_strings for end in " :")):
            return text
        values = value if isinstance(value, (list, tuple)) else [value]
        parts = {part for each in values for part in str(each).split(",")}
        if isinstance(error, UnknownTaskError) and any(repr(part) in text for part in parts):
            return str(argparse.ArgumentError(action, text))
    return text if isinstance(error, UsageError) else None


def _of_a_choice(error: InputFormatError, args: argparse.Namespace) -> str | None:
    """Return the message for a value that is not among those in a file; None for other errors."""
    for action in args.usage_error.__self__._actions:
        rule = error.message.removeprefix(f"{action.dest} ")
        asked = f"got {getattr(args, action.dest, None)!r}"
        if rule != error.message and rule.startswith("must be one of ") and asked in rule:
            return f"{error.path}: {argparse.ArgumentError(action, rule)}"
    return None


def _with_data(error: Exception, args: argparse.Namespace) -> str:
    """Return the message of an error, after the name of DATA if it names no file."""
    text, data = message_of(error), getattr(args, "data", None)
    is_of_data = isinstance(error, (SeqmtlError, ValueError)) and not isinstance(
        error, ClusterError
    )
    if not is_of_data or getattr(error, "path", None) or not data or not os.path.exists(data):
        return text
    given = [value for value in vars(args).values() if isinstance(value, str)]
    outputs = [getattr(args, name, None) for name in ("output", "json", "plot")]
    paths = [path for path in given if os.path.exists(path) or path in outputs]
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    return text if any(name in text for name in names) else f"{data}: {text}"


def run() -> None:
    """Run as a program."""
    open_streams()
    with writing_to_the_end():
        code = main()
    sys.exit(code)
