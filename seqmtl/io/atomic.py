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
    folder = os.path.dirname(path) or "."
    encoding = None if "b" in mode else "utf-8"
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    except OSError as error:
        raise SeqmtlError(f"cannot write {path}: {error.strerror}; choose another output") from error
    try:
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            message = f"cannot write {path}: {error.strerror}; free some space or choose another output"
            raise SeqmtlError(message) from error
        raise


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
        raise SeqmtlError(f"cannot write {path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise SeqmtlError(f"cannot write {path}: the folder {folder} is not writable")
