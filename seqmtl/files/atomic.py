"""Atomic writing: files and folders appear under their name only when complete.

Until then they are hidden files or folders beside it, whose names differ from run to run. If two
runs write the same output, the last one to end wins, and each file is whole.

A run locks what it has not finished (``flock``), and the lock goes with the process, however it
ends. What is not locked is of a run that was killed, and the next run that writes the same output
removes it.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.catalogue import STARTER

#: How the names of hidden entries of a folder begin that is not complete.
UNFINISHED = ".unfinished"
_SPACE = 1 << 20  # bytes that a disk must take not to be called full


class _File(io.FileIO):
    """An output; an error of writing it names it."""

    def __init__(self, handle: int, mode: str, path: str, closefd: bool = True) -> None:
        super().__init__(handle, mode, closefd)
        self._path = path

    def write(self, data: Any) -> int:
        """Write bytes.

        Raises
        ------
        SeqmtlError
            If the disk is full, or fails.
        BrokenPipeError
            If the reader has closed the pipe.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(self._path, error) from error


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`, and rename it to `path` when the block succeeds.

    Symbolic links are followed. Anything but a regular file, such as ``/dev/null`` or a pipe, is
    written to directly.

    Parameters
    ----------
    path : path-like
        Final path of the file.
    mode : {"w", "wb"}
        Text (UTF-8) or bytes.

    Raises
    ------
    SeqmtlError
        If the folder is not writable or the disk is full; nothing is left behind.
    """
    path = os.fspath(path)
    is_direct = is_special(path) and not os.path.isdir(path)
    with (_opened if is_direct else hidden_file)(path) as (handle, _):
        raw: Any = io.BufferedWriter(_File(handle, "w", path, closefd=False))
        with raw if "b" in mode else io.TextIOWrapper(raw, "utf-8") as stream:
            yield stream


@contextmanager
def hidden_file(path: str) -> Iterator[tuple[int, str]]:
    """Yield the handle and the name of a hidden file beside `path`; see :func:`atomic_write`."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        handle, temporary = _open_hidden(folder, name)
    except OSError as error:
        raise cannot_write(path, error, "choose another output") from error
    try:
        yield handle, temporary
        _publish(handle, temporary, target, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(handle)


def check_space(handle: int, path: str) -> None:
    """Check that an output has space, after a writer that failed without a reason.

    Raises
    ------
    SeqmtlError
        If not.
    """
    try:
        os.pwrite(handle, bytes(_SPACE), os.fstat(handle).st_size)
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def _opened(path: str) -> Iterator[tuple[int, str]]:
    """Yield the handle and the name of a device or a pipe."""
    try:
        handle = os.open(path, os.O_WRONLY)
    except OSError as error:
        raise cannot_write(path, error, "choose another output") from error
    try:
        yield handle, path
    finally:
        os.close(handle)


def _open_hidden(folder: str, name: str) -> tuple[int, str]:
    """Create a hidden file for an output of this name, locked; return its handle and its name."""
    prefix = f".{name}{UNFINISHED}-"
    _remove_unfinished(folder, prefix)
    while True:
        handle, temporary = tempfile.mkstemp(prefix=prefix, dir=folder)
        if _lock(handle):
            return handle, temporary
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a new file or folder; False if another run took it for one of a killed run."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # there are no locks on this disk, so that nobody takes it for such a one
        return True
    return os.fstat(handle).st_nlink > 0


def _remove_unfinished(folder: str, prefix: str) -> None:
    """Remove the hidden files and folders of killed runs whose names have this prefix."""
    names: list[str] = []
    with suppress(OSError):  # it is not there, or may not be listed
        names = [name for name in os.listdir(folder) if name.startswith(prefix)]
    for name in names:
        with suppress(OSError):  # another run writes it, or removes it
            _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    """Remove a hidden file or folder, unless a run has it locked."""
    is_folder = os.path.isdir(path)
    handle = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)
    finally:
        os.close(handle)


def _publish(handle: int, temporary: str, target: str, path: str) -> None:
    """Give a complete file its name."""
    umask = os.umask(0)
    os.umask(umask)
    try:
        os.fsync(handle)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def atomic_gzip(path: str | os.PathLike[str]) -> Iterator[gzip.GzipFile]:
    """Open a gzip file for writing bytes; see :func:`atomic_write`.

    The header has no name or time, so that equal contents give equal files.
    """
    with (
        atomic_write(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as stream,
    ):
        yield stream


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write lines that include their line ends; see :func:`atomic_write`."""
    with atomic_write(path) as stream:
        stream.writelines(lines)


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write a JSON document; see :func:`atomic_write`."""
    with atomic_write(path) as stream:
        json.dump(content, stream, indent=1)
        stream.write("\n")


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], last: str, folders: Collection[str] = (), first: str = ""
) -> Iterator[Path]:
    """Yield a hidden folder inside `path`, and move its files there when the block succeeds.

    Files with the same names are replaced, others stay. If the block fails, nothing
    changes.

    Parameters
    ----------
    path : path-like
        Created if it does not exist.
    last : str
        A file that is removed before the others are moved, and moved after them: if it is
        present, the folder is complete.
    folders : collection of str
        Subfolders to create.
    first : str
        A file that is moved before the others: it marks the folder of a run that was killed.

    Raises
    ------
    SeqmtlError
        If the folder cannot be created or written.
    """
    path = os.fspath(path)
    is_new = not os.path.exists(path)
    try:
        with _scratch_in(path) as scratch:
            for folder in folders:
                os.makedirs(os.path.join(scratch, folder))
            yield Path(scratch)
            names = sorted(
                _files_below(scratch), key=lambda name: (name == last, name != first, name)
            )
            remove_file(os.path.join(path, last))
            for name in names:
                target = os.path.join(path, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.replace(os.path.join(scratch, name), target)
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                os.rmdir(path)


def make_folder(path: str) -> None:
    """Create a folder if it does not exist, and check that files can be written into it.

    Raises
    ------
    SeqmtlError
        If it cannot be created or written.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise SeqmtlError(
            f"cannot create the folder {path}: {error.strerror}; choose another"
        ) from error
    if not os.access(path, os.W_OK):
        raise SeqmtlError(f"cannot write into the folder {path}; choose another")


@contextmanager
def only_run_in(path: str) -> Iterator[None]:
    """Keep other runs out of a folder whose files are made one from the other, in the block.

    Raises
    ------
    SeqmtlError
        If another run is in it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        if not _lock(handle):
            raise SeqmtlError(
                f"cannot write into the folder {path}: another run writes its results there; wait "
                "for its end, or choose another folder"
            )
        yield
    finally:
        os.close(handle)


@contextmanager
def _scratch_in(path: str, name: str = "") -> Iterator[str]:
    """Create a hidden folder inside one; the name tells what it is for."""
    try:
        os.makedirs(path, exist_ok=True)
        handle, scratch = _hidden_folder(path, f"{name}{UNFINISHED}-")
    except OSError as error:
        what = "write into" if os.path.isdir(path) else "create"
        raise SeqmtlError(
            f"cannot {what} the folder {path}: {error.strerror}; choose another"
        ) from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(handle)


def _hidden_folder(path: str, prefix: str) -> tuple[int, str]:
    """Create a hidden folder inside one, locked; return its handle and its name."""
    _remove_unfinished(path, prefix)
    while True:
        scratch = tempfile.mkdtemp(prefix=prefix, dir=path)
        with suppress(FileNotFoundError):
            handle = os.open(scratch, os.O_RDONLY)
            if _lock(handle):
                return handle, scratch
            os.close(handle)


def _files_below(folder: str) -> Iterator[str]:
    for directory, _, names in os.walk(folder):
        yield from (os.path.relpath(os.path.join(directory, name), folder) for name in names)


def temporary_file(beside: str | os.PathLike[str]) -> IO[bytes]:
    """Return a file without a name on the disk of an output; it goes when it is closed."""
    path = os.fspath(beside)
    handle, temporary = _open_hidden(*os.path.split(os.path.realpath(path)))
    os.unlink(temporary)
    return io.BufferedRandom(_File(handle, "r+", path))


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield a temporary folder that is removed after the block."""
    with _scratch_in(tempfile.gettempdir(), ".seqmtl") as folder:
        yield folder


def files_not_of(folder: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the names in a folder, if it exists, of other files, finished or not."""
    if not os.path.isdir(folder):
        return []
    unfinished = re.compile(rf"\.({pattern.pattern}){re.escape(UNFINISHED)}-\w+")
    names = sorted(os.listdir(folder))
    return [name for name in names if not (pattern.fullmatch(name) or unfinished.fullmatch(name))]


def remove_files(folder: str, pattern: re.Pattern[str]) -> None:
    """Remove the files of a folder that match, also unfinished ones, and the folder if empty."""
    if not os.path.isdir(folder):
        return
    for name in set(os.listdir(folder)).difference(files_not_of(folder, pattern)):
        remove_file(os.path.join(folder, name))
    with suppress(OSError):  # it has other files
        os.rmdir(folder)


def remove_file(path: str | os.PathLike[str]) -> None:
    """Remove a file if it exists, and what killed runs have left of it."""
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(FileNotFoundError):
        os.unlink(path)
    _remove_unfinished(folder, f".{name}{UNFINISHED}-")


def is_special(path: str | os.PathLike[str]) -> bool:
    """Return whether a path exists but is not a regular file: a device, a pipe, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that an output can be created, before long work starts.

    Raises
    ------
    SeqmtlError
        If the folder is missing or not writable, or `path` is a folder or the name of a shipped
        model.
    """
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    if path.startswith(STARTER):
        raise SeqmtlError(
            f"cannot write {path}: models of the package have such names; choose another"
        )
    if os.path.isdir(path):
        raise SeqmtlError(f"cannot write {path}: it is a folder; give a file name")
    if not os.path.isdir(folder):
        raise SeqmtlError(f"cannot write {path}: no folder {folder}; create it first")
    if not os.access(folder, os.W_OK):
        raise SeqmtlError(f"cannot write {path}: the folder {folder} is not writable")


def cannot_write(
    path: str, error: OSError, remedy: str = "free some space or choose another output"
) -> SeqmtlError:
    """Return the error for an output that cannot be written, by its final path."""
    path = re.sub(rf"{re.escape(os.sep)}{re.escape(UNFINISHED)}-\w+", "", path)
    return SeqmtlError(f"cannot write {path}: {error.strerror}; {remedy}")
