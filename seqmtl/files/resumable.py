"""Long outputs that can be gone on with: files under another name until they are whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import cannot_write, remove_file
from seqmtl.files.bgzip import drop_index


def partial_path(path: str | os.PathLike[str], side: str = "") -> str:
    """Return the name of an unfinished file, or of one beside it; a symbolic link is followed."""
    return f"{os.path.realpath(path)}.partial" + (f".{side}" if side else "")


class OutputStream:
    """An output that is written straight away: an open stream, a pipe, a device.

    Parameters
    ----------
    path : str
        Its name, in messages too.
    stream : binary stream, optional
        Where to write, and to be left open. Default: what `path` names.
    """

    def __init__(self, path: str, stream: IO[bytes] | None = None) -> None:
        self.path, self._is_own = path, stream is None
        self._stream = open(path, "wb") if stream is None else stream

    def write(self, data: bytes) -> None:
        """Append bytes.

        Raises
        ------
        SeqmtlError
            If they cannot be written.
        BrokenPipeError
            If nobody reads any more.
        """
        with _told(self.path):
            self._stream.write(data)

    def commit(self) -> None:
        """Bring everything to where it goes."""
        with _told(self.path):
            self._stream.flush()
        self.discard()

    def discard(self) -> None:
        """Close what was opened here."""
        if self._is_own:
            with suppress(OSError):  # what is still in its buffer
                self._stream.close()


class PartialFile:
    """A file that is ``PATH.partial`` until :meth:`commit`, with side files beside it.

    A symbolic link is followed.

    Parameters
    ----------
    path : path-like
        Where the finished file is to stand.
    sides : sequence of str
        Names of files of the same run that vanish when it ends, ``PATH.partial.NAME``.
    sizes : mapping of str to int, optional
        Go on with the files there are, cut to these sizes (the key of the main file is "").
        Default: begin afresh.

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
                f"cannot go on without {gone[0]}, which is gone; scan again without --resume"
            )
        with _told(self.path):
            for side, name in self._names.items():
                self._streams[side] = open(name, "w+b" if sizes is None else "r+b")
                if sizes is not None:
                    self._cut(name, self._streams[side], sizes[side])

    @staticmethod
    def _cut(name: str, stream: IO[bytes], size: int) -> None:
        if stream.seek(0, os.SEEK_END) < size:
            stream.close()
            raise SeqmtlError(
                f"cannot go on with {name}: it has lost its end; scan again without --resume"
            )
        stream.truncate(size)
        stream.seek(size)

    def write(self, data: bytes, side: str = "") -> None:
        """Append bytes to the file or to one beside it.

        Raises
        ------
        SeqmtlError
            If they cannot be written.
        """
        with _told(self.path):
            self._streams[side].write(data)

    def stream(self, side: str = "") -> IO[bytes]:
        """Return an open file, for reading and writing."""
        return self._streams[side]

    def sizes(self) -> dict[str, int]:
        """Bring everything to the disk and return the sizes of the files."""
        with _told(self.path):
            for stream in self._streams.values():
                stream.flush()
                os.fsync(stream.fileno())
            return {
                side: os.fstat(stream.fileno()).st_size for side, stream in self._streams.items()
            }

    def commit(self) -> None:
        """Give the file its name; remove those beside it, and the index of the one it replaces.

        Raises
        ------
        SeqmtlError
            If that fails.
        """
        self.sizes()
        self.close()
        drop_index(self.path)
        with _told(self.path):
            os.replace(self._names[""], self._target)
            for name in list(self._names.values())[1:]:
                os.unlink(name)

    def close(self) -> None:
        """Close the files and leave them where they are."""
        for stream in self._streams.values():
            with suppress(OSError):  # a full disk: what was journaled is on it already
                stream.close()

    def discard(self) -> None:
        """Close the files and remove them."""
        self.close()
        for name in self._names.values():
            remove_file(name)


class Journal:
    """What of a long run is done, a JSON object a line: first what the run is, then its steps.

    Parameters
    ----------
    path : str
        The file.
    header : mapping
        All that decides about the run, as JSON values.
    """

    def __init__(self, path: str, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header: dict[str, Any] = json.loads(json.dumps(header))

    def exists(self) -> bool:
        """Tell whether there is a journal, of whatever run."""
        return os.path.exists(self.path)

    def read(self) -> list[Any]:
        """Return the header and the steps that are there, and cut off half a line that a kill left.

        Raises
        ------
        SeqmtlError
            If a whole line is not JSON.
        """
        try:
            with open(self.path, "rb") as stream:
                whole = [line for line in stream if line.endswith(b"\n")]
        except FileNotFoundError:
            return []
        try:
            entries = list(map(json.loads, whole))
        except ValueError as error:
            raise self.damaged(error) from error
        if entries:
            os.truncate(self.path, sum(map(len, whole)))
        else:
            self.remove()
        return entries

    def damaged(self, error: Exception) -> SeqmtlError:
        """Return the error of a journal that holds something else."""
        return SeqmtlError(f"{self.path} is damaged ({error}); remove it to start afresh")

    def start(self) -> None:
        """Begin afresh."""
        self.remove()
        self.write(self.header)

    def write(self, step: Mapping[str, Any]) -> None:
        """Append a step and bring it to the disk."""
        with _told(self.path), open(self.path, "ab") as stream:
            stream.write(json.dumps(step).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of an error in writing which output it was."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from error
