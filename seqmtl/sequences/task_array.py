"""Arrays of examples that carry their tasks, as windows do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TaskArray:
    """An array or CSR matrix of examples, with the task of every row.

    Row indexing (integer arrays, masks, slices) includes the tasks, so scikit-learn's splitters,
    cross_val_predict and CalibratedClassifierCV can be used as with :class:`~seqmtl.Windows`. The
    estimators and models of this package read the tasks from it. It is not implicitly converted
    to an array, so tasks are never lost.

    Parameters
    ----------
    X : array_like of shape (n, d) or (n,), or sparse matrix of shape (n, d)
        Numbers or texts.
    tasks : iterable of str, length n
        Task of every example.

    Raises
    ------
    ValueError
        If there is not one task per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskKernelSVC, TaskArray
    >>> from sklearn.model_selection import cross_val_predict
    >>> X = TaskArray([[0.0], [1.0], [2.0], [0.1], [0.9], [2.2]] * 2, list("aaabbb") * 2)
    >>> X[3:5].tasks
    array(['b', 'b'], dtype=object)
    >>> cross_val_predict(MultiTaskKernelSVC(gamma=2.0, C=10), X, [0, 1, 0, 0, 1, 0] * 2, cv=2)
    array([0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0])
    """

    def __init__(self, X: Any, tasks: Iterable[Any]) -> None:
        self.X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        self.tasks: NDArray[Any] = np.array(list(tasks), dtype=object)
        if self.tasks.shape != self.X.shape[:1]:
            raise ValueError(
                f"tasks must have one entry per example ({self.X.shape[0]}), got {self.tasks.size}"
            )

    def __len__(self) -> int:
        return self.tasks.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the examples, with which scikit-learn counts and indexes the rows."""
        shape: tuple[int, ...] = self.X.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of dimensions: 1 for texts, 2 for numbers."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> TaskArray:
        columns: list[Any] = []
        if isinstance(key, tuple):
            key, *columns = (part for part in key if part is not Ellipsis)
        rows = np.atleast_1d(np.arange(len(self))[np.ravel(key) if columns else key])
        X = self.X[rows]
        return TaskArray(X[:, np.ravel(columns[0])] if columns else X, self.tasks[rows])

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError(
            "a TaskArray must not become an array, which would lose its tasks; use "
            "TaskTransformer(StandardScaler()) for a StandardScaler(), or .X"
        )

    def __repr__(self) -> str:
        return f"TaskArray({len(self)} examples of {len(set(self.tasks.tolist()))} tasks)"


def split_tasks(X: Any, tasks: Any = None) -> tuple[Any, Any]:
    """Return plain examples, and the given tasks or else those of a TaskArray."""
    if not hasattr(tasks, "__iter__") and hasattr(tasks, "__array__"):
        tasks = np.asarray(tasks)
    if not isinstance(X, TaskArray):
        return X, tasks
    return X.X, X.tasks if tasks is None else tasks
