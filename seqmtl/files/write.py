"""Writing files: a file or a folder appears under its name when it is complete, or not at all.

Until then it is a hidden file or folder beside it, with ``.unfinished-`` in its name. A run that is
killed leaves it there. If two runs write the same output, the last one to end wins.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.catalogue import STARTER
from seqmtl.files.streams import PathLike, source_name

#: Part of the names of files and folders that are not complete.
UNFINISHED = ".unfinished-"
#: Endings of the index of a bgzip file, and of all indexes of a file.
BGZIP_INDEXES = (".tbi", ".csi")
_INDEXES = (".fai", ".gzi", *BGZIP_INDEXES)
#: Other names of standard output. Another file of these names would replace that of the shell.
STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextmanager
def atomic_write(path: PathLike, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a hidden file beside `path`, and rename it to `path` when the block succeeds.

    Symbolic links are followed. Standard output (``-``), devices and pipes are written to directly.

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
    if path == "-":
        yield sys.stdout.buffer if "b" in mode else sys.stdout
        return
    is_direct = is_special(path) and not os.path.isdir(path)
    target = os.path.realpath(path)
    hidden, raw = _open_hidden(path, target, is_direct)
    stream: IO[Any] = io.BufferedWriter(raw)
    try:
        with stream if "b" in mode else io.TextIOWrapper(stream, "utf-8") as file:
            yield file
            file.flush()
            if not is_direct:
                try:
                    os.fsync(raw.fileno())
                    os.replace(hidden, target)
                except OSError as error:
                    raise cannot_write(path, error) from error
    finally:
        if not is_direct:
            with suppress(OSError):  # it has its final name
                os.unlink(hidden)


class _OutputFile(io.FileIO):
    """A file whose errors of writing, such as of a full disk, name its final path."""

    def __init__(self, name: str, mode: str, path: str) -> None:
        self._path = path
        super().__init__(name, mode)

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(self._path, error) from error


def _open_hidden(path: str, target: str, is_direct: bool) -> tuple[str, _OutputFile]:
    """Open a new hidden file for `target`, or a device or pipe itself; return its name, too."""
    hidden = path if is_direct else _hidden_name(*os.path.split(target))
    try:
        return hidden, _OutputFile(hidden, "w" if is_direct else "x", path)
    except OSError as error:
        raise cannot_write(path, error, "choose another output") from error


def _hidden_name(folder: str, name: str = "") -> str:
    """Return a name for what will be `name` in a folder, or the files of a folder."""
    prefix = f".{name}" if name else ""
    return os.path.join(folder, f"{prefix}{UNFINISHED}{secrets.token_hex(4)}")


@contextmanager
def atomic_gzip(path: PathLike) -> Iterator[gzip.GzipFile]:
    """Open a gzip file for writing bytes; see :func:`atomic_write`.

    The header has no name or time, so that equal contents give equal files.
    """
    with (
        atomic_write(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as stream,
    ):
        yield stream


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines that include their line ends; see :func:`atomic_write`."""
    with atomic_write(path) as stream:
        stream.writelines(lines)


def write_json(path: PathLike | None, content: Any) -> None:
    """Write a JSON document, for None nowhere; see :func:`atomic_write`."""
    if path is not None:
        with atomic_write(path) as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")


@contextmanager
def atomic_folder(
    path: PathLike, last: str, folders: Collection[str] = (), first: str = ""
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
    folder = Path(path)
    is_new = not folder.exists()
    make_folder(folder)
    hidden = Path(_hidden_name(os.fspath(folder)))
    make_folder(hidden)
    try:
        for name in folders:
            make_folder(hidden / name)
        yield hidden
        names = [os.fspath(p.relative_to(hidden)) for p in hidden.rglob("*") if p.is_file()]
        (folder / last).unlink(missing_ok=True)
        for name in sorted(names, key=lambda name: (name == last, name != first, name)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(hidden / name, folder / name)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def make_folder(path: PathLike) -> None:
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


def check_outputs(
    inputs: Iterable[str | None], outputs: Iterable[str | None], *, replaced: str | None = None
) -> None:
    """Check outputs before long work starts.

    Each must be a file that can be written, no other output, and no input, links included. The
    indexes of an input are inputs, too, and those of a compressed output are outputs.

    Parameters
    ----------
    inputs : iterable of str or None
        Files that the command reads; ``-`` is standard input. A folder stands for the files in it.
        What is no file, such as the name of a shipped model or tree, is ignored.
    outputs : iterable of str or None
        Files that the command writes; ``-`` is standard output.
    replaced : str, optional
        Another input, which the first output may replace.

    Raises
    ------
    SeqmtlError
        If an output cannot be used.
    """
    inputs, outputs = [*inputs], [*outputs]
    if replaced and not (outputs and outputs[0] and _file_id(outputs[0]) == _file_id(replaced)):
        inputs.append(replaced)
    files = [path for path in outputs if path and path != "-"]
    files += [f"{path}{end}" for path in files if path.endswith(".gz") for end in BGZIP_INDEXES]
    for path in files:
        _check_writable(path)
    input_of = {_file_id(path): path for path in _files_of(inputs)}
    seen = set()
    for path in files:
        if is_special(path):  # /dev/null takes all
            continue
        if _file_id(path) in seen:
            raise SeqmtlError(
                f"{path} is named as two outputs, or is the index of one; give each a file of "
                "its own"
            )
        seen.add(_file_id(path))
        stem, ending = os.path.splitext(path)
        for name in (path, stem) if ending in _INDEXES else (path,):
            if _file_id(name) in input_of:
                raise SeqmtlError(
                    f"{path} would overwrite the input {source_name(input_of[_file_id(name)])}; "
                    "choose another output"
                )


def _files_of(inputs: Iterable[str | None]) -> Iterator[str]:
    """Yield the files among the inputs, those in the folders among them, and their indexes."""
    for path in filter(None, inputs):
        if path == "-":
            yield path
        names = os.listdir(path) if os.path.isdir(path) else [""]
        for file in (os.path.join(path, name) if name else path for name in names):
            yield from filter(os.path.isfile, (f"{file}{end}" for end in ("", *_INDEXES)))


def _file_id(path: str) -> tuple[int, int] | str:
    """Return what all names of a file share; that of a missing file is its path."""
    try:
        status = os.stat("/dev/stdin" if path == "-" else path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _check_writable(path: str) -> None:
    folder = os.path.dirname(path) or "."
    fault = ""
    if path.startswith(STARTER):
        fault = "models of the package have such names; choose another"
    elif os.path.isdir(path):
        fault = "it is a folder; give a file name"
    elif is_special(path):
        fault = "" if os.access(path, os.W_OK) else "it is not writable"
    elif _is_too_long(path):
        fault = "its name is too long, with what is added until the file is complete"
    elif not os.path.isdir(folder):
        fault = f"no folder {folder}; create it first"
    elif not os.access(folder, os.W_OK):
        fault = f"the folder {folder} is not writable"
    if fault:
        raise SeqmtlError(f"cannot write {path}: {fault}")


def _is_too_long(path: str) -> bool:
    """Return whether the disk takes no file of this name, or of its hidden one."""
    folder, name = os.path.split(path)
    try:
        os.lstat(os.path.join(folder, f".{name}{UNFINISHED}{'0' * 8}"))
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def is_special(path: PathLike) -> bool:
    """Return whether a path exists but is not a regular file: a device, a pipe, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def cannot_write(
    path: str, error: OSError, remedy: str = "free some space or choose another output"
) -> SeqmtlError:
    """Return the error for an output that cannot be written, by its final path."""
    path = re.sub(rf"{re.escape(os.sep)}{re.escape(UNFINISHED)}\w+", "", path)
    return SeqmtlError(f"cannot write {path}: {error.strerror}; {remedy}")
