"""Blocked gzip: any gzip reader takes it, and tabix can index it."""

from __future__ import annotations

import struct
import zlib

_BGZIP_BYTES = 65_280  # of text in a compressed block
_BGZIP_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")

#: The empty block that every such file ends with.
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(text: bytes) -> bytes:
    """Compress text into gzip members of at most 64 KiB that state their size (SAM spec., 4.1)."""
    packed = []
    for first in range(0, len(text), _BGZIP_BYTES):
        part = text[first : first + _BGZIP_BYTES]
        compressor = zlib.compressobj(4, zlib.DEFLATED, -15)
        body = compressor.compress(part) + compressor.flush()
        packed += [_BGZIP_HEADER, struct.pack("<H", len(body) + 25), body]
        packed.append(struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(packed)
