"""Output shared by several commands: metrics, summaries, version numbers."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any

from seqmtl._version import __version__
from seqmtl.cli._console import show
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.files.inputs import FilesOfACommand

#: Exit code if training stopped before reaching its tolerance.
NOT_CONVERGED = 3
_CLAIMS: ContextVar[ExitStack] = ContextVar("claims")


def check_outputs(*paths: str | None) -> None:
    """Check outputs before long work starts, and claim them until the command ends.

    They must be writable, different from each other, and not be written by another run. An input
    is refused here if it has been read, and else when it is opened. ``-`` is standard output.

    Parameters
    ----------
    *paths : str or None
        Outputs.

    Raises
    ------
    SeqmtlError
        If an output cannot be used.
    """
    from seqmtl.files.atomic import check_writable, is_special, remove_unfinished
    from seqmtl.files.claims import claimed
    from seqmtl.files.inputs import is_same_file, note_output

    outputs = [path for path in paths if path and path != "-"]
    for path in outputs:
        check_writable(path)
    outputs = [path for path in outputs if not is_special(path)]  # /dev/null takes everything
    for first, second in itertools.combinations(outputs, 2):
        if is_same_file(first, second):
            raise SeqmtlError(f"{second} is named as two outputs; give each a file of its own")
    for path in outputs:
        note_output(path)
        _CLAIMS.get().enter_context(claimed(path))
        remove_unfinished(path)


@contextmanager
def claims_of_a_command() -> Iterator[FilesOfACommand]:
    """Note what a command reads; release, at the end, what :func:`check_outputs` has claimed."""
    from seqmtl.files.inputs import FilesOfACommand, noting

    files = FilesOfACommand()
    with noting(files), ExitStack() as stack:
        token = _CLAIMS.set(stack)
        try:
            yield files
        finally:
            _CLAIMS.reset(token)


def replacing(output: str, path: str) -> AbstractContextManager[None]:
    """Allow an output to replace a file that is read whole in the block, if they are the same."""
    from seqmtl.files.inputs import is_same_file, noting

    return noting(None) if is_same_file(output, path) else nullcontext()


def with_input(text: str, args: argparse.Namespace, files: FilesOfACommand) -> str:
    """Put the name of DATA before an error message that names no file of the command."""
    data = getattr(args, "data", None)
    if not data or not os.path.exists(data):
        return text
    paths = [data, *files.inputs.values(), *files.outputs.values()]
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    return text if any(name in text for name in names) else f"{data}: {text}"


def open_output(path: str) -> AbstractContextManager[IO[Any]]:
    """Open a file that appears only when complete, or standard output."""
    from seqmtl.files.atomic import atomic_write

    return nullcontext(sys.stdout) if path == "-" else atomic_write(path)


def software_versions() -> dict[str, str]:
    """Return the versions of the package, Python and the main dependencies."""
    import platform
    from importlib.metadata import version

    packages = ("numpy", "scipy", "numba", "scikit-learn", "biopython")
    return {
        "seqmtl": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def write_json(path: str, content: Any) -> None:
    """Write a JSON document to a file, or to standard output."""
    from seqmtl.files import atomic

    if path == "-":
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    else:
        atomic.write_json(path, content)


def write_summary(path: str, training: dict[str, Any]) -> None:
    """Write a training summary as JSON."""
    write_json(path, {"schema_version": 1, **training})


def write_metrics(metrics: dict[str, Any], text: str, path: str | None) -> None:
    """Write metrics as a table to standard output and as JSON to `path`; ``-``: JSON only."""
    if path:
        write_json(path, metrics)
    if path != "-":
        show(text)
