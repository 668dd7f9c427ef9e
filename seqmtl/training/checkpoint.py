"""Checkpoints of training: where a run that was interrupted may start again.

A checkpoint holds the dual variables, the kernel weights if they are learnt, and the scores of the
hyperparameters that were tried. A run from there selects the same hyperparameters and ends at the
same duality gap, in fewer epochs than one from the beginning.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._schema import anything, items, mapping, record, word
from seqmtl.core.dcd import WarmStart
from seqmtl.exceptions import InputFormatError, ModelFileError
from seqmtl.features._base import FeatureDefinition
from seqmtl.files.model_file import Forms, check_arrays, read_arrays, write_arrays
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.training.settings import Settings

logger = logging.getLogger(__name__)

_FORMAT = "seqmtl checkpoint"
_HEADER = record({"problem": mapping(anything), "scores": items(word, distinct=True)})


class Checkpoint:
    """A file with the dual variables of a training problem.

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
        features: FeatureDefinition,
        task_kernel: Any,
        settings: Settings,
        choices: Any = None,
    ) -> None:
        self.path = path
        self.is_written = False
        self.scores: dict[str, NDArray[np.float64]] = {}
        self._forms: Forms = {
            "alpha": ("float64", (len(windows),)),
            "theta": ("float64", (0 if settings.norm is None else None,)),
        }
        self._problem = _describe(windows, features, task_kernel, settings, choices)

    def save_scores(self) -> None:
        """Write the scores of the candidates, before training has begun."""
        self._write({})

    def save(self, start: WarmStart) -> None:
        """Write the dual variables, the kernel weights and the scores, atomically."""
        self._write(start._asdict())

    def _write(self, arrays: dict[str, NDArray[Any]]) -> None:
        header = {"format": _FORMAT, "problem": self._problem, "scores": list(self.scores)}
        scores = {f"score {i}": values for i, values in enumerate(self.scores.values())}
        write_arrays(self.path, header, {**arrays, **scores})
        self.is_written = True

    def load(self) -> WarmStart | None:
        """Read where to start and the scores; return None if training had not begun.

        Raises
        ------
        SeqmtlError
            If the checkpoint belongs to another problem, or is damaged.
        """
        if not os.path.exists(self.path):
            logger.info("%s: there is no unfinished training to resume; starting afresh", self.path)
            return None
        header, arrays = read_arrays(self.path)
        if header.get("format") != _FORMAT:
            raise ModelFileError("is not a checkpoint", path=self.path)
        try:
            _HEADER("", header)
            names = differing(header["problem"], self._problem)
            content = {k: np.array(array) for k, array in arrays.items()}
            start = None if names else self._read(header["scores"], content)
        except ValueError as error:
            message = f"{error}; the checkpoint is damaged or was edited; start afresh"
            raise ModelFileError(message, path=self.path) from error
        if names:
            raise InputFormatError(
                f"belongs to other data or options ({names}); resume with the original ones, or "
                "remove it and start afresh",
                self.path,
            )
        self.is_written = True
        return start

    def _read(self, names: list[str], arrays: dict[str, NDArray[Any]]) -> WarmStart | None:
        forms: Forms = {f"score {i}": ("float64", (None,)) for i in range(len(names))}
        has_begun = "alpha" in arrays
        if has_begun:
            forms |= self._forms
        check_arrays(arrays, forms)
        self.scores.update({name: arrays[f"score {i}"] for i, name in enumerate(names)})
        if not has_begun:
            return None
        alpha, theta = arrays["alpha"], arrays["theta"]
        if theta.size and not (theta.min() >= 0 and theta.max() > 0):
            raise ValueError("array theta must hold numbers above 0")
        return WarmStart(alpha, theta)

    def remove(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)


def differing(saved: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return the names of the entries that differ, for a message; empty if none does."""
    names = [*given, *(name for name in saved if name not in given)]
    return ", ".join(name for name in names if saved.get(name) != given.get(name))


def _describe(
    windows: Windows,
    features: FeatureDefinition,
    task_kernel: Any,
    settings: Settings,
    choices: Any,
) -> dict[str, Any]:
    """Return what defines the problem, as JSON values."""
    kernels = task_kernel if isinstance(task_kernel, (list, tuple)) else [task_kernel]
    kernel = [[*k.names, *k.labels] if isinstance(k, TaskKernel) else str(k) for k in kernels]
    matrices = [k.matrices for k in kernels if isinstance(k, TaskKernel)]
    columns = (windows.starts, windows.is_reverse, windows.labels, windows.task_ids, windows.codes)
    problem = {
        "windows": [len(windows), windows.length, *windows.task_names, _digest(*columns)],
        "site": windows.site,
        "features": features.to_dict(windows.length),
        "task kernel": [_digest(json.dumps(kernel).encode(), *matrices)],
        "selection": None if choices is None else _digest(json.dumps(choices).encode()),
        **settings.to_dict(),
    }
    described: dict[str, Any] = json.loads(json.dumps(problem))
    return described


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        array = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
