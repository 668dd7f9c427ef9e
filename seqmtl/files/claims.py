"""Claims on outputs, so that two runs never write the same one at a time."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from seqmtl.exceptions import OutputInUseError


@contextmanager
def claimed(path: str | os.PathLike[str], lock: str | None = None) -> Iterator[bool]:
    """Hold the lock of an output, file or folder, within the block; yield whether it is held.

    The system releases the lock of a process that dies; the empty file it leaves does no harm. On
    a file system without locks, nothing is held.

    Parameters
    ----------
    path : path-like
        The output.
    lock : str, optional
        The lock file. Default: ``PATH.partial.lock``, symbolic links followed.

    Raises
    ------
    OutputInUseError
        If another run holds the lock.
    """
    name = lock or f"{os.path.realpath(path)}.partial.lock"
    handle, is_held = _open_locked(name, os.fspath(path))
    try:
        yield is_held
    finally:
        if _is_at(name, handle):
            os.unlink(name)
        os.close(handle)


def lock_open(path: str, handle: int) -> bool:
    """Lock a file that is open; return False if another process has locked or removed it.

    The lock tells :func:`remove_abandoned` that somebody is still at work on the file.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system
        return True
    return _is_at(path, handle)


def remove_abandoned(folder: str, names: re.Pattern[str]) -> None:
    """Remove files of a folder that :func:`lock_open` has locked in processes that died."""
    for name in os.listdir(folder):
        if not names.fullmatch(name):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError), open(path, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def _open_locked(name: str, path: str) -> tuple[int, bool]:
    """Open and lock a file that still has this name once it is locked; tell whether it is."""
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise OutputInUseError(
                f"{path} is being written by another run; wait for it, or choose another output"
            ) from error
        except OSError:  # no locks on this file system
            return handle, False
        if _is_at(name, handle):
            return handle, True
        os.close(handle)  # the run that held the lock has removed the file


def _is_at(name: str, handle: int) -> bool:
    """Tell whether an open file is the one of this name."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(handle))
    except FileNotFoundError:
        return False
