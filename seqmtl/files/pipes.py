"""Pipes such as ``<(zcat x.gz)`` of a shell, which can be read only once."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from seqmtl.exceptions import InputFormatError

PathLike = str | os.PathLike[str]

_PEEK_BYTES = 1 << 16


def is_pipe(path: PathLike) -> bool:
    """Return whether a path is a pipe, such as ``<(zcat x.gz)`` of a shell."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def is_read_once(path: PathLike) -> bool:
    """Return whether a path is standard input (``-``) or a pipe."""
    return os.fspath(path) == "-" or is_pipe(path)


@contextmanager
def pipes_read_once() -> Iterator[None]:
    """Refuse to read a pipe again in the block, and let it look at the beginning of one."""
    global _streams
    if _streams is not None:  # in a command that runs this one
        yield
        return
    _streams = {}
    try:
        yield
    finally:
        for stream in filter(None, _streams.values()):
            stream.close()
        _streams = None


def open_pipe(path: PathLike) -> IO[bytes]:
    """Open a pipe, in a block of :func:`pipes_read_once` only once."""
    if _streams is None:
        return open(path, "rb")
    number, stream = _stream(path, _streams)
    _streams[number] = None
    return stream


def peek_pipe(path: PathLike) -> bytes:
    """Return the first bytes of a pipe, which can still be read from its beginning.

    Raises
    ------
    InputFormatError
        If it was read before, or outside of :func:`pipes_read_once`.
    """
    if _streams is None:
        raise _cannot_reread(path)
    return _stream(path, _streams)[1].peek(_PEEK_BYTES)


def _stream(
    path: PathLike, streams: dict[tuple[int, int], io.BufferedReader | None]
) -> tuple[tuple[int, int], io.BufferedReader]:
    """Return the numbers and the stream of a pipe that was not read yet."""
    status = os.stat(path)
    number = status.st_dev, status.st_ino
    if number not in streams:
        streams[number] = io.BufferedReader(io.FileIO(path), _PEEK_BYTES)
    stream = streams[number]
    if stream is None:
        raise _cannot_reread(path)
    return number, stream


def _cannot_reread(path: PathLike) -> InputFormatError:
    return InputFormatError(
        "a pipe can be read only once, but this reads it twice; write it into a file, and give "
        "that",
        path=os.fspath(path),
    )


#: Pipes of the command that runs, by their numbers; None if they were read.
_streams: dict[tuple[int, int], io.BufferedReader | None] | None = None
