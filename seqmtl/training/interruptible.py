"""Training that can be interrupted: its progress is stored and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqmtl._progress import SelectionProgress, TrainingProgress
from seqmtl.core.dcd import Progress
from seqmtl.exceptions import TrainingInterrupted
from seqmtl.training.cross_validation import LikelihoodCache

OnEpoch: TypeAlias = Callable[[Any, Progress], None]

_SAVE_AFTER = 1.0  # passes of work between checkpoints, which take far less time


class Store(Protocol):
    """Where the progress of a training is stored: a file, or the folder of its windows."""

    path: str

    @property
    def scores(self) -> dict[str, NDArray[np.float64]] | None:
        """Scores of the candidates of a selection, which are not computed again."""

    @property
    def is_written(self) -> bool:
        """Whether there is something to start from."""

    def save(self, start: Any) -> None:
        """Store where a later run may start."""

    def save_scores(self) -> None:
        """Store the scores, before training has begun."""


@contextmanager
def stored_progress(store: Store, tol: float) -> Iterator[tuple[OnEpoch, LikelihoodCache]]:
    """Store and show the progress of a training.

    Yields
    ------
    on_epoch : callable
        For :func:`seqmtl.training.fit.fit`.
    likelihoods : LikelihoodCache
        For its selection.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C, if something is stored; the message says how to resume.
    """
    show, show_choice, saved_at = TrainingProgress(tol), SelectionProgress(), 0.0

    def on_epoch(start: Any, progress: Progress) -> None:
        nonlocal saved_at
        if progress.work >= saved_at + _SAVE_AFTER:
            store.save(start)
            saved_at = progress.work
        show(progress)

    def on_score(name: str, number: int, n: int) -> None:
        store.save_scores()
        show_choice(name, number, n)

    try:
        yield on_epoch, LikelihoodCache(store.scores, on_score)
    except KeyboardInterrupt as error:
        if not store.is_written:
            raise
        raise TrainingInterrupted(
            f"interrupted; the progress is in {store.path}: repeat the command with --resume to "
            "continue",
            store.path,
        ) from error
    finally:
        show.close()
