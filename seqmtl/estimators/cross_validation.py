"""Settings of a classifier chosen by cross-validation inside every task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold


class GridPoint(NamedTuple):
    """Settings, and how well they did.

    Attributes
    ----------
    settings : dict
        Values of the parameters.
    score : float
        Mean of the folds: the mean AUROC of the tasks, or the accuracy of several classes.
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
        If a task has fewer examples of a class than there are folds.
    """
    y = np.asarray(y)
    given = {"tasks": tasks, "sample_weight": sample_weight}
    columns = {name: np.asarray(values) for name, values in given.items() if values is not None}
    strata = _strata(y, columns.get("tasks"), n_folds)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    pairs = list(folds.split(strata, strata))
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


def _strata(y: NDArray[Any], tasks: NDArray[Any] | None, n_folds: int) -> NDArray[np.int64]:
    """Return the number of every example's class in its task; refuse rare ones."""
    columns = [y] if tasks is None else [tasks, y]
    found = [np.unique(column, return_inverse=True) for column in columns]
    strata = np.ravel_multi_index([ids for _, ids in found], [len(names) for names, _ in found])
    rare, counts = np.unique(strata, return_counts=True)
    if counts.min() < n_folds:
        row = int(np.argmax(strata == rare[counts.argmin()]))
        of_task = "" if tasks is None else f" of task {str(tasks[row])!r}"
        raise ValueError(
            f"every class of a task must have at least {n_folds} examples for {n_folds} folds, "
            f"got {counts.min()} of class {y[row].item()!r}{of_task}; leave the choice out"
        )
    return np.asarray(strata, dtype=np.int64)


def _score(model: Any, X: Any, y: NDArray[Any], tasks: NDArray[Any] | None) -> float:
    """Return the mean AUROC of the tasks, or the accuracy of more than two classes."""
    if len(model.classes_) > 2:
        return float(accuracy_score(y, model.predict(X, tasks)))
    scores, is_positive = model.decision_function(X, tasks), y == model.classes_[1]
    if tasks is None:
        return float(roc_auc_score(is_positive, scores))
    return float(np.mean([roc_auc_score(is_positive[t], scores[t]) for t in _rows_of_tasks(tasks)]))


def _rows_of_tasks(tasks: NDArray[Any]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(tasks == name) for name in np.unique(tasks)]
