"""The two trees of a bigWig file: the contigs, and the index of sections by position."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_TREE_MAGIC, _INDEX_MAGIC = 0x78CA8C91, 0x2468ACE0
_NODE_ITEMS = 256
_NODE = struct.Struct("<BBH")

_PLACE = [("contig", "<u4"), ("start", "<u4"), ("last_contig", "<u4"), ("end", "<u4")]
#: A section in the index.
SECTION_DTYPE = np.dtype([*_PLACE, ("offset", "<u8"), ("size", "<u8")])
_BRANCH = np.dtype([*_PLACE, ("offset", "<u8")])


def contig_tree(lengths: Mapping[str, int], offset: int) -> bytes:
    """Return the B+ tree from contig names to numbers and lengths, for the given file offset."""
    names = {name: name.encode() for name in lengths}
    key_size = max(map(len, names.values()))
    numbers = {name: i for i, name in enumerate(lengths)}
    ordered = sorted(lengths, key=names.__getitem__)
    size = min(_NODE_ITEMS, len(ordered))
    keys = [names[name].ljust(key_size, b"\0") for name in ordered]
    level = [
        keys[i] + struct.pack("<II", numbers[name], lengths[name]) for i, name in enumerate(ordered)
    ]
    levels = [level]
    while len(levels[-1]) > size:  # branches: the first key below, and an offset to fill in
        levels.append([entry[:key_size] + bytes(8) for entry in levels[-1][::size]])
    node_bytes = _NODE.size + size * (key_size + 8)
    place = offset + 32
    text = struct.pack("<IIIIQQ", _TREE_MAGIC, size, key_size, 8, len(ordered), 0)
    for depth in range(len(levels) - 1, -1, -1):
        entries = levels[depth]
        place += -(-len(entries) // size) * node_bytes
        if depth:
            entries = [
                entry[:key_size] + struct.pack("<Q", place + i * node_bytes)
                for i, entry in enumerate(entries)
            ]
        for first in range(0, len(entries), size):
            node = entries[first : first + size]
            body = _NODE.pack(depth == 0, 0, len(node)) + b"".join(node)
            text += body.ljust(node_bytes, b"\0")
    return text


def write_index(stream: IO[bytes], rows: NDArray[Any], items_per_slot: int) -> None:
    """Write the R-tree over sorted, disjoint sections."""
    levels = [rows]
    while levels[-1].size > _NODE_ITEMS:
        levels.append(_branches(levels[-1]))
    top = levels[-1]
    whole = (0, 0, 0, 0) if not top.size else (*top[["contig", "start"]][0], *_last(top))
    place = stream.tell() + 48
    head = struct.pack("<IIQ", _INDEX_MAGIC, _NODE_ITEMS, rows.size)
    head += struct.pack("<IIIIQII", *whole, stream.tell(), items_per_slot, 0)
    stream.write(head)
    for depth in range(len(levels) - 1, -1, -1):
        entries = levels[depth]
        n_nodes = max(1, -(-entries.size // _NODE_ITEMS))
        place += n_nodes * _NODE.size + entries.nbytes
        if depth:
            entries = entries.copy()
            step = _NODE.size + _NODE_ITEMS * levels[depth - 1].itemsize
            entries["offset"] = place + step * np.arange(entries.size)
        for first in range(0, n_nodes * _NODE_ITEMS, _NODE_ITEMS):
            node = entries[first : first + _NODE_ITEMS]
            stream.write(_NODE.pack(depth == 0, 0, node.size) + node.tobytes())


def _branches(rows: NDArray[Any]) -> NDArray[Any]:
    heads = np.arange(0, rows.size, _NODE_ITEMS)
    tails = np.append(heads[1:], rows.size) - 1
    branches = np.zeros(heads.size, dtype=_BRANCH)
    branches["contig"], branches["start"] = rows["contig"][heads], rows["start"][heads]
    branches["last_contig"], branches["end"] = rows["last_contig"][tails], rows["end"][tails]
    return branches


def _last(rows: NDArray[Any]) -> tuple[int, int]:
    return int(rows["last_contig"][-1]), int(rows["end"][-1])
