"""Output files of a running scan, and the journal from which it can resume."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, cast

from seqmtl._schema import flag, items, mapping, record, whole
from seqmtl._threads import run_all
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.files.atomic import is_special
from seqmtl.files.bgzip import BGZIP_END, bgzip, packer
from seqmtl.files.resumable import Journal, OutputStream, PartialFile, partial_path
from seqmtl.files.streams import Output
from seqmtl.scan.filters import BlockCounts, ScanSummary
from seqmtl.scan.sink import Sink

#: Seconds between journal entries.
JOURNAL_SECONDS = 2.0

_COUNTS = {name: whole() for name in vars(BlockCounts())} | {"removed": mapping(whole())}
_STEP = record(
    {
        "n_done": whole(),
        "is_whole": flag,
        "sizes": items(mapping(whole())),
        "states": items(record({"n_records": whole()})),
        "counts": record(_COUNTS),
    }
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recovery:
    """How to resume an interrupted scan.

    Parameters
    ----------
    fingerprint : mapping
        Everything that determines the output, as JSON values.
    resume : bool
        Resume an unfinished scan with this fingerprint, if there is one.
    """

    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False


class Run:
    """Open the files of a scan, write its blocks, and finish or keep them.

    Parameters
    ----------
    output : path-like or binary stream
        Output named by the user.
    sinks : sequence of Sink
        One per file.
    summary : ScanSummary
        Counts so far.
    recovery : Recovery, optional
        Keeps a journal if given.
    """

    def __init__(
        self, output: Output, sinks: Sequence[Sink], summary: ScanSummary, recovery: Recovery | None
    ) -> None:
        self._sinks, self._summary, self._recovery = sinks, summary, recovery
        self._sides = {sink.path: sink.sides for sink in sinks}  # a file may have several sinks
        self._stream = cast(IO[bytes], output) if hasattr(output, "write") else None
        self.path = "the stream" if self._stream else os.fspath(cast(str, output))
        self._journal: Journal | None = None
        self._files: dict[str, Any] = {}
        self._n_done, self._is_whole, self._has_steps = 0, False, False
        self._last_step = time.monotonic()

    def begin(self) -> int:
        """Open the files; return the number of blocks that they already contain.

        Raises
        ------
        SeqmtlError
            If a file cannot be written, or the unfinished scan was a different one.
        """
        if self._stream is not None or is_special(self.path):
            self._files = dict.fromkeys(self._sides, OutputStream(self.path, self._stream))
        else:
            step = None if self._recovery is None else self._unfinished(self._recovery)
            if step is not None:
                self._restore(step)
                return self._n_done
            self._files = {path: PartialFile(path, own) for path, own in self._sides.items()}
        for sink in self._sinks:
            sink.begin(self._files[sink.path])
        return 0

    def _unfinished(self, recovery: Recovery) -> Mapping[str, Any] | None:
        """Return where to resume, or None after beginning a journal."""
        journal = Journal(partial_path(self.path, "journal"), recovery.fingerprint)
        step = _last_step(journal) if recovery.resume else None
        self._journal = journal  # from here on it belongs to this run
        if step is not None:
            return step
        there_was = journal.exists()
        journal.start()
        if recovery.resume and there_was:
            _log.info(
                "%s: the unfinished scan had not saved anything yet; starting afresh", self.path
            )
        elif recovery.resume:
            _log.info("%s: there is no unfinished scan to resume; starting afresh", self.path)
        elif there_was:
            _log.warning("%s: overwriting an unfinished scan; --resume would resume it", self.path)
        return None

    def _restore(self, step: Mapping[str, Any]) -> None:
        self._n_done, self._is_whole, self._has_steps = step["n_done"], step["is_whole"], True
        for sink, state in zip(self._sinks, step["states"], strict=True):
            sink.restore(state)
        for (path, own), sizes in zip(self._sides.items(), step["sizes"], strict=True):
            if not self._is_whole or os.path.exists(partial_path(path)):
                self._files[path] = PartialFile(path, own, sizes)
        self._summary.add(BlockCounts(**step["counts"]))
        _log.info("%s: resuming after %d blocks", self.path, self._n_done)

    def add(self, parts: Sequence[Any], counts: BlockCounts) -> None:
        """Write one block."""
        for sink, part in zip(self._sinks, parts, strict=True):
            sink.join(part, self._files[sink.path])
        self._summary.add(counts)
        self._n_done += 1
        if self._journal is not None and time.monotonic() - self._last_step >= JOURNAL_SECONDS:
            self._step()

    def _step(self) -> None:
        """Write a journal entry once the data is on disk."""
        if self._journal is None:
            return
        step = {
            "n_done": self._n_done,
            "is_whole": self._is_whole,
            "sizes": [file.sizes() for file in self._files.values()],
            "states": [sink.state() for sink in self._sinks],
            "counts": {name: getattr(self._summary, name) for name in _COUNTS},
        }
        self._journal.write(step)
        self._has_steps, self._last_step = True, time.monotonic()

    def finish(self) -> None:
        """Complete the files and rename them to their final names."""
        if not self._is_whole:
            self._step()
            run_all(self._end, list(self._files))
            self._is_whole = True
            self._step()
        self._summary.n_records = sum(sink.n_records for sink in self._sinks)
        for file in self._files.values():
            file.commit()
        if self._journal is not None:
            self._journal.remove()

    def _end(self, path: str) -> None:
        """Write what follows all sites of a file."""
        file = self._files[path]
        for sink in self._sinks:
            if sink.path == path:
                sink.end(file)
        if packer(path) is bgzip:
            file.write(BGZIP_END)

    def stop(self, error: BaseException) -> bool:
        """Close the files after an error; return whether they are kept for resuming.

        They are kept unless there is no journal, nothing has been written, or the input is
        faulty, as a corrected input changes the output.
        """
        is_kept = self._has_steps and not isinstance(error, InputFormatError)
        for file in self._files.values():
            file.close() if is_kept else file.discard()
        if self._journal is not None and not is_kept:
            self._journal.remove()
        if is_kept and not isinstance(error, KeyboardInterrupt):
            _log.warning("finished parts are kept; the same command with --resume resumes the scan")
        return is_kept


def _last_step(journal: Journal) -> dict[str, Any] | None:
    """Return the last journal entry of an unfinished scan, or None if there is none to resume.

    Raises
    ------
    SeqmtlError
        If the unfinished scan was a different one.
    """
    entries = journal.read()
    if not entries:
        return None
    before, now = entries[0], journal.header
    for key in {**before, **now}:
        if before.get(key) != now.get(key):
            raise SeqmtlError(
                f"cannot resume: the unfinished run ({journal.path}) had another {key} "
                f"({before.get(key)!r}, now {now.get(key)!r}); give the same, or omit --resume "
                "to start afresh"
            )
    if len(entries) == 1:
        return None
    try:
        _STEP("", entries[-1])
    except ValueError as error:
        raise journal.damaged(error) from error
    return cast(dict[str, Any], entries[-1])
