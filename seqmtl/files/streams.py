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
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any, cast

from seqmtl.exceptions import InputFormatError

#: Decompressed bytes handled at a time.
BLOCK_BYTES = 1 << 20
#: Compressed bytes read at a time, the maximum size of a bgzip block.
RAW_BYTES = 1 << 16
#: Bytes of the longest line, much more than a window or the samples of a VCF record take.
LONGEST_LINE = 1 << 28
#: Bytes of the largest file that is read as a whole, such as a tree or an alignment.
LARGEST_TEXT = 1 << 30
#: Bytes of a pipe to hold in memory, so that a command can read them again.
MAX_PIPE_BYTES = 1 << 28
#: Zero bytes after every block of lines, so that fixed-width reads stay inside it.
PAD_BYTES = 256

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_BGZIP = re.compile(rb"\x1f\x8b\x08[\x04-\x07].{8}BC\x02\x00", re.DOTALL)
_BGZIP_HEADER = 18  # bytes
_FOREIGN = {
    b"BZh": "bzip2-compressed",
    b"\xfd7zXZ": "xz-compressed",
    b"(\xb5/\xfd": "zstd-compressed",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"BAM\x01": "BAM (regtools or paftools.js make junctions of it)",
    b"CRAM": "CRAM (regtools or paftools.js make junctions of it)",
    b"C'A\x1a": "2bit (twoBitToFa converts it)",
    b"\x1aA'C": "2bit (twoBitToFa converts it)",
}
_LONGEST_MAGIC = 512
_TAR_MAGIC = slice(257, 262)

#: Written by some editors before UTF-8 text.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]
Output = PathLike | IO[bytes]


def source_name(path: PathLike) -> str:
    """Return the name of an input for messages; ``"-"`` is standard input."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def byte_blocks(path: PathLike, on_read: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the contents of a file in non-empty blocks, decompressing gzip and bgzip.

    Parameters
    ----------
    path : path-like
        File, recognised as gzip by its first bytes, or ``"-"`` for standard input.
    on_read : callable, optional
        Called with the number of bytes read from the file since the last call.

    Raises
    ------
    InputFormatError
        If gzip data are truncated or damaged, or the file has another compression.
    OSError
        If the file cannot be opened or read.
    """
    name = source_name(path)
    with _open_raw(path) as raw:
        stream = raw if on_read is None else _Counted(raw, on_read)
        first = stream.read(max(RAW_BYTES, _LONGEST_MAGIC))
        _refuse_foreign(first, name)
        if first.startswith(_GZIP):
            blocks = _inflate(stream, first, name)
            for block in islice(blocks, 1):
                _refuse_foreign(block, name, within="gzip of ")
                yield block
            yield from blocks
            return
        while first:
            yield first
            first = stream.read(BLOCK_BYTES)


def _refuse_foreign(start: bytes, name: str, within: str = "") -> None:
    """Refuse what is no text by its first bytes."""
    kinds = [kind for magic, kind in _FOREIGN.items() if start.startswith(magic)]
    if start[_TAR_MAGIC].startswith(b"ustar"):
        kinds.append("a tar archive (tar -xf unpacks it)")
    if within and start.startswith(_GZIP):
        kinds.append("gzip")
    if kinds:
        raise InputFormatError(
            f"the file is {within}{kinds[0]}; give it as plain text or gzip (UTF-8)", path=name
        )


@dataclass(frozen=True)
class Lines:
    """A block of complete lines.

    Attributes
    ----------
    text : bytes
        The lines, each ending in a line feed, followed by `PAD_BYTES` zeros.
    first_line : int
        1-based number of the first line.
    """

    text: bytes
    first_line: int

    def rows(self) -> Iterator[tuple[int, bytes]]:
        """Yield the 1-based number and the bytes of every line, without its line end."""
        return enumerate(self.text[:-PAD_BYTES].split(b"\n")[:-1], self.first_line)


def too_long(
    what: str, max_bytes: int, path: PathLike, line: int | None = None
) -> InputFormatError:
    """Return the error for what is longer than its bound."""
    return InputFormatError(
        f"{what} must have at most {max_bytes:,} bytes, got more; check that it is the right file",
        path=source_name(path),
        line=line,
    )


def line_blocks(path: PathLike, longest: int = LONGEST_LINE) -> Iterator[Lines]:
    """Yield the lines of a file in blocks of about `BLOCK_BYTES`, without byte order mark.

    CRLF is converted to LF, and a missing line end is added to the last line. A line longer than
    a block makes a longer block.

    Raises
    ------
    InputFormatError
        If a line has a NUL byte, or is longer than `longest` bytes by about a block.
    """
    padding = bytes(PAD_BYTES)
    parts: list[bytes] = []
    size = 0
    line = 1

    def lines(end: bytes | memoryview) -> Lines:
        text = b"".join([*parts, end, padding])
        nul = text.find(b"\0", 0, len(text) - PAD_BYTES)
        if nul >= 0:
            raise InputFormatError(
                "a text must have no NUL bytes, but this line has: the file is binary or damaged; "
                "check that it is the right one, or copy it again",
                path=source_name(path),
                line=line + text.count(b"\n", 0, nul),
            )
        if line == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        return Lines(text.replace(b"\r\n", b"\n") if b"\r" in text else text, line)

    for block in byte_blocks(path):
        size += len(block)
        cut = block.rfind(b"\n") + 1 if size >= BLOCK_BYTES else 0
        if cut:
            complete = lines(memoryview(block)[:cut])
            yield complete
            line += complete.text.count(b"\n")
            block = block[cut:]
            parts = []
            size = len(block)
        if block:
            parts.append(block)
        if size > max(longest, BLOCK_BYTES):
            line += sum(part.count(b"\n") for part in parts)
            raise too_long("a line", longest, path, line)
    if parts:
        yield lines(b"" if parts[-1].endswith(b"\n") else b"\n")


def numbered_lines(path: PathLike, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """Yield the 1-based number and the bytes of every line of a file, see :func:`line_blocks`.

    CR alone is a line end, too.
    """
    n_lone_cr = 0  # lines that end in CR
    for block in line_blocks(path, longest):
        text = block.text
        line = block.first_line + n_lone_cr
        if b"\r" in text:
            n_lone_cr += text.count(b"\r")
            text = text.replace(b"\r", b"\n")
        yield from Lines(text, line).rows()


def pop_header(
    blocks: Iterator[Lines], is_header: Callable[[bytes], bool]
) -> tuple[bytes, int, Iterator[Lines]]:
    """Split off the lines up to the first for which `is_header` is true.

    Returns
    -------
    header : bytes
        The header line without its line end; empty if there is none.
    line : int
        Its 1-based number, or 0 if there is none.
    remainder : iterator of Lines
        The lines that follow.
    """
    for block in blocks:
        begin = 0
        for line, header in block.rows():
            begin += len(header) + 1
            if is_header(header):
                return header, line, chain([Lines(block.text[begin:], line + 1)], blocks)
    return b"", 0, iter(())


def readable(raw: bytes) -> str:
    """Decode UTF-8; invalid bytes become escapes."""
    return raw.decode("utf-8", errors="backslashreplace")


def first_bytes(path: PathLike) -> bytes:
    """Return the first bytes of a file, decompressed, without byte order mark.

    Standard input is not consumed.
    """
    if os.fspath(path) == "-":
        beginning = cast(io.BufferedReader, sys.stdin.buffer).peek(RAW_BYTES)
    elif not _n_commands and is_pipe(path):
        raise InputFormatError(
            "a pipe can be read only once; write it into a file, and give that",
            path=os.fspath(path),
        )
    else:
        with _open_raw(path) as stream:
            beginning = stream.read(RAW_BYTES)
    if beginning.startswith(_GZIP):
        try:
            beginning = zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(beginning, RAW_BYTES)
        except zlib.error:  # the reader will report the error
            beginning = b""
    return beginning.removeprefix(BYTE_ORDER_MARK)


def is_compressed(path: PathLike) -> bool:
    """Tell by its first bytes whether a file is gzip (or bgzip)."""
    with _open_raw(path) as stream:
        return bool(stream.read(len(_GZIP)) == _GZIP)


def _open_raw(path: PathLike) -> AbstractContextManager[IO[Any]]:
    if os.fspath(path) == "-":
        return nullcontext(sys.stdin.buffer)
    if not (_n_commands and is_pipe(path)):
        return open(path, "rb")
    facts = os.stat(path)
    with _lock:
        pipe = _pipes.setdefault((facts.st_dev, facts.st_ino), _Pipe(os.fspath(path)))
    return io.BufferedReader(_PipeReader(pipe), RAW_BYTES)


def is_pipe(path: PathLike) -> bool:
    """Return whether a path is a pipe, such as ``<(zcat x.gz)`` of a shell."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


@contextmanager
def buffered_pipes() -> Iterator[None]:
    """Buffer up to `MAX_PIPE_BYTES` read from each pipe in the block, so that it can be reread."""
    global _n_commands
    with _lock:
        _n_commands += 1
    try:
        yield
    finally:
        with _lock:
            _n_commands -= 1
            if not _n_commands:  # none that runs this one, or runs in another thread
                for pipe in _pipes.values():
                    pipe.close()
                _pipes.clear()


class _Pipe:
    """The content of a pipe, read as far as needed, and buffered unless it is large."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None
        self._content: bytearray | None = bytearray()
        self._n_read = 0
        self._is_read = False
        self._lock = threading.Lock()

    def read(self, first: int, size: int) -> bytes:
        """Return bytes from a position on, at least one before the end."""
        with self._lock:
            if self._stream is None:
                self._stream = open(self._path, "rb", buffering=0)
            if first == self._n_read:
                if self._is_read:  # a named pipe may go on for the next program
                    return b""
                data = self._stream.read(size)
                self._is_read = not data
                self._n_read += len(data)
                if self._content is not None:
                    self._content += data
                    if self._n_read > MAX_PIPE_BYTES:
                        self._content = None
                return data
            if self._content is None:
                raise InputFormatError(
                    f"a pipe of more than {MAX_PIPE_BYTES:,} bytes can be read only once, but this "
                    "command reads it again; write it into a file, and give that",
                    path=self._path,
                )
            return bytes(self._content[first : first + size])

    def close(self) -> None:
        """Close it; who writes to it may then end."""
        if self._stream is not None:
            self._stream.close()


class _PipeReader(io.RawIOBase):
    """Reads a pipe from its beginning."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._pipe.read(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


_lock = threading.Lock()
_n_commands = 0
_pipes: dict[tuple[int, int], _Pipe] = {}  # by their numbers, of the commands that run


class _Counted:
    """A stream that reports the number of bytes read."""

    def __init__(self, stream: IO[bytes], on_read: Callable[[int], None]) -> None:
        self._stream = stream
        self._on_read = on_read

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._on_read(len(data))
        return data


def _inflate(stream: IO[bytes] | _Counted, data: bytes, name: str) -> Iterator[bytes]:
    """Decompress a sequence of gzip members; a last one of bgzip must be empty."""
    is_bgzip = False
    size = 0
    while data := _next_member(stream, data):
        is_bgzip = _BGZIP.match(data) is not None
        inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
        has_more = False
        size = 0
        while not inflater.eof:
            if not data and not has_more:
                data = stream.read(RAW_BYTES)
                if not data:
                    raise _truncated(name)
            try:
                block = inflater.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                raise InputFormatError(
                    f"the gzip data are damaged ({error}); download or write the file again",
                    path=name,
                ) from error
            data = inflater.unconsumed_tail
            has_more = len(block) == BLOCK_BYTES
            size += len(block)
            if block:
                yield block
        data = inflater.unused_data
    if is_bgzip and size:
        raise _truncated(name)


def _next_member(stream: IO[bytes] | _Counted, data: bytes) -> bytes:
    """Return the first bytes of a gzip member; zeros before it may pad a block of a disk."""
    data = data.lstrip(b"\0")
    while len(data) < _BGZIP_HEADER and (chunk := stream.read(RAW_BYTES)):
        data = (data + chunk).lstrip(b"\0")
    return data


def _truncated(name: str) -> InputFormatError:
    return InputFormatError(
        "the gzip data end early: the file is truncated; download or write it again", path=name
    )


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    InputFormatError
        If it has more than `LARGEST_TEXT` bytes.
    """
    with _open_raw(path) as stream:
        return _join(iter(lambda: stream.read(BLOCK_BYTES), b""), LARGEST_TEXT, path)


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
        return _join(byte_blocks(path), largest, path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        fault = error.message if isinstance(error, InputFormatError) else error
        message = f"cannot be read as {what}: {fault}"
        raise InputFormatError(message, path=os.fspath(path)) from error


def _join(blocks: Iterable[bytes], max_bytes: int, path: PathLike) -> bytes:
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > max_bytes:
            raise too_long("the text", max_bytes, path)
    return bytes(content)


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
    with _open_raw(path) as stream:
        return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()
