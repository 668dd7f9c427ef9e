"""Text for people: tables and summaries on stdout; messages, JSON logs and progress on stderr."""

from __future__ import annotations

import argparse
import errno
import json
import logging
import math
import re
import statistics
import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seqmtl._messages import is_heard

# control characters, which could steer a terminal, and those that reverse the direction of text
_UNSEEN = (
    *range(9),
    *range(11, 32),
    *range(127, 160),
    0xAD,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ESCAPES = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _UNSEEN}


def printable(text: str) -> str:
    """Escape the control characters of a text, except tabs and line ends."""
    return text.translate(_ESCAPES)


def show(text: str) -> None:
    """Write a text for people to stdout."""
    sys.stdout.write(printable(text))


def message_of(error: BaseException) -> str:
    """Format an error; system errors lose their errno, and name the file or standard output."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return f"{error.filename}: {error.strerror}"
        if error.errno in _FULL:
            return f"cannot write standard output: {error.strerror}; free some space"
        return error.strerror
    if isinstance(error, MemoryError) and not str(error):
        return "out of memory"
    if type(error).__name__ == "LinAlgError":  # numpy is not imported here
        return f"the computation failed ({error}); scale the columns, or look for huge values"
    return str(error) or type(error).__name__


class _TextFormatter(logging.Formatter):
    """One line for every message."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(re.sub(r"\s*\n\s*", " ", super().format(record).strip()))


class _JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        entry.update(getattr(record, "fields", {}))
        return json.dumps(entry)


def setup_logging(args: argparse.Namespace) -> None:
    """Send the package's log to stderr as text or JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_heard)
    if args.log_json:
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(_TextFormatter("seqmtl: %(levelname)s: %(message)s"))
        logging.addLevelName(logging.INFO, "note")
        logging.addLevelName(logging.ERROR, "error")
        logging.addLevelName(logging.WARNING, "warning")
    root = logging.getLogger("seqmtl")
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if args.quiet else logging.INFO)
    root.propagate = False


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Log each user-facing warning once."""

    def show(message: Warning | str, *_: Any) -> None:
        logging.getLogger("seqmtl").warning("%s", message)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class _Progress:
    """Progress: one redrawn line on a terminal, a line every few seconds elsewhere."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._quiet = args.quiet
        self._redraw = sys.stderr.isatty() and not args.log_json
        self._last = time.monotonic()

    def _is_due(self, now: float) -> bool:
        """Tell whether the next update is due."""
        if self._quiet or now - self._last < (0.1 if self._redraw else 5.0):
            return False
        self._last = now
        return True

    def _show(self, text: str, fields: dict[str, Any]) -> None:
        """Redraw the line, or log it, with `fields` for JSON logs."""
        if self._redraw:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()
        else:
            logging.getLogger("seqmtl").info("%s", text, extra={"fields": fields})

    def close(self) -> None:
        """Clear the line."""
        if self._redraw and not self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class TrainingProgress(_Progress):
    """Show epoch, gap, active set and time left."""

    def __init__(self, tol: float, args: argparse.Namespace) -> None:
        super().__init__(args)
        self._tol = tol
        self._recent: deque[tuple[float, float]] = deque(maxlen=8)

    def __call__(self, progress: Any) -> None:
        """Show one epoch."""
        if math.isfinite(progress.gap) and progress.gap > 0:
            self._recent.append((progress.seconds, math.log(progress.gap)))
        if not self._is_due(time.monotonic()):
            return
        text = (
            f"epoch {progress.epoch}  gap {progress.gap:.1e}  active {progress.n_active:,}  "
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

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
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


class JobProgress:
    """Report each finished job; estimate the time left from earlier jobs of the same kind.

    Parameters
    ----------
    kinds : sequence of str
        Kind of each job.
    n_workers : int
        Number of jobs that run at the same time.
    """

    def __init__(self, kinds: Sequence[str], n_workers: int) -> None:
        self._left, self._n_workers = Counter(kinds), n_workers
        self._n_jobs = len(kinds)
        self._taken: dict[str, list[float]] = {}

    def __call__(self, name: str, kind: str, seconds: float, worker: str = "") -> None:
        """Show one finished job, of a worker of this name if there are workers."""
        self._left[kind] -= 1
        self._taken.setdefault(kind, []).append(seconds)
        every = [value for values in self._taken.values() for value in values]
        left = sum(
            n * statistics.fmean(self._taken.get(kind, every)) for kind, n in self._left.items()
        )
        logging.getLogger("seqmtl").info(
            "%s, %s: %.1f s%s; %d of %d done, about %.0f s left",
            name, kind, seconds, worker and f" by worker {worker}", len(every), self._n_jobs,
            left / self._n_workers, extra={"fields": {"worker": worker} if worker else {}},
        )  # fmt: skip


class ScanProgress(_Progress):
    """Show how much of a genome has been scanned, the speed, and the time left.

    Parameters
    ----------
    n_bytes : int or None
        Size of the genome file; None if unknown.
    args : argparse.Namespace
        Parsed arguments; ``quiet`` and ``log_json`` are used.
    """

    def __init__(self, n_bytes: int | None, args: argparse.Namespace) -> None:
        super().__init__(args)
        self._n_bytes = n_bytes
        self._n_read = self._n_bases = 0
        self._begin: tuple[float, float, int] | None = None  # time, share, bases at the first block

    def read(self, n: int) -> None:
        """Count bytes read."""
        self._n_read += n

    def __call__(self, n_bases: int) -> None:
        """Count bases scanned, and show progress."""
        self._n_bases += n_bases
        now = time.monotonic()
        share = self._n_read / self._n_bytes if self._n_bytes else 0.0
        if self._begin is None:
            self._begin = (now, share, self._n_bases)
        if not self._is_due(now):
            return
        seconds = max(now - self._begin[0], 1e-9)
        speed = (self._n_bases - self._begin[2]) / 1e6 / seconds
        text = f"{self._n_bases / 1e6:.1f} Mb scanned, {speed:.1f} Mb/s"
        if self._n_bytes:
            text = f"{100 * share:.0f} %, {text}{self._time_left(share, seconds)}"
        self._show(text, {"share": share, "n_bases": self._n_bases})

    def _time_left(self, share: float, seconds: float) -> str:
        assert self._begin is not None
        done = share - self._begin[1]
        return f", about {seconds * (1 - share) / done:.0f} s left" if done > 0 else ""
