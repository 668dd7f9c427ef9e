"""Scores of classifiers by task, inside scikit-learn's searches."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl import MultiTaskKernelSVC, MultiTaskSVC, TaskScorer, Windows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, tasks = rng.standard_normal((90, 2)), np.repeat(["a", "b", "c"], 30)
    y = np.where(X[:, 0] * np.where(tasks == "c", -1, 1) + rng.standard_normal(90) > 0, "yes", "no")
    return X, y, tasks


@pytest.mark.parametrize(
    ("metric", "area"), [("auroc", roc_auc_score), ("auprc", average_precision_score)]
)
def test_the_score_is_the_mean_over_the_tasks(data, metric, area):
    X, y, tasks = data
    model = MultiTaskKernelSVC().fit(X, y, tasks)
    scores = model.decision_function(X, tasks)
    each = [area(y[tasks == t] == "yes", scores[tasks == t]) for t in "abc"]
    assert TaskScorer(metric)(model, X, y, tasks) == pytest.approx(np.mean(each))


def test_windows_bring_their_tasks_and_unknown_metrics_are_refused():
    sequences, tasks = ["ACGTACGT", "TTTTACGT"] * 6, ["fly"] * 6 + ["worm"] * 6
    windows = Windows.from_strings(sequences, [1, -1] * 6, tasks)
    model = MultiTaskSVC().fit(windows)
    assert TaskScorer("auprc")(model, windows, windows.labels) == 1.0
    with pytest.raises(ValueError, match="metric must be one of auroc, auprc, got 'auc'"):
        TaskScorer("auc")
    assert repr(TaskScorer("auprc")) == "TaskScorer('auprc')"


def test_tasks_of_one_class_are_not_scored(data):
    X, y, tasks = data
    model = MultiTaskKernelSVC().fit(X, y, tasks)
    rows = (tasks == "a") | (y == "yes")
    expected = roc_auc_score(
        y[tasks == "a"] == "yes", model.decision_function(X[tasks == "a"], "a")
    )
    assert TaskScorer()(model, X[rows], y[rows], tasks[rows]) == pytest.approx(expected)
    with pytest.raises(ValueError, match="both classes in some task"):
        TaskScorer()(model, X[y == "yes"], y[y == "yes"], tasks[y == "yes"])
