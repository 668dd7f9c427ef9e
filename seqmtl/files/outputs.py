"""The outputs of a command: checked before long work starts, and standard output."""

from __future__ import annotations

import itertools
import json
import os
import stat
import sys
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files import atomic, bgzip
from seqmtl.files.streams import source_name

#: Endings of the indexes of a file, which are as good as a part of it.
_INDEXES = (".fai", ".gzi", *bgzip.INDEXES)


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
    inputs = [*inputs]
    outputs = [*outputs]
    if replaced and not (outputs and outputs[0] and _is_same_file(replaced, outputs[0])):
        inputs.append(replaced)
    files = [path for path in outputs if path and path != "-"]
    files += [f"{path}{end}" for path in files if path.endswith(".gz") for end in bgzip.INDEXES]
    for path in files:
        atomic.check_writable(path)
    files = [path for path in files if not atomic.is_special(path)]  # /dev/null takes all
    for first, second in itertools.combinations(files, 2):
        if _is_same_file(first, second):
            raise SeqmtlError(
                f"{second} is named as two outputs, or is the index of one; give each a file of "
                "its own"
            )
    read = {key: path for path in _files_of(inputs) for key in _keys(path)}
    for path in files:
        stem, ending = os.path.splitext(path)
        for key in _keys(path) | (_keys(stem) if ending in _INDEXES else set()):
            if key in read:
                raise SeqmtlError(
                    f"{path} would overwrite the input {source_name(read[key])}; choose another "
                    "output"
                )


def _files_of(inputs: Iterable[str | None]) -> Iterator[str]:
    """Yield the files among the inputs, those in the folders among them, and their indexes."""
    for path in filter(None, inputs):
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        for candidate in (path, *(os.path.join(path, name) for name in names)):
            yield from (
                f"{candidate}{end}" for end in _INDEXES if os.path.isfile(f"{candidate}{end}")
            )
            if candidate == "-" or os.path.isfile(candidate):
                yield candidate


def _is_same_file(first: str, second: str) -> bool:
    """Return whether two paths are one file, which need not exist."""
    return not _keys(first).isdisjoint(_keys(second))


def _keys(path: str) -> set[Hashable]:
    """Return what identifies a file, also through links; nothing for a device or a pipe."""
    try:
        facts = os.stat("/dev/stdin" if path == "-" else path)
    except OSError:
        return set() if path == "-" else {os.path.realpath(path)}
    is_regular = stat.S_ISREG(facts.st_mode)
    return {os.path.realpath(path), (facts.st_dev, facts.st_ino)} if is_regular else set()


def open_output(path: str) -> AbstractContextManager[IO[Any]]:
    """Open a file that appears only when complete, or standard output."""
    return nullcontext(sys.stdout) if path == "-" else atomic.atomic_write(path)


def binary_output(path: str | None) -> Any:
    """Return the stream of standard output for ``-``, and a path as it is."""
    return sys.stdout.buffer if path == "-" else path


def write_json(path: str | None, content: dict[str, Any]) -> None:
    """Write a JSON document to a file, to standard output, or, for None, nowhere."""
    if path == "-":
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    elif path:
        atomic.write_json(path, content)
