"""Examples that carry their tasks: through slices, and through scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from seqmtl import (
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    MultiTaskSVC,
    TaskArray,
    TaskScorer,
)


def _numbers(n=90, seed=0):
    """Draw two tasks that turn the same feature the other way round."""
    rng = np.random.default_rng(seed)
    X, tasks = rng.standard_normal((n, 2)), np.where(np.arange(n) % 3 == 0, "cold", "warm")
    y = np.where(tasks == "cold", 1, -1) * X[:, 0] + rng.normal(size=n) / 4 > 0
    return X, np.where(y, "yes", "no"), tasks


def test_rows_and_tasks_are_cut_alike():
    X, _, tasks = _numbers(10)
    array = TaskArray(X, tasks)
    assert (len(array), array.shape, array.ndim) == (10, (10, 2), 2)
    for key in (slice(2, 7, 2), np.array([3, 1]), tasks == "cold", [0, 9], np.zeros(0, dtype=int)):
        for part in (array[key], array[key, ...]):
            assert_array_equal(part.X, X[key])
            assert_array_equal(part.tasks, tasks[key])
    assert_array_equal(array[-1].X, X[-1:])
    assert array[-1].tasks.tolist() == [tasks[-1]]
    assert_array_equal(TaskArray(csr_matrix(X), tasks)[2:5].X.toarray(), X[2:5])
    assert TaskArray(["ACG", "TT"], "ab")[1].X.tolist() == ["TT"]
    with pytest.raises(ValueError, match=r"tasks must have one entry per example \(10\), got 9"):
        TaskArray(X, tasks[1:])
    with pytest.raises(IndexError, match="10 is out of bounds"):
        array[10]
    assert repr(array) == "TaskArray(10 examples of 2 tasks)"


ESTIMATORS = [
    MultiTaskKernelSVC(gamma=1.0, C=10.0),
    KernelMKLClassifier(["linear", "rbf:1"]),
    MultiTaskSVC(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_carried_tasks_are_given_tasks(estimator):
    X, y, tasks = _numbers()
    array = TaskArray(X, tasks)
    given = clone(estimator).fit(X, y, tasks)
    carried = clone(estimator).fit(array, y)
    expected = given.decision_function(X, tasks)
    assert carried.tasks_ == ("cold", "warm")
    assert_array_equal(carried.decision_function(array), expected)
    assert_array_equal(carried.model_.decision_function(array), expected)
    # tasks that are named win over those that are carried
    assert_array_equal(carried.decision_function(array, "cold"), given.decision_function(X, "cold"))
    folds = StratifiedKFold(3)
    found = cross_val_predict(estimator, array, y, cv=folds)
    for train, test in folds.split(X, y):
        model = clone(estimator).fit(X[train], y[train], tasks[train])
        assert_array_equal(found[test], model.predict(X[test], tasks[test]))
    assert (found == y).mean() > 0.8  # half, if the tasks were lost


def test_calibration_searches_and_scorers_know_the_tasks():
    X, y, tasks = _numbers()
    array, svc = TaskArray(X, tasks), MultiTaskKernelSVC(gamma=1.0, C=10.0)
    for ensemble in (True, False):
        model = CalibratedClassifierCV(svc, cv=StratifiedKFold(3), ensemble=ensemble).fit(array, y)
        p = model.predict_proba(array)[:, 1]
        assert ((p > 0.5) == (y == "yes")).mean() > 0.8
    scores = clone(svc).fit(X, y, tasks).decision_function(X, tasks)
    assert (np.diff(p[np.argsort(scores)]) >= 0).all()  # of the model of all rows
    search = GridSearchCV(svc, {"C": [0.1, 10.0]}, scoring=TaskScorer(), cv=3)
    assert search.fit(array, y).best_score_ > 0.9
    best = search.best_estimator_
    assert TaskScorer()(best, array, y) == TaskScorer()(best, X, y, tasks)
