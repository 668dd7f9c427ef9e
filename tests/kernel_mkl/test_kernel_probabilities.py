"""Probabilities of kernel models: held-out scores, and what they promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    ParetoMKLClassifier,
)
from seqmtl.kernel_mkl.problem import cross_validated_scores
from seqmtl.kernel_mkl.svm import KernelSVM


def _draw(n, seed):
    """Draw two tasks with P(y = 1) = 1 / (1 + exp(-3 x_0)) in one, and the reverse in the other."""
    rng = np.random.default_rng(seed)
    X, tasks = rng.standard_normal((n, 3)), np.where(np.arange(n) % 2, "odd", "even")
    p = 1 / (1 + np.exp(-3 * X[:, 0] * np.where(tasks == "odd", 1, -1)))
    return X, (rng.random(n) < p).astype(int), tasks, p


def held_out(H, y, C, scores, tol):
    machine = KernelSVM(H[None], y, C, np.zeros(y.size, dtype=int), np.ones((1, 1, 1)))
    return cross_validated_scores(machine, np.ones(1), scores, tol)


def test_held_out_scores_have_not_seen_their_labels():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), np.where(rng.random(120) < 0.5, 1.0, -1.0)
    H = np.exp(-2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    svc = SVC(C=10, kernel="precomputed").fit(H, y)
    trained = svc.decision_function(H)
    assert roc_auc_score(y, trained) > 0.99  # by heart
    C = np.full(120, 10.0)
    scores = held_out(H, y, C, trained, 1e-3)
    assert roc_auc_score(y, scores) == pytest.approx(0.5, abs=0.12)
    # a copy with the same label goes with its example: its label is not seen either
    twice = np.tile(np.arange(120), 2)
    doubled = held_out(H[np.ix_(twice, twice)], y[twice], C[twice] / 2, trained[twice], 1e-3)
    assert_allclose(doubled, scores[twice], atol=0.02)


def test_held_out_scores_are_those_of_other_examples():
    X, y, _, _ = _draw(60, 0)
    y, H = y * 2.0 - 1, X @ X.T
    C = np.full(60, 0.5)
    trained = SVC(C=0.5, kernel="precomputed").fit(H, y).decision_function(H)
    scores = held_out(H, y, C, trained, 1e-8)
    for i in range(0, 60, 10):  # the cost of an example has no part in its own score
        changed = C.copy()
        changed[i] = 5.0
        assert held_out(H, y, changed, trained, 1e-8)[i] == pytest.approx(scores[i])


@pytest.mark.parametrize(
    "estimator",
    [
        MultiTaskKernelSVC(gamma=0.3, C=2.0),
        KernelMKLClassifier(["linear", "rbf:0.3"], C=2.0),
        ParetoMKLClassifier(["linear", "rbf:0.3"], C=2.0),
        IndividualMKLClassifier(["rbf:0.3"], C=2.0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_probabilities_hold_on_new_examples(estimator):
    X, y, tasks, _ = _draw(240, 1)
    estimator.fit(X, y, tasks)
    X, y, tasks, p = _draw(4000, 2)
    proba = estimator.predict_proba(X, tasks)
    assert_allclose(proba.sum(axis=1), 1)
    assert np.abs(proba[:, 1] - p).mean() < 0.12
    for task in ("even", "odd"):
        is_task = tasks == task
        for low in (0.0, 0.25, 0.5, 0.75):  # what is given is what happens
            rows = is_task & (proba[:, 1] >= low) & (proba[:, 1] < low + 0.25)
            assert proba[rows, 1].mean() == pytest.approx(y[rows].mean(), abs=0.15)


def test_several_classes_have_votes_alone():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.standard_normal((60, 2)) + np.c_[y == "b", y == "c"] * 2.0
    model = ParetoMKLClassifier(["rbf:0.3"]).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="probabilities need a model with two classes, got 3"):
        model.model_.predict_proba(X)
    assert hasattr(model.fit(X[:40], y[:40]), "predict_proba")
