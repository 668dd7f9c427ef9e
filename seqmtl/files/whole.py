"""Read small files into memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any

from seqmtl.exceptions import InputFormatError
from seqmtl.files.inputs import noting, open_input
from seqmtl.files.streams import BLOCK_BYTES, LARGEST_TEXT, PathLike, byte_blocks, too_long


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    InputFormatError
        If it has more than `LARGEST_TEXT` bytes.
    """
    with open_input(path) as stream:
        return _join(iter(lambda: stream.read(BLOCK_BYTES), b""), LARGEST_TEXT, path)


def read_text(path: PathLike, what: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a UTF-8 file, plain or gzip, without byte order mark.

    Parameters
    ----------
    path : path-like
        File.
    what : str
        What the file should be, for messages.
    largest : int
        Most bytes, decompressed.

    Raises
    ------
    InputFormatError
        If the file cannot be read, is not text, or is larger.
    """
    try:
        return _join(byte_blocks(path), largest, path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        fault = error.message if isinstance(error, InputFormatError) else error
        message = f"cannot be read as {what}: {fault}"
        raise InputFormatError(message, path=os.fspath(path)) from error


def _join(blocks: Iterable[bytes], most: int, path: PathLike) -> bytes:
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most:
            raise too_long("the text", most, path)
    return bytes(content)


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
