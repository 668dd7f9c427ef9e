"""A state machine that reads FASTA from blocks of bytes of any size."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import NamedTuple, NoReturn

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    BYTE_ORDER_MARK,
    PathLike,
    byte_blocks,
    readable,
    source_name,
    too_long,
)
from seqmtl.sequences.alphabet import CASED_CODES, CHECKED_CODES, INVALID

#: Bytes of a sequence that are no letters.
BLANKS = b"\n\r \t"
_INVALID = bytes([INVALID])
_LONGEST_HEADER = 1 << 24
_CHECKED = 1 << 26  # bases read between two looks at the memory


class Header(NamedTuple):
    """Header of a FASTA record.

    Attributes
    ----------
    name : str
        First word after ``>``, or "".
    description : str
        The whole header without ``>``, stripped of blanks.
    line : int
        1-based line of the header.
    number : int
        1-based number of the record.
    source : str
        Name of the file.
    """

    name: str
    description: str
    line: int
    number: int
    source: str

    def refuse(self, message: str, line: int | None = None, name: str = "") -> NoReturn:
        """Raise an error that names the file, the line (by default the header's), the record."""
        name = name or self.name or str(self.number)
        raise InputFormatError(message, path=self.source, line=line or self.line, record=name)


def check_unique(header: Header, name: str, seen: Container[str]) -> None:
    """Refuse the name of a record if it has been seen.

    Raises
    ------
    InputFormatError
        If so.
    """
    if name in seen:
        header.refuse(
            "the name of a record must be unique in the file, but it is repeated; "
            "rename or remove one of them",
            name=name,
        )


def hold(buffer: bytearray, codes: bytes, path: PathLike) -> None:
    """Append codes to those held in memory.

    Raises
    ------
    MemoryLimitError
        If there is no room for more.
    """
    n = len(buffer)
    if n // _CHECKED < (n + len(codes)) // _CHECKED:
        what = f"{source_name(path)}: holding {n / 1e9:.1f} Gb and the next bases"
        require_memory(2.0 * _CHECKED + n / 8, what, "use a machine with more memory")
    buffer += codes


def scan_fasta(
    path: PathLike,
    *,
    unique_names: bool = True,
    keep_case: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[Header | bytes]:
    """Yield the header of each record, then its codes in pieces, in bounded memory.

    Lower case counts as upper case. Lines may end in LF or CRLF, and the last line end may be
    missing. Blank lines and blanks in a sequence are skipped.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    unique_names : bool
        Whether to reject repeated record names.
    keep_case : bool
        Whether codes distinguish lower case, see :data:`~seqmtl.sequences.alphabet.CASED_CODES`.
    on_read : callable, optional
        Called with the number of bytes read from the file since the last call.

    Yields
    ------
    Header or bytes
        bytes are non-empty codes, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        If the file is empty or not FASTA, a record has no sequence or an invalid letter, or a
        name is repeated; the message gives the file, the record and the line.
    """
    codes = CASED_CODES if keep_case else CHECKED_CODES
    scanner = _Scanner(source_name(path), unique_names, codes)
    for block in byte_blocks(path, on_read):
        yield from scanner.feed(block)
    yield from scanner.finish()


class _Scanner:
    """State of a FASTA file between two blocks of bytes."""

    def __init__(self, source: str, unique_names: bool, codes: bytes) -> None:
        self.source = source
        self.codes = codes  # code of every byte
        self.seen: set[str] | None = set() if unique_names else None
        self.header: Header | None = None
        self.open_header: bytes | None = None  # text of a header whose line is incomplete
        self.has_sequence = True
        self.at_line_start = True
        self.line = 1
        self.head = b""  # leading bytes of the file, up to the first that is not white space

    def feed(self, block: bytes) -> Iterator[Header | bytes]:
        """Process a block of bytes."""
        if self.header is None and self.open_header is None:
            self.head += block
            start = self.head.removeprefix(BYTE_ORDER_MARK).lstrip()
            if not start or BYTE_ORDER_MARK.startswith(self.head):
                self._check_length(self.head)
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
                    self._check_length(self.open_header)
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
        """Process the end of the file."""
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

    def _check_length(self, header: bytes) -> None:
        if len(header) > _LONGEST_HEADER:
            raise too_long("a FASTA header", _LONGEST_HEADER, self.source, self.line)

    @staticmethod
    def _end_of_sequence(block: bytes, place: int) -> int:
        """Return the end of the sequence at `place`: the next ``>`` at the start of a line."""
        end = block.find(b">", place + 1)
        while end >= 0 and block[end - 1] != ord("\n"):
            end = block.find(b">", end + 1)
        return len(block) if end < 0 else end

    def _close_header(self, text: bytes) -> Header:
        description = readable(text).strip()
        words = description.split(None, 1)
        number = 1 if self.header is None else self.header.number + 1
        header = Header(words[0] if words else "", description, self.line, number, self.source)
        if self.seen is not None and header.name:
            check_unique(header, header.name, self.seen)
            self.seen.add(header.name)
        self.header, self.open_header = header, None
        self.has_sequence, self.at_line_start = False, True
        self.line += 1
        return header

    def _encode(self, text: bytes) -> bytes:
        codes = text.translate(self.codes, BLANKS)
        if _INVALID in codes:
            place = next(
                i
                for i, byte in enumerate(text)
                if byte not in BLANKS and CHECKED_CODES[byte] == INVALID
            )
            assert self.header is not None
            self.header.refuse(
                f"a sequence must be of IUPAC nucleotide letters, got {chr(text[place])!r}; "
                "correct the sequence",
                self.line + text.count(b"\n", 0, place),
            )
        self.line += text.count(b"\n")
        return codes

    def _check_sequence(self) -> None:
        if not self.has_sequence:
            assert self.header is not None
            self.header.refuse(
                "the record has a header but no sequence; remove it or download the file again"
            )

    def _refuse_foreign(self, start: bytes) -> NoReturn:
        first = readable(start[:40].split(b"\n", 1)[0].strip())
        kind = " (this looks like FASTQ)" if first.startswith("@") else ""
        if "\t" in first:
            kind = " (this looks like a table)"
        raise InputFormatError(
            f"the file must be FASTA, starting with '>', but it starts with {first!r}"
            f"{kind}; check that it is the right one",
            path=self.source,
            line=1 + self.head.count(b"\n", 0, max(0, len(self.head) - len(start))),
        )
