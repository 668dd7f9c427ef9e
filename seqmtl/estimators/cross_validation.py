"""Choose hyperparameters of a classifier by cross-validation within tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from seqmtl.sequences.task_array import split_tasks


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
        A classifier of :mod:`seqmtl.estimators`; it is not changed.
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
    y = np.asarray(y)
    given = {"tasks": tasks, "sample_weight": sample_weight}
    columns = {name: np.asarray(values) for name, values in given.items() if values is not None}
    pairs = _folds(y, columns.get("tasks"), n_folds, seed)
    points = []
    for settings in ParameterGrid(dict(grid)):
        scores = []
        for train, test in pairs:
            model = clone(estimator).set_params(**settings)
            model.fit(X[train], y[train], **{name: v[train] for name, v in columns.items()})
            own = columns["tasks"][test] if "tasks" in columns else None
            scores.append(_score(model, X[test], y[test], own))
        points.append(GridPoint(settings, float(np.mean(scores))))
        if on_point is not None:
            on_point(points[-1])
    return points


def _folds(
    y: NDArray[Any], tasks: NDArray[Any] | None, n_folds: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test examples of every fold."""
    columns = [y] if tasks is None else [tasks, y]
    found = [np.unique(column, return_inverse=True) for column in columns]
    strata = np.ravel_multi_index([ids for _, ids in found], [len(names) for names, _ in found])
    _, ids, counts = np.unique(strata, return_inverse=True, return_counts=True)
    is_common = counts >= n_folds
    rows = np.flatnonzero(is_common[ids])
    of_task = np.zeros(len(y), dtype=np.int64) if tasks is None else found[0][1]
    classes_in_task = [np.unique(y[rows][of_task[rows] == t]).size for t in np.unique(of_task)]
    if max(classes_in_task) < 2:
        raise ValueError(
            f"two classes of a task must have at least {n_folds} examples for {n_folds} folds, got "
            "none such; take fewer folds, or choose without them"
        )
    draw = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    tests = [rows[test] for _, test in draw.split(rows, strata[rows])]
    return [(np.setdiff1d(np.arange(len(y)), test), test) for test in tests]


def _score(model: Any, X: Any, y: NDArray[Any], tasks: NDArray[Any] | None) -> float:
    """Return the mean AUROC of tasks with both classes, or the accuracy of several classes."""
    if len(model.classes_) > 2:
        return float(accuracy_score(y, model.predict(X, tasks)))
    scores, is_positive = model.decision_function(X, tasks), y == model.classes_[1]
    names = np.zeros(len(y)) if tasks is None else tasks
    own = [np.flatnonzero(names == name) for name in np.unique(names)]
    return float(
        np.mean(
            [
                roc_auc_score(is_positive[rows], scores[rows])
                for rows in own
                if np.unique(is_positive[rows]).size == 2
            ]
        )
    )
