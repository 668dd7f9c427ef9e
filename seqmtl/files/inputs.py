"""What a command reads, so that it never writes over it."""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader

from seqmtl.exceptions import SeqmtlError

#: Endings of the indexes of a file, which are as good as a part of it.
_INDEXES = (".fai", ".gzi", ".tbi", ".csi")


class FilesOfACommand:
    """The inputs and outputs of a command, each by its real path and by its place on the disk."""

    def __init__(self) -> None:
        self.inputs: dict[Hashable, str] = {}
        self.outputs: dict[Hashable, str] = {}
        self.written: set[str] = set()


_FILES: ContextVar[FilesOfACommand | None] = ContextVar("files", default=None)


@contextmanager
def noting(files: FilesOfACommand | None) -> Iterator[None]:
    """Refuse, within the block, to write a file that is read in it; None notes nothing."""
    token = _FILES.set(files)
    try:
        yield
    finally:
        _FILES.reset(token)


def note_input(path: str | os.PathLike[str]) -> None:
    """Note that a file is an input: by whoever opens it, or knows that it will be opened.

    Raises
    ------
    SeqmtlError
        If it is an output of the command, which has not written it.
    """
    files, path = _FILES.get(), os.fspath(path)
    if files is None or path == "-" or os.path.realpath(path) in files.written:
        return
    for key in _keys(path):
        if key in files.outputs:
            raise _conflict(files.outputs[key], path)
        files.inputs[key] = path


def open_input(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to read its bytes; see :func:`note_input`."""
    note_input(path)
    return open(path, "rb")


def note_output(path: str | os.PathLike[str]) -> None:
    """Note that a file will be written, or is about to be.

    Raises
    ------
    SeqmtlError
        If it is an input, or the index of one.
    """
    files, path = _FILES.get(), os.fspath(path)
    if files is None:
        return
    stem, ending = os.path.splitext(path)
    for key in _keys(path) | (_keys(stem) if ending in _INDEXES else set()):
        if key in files.inputs:
            raise _conflict(path, files.inputs[key])
        files.outputs[key] = path


def note_written(path: str | os.PathLike[str]) -> None:
    """Note that a file is written now; what reads it from here on reads what the command wrote.

    Raises
    ------
    SeqmtlError
        If it is an input, or the index of one.
    """
    note_output(path)
    if (files := _FILES.get()) is not None:
        files.written.add(os.path.realpath(path))


def is_same_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Tell whether two paths are one file, which need not exist."""
    return not _keys(first).isdisjoint(_keys(second))


def _keys(path: str | os.PathLike[str]) -> set[Hashable]:
    """Return what identifies a file, also through links; nothing for a device or a pipe."""
    try:
        facts = os.stat(path)
    except OSError:
        return {os.path.realpath(path)}
    is_regular = stat.S_ISREG(facts.st_mode)
    return {os.path.realpath(path), (facts.st_dev, facts.st_ino)} if is_regular else set()


def _conflict(output: str, path: str) -> SeqmtlError:
    return SeqmtlError(f"{output} would overwrite the input {path}; choose another output")
