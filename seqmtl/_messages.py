"""Which messages of the log are heard, thread by thread; messages of errors."""

from __future__ import annotations

import errno
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from seqmtl.exceptions import MemoryLimitError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_least: ContextVar[int] = ContextVar("least", default=logging.NOTSET)
_logged: set[Hashable] = set()


@contextmanager
def messages_from(level: int) -> Iterator[None]:
    """Leave out messages of this thread below a level."""
    token = _least.set(max(_least.get(), level))
    try:
        yield
    finally:
        _least.reset(token)


def is_level_logged(level: int) -> bool:
    """Return whether messages of a level are logged in this thread."""
    return level >= _least.get()


def is_first_time(what: Hashable) -> bool:
    """Return whether this command logs a message for the first time; later calls return False."""
    if what in _logged:
        return False
    _logged.add(what)
    return True


def forget_logged() -> None:
    """Forget which messages were logged; for the start of a command."""
    _logged.clear()


def lowest_level() -> int:
    """Return the level from which messages are logged in this thread."""
    return _least.get()


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: 1 organism, 2 organisms."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


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
    if isinstance(error, MemoryError) and not isinstance(error, MemoryLimitError):
        # Python says nothing, numpy "Unable to allocate 8 GiB for an array with shape ..."
        return f"out of memory{f' ({error})' if str(error) else ''}"
    if type(error).__name__ == "LinAlgError":  # numpy is not imported here
        return f"the computation failed ({error}); scale the columns, or look for huge values"
    return str(error) or type(error).__name__
