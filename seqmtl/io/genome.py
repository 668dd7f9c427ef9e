"""Read genomes from FASTA: into one encoded buffer, or contig by contig."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import is_first_time, is_level_logged
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    BLOCK_BYTES,
    PathLike,
    is_compressed,
    numbered_lines,
    readable,
    source_name,
)
from seqmtl.io.fasta import hold, scan_fasta, whole_records
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, OTHER
from seqmtl.sequences.genome import ContigTable, Genome, unknown_contig

logger = logging.getLogger(__name__)

_LINE_END = 2


def load_genome(path: PathLike, *, padding: int, only: Collection[str] | None = None) -> Genome:
    """Read a genome into one encoded buffer, one byte per base.

    If only some contigs are requested, an index beside the file avoids reading the others.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip, or ``"-"`` for standard input.
    padding : int
        Number of N codes before, between and after the contigs (at least 1), which limits how far
        windows may extend beyond a contig. The window length is always enough.
    only : collection of str, optional
        Contigs to keep. It is an error only if the file has none of them. Default: all.

    Raises
    ------
    InputFormatError
        If the file is not FASTA, or a contig has no name, no sequence or a repeated name.
    ValueError
        If the file has none of the contigs in `only`; the message names contigs of both.
    """
    return load_genomes({"genome": path}, padding=padding, only=only)["genome"]


def load_genomes(
    paths: Mapping[str, PathLike], *, padding: int, only: Collection[str] | None = None
) -> dict[str, Genome]:
    """Read several genomes into a shared buffer, so that their windows join without copying.

    Parameters
    ----------
    paths : mapping of str to path-like
        FASTA file of each genome, see :func:`load_genome`.
    padding, only
        See :func:`load_genome`.

    Returns
    -------
    dict of str to Genome
        In the order of `paths`.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    """
    if padding < 0:
        raise ValueError(f"padding must be 0 or more, got {padding}; give the window length")
    padding = max(1, int(padding))
    gap = bytes([OTHER]) * padding
    buffer = bytearray(gap)
    tables = {name: _append(path, buffer, gap, only) for name, path in paths.items()}
    codes = np.frombuffer(buffer, dtype=np.uint8)
    return {name: Genome(codes, table) for name, table in tables.items()}


def _append(
    path: PathLike, buffer: bytearray, gap: bytes, only: Collection[str] | None
) -> ContigTable:
    """Append the contigs of a file, all or only some, each followed by a gap."""
    names: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    other_names: list[str] = []
    for item in _scan(path, only):
        if isinstance(item, bytes):
            hold(buffer, item, path)
            ends[-1] = len(buffer)
        elif only is not None and item not in only:
            other_names.append(item)
        else:
            if names:
                buffer += gap
            names.append(item)
            starts.append(len(buffer))
            ends.append(len(buffer))
    if names:
        buffer += gap
    if only and not names:
        raise ValueError(unknown_contig(list(only), other_names))
    lengths = np.array(ends, dtype=np.int64) - starts
    table = ContigTable(tuple(names), np.array(starts, dtype=np.int64), lengths)
    count = f"{len(names)} of {len(names) + len(other_names)}" if other_names else str(len(names))
    summary = f"{source_name(path)}: {count} contigs, {table.lengths.sum()} bases"
    if is_level_logged(logging.INFO) and is_first_time(summary):
        logger.info("%s", summary)
    return table


class ContigPiece(NamedTuple):
    """A stretch of a contig, or several whole contigs with a letter N between them.

    Attributes
    ----------
    name : str
        Contig; the first of several.
    start : int
        0-based position of the first base in the contig.
    codes : ndarray of uint8
        Encoded bases.
    contigs : ContigTable, optional
        Where several contigs are among the codes. Default: there is one.
    """

    name: str
    start: int
    codes: NDArray[np.uint8]
    contigs: ContigTable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the contigs."""
        return (self.name,) if self.contigs is None else self.contigs.names

    def located(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the contig number of each position, and the position on that contig."""
        if self.contigs is None:
            return np.zeros_like(positions), positions
        numbers = self.contigs.contig_of(positions)
        return numbers, positions - self.contigs.starts[numbers]

    def between(self, begin: int, end: int) -> ContigPiece:
        """Return the bases at begin..end-1 of the contig, as far as there are any; a view."""
        first, last = max(0, begin - self.start), max(0, end - self.start)
        return self._replace(start=self.start + first, codes=self.codes[first:last])


def read_contigs(path: PathLike, *, only: Collection[str] | None = None) -> Iterator[ContigPiece]:
    """Yield the contigs of a genome one by one.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip, or ``"-"`` for standard input.
    only : collection of str, optional
        Contigs to read; the others have no bases. Default: all.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    MemoryLimitError
        If a contig does not fit into memory.
    """
    for name, codes in whole_records(_scan(path, only), path):
        yield ContigPiece(name, 0, np.frombuffer(codes, dtype=np.uint8))


def contig_lengths(path: PathLike) -> dict[str, int]:
    """Return the length of every contig in bases, in the order of the file.

    If the index beside the file (``.fai``) is current, it is used; otherwise the file is read
    once.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    """
    index = f"{os.fspath(path)}.fai"
    if index_is_current(path):
        return {contig.name: contig.length for contig in read_index(path)}
    if os.path.exists(index) and not is_compressed(path):
        logger.warning("%s does not match the current %s and is not used", index, path)
    lengths: dict[str, int] = {}
    name = ""
    for item in _scan(path):
        if isinstance(item, bytes):
            lengths[name] += len(item)
        else:
            name = item
            lengths[name] = 0
    return lengths


def _scan(path: PathLike, only: Collection[str] | None = None) -> Iterator[str | bytes]:
    """Yield the name of each contig, followed by its codes in pieces if it is requested.

    A file with a current index is read by pyfaidx, others as a stream. A warning says, once, if
    most letters are no nucleotides.
    """
    scan = _scan_indexed if index_is_current(path) else _scan_stream
    n_letters = n_other = 0
    for item in scan(path, only):
        if isinstance(item, bytes):
            n_letters += len(item)
            n_other += item.count(OTHER)
        yield item
    source = source_name(path)
    if (
        2 * n_other > n_letters
        and is_level_logged(logging.WARNING)
        and is_first_time(("letters", source))
    ):
        logger.warning(
            "%s: only %.0f %% of the letters are A, C, G or T; is it a nucleotide sequence?",
            source,
            100 * (1 - n_other / n_letters),
        )


def _scan_stream(path: PathLike, only: Collection[str] | None) -> Iterator[str | bytes]:
    is_selected = False
    for item in scan_fasta(path):
        if not isinstance(item, bytes):
            name = item.fields[0]
            if not name:
                item.refuse("a contig must have a name, but its header is empty; name it")
            is_selected = only is None or name in only
            yield name
        elif is_selected:
            yield item


def _scan_indexed(path: PathLike, only: Collection[str] | None) -> Iterator[str | bytes]:
    from pyfaidx import Faidx

    path = os.fspath(path)
    with Faidx(path, indexname=f"{path}.fai", as_raw=True, rebuild=False) as file:
        for contig in read_index(path):
            yield contig.name
            is_selected = only is None or contig.name in only
            for start in range(0, contig.length if is_selected else 0, BLOCK_BYTES):
                last = min(start + BLOCK_BYTES, contig.length)
                letters = file.fetch(contig.name, start + 1, last)
                yield _encoded(letters, last - start, contig, path)


def _encoded(letters: str, n: int, contig: IndexedContig, path: str) -> bytes:
    """Return the codes of n letters of a contig."""
    codes = letters.encode("latin-1", errors="replace").translate(CHECKED_CODES)
    if len(codes) != n or INVALID in codes:
        for _ in scan_fasta(path):  # names the line of a letter that is no nucleotide
            pass
        raise InputFormatError(
            f"the contig must hold {contig.length:,} IUPAC nucleotide letters, as its index says, "
            f"but it does not; remove its index {path}.fai",
            path=path,
            record=contig.name,
        )
    return codes


class IndexedContig(NamedTuple):
    """A row of an index: a contig, its length, where it is, and letters and bytes of a line."""

    name: str
    length: int
    offset: int
    n_letters: int
    n_bytes: int

    @property
    def end(self) -> int:
        """Where its last letter ends in the file."""
        lines, remainder = divmod(self.length, self.n_letters)
        n_ends = lines if remainder else lines - 1
        return self.offset + self.length + n_ends * (self.n_bytes - self.n_letters)


def read_index(path: str | os.PathLike[str]) -> list[IndexedContig]:
    """Return the rows of the index of a FASTA file (``.fai``).

    Raises
    ------
    ValueError
        If a row has other columns.
    OSError
        If it cannot be read.
    """
    rows = []
    for _, line in numbered_lines(f"{os.fspath(path)}.fai"):
        name, *numbers = readable(line).split("\t")
        length, offset, n_letters, n_bytes = map(int, numbers)
        rows.append(IndexedContig(name, length, offset, n_letters, n_bytes))
    return rows


def index_is_current(path: str | os.PathLike[str]) -> bool:
    """Return whether the index beside a FASTA file (``.fai``) matches the current file.

    It must not be older than the file, every header must be where the index says, the first
    line of a record must have the letters that the index says and then its end (bedtools counts
    CR as a letter; blanks at line ends count as bytes of the end), and nothing but a line end
    may follow the last letter.
    """
    path = os.fspath(path)
    try:
        if os.path.getmtime(f"{path}.fai") < os.path.getmtime(path):
            return False
        rows = read_index(path)
        size = os.path.getsize(path)
        end = 0
        with open(path, "rb") as file:
            for row in rows:
                if not end <= row.offset <= size or row.n_letters > row.length:
                    return False
                if not row.n_letters < row.n_bytes <= row.n_letters + _LINE_END:
                    return False
                file.seek(end)
                header = file.read(row.offset - end).lstrip()
                name_and_description = header[1:].split(None, 1)
                if header[:1] != b">" or not header.endswith(b"\n") or b"\n>" in header:
                    return False
                if not name_and_description or name_and_description[0] != row.name.encode():
                    return False
                file.seek(row.offset + row.n_letters - 1)
                last, *line_end = file.read(1 + row.n_bytes - row.n_letters).splitlines(True)
                if last[:1].isspace() or (last[1:] + b"".join(line_end)).strip(b"\r\n"):
                    return False
                end = row.end
            n_names = len({row.name for row in rows})
            file.seek(end)
            is_whole = end <= size <= end + _LINE_END and not file.read().strip(b"\r\n")
            return is_whole and 0 < n_names == len(rows)
    except (OSError, OverflowError, ValueError, ZeroDivisionError):
        return False
