"""Journals of long runs that can be resumed."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seqmtl._schema import anything, items, mapping
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import cannot_write, remove_file


class Journal:
    """Journal of a long run: a header, then completed steps.

    Each line has a checksum and a JSON object.

    Parameters
    ----------
    path : str
        The file.
    header : mapping
        Everything that defines the run, as JSON values.
    """

    def __init__(self, path: str, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header: dict[str, Any] = json.loads(json.dumps(header))

    def exists(self) -> bool:
        """Tell whether there is a journal, of any run."""
        return os.path.exists(self.path)

    def read(self) -> list[Any]:
        """Return the header and the steps, dropping a last line that is incomplete.

        Raises
        ------
        SeqmtlError
            If a complete line was changed, or is not a JSON object.
        """
        try:
            with open(self.path, "rb") as stream:
                whole = [line for line in stream if line.endswith(b"\n")]
        except FileNotFoundError:
            return []
        try:
            entries = list(map(_content, whole))
            items(mapping(anything))("its lines", entries)
        except (ValueError, RecursionError) as error:
            raise self.damaged(error) from error
        if entries:
            os.truncate(self.path, sum(map(len, whole)))
        else:
            self.remove()
        return entries

    def damaged(self, error: Exception) -> SeqmtlError:
        """Return the error for a journal with invalid content."""
        return SeqmtlError(f"{self.path} is damaged ({error}); remove it to start afresh")

    def start(self) -> None:
        """Start a new journal."""
        self.remove()
        self.write(self.header)

    def write(self, step: Mapping[str, Any]) -> None:
        """Append a step, and flush it to disk."""
        text = json.dumps(step).encode()
        with _told(self.path), open(self.path, "ab") as stream:
            stream.write(b"%08x %b\n" % (zlib.crc32(text), text))
            stream.flush()
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)


def _content(line: bytes) -> Any:
    checksum, _, text = line[:-1].partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        is_old = line.startswith(b"{")  # no checksum, as before format 2 of journals
        raise ValueError(f"a line {'of an earlier seqmtl ' * is_old}does not have its checksum")
    return json.loads(text)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Name the output in errors of writing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from error
