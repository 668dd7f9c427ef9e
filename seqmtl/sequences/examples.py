"""Examples with their labels, tasks and weights: what every training and selection takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.sequences import Windows


@dataclass(frozen=True)
class Examples:
    """Examples with labels, tasks and weights.

    Attributes
    ----------
    data : Windows, WindowStore, ndarray or csr_matrix of shape (n, d)
        Examples.
    y : ndarray, shape (n,)
        Labels, -1 or +1; targets in regression.
    ids : ndarray of int, shape (n,)
        Task of every example.
    names : tuple of str
        Tasks.
    weight : ndarray of float64, shape (n,)
        Positive factor on C of every example. Default: 1.
    """

    data: Any
    y: NDArray[Any]
    ids: NDArray[Any]
    names: tuple[str, ...]
    weight: Any = None

    def __post_init__(self) -> None:
        """Set the weights that are not given."""
        if self.weight is None:
            object.__setattr__(self, "weight", np.broadcast_to(1.0, len(self.y)))

    @classmethod
    def of(cls, windows: Windows) -> Examples:
        """Return labelled windows as examples, of the tasks that they have.

        Raises
        ------
        ValueError
            If there are none, or two tasks differ only in spelling.
        """
        if not len(windows):
            raise ValueError("training needs windows, got none; check the split and files")
        if np.unique(windows.task_ids).size < len(windows.task_names):
            windows = windows.with_tasks(windows.tasks)
        check_distinct(windows.task_names)
        y = windows.labels.astype(np.float64)
        return cls(windows, y, windows.task_ids, windows.task_names)

    def take(self, rows: NDArray[np.int64]) -> Examples:
        """Return a subset of the examples."""
        return Examples(
            self.data[rows],
            self.y[rows].astype(np.float64),
            self.ids[rows],
            self.names,
            self.weight[rows],
        )

    def only(self, names: Sequence[str]) -> tuple[Examples, NDArray[np.int64]]:
        """Return the examples of some tasks, and their rows."""
        numbers = [t for t, name in enumerate(self.names) if name in names]
        number = np.full(len(self.names), -1)
        number[numbers] = np.arange(len(numbers))
        rows = np.flatnonzero(number[self.ids] >= 0)
        chosen = self.take(rows)
        ids = number[chosen.ids].astype(self.ids.dtype)
        return replace(chosen, ids=ids, names=tuple(self.names[t] for t in numbers)), rows

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw about n examples, balanced over tasks as far as possible; sorted.

        Labels of either sign keep their proportions, with at least two examples of each where
        available; of more tasks than have room for these, some are drawn.
        """
        tasks = np.arange(len(self.names))
        if tasks.size > n // 4 and self.y.size > n:
            tasks = np.sort(rng.choice(tasks, max(n // 4, 1), replace=False))
        sizes = np.bincount(self.ids, minlength=len(self.names))[tasks]
        level = _level(sizes, n)
        order = np.argsort(self.ids, kind="stable")
        starts = np.searchsorted(self.ids[order], tasks)
        drawn = []
        for start, size in zip(starts, sizes, strict=True):
            rows, share = order[start : start + size], min(level / max(size, 1), 1.0)
            for is_positive in (True, False):
                side = rows[(self.y[rows] > 0) == is_positive]
                drawn.append(rng.permutation(side)[: max(round(share * side.size), 2)])
        return np.sort(np.concatenate(drawn))

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of examples and of positive ones of every task, shape (T,)."""
        T = len(self.names)
        positive = np.bincount(self.ids[self.y > 0], minlength=T)
        return np.bincount(self.ids, minlength=T), positive


def _level(sizes: NDArray[np.int64], n: int) -> float:
    """Return the l with sum_t min(size_t, l) = n, or the largest size if there is none."""
    rising = np.sort(sizes)
    left = float(n)
    for t, size in enumerate(rising):
        if size * (rising.size - t) > left:
            return left / (rising.size - t)
        left -= size
    return float(rising[-1])
