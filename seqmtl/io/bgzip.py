"""bgzip: gzip in small blocks, which every gzip reader takes and tabix can index."""

from __future__ import annotations

import struct
import zlib

#: The empty block that ends a file.
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_TEXT_BYTES = 65_280  # of text in a compressed block
_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_LEVEL = 4


def bgzip(text: bytes) -> bytes:
    """Compress text into gzip members of at most 64 KiB that state their size (SAM spec., 4.1).

    The results of several calls can be joined; :data:`BGZIP_END` follows the last.
    """
    packed = []
    for first in range(0, len(text), _TEXT_BYTES):
        part = text[first : first + _TEXT_BYTES]
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
        body = compressor.compress(part) + compressor.flush()
        packed += [_HEADER, struct.pack("<H", len(body) + 25), body]
        packed.append(struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(packed)
