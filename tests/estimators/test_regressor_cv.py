"""Tuned regression: what tasks share, the cost, and targets far from 0."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import MultiTaskRegressorCV, MultiTaskSVR, Windows


def _data(n=240, apart=0.0, mean=50.0):
    rng = np.random.default_rng(0)
    X, ids = rng.normal(size=(n, 20)), np.arange(n) % 3
    W = rng.normal(size=20) + apart * rng.normal(size=(3, 20))
    return X, mean + (X * W[ids]).sum(axis=1) + rng.normal(size=n), np.array(list("abc"))[ids]


@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_it_is_at_least_as_good_as_untuned_regression(apart):
    X, y, tasks = _data(480, apart)
    train, test = np.arange(480) < 90, np.arange(480) >= 90
    tuned = MultiTaskRegressorCV().fit(X[train], y[train], tasks=tasks[train])
    plain = MultiTaskSVR().fit(X[train], y[train], tasks=tasks[train])
    scores = [model.score(X[test], y[test], tasks[test]) for model in (tuned, plain)]
    assert scores[0] > max(scores[1] - 0.02, 0.5)
    trust = [task["trust"] for task in tuned.selection_["tasks"].values()]
    assert len(set(trust)) == 1
    assert trust[0] > 0.4 if apart == 0.0 else trust[0] < 0.4
    assert tuned.C_ == tuned.model_.training["settings"]["C"]


def test_the_mean_of_the_targets_does_not_matter():
    predictions = []
    for mean in (0.0, 1000.0):
        X, y, tasks = _data(mean=mean)
        model = MultiTaskRegressorCV(costs=[0.01, 0.1]).fit(X, y, tasks=tasks)
        predictions.append(model.predict(X, tasks) - mean)
    assert_allclose(*predictions, atol=1e-4)


def test_sequences():
    rng = np.random.default_rng(1)
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (90, 12))]
    y = np.array([text.count("G") + 5.0 for text in texts])  # of one strand
    windows = Windows.from_strings(texts, tasks=["a", "b"] * 45)
    model = MultiTaskRegressorCV("spectrum:1-2:stranded").fit(windows, y)
    assert model.score(windows, y) > 0.7
    assert MultiTaskRegressorCV().fit(windows, y).score(windows, y) > 0.5
