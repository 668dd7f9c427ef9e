"""Progress of long work: one redrawn line on a terminal, messages every few seconds elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context

from seqmtl._messages import is_level_logged

logger = logging.getLogger("seqmtl")

#: Seconds between two updates of a line, and between two messages.
SECONDS = (0.1, 5.0)
#: Writes a line over the last one, for a command on a terminal.
REDRAW: ContextVar[Callable[[str], None] | None] = ContextVar("redraw", default=None)


def short(value: float) -> str:
    """Format a number with one decimal, or two digits if it is below 1."""
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


class Progress:
    """A line that says how far work is."""

    def __init__(self) -> None:
        self._quiet = not (logger.isEnabledFor(logging.INFO) and is_level_logged(logging.INFO))
        self._redraw = REDRAW.get()
        self._start = self._last = time.monotonic()

    def update(self, text: Callable[[float], str], *, is_new: bool = False) -> None:
        """Redraw the line, or log it, if that is due, or if it is new on a terminal.

        Parameters
        ----------
        text : callable
            Returns the text, given the seconds since the start.
        is_new : bool
            Whether the text is about something else than the last one.
        """
        now = time.monotonic()
        is_due = now - self._last >= SECONDS[self._redraw is None]
        if self._quiet or not (is_due or (is_new and self._redraw)):
            return
        self._last = now if is_due else self._last
        if self._redraw:
            self._redraw(text(now - self._start))
        else:
            logger.info("%s", text(now - self._start))

    def close(self) -> None:
        """Clear the line."""
        if self._redraw and not self._quiet:
            self._redraw("")


class RoundProgress(Progress):
    """Show how far a round of self-training is, also where other messages are left out."""

    def __init__(self) -> None:
        super().__init__()
        self._context = copy_context()
        self._what = ""

    def __call__(self, number: int, what: str, share: float) -> None:
        """Show the share of a part of a round that is done."""
        text = f"round {number}: {what}" + (f", {share:.0%}" if share else "")
        self._context.run(self.update, lambda _: text, is_new=what != self._what)
        self._what = what
