"""Read small files into memory."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from seqmtl.exceptions import InputFormatError
from seqmtl.files.inputs import noting, open_input
from seqmtl.files.streams import PathLike, byte_blocks


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with open_input(path) as stream:
        return stream.read()


def read_text(path: PathLike, what: str) -> str:
    """Return the text of a UTF-8 file, plain or gzip, without byte order mark.

    Parameters
    ----------
    path : path-like
        File.
    what : str
        What the file should be, for messages.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    try:
        return b"".join(byte_blocks(path)).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        fault = error.message if isinstance(error, InputFormatError) else error
        message = f"cannot be read as {what}: {fault}"
        raise InputFormatError(message, path=os.fspath(path)) from error


def read_json(path: PathLike) -> Any:
    """Return the contents of a JSON document, which may be one that the command replaces.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not JSON.
    """
    try:
        with noting(None):
            return json.loads(read_bytes(path).decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def sha256_of(path: PathLike) -> str:
    """Return the digest of a file, of any size.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with open_input(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
