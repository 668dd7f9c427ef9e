"""Errors raised by seqmtl, besides the built-in ValueError and TypeError."""

from __future__ import annotations


class SeqmtlError(Exception):
    """Base class of all errors with a message for the user."""


class InputFormatError(SeqmtlError, ValueError):
    """A file does not have the expected format or content.

    Parameters
    ----------
    message : str
        What is wrong, and what to do about it.
    path : str, optional
        File with the error.
    line : int, optional
        1-based line in the file.
    record : str, optional
        Name of the record, if the file has names.
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
        location = self.path or ""
        if self.line is not None:
            location += f":{self.line}"
        if self.record is not None:
            location += f" (record {self.record!r})" if location else f"record {self.record!r}"
        return f"{location}: {self.message}" if location else self.message


class ModelFileError(InputFormatError):
    """A model file is damaged, not a model, or of an unsupported format version."""


class UsageError(SeqmtlError, ValueError):
    """An option is missing or has a wrong value, or arguments do not go together."""


class UnknownTaskError(SeqmtlError, ValueError):
    """A requested task is not in the model or the task kernel."""


class MemoryLimitError(SeqmtlError, MemoryError):
    """An allocation was rejected because it does not fit into memory."""


class ClusterError(SeqmtlError):
    """The scheduler or a worker is not there, or not fit for the work."""


class TrainingInterrupted(SeqmtlError, KeyboardInterrupt):  # noqa: N818
    """Training was interrupted by the user; the checkpoint, if any, has been written.

    Attributes
    ----------
    checkpoint : str or None
        File to resume from.
    """

    def __init__(self, message: str, checkpoint: str | None = None) -> None:
        self.checkpoint = checkpoint
        super().__init__(message)
