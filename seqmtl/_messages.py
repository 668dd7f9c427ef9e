"""Which messages of the log are heard, thread by thread."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_least: ContextVar[int] = ContextVar("least", default=logging.NOTSET)


@contextmanager
def messages_from(level: int) -> Iterator[None]:
    """Leave out messages of this thread below a level."""
    token = _least.set(max(_least.get(), level))
    try:
        yield
    finally:
        _least.reset(token)


def is_heard(record: logging.LogRecord) -> bool:
    """Tell whether a message is to be heard; a filter of all handlers."""
    return record.levelno >= _least.get()
