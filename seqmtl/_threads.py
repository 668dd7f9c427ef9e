"""How many threads work on a computation. No result depends on it.

The number belongs to the context of the caller, as in threadpoolctl, so that it need not be passed
through every function between a command and the loops that use it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from itertools import islice, pairwise
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from numpy.typing import NDArray

from seqmtl._checks import check_integer
from seqmtl._messages import lowest_level, messages_from

Job = TypeVar("Job")
Result = TypeVar("Result")
Item = TypeVar("Item")

_FEWEST = 2048  # rows for which it pays to wake a thread


class _Team:
    """The threads of a context; a process that is forked has none of them, and starts its own."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._start()

    def _start(self) -> None:
        self._pid, self._is_over = os.getpid(), Event()
        self._pool = ThreadPoolExecutor(self.size, "seqmtl", _is_over.set, (self._is_over,))

    @property
    def pool(self) -> Executor:
        """The threads of this process."""
        if self._pid != os.getpid():
            self._start()
        return self._pool

    def close(self) -> None:
        """End the threads; jobs that have not begun are left out."""
        self._is_over.set()
        if self._pid == os.getpid():
            self._pool.shutdown(wait=False, cancel_futures=True)


#: The threads of this context. Each of them has a context of its own, without a team.
_team: ContextVar[_Team | None] = ContextVar("team", default=None)
#: Set once nobody needs the results of this thread any more.
_is_over: ContextVar[Event | None] = ContextVar("is_over", default=None)


@contextmanager
def use_threads(n: int | None = None) -> Iterator[None]:
    """Let training, scoring and scanning use several threads; the results are the same.

    Parameters
    ----------
    n : int, optional
        Number of threads. Default: :func:`usable_cores`.

    Raises
    ------
    ValueError
        If n is below 1.

    Examples
    --------
    >>> from seqmtl import MultiTaskSVC, use_threads
    >>> with use_threads(2):
    ...     model = MultiTaskSVC().fit([[0.0], [1.0]], [-1, 1])
    """
    n = usable_cores() if n is None else n
    check_integer("n", n, 1)
    team = _Team(n) if n > 1 else None
    token = _team.set(team)
    try:
        yield
    finally:
        _team.reset(token)
        if team is not None:
            team.close()


def stop_if_over() -> None:
    """End a long computation whose result nobody needs any more, as after Ctrl-C.

    Raises
    ------
    CancelledError
        If so.
    """
    event = _is_over.get()
    if event is not None and event.is_set():
        raise CancelledError


def usable_cores() -> int:
    """Return the number of cores that this process may use: by affinity, and by its cgroup."""
    if hasattr(os, "sched_getaffinity"):
        n = len(os.sched_getaffinity(0))
    else:
        n = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_bytes().split()
        return max(1, min(n, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no cgroup, or one without a limit
        return n


def n_threads() -> int:
    """Return the number of threads of this context."""
    team = _team.get()
    return 1 if team is None else team.size


def in_order(
    work: Callable[[Job], Result], jobs: Iterable[Job], *, n_ahead: int | None = None
) -> Iterator[Result]:
    """Run jobs on the threads of this context; yield their results in order.

    Parameters
    ----------
    work : callable
        What to do with a job. Within it there is a single thread, or a share of the threads if
        there are fewer jobs.
    jobs : iterable
        Read as needed.
    n_ahead : int, optional
        Number of jobs begun before the result of the first is used. Default: one more than there
        are threads.
    """
    team = _team.get()
    if team is None:
        yield from map(work, jobs)
        return
    threads_of_job = team.size // max(len(jobs), 1) if isinstance(jobs, (list, tuple, range)) else 1

    least = lowest_level()

    def one(job: Job) -> Result:
        with (
            messages_from(least),
            use_threads(threads_of_job) if threads_of_job > 1 else nullcontext(),
        ):
            return work(job)

    queue = iter(jobs)
    first = islice(queue, team.size + 1 if n_ahead is None else n_ahead)
    pending = deque(team.pool.submit(one, job) for job in first)
    try:
        while pending:
            result = pending.popleft().result()
            pending.extend(team.pool.submit(one, job) for job in islice(queue, 1))
            yield result
    finally:
        for future in pending:
            future.cancel()


def ahead(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield the results of jobs, computing the next ones while the caller uses the last."""
    yield from in_order(work, jobs, n_ahead=max(n_threads() - 1, 1))


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, getting the next one while the caller uses the last."""
    if n_threads() == 1:
        yield from items
        return
    context, queue = copy_context(), iter(items)

    def read() -> Item | None:
        return next(queue, None)

    with ThreadPoolExecutor(1, "seqmtl-prefetch") as pool:
        following = pool.submit(context.run, read)
        while (item := following.result()) is not None:
            following = pool.submit(context.run, read)
            yield item


def each_part(work: Callable[[NDArray[Any]], None], rows: NDArray[Any]) -> None:
    """Call `work` with the rows, split into contiguous parts for the threads of this context."""
    n = max(min(n_threads(), rows.size // _FEWEST), 1)
    ends = [rows.size * k // n for k in range(n + 1)]
    run_all(work, [rows[first:last] for first, last in pairwise(ends)])


def run_all(work: Callable[[Job], None], jobs: Iterable[Job]) -> None:
    """Run jobs on the threads of this context."""
    for _ in in_order(work, jobs):
        pass
