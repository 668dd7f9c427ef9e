"""Files appear under their name only when they are whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`, and rename it to `path` when the block succeeds.

    A symbolic link is followed. What is not a regular file, such as ``/dev/null`` or a pipe, is
    written to directly.

    Parameters
    ----------
    path : path-like
        Where the finished file is to stand.
    mode : {"w", "wb"}
        Text (UTF-8) or bytes.

    Raises
    ------
    SeqmtlError
        If the folder cannot be written or the disk is full; nothing is left behind.
    """
    path = os.fspath(path)
    encoding = None if "b" in mode else "utf-8"
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, mode, encoding=encoding) as stream:
            yield stream
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    except OSError as error:
        raise _cannot_write(path, error, "choose another output") from error
    try:
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            raise _cannot_write(path, error, "free some space or choose another output") from error
        raise


def _cannot_write(path: str, error: OSError, remedy: str) -> SeqmtlError:
    return SeqmtlError(f"cannot write {path}: {error.strerror}; {remedy}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse an output that cannot be created, before long work starts.

    Raises
    ------
    SeqmtlError
        If the folder is absent or not writable, or `path` is a folder.
    """
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise SeqmtlError(f"cannot write {path}: it is a folder; give a file name")
    if not os.path.isdir(folder):
        raise SeqmtlError(f"cannot write {path}: no folder {folder}; create it first")
    if not os.access(folder, os.W_OK):
        raise SeqmtlError(f"cannot write {path}: the folder {folder} is not writable")
