"""Read some contigs of a FASTA file without the others, with pyfaidx and a .fai index."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from seqmtl.exceptions import InputFormatError
from seqmtl.files.inputs import open_input
from seqmtl.files.streams import BLOCK_BYTES, numbered_lines, readable
from seqmtl.sequences.alphabet import CASED_CODES, CHECKED_CODES, INVALID

_LINE_END = 2


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
        lines, rest = divmod(self.length, self.n_letters)
        n_ends = lines if rest else lines - 1
        return self.offset + self.length + n_ends * (self.n_bytes - self.n_letters)


def scan_indexed(
    path: str | os.PathLike[str],
    only: Collection[str],
    *,
    keep_case: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[str | bytes]:
    """Yield the name of each contig, followed by its codes in blocks if it is requested.

    Parameters
    ----------
    path : path-like
        FASTA file whose index is current, see :func:`index_is_current`.
    only : collection of str
        Contigs to read.
    keep_case, on_read
        See :func:`~seqmtl.io.fasta.scan_fasta`; skipped bytes count as read.

    Raises
    ------
    InputFormatError
        If a contig contains anything but nucleotide letters.
    """
    from pyfaidx import Faidx

    path = os.fspath(path)
    code_of = CASED_CODES if keep_case else CHECKED_CODES
    with Faidx(path, indexname=f"{path}.fai", as_raw=True, rebuild=False) as file:
        for name, record in file.index.items():
            yield name
            length = int(record.rlen)
            for start in range(0, length if name in only else 0, BLOCK_BYTES):
                end = min(start + BLOCK_BYTES, length)
                letters = file.fetch(name, start + 1, end).encode("latin-1", errors="replace")
                codes = letters.translate(code_of)
                if len(codes) != end - start or INVALID in codes:
                    raise InputFormatError(
                        f"{start}-{end} must hold {end - start} IUPAC nucleotide letters, got "
                        f"others; correct the file, or remove its index {path}.fai",
                        path=path,
                        record=name,
                    )
                yield codes
            if on_read is not None:
                on_read(length)


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
    """Tell whether the index beside a FASTA file (``.fai``) matches the current file.

    It must not be older than the file, every header must be where the index says, the first
    line of a record must not count its line end as a letter (bedtools does so with CRLF), and
    the last record must end at the end of the file.
    """
    path = os.fspath(path)
    try:
        if os.path.getmtime(f"{path}.fai") < os.path.getmtime(path):
            return False
        rows, size, end = read_index(path), os.path.getsize(path), 0
        with open_input(path) as file:
            for row in rows:
                if not end <= row.offset <= size or row.n_letters > row.length:
                    return False
                if not row.n_letters < row.n_bytes <= row.n_letters + _LINE_END:
                    return False
                file.seek(end)
                header = file.read(row.offset - end).lstrip()
                words = header[1:].split(None, 1)
                if header[:1] != b">" or not header.endswith(b"\n") or b"\n>" in header:
                    return False
                if not words or words[0] != row.name.encode():
                    return False
                file.seek(row.offset + min(row.length, row.n_letters) - 1)
                if file.read(1).isspace():
                    return False
                end = row.end
            return 0 <= size - end <= _LINE_END and bool(rows)
    except (OSError, OverflowError, ValueError, ZeroDivisionError):
        return False
