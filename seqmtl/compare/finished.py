"""Finished runs on disk, from which an interrupted comparison resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.resumable import Journal

_FORMAT = "seqmtl comparison, unfinished"


@dataclass(frozen=True)
class Result:
    """The result of one method on one split; JSON values only.

    Attributes
    ----------
    split : int
        Index of the split, from 0.
    method : str
        Name of the method.
    tasks : dict of str to dict
        "auroc" and "auprc" of every organism on its test windows.
    chosen : dict
        Selected hyperparameters of every organism.
    converged : bool
        Whether training reached the tolerance.
    """

    split: int
    method: str
    tasks: Mapping[str, Mapping[str, float]]
    chosen: Mapping[str, Any]
    converged: bool


class FinishedRuns:
    """A file with a header that identifies the comparison, and one line per finished run.

    Parameters
    ----------
    path : str
        The file.
    fingerprint : str
        Digest of the data and settings; a file with another one is rejected.
    """

    def __init__(self, path: str, fingerprint: str) -> None:
        self.path = path
        self._journal = Journal(path, {"format": _FORMAT, "fingerprint": fingerprint})

    def load(self) -> list[Result]:
        """Read the finished runs, dropping a last line that is incomplete.

        Raises
        ------
        SeqmtlError
            If the file belongs to other data or settings, or is not of this kind.
        """
        header, *entries = self._journal.read() or [self._journal.header]
        try:
            results = [Result(**entry) for entry in entries]
        except TypeError as error:
            raise self._journal.damaged(error) from error
        if header != self._journal.header:
            raise SeqmtlError(
                f"{self.path} belongs to other data or settings; resume with the original ones, "
                "choose another output, or remove it to start afresh"
            )
        return results

    def append(self, result: Result) -> None:
        """Append a finished run, and flush it to disk."""
        if not self._journal.exists():
            self._journal.start()
        self._journal.write(vars(result))

    def remove(self) -> None:
        """Remove the file."""
        self._journal.remove()
