"""Read plain or gzip files: in blocks of bounded size, as numbered lines, or small ones whole.

What is held as a whole has a bound, so that a damaged or malicious file is refused before it fills
the memory: a line, and a text that is not read line by line. Sequences are bounded by the memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from gzip import BadGzipFile
from typing import IO, Any, TypeAlias, cast

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.files.pipes import is_pipe, open_pipe, peek_pipe

_DAMAGED: tuple[type[Exception], ...] = (BadGzipFile, zlib.error)
try:  # twice as fast
    from isal.igzip import GzipFile
    from isal.isal_zlib import IsalError

    _DAMAGED += (cast("type[Exception]", IsalError),)
except ImportError:
    from gzip import GzipFile

#: Decompressed bytes handled at a time.
BLOCK_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 17
_START = 1 << 16  # bytes that tell the format
#: Bytes of the longest line, much more than a window or the samples of a VCF record take.
LONGEST_LINE = 1 << 28
#: Bytes of the largest file that is read as a whole, such as a tree or an alignment.
LARGEST_TEXT = 1 << 30

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_LAST_BYTES = 1 << 17  # those of the largest member of bgzip, and zeros after it
_BGZIP_MARK, _BGZIP_MARK_BEGIN = b"BC\2\0", 12  # in its header; its size follows
_FOREIGN = {
    b"BZh": "bzip2-compressed",
    b"\xfd7zXZ": "xz-compressed",
    b"(\xb5/\xfd": "zstd-compressed",
    b"PK\x03\x04": "a zip archive or an Excel workbook (save that as CSV)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (save it as CSV)",
    b"PAR1": "Parquet (pandas writes CSV of it)",
    b"\x89HDF": "HDF5",
    b"\x93NUMPY": "an array of NumPy",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"BAM\x01": "BAM (regtools or paftools.js make junctions of it)",
    b"CRAM": "CRAM (regtools or paftools.js make junctions of it)",
    b"C'A\x1a": "2bit (twoBitToFa converts it)",
    b"\x1aA'C": "2bit (twoBitToFa converts it)",
    b"<": "HTML or XML (was it downloaded from the right address?)",
    b"version https://git-lfs": "a pointer of Git LFS (git lfs pull fetches the file itself)",
}
#: How texts of other formats begin, and what they are.
_FOREIGN_TEXTS = {
    ">": "FASTA",
    "@(HD|SQ|RG|PG|CO)\t": "SAM (samtools fasta makes FASTA of it)",
    "@": "FASTQ (seqtk seq -A makes FASTA of it)",
    r"\{|\[": "JSON (write its records as a table)",
    "LOCUS {2}": "GenBank (any2fasta makes FASTA of it)",
    "ID {3}": "EMBL (any2fasta makes FASTA of it)",
    "##fileformat=VCF": "VCF, which is for seqmtl variants",
    "##gff-version": "GFF3, which is for seqmtl dataset",
    "(track|browser)[ \t]": "BED, which needs its genome (--reference)",
    "CLUSTAL": "an alignment of Clustal (write aligned FASTA)",
    "# STOCKHOLM": "an alignment in Stockholm format (write aligned FASTA)",
    "#NEXUS": "Nexus",
}
_LONGEST_MAGIC = 512
_TAR_MAGIC = slice(257, 262)

#: Written by some editors before UTF-8 text.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]
Output = PathLike | IO[bytes]
Stream: TypeAlias = "io.BufferedReader[Any]"


def source_name(path: PathLike) -> str:
    """Return the name of an input for messages; ``"-"`` is standard input."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


@contextmanager
def open_input(path: PathLike) -> Iterator[Stream]:
    """Open a file for reading, decompressing gzip and bgzip.

    Parameters
    ----------
    path : path-like
        File, recognised as gzip by its first bytes, or ``"-"`` for standard input.

    Raises
    ------
    InputFormatError
        If the file has another compression; when it is read, if gzip data are truncated or damaged.
    OSError
        If the file cannot be opened or read.
    """
    name = source_name(path)
    with open_raw(path) as file:
        raw = _RawBytes(file)
        stream: Stream = io.BufferedReader(raw, _BUFFER_BYTES)
        if _checked_start(stream, name).startswith(_GZIP):
            stream = io.BufferedReader(_Decompressed(stream, raw, name), _BUFFER_BYTES)
            _checked_start(stream, name, within="gzip of ")
        yield stream


class _RawBytes(io.RawIOBase):
    """The bytes of a file as they are stored; `last` are the last 128 KiB so far."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.last = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._file.readinto(buffer)
        self.last = (self.last + bytes(buffer[max(0, n - _LAST_BYTES) : n]))[-_LAST_BYTES:]
        return n


class _Decompressed(io.RawIOBase):
    """The contents of a file in gzip, which may end in bgzip; errors name the file."""

    def __init__(self, stream: Stream, raw: _RawBytes, name: str) -> None:
        self._stream, self._raw, self._name = GzipFile(fileobj=stream), raw, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = self._stream.readinto(buffer)
        except EOFError:
            raise _truncated(self._name) from None
        except _DAMAGED as error:
            raise InputFormatError(
                f"the gzip data are damaged ({error}); download or write the file again",
                path=self._name,
            ) from error
        if not n and _is_cut_bgzip(self._raw.last):
            raise _truncated(self._name)
        return n


def _is_cut_bgzip(end: bytes) -> bool:
    """Return whether the last member of a file is one of bgzip that holds bytes.

    A whole file of bgzip ends in an empty member, which zeros may follow. One that was cut between
    two members is gzip, too.
    """
    mark = len(end)
    while (mark := end.rfind(_BGZIP_MARK, 0, mark)) >= _BGZIP_MARK_BEGIN:
        begin = mark - _BGZIP_MARK_BEGIN
        stop = begin + int.from_bytes(end[mark + len(_BGZIP_MARK) :][:2], "little") + 1
        is_last = stop <= len(end) and not end[stop:].strip(b"\0")
        if is_last and end[begin:].startswith(_GZIP):
            return end[stop - 4 : stop] != bytes(4)  # bytes that the member holds
    return False


def _truncated(name: str) -> InputFormatError:
    return InputFormatError(
        "the gzip data end early: the file is truncated; download or write it again", path=name
    )


def byte_blocks(path: PathLike, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the contents of a file in non-empty blocks, see :func:`open_input`."""
    with open_input(path) as stream:
        while block := stream.read(size):
            yield block


def _checked_start(stream: Stream, name: str, within: str = "") -> bytes:
    """Return the first bytes, or refuse what no reader takes by them; nothing is consumed."""
    start = stream.peek(_LONGEST_MAGIC)
    kind = kind_of_bytes(start) or ("gzip" if within and start.startswith(_GZIP) else "")
    if kind:
        raise InputFormatError(
            f"the file is {within}{kind}; give it as plain text or gzip (UTF-8)", path=name
        )
    return start


def kind_of_bytes(start: bytes) -> str:
    """Return what a file that no reader takes is by its first bytes, or "" if it is not known."""
    if start[_TAR_MAGIC].startswith(b"ustar"):
        return "a tar archive (tar -xf unpacks it)"
    start = start.removeprefix(BYTE_ORDER_MARK).lstrip()
    return next((kind for magic, kind in _FOREIGN.items() if start.startswith(magic)), "")


def kind_of_text(first_line: str) -> str:
    """Return what a text is by its first line, with what to do, or "" if it is not known."""
    return next((kind for start, kind in _FOREIGN_TEXTS.items() if re.match(start, first_line)), "")


def too_long(
    what: str, max_bytes: int, path: PathLike, line: int | None = None
) -> InputFormatError:
    """Return the error for what is longer than its bound."""
    return InputFormatError(
        f"{what} must have at most {max_bytes:,} bytes, got more; check that it is the right file",
        path=source_name(path),
        line=line,
    )


def line_blocks(
    path: PathLike, longest: int = LONGEST_LINE, size: int = BLOCK_BYTES
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of a file in blocks: the 1-based number of the first, and the lines.

    Lines end in LF, CRLF or CR, and have neither line ends nor a byte order mark.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    longest : int
        Bytes of the longest line.
    size : int
        Bytes of a block, which goes on to the end of its last line.

    Raises
    ------
    InputFormatError
        If a line has a NUL byte, or is longer than `longest` bytes by about a block.
    """
    number = 1
    with open_input(path) as stream:
        while block := stream.read(size):
            line_end = stream.readline(longest)
            if len(line_end) == longest and not line_end.endswith(b"\n"):
                raise too_long("a line", longest, path, number + block.count(b"\n"))
            block += line_end
            if number == 1:
                block = block.removeprefix(BYTE_ORDER_MARK)
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            nul = block.find(b"\0")
            if nul >= 0:
                raise InputFormatError(
                    "a text must have no NUL bytes, but this line has: the file is binary or "
                    "damaged; check that it is the right one, or copy it again",
                    path=source_name(path),
                    line=number + block.count(b"\n", 0, nul),
                )
            lines = block.removesuffix(b"\n").split(b"\n")
            yield number, lines
            number += len(lines)


def numbered_lines(
    path: PathLike, longest: int = LONGEST_LINE, size: int = BLOCK_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield the 1-based number and the bytes of every line of a file, see :func:`line_blocks`."""
    for number, lines in line_blocks(path, longest, size):
        yield from enumerate(lines, number)


def readable(raw: bytes) -> str:
    """Decode UTF-8; invalid bytes become escapes."""
    return raw.decode("utf-8", errors="backslashreplace")


def first_bytes(path: PathLike) -> bytes:
    """Return the first bytes of a file, decompressed, without byte order mark.

    Standard input and pipes are not consumed.
    """
    if is_pipe(path):
        start = peek_pipe(path)
    else:
        with open_raw(path) as file:
            start = file.peek(_START) if os.fspath(path) == "-" else file.read(_START)
    if start.startswith(_GZIP):
        try:
            start = zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(start, _START)
        except zlib.error:  # the reader will report the error
            start = b""
    return start.removeprefix(BYTE_ORDER_MARK)


def is_compressed(path: PathLike) -> bool:
    """Tell by its first bytes whether a file is gzip (or bgzip)."""
    with open_raw(path) as stream:
        return bool(stream.read(len(_GZIP)) == _GZIP)


def open_raw(path: PathLike) -> AbstractContextManager[Any]:
    """Open a file for reading the bytes that are stored; ``"-"`` is standard input."""
    if os.fspath(path) == "-":
        return nullcontext(sys.stdin.buffer)
    return open_pipe(path) if is_pipe(path) else io.BufferedReader(_InputFile(path))


class _InputFile(io.FileIO):
    """A file whose errors of reading, such as of a damaged disk, name it."""

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            error.filename = self.name
            raise


def check_regular(path: str | None, what: str) -> None:
    """Check that a path, if there is one, is a regular file, which can be read several times.

    Raises
    ------
    SeqmtlError
        If it is not; `what` is what the file has.
    """
    if path is not None and not os.path.isfile(path):
        fault = "not a regular file" if os.path.exists(path) else "no such file"
        raise SeqmtlError(f"{path}: {fault}; give the {what} as a file")


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    InputFormatError
        If it has more than `LARGEST_TEXT` bytes.
    """
    with open_raw(path) as stream:
        return _read_all(stream, LARGEST_TEXT, path)


def read_text(path: PathLike, what: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a UTF-8 file, plain or gzip, without byte order mark.

    Parameters
    ----------
    path : path-like
        File.
    what : str
        What the file should be, for messages.
    largest : int
        Most bytes, decompressed.

    Raises
    ------
    InputFormatError
        If the file cannot be read, is not text, or is larger.
    """
    try:
        with open_input(path) as stream:
            return _read_all(stream, largest, path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        fault = getattr(error, "message", None) or getattr(error, "strerror", None) or error
        message = f"cannot be read as {what}: {fault}"
        raise InputFormatError(message, path=os.fspath(path)) from error


def _read_all(stream: IO[bytes], largest: int, path: PathLike) -> bytes:
    content = stream.read(largest + 1)
    if len(content) > largest:
        raise too_long("the text", largest, path)
    return content


def read_json(path: PathLike) -> Any:
    """Return the contents of a JSON document.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not JSON.
    """
    try:
        return json.loads(read_bytes(path).decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def sha256_of(path: PathLike) -> str:
    """Return the digest of a file, of any size.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with open_raw(path) as stream:
        return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()
