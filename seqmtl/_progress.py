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


class _Progress:
    """When to show how far the work is, and where."""

    def __init__(self) -> None:
        self._quiet = not (logger.isEnabledFor(logging.INFO) and is_level_logged(logging.INFO))
        self._redraw = REDRAW.get()
        self._last = time.monotonic()

    def _is_due(self, now: float) -> bool:
        """Return whether the next update is due."""
        if self._quiet or now - self._last < SECONDS[self._redraw is None]:
            return False
        self._last = now
        return True

    def _show(self, text: str, fields: dict[str, Any]) -> None:
        """Redraw the line, or log it, with `fields` for JSON logs."""
        if self._redraw:
            self._redraw(text)
        else:
            logger.info("%s", text, extra={"fields": fields})

    def close(self) -> None:
        """Clear the line."""
        if self._redraw and not self._quiet:
            self._redraw("")


class TrainingProgress(_Progress):
    """Show passes over the data, gap, active set and time left."""

    def __init__(self, tol: float) -> None:
        super().__init__()
        self._tol = tol
        self._recent: deque[tuple[float, float]] = deque(maxlen=8)

    def __call__(self, progress: Any) -> None:
        """Show one epoch."""
        if math.isfinite(progress.gap) and progress.gap > 0:
            self._recent.append((progress.seconds, math.log(progress.gap)))
        if not self._is_due(time.monotonic()):
            return
        text = (
            f"{progress.work:.1f} passes  gap {progress.gap:.1e}  active {progress.n_active:,}  "
            f"{progress.seconds:.0f} s{self._time_left()}"
        )
        self._show(text, {k: v for k, v in vars(progress).items() if k not in ("primal", "dual")})

    def _time_left(self) -> str:
        """Extrapolate log(gap) linearly to the tolerance."""
        if len(self._recent) < 3:
            return ""
        (t0, g0), (t1, g1) = self._recent[0], self._recent[-1]
        if g1 >= g0 or t1 <= t0:
            return ""
        left = (g1 - math.log(self._tol)) / ((g0 - g1) / (t1 - t0))
        return f", about {max(left, 0):.0f} s left"


class SelectionProgress(_Progress):
    """Show how many hyperparameter candidates have been scored, and the time left."""

    def __init__(self) -> None:
        super().__init__()
        self._start = self._last
        self._n_known: int | None = None

    def __call__(self, name: str, number: int, total: int) -> None:
        """Show candidate `number` of `total`."""
        now = time.monotonic()
        if self._n_known is None:
            self._n_known = number - 1
        if not self._is_due(now):
            return
        left = (now - self._start) / (number - self._n_known) * (total - number)
        text = f"cross-validation: {number} of {total}, {name}, about {left:.0f} s left"
        self._show(text, {})


class RoundProgress(_Progress):
    """Show how far a round of self-training is, also where other messages are left out."""

    def __init__(self) -> None:
        super().__init__()
        self._context = copy_context()
        self._what = ""

    def __call__(self, number: int, what: str, share: float) -> None:
        """Show the share of a part of a round that is done."""
        is_new = bool(self._redraw) and what != self._what and not self._quiet
        if not (self._is_due(time.monotonic()) or is_new):
            return
        self._what = what
        text = f"round {number}: {what}" + (f", {share:.0%}" if share else "")
        self._context.run(self._show, text, {"round": number, "part": what, "share": share})


class RecordProgress(_Progress):
    """Show how many records of a file are done, and the speed."""

    def __init__(self) -> None:
        super().__init__()
        self._start = self._last

    def __call__(self, n_records: int) -> None:
        """Show progress, given the records that are done."""
        now = time.monotonic()
        if self._is_due(now):
            speed = n_records / (now - self._start)
            self._show(f"{n_records:,} records, {short(speed)}/s", {"n_records": n_records})


class ScanProgress(_Progress):
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
        now = time.monotonic()
        share = self._share()
        if self._begin is None:
            self._begin = (now, share, self._n_bases)
        if not self._is_due(now):
            return
        seconds = max(now - self._begin[0], 1e-9)
        speed = (self._n_bases - self._begin[2]) / 1e6 / seconds
        text = f"{short(self._n_bases / 1e6)} Mb scanned, {short(speed)} Mb/s"
        if self._n_bytes:
            text = f"{100 * share:.0f} %, {text}{self._time_left(share, seconds)}"
        self._show(text, {"share": share, "n_bases": self._n_bases})

    def _share(self) -> float:
        """Return the share of the file that is scanned: of a contig, that of its bases."""
        while self._ends and self._ends[0][0] <= self._n_bases:
            self._end = self._ends.popleft()
        (n_bases, n_bytes), part = self._end, 0.0
        if self._ends:
            bases, end = self._ends[0]
            part = (self._n_bases - n_bases) / (bases - n_bases) * (end - n_bytes)
        return (n_bytes + part) / self._n_bytes if self._n_bytes else 0.0

    def _time_left(self, share: float, seconds: float) -> str:
        assert self._begin is not None
        done = share - self._begin[1]
        return f", about {seconds * (1 - share) / done:.0f} s left" if done > 0 else ""
