"""Progress of long work: one redrawn line on a terminal, messages every few seconds elsewhere."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from seqmtl._messages import is_level_logged

logger = logging.getLogger("seqmtl")

_Contig = TypeVar("_Contig", bound=Any)
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


class TrainingProgress(Progress):
    """Show passes over the data, gap, active set and time left."""

    def __init__(self, tol: float) -> None:
        super().__init__()
        self._tol = tol
        self._recent: deque[tuple[float, float]] = deque(maxlen=8)

    def __call__(self, progress: Any) -> None:
        """Show one epoch."""
        if math.isfinite(progress.gap) and progress.gap > 0:
            self._recent.append((progress.seconds, math.log(progress.gap)))
        self.update(
            lambda _: (
                f"{progress.work:.1f} passes  gap {progress.gap:.1e}  active {progress.n_active:,}"
                f"  {progress.seconds:.0f} s{self._time_left()}"
            )
        )

    def _time_left(self) -> str:
        """Extrapolate log(gap) linearly to the tolerance."""
        if len(self._recent) < 3:
            return ""
        (t0, g0), (t1, g1) = self._recent[0], self._recent[-1]
        if g1 >= g0 or t1 <= t0:
            return ""
        left = (g1 - math.log(self._tol)) / ((g0 - g1) / (t1 - t0))
        return f", about {max(left, 0):.0f} s left"


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


class ScanProgress(Progress):
    """Show how much of a genome has been scanned, the speed, and the time left.

    Parameters
    ----------
    n_bytes : int or None
        Size of the genome file; None if unknown.
    """

    def __init__(self, n_bytes: int | None) -> None:
        super().__init__()
        self._n_bytes = n_bytes
        self._n_read = self._n_bases = 0
        self._ends: deque[tuple[int, int]] = deque()  # bases and bytes up to contigs' ends
        self._end = 0, 0  # of the last contig that was scanned
        self._begin: tuple[float, float, int] | None = None  # time, share, bases at the first block

    def read(self, n: int) -> None:
        """Count bytes read."""
        self._n_read += n

    def contigs(self, contigs: Iterable[_Contig]) -> Iterator[_Contig]:
        """Yield contigs, and note where each ends in the file."""
        n_bases = 0
        for contig in contigs:
            n_bases += contig.codes.size
            self._ends.append((n_bases, self._n_read))
            yield contig

    def __call__(self, n_scanned: int) -> None:
        """Show progress, given the bases scanned."""
        self._n_bases = n_scanned
        share = self._share()
        if self._begin is None:
            self._begin = (time.monotonic() - self._start, share, n_scanned)
        begin, first_share, n_before = self._begin

        def text(seconds: float) -> str:
            seconds, done = max(seconds - begin, 1e-9), share - first_share
            speed = short((n_scanned - n_before) / 1e6 / seconds)
            text = f"{short(n_scanned / 1e6)} Mb scanned, {speed} Mb/s"
            if not self._n_bytes:
                return text
            left = f", about {seconds * (1 - share) / done:.0f} s left" if done > 0 else ""
            return f"{100 * share:.0f} %, {text}{left}"

        self.update(text)

    def _share(self) -> float:
        """Return the share of the file that is scanned: of a contig, that of its bases."""
        while self._ends and self._ends[0][0] <= self._n_bases:
            self._end = self._ends.popleft()
        (n_bases, n_bytes), part = self._end, 0.0
        if self._ends:
            bases, end = self._ends[0]
            part = (self._n_bases - n_bases) / (bases - n_bases) * (end - n_bytes)
        return (n_bytes + part) / self._n_bytes if self._n_bytes else 0.0
