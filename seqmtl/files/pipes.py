"""Pipes such as ``<(zcat x.gz)`` of a shell, which a command may read several times."""

from __future__ import annotations

import io
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from seqmtl.exceptions import InputFormatError

PathLike = str | os.PathLike[str]

#: Bytes of a pipe to hold in memory, so that a command can read them again.
MAX_PIPE_BYTES = 1 << 28
_READ_BYTES = 1 << 16


def is_pipe(path: PathLike) -> bool:
    """Return whether a path is a pipe, such as ``<(zcat x.gz)`` of a shell."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


@contextmanager
def buffered_pipes() -> Iterator[None]:
    """Buffer up to `MAX_PIPE_BYTES` read from each pipe in the block, so that it can be reread."""
    global _n_commands
    with _lock:
        _n_commands += 1
    try:
        yield
    finally:
        with _lock:
            _n_commands -= 1
            if not _n_commands:  # none that runs this one, or runs in another thread
                for pipe in _pipes.values():
                    pipe.close()
                _pipes.clear()


def check_reread(path: PathLike) -> None:
    """Check that what is read of a file now can be read again.

    Raises
    ------
    InputFormatError
        If it is a pipe, outside of :func:`buffered_pipes`.
    """
    if not _n_commands and is_pipe(path):
        raise InputFormatError(
            "a pipe can be read only once; write it into a file, and give that",
            path=os.fspath(path),
        )


def open_pipe(path: PathLike) -> IO[bytes]:
    """Open a pipe, in a block of :func:`buffered_pipes` from its beginning."""
    if not _n_commands:
        return open(path, "rb")
    status = os.stat(path)
    with _lock:
        pipe = _pipes.setdefault((status.st_dev, status.st_ino), _Pipe(os.fspath(path)))
    return io.BufferedReader(_PipeReader(pipe), _READ_BYTES)


class _Pipe:
    """The content of a pipe, read as far as needed, and buffered unless it is large."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None
        self._content: bytearray | None = bytearray()
        self._n_read = 0
        self._is_read = False
        self._lock = threading.Lock()

    def read(self, first: int, size: int) -> bytes:
        """Return bytes from a position on, at least one before the end."""
        with self._lock:
            if self._stream is None:
                self._stream = open(self._path, "rb", buffering=0)
            if first == self._n_read:
                if self._is_read:  # a named pipe may go on for the next program
                    return b""
                data = self._stream.read(size)
                self._is_read = not data
                self._n_read += len(data)
                if self._content is not None:
                    self._content += data
                    if self._n_read > MAX_PIPE_BYTES:
                        self._content = None
                return data
            if self._content is None:
                raise InputFormatError(
                    f"a pipe of more than {MAX_PIPE_BYTES:,} bytes can be read only once, but this "
                    "command reads it again; write it into a file, and give that",
                    path=self._path,
                )
            return bytes(self._content[first : first + size])

    def close(self) -> None:
        """Close it; who writes to it may then end."""
        if self._stream is not None:
            self._stream.close()


class _PipeReader(io.RawIOBase):
    """Reads a pipe from its beginning."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._pipe.read(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


_lock = threading.Lock()
_n_commands = 0
_pipes: dict[tuple[int, int], _Pipe] = {}  # by their numbers, of the commands that run
