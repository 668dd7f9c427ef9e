"""The outputs of a run: checked before long work starts, and claimed until it ends."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files import atomic
from seqmtl.files.atomic import claimed
from seqmtl.files.inputs import FilesOfACommand, is_same_file, note_output, noting

_CLAIMS: ContextVar[ExitStack] = ContextVar("claims")


@contextmanager
def files_of_a_run() -> Iterator[FilesOfACommand]:
    """Note what a run reads; release, at the end, what :func:`check_outputs` has claimed."""
    files = FilesOfACommand()
    with noting(files), ExitStack() as stack:
        token = _CLAIMS.set(stack)
        try:
            yield files
        finally:
            _CLAIMS.reset(token)


def check_outputs(*paths: str | None) -> None:
    """Check outputs before long work starts, and claim them until the run ends.

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
    outputs = [path for path in paths if path and path != "-"]
    for path in outputs:
        atomic.check_writable(path)
    outputs = [path for path in outputs if not atomic.is_special(path)]  # /dev/null takes all
    for first, second in itertools.combinations(outputs, 2):
        if is_same_file(first, second):
            raise SeqmtlError(f"{second} is named as two outputs; give each a file of its own")
    for path in outputs:
        note_output(path)
        _CLAIMS.get().enter_context(claimed(path))
        atomic.remove_unfinished(path)


def replacing(output: str, path: str) -> AbstractContextManager[None]:
    """Allow an output to replace a file that is read whole in the block, if they are the same."""
    return noting(None) if is_same_file(output, path) else nullcontext()


def open_output(path: str) -> AbstractContextManager[IO[Any]]:
    """Open a file that appears only when complete, or standard output."""
    return nullcontext(sys.stdout) if path == "-" else atomic.atomic_write(path)


def binary_output(path: str | None) -> Any:
    """Return the stream of standard output for ``-``, and a path as it is."""
    return sys.stdout.buffer if path == "-" else path


def write_json(path: str | None, content: dict[str, Any]) -> None:
    """Write a JSON document to a file, to standard output, or, for None, nowhere."""
    if path == "-":
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    elif path:
        atomic.write_json(path, content)
