"""Training that can be interrupted: its progress is stored and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from seqmtl import _progress
from seqmtl.core.dcd import Progress
from seqmtl.exceptions import TrainingInterrupted
from seqmtl.training.cross_validation import LikelihoodCache

if TYPE_CHECKING:
    from seqmtl.training.checkpoint import Checkpoint
    from seqmtl.training.stored_windows import WindowCache

OnEpoch: TypeAlias = Callable[[Any, Progress], None]

_SAVE_AFTER = 1.0  # passes of work between checkpoints, which take far less time


@contextmanager
def stored_progress(
    store: Checkpoint | WindowCache,
) -> Iterator[tuple[OnEpoch, LikelihoodCache]]:
    """Show the progress of a training, and store it in a file, or the folder of its windows.

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
    line, saved_at = _progress.Progress(), 0.0
    n_known: int | None = None  # candidates that an earlier run has scored

    def on_epoch(start: Any, progress: Progress) -> None:
        nonlocal saved_at
        if progress.work >= saved_at + _SAVE_AFTER:
            store.save(start)
            saved_at = progress.work
        line.update(
            lambda _: (
                f"{progress.work:.1f} passes  gap {progress.gap:.1e}  "
                f"active {progress.n_active:,}  {progress.seconds:.0f} s"
            )
        )

    def on_score(name: str, number: int, n: int) -> None:
        nonlocal n_known
        store.save_scores()
        before = n_known = number - 1 if n_known is None else n_known
        line.update(
            lambda seconds: (
                f"cross-validation: {number} of {n}, {name}, about "
                f"{seconds / (number - before) * (n - number):.0f} s left"
            )
        )

    try:
        yield on_epoch, LikelihoodCache(store.scores, on_score)
    except KeyboardInterrupt as error:
        if not store.is_written:
            raise
        raise TrainingInterrupted(
            f"interrupted; the progress is in {store.path}: repeat the command with --resume to "
            "continue"
        ) from error
    finally:
        line.close()
