"""Random access to named regions of a FASTA file, by pyfaidx."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.io._stream import BLOCK_BYTES, is_compressed
from seqmtl.sequences.alphabet import CASED_CODES, CHECKED_CODES, INVALID, reverse_complement
from seqmtl.sequences.genome import check_interval, unknown_contig

_LINE_END = 2


class IndexedGenome:
    """An uncompressed FASTA file opened by pyfaidx: named regions without reading the rest.

    The index beside the file (``.fai``) is used only if it is not older than the file and its
    sizes and headers agree with it; otherwise a temporary one is made, and nothing is written
    beside the file. Use one object per thread and per process.

    Parameters
    ----------
    path : path-like
        Uncompressed FASTA.

    Raises
    ------
    InputFormatError
        If the file is compressed, empty, not FASTA, has lines of unequal length or names twice.
    ImportError
        If pyfaidx is not installed.

    Examples
    --------
    >>> with IndexedGenome("genome.fa") as genome:  # doctest: +SKIP
    ...     codes = genome.fetch("chrI", 100, 200, is_reverse=True)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from pyfaidx import Faidx, FastaIndexingError

        self.path = os.fspath(path)
        if is_compressed(self.path):
            raise InputFormatError(
                "random access needs an uncompressed file; decompress it, or read all of it "
                "with load_genome",
                path=self.path,
            )
        self._folder = tempfile.TemporaryDirectory(prefix="seqmtl-index-")
        beside = f"{self.path}.fai"
        index = beside if index_is_current(self.path) else os.path.join(self._folder.name, "fai")
        try:
            self._file = Faidx(self.path, indexname=index, as_raw=True, rebuild=False)
        except (FastaIndexingError, ValueError, UnicodeDecodeError) as error:
            self._folder.cleanup()
            raise InputFormatError(
                f"the file cannot be indexed ({error}); correct it, or read all of it with "
                "load_genome",
                path=self.path,
            ) from error
        records = self._file.index
        self._length_of: dict[str, int] = {name: int(row.rlen) for name, row in records.items()}
        self.names: tuple[str, ...] = tuple(records)
        self.lengths: NDArray[np.int64] = np.array(list(self._length_of.values()), dtype=np.int64)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and remove the temporary index."""
        self._file.close()
        self._folder.cleanup()

    def fetch(
        self, name: str, start: int, end: int, *, is_reverse: bool = False
    ) -> NDArray[np.uint8]:
        """Read the codes of an interval in reading direction.

        Parameters
        ----------
        name : str
            Contig.
        start, end : int
            0-based half-open interval on the forward strand.
        is_reverse : bool
            Whether to read the minus strand.

        Raises
        ------
        ValueError
            If the contig is unknown or the interval is not inside it.
        InputFormatError
            If the interval holds anything but nucleotide letters.
        """
        if name not in self._length_of:
            raise ValueError(unknown_contig([name], self.names))
        check_interval(name, start, end, self._length_of[name])
        codes = np.frombuffer(bytearray(self._codes(name, start, end)), dtype=np.uint8)
        return reverse_complement(codes) if is_reverse else codes

    def blocks(self, name: str, *, keep_case: bool = False) -> Iterator[bytes]:
        """Yield the codes of a contig, see :func:`~seqmtl.io._fasta_scanner.scan_fasta`."""
        length = self._length_of[name]
        for start in range(0, length, BLOCK_BYTES):
            yield self._codes(name, start, min(start + BLOCK_BYTES, length), keep_case)

    def _codes(self, name: str, start: int, end: int, keep_case: bool = False) -> bytes:
        letters = self._file.fetch(name, start + 1, end).encode("latin-1", errors="replace")
        codes = letters.translate(CASED_CODES if keep_case else CHECKED_CODES)
        if len(letters) != end - start or INVALID in codes:
            raise InputFormatError(
                f"{start}-{end} must hold {end - start} IUPAC nucleotide letters, got others; "
                "correct the file",
                path=self.path,
                record=name,
            )
        return codes


def index_is_current(path: str | os.PathLike[str]) -> bool:
    """Tell whether the index beside a FASTA file (``.fai``) describes the file as it is now.

    It must not be older than the file, every record's header must stand where the index says,
    its first line must not count its end as a letter (bedtools does so with CRLF), and the last
    record must end where the file ends.
    """
    path = os.fspath(path)
    try:
        if os.path.getmtime(f"{path}.fai") < os.path.getmtime(path):
            return False
        with open(f"{path}.fai", encoding="utf-8") as index:
            rows = [line.rstrip("\n").split("\t") for line in index]
        with open(path, "rb") as file:
            end = 0
            for name, *numbers in rows:
                length, offset, n_letters, n_bytes = map(int, numbers)
                file.seek(end)
                header = file.read(max(0, offset - end)).lstrip()
                words = header[1:].split(None, 1)
                if header[:1] != b">" or not header.endswith(b"\n") or b"\n>" in header:
                    return False
                if not words or words[0] != name.encode():
                    return False
                file.seek(offset + min(length, n_letters) - 1)
                if file.read(1).isspace():
                    return False
                end = offset + length // n_letters * n_bytes + length % n_letters
                end -= 0 if length % n_letters else n_bytes - n_letters
            return 0 <= os.path.getsize(path) - end <= _LINE_END and bool(rows)
    except (OSError, ValueError, ZeroDivisionError):
        return False
