"""One file for arrays and a description: safetensors layout, checksum, memory-mapped, no code.

Layout: 8 bytes little-endian header size, a JSON header, the raw little-endian arrays. The
description is a JSON text under ``__metadata__``. The last array, ``sha256``, is the digest of all
preceding bytes, so every flipped bit is detected. Arrays called ``columns`` are not part of it,
since those who use a part of them check that part.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import ModelFileError
from seqmtl.files.catalogue import model_path
from seqmtl.files.pipes import is_pipe
from seqmtl.files.streams import kind_of_bytes
from seqmtl.files.write import atomic_write

#: Types and shape of arrays by name; None stands for any size.
Forms = dict[str, tuple[str, tuple[int | None, ...]]]

_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_KEY = "seqmtl"
_DIGEST = 32
_START = 512  # bytes that tell another format
_MAX_HEADER = 1 << 26
_MAX_DIMENSIONS = 8
_AT_A_TIME = 1 << 20  # rows
_CHECKED_LATER = "columns"


def write_arrays(
    path: str | os.PathLike[str], description: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write a description (JSON values) and named arrays, atomically.

    Raises
    ------
    SeqmtlError
        If the file cannot be written.
    """
    table: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(description, sort_keys=True)}}
    data = [_little_endian(array) for array in arrays.values()]
    position = 0
    for name, array in zip(arrays, data, strict=True):
        table[name] = _entry(array.dtype, array.shape, position)
        position += array.nbytes
    table["sha256"] = _entry(np.dtype(np.uint8), (_DIGEST,), position)
    header = json.dumps(table, sort_keys=True).encode()
    header += b" " * (-(len(header) + 8) % 64)
    digest = hashlib.sha256()
    with atomic_write(path, "wb") as stream:
        for part in (len(header).to_bytes(8, "little"), header):
            digest.update(part)
            stream.write(part)
        for name, array in zip(arrays, data, strict=True):
            raw = array.reshape(-1).view(np.uint8).data
            if not _is_checked_later(name):
                digest.update(raw)
            stream.write(raw)
        stream.write(digest.digest())


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the output of :func:`write_arrays`; arrays are read-only views of the mapped file.

    Raises
    ------
    ModelFileError
        If the file is missing, not a model, truncated or damaged.
    """
    path, file = os.fspath(path), model_path(path)
    if is_pipe(file):
        raise ModelFileError("is a pipe; write the model into a file, and give that", path=path)
    try:
        raw = np.memmap(file, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot be opened as a model: {reason}", path=path) from error
    size = int.from_bytes(raw[:8].tobytes(), "little")
    if raw.size < 8 + _DIGEST or not 0 < size <= min(_MAX_HEADER, raw.size - 8):
        kind = kind_of_bytes(raw[:_START].tobytes()) or "truncated in its header, or another file"
        raise ModelFileError(f"is not a seqmtl model: it is {kind}", path=path)
    try:
        table = json.loads(raw[8 : 8 + size].tobytes())
        description = json.loads(table.pop("__metadata__")[_KEY])
        entries = {str(name): _parse_entry(entry) for name, entry in table.items()}
        expected = entries.pop("sha256")
        if not isinstance(description, dict):
            raise TypeError("the description must be an object")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = "is not a seqmtl model: its header is unreadable"
        raise ModelFileError(message, path=path) from error
    body = raw[8 + size :]
    _check_entries(entries, expected, body.size, path)
    digest = hashlib.sha256(raw[: 8 + size].data)
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda entry: entry[1][2:]):
        if not _is_checked_later(name):
            digest.update(body[begin:end].data)
    if digest.digest() != body[-_DIGEST:].tobytes():
        raise ModelFileError("is damaged: its checksum does not match; copy it again", path=path)
    arrays = {
        name: body[begin:end].view(dtype).reshape(shape)
        for name, (dtype, shape, begin, end) in entries.items()
    }
    return description, arrays


def _is_checked_later(name: str) -> bool:
    return name.rpartition(".")[2] == _CHECKED_LATER


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _entry(dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> dict[str, Any]:
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return {
        "dtype": _NAMES[dtype],
        "shape": [int(n) for n in shape],
        "data_offsets": [begin, begin + size],
    }


def _parse_entry(entry: dict[str, Any]) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    shape = tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError("shapes and offsets must be whole numbers")
    if len(shape) > _MAX_DIMENSIONS or math.prod(max(n, 1) for n in shape) >= 2**60:
        raise ValueError("shapes must be those of an array")
    return np.dtype(_DTYPES[entry["dtype"]]), shape, begin, end


def _check_entries(entries: dict[str, Any], digest: Any, size: int, path: str) -> None:
    """Reject arrays that leave gaps, overlap, or do not match their shape."""
    position = 0
    for dtype, shape, begin, end in sorted([*entries.values(), digest], key=lambda e: e[2:]):
        n_bytes = dtype.itemsize
        for n in shape:
            n_bytes *= n  # Python integers: no overflow
        if begin != position or end - begin != n_bytes:
            raise ModelFileError("is not a seqmtl model: its arrays do not fit", path=path)
        position = end
    if position != size or digest[3] != size or digest[3] - digest[2] != _DIGEST:
        raise ModelFileError("is truncated or has extra bytes; copy it again", path=path)


def check_arrays(arrays: Mapping[str, NDArray[Any]], forms: Forms) -> None:
    """Check that there are exactly these arrays, of these types and shapes, and finite.

    Raises
    ------
    ValueError
        If they are others; the message names the array.
    """
    unknown = sorted(arrays.keys() - forms.keys())
    if unknown:
        raise ValueError(f"array {unknown[0]} does not belong to this model")
    for name, (dtype, shape) in forms.items():
        if name not in arrays:
            raise ValueError(f"array {name} is missing")
        array = arrays[name]
        fits = len(shape) == array.ndim and all(
            n in (None, m) for n, m in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            sides = ", ".join("any" if n is None else str(n) for n in shape)
            raise ValueError(
                f"array {name} must be {dtype} of shape ({sides}), got "
                f"{array.dtype} of shape {array.shape}"
            )
        parts = range(0, len(array), _AT_A_TIME) if array.ndim else ()  # in little memory
        if dtype.startswith("float") and not all(
            np.isfinite(array[first : first + _AT_A_TIME]).all() for first in parts
        ):
            raise ValueError(f"array {name} must hold finite numbers")
