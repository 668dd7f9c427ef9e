"""Resumable outputs: files have another name until they are complete."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from seqmtl._schema import anything, items, mapping
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import cannot_write, remove_file
from seqmtl.files.bgzip import drop_index
from seqmtl.files.inputs import note_written


def partial_path(path: str | os.PathLike[str], side: str = "") -> str:
    """Return the name of an unfinished file or a side file; symbolic links are followed."""
    return f"{os.path.realpath(path)}.partial" + (f".{side}" if side else "")


class OutputStream:
    """An output that is written immediately: an open stream, a pipe, a device.

    Parameters
    ----------
    path : str
        Its name, also in messages.
    stream : binary stream, optional
        Stream to write to, which is left open. Default: open `path`.
    """

    def __init__(self, path: str, stream: IO[bytes] | None = None) -> None:
        self.path, self._is_own = path, stream is None
        self._stream = open(path, "wb") if stream is None else stream

    def write(self, data: bytes) -> None:
        """Append bytes.

        Raises
        ------
        SeqmtlError
            If writing fails.
        BrokenPipeError
            If the reader has closed the pipe.
        """
        with _told(self.path):
            self._stream.write(data)

    def commit(self) -> None:
        """Flush the stream."""
        with _told(self.path):
            self._stream.flush()
        self.discard()

    def discard(self) -> None:
        """Close the stream if it was opened here."""
        if self._is_own:
            with suppress(OSError):  # flushing its buffer may fail
                self._stream.close()


class PartialFile:
    """A file named ``PATH.partial`` until :meth:`commit`, with side files.

    Symbolic links are followed.

    Parameters
    ----------
    path : path-like
        Final path of the file.
    sides : sequence of str
        Names of temporary side files, ``PATH.partial.NAME``.
    sizes : mapping of str to int, optional
        Resume with the existing files, truncated to these sizes (the key of the main file is
        ""). Default: start afresh.

    Raises
    ------
    SeqmtlError
        If a file cannot be opened, or is smaller than it should be.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        sides: Sequence[str] = (),
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self._target = os.path.realpath(self.path)
        self._names = {side: partial_path(self.path, side) for side in ("", *sides)}
        self._streams: dict[str, IO[bytes]] = {}
        gone = [name for name in self._names.values() if not os.path.exists(name)]
        if sizes is not None and gone:
            raise SeqmtlError(
                f"cannot resume without {gone[0]}, which is missing; scan again without --resume"
            )
        with _told(self.path):
            for side, name in self._names.items():
                note_written(name)
                self._streams[side] = open(name, "w+b" if sizes is None else "r+b")
                if sizes is not None:
                    self._cut(name, self._streams[side], sizes[side])

    @staticmethod
    def _cut(name: str, stream: IO[bytes], size: int) -> None:
        if stream.seek(0, os.SEEK_END) < size:
            stream.close()
            raise SeqmtlError(
                f"cannot resume with {name}: it is truncated; scan again without --resume"
            )
        stream.truncate(size)
        stream.seek(size)

    def write(self, data: bytes, side: str = "") -> None:
        """Append bytes to the file or a side file.

        Raises
        ------
        SeqmtlError
            If writing fails.
        """
        with _told(self.path):
            self._streams[side].write(data)

    def stream(self, side: str = "") -> IO[bytes]:
        """Return an open file, for reading and writing."""
        return self._streams[side]

    def sizes(self) -> dict[str, int]:
        """Flush the files to disk, and return their sizes."""
        with _told(self.path):
            for stream in self._streams.values():
                stream.flush()
                os.fsync(stream.fileno())
            return {
                side: os.fstat(stream.fileno()).st_size for side, stream in self._streams.items()
            }

    def commit(self) -> None:
        """Rename the file to its final name; remove side files and the index of a replaced file.

        Raises
        ------
        SeqmtlError
            If that fails.
        """
        self.sizes()
        self.close()
        note_written(self._target)
        drop_index(self.path)
        with _told(self.path):
            os.replace(self._names[""], self._target)
            for name in list(self._names.values())[1:]:
                os.unlink(name)

    def close(self) -> None:
        """Close the files, and keep them."""
        for stream in self._streams.values():
            with suppress(OSError):  # the disk is full; journaled data is on it already
                stream.close()

    def discard(self) -> None:
        """Close and remove the files."""
        self.close()
        for name in self._names.values():
            remove_file(name)


class Journal:
    """Journal of a long run: a header, then completed steps.

    Each line has a checksum and a JSON object.

    Parameters
    ----------
    path : str
        The file.
    header : mapping
        Everything that defines the run, as JSON values.
    """

    def __init__(self, path: str, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header: dict[str, Any] = json.loads(json.dumps(header))

    def exists(self) -> bool:
        """Tell whether there is a journal, of any run."""
        return os.path.exists(self.path)

    def read(self) -> list[Any]:
        """Return the header and the steps, dropping a last line that is incomplete.

        Raises
        ------
        SeqmtlError
            If a complete line was changed, or is not a JSON object.
        """
        try:
            with open(self.path, "rb") as stream:
                whole = [line for line in stream if line.endswith(b"\n")]
        except FileNotFoundError:
            return []
        try:
            entries = list(map(_content, whole))
            items(mapping(anything))("its lines", entries)
        except (ValueError, RecursionError) as error:
            raise self.damaged(error) from error
        if entries:
            os.truncate(self.path, sum(map(len, whole)))
        else:
            self.remove()
        return entries

    def damaged(self, error: Exception) -> SeqmtlError:
        """Return the error for a journal with invalid content."""
        return SeqmtlError(f"{self.path} is damaged ({error}); remove it to start afresh")

    def start(self) -> None:
        """Start a new journal."""
        self.remove()
        self.write(self.header)

    def write(self, step: Mapping[str, Any]) -> None:
        """Append a step, and flush it to disk."""
        text = json.dumps(step).encode()
        with _told(self.path), open(self.path, "ab") as stream:
            stream.write(b"%08x %b\n" % (zlib.crc32(text), text))
            stream.flush()
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)


def _content(line: bytes) -> Any:
    checksum, _, text = line[:-1].partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        is_old = line.startswith(b"{")  # no checksum, as before format 2 of journals
        raise ValueError(f"a line {'of an earlier seqmtl ' * is_old}does not have its checksum")
    return json.loads(text)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Name the output in errors of writing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from error
