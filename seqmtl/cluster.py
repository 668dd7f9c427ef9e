"""Training on other processes and machines: jobs on the workers of a Dask scheduler.

A job is a function of what can be pickled. It can be done again, so that a worker that dies costs
the jobs it was at and nothing else.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from seqmtl._memory import available_memory
from seqmtl._version import __version__
from seqmtl.exceptions import ClusterError

#: Seconds to wait for a scheduler; a busy machine takes several to answer.
TIMEOUT = 30.0
#: Seconds in which a worker of this machine that died is back, however busy the machine is.
PATIENCE = 300.0
_LOCAL = "local:"
_CONFIG = {
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.nanny.pre-spawn-environ.NUMBA_NUM_THREADS": 1,  # as dask does for OpenMP and BLAS
}
_log = logging.getLogger(__name__)


def check_address(address: str) -> str:
    """Return an address that :func:`connect` takes.

    Raises
    ------
    ValueError
        If it is not one.
    """
    if address.startswith(_LOCAL):
        n = address.removeprefix(_LOCAL)
        is_valid = n.isdecimal() and int(n) > 0
    else:
        is_valid = address.endswith(".json") or address.rpartition(":")[2].isdecimal()
    if not is_valid:
        raise ValueError(
            "must be the address of a scheduler (tcp://HOST:PORT), its file (.json), or local:N "
            f"for N processes of this machine, got {address!r}"
        )
    return address


@contextmanager
def connect(address: str) -> Iterator[Workers]:
    """Connect to workers; those of ``local:N`` end with the block.

    Parameters
    ----------
    address : str
        Address of a dask scheduler, a scheduler file (``.json``), or ``local:N``: N processes of
        one thread, which share the memory that is free.

    Raises
    ------
    ClusterError
        If dask is not installed, or there is no scheduler.
    """
    if find_spec("distributed") is None:
        raise ClusterError("--dask needs dask; run: pip install dask distributed cryptography")
    import dask
    import distributed  # noqa: F401  it sets up its log

    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_CONFIG))
        stack.enter_context(_silent_log())
        client = stack.enter_context(_client(address, stack))
        services = client.scheduler_info().get("services", {})
        if find_spec("bokeh") is not None and "dashboard" in services:
            _log.info("dashboard: %s", client.dashboard_link)
        workers = Workers(client, address)
        if n_threads := workers.n_threads():
            _log.info("%s: workers do %d jobs at a time", address, n_threads)
        else:
            _log.info("%s has no workers yet; waiting for the first", address)
        workers.check()
        yield workers


class Workers:
    """The workers of a scheduler.

    Parameters
    ----------
    client : distributed.Client
        Connection to the scheduler.
    address : str
        What the user calls it.
    patience : float
        Seconds without any worker after which those of this machine count as lost; those of a
        scheduler elsewhere are waited for.
    """

    def __init__(self, client: Any, address: str, patience: float = 2 * PATIENCE) -> None:
        self.client, self._address = client, address
        self._patience = patience if address.startswith(_LOCAL) else float("inf")

    def n_threads(self) -> int:
        """Return the number of jobs that the workers do at a time, now."""
        return sum(self.client.nthreads().values())

    def check(self, folder: str = "") -> None:
        """Check that all present workers have this version, and can read a folder if one is given.

        Raises
        ------
        ClusterError
            If a worker does not; it is named.
        """
        fault, _ = _carried()
        faults = self.client.run(fault, __version__, folder, on_error="ignore")
        messages = sorted(f"worker {name} {text}" for name, text in faults.items() if text)
        if messages:
            others = f" ({len(messages)} of {len(faults)} workers)" if len(messages) > 1 else ""
            raise ClusterError(messages[0] + others)

    def map(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], *shared: Any
    ) -> Iterator[Any]:
        """Do jobs on the workers; yield what the function returns, in the order of the jobs.

        Jobs are taken as workers get free. A job whose worker dies is begun again.

        Parameters
        ----------
        function : callable
            Called with `shared` and the arguments of a job.
        jobs : iterable of tuple
            Arguments of every job.
        *shared
            Arguments that all jobs share; they are sent to a worker once.

        Raises
        ------
        ClusterError
            If a worker has another version, several workers die at a job, or the scheduler is
            gone.
        Exception
            That of a job, as it is; jobs that have not begun are dropped.
        """
        import cloudpickle

        _, run = _carried()
        submit = partial(self.client.submit, pure=False)
        # a task, not scattered data: the scheduler can do it again if the worker that has it dies
        common = submit(bytes, cloudpickle.dumps(shared))
        queue, waiting = iter(jobs), deque[Any]()
        try:
            while True:
                for job in islice(queue, max(2 * self.n_threads() + 2 - len(waiting), 0)):
                    content = cloudpickle.dumps((function, job))
                    waiting.append(submit(run, __version__, content, common))
                if not waiting:
                    return
                yield self._result(waiting[0])
                waiting.popleft()
        finally:
            if self.client.status == "running":
                self.client.cancel([*waiting, common], force=True)

    def _result(self, future: Any) -> Any:
        """Return the result of a job, once it is there."""
        from distributed import KilledWorker

        last_seen = time.monotonic()
        try:
            while True:
                try:
                    fault, result = future.result(timeout=min(self._patience, TIMEOUT))
                    break
                except TimeoutError:
                    if future.status == "error":
                        raise  # that of the job; a result may also be late, as its worker died
                if self.n_threads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen >= self._patience:
                    raise ClusterError(
                        f"{self._address}: all workers died, and none came back within "
                        f"{self._patience:g} seconds; repeat the command with fewer workers, or on "
                        "a machine that is less busy"
                    )
        except KilledWorker as error:
            raise ClusterError(
                f"one worker after the other died at the same job, the last one at "
                f"{error.last_worker}; perhaps it needs more memory than they have"
            ) from error
        except BaseException as error:
            if future.status == "cancelled" or self.client.status != "running":
                raise ClusterError(
                    f"the scheduler {self._address} is gone; start it again, and repeat the "
                    "command with --resume"
                ) from error
            raise
        if fault:
            raise ClusterError(fault)
        return result


def _carried() -> tuple[Callable[..., str], Callable[..., tuple[str, Any]]]:
    """Return functions that run on workers of any version: what hinders a job, and a job.

    Functions inside another are sent as code, not as a name that the worker would import.
    """

    def fault(version: str, folder: str) -> str:
        import os

        try:
            from seqmtl._version import __version__ as own_version
        except ImportError:
            return f"has no seqmtl; install version {version} there"
        if own_version != version:
            return (
                f"has seqmtl {own_version}, and this is {version}; install the same version on both"
            )
        if folder and not os.access(folder, os.R_OK):
            return f"cannot read {folder}; put files where all workers see them"
        return ""

    def run(version: str, content: bytes, shared: bytes) -> tuple[str, Any]:
        message = fault(version, "")
        if message:
            from distributed import get_worker

            return f"worker {get_worker().name} {message}", None
        from seqmtl.cluster import _run

        return "", _run(content, shared)

    return fault, run


def _run(content: bytes, shared: bytes) -> Any:
    """Do a job; runs on a worker."""
    function, job = pickle.loads(content)
    return function(*_loaded(shared), *job)


@lru_cache(maxsize=1)
def _loaded(shared: bytes) -> tuple[Any, ...]:
    """Return what the jobs of a call share."""
    return tuple(pickle.loads(shared))


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that started a worker of ``local:N``; dask calls this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _client(address: str, stack: ExitStack) -> Iterator[Any]:
    from distributed import Client

    if address.startswith(_LOCAL):
        location: Any = stack.enter_context(_local(int(address.removeprefix(_LOCAL))))
    elif address.endswith(".json") and not os.path.exists(address):
        raise ClusterError(f"{address}: no such scheduler file; start a scheduler that writes it")
    else:
        location = address
    named = {"scheduler_file": location} if address.endswith(".json") else {"address": location}
    try:
        client = Client(**named, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {address} within {TIMEOUT:g} seconds; check the address, and "
            "that it is running"
        ) from error
    with client:
        yield client


@contextmanager
def _local(n_workers: int) -> Iterator[Any]:
    """Start a scheduler and workers in processes of their own, which end with this one.

    They, and the client, talk by TLS with a key made for them, as else any process of the machine
    could run code in the workers.
    """
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    # on a busy machine a new worker may take longer than the 30 s after which dask gives it up
    patience = {"distributed.comm.timeouts.connect": f"{PATIENCE:g}s"}
    with (
        TemporaryDirectory(prefix="seqmtl-") as folder,
        dask.config.set({"temporary-directory": folder} | patience),
    ):
        try:
            cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                memory_limit=available_memory() // n_workers,
                dashboard_address="127.0.0.1:0",
                host="127.0.0.1",
                silence_logs=logging.CRITICAL,
                preload=["seqmtl.cluster"],
                security=Security.temporary(),
            )
        except RuntimeError as error:
            raise ClusterError(f"{_LOCAL}{n_workers}: the workers do not start: {error}") from error
        with cluster:
            try:
                yield cluster
            except BaseException:  # no worker finishes what nobody waits for
                for nanny in cluster.workers.values():
                    nanny.close_gracefully()
                    if nanny.pid:
                        os.kill(nanny.pid, signal.SIGKILL)
                raise


@contextmanager
def _silent_log() -> Iterator[None]:
    """Keep quiet what dask says of workers that come and go; what matters is said here."""
    loggers = map(logging.getLogger, ("distributed", "distributed.client"))
    handlers = [handler for log in loggers for handler in log.handlers]
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)
