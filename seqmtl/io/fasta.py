"""FASTA: a streaming reader, and windows from FASTA files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.io._fields import readable
from seqmtl.io._labels import LabelColumn
from seqmtl.io._stream import BYTE_ORDER_MARK, PathLike, byte_blocks, source_name
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID
from seqmtl.sequences.windows import name_table

_BLANKS = b"\n\r \t"
_INVALID = bytes([INVALID])
_KEY_VALUE = re.compile(r"(?:^|[\s,|;])(\w+)=([^\s,|;]+)")


class Header(NamedTuple):
    """Header of a FASTA record.

    Attributes
    ----------
    name : str
        First word after ``>``; empty where there is none.
    description : str
        The whole header without ``>`` and outer blanks.
    line : int
        1-based line of the header.
    number : int
        1-based number of the record.
    """

    name: str
    description: str
    line: int
    number: int

    @property
    def label(self) -> str:
        """Name of the record for messages: its number where it has none."""
        return self.name or str(self.number)


class FastaSource(NamedTuple):
    """A FASTA file of windows, and what holds for all of its records.

    Attributes
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"``.
    organism : str or None
        Organism; None to take it from the headers (``organism=NAME``).
    label : int or None
        1, or -1 or 0 for negatives; None to take it from the headers (``label=1``).
    """

    path: PathLike
    organism: str | None = None
    label: int | None = None


def scan_fasta(path: PathLike, *, unique_names: bool = True) -> Iterator[Header | bytes]:
    """Yield each record's header, then its codes in pieces, in bounded memory.

    Lower case is upper case; line ends may be LF or CRLF, the last may be missing; blank lines
    and blanks in a sequence are skipped.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    unique_names : bool
        Whether to refuse a second record of the same name.

    Yields
    ------
    Header or bytes
        bytes are non-empty codes, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        If the file is empty or not FASTA, a record has no sequence or an invalid letter, or a
        name comes twice; names the file, the record and the line.
    """
    scanner = _Scanner(source_name(path), unique_names)
    for block in byte_blocks(path):
        yield from scanner.feed(block)
    yield from scanner.finish()


class _Scanner:
    """State of a FASTA file between two blocks of bytes."""

    def __init__(self, source: str, unique_names: bool) -> None:
        self.source = source
        self.seen: set[str] | None = set() if unique_names else None
        self.header: Header | None = None
        self.open_header: bytes | None = None  # text of a header whose line has not ended yet
        self.has_sequence = True
        self.at_line_start = True
        self.line = 1
        self.head = b""  # first bytes of the file, until one of them is not white space

    def feed(self, block: bytes) -> Iterator[Header | bytes]:
        """Take a block of bytes."""
        if self.header is None and self.open_header is None:
            self.head += block
            start = self.head.removeprefix(BYTE_ORDER_MARK).lstrip()
            if not start or BYTE_ORDER_MARK.startswith(self.head):
                return
            if not start.startswith(b">"):
                self._refuse_foreign(start)
            self.line += self.head.count(b"\n", 0, len(self.head) - len(start))
            block, self.head, self.at_line_start = start, b"", True
        place = 0
        while place < len(block):
            if self.open_header is not None:
                end = block.find(b"\n", place)
                if end < 0:
                    self.open_header += block[place:]
                    return
                yield self._close_header(self.open_header + block[place:end])
                place = end + 1
            elif self.at_line_start and block[place] == ord(">"):
                self._check_sequence()
                self.open_header = b""
                place += 1
            else:
                end = self._end_of_sequence(block, place)
                codes = self._encode(block[place:end])
                self.at_line_start = block[end - 1] == ord("\n")
                place = end
                if codes:
                    self.has_sequence = True
                    yield codes

    def finish(self) -> Iterator[Header]:
        """Take the end of the file."""
        if self.open_header is not None:
            yield self._close_header(self.open_header)
        if self.header is None:
            if self.head.strip():
                self._refuse_foreign(self.head)
            raise InputFormatError(
                "the file must hold FASTA records, but it is empty; check how it was written",
                path=self.source,
            )
        self._check_sequence()

    @staticmethod
    def _end_of_sequence(block: bytes, place: int) -> int:
        """Return where the sequence that begins at `place` ends: at a ``>`` that begins a line."""
        end = block.find(b">", place + 1)
        while end >= 0 and block[end - 1] != ord("\n"):
            end = block.find(b">", end + 1)
        return len(block) if end < 0 else end

    def _close_header(self, text: bytes) -> Header:
        description = readable(text).strip()
        words = description.split(None, 1)
        number = 1 if self.header is None else self.header.number + 1
        header = Header(words[0] if words else "", description, self.line, number)
        if self.seen is not None and header.name:
            if header.name in self.seen:
                raise InputFormatError(
                    "the name of a record must be unique in the file, but it comes again; "
                    "rename or remove one of them",
                    path=self.source, line=self.line, record=header.name,
                )
            self.seen.add(header.name)
        self.header, self.open_header = header, None
        self.has_sequence, self.at_line_start = False, True
        self.line += 1
        return header

    def _encode(self, text: bytes) -> bytes:
        codes = text.translate(CHECKED_CODES, _BLANKS)
        if _INVALID in codes:
            place = next(
                i for i, byte in enumerate(text)
                if byte not in _BLANKS and CHECKED_CODES[byte] == INVALID
            )
            assert self.header is not None
            raise InputFormatError(
                f"a sequence must be of IUPAC nucleotide letters, got {chr(text[place])!r}; "
                "correct the sequence",
                path=self.source,
                line=self.line + text.count(b"\n", 0, place),
                record=self.header.label,
            )
        self.line += text.count(b"\n")
        return codes

    def _check_sequence(self) -> None:
        if not self.has_sequence:
            assert self.header is not None
            raise InputFormatError(
                "a record must have a sequence, but there is none behind its header; remove it "
                "or fetch the file again",
                path=self.source, line=self.header.line, record=self.header.label,
            )

    def _refuse_foreign(self, start: bytes) -> None:
        first = readable(start[:40].split(b"\n", 1)[0].strip())
        kind = " (this looks like FASTQ)" if first.startswith("@") else ""
        if "\t" in first:
            kind = " (this looks like a table)"
        raise InputFormatError(
            f"the file must be FASTA, whose first character is '>', but it begins with {first!r}"
            f"{kind}; is it the right one?",
            path=self.source,
            line=1 + self.head.count(b"\n", 0, max(0, len(self.head) - len(start))),
        )


def read_fasta(path: PathLike) -> Iterator[tuple[str, str, NDArray[np.uint8]]]:
    """Yield the records of a FASTA file one by one.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.

    Yields
    ------
    name : str
        First word of the header.
    description : str
        The whole header without ``>``.
    codes : ndarray of uint8
        Encoded sequence, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        See :func:`scan_fasta`.
    """
    for header, codes in _records(path, unique_names=True):
        yield header.name, header.description, codes


def _records(path: PathLike, *, unique_names: bool) -> Iterator[tuple[Header, NDArray[np.uint8]]]:
    header: Header | None = None
    codes = bytearray()
    for item in scan_fasta(path, unique_names=unique_names):
        if isinstance(item, bytes):
            codes += item
            continue
        if header is not None:
            yield header, np.frombuffer(codes, dtype=np.uint8)
        header, codes = item, bytearray()
    if header is not None:
        yield header, np.frombuffer(codes, dtype=np.uint8)


def read_fasta_windows(
    sources: PathLike | Sequence[FastaSource | tuple[PathLike, str | None, int | None]],
    *,
    window: int | None = None,
    require_labels: bool = True,
) -> Windows:
    """Read windows from FASTA files, one per organism and label, or with both in the headers.

    A header gives them as ``key=value``, set off by blanks, commas, ``|`` or ``;``, as in
    ``> chr_num=1, strand=+, position=180699, label=-1``. What is given with the file holds for
    all of its records; a header that gives another label is refused.

    Parameters
    ----------
    sources : path-like or sequence of FastaSource
        One file, or triples of path, organism and label (None: see the headers).
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: the whole sequences, which must be of one length.
    require_labels : bool
        Whether every record must have a label. Without one it is 0.

    Returns
    -------
    Windows
        Names are the first words of the headers, or the 1-based numbers of the records where
        the headers begin with a ``key=value``. The task is ``"task"`` where no organism is given.

    Raises
    ------
    InputFormatError
        If a file is not FASTA (see :func:`scan_fasta`), names come twice, labels are missing or
        wrong, or lengths differ.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [FastaSource(sources)]
    collector = _Collector(window, require_labels)
    for source in sources:
        collector.read(FastaSource(*source))
    return collector.windows()


class _Collector:
    """Windows gathered from FASTA files so far."""

    def __init__(self, window: int | None, require_labels: bool) -> None:
        if window is not None and window < 1:
            raise ValueError(
                f"window must be 1 or more, got {window}; leave it out for whole sequences"
            )
        self.window, self.require_labels = window, require_labels
        self.length = window or 0
        self.first = ""  # where the length was first seen
        self.codes = bytearray()
        self.names: list[str] = []
        self.organisms: list[str | None] = []
        self.labels: list[int] = []

    def read(self, source: FastaSource) -> None:
        """Add the records of one file."""
        path = source_name(source.path)
        labels = LabelColumn(path)
        fixed = None if source.label is None else labels.parse_text(str(source.label), 0)
        seen: set[str] = set()
        for header, codes in _records(source.path, unique_names=False):
            name, values = parse_header(header)
            if name in seen:
                raise InputFormatError(
                    "the name of a record must be unique in the file, but it comes again; "
                    "rename or remove one of them",
                    path=path, line=header.line, record=name,
                )
            seen.add(name)
            self.names.append(name)
            self.organisms.append(source.organism or values.get("organism"))
            self.labels.append(self._label(values.get("label"), fixed, labels, header, name))
            self._add(codes, path, header.line, name)

    def _label(
        self, text: str | None, fixed: int | None, labels: LabelColumn, header: Header, name: str
    ) -> int:
        if text is None:
            if fixed is None and self.require_labels:
                raise InputFormatError(
                    "a record must have a label; give one with the file, or write label=1 or "
                    "label=-1 in the header",
                    path=labels.source, line=header.line, record=name,
                )
            return fixed or 0
        label = labels.parse_text(text, header.line)
        if fixed is not None and label != fixed:
            raise InputFormatError(
                f"the label must be the file's, {fixed}, but the header says {text}; correct one",
                path=labels.source, line=header.line, record=name,
            )
        return label

    def _add(self, codes: NDArray[np.uint8], path: str, line: int, name: str) -> None:
        if self.window is None and not self.length:
            self.length, self.first = codes.size, f"{path}:{line}"
        if self.window is None and codes.size != self.length:
            raise InputFormatError(
                f"sequences must be of one length, got {codes.size} bases here and {self.length} in "
                f"{self.first}; cut them to one length, or give a window (at most "
                f"{min(codes.size, self.length)}) to take the centre of each",
                path=path, line=line, record=name,
            )
        if codes.size < self.length:
            raise InputFormatError(
                f"a sequence must have at least the window's {self.window} bases, got {codes.size}; "
                "choose a smaller window or leave the record out",
                path=path, line=line, record=name,
            )
        left = (codes.size - self.length) // 2
        self.codes += codes[left : left + self.length].data

    def windows(self) -> Windows:
        """Return all that was gathered."""
        with_organism = [name for name in self.organisms if name is not None]
        if with_organism and len(with_organism) < len(self.organisms):
            record = self.names[self.organisms.index(None)]
            raise InputFormatError(
                "all records must have an organism or none, but this one has none; write "
                "organism=NAME in its header or give one with the file",
                record=record,
            )
        task_names, task_ids = name_table(with_organism) if with_organism else (["task"], None)
        return Windows(
            np.frombuffer(self.codes, dtype=np.uint8),
            np.arange(len(self.names), dtype=np.int64) * self.length,
            self.length,
            labels=np.array(self.labels, dtype=np.int8),
            task_ids=task_ids,
            task_names=task_names,
            names=self.names,
        )


def parse_header(header: Header) -> tuple[str, dict[str, str]]:
    """Split a header into the record's name and its ``key=value`` pairs (keys in lower case).

    The name is the first word up to a pair; the record's number where nothing is left.
    """
    values = {key.lower(): value for key, value in _KEY_VALUE.findall(header.description)}
    pair = _KEY_VALUE.search(header.name)
    name = header.name[: pair.start()] if pair else header.name
    return name.rstrip(",|;") or str(header.number), values
