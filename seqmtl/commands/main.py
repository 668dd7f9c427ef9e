"""The command line: run a command, and turn errors into messages and exit codes.

Exit codes: 0 success, 1 bad data or an unreadable or unwritable file, 2 usage error, 3 training
stopped before reaching the tolerance (the model is still written), 130 interrupted, 141 the
reader of standard output closed the pipe before all was written, as other programs end by SIGPIPE.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from seqmtl._messages import forget_logged, message_of
from seqmtl.commands._console import (
    open_streams,
    printable,
    setup_logging,
    show,
    warnings_as_messages,
    writing_to_the_end,
)
from seqmtl.commands._help import described, in_columns
from seqmtl.commands._parser import Parser, check_flags, did_you_mean, usage_message
from seqmtl.commands._request import Request, name_of
from seqmtl.exceptions import SeqmtlError, TrainingInterrupted, UsageError

logger = logging.getLogger("seqmtl")

_NOT_CONVERGED = 3
_CLOSED_PIPE = 128 + 13  # SIGPIPE, as in a shell

#: Commands by what they are for, in the order in which a newcomer needs them.
GROUPS = {
    "a genome, with pre-trained models": "annotate scan introns",
    "models trained on annotated genomes": "dataset train calibrate evaluate pair adapt",
    "with any model": "predict variants explain info report",
    "organisms and methods": "similarity compare",
    "simulated genomes": "demo simulate",
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


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    return " ".join(GROUPS.values()).split()


def command_named(name: str) -> type[Request]:
    """Return the request of a command."""
    command: type[Request] = getattr(import_module(f"seqmtl.commands.{name}"), name.capitalize())
    return command


def help_text() -> str:
    """Return the help of the program: its commands in groups."""
    lines = ["usage: seqmtl [-h] [--version] COMMAND ...", "", _DESCRIPTION]
    for title, names in GROUPS.items():
        rows = ((name, described(command_named(name))[0]) for name in names.split())
        lines += ["", f"{title}:", *in_columns(rows)]
    return "\n".join([*lines, "", _EXAMPLES, ""])


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
    # The compiled loops do the work; idle BLAS threads would only burn CPU time. This must be set
    # before numpy is imported. A user's own setting wins.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pictures are files; the backend of a notebook from which this runs may not be installed here.
    os.environ["MPLBACKEND"] = "agg"
    try:
        return _main([*(sys.argv[1:] if argv is None else argv)])
    except BrokenPipeError:
        return _CLOSED_PIPE
    except OSError as error:  # of showing the help
        return _refuse("seqmtl", message_of(error), 1)


def _main(arguments: list[str]) -> int:
    """Run the command of the arguments, or show a help."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if not arguments:
        sys.stderr.write(help_text())
        return 2
    name = arguments[0]
    if name in ("-h", "--help"):
        show(help_text())
        return 0
    if name == "--version":
        from seqmtl._version import __version__  # takes longer than the help

        show(f"seqmtl {__version__}\n")
        return 0
    try:
        check_flags([name], ("--help", "--version"))
        if name not in command_names():
            meant = did_you_mean(name, command_names())
            raise UsageError(f"there is no command {name!r}{meant or '; seqmtl lists them'}")
    except UsageError as error:
        return _refuse("seqmtl", str(error), 2)
    return _run(command_named(name), arguments[1:])


def _refuse(program: str, message: str, code: int) -> int:
    """Write why nothing was done; return the exit code."""
    sys.stderr.write(printable(f"{program}: error: {message}\n"))
    return code


def _run(command: type[Request], arguments: list[str]) -> int:
    """Run a command; turn errors into messages."""
    name = name_of(command)
    program, hint = f"seqmtl {name}", f" (seqmtl help {name})"
    parser = Parser(command)
    try:
        values, common = parser.values(arguments)
    except UsageError as error:
        return _refuse(program, f"{error}{hint}", 2)
    setup_logging(quiet=common.quiet)
    forget_logged()
    from seqmtl._threads import usable_cores, use_threads  # takes longer than the help

    cores = usable_cores()
    if common.threads is not None and common.threads > cores:
        warning = "--threads %d: only %d cores may be used; using these"
        logger.warning(warning, common.threads, cores)
    try:
        with warnings_as_messages(), use_threads(min(common.threads or cores, cores)):
            request = command(**values, command_line=shlex.join([*program.split(), *arguments]))
            result = request()
            if getattr(request, "json", None) != "-":
                show(request.show(result))
            sys.stdout.flush()  # a full disk shows here, not when Python exits
            return 0 if request.has_converged(result) else _NOT_CONVERGED
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, TrainingInterrupted) as error:
        logger.error("%s", str(error) or "interrupted")
        return 130
    except (SeqmtlError, ValueError, OSError, ImportError, MemoryError) as error:
        message = usage_message(error, parser.options, values, arguments)
        if message:
            return _refuse(program, f"{message}{hint}", 2)
        if common.debug:
            raise
        logger.error("%s", message_of(error))
        return 1


def run() -> None:
    """Run as a program."""
    open_streams()
    # batch systems end jobs by SIGTERM: unfinished files are removed, as after Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with writing_to_the_end():
        code = main()
    sys.exit(code)
