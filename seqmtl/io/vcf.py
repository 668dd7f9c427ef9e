"""Read VCF in batches of records, and write it back with additional INFO entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn
from urllib.parse import quote

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, first_bytes, numbered_lines, readable, source_name
from seqmtl.io.tsv import WHOLE_NUMBER, is_coordinate, is_not_blank

CHROM = 0
POS = 1
ID = 2
REF = 3
ALT = 4
INFO = 7
_FIXED = b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
_N_FIXED = 8
_BYTES = 1 << 23  # of text per batch
_INFO_ID = re.compile(rb"##INFO=<ID=([^,>]+)")


#: A record: the eight fixed fields, and the rest of the line, if any, as one more.
Record = list[bytes]


class VcfReader:
    """A VCF file, plain, gzip or bgzip, read as a stream without blank lines; line ends become LF.

    Parameters
    ----------
    path : path-like
        File, or ``"-"`` for standard input.

    Attributes
    ----------
    source : str
        Name of the file, for messages.
    meta : list of bytes
        Header lines that begin with ``##``.
    columns : bytes
        The line that begins with ``#CHROM``.

    Raises
    ------
    InputFormatError
        If the file is BCF or damaged, or has no ``#CHROM`` line.
    """

    def __init__(self, path: PathLike) -> None:
        self.source = source_name(path)
        self.meta: list[bytes] = []
        self.columns = b""
        if self.source != "standard input" and first_bytes(path).startswith(b"BCF"):
            self._refuse(
                None,
                "the file is BCF, the binary form of VCF; convert it to VCF with: bcftools view "
                "-Oz -o OUT.vcf.gz",
            )
        self._lines = (line for line in numbered_lines(path) if is_not_blank(line[1]))
        for line, text in self._lines:
            if text.startswith(_FIXED):
                self.columns = text
                break
            if not text.startswith(b"##"):
                self._refuse(
                    line,
                    "the header of a VCF file must be lines in ## and one that begins with the "
                    f"columns CHROM to INFO separated by tabs, got {readable(text[:60])!r}; "
                    "correct it",
                )
            self.meta.append(text)
        if not self.columns:
            self._refuse(
                None,
                "a VCF file must have a line that begins with #CHROM and names the columns, but "
                "there is none; check that the file is complete",
            )
        self._n_columns = self.columns.count(b"\t") + 1

    @property
    def info_ids(self) -> set[str]:
        """The INFO fields that the header declares."""
        matches = (_INFO_ID.match(line) for line in self.meta)
        return {readable(match[1]) for match in matches if match}

    def contigs(self) -> list[str]:
        """Read to the end, check the records as :meth:`batches` does, and return the contigs."""
        names = dict.fromkeys(self._split(line, text)[0] for line, text in self._lines)
        return [readable(name) for name in names]

    def batches(self, size: int) -> Iterator[list[Record]]:
        """Yield the records, at most `size` at a time, fewer if lines are long.

        Raises
        ------
        InputFormatError
            If the number of columns differs from the header, POS is not a number, or REF or an
            entry of ALT is empty.
        """
        batch: list[Record] = []
        n_bytes = 0
        for line, text in self._lines:
            batch.append(self._split(line, text))
            n_bytes += len(text)
            if len(batch) == size or n_bytes >= _BYTES:
                yield batch
                batch = []
                n_bytes = 0
        if batch:
            yield batch

    def _split(self, line: int, text: bytes) -> Record:
        row = text.split(b"\t", _N_FIXED)
        n = text.count(b"\t") + 1
        if n != self._n_columns:
            self._refuse(
                line,
                f"a record must have {self._n_columns} columns separated by tabs as the header "
                f"says, got {n}; correct the line",
            )
        if not is_coordinate(row[POS]):
            position = readable(row[POS])[:60]
            self._refuse(line, f"POS must be {WHOLE_NUMBER}, got {position!r}; correct the line")
        if not row[REF] or b"" in row[ALT].split(b","):
            self._refuse(line, "REF and the entries of ALT must not be empty; correct the line")
        return row

    def _refuse(self, line: int | None, message: str) -> NoReturn:
        raise InputFormatError(message, path=self.source, line=line)


def add_info(row: Record, entry: bytes) -> bytes:
    """Return a record's line with an additional INFO entry."""
    if entry:
        info = row[INFO].rstrip(b";")
        entry = entry if info in (b".", b"") else info + b";" + entry
        row = [*row[:INFO], entry, *row[INFO + 1 :]]
    return b"\t".join(row) + b"\n"


def escape(text: str) -> str:
    """Escape as ``%XX`` (VCF 4.3) what is special in INFO or not printable ASCII."""
    return quote(text, safe="/+*<>[]()", errors="surrogateescape").replace("~", "%7E")
