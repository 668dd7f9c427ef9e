"""Train on windows that stay on disk, and on the workers of a dask scheduler."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl._schema import anything, items, mapping, record, whole, word
from seqmtl.exceptions import SeqmtlError, TrainingInterrupted
from seqmtl.files.atomic import files_not_of, remove_files, write_json
from seqmtl.request import option
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from seqmtl.io.window_store import WindowStore
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_DONE, _STATE = "store.json", "state"
_PART = {
    "path": word, "first": whole(), "n": whole(1), "length": whole(1),
    "task_names": items(word, 1, distinct=True),
}  # fmt: skip
_STORE = record({"request": mapping(anything), "parts": items(record(_PART), 1)})
_OWN = re.compile(rf"\d{{5,}}\.windows|{re.escape(_DONE)}|{_STATE}")


@dataclass(frozen=True, kw_only=True)
class OnDisk(_options.TrainingRun, _options.TrainingRows):
    """Options of training on windows that stay on disk."""

    memory: int | None = option(
        kind=_kinds.memory,
        metavar="SIZE",
        role="how",
        help="windows on disk, in MODEL.windows, and at most this memory, such as 4G",
    )
    dask: str | None = _options.dask("score windows")
    resume: bool = option(default=False, role="how", help="resume an interrupted training")


def train_on_disk(request: OnDisk, fit: Any) -> Any:
    """Train a model on the DATA of the arguments.

    The windows are in the folder ``MODEL.windows`` meanwhile, with the state of the last look.

    Parameters
    ----------
    request : OnDisk
        What is asked.
    fit : callable
        Trains, given the store, the arguments memory, ask, run and state of
        :class:`~seqmtl.models.stored_fit.Disk`, and save, a function that stores the active
        windows after a look.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the message says how to resume.
    """
    from seqmtl._memory import available_memory
    from seqmtl.cluster import Piece, connect
    from seqmtl.files.model_file import write_arrays
    from seqmtl.models.stored_look import look

    folder = _folder(request)
    _check_input(request, folder)
    memory = request.memory or available_memory()
    with connect(request.dask) as workers, _kept_if_of_use(request):
        store = _store(folder, request, memory)

        def ask(question: Any, jobs: Any) -> Iterator[Any]:
            pieces = [Piece(f"part {k + 1}", job, (job[0].path,)) for k, job in enumerate(jobs)]
            for done in workers.map(look, pieces, common=question, ordered=True):
                yield done.result

        def run(work: Any, jobs: Any) -> Iterator[Any]:
            pieces = [Piece(f"candidate {k + 1}", (job,)) for k, job in enumerate(jobs)]
            for done in workers.map(work, pieces, ordered=True, is_small=True):
                yield done.result

        def on_look(active: Any) -> None:
            write_arrays(os.path.join(folder, _STATE), {}, active.state())

        state = _state(folder, request, len(store))
        try:
            return fit(store, memory=memory, ask=ask, run=run, save=on_look, state=state)
        except KeyboardInterrupt as error:
            if not os.path.exists(os.path.join(folder, _STATE)):
                raise
            raise TrainingInterrupted(
                f"interrupted; the progress is in {folder}: repeat the command with --resume to "
                "continue",
                folder,
            ) from error


def _check_input(request: OnDisk, folder: str) -> None:
    """Check DATA, and that the folder of the windows has nothing that belongs to others."""
    from seqmtl.io import guess_format, is_dataset

    if not request.data or request.data == "-":
        raise SeqmtlError("--memory and --dask read DATA from disk; name a dataset or a table")
    if request.shift and request.window is None:
        raise SeqmtlError("--shift needs a window length; give --window")
    if not is_dataset(request.data) and guess_format(request.data) == "fasta":
        raise SeqmtlError("--memory and --dask need DATA that is a dataset or a table; name one")
    others = files_not_of(folder, _OWN)
    if others:
        raise SeqmtlError(
            f"the windows would be stored in {folder}, which has other files ({others[0]}); move "
            "them, or choose another --output"
        )


def _folder(request: OnDisk) -> str:
    """Return the folder of the windows, by its full path, as workers may be elsewhere."""
    return os.path.abspath(f"{request.output}.windows")


@contextmanager
def _kept_if_of_use(request: OnDisk) -> Iterator[None]:
    """Remove the folder after an error, unless there is a state to resume from."""
    try:
        yield
    except BaseException:
        if not os.path.exists(os.path.join(_folder(request), _STATE)):
            remove_store(request)
        raise


def remove_store(request: OnDisk) -> None:
    """Remove the stored windows, and their folder."""
    remove_files(_folder(request), _OWN)


def _state(folder: str, request: OnDisk, n: int) -> Any:
    """Read the state of the last look at n windows; None if there is none to resume."""
    import numpy as np

    from seqmtl.files.model_file import read_arrays
    from seqmtl.models.schema import Forms, check_arrays

    path = os.path.join(folder, _STATE)
    if not request.resume or not os.path.exists(path):
        return None
    try:
        state = read_arrays(path)[1]
        rows = np.array(state.get("rows", ()))
        if rows.ndim != 1 or not rows.size or not (np.diff([-1, *rows.tolist(), n]) > 0).all():
            raise ValueError(f"array rows must hold rising numbers from 0 to {n - 1}")
        known = {"rows": "int64", "alpha": "float64", "margins": "float64"}
        forms: Forms = {name: (dtype, (rows.size,)) for name, dtype in known.items()}
        check_arrays(state, {**forms, "bound": ("uint8", (n,)), "primal": ("float64", (1,))})
    except ValueError as error:  # also a ModelFileError
        raise SeqmtlError(f"{path}: damaged; train without --resume") from error
    return state


def _store(folder: str, request: OnDisk, memory: int) -> WindowStore:
    """Return the stored windows of DATA: those of an interrupted run, or new ones."""
    from seqmtl.files.whole import read_json
    from seqmtl.io.window_store import StoredPart, WindowStore, store_windows

    path, asked = os.path.join(folder, _DONE), _fingerprint(request)
    if request.resume and os.path.exists(path):
        try:
            found = read_json(path)
            _STORE("", found)
            before = found["request"]
            parts = [
                StoredPart(**{**own, "task_names": (*own["task_names"],)}) for own in found["parts"]
            ]
        except ValueError as error:
            raise SeqmtlError(f"{path}: damaged ({error}); train without --resume") from error
        if before != asked:
            raise SeqmtlError(
                f"cannot resume: {folder} is of another DATA or other options; give the same, or "
                "omit --resume to start afresh"
            )
        logger.info("%s: resuming", folder)
        return WindowStore.of(parts)
    if request.resume:
        logger.info("%s: there is nothing to resume; starting afresh", folder)
    elif os.path.exists(os.path.join(folder, _STATE)):
        logger.warning("%s: what an interrupted run has left is replaced, without --resume", folder)
    remove_store(request)
    store = store_windows(_windows(request, memory), folder)
    write_json(path, {"request": asked, "parts": [own._asdict() for own in store.parts]})
    return store


def _fingerprint(request: OnDisk) -> dict[str, Any]:
    """Return what determines the windows and the problem, as JSON values."""
    from seqmtl._version import __version__
    from seqmtl.io.dataset import WINDOWS, is_dataset

    assert request.data is not None
    source = os.path.join(request.data, WINDOWS) if is_dataset(request.data) else request.data
    facts = os.stat(source)
    asked = request.fingerprint("tol", "max_epochs")
    return {"version": __version__, "size": facts.st_size, "time": facts.st_mtime_ns, **asked}


def _windows(request: OnDisk, memory: int) -> Iterator[Windows]:
    """Yield the windows of DATA, an organism at a time if it is a dataset."""
    from seqmtl.exceptions import MemoryLimitError
    from seqmtl.io import is_dataset, read_dataset
    from seqmtl.io.dataset import read_summary
    from seqmtl.io.window_store import PART
    from seqmtl.sequences.quality import Seen
    from seqmtl.verbs._windows import organisms_named, parts_of_table, warn_of

    data = request.data
    assert data is not None
    if is_dataset(data):
        genomes = read_summary(data)["genomes"]
        largest = max(genome["n_bases"] for genome in genomes.values())
        if largest > memory:
            raise MemoryLimitError(
                f"the largest genome takes {largest / 2**30:.1f} GiB, and --memory allows "
                f"{memory / 2**30:.1f}; give more"
            )
        parts: Iterator[Windows] = (
            read_dataset(data, split=request.split, organism=name).windows
            for name in organisms_named(request)
        )
    else:
        wide = None if request.window is None else request.window + 2 * abs(request.shift)
        parts = parts_of_table(request, wide, PART)
    seen = Seen()
    for windows in parts:
        if request.window is not None:
            windows = windows.center(request.window, request.shift)
        seen.add(windows)
        yield windows
    warn_of(seen.faults(), request)
