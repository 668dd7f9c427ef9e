"""Text for people: tables and summaries on stdout; messages and progress on stderr."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from seqmtl._messages import is_level_logged
from seqmtl._progress import REDRAW


def printable(text: str) -> str:
    """Escape what is not printable, such as control characters, except tabs and line ends."""
    letters = (c if c.isprintable() or c in "\t\n" else ascii(c)[1:-1] for c in text)
    return "".join(letters)


def show(text: str) -> None:
    """Write a text for people to stdout, where a full disk shows at once."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def open_streams() -> None:
    """Open those of standard input, output and error that are closed, and buffer the output.

    Otherwise the next file that is opened would take their place, and get their text. Writing to
    standard output then fails, and to standard error is silent. Without a buffer
    (``PYTHONUNBUFFERED``), Python drops what a disk that becomes full does not take of a text.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            access = os.O_RDWR if name == "stderr" else os.O_RDONLY
            handle = os.open(os.devnull, access)
            setattr(sys, name, open(handle, mode, encoding="utf-8", closefd=False))
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(
            sys.stdout.fileno(),
            "w",
            buffering=1,
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            closefd=False,
        )


@contextmanager
def writing_to_the_end() -> Iterator[None]:
    """Drop output at exit that cannot be written, so that Python does not print an error."""
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Handler(logging.StreamHandler[TextIO]):
    """Messages on stderr, a line each; those that cannot be written are lost."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a message as one line."""
        return printable(re.sub(r"\s*\n\s*", " ", super().format(record).strip()))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Go on if it is full or closed."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def setup_logging(*, quiet: bool) -> None:
    """Send the package's log to stderr."""
    handler = _Handler(sys.stderr)
    handler.addFilter(lambda record: is_level_logged(record.levelno))
    handler.setFormatter(logging.Formatter("seqmtl: %(levelname)s: %(message)s"))
    logging.addLevelName(logging.INFO, "note")
    logging.addLevelName(logging.ERROR, "error")
    logging.addLevelName(logging.WARNING, "warning")
    root = logging.getLogger("seqmtl")
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if quiet else logging.INFO)
    root.propagate = False
    REDRAW.set(_redraw if sys.stderr.isatty() else None)


def _redraw(text: str) -> None:
    """Write a line of progress over the last one."""
    with suppress(OSError):  # the terminal is gone, the work goes on
        sys.stderr.write(f"\r\x1b[K{printable(text)}")
        sys.stderr.flush()


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Log each user-facing warning once."""

    def show(message: Warning | str, *_: object) -> None:
        logging.getLogger("seqmtl").warning("%s", message)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
