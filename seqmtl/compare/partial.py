"""Finished runs on disk, so that a comparison can be stopped at any moment and continued."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from seqmtl.exceptions import SeqmtlError

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


class PartialFile:
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
        self._header = {"format": _FORMAT, "fingerprint": fingerprint}

    def load(self) -> list[Result]:
        """Read the finished runs, and cut off a line that a kill left incomplete.

        Raises
        ------
        SeqmtlError
            If the file belongs to other data or settings, or is none of this kind.
        """
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as stream:
            lines = stream.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        if not whole:
            self.remove()
            return []
        try:
            header, *entries = map(json.loads, whole)
            results = [Result(**entry) for entry in entries]
        except (TypeError, ValueError) as error:
            raise SeqmtlError(
                f"{self.path} is damaged ({error}); remove it to start afresh"
            ) from error
        if header != self._header:
            raise SeqmtlError(
                f"{self.path} belongs to other data or settings; go on with those it was written "
                "with, choose another output, or remove it to start afresh"
            )
        os.truncate(self.path, sum(map(len, whole)))
        return results

    def append(self, result: Result) -> None:
        """Add a finished run; it is on the disk when this returns."""
        line = json.dumps(vars(result)) + "\n"
        with open(self.path, "ab") as stream:
            if not stream.tell():
                line = json.dumps(self._header) + "\n" + line
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the file."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)
