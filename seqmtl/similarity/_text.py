"""Small text files whole, plain or gzip; the readers of data are in the io room."""

from __future__ import annotations

import gzip
import os
import zlib

from seqmtl.exceptions import InputFormatError


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Return the content of a UTF-8 file, plain or gzip, without byte order mark.

    Parameters
    ----------
    path : str or path-like
        File.
    what : str
        What it should be, for the message.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, ValueError, zlib.error) as error:
        raise InputFormatError(f"cannot be read as {what}: {error}", path=path) from error
