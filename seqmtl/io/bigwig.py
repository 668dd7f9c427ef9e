"""Write bigWig: numbers along contigs in a compressed, indexed file for genome browsers.

The format follows Kent et al., Bioinformatics 26:2204 (2010), supplementary tables 5 to 18. Data is
appended block by block. What the end of the file needs (offsets of sections, summaries at the
finest zoom level) is kept in two temporary files, so memory does not grow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

try:
    from deflate import zlib_compress as compress  # same format, three times as fast
except ImportError:
    from zlib import compress

#: Bases summarised by a record of the finest zoom level.
ZOOM_BASES = 250

_ZOOM_FACTOR, _ZOOM_LEVELS = 4, 10
_SECTION_ITEMS, _ZOOM_ITEMS = 4096, 512
_MIN_RUN = 64  # shortest run of adjacent bases with a section of its own
_LEVEL = 1  # higher compression levels hardly reduce the size
_CHUNK = 1 << 16  # zoom records read at a time

_VERSION = 4
_MAGIC = 0x888FFC26
_VARIABLE_STEP, _FIXED_STEP = 2, 3
_HEADER = struct.Struct("<IHHQQQHHQQIQ")
_ZOOM_HEADER = struct.Struct("<IIQQ")
_SUMMARY = struct.Struct("<Qdddd")
_SECTION = struct.Struct("<IIIIIBBH")
_SUMMARY_AT = _HEADER.size + _ZOOM_LEVELS * _ZOOM_HEADER.size
_TREE_AT = _SUMMARY_AT + _SUMMARY.size

_ITEM = np.dtype([("start", "<u4"), ("value", "<f4")])
#: What records tell of the values of their bases, and how it is merged.
_MERGED = {
    "n": np.add,
    "lowest": np.minimum,
    "highest": np.maximum,
    "total": np.add,
    "squares": np.add,
}
#: A record of a zoom level.
ZOOM_DTYPE = np.dtype(
    [("contig", "<u4"), ("start", "<u4"), ("end", "<u4")]
    + [(name, "<u4" if name == "n" else "<f4") for name in _MERGED]
)

_TREE_MAGIC, _INDEX_MAGIC = 0x78CA8C91, 0x2468ACE0
_NODE_ITEMS = 256
_NODE = struct.Struct("<BBH")

_SPAN = [("contig", "<u4"), ("start", "<u4"), ("last_contig", "<u4"), ("end", "<u4")]
#: A section in the index.
SECTION_DTYPE = np.dtype([*_SPAN, ("offset", "<u8"), ("size", "<u8")])
_BRANCH = np.dtype([*_SPAN, ("offset", "<u8")])


#: Values of a stretch of a contig, ready to be appended: compressed sections; SECTION_DTYPE of
#: each, with offsets from the first byte of these; ZOOM_DTYPE of bins of ZOOM_BASES bases.
PackedValues = tuple[bytes, NDArray[Any], NDArray[Any]]


class BigWigLayout:
    """The parts of a bigWig file with one value per base.

    A file is :meth:`head`, then the data of :meth:`pack` for successive stretches in the order of
    contigs and positions, then :meth:`finish`.

    Parameters
    ----------
    lengths : mapping of str to int
        Length of every contig in bases, in the order of the values.

    Raises
    ------
    ValueError
        If there is no contig, or one is longer than the format allows (2**32 - 1 bases).
    """

    def __init__(self, lengths: Mapping[str, int]) -> None:
        if not lengths:
            raise ValueError("a bigWig file needs the lengths of its contigs, got none")
        for name, length in lengths.items():
            if not 0 < length < 1 << 32:
                raise ValueError(f"contig {name} must have 1 to 2**32 - 1 bases, got {length}")
        self._lengths = dict(lengths)
        self._number = {name: i for i, name in enumerate(lengths)}
        self._tree = _contig_tree(self._lengths, _TREE_AT)

    def head(self) -> bytes:
        """Return the start of the file, with a provisional header until :meth:`finish`."""
        return bytes(_TREE_AT) + self._tree + bytes(8)

    def pack(
        self,
        contigs: Sequence[str],
        numbers: NDArray[np.int64],
        starts: NDArray[np.int64],
        values: NDArray[np.floating[Any]],
    ) -> PackedValues:
        """Compress values: 4 bytes per base in runs of adjacent bases, else 8, before zlib.

        Parameters
        ----------
        contigs : sequence of str
            Contigs, in the order of the file.
        numbers : ndarray of int64, shape (n,)
            Which of them each base is on; not falling.
        starts : ndarray of int64, shape (n,)
            0-based bases, rising on each contig.
        values : ndarray of float, shape (n,)
            Their values.

        Raises
        ------
        ValueError
            If a base is not in its contig, bases do not rise, or a value is not finite (in
            single precision).
        """
        single = values.astype(np.float32)
        n = starts.size
        lengths = np.array([self._lengths[name] for name in contigs], dtype=np.int64)[numbers]
        is_outside = (starts < 0) | (starts >= lengths)
        if is_outside.any():
            i = int(is_outside.argmax())
            bases = starts[numbers == numbers[i]]
            raise ValueError(
                f"bases must be inside {contigs[numbers[i]]} of {lengths[i]} bases, got {bases[0]} "
                f"to {bases[-1]}"
            )
        is_next = np.diff(numbers) > 0  # a contig begins behind the base
        is_wrong = ~np.isfinite(single)
        is_wrong[1:] |= ~is_next & (np.diff(starts) < 1)
        if is_wrong.any():
            name = contigs[numbers[int(is_wrong.argmax())]]
            raise ValueError(f"bases of {name} must rise and their values be finite numbers")
        ids = np.array([self._number[name] for name in contigs], dtype=np.int64)[numbers]
        parts = []
        rows = []
        offset = 0
        for first, last in pairwise(_edges(starts, is_next)):
            for a in range(first, last, _SECTION_ITEMS):
                b = min(a + _SECTION_ITEMS, last)
                number = int(ids[a])
                part = _section(number, starts[a:b], single[a:b])
                parts.append(part)
                row = (number, starts[a], number, starts[b - 1] + 1, offset, len(part))
                rows.append(row)
                offset += len(part)
        zoom = _summarise(ids, lengths, starts, single) if n else np.zeros(0, ZOOM_DTYPE)
        return b"".join(parts), np.array(rows, dtype=SECTION_DTYPE), zoom

    def finish(self, stream: IO[bytes], sections: IO[bytes], zoom: IO[bytes]) -> None:
        """Append the index and the zoom levels, and write the final header.

        Parameters
        ----------
        stream : binary file
            The file so far, open for reading and writing.
        sections, zoom : binary file
            All records of :meth:`pack`, with offsets in the file.
        """
        stream.seek(0, 2)
        index_at = stream.tell()
        sections.seek(0)
        rows = np.frombuffer(sections.read(), dtype=SECTION_DTYPE)
        _write_index(stream, rows, _SECTION_ITEMS)
        longest = max(self._lengths.values())
        headers: list[bytes] = []
        level_bases = ZOOM_BASES
        while rows.size and len(headers) < _ZOOM_LEVELS and (not headers or level_bases < longest):
            headers.append(self._write_level(stream, zoom, level_bases))
            level_bases *= _ZOOM_FACTOR
        header = _HEADER.pack(
            _MAGIC,
            _VERSION,
            len(headers),
            _TREE_AT,
            _TREE_AT + len(self._tree),
            index_at,
            0,
            0,
            0,
            _SUMMARY_AT,
            max(_SECTION.size + 8 * _SECTION_ITEMS, 32 * _ZOOM_ITEMS),
            0,
        )
        stream.write(struct.pack("<I", _MAGIC))
        stream.seek(0)
        stream.write(header + b"".join(headers))
        stream.seek(_SUMMARY_AT)
        stream.write(_SUMMARY.pack(*_totals(zoom)))
        stream.seek(_TREE_AT + len(self._tree))
        stream.write(struct.pack("<Q", rows.size))

    def _write_level(self, stream: IO[bytes], zoom: IO[bytes], bases: int) -> bytes:
        """Write one zoom level and return its header."""
        data_at = stream.tell()
        stream.write(bytes(4))
        lengths = np.array(list(self._lengths.values()), dtype=np.int64)
        rows = []
        n = 0
        for records in _coarser(zoom, bases, lengths):
            n += records.size
            for a in range(0, records.size, _ZOOM_ITEMS):
                part = records[a : a + _ZOOM_ITEMS]
                data = compress(part.tobytes(), _LEVEL)
                ends = part["contig"][-1], part["end"][-1]
                rows.append((part["contig"][0], part["start"][0], *ends, stream.tell(), len(data)))
                stream.write(data)
        index_at = stream.tell()
        stream.seek(data_at)
        stream.write(struct.pack("<I", n))
        stream.seek(index_at)
        _write_index(stream, np.array(rows, dtype=SECTION_DTYPE), _ZOOM_ITEMS)
        return _ZOOM_HEADER.pack(bases, 0, data_at, index_at)


def _edges(starts: NDArray[np.int64], is_next: NDArray[np.bool_]) -> list[int]:
    """Return the boundaries of contigs, and of long runs of adjacent bases."""
    n = starts.size
    changes = np.flatnonzero(is_next) + 1
    breaks = np.concatenate([[0], np.flatnonzero(is_next | (np.diff(starts) != 1)) + 1, [n]])
    is_long = np.diff(breaks) >= _MIN_RUN
    edges = np.concatenate([[0, n], changes, breaks[:-1][is_long], breaks[1:][is_long]])
    unique_edges: list[int] = np.unique(edges).tolist()
    return unique_edges


def _section(contig: int, starts: NDArray[np.int64], values: NDArray[np.float32]) -> bytes:
    n = starts.size
    first = int(starts[0])
    end = int(starts[-1]) + 1
    is_run = end - first == n
    kind, step = (_FIXED_STEP, 1) if is_run else (_VARIABLE_STEP, 0)
    text = _SECTION.pack(contig, first, end, step, 1, kind, 0, n)
    if is_run:
        text += values.astype("<f4").tobytes()
    else:
        items = np.empty(n, dtype=_ITEM)
        items["start"], items["value"] = starts, values
        text += items.tobytes()
    return bytes(compress(text, _LEVEL))


def _summarise(
    ids: NDArray[np.int64],
    lengths: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float32],
) -> NDArray[Any]:
    bins = starts // ZOOM_BASES
    heads = np.flatnonzero(np.diff(ids << 32 | bins, prepend=-1))
    double = values.astype(np.float64)
    records = np.empty(heads.size, dtype=ZOOM_DTYPE)
    records["contig"] = ids[heads]
    records["start"] = bins[heads] * ZOOM_BASES
    records["end"] = np.minimum((bins[heads] + 1) * ZOOM_BASES, lengths[heads])
    records["n"] = np.diff(heads, append=starts.size)
    records["lowest"] = np.minimum.reduceat(values, heads)
    records["highest"] = np.maximum.reduceat(values, heads)
    records["total"] = np.add.reduceat(double, heads)
    records["squares"] = np.add.reduceat(double * double, heads)
    return records


def _chunks(zoom: IO[bytes]) -> Iterator[NDArray[Any]]:
    zoom.seek(0)
    while data := zoom.read(_CHUNK * ZOOM_DTYPE.itemsize):
        yield np.frombuffer(data, dtype=ZOOM_DTYPE)


def _coarser(zoom: IO[bytes], bases: int, lengths: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """Merge the finest level's records into larger bins."""
    pending = np.zeros(0, dtype=ZOOM_DTYPE)
    for chunk in _chunks(zoom):
        records = np.concatenate([pending, chunk])
        heads = _bin_heads(records, bases)
        pending = records[heads[-1] :]
        if heads.size > 1:
            yield _merge(records[: heads[-1]], heads[:-1], bases, lengths)
    if pending.size:
        yield _merge(pending, np.zeros(1, dtype=np.int64), bases, lengths)


def _bin_heads(records: NDArray[Any], bases: int) -> NDArray[np.int64]:
    bins = records["contig"].astype(np.int64) << 32 | records["start"] // bases
    return np.concatenate([[0], np.flatnonzero(np.diff(bins)) + 1])


def _merge(
    records: NDArray[Any], heads: NDArray[np.int64], bases: int, lengths: NDArray[np.int64]
) -> NDArray[Any]:
    merged = np.empty(heads.size, dtype=ZOOM_DTYPE)
    contigs = records["contig"][heads]
    begins = records["start"][heads].astype(np.int64) // bases * bases
    merged["contig"], merged["start"] = contigs, begins
    merged["end"] = np.minimum(begins + bases, lengths[contigs])
    for name, merge in _MERGED.items():
        merged[name] = merge.reduceat(records[name].astype(np.float64), heads)
    return merged


def _totals(zoom: IO[bytes]) -> tuple[float, ...]:
    """Return number of bases, minimum, maximum, sum and sum of squares of all values."""
    parts = [
        [merge.reduce(records[name].astype(np.float64)) for name, merge in _MERGED.items()]
        for records in _chunks(zoom)
    ]
    columns = np.array(parts or [[0.0] * len(_MERGED)]).T
    n, *statistics = (
        merge.reduce(column) for merge, column in zip(_MERGED.values(), columns, strict=True)
    )
    return (int(n), *map(float, statistics))


def _contig_tree(lengths: Mapping[str, int], offset: int) -> bytes:
    """Return the B+ tree from contig names to numbers and lengths, for the given file offset."""
    names = [name.encode() for name in lengths]
    key = ("key", f"S{max(map(len, names))}")
    leaves = np.empty(len(names), dtype=[key, ("number", "<u4"), ("length", "<u4")])
    leaves["key"], leaves["number"] = names, np.arange(len(names))
    leaves["length"] = list(lengths.values())
    size = min(_NODE_ITEMS, len(names))
    levels = [np.sort(leaves, order="key")]
    while levels[-1].size > size:
        branches = np.zeros(-(-levels[-1].size // size), dtype=[key, ("offset", "<u8")])
        branches["key"] = levels[-1]["key"][::size]
        levels.append(branches)
    key_size = leaves.dtype["key"].itemsize
    head = struct.pack("<IIIIQQ", _TREE_MAGIC, size, key_size, 8, len(names), 0)
    return head + b"".join(_nodes(levels, size, offset + len(head), is_padded=True))


def _write_index(stream: IO[bytes], rows: NDArray[Any], items_per_slot: int) -> None:
    """Write the R-tree over sorted, disjoint sections."""
    levels = [rows]
    while levels[-1].size > _NODE_ITEMS:
        below = levels[-1]
        heads = np.arange(0, below.size, _NODE_ITEMS)
        tails = np.append(heads[1:], below.size) - 1
        branches = np.zeros(heads.size, dtype=_BRANCH)
        branches["contig"], branches["start"] = below["contig"][heads], below["start"][heads]
        branches["last_contig"], branches["end"] = below["last_contig"][tails], below["end"][tails]
        levels.append(branches)
    top = levels[-1]
    span = (0, 0, 0, 0)
    if top.size:
        span = (*top[["contig", "start"]][0], *top[["last_contig", "end"]][-1])
    head = struct.pack("<IIQ", _INDEX_MAGIC, _NODE_ITEMS, rows.size)
    head += struct.pack("<IIIIQII", *span, stream.tell(), items_per_slot, 0)
    for part in (head, *_nodes(levels, _NODE_ITEMS, stream.tell() + len(head))):
        stream.write(part)


def _nodes(
    levels: list[NDArray[Any]], size: int, offset: int, is_padded: bool = False
) -> Iterator[bytes]:
    """Yield the nodes of a tree from the root, at `offset` in the file, to the leaves.

    Nodes have `size` entries, the last of a level may have fewer. Levels are given from the leaves
    to the root; those above the leaves have offsets to fill in.
    """
    for depth, entries in reversed(list(enumerate(levels))):
        full = _NODE.size + size * entries.itemsize
        n_nodes = max(1, -(-entries.size // size))
        offset += n_nodes * full if is_padded else n_nodes * _NODE.size + entries.nbytes
        if depth:
            step = _NODE.size + size * levels[depth - 1].itemsize
            entries["offset"] = offset + step * np.arange(entries.size)
        for first in range(0, n_nodes * size, size):
            node = entries[first : first + size]
            text = _NODE.pack(depth == 0, 0, node.size) + node.tobytes()
            yield text.ljust(full, b"\0") if is_padded else text
