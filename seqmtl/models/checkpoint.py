"""Checkpoints of long training runs, so that an interruption costs at most one epoch.

If hyperparameters are selected first, the scores of the candidates are saved as well.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._schema import anything, flag, items, mapping, number, record, whole, word
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.atomic import remove_file
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.schema import Forms, check_arrays, part
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import Progress, State

logger = logging.getLogger(__name__)

_FORMAT = "seqmtl checkpoint"

_size = number(least=0)
_HEADER = record({"scores": items(word, distinct=True), "has_state": flag})
_PROGRESS = {"epoch": whole(), "work": _size, "n_active": whole(), "seconds": _size}
_PROGRESS |= dict.fromkeys(("primal", "dual", "gap"), number())
_FACTS = {"epoch": whole(), "work": _size, "seconds": _size}
_STATE = record(_FACTS | {"random": mapping(anything), "history": items(record(_PROGRESS))})
_ARRAYS: Forms = {
    "alpha": ("float64", (None,)),
    "active": ("int64", (None,)),
    "theta": ("float64", (None,)),
}


class Checkpoint:
    """A file with the dual variables and the position in the random stream.

    Parameters
    ----------
    path : str
        The file.
    windows, features, task_kernel, settings
        The training problem; a checkpoint of another problem is rejected.
    choices : JSON value, optional
        The candidates of the selection, if there is one.

    Attributes
    ----------
    scores : dict of str to ndarray of float64
        Scores of the candidates evaluated so far.
    """

    def __init__(
        self,
        path: str,
        windows: Windows,
        features: Any,
        task_kernel: Any,
        settings: Settings,
        choices: Any = None,
    ) -> None:
        self.path = path
        self.is_written = False
        self.scores: dict[str, NDArray[np.float64]] = {}
        self._n_examples = len(windows)
        self._fingerprint = _fingerprint(windows, features, task_kernel, settings, choices)

    def save_scores(self) -> None:
        """Write the scores of the candidates, before training has begun."""
        self._write({"has_state": False}, {})

    def save(self, state: State) -> None:
        """Write the state, atomically."""
        facts = {name: getattr(state, name) for name in _FACTS}
        random = state.rng.bit_generator.state
        history = [vars(progress) for progress in state.history]
        arrays = {name: getattr(state, name) for name in _ARRAYS}
        self._write({"has_state": True, "random": random, "history": history, **facts}, arrays)

    def _write(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        header = {"format": _FORMAT, "fingerprint": self._fingerprint, "scores": list(self.scores)}
        scores = {f"score {i}": values for i, values in enumerate(self.scores.values())}
        write_arrays(self.path, {**header, **description}, {**arrays, **scores})
        self.is_written = True

    def load(self) -> State | None:
        """Read the state and the scores; return None if training had not begun.

        Raises
        ------
        SeqmtlError
            If the checkpoint belongs to another problem.
        """
        if not os.path.exists(self.path):
            logger.info("%s: there is no unfinished training to resume; starting afresh", self.path)
            return None
        description, arrays = read_arrays(self.path)
        if description.get("format") != _FORMAT:
            raise ModelFileError("is not a checkpoint", path=self.path)
        if description.get("fingerprint") != self._fingerprint:
            raise SeqmtlError(
                f"{self.path} belongs to other data or options; resume with the original ones, "
                "or remove it and start afresh"
            )
        try:
            state = self._read(description, {name: np.array(own) for name, own in arrays.items()})
        except ValueError as error:
            message = f"{error}; the checkpoint is damaged or was edited; start afresh"
            raise ModelFileError(message, path=self.path) from error
        self.is_written = True
        return state

    def _read(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State | None:
        _HEADER("", description)
        names = [f"score {i}" for i in range(len(description["scores"]))]
        forms: Forms = dict.fromkeys(names, ("float64", (None,)))
        if description["has_state"]:
            _STATE("", description)
            forms |= _ARRAYS | {"alpha": ("float64", (self._n_examples,))}
        check_arrays(arrays, forms)
        scores = [arrays.pop(name) for name in names]
        self.scores.update(zip(description["scores"], scores, strict=True))
        return _state(description, arrays) if description["has_state"] else None

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)


def _state(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State:
    active, theta, n = arrays["active"], arrays["theta"], arrays["alpha"].size
    if active.size and not (0 <= active.min() and active.max() < n):
        raise ValueError(f"array active must hold numbers from 0 to {n - 1}")
    if theta.size and not (theta.min() >= 0 and theta.max() > 0):
        raise ValueError("array theta must hold numbers above 0")
    rng, entries = np.random.default_rng(), description["history"]
    with part("random"):
        rng.bit_generator.state = description["random"]
    history = [Progress(**{name: entry[name] for name in _PROGRESS}) for entry in entries]
    facts: dict[str, Any] = {name: description[name] for name in _FACTS} | arrays
    return State(rng=rng, history=history, **facts)


def _fingerprint(
    windows: Windows, features: Any, task_kernel: Any, settings: Settings, choices: Any
) -> str:
    """Hash the problem definition; the tolerance and the epoch limit may change on resuming."""
    options = settings.to_dict()
    del options["tol"], options["max_epochs"]
    kernels = task_kernel if isinstance(task_kernel, (list, tuple)) else [task_kernel]
    kernel = [[*k.names, *k.labels] if isinstance(k, TaskKernel) else str(k) for k in kernels]
    matrices = [k.matrices for k in kernels if isinstance(k, TaskKernel)]
    described = [features.to_dict(windows.length), options, kernel, choices]
    described += [windows.task_names, windows.length]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    columns = (windows.starts, windows.is_reverse, windows.labels, windows.task_ids, windows.codes)
    for column in (*columns, *matrices):
        digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return digest.hexdigest()
