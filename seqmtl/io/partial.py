"""Long outputs that can be gone on with: files under another name until they are whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from seqmtl.exceptions import SeqmtlError

_SUFFIX = ".partial"


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
        self._names = {"": self._target + _SUFFIX}
        self._names |= {side: f"{self._target}{_SUFFIX}.{side}" for side in sides}
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
        """Give the file its name and remove those beside it.

        Raises
        ------
        SeqmtlError
            If that fails.
        """
        self.sizes()
        self.close()
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
            with suppress(FileNotFoundError):
                os.unlink(name)


class Journal:
    """What of a long run is done, a JSON object a line: first what the run is, then its steps.

    Parameters
    ----------
    output : path-like
        Output of the run; the journal is ``OUTPUT.partial.journal``.
    fingerprint : dict
        All that decides about the output, as JSON values.
    """

    def __init__(self, output: str | os.PathLike[str], fingerprint: Mapping[str, Any]) -> None:
        self.path = f"{os.path.realpath(output)}{_SUFFIX}.journal"
        self._fingerprint = json.loads(json.dumps(fingerprint))
        self._stream: IO[bytes] | None = None

    def start(self) -> bool:
        """Begin afresh; return whether there was a journal of an unfinished run."""
        there_was = os.path.exists(self.path)
        with _told(self.path):
            self._stream = open(self.path, "wb")
        self.write(self._fingerprint)
        return there_was

    def resume(self) -> dict[str, Any] | None:
        """Return the last step of an unfinished run; None where there is none to go on with.

        Raises
        ------
        SeqmtlError
            If the unfinished run was another one.
        """
        try:
            with open(self.path, "rb") as stream:
                lines = stream.readlines()
        except FileNotFoundError:
            return None
        entries = list(_entries(lines))
        if len(entries) < 2:
            return None
        before = entries[0]
        differing = [
            key
            for key in {**before, **self._fingerprint}
            if before.get(key) != self._fingerprint.get(key)
        ]
        if differing:
            key = differing[0]
            raise SeqmtlError(
                f"cannot go on: the unfinished run ({self.path}) had another {key} "
                f"({before.get(key)!r}, now {self._fingerprint.get(key)!r}); give the same, or "
                "leave --resume out to begin afresh"
            )
        with _told(self.path):
            self._stream = open(self.path, "r+b")
            self._stream.truncate(sum(map(len, lines[: len(entries)])))
            self._stream.seek(0, os.SEEK_END)
        last: dict[str, Any] = entries[-1]
        return last

    def write(self, step: Mapping[str, Any]) -> None:
        """Append a step and bring it to the disk."""
        assert self._stream is not None
        with _told(self.path):
            self._stream.write(json.dumps(step).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the journal and leave it."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()

    def remove(self) -> None:
        """Close the journal and remove it."""
        self.close()
        with suppress(FileNotFoundError):
            os.unlink(self.path)


def _entries(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield whole entries; the last may have been cut off while it was written."""
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            return
        if not line.endswith(b"\n"):
            return
        yield entry


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of an error in writing which output it was."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SeqmtlError(
            f"cannot write {path}: {error.strerror}; free some space or choose another output"
        ) from error
