"""Writing files: a file or a folder appears under its name when it is complete, or not at all.

Until then it is a hidden file or folder beside it, with ``.unfinished-`` in its name. A run that is
killed leaves it there. If two runs write the same output, the last one to end wins.
"""

from __future__ import annotations

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
    with output_folder(folder):
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


@contextmanager
def output_folder(path: PathLike) -> Iterator[None]:
    """Create a folder for the block, if there is none, and remove it if it stays empty.

    Raises
    ------
    SeqmtlError
        See :func:`make_folder`.
    """
    is_new = not os.path.exists(path)
    make_folder(path)
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                os.rmdir(path)


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

    Each must be a file that can be written, no other output, and no input, links included.

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
    place = os.path.realpath
    if replaced and not (outputs[0] and place(outputs[0]) == place(replaced)):
        inputs.append(replaced)
    input_of = {place("/dev/stdin" if path == "-" else path): path for path in inputs if path}
    written = set()
    for path in filter(None, outputs):
        if path == "-":
            continue
        _check_writable(path)
        if is_special(path):  # /dev/null takes all
            continue
        target = place(path)
        if target in written:
            raise SeqmtlError(f"{path} is named as two outputs; give each a file of its own")
        written.add(target)
        taken = {target, os.path.dirname(target)} & input_of.keys()
        if taken and os.path.exists(target):
            name = source_name(input_of[taken.pop()])
            raise SeqmtlError(f"{path} would overwrite the input {name}; choose another output")


def _check_writable(path: str) -> None:
    folder = os.path.dirname(path) or "."
    fault = ""
    if path.startswith(STARTER):
        fault = "models of the package have such names; choose another"
    elif os.path.isdir(path):
        fault = "it is a folder; give a file name"
    elif is_special(path):
        fault = "" if os.access(path, os.W_OK) else "it is not writable"
    elif not os.path.isdir(folder):
        fault = f"no folder {folder}; create it first"
    elif not os.access(folder, os.W_OK):
        fault = f"the folder {folder} is not writable"
    if fault:
        raise SeqmtlError(f"cannot write {path}: {fault}")


def is_special(path: PathLike) -> bool:
    """Return whether a path exists but is not a regular file: a device, a pipe, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def cannot_write(
    path: str, error: OSError, remedy: str = "free some space or choose another output"
) -> SeqmtlError:
    """Return the error for an output that cannot be written, by its final path."""
    path = re.sub(rf"{re.escape(os.sep)}{re.escape(UNFINISHED)}\w+", "", path)
    return SeqmtlError(f"cannot write {path}: {error.strerror}; {remedy}")
