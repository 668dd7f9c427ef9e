"""Finished runs on disk, so that a comparison can be stopped at any moment and continued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.resumable import Journal

_FORMAT = "seqmtl comparison, unfinished"


@dataclass(frozen=True)
class Result:
    """What one method gave on one split; JSON values only.

    Attributes
    ----------
    split : int
        Number of the split, from 0.
    method : str
        The method.
    tasks : dict of str to dict
        "auroc" and "auprc" of every organism on its test windows.
    chosen : dict
        What was chosen for every organism.
    converged : bool
        Whether training reached its tolerance.
    """

    split: int
    method: str
    tasks: Mapping[str, Mapping[str, float]]
    chosen: Mapping[str, Any]
    converged: bool


class FinishedRuns:
    """A line per finished run, under a line that says what they are runs of.

    Parameters
    ----------
    path : str
        The file.
    fingerprint : str
        Digest of the data and settings; a file of others is refused.
    """

    def __init__(self, path: str, fingerprint: str) -> None:
        self.path = path
        self._journal = Journal(path, {"format": _FORMAT, "fingerprint": fingerprint})

    def load(self) -> list[Result]:
        """Read the finished runs, and cut off a line that a kill left incomplete.

        Raises
        ------
        SeqmtlError
            If the file belongs to other data or settings, or is none of this kind.
        """
        header, *entries = self._journal.read() or [self._journal.header]
        try:
            results = [Result(**entry) for entry in entries]
        except TypeError as error:
            raise self._journal.damaged(error) from error
        if header != self._journal.header:
            raise SeqmtlError(
                f"{self.path} belongs to other data or settings; go on with those it was written "
                "with, choose another output, or remove it to start afresh"
            )
        return results

    def append(self, result: Result) -> None:
        """Add a finished run; it is on the disk when this returns."""
        if not self._journal.exists():
            self._journal.start()
        self._journal.write(vars(result))

    def remove(self) -> None:
        """Remove the file."""
        self._journal.remove()
