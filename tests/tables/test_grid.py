"""Settings judged by cross-validation inside tasks."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from seqmtl import IndividualMKLClassifier, MultiTaskKernelSVC, ParetoMKLClassifier
from seqmtl.tables.grid import grid_scores

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 2))
Y = np.where(X[:, 0] + RNG.normal(size=90) > 0.3, "b", "a")
TASKS = np.array(["s", "t", "t"])[np.arange(90) % 3]


def test_one_task_is_scored_as_by_scikit_learn():
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    estimator = MultiTaskKernelSVC("rbf:0.5", tol=1e-8)
    points = grid_scores(estimator, {"C": [0.1, 10.0]}, X, Y, seed=7)
    assert [point.settings for point in points] == [{"C": 0.1}, {"C": 10.0}]
    for point in points:
        plain = SVC(gamma=0.5, tol=1e-8, **point.settings)
        expected = cross_val_score(plain, X, Y, scoring="roc_auc", cv=folds).mean()
        assert point.score == pytest.approx(expected, abs=1e-12)
    assert estimator.C == 1.0


def test_several_classes_are_scored_by_accuracy():
    y = np.where(X[:, 1] > 1, "c", Y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    (point,) = grid_scores(IndividualMKLClassifier(["rbf:0.5"], tol=1e-8), {"C": [1.0]}, X, y)
    expected = cross_val_score(SVC(gamma=0.5), X, y, cv=folds).mean()
    assert point.score == pytest.approx(expected, abs=0.03)  # ties are broken in another way


def test_tasks_count_alike_and_every_fold_has_their_classes():
    seen = []
    points = grid_scores(
        ParetoMKLClassifier(["linear"], tol=1e-6),
        {"C": [1.0], "p": [1.0, 2.0]},
        X,
        Y,
        TASKS,
        n_folds=2,
        seed=1,
        on_point=seen.append,
    )
    assert seen == points
    strata = np.char.add(TASKS, Y)
    folds = StratifiedKFold(2, shuffle=True, random_state=1).split(X, strata)
    scores = []
    for train, test in folds:
        model = ParetoMKLClassifier(["linear"], p=1.0, tol=1e-6).fit(
            X[train], Y[train], TASKS[train]
        )
        found = model.decision_function(X[test], TASKS[test])
        for task in "st":
            own = TASKS[test] == task
            scores.append(roc_auc_score(Y[test][own], found[own]))
    assert points[0].score == pytest.approx(np.mean(scores), abs=1e-12)


def test_weights_reach_the_classifier():
    weight = np.where(Y == "b", 10.0, 0.1)
    arguments = ({"C": [1.0]}, X, Y, TASKS)
    estimator = MultiTaskKernelSVC("rbf:0.5")
    plain, weighted = (grid_scores(estimator, *arguments, sample_weight=w) for w in (None, weight))
    assert plain[0].score != weighted[0].score
    same = grid_scores(estimator, *arguments, sample_weight=np.ones(90))
    assert same == plain


def test_examples_of_rare_classes_are_always_trained_on():
    y = np.where((TASKS == "s") & (Y == "b"), "a", Y)
    y[np.flatnonzero(TASKS == "s")[:2]] = "b"
    (point,) = grid_scores(
        MultiTaskKernelSVC("linear", task_kernel="individual"), {"C": [1.0]}, X, y, TASKS
    )
    own = TASKS == "t"
    (alone,) = grid_scores(MultiTaskKernelSVC("linear"), {"C": [1.0]}, X[own], y[own])
    assert 0.5 < point.score <= 1  # the task t, in other folds
    assert point.score == pytest.approx(alone.score, abs=0.1)
    y[own] = "a"
    y[np.flatnonzero(own)[:2]] = "b"
    with pytest.raises(ValueError, match="two classes of a task must have at least 3 examples"):
        grid_scores(MultiTaskKernelSVC("linear"), {"C": [1.0]}, X, y, TASKS)
