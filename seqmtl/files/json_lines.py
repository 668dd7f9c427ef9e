"""Files of JSON lines that grow while a long run goes on, so that it can be resumed."""

from __future__ import annotations

import json
import os
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.write import cannot_write


def read_json_lines(path: str) -> list[Any]:
    """Return the contents of all lines; none if there is no file.

    A last line without a line end, of a run that was killed, is removed from the file.

    Raises
    ------
    SeqmtlError
        If a line is not JSON.
    """
    try:
        with open(path, "rb") as stream:
            lines = [line for line in stream if line.endswith(b"\n")]
    except FileNotFoundError:
        return []
    try:
        contents = [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    os.truncate(path, sum(map(len, lines)))
    return contents


def append_json_line(path: str, content: Any) -> None:
    """Append a line, and flush it to disk.

    Raises
    ------
    SeqmtlError
        If it cannot be written; the file is then as before.
    """
    before = os.path.getsize(path) if os.path.exists(path) else 0
    try:
        with open(path, "ab") as stream:
            stream.write(json.dumps(content).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        if os.path.isfile(path):
            os.truncate(path, before)
            if not before:
                os.unlink(path)
        raise cannot_write(path, error) from error


def damaged(path: str, error: Exception) -> SeqmtlError:
    """Return the error for a file with invalid lines."""
    return SeqmtlError(f"{path} is damaged ({error}); remove it to start afresh")
