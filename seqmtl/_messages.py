"""Which messages of the log are heard, thread by thread; messages of errors."""

from __future__ import annotations

import errno
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_least: ContextVar[int] = ContextVar("least", default=logging.NOTSET)
_told: set[Hashable] = set()


@contextmanager
def messages_from(level: int) -> Iterator[None]:
    """Leave out messages of this thread below a level."""
    token = _least.set(max(_least.get(), level))
    try:
        yield
    finally:
        _least.reset(token)


def is_heard(record: logging.LogRecord) -> bool:
    """Return whether a message is to be heard; a filter of all handlers."""
    return are_heard(record.levelno)


def are_heard(level: int) -> bool:
    """Return whether messages of a level are heard in this thread."""
    return level >= _least.get()


def is_news(what: Hashable) -> bool:
    """Return whether something is told for the first time by this command."""
    if what in _told:
        return False
    _told.add(what)
    return True


def forget_told() -> None:
    """Take all for news again; for the start of a command."""
    _told.clear()


def least_heard() -> int:
    """Return the level from which messages are heard in this thread."""
    return _least.get()


def message_of(error: BaseException) -> str:
    """Format an error; system errors lose their errno, and name the file or standard output."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return f"{error.filename}: {error.strerror}"
        if error.errno in _FULL:
            return f"cannot write standard output: {error.strerror}; free some space"
        if error.errno == errno.EBADF:
            return "cannot write standard output: it is closed; open it, or send it to /dev/null"
        return error.strerror
    if isinstance(error, MemoryError) and not str(error):
        return "out of memory"
    if type(error).__name__ == "LinAlgError":  # numpy is not imported here
        return f"the computation failed ({error}); scale the columns, or look for huge values"
    return str(error) or type(error).__name__
