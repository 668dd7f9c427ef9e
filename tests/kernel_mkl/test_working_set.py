"""SVMs without their whole kernel matrix, against those with it and scikit-learn's."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from seqmtl import KernelMKLClassifier, MultiTaskKernelSVC, TaskKernel
from seqmtl.exceptions import MemoryLimitError
from seqmtl.kernel_mkl import working_set
from seqmtl.kernel_mkl.svm import KernelSVM
from seqmtl.kernel_mkl.working_set import ChunkedKernelSVM
from seqmtl.kernels import RBF, Linear

KERNELS = (Linear(), RBF(0.5))
PRODUCTS = np.array([np.ones((2, 2)), np.eye(2)])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(working_set, "_MIN_CHUNK", 12)
    monkeypatch.setattr(working_set, "_BLOCK", 1000)


def data(n=160):
    rng = np.random.default_rng(4)
    X, tasks = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    y = np.where(
        X[:, 0] + (X[:, 1] ** 2 - 1) * (tasks - 0.5) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0
    )
    return X, y, tasks


@pytest.mark.parametrize("has_intercept", [True, False])
def test_it_is_the_svm_on_the_whole_matrix(has_intercept):
    X, y, tasks = data()
    C = np.where(np.arange(y.size) % 3, 1.0, 0.4)
    theta, terms = np.array([0.2, 0.5, 0.7, 0.1]), (y, C, tasks, PRODUCTS, has_intercept)
    large = ChunkedKernelSVM(KERNELS, X, *terms, constant=0.5)
    whole = KernelSVM(np.array([kernel(X) + 0.5 for kernel in KERNELS]), *terms)
    result, expected = (svm.solve(theta, 1e-8) for svm in (large, whole))
    assert large.n_kernels == whole.n_kernels == 4
    assert 0 <= result.gap < 1e-6
    assert result.primal == pytest.approx(expected.primal, rel=1e-7)
    assert_allclose(result.q, expected.q, rtol=1e-5)
    assert_allclose(result.f, expected.f, atol=1e-4)
    rows = np.arange(y.size)
    scorers = [svm.cross_validation_scorer(theta, 1e-8) for svm in (large, whole)]
    for copy_of, _ in scorers:
        assert np.unique(copy_of).size == y.size
    assert_allclose(*(scores(rows[40:], rows[:40]) for _, scores in scorers), atol=1e-3)


def test_estimators_choose_by_the_memory(monkeypatch, caplog):
    """Widmer 2015, section 3.1: arbitrary kernels; here of more examples than fit into memory."""
    caplog.set_level(logging.WARNING)
    X, y, tasks = data(n=80)
    names = np.array(["s", "t"])[tasks]
    kernel = TaskKernel("st", [[1.0, 0.4], [0.4, 1.0]])
    estimators = (
        MultiTaskKernelSVC(RBF(0.5), task_kernel=kernel, tol=1e-6),
        KernelMKLClassifier([Linear(), RBF(0.5)], task_kernel=kernel, tol=1e-4),
    )
    expected = [each.fit(X, y, names).decision_function(X, names) for each in estimators]
    probability = estimators[0].predict_proba(X, names)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 24 * 75**2)
    for estimator, scores in zip(estimators, expected, strict=True):
        assert_allclose(estimator.fit(X, y, names).decision_function(X, names), scores, atol=2e-2)
        assert "matrices of 80 examples do not fit into memory" in caplog.text
        assert "only those of support vectors are kept, which is slower" in caplog.text
        caplog.clear()
    assert_allclose(estimators[0].fit(X, y, names).predict_proba(X, names), probability, atol=1e-3)
    one = MultiTaskKernelSVC(RBF(0.5), tol=1e-8).fit(X, y)
    plain = SVC(gamma=0.5, tol=1e-8).fit(X, y)
    assert_allclose(one.decision_function(X), plain.decision_function(X), atol=1e-5)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 24 * 10**2)
    with pytest.raises(MemoryLimitError, match="train on fewer examples"):
        estimators[0].fit(X, y, names)
