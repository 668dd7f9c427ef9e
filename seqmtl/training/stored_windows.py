"""Training windows that stay on disk, in a folder from which an interrupted training resumes."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import available_memory
from seqmtl._schema import anything, items, load, mapping, record
from seqmtl._version import __version__
from seqmtl.cluster import Workers, connect
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.features._base import FeatureDefinition
from seqmtl.files.model_file import Forms, check_arrays, read_arrays, write_arrays
from seqmtl.files.streams import read_json
from seqmtl.files.write import UNFINISHED, write_json
from seqmtl.io.window_store import StoredPart, WindowStore, store_windows
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.checkpoint import differing
from seqmtl.training.example_source import ExampleSource
from seqmtl.training.out_of_core import OutOfCoreTrainer
from seqmtl.training.parts import Job, PartResult, PartTask, score_part

logger = logging.getLogger(__name__)

_DONE, _STATE = "store.json", "state"
_STORE = record({"request": mapping(anything), "parts": items(anything, 1)})
_STORED = re.compile(
    rf"\.?(\d{{5,}}\.windows|{re.escape(_DONE)}|{_STATE})({re.escape(UNFINISHED)}\w+)?"
)


class WindowCache:
    """The folder ``MODEL.windows``: windows on disk, and where a later run may start.

    Parameters
    ----------
    path : str
        The folder.
    problem : dict
        What determines the windows and the problem, as JSON values.
    """

    scores: dict[str, NDArray[np.float64]] | None = None
    n_windows = 0

    def __init__(self, path: str, problem: dict[str, Any]) -> None:
        self.path = os.path.abspath(path)  # workers may be elsewhere
        self._problem = {"version": __version__, **problem}
        self._state, self._done = (os.path.join(self.path, name) for name in (_STATE, _DONE))

    @property
    def is_written(self) -> bool:
        """Whether there is something to start from."""
        return os.path.exists(self._state)

    def save(self, start: Any) -> None:
        """Store where a later run may start, atomically."""
        write_arrays(self._state, {}, start)

    def save_scores(self) -> None:
        """Do nothing: the scores of a selection are not stored."""

    def remove(self) -> None:
        """Remove the stored windows, and their folder."""
        if not os.path.isdir(self.path):
            return
        for name in set(os.listdir(self.path)).difference(_other_files(self.path)):
            os.unlink(os.path.join(self.path, name))
        with suppress(OSError):  # it has other files
            os.rmdir(self.path)

    def load(self) -> Any:
        """Read where to start; None if training had not begun.

        Raises
        ------
        SeqmtlError
            If it is damaged.
        """
        if not self.is_written:
            return None
        n = self.n_windows
        try:
            start = read_arrays(self._state)[1]
            rows = np.array(start.get("rows", ()))
            if rows.ndim != 1 or not rows.size or not (np.diff([-1, *rows.tolist(), n]) > 0).all():
                raise ValueError(f"array rows must hold rising numbers from 0 to {n - 1}")
            types = {"rows": "int64", "alpha": "float64", "margins": "float64"}
            forms: Forms = {name: (dtype, (rows.size,)) for name, dtype in types.items()}
            forms |= {"bound": ("uint8", (n,)), "primal": ("float64", (1,))}
            check_arrays(start, forms)
        except ValueError as error:  # also a ModelFileError
            raise InputFormatError("damaged; train without --resume", self._state) from error
        return start

    def store(self, windows: Iterable[Windows], *, resume: bool) -> WindowStore:
        """Return stored windows: those of an interrupted run, or new ones."""
        if resume and os.path.exists(self._done):
            return self._stored()
        if resume:
            logger.info("%s: there is nothing to resume; starting afresh", self.path)
        elif self.is_written:
            logger.warning(
                "%s: what an interrupted run has left is replaced, without --resume", self.path
            )
        self.remove()
        store = store_windows(windows, self.path)
        parts = [part._asdict() for part in store.parts]
        write_json(self._done, {"request": self._problem, "parts": parts})
        return store

    def _stored(self) -> WindowStore:
        try:
            document = read_json(self._done)
            _STORE("", document)
            parts = [
                load(StoredPart, f"parts[{i}]", part) for i, part in enumerate(document["parts"])
            ]
        except ValueError as error:
            message = f"damaged ({error}); train without --resume"
            raise InputFormatError(message, self._done) from error
        if names := differing(document["request"], self._problem):
            raise InputFormatError(
                f"belongs to other data or options ({names}); resume with the original ones, or "
                "omit --resume to start afresh",
                self.path,
            )
        logger.info("%s: resuming", self.path)
        moved = (os.path.join(self.path, os.path.basename(part.path)) for part in parts)
        return WindowStore.of(
            [part._replace(path=path) for part, path in zip(parts, moved, strict=True)]
        )

    def check_folder(self) -> None:
        """Check that the folder has nothing that belongs to others.

        Raises
        ------
        SeqmtlError
            If it has.
        """
        if others := _other_files(self.path):
            raise SeqmtlError(
                f"the windows would be stored in {self.path}, which has other files ({others[0]}); "
                "move them, or choose another --output"
            )


@contextmanager
def stored_examples(
    cache: WindowCache,
    source: ExampleSource,
    window: int | None,
    shift: int,
    *,
    memory: int | None,
    dask: str | None,
    resume: bool,
    features: FeatureDefinition | None = None,
) -> Iterator[tuple[Examples, OutOfCoreTrainer]]:
    """Store the windows of a source; yield them, and how to train on them.

    The folder is removed after an error, unless there is something to start from.

    Parameters
    ----------
    cache : WindowCache
        The folder.
    source : ExampleSource
        A dataset or a table.
    window, shift
        See :meth:`ExampleSource.read_in_parts`.
    memory : int, optional
        Bytes to use at most. Default: what is available.
    dask : str, optional
        Address of the scheduler whose workers score the windows.
    resume : bool
        Whether to start from what an interrupted run has left.
    features : FeatureDefinition, optional
        Features; if they need no positions, sequences may differ in length.
    """
    memory = memory or available_memory()
    cache.check_folder()
    try:
        with connect(dask) if dask else nullcontext() as workers:
            parts = source.read_in_parts(window, shift, memory, features)
            store = cache.store(parts, resume=resume)
            cache.n_windows = len(store)
            examples = Examples(store, store.labels, store.task_ids, store.task_names)
            if workers is not None:
                workers.check(cache.path)
            yield examples, OutOfCoreTrainer(memory, partial(_score_parts, workers))
    except BaseException:
        if not cache.is_written:
            cache.remove()
        raise


def _score_parts(
    workers: Workers | None, task: PartTask, jobs: Iterable[Job]
) -> Iterator[PartResult]:
    """Score all parts, here or by workers."""
    if workers is None:
        return (score_part(task, *job) for job in jobs)
    return workers.map(score_part, jobs, task)


def _other_files(folder: str) -> list[str]:
    """Return the names in a folder, if it exists, that are not of stored windows."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [name for name in names if not _STORED.fullmatch(name)]
