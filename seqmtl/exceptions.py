"""Errors raised by seqmtl, besides the built-in ValueError and TypeError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SeqmtlError(Exception):
    """Base class of all errors with a message for the user.

    Attributes
    ----------
    path : str or None
        File with the error.
    option : str or None
        Parameter or option with a wrong value; the message goes on after its name.
    """

    path: str | None = None
    option: str | None = None

    @property
    def location(self) -> str:
        """The file, or empty."""
        return self.path or ""

    def __str__(self) -> str:
        text = super().__str__()
        text = f"{self.option} {text}" if self.option else text
        return f"{self.location}: {text}" if self.location else text


class ParameterError(SeqmtlError, ValueError):
    """A parameter has a value that breaks a rule.

    Parameters
    ----------
    message : str
        The rule, such as "must be at least 1, got 0".
    option : str, optional
        Name of the parameter.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        self.message = message
        self.option = option
        super().__init__(message)


class UsageError(ParameterError):
    """An option is missing or has a wrong value, or arguments do not go together."""


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
    option : str, optional
        Parameter that asks for what the file lacks; the message goes on after its name.
    """

    def __init__(
        self,
        message: str,
        path: str | None = None,
        line: int | None = None,
        record: str | None = None,
        option: str | None = None,
    ) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.record = record
        self.option = option
        super().__init__(message)

    @property
    def location(self) -> str:
        """The file, the line and the record, as far as they are known."""
        location = self.path or ""
        if self.line is not None:
            location += f":{self.line}"
        if self.record is not None:
            location += f" (record {self.record!r})" if location else f"record {self.record!r}"
        return location


class ModelFileError(InputFormatError):
    """A model file is damaged, not a model, or of an unsupported format version."""


class UnknownTaskError(SeqmtlError, ValueError):
    """A requested task is not in the model or the task kernel.

    Parameters
    ----------
    message : str
        What is wrong, and which names are similar.
    *names : str
        The requested names.
    """

    def __init__(self, message: str, *names: str) -> None:
        self.names = names
        super().__init__(message)


class MemoryLimitError(SeqmtlError, MemoryError):
    """An allocation was rejected because it does not fit into memory."""


class ClusterError(SeqmtlError):
    """The scheduler or a worker is not there, or not fit for the work."""


class TrainingInterrupted(SeqmtlError, KeyboardInterrupt):  # noqa: N818
    """Training was interrupted by the user; the checkpoint, if any, has been written."""


@contextmanager
def errors_about(path: str | None) -> Iterator[None]:
    """Name a file in the errors about its data that name none; not so standard input, ``-``."""
    try:
        yield
    except (ClusterError, TrainingInterrupted, UsageError):
        raise
    except SeqmtlError as error:
        if path != "-":
            error.path = error.path or path
        raise
    except ValueError as error:
        if path in (None, "-"):
            raise
        raise InputFormatError(str(error), path) from error
