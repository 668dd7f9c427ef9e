"""bgzip: gzip in small blocks, which every gzip reader accepts and tabix can index."""

from __future__ import annotations

import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, cast

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import atomic_write, remove_file
from seqmtl.files.streams import Output

logger = logging.getLogger(__name__)

#: Endings of the indexes of a file.
INDEXES = (".tbi", ".csi")
#: The empty block that ends a file.
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_TEXT_BYTES = 65_280  # uncompressed bytes per block
_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_LEVEL = 4
_LONGEST_TBI = 1 << 29


def bgzip(text: bytes) -> bytes:
    """Compress text to gzip members of at most 64 KiB that state their size (SAM spec., 4.1).

    Results may be concatenated; :data:`BGZIP_END` follows the last.
    """
    packed = []
    for first in range(0, len(text), _TEXT_BYTES):
        part = text[first : first + _TEXT_BYTES]
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
        body = compressor.compress(part) + compressor.flush()
        packed += [_HEADER, struct.pack("<H", len(body) + 25), body]
        packed.append(struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(packed)


def packer(output: Output) -> Callable[[bytes], bytes]:
    """Return the compressor for an output: :func:`bgzip` if its name ends in ``.gz``."""
    is_packed = not hasattr(output, "write") and os.fspath(output).endswith(".gz")
    return bgzip if is_packed else bytes


@contextmanager
def open_packed(output: Output) -> Iterator[IO[bytes]]:
    """Open an output for data compressed by :func:`packer`.

    A file appears under its name when it is complete, and the index of the one that it replaces
    goes; a stream is used unchanged.
    """
    if hasattr(output, "write"):
        yield cast(IO[bytes], output)
        return
    with atomic_write(output, "wb") as stream:
        yield stream
        if packer(output) is bgzip:
            stream.write(BGZIP_END)
        for suffix in INDEXES:
            remove_file(f"{os.fspath(output)}{suffix}")


def write_index(path: str | os.PathLike[str], preset: str, longest: int = 0) -> None:
    """Write the index of a sorted bgzip file, with which tabix and genome browsers read parts.

    Parameters
    ----------
    path : path-like
        The file.
    preset : {"bed", "gff", "vcf"}
        Format, which defines the columns of the intervals.
    longest : int
        Upper bound on the coordinates; beyond 2**29 the index is .csi instead of .tbi.

    Raises
    ------
    ImportError
        If pysam is not installed.
    SeqmtlError
        If the file cannot be indexed.
    """
    try:
        import pysam
    except ImportError as error:
        raise ImportError(
            f"an index needs pysam: run pip install pysam, or tabix -p {preset}"
        ) from error
    name, use_csi = os.fspath(path), longest > _LONGEST_TBI
    try:
        pysam.tabix_index(name, preset=preset, force=True, csi=use_csi, keep_original=True)
    except (OSError, ValueError) as error:
        raise SeqmtlError(f"{name}: no index can be made ({error})") from error


def index_packed(path: str, preset: str, longest: int = 0) -> None:
    """Index a compressed file, see :func:`write_index`, or tell why there is no index."""
    if not path.endswith(".gz") or not os.path.isfile(path):
        return
    try:
        write_index(path, preset, longest)
    except ImportError as error:
        logger.info("%s: no index was written: %s", path, error)
    except SeqmtlError as error:  # the file is written anyway
        logger.warning("%s", error)
