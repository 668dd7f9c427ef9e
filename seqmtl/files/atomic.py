"""Atomic writing: files and folders appear under their name only when complete.

Until then they are hidden files or folders beside it, whose names differ from run to run. If two
runs write the same output, the last one to end wins, and each file is whole.
"""

from __future__ import annotations

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


class _File(io.FileIO):
    """An output; an error of writing it names it."""

    def __init__(self, handle: int, mode: str, path: str) -> None:
        super().__init__(handle, mode)
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
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        if is_direct:
            handle = os.open(path, os.O_WRONLY)
        else:
            handle, temporary = tempfile.mkstemp(prefix=f".{name}{UNFINISHED}-", dir=folder)
    except OSError as error:
        raise cannot_write(path, error, "choose another output") from error
    raw: Any = io.BufferedWriter(_File(handle, "w", path))
    stream = raw if "b" in mode else io.TextIOWrapper(raw, "utf-8")
    if is_direct:
        with stream:
            yield stream
        return
    try:
        with stream:
            yield stream
            stream.flush()
            _publish(handle, temporary, target, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


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
    path: str | os.PathLike[str], last: str, folders: Collection[str] = ()
) -> Iterator[Path]:
    """Yield a hidden folder inside `path`, and move its files into place when the block succeeds.

    Files with the same names are replaced, others are kept. If the block fails, nothing
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
            names = sorted(_files_below(scratch), key=lambda name: (name == last, name))
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
def _scratch_in(path: str) -> Iterator[str]:
    """Create a hidden folder inside one."""
    try:
        os.makedirs(path, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=f"{UNFINISHED}-", dir=path)
    except OSError as error:
        what = "write into" if os.path.isdir(path) else "create"
        raise SeqmtlError(
            f"cannot {what} the folder {path}: {error.strerror}; choose another"
        ) from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _files_below(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (os.path.relpath(os.path.join(place, name), folder) for name in names)


def temporary_file(beside: str | os.PathLike[str]) -> IO[bytes]:
    """Return a file without a name on the disk of an output; it goes when it is closed."""
    path = os.fspath(beside)
    folder = os.path.dirname(os.path.realpath(path))
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        return io.BufferedRandom(_File(os.dup(file.fileno()), "r+", path))


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder that is removed with the object or by its ``cleanup``."""
    return tempfile.TemporaryDirectory(prefix="seqmtl-")


def files_not_of(folder: str, own: re.Pattern[str]) -> list[str]:
    """Return the names in a folder, if it exists, of other files, finished or not."""
    if not os.path.isdir(folder):
        return []
    unfinished = re.compile(rf"\.({own.pattern}){re.escape(UNFINISHED)}-\w+")
    names = sorted(os.listdir(folder))
    return [name for name in names if not (own.fullmatch(name) or unfinished.fullmatch(name))]


def remove_files(folder: str, own: re.Pattern[str]) -> None:
    """Remove the files of a folder that match, also unfinished ones, and the folder if empty."""
    if not os.path.isdir(folder):
        return
    for name in set(os.listdir(folder)).difference(files_not_of(folder, own)):
        remove_file(os.path.join(folder, name))
    with suppress(OSError):  # it has other files
        os.rmdir(folder)


def remove_file(path: str | os.PathLike[str]) -> None:
    """Remove a file if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path exists but is not a regular file: a device, a pipe, a folder."""
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
    """Return the error for an output that cannot be written."""
    return SeqmtlError(f"cannot write {path}: {error.strerror}; {remedy}")
