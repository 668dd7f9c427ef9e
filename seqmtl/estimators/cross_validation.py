"""Settings of a classifier chosen by cross-validation inside every task."""

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
    """Settings, and how well they did.

    Attributes
    ----------
    settings : dict
        Values of the parameters.
    score : float
        Mean of the folds: the mean AUROC of the tasks, or the accuracy of more than two
        classes.
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
    """Judge settings of a classifier on folds that hold every class of every task.

    Examples of a class that is rarer in its task than there are folds are always trained on, and
    tasks that have fewer than two other classes are not judged.

    Parameters
    ----------
    estimator : classifier
        One of :mod:`seqmtl.estimators`; it is not changed.
    grid : mapping of str to sequence
        Values of its parameters; all combinations are tried.
    X, y, tasks, sample_weight
        As for ``fit``.
    n_folds : int, default=3
        Folds, 2 or more.
    seed : int, default=0
        Of the draw of the folds.
    on_point : callable, optional
        Called with every :class:`GridPoint` as it is known.

    Returns
    -------
    list of GridPoint
        In the order of scikit-learn's ParameterGrid; of equal scores the first is to be taken.

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
    """Return the examples to train on and to judge by, fold by fold."""
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
    """Return the mean AUROC of the tasks with both classes, or the accuracy of more classes."""
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
