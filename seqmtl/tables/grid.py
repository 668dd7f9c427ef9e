"""Score hyperparameters of a classifier by cross-validation within tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from seqmtl._checks import is_finite_number
from seqmtl.estimators.scoring import TaskScorer
from seqmtl.sequences.task_array import split_tasks
from seqmtl.similarity import TaskKernel


class GridPoint(NamedTuple):
    """Hyperparameters and their cross-validation score.

    Attributes
    ----------
    settings : dict
        Values of the parameters.
    score : float
        Mean over the folds of the mean AUROC of the tasks or, with more than two classes, of the
        accuracy.
    """

    settings: dict[str, Any]
    score: float

    def __str__(self) -> str:
        """Return the settings."""
        return ", ".join(f"{name} = {_shown(value)}" for name, value in self.settings.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON values."""
        settings = {
            name: float(value) if is_finite_number(value) else _shown(value)
            for name, value in self.settings.items()
        }
        return settings | {"score": self.score if math.isfinite(self.score) else None}


def _shown(value: Any) -> str:
    return value.source if isinstance(value, TaskKernel) else f"{value:g}"


def grid_scores(  # noqa: PLR0913
    estimator: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    y: ArrayLike,
    tasks: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    n_folds: int = 3,
    seed: int = 0,
    on_point: Callable[[GridPoint], None] | None = None,
) -> list[GridPoint]:
    """Score hyperparameters of a classifier on folds stratified by task and class.

    Examples of a class with fewer examples in its task than there are folds are always in the
    training set. Tasks with fewer than two other classes are not scored.

    Parameters
    ----------
    estimator : classifier
        A classifier of seqmtl; it is not changed.
    grid : mapping of str to sequence
        Parameter grid; all combinations are tried.
    X, y, tasks, sample_weight
        As for ``fit``.
    n_folds : int, default=3
        Number of folds, at least 2.
    seed : int, default=0
        Seed of the random folds.
    on_point : callable, optional
        Called with every :class:`GridPoint` once it is scored.

    Returns
    -------
    list of GridPoint
        In the order of scikit-learn's ParameterGrid; break ties in favour of the first.

    Raises
    ------
    ValueError
        If no task has enough examples of two classes.
    """
    X, tasks = split_tasks(X, tasks)
    y, tasks = np.asarray(y), np.zeros(len(X)) if tasks is None else np.asarray(tasks)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    is_binary = np.unique(y).size == 2
    folds = _folds(y, tasks, n_folds, seed)
    points = []
    for settings in ParameterGrid(dict(grid)):
        scores = []
        for train, test in folds:
            model = clone(estimator).set_params(**settings)
            model.fit(X[train], y[train], tasks[train], None if weight is None else weight[train])
            if is_binary:
                scores.append(TaskScorer()(model, X[test], y[test], tasks[test]))
            else:
                scores.append(model.score(X[test], y[test]))
        points.append(GridPoint(settings, float(np.mean(scores))))
        if on_point is not None:
            on_point(points[-1])
    return points


def _folds(
    y: NDArray[Any], tasks: NDArray[Any], n_folds: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test examples of every fold."""
    (_, task), (_, sign) = (np.unique(column, return_inverse=True) for column in (tasks, y))
    _, strata, counts = np.unique(
        task * (sign.max() + 1) + sign, return_inverse=True, return_counts=True
    )
    rows = np.flatnonzero((counts >= n_folds)[strata])
    if max(np.unique(y[rows][task[rows] == t]).size for t in range(task.max() + 1)) < 2:
        raise ValueError(
            f"two classes of a task must have at least {n_folds} examples for {n_folds} folds, got "
            "none such; take fewer folds, or choose without them"
        )
    draw = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    tests = [rows[test] for _, test in draw.split(rows, strata[rows])]
    return [(np.setdiff1d(np.arange(len(y)), test), test) for test in tests]
