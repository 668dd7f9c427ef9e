"""bgzip: gzip in small blocks, which every gzip reader accepts and tabix can index."""

from __future__ import annotations

import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from seqmtl.files.streams import Output
from seqmtl.files.write import atomic_write

logger = logging.getLogger(__name__)

#: The empty block that ends a file.
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_INDEXES = (".tbi", ".csi")
_TEXT_BYTES = 65_280  # uncompressed bytes per block
_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_LEVEL = 4
_LONGEST_TBI = 1 << 29
_SPACE = 1 << 20  # bytes that a disk must take not to be called full


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
            for suffix in _INDEXES:
                Path(f"{os.fspath(output)}{suffix}").unlink(missing_ok=True)


def index_packed(path: str, preset: str, longest: int = 0) -> None:
    """Write the index of a sorted bgzip file, with which tabix and genome browsers read parts.

    What is no such file has none. Messages tell of pysam that is missing, and of contents that
    cannot be indexed, as the file is written anyway.

    Parameters
    ----------
    path : str
        The file.
    preset : {"bed", "gff", "vcf"}
        Format, which defines the columns of the intervals.
    longest : int
        Upper bound on the coordinates; beyond 2**29 the index is .csi instead of .tbi.

    Raises
    ------
    SeqmtlError
        If the disk does not take the index.
    """
    if not path.endswith(".gz") or not os.path.isfile(path):
        return
    try:
        import pysam
    except ImportError:
        remedy = f"run pip install pysam, or tabix -p {preset}"
        logger.info("%s: no index was written: an index needs pysam: %s", path, remedy)
        return
    index = f"{path}{_INDEXES[longest > _LONGEST_TBI]}"
    try:
        with atomic_write(index, "wb") as stream:
            try:
                pysam.tabix_index(
                    path,
                    preset=preset,
                    force=True,
                    csi=index.endswith(".csi"),
                    keep_original=True,
                    index=stream.name,
                )
            except (OSError, ValueError):
                stream.seek(0, os.SEEK_END)
                stream.write(bytes(_SPACE))  # pysam gives no reason; a full disk does not take it
                stream.flush()
                raise
    except (OSError, ValueError) as error:
        logger.warning("%s: no index can be made (%s)", path, error)
