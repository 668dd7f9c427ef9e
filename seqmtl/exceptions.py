"""Errors that seqmtl raises beside the built-in ValueError and TypeError."""

from __future__ import annotations


class SeqmtlError(Exception):
    """Base of all errors that carry a message meant for the user."""


class InputFormatError(SeqmtlError, ValueError):
    """A file cannot be read as what it should be.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    path : str, optional
        File at fault.
    line : int, optional
        1-based line of the file.
    record : str, optional
        Name of the record, where the file has names.
    """

    def __init__(
        self,
        message: str,
        path: str | None = None,
        line: int | None = None,
        record: str | None = None,
    ) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.record = record
        super().__init__(message)

    def __str__(self) -> str:
        place = self.path or ""
        if self.line is not None:
            place += f":{self.line}"
        if self.record is not None:
            place += f" (record {self.record!r})" if place else f"record {self.record!r}"
        return f"{place}: {self.message}" if place else self.message


class ModelFileError(InputFormatError):
    """A model file is damaged, foreign, or of a version this release cannot read."""


class UnknownTaskError(SeqmtlError, ValueError):
    """A task was asked for that the model or the task kernel does not know."""


class MemoryLimitError(SeqmtlError, MemoryError):
    """An allocation was refused before it was tried, because it cannot fit."""


class TrainingInterrupted(SeqmtlError, KeyboardInterrupt):  # noqa: N818
    """Training was stopped by the user; the checkpoint, if any, is written.

    Attributes
    ----------
    checkpoint : str or None
        File to resume from.
    """

    def __init__(self, message: str, checkpoint: str | None = None) -> None:
        self.checkpoint = checkpoint
        super().__init__(message)


class ScanInterrupted(SeqmtlError, KeyboardInterrupt):  # noqa: N818
    """A scan was stopped by the user; what is done is kept to go on with."""
