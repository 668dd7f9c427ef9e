"""Work that comes in pieces, on other processes and machines: dask.distributed.

A piece is a function of what can be pickled. Its results are files or what it returns, and it can
be done again, so that a worker that dies costs the pieces it was at and nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from seqmtl._memory import available_memory
from seqmtl._threads import in_order, n_threads
from seqmtl._version import __version__
from seqmtl.exceptions import ClusterError, SeqmtlError
from seqmtl.files.atomic import temporary_folder

#: Seconds to wait for a scheduler; a busy machine takes several to answer.
TIMEOUT = 30.0
#: Seconds in which a worker of this machine that died is back, however busy the machine is.
PATIENCE = 300.0
_LOCAL = "local:"
_CONFIG = {
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.nanny.pre-spawn-environ.NUMBA_NUM_THREADS": 1,  # as dask does for OpenMP and BLAS
    # dask gives memory back to the system at every turn, which takes a scan a fifth of its time
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}
_log = logging.getLogger(__name__)


class Piece(NamedTuple):
    """A piece of work.

    Attributes
    ----------
    name : str
        What messages call it.
    arguments : tuple
        Arguments of the function.
    files : tuple of str
        Files and folders that a worker must be able to read, as absolute paths.
    """

    name: str
    arguments: tuple[Any, ...]
    files: tuple[str, ...] = ()


class Done(NamedTuple):
    """The number of a piece, from 0, what the function returned, and the worker ("": here)."""

    number: int
    result: Any
    worker: str


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
def connect(address: str | None) -> Iterator[Here | Cluster]:
    """Connect to workers; those of ``local:N`` end with the block.

    Parameters
    ----------
    address : str or None
        Address of a dask scheduler, a scheduler file (``.json``), or ``local:N``: N processes of
        one thread, which share the memory that is free. None: no workers, all is done here.

    Raises
    ------
    SeqmtlError
        If dask is not installed, or there is no scheduler.
    """
    if address is None:
        yield Here()
        return
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
        cluster = Cluster(client, address)
        if n_threads := cluster.n_threads():
            _log.info("%s: workers do %d pieces at a time", address, n_threads)
        else:
            _log.info("%s has no workers yet; waiting for the first", address)
        yield cluster


class Here:
    """No workers: the pieces are done in this process."""

    def n_threads(self) -> int:
        """Return the number of small pieces that are done at a time."""
        return n_threads()

    def map(
        self,
        function: Callable[..., Any],
        pieces: Iterable[Piece],
        *,
        common: Any = None,
        ordered: bool = False,
        is_small: bool = False,
    ) -> Iterator[Done]:
        """Yield the results in order; see :meth:`Cluster.map`."""
        shared = () if common is None else (common,)

        def work(piece: Piece) -> Any:
            return function(*shared, *piece.arguments)

        for number, result in enumerate((in_order if is_small else map)(work, pieces)):
            yield Done(number, result, "")


class Cluster:
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
        """Return the number of pieces that the workers do at a time, now."""
        return sum(self.client.nthreads().values())

    def _gone(self) -> ClusterError:
        """Return the error for a scheduler that does not answer any more."""
        return ClusterError(
            f"the scheduler {self._address} is gone; start it again, and repeat the command (train "
            "and the scan of one genome: with --resume)"
        )

    def next_of(self, arriving: SimpleQueue[Any]) -> Any:
        """Return the next future that is done."""
        last_seen = time.monotonic()
        while True:
            try:
                return arriving.get(timeout=min(self._patience, TIMEOUT))
            except Empty:
                if self.n_threads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen >= self._patience:
                    raise ClusterError(
                        f"{self._address}: all workers died, and none came back within "
                        f"{self._patience:g} seconds; repeat the command with fewer workers, or on "
                        "a machine that is less busy"
                    ) from None

    def _share(self, value: Any) -> Any:
        """Return a future of a pickled value; the scheduler can send it again if workers die."""
        import cloudpickle

        return self.client.submit(bytes, cloudpickle.dumps(value), pure=False)

    def check(self, files: Iterable[str] = ()) -> None:
        """Check that all present workers have this version, and can read the files.

        Raises
        ------
        ClusterError
            If a worker does not; it is named.
        """
        fault, _ = _carried()
        faults = self.client.run(fault, __version__, sorted(set(files)), on_error="ignore")
        told = sorted(f"worker {name} {text}" for name, text in faults.items() if text)
        if told:
            others = f" ({len(told)} of {len(faults)} workers)" if len(told) > 1 else ""
            raise ClusterError(told[0] + others)

    def map(
        self,
        function: Callable[..., Any],
        pieces: Iterable[Piece],
        *,
        common: Any = None,
        ordered: bool = False,
        is_small: bool = False,
    ) -> Iterator[Done]:
        """Do the pieces on the workers, and yield what the function returns.

        Pieces are taken as workers get free. A piece whose worker dies is begun again.

        Parameters
        ----------
        function : callable
            Called with `common`, unless it is None, and the arguments of a piece.
        pieces : iterable of Piece
            The pieces. Workers are checked before the first, with all files if this is a
            sequence, and each worker again before every piece.
        common : optional
            Argument that all pieces share; it is sent to a worker once.
        ordered : bool
            Yield the results in the order of the pieces, not as they come.
        is_small : bool
            Whether, without workers, each thread does a piece; else all do one after the other.

        Raises
        ------
        ClusterError
            If a worker has another version or cannot read a file of a piece, several workers die
            at a piece, or the scheduler is gone.
        Exception
            That of a piece, as it is; pieces that have not begun are dropped.
        """
        try:
            known = pieces if isinstance(pieces, Sequence) else ()
            self.check(name for piece in known for name in piece.files)
            with _Run(self, function, None if common is None else self._share(common)) as run:
                yield from run.results(enumerate(pieces), ordered)
        except SeqmtlError:
            raise
        except Exception as error:
            if self.client.status != "running":
                raise self._gone() from error
            raise


class _Run:
    """The pieces of one call, on their way."""

    def __init__(self, cluster: Cluster, function: Callable[..., Any], common: Any) -> None:
        self._cluster, self._client = cluster, cluster.client
        self._function, self._common = function, common
        self._topic = f"seqmtl-{uuid.uuid4().hex}"
        self._begun: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._waiting: dict[Any, tuple[int, Piece]] = {}

    def __enter__(self) -> _Run:
        self._client.subscribe_topic(self._topic, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._client.status == "running":
            self._client.cancel(list(self._waiting), force=True)
            self._client.unsubscribe_topic(self._topic)
        self._waiting.clear()

    def results(self, queue: Iterator[tuple[int, Piece]], ordered: bool) -> Iterator[Done]:
        """Yield the results; only so many pieces are on their way as keep the workers busy."""
        arriving: SimpleQueue[Any] = SimpleQueue()
        early: dict[int, Done] = {}
        n_yielded = 0
        while True:
            n_wanted = 2 * self._cluster.n_threads() + 2 - len(self._waiting) - len(early)
            for _, (number, piece) in zip(range(n_wanted), queue, strict=False):
                self._submit(number, piece).add_done_callback(arriving.put)
            if not self._waiting:
                return
            future = self._cluster.next_of(arriving)
            number, piece = self._waiting.pop(future)
            early[number] = self._outcome(future, number, piece)
            while early and (not ordered or n_yielded in early):
                yield early.pop(n_yielded if ordered else number)
                n_yielded += 1

    def _submit(self, number: int, piece: Piece) -> Any:
        import cloudpickle

        self._names[number] = piece.name
        _, run = _carried()
        level = logging.getLogger("seqmtl").getEffectiveLevel()
        content = cloudpickle.dumps((self._topic, number, level, self._function, piece.arguments))
        future = self._client.submit(
            run, __version__, piece.files, content, self._common, pure=False, key=None
        )
        self._waiting[future] = (number, piece)
        return future

    def _outcome(self, future: Any, number: int, piece: Piece) -> Done:
        """Return the result of a piece."""
        from distributed import KilledWorker

        try:
            worker, fault, result = future.result()
        except KilledWorker as error:
            raise ClusterError(
                f"{piece.name}: one worker after the other died at it, the last one at "
                f"{error.last_worker}; perhaps it needs more memory than they have"
            ) from error
        except BaseException as error:
            if future.status == "cancelled":
                raise self._cluster._gone() from error
            raise
        if fault:
            raise ClusterError(f"worker {worker} {fault}")
        return Done(number, result, worker)

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take what workers tell: the beginning of a piece, or a line of their log."""
        _, message = event
        if "number" in message:
            number, worker = message["number"], message["by"]
            before = self._begun.get(number)
            self._begun[number] = worker
            if before is not None:
                _log.warning(
                    "%s is done again, by worker %s: worker %s died",
                    self._names.get(number),
                    worker,
                    before,
                    extra={"fields": {"worker": worker}},
                )
            return
        content = json.loads(message["record"])
        content["fields"]["worker"] = message["by"]
        record = logging.makeLogRecord(
            content | {"levelname": logging.getLevelName(content["levelno"])}
        )
        logging.getLogger(record.name).handle(record)


def _carried() -> tuple[Callable[..., str], Callable[..., tuple[str, str, Any]]]:
    """Return functions that run on workers of any version.

    Functions inside another are sent as code, not as a name that the worker would look up.
    """

    def fault(version: str, files: Sequence[str]) -> str:
        import os

        try:
            from seqmtl._version import __version__ as own
        except ImportError:
            return f"has no seqmtl; install version {version} there"
        if own != version:
            return f"has seqmtl {own}, and this is {version}; install the same version on both"
        unseen = [os.path.abspath(name) for name in files if not os.access(name, os.R_OK)]
        if unseen:
            return f"cannot read {', '.join(unseen)}; put files where all workers see them"
        return ""

    def run(
        version: str, files: Sequence[str], content: bytes, common: Any
    ) -> tuple[str, str, Any]:
        found = fault(version, files)
        if found:
            from distributed import get_worker

            return str(get_worker().name), found, None
        from seqmtl._worker import run_piece

        return run_piece(content, common)

    return fault, run


@contextmanager
def _client(address: str, stack: ExitStack) -> Iterator[Any]:
    from distributed import Client

    if address.startswith(_LOCAL):
        place: Any = stack.enter_context(_local(int(address.removeprefix(_LOCAL))))
    elif address.endswith(".json") and not os.path.exists(address):
        raise ClusterError(f"{address}: no such scheduler file; start a scheduler that writes it")
    else:
        place = address
    named = {"scheduler_file": place} if address.endswith(".json") else {"address": place}
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
    with temporary_folder() as folder, dask.config.set({"temporary-directory": folder} | patience):
        try:
            cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                memory_limit=available_memory() // n_workers,
                dashboard_address="127.0.0.1:0",
                host="127.0.0.1",
                silence_logs=logging.CRITICAL,
                preload=["seqmtl._worker"],
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
