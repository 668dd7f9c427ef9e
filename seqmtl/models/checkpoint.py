"""Checkpoints of long training runs, so that an interruption costs at most one epoch.

If hyperparameters are selected first, the scores of the candidates are saved as well.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import fields
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
_STATE = record(
    {
        "random": mapping(anything),
        "epoch": whole(),
        "work": _size,
        "seconds": _size,
        "history": items(record(_PROGRESS | dict.fromkeys(("primal", "dual", "gap"), number()))),
    }
)


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
        description = {
            "has_state": True,
            "random": state.rng.bit_generator.state,
            "epoch": state.epoch,
            "work": state.work,
            "seconds": state.seconds,
            "history": [vars(progress) for progress in state.history],
        }
        arrays = {
            "alpha": state.alpha,
            "active": state.active.astype(np.int64),
            "theta": state.theta,
        }
        self._write(description, arrays)

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
            self._check(description, arrays)
            names = description["scores"]
            self.scores.update(
                (name, np.array(arrays[f"score {i}"])) for i, name in enumerate(names)
            )
            state = self._state(description, arrays) if description["has_state"] else None
        except ValueError as error:
            message = f"{error}; the checkpoint is damaged or was edited; start afresh"
            raise ModelFileError(message, path=self.path) from error
        self.is_written = True
        return state

    def _check(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        _HEADER("", description)
        scores = [f"score {i}" for i in range(len(description["scores"]))]
        forms: Forms = dict.fromkeys(scores, ("float64", (None,)))
        if description["has_state"]:
            _STATE("", description)
            forms |= {
                "alpha": ("float64", (self._n_examples,)),
                "active": ("int64", (None,)),
                "theta": ("float64", (None,)),
            }
        check_arrays(arrays, forms)

    def _state(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State:
        alpha, active, theta = (np.array(arrays[name]) for name in ("alpha", "active", "theta"))
        if active.size and not (0 <= active.min() and active.max() < alpha.size):
            raise ValueError(f"array active must hold numbers from 0 to {alpha.size - 1}")
        if theta.size and not (theta.min() >= 0 and theta.max() > 0):
            raise ValueError("array theta must hold numbers above 0")
        rng = np.random.default_rng()
        with part("random"):
            rng.bit_generator.state = description["random"]
        epoch, work, seconds = (description[key] for key in ("epoch", "work", "seconds"))
        history = [
            Progress(**{field.name: entry[field.name] for field in fields(Progress)})
            for entry in description["history"]
        ]
        return State(alpha, active, rng, epoch, float(work), float(seconds), history, theta)

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)


def _fingerprint(
    windows: Windows, features: Any, task_kernel: Any, settings: Settings, choices: Any
) -> str:
    """Hash the problem definition; the tolerance and the epoch limit may change on resuming."""
    options = settings.to_dict()
    del options["tol"], options["max_epochs"]
    kernels = task_kernel if isinstance(task_kernel, (list, tuple)) else [task_kernel]
    kernel = [[*k.names, *k.labels] if isinstance(k, TaskKernel) else str(k) for k in kernels]
    matrices = [k.matrices for k in kernels if isinstance(k, TaskKernel)]
    text = json.dumps(
        [
            features.to_dict(windows.length),
            options,
            kernel,
            windows.task_names,
            windows.length,
            choices,
        ],
        sort_keys=True,
    )
    digest = hashlib.sha256(text.encode())
    columns = (windows.starts, windows.is_reverse, windows.labels, windows.task_ids, windows.codes)
    for column in (*columns, *matrices):
        digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return digest.hexdigest()
