"""What runs on a worker of :mod:`seqmtl.cluster`: a piece, its log, and its preparation."""

from __future__ import annotations

import json
import logging
import pickle
import signal
from functools import lru_cache
from threading import Lock, get_ident
from typing import Any

from seqmtl._messages import is_heard

_LOADING = Lock()  # the pieces on a worker wait while the first one loads what they share


def run_piece(content: bytes, common: bytes | None) -> tuple[str, str, Any]:
    """Do a piece on a worker; return the worker's name, no fault, and the result."""
    from distributed import get_worker

    worker = get_worker()
    topic, number, level, function, arguments = pickle.loads(content)
    name = str(worker.name)
    worker.log_event(topic, {"number": number, "by": name})
    log, teller = logging.getLogger("seqmtl"), _Teller(worker, topic, name)
    log.setLevel(level)
    log.addHandler(teller)
    try:
        with _LOADING:
            shared = () if common is None else (_loaded(common),)
        return name, "", function(*shared, *arguments)
    finally:
        log.removeHandler(teller)


@lru_cache(maxsize=1)
def _loaded(common: bytes) -> Any:
    """Return what the pieces of a call share, once it is known that the versions are the same."""
    return pickle.loads(common)


class _Teller(logging.Handler):
    """Send what a piece logs to the client."""

    def __init__(self, worker: Any, topic: str, name: str) -> None:
        super().__init__()
        self._worker, self._topic, self._name = worker, topic, name
        self._thread = get_ident()
        self.addFilter(is_heard)

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line, unless it is of another piece on this worker."""
        if record.thread != self._thread:
            return
        content = {
            "name": record.name,
            "levelno": record.levelno,
            "msg": record.getMessage(),
            "created": record.created,
            "fields": getattr(record, "fields", {}),
        }
        message = {"by": self._name, "record": json.dumps(content, default=str)}
        self._worker.log_event(self._topic, message)


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that started a worker of ``local:N``; dask calls this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
