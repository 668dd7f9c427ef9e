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
    X : array_like of shape (n, d) or (n,), sparse matrix of shape (n, d), or data frame
        Numbers or texts; a data frame keeps the names of its columns.
    tasks : iterable of str, length n
        Task of every example.

    Raises
    ------
    ValueError
        If there is not one task per example, or numbers are masked.

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
        refuse_masked("X", X)
        if hasattr(X, "tocsr"):
            self.X = X.tocsr()
        else:
            self.X = X if hasattr(X, "columns") else np.asarray(X)
        self.tasks: NDArray[Any] = np.array(list(task_column(tasks)), dtype=object)
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
        from sklearn.utils import _safe_indexing

        columns: list[Any] = []
        if isinstance(key, tuple):
            key, *columns = (part for part in key if part is not Ellipsis)
        rows = np.atleast_1d(np.arange(len(self))[np.ravel(key) if columns else key])
        X = _safe_indexing(self.X, rows)
        if columns:
            X = _safe_indexing(X, np.ravel(columns[0]), axis=1)
        return TaskArray(X, self.tasks[rows])

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError(
            "a TaskArray must not become an array, which would lose its tasks; use "
            "TaskTransformer(StandardScaler()) for a StandardScaler(), or .X"
        )

    def __repr__(self) -> str:
        return f"TaskArray({len(self)} examples of {len(set(self.tasks.tolist()))} tasks)"


def split_tasks(X: Any, tasks: Any = None) -> tuple[Any, Any]:
    """Return plain examples, and the given tasks or else those of a TaskArray.

    Raises
    ------
    ValueError
        If a TaskArray is given with a list of other tasks.
    """
    tasks = task_column(tasks)
    if not isinstance(X, TaskArray):
        return X, tasks
    refuse_other_tasks(X.tasks, tasks)
    return X.X, X.tasks if tasks is None else tasks


def refuse_other_tasks(carried: NDArray[Any], tasks: Any) -> None:
    """Raise ValueError if a list of tasks is not that which the examples carry.

    A single name, in place of all of them, asks for the scores of another task.
    """
    if tasks is None or isinstance(tasks, str):
        return
    names = [*tasks]
    pairs = enumerate(zip(carried, names, strict=False))
    i = next((i for i, (task, name) in pairs if str(task) != str(name)), None)
    if i is not None or len(names) != carried.size:
        what = f"{len(names)} names" if i is None else f"{names[i]!r} for example {i}"
        held = f"{carried.size} examples" if i is None else repr(carried[i])
        raise ValueError(
            f"tasks must be those that X carries, got {what}, and X has {held}; leave tasks out, "
            "or take X.X of a TaskArray, X.with_tasks(tasks) of Windows"
        )


def task_column(tasks: Any) -> Any:
    """Return tasks as given, or a column of them, of shape (n, 1), as an array of shape (n,).

    Raises
    ------
    ValueError
        If there is more than one column, or names are masked.
    """
    refuse_masked("tasks", tasks)
    if hasattr(tasks, "__next__"):
        return list(tasks)  # they are read more than once
    if tasks is None or isinstance(tasks, str):
        return tasks
    first = next(iter(tasks), None) if isinstance(tasks, (list, tuple)) else None
    if not hasattr(tasks, "__array__") and not isinstance(first, (list, tuple, np.ndarray)):
        if not hasattr(tasks, "__iter__"):
            raise ValueError(f"tasks must be names, one per example, got {tasks!r}; list them")
        return tasks
    names = np.asarray(tasks, dtype=object)
    if names.ndim != 1 and names.shape != (names.size, 1):
        raise ValueError(
            f"tasks must be one name per example, got the shape {names.shape}; give one column"
        )
    return names.ravel()


def refuse_masked(name: str, values: Any) -> None:
    """Raise ValueError if some values of an array are masked."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} must have no masked values; fill them in or leave the examples out"
        )
