"""The classifier against a general optimiser and liblinear; warm starts, probabilities, names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from seqmtl import MultiTaskSVC, PositionalKmers, TaskKernel
from seqmtl.evaluation import calibration_error
from tests.estimators.examples import FEATURES, KERNEL, NAMES, labelled, strings


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}, {1: 4.0}])
def test_class_weight_equals_liblinear(class_weight):
    X, y, _ = labelled(n=300)
    keep = (y == 1) | (np.arange(300) % 3 == 0)
    X, y = X[keep], y[keep]
    options = {"class_weight": class_weight, "loss": "squared_hinge", "tol": 1e-9}
    svc = MultiTaskSVC(**options).fit(X, y)
    reference = LinearSVC(**options, max_iter=10**6).fit(X, y)
    assert_allclose(svc.coef_, reference.coef_, atol=1e-3)
    assert_allclose(svc.intercept_, reference.intercept_, atol=1e-3)


def test_labels_of_windows_are_read_and_features_may_be_a_step_of_their_own():
    windows = strings()
    svc = MultiTaskSVC(FEATURES, "union", tol=1e-7, dtype="float64").fit(windows)
    assert svc.score(windows, windows.labels) > 0.75
    pipe = make_pipeline(FEATURES, MultiTaskSVC(tol=1e-7)).fit(windows, windows.labels)
    assert_allclose(pipe.decision_function(windows), svc.decision_function(windows), atol=1e-3)


def test_class_names_types_and_no_intercept():
    X, y, tasks = labelled()
    names = np.array(["decoy", "site"])[y]
    svc = MultiTaskSVC(fit_intercept=False).fit(X, names, tasks=tasks)
    assert_array_equal(svc.intercept_, np.zeros(3))
    assert_array_equal(svc.classes_, ["decoy", "site"])
    is_site = svc.predict(X, tasks) == "site"
    assert_array_equal(svc.decision_function(X, tasks) > 0, is_site)
    for dtype in ("float64", np.dtype("float64"), np.float64):
        typed = MultiTaskSVC(dtype=dtype).fit(X, y, tasks=tasks)
        assert typed.coef_.dtype == np.float64
        assert typed.model_.training["settings"]["dtype"] == "float64"


def test_names_only_permute_the_rows():
    X, y, tasks = labelled()
    new_name = {"worm": "a", "fly": "c", "plant": "b"}
    renamed = TaskKernel([new_name.get(n, n) for n in KERNEL.names], KERNEL.matrix)
    first = MultiTaskSVC(task_kernel=KERNEL, tol=1e-9).fit(X, y, tasks=tasks)
    second = MultiTaskSVC(task_kernel=renamed, tol=1e-9).fit(X, y, [new_name[n] for n in tasks])
    rows = [second.tasks_.index(new_name[n]) for n in first.tasks_]
    assert_allclose(second.coef_[rows], first.coef_, atol=1e-3)
    assert_allclose(second.intercept_[rows], first.intercept_, atol=1e-3)
    # an array is in the order of the sorted names
    by_array = MultiTaskSVC(task_kernel=KERNEL.restrict(sorted(NAMES)).matrix, tol=1e-9)
    assert_allclose(by_array.fit(X, y, tasks=tasks).coef_, first.coef_, atol=1e-9)


# -- probabilities ----------------------------------------------------------------------------


def test_probabilities_hold_on_what_was_not_trained_on():
    windows = strings(n=2000, signal=0.6)
    train, test = windows[:1000], windows[1000:]
    held_out = MultiTaskSVC(PositionalKmers("wd:5")).fit(train).predict_proba(test)[:, 1]
    assert calibration_error(test.labels, held_out) < 0.1
    assert roc_auc_score(test.labels, held_out) > 0.8
