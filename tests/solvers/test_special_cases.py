"""Every special case of the problem against its textbook form, to 1e-6 of the objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC, LinearSVC

from seqmtl import TaskKernel
from seqmtl.features.numeric import NumericRows
from seqmtl.solvers.dcd import Descent
from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.problem import Problem

NAMES = ("worm", "fly", "fish", "mouse")
LOSSES = ["hinge", "squared_hinge"]
EDGES = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0.0]])  # mouse has none


def _data(n=160, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    tasks = rng.integers(0, len(NAMES), n).astype(np.int16)
    W = rng.standard_normal((d, 1)) + 0.5 * rng.standard_normal((d, len(NAMES)))
    y = np.sign((X @ W)[np.arange(n), tasks] + 0.4 * rng.standard_normal(n) + 0.3)
    return X, y, tasks


def _solve(X, y, tasks, K, C, loss="hinge", bias=1.0, tol=1e-8):
    problem = Problem(NumericRows(X), y, tasks, K, np.full(y.size, float(C)), loss, bias)
    solution = Descent(problem, tol=tol, dtype=np.float64).solve()
    assert solution.gap <= tol
    return solution


def _objective(w, X, y, C, loss):
    missing = np.maximum(0, 1 - y * (X @ w))
    return 0.5 * w @ w + C * (missing.sum() if loss == "hinge" else (missing**2).sum())


def _liblinear(X, y, C, loss):
    """Weights of LIBLINEAR; a constant feature is the caller's affair."""
    model = LinearSVC(
        loss=loss, C=C, tol=1e-10, max_iter=10**6, fit_intercept=False, random_state=0
    )
    return model.fit(X, y).coef_[0]


def _with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def _kernel_svm(H, y, C):
    """Objective of the hinge-loss SVM without intercept on kernel H, by LIBSVM.

    LIBSVM has a free intercept. With every example a second time as (-phi(x), -y) the problem is
    the same under w, b -> w, -b, so that its intercept is 0, and half the cost makes up for twice
    the examples.
    """
    n = y.size
    doubled = np.block([[H, -H], [-H, H]])
    model = SVC(kernel="precomputed", C=C / 2, tol=1e-9).fit(doubled, np.concatenate([y, -y]))
    assert abs(model.intercept_[0]) < 1e-6
    signed = np.zeros(2 * n)
    signed[model.support_] = model.dual_coef_[0]
    beta = signed[:n] - signed[n:]
    return 0.5 * beta @ H @ beta + C * np.maximum(0, 1 - y * (H @ beta)).sum(), H @ beta


@pytest.mark.parametrize("loss", LOSSES)
def test_union_is_a_pooled_svm(loss):
    X, y, tasks = _data()
    solution = _solve(X, y, tasks, TaskKernel.union(NAMES).matrix, 2.0, loss)
    X1 = _with_constant(X)
    pooled = _liblinear(X1, y, 2.0, loss)
    assert solution.primal == pytest.approx(_objective(pooled, X1, y, 2.0, loss), rel=1e-6)
    for t in range(4):
        assert_allclose(np.append(solution.W[:, t], solution.bias[t]), pooled, atol=2e-3)
    if loss == "hinge":
        expected, scores = _kernel_svm(X1 @ X1.T, y, 2.0)
        assert solution.primal == pytest.approx(expected, rel=1e-6)
        assert_allclose(y * solution.margins, scores, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_individual_is_one_svm_per_task(loss):
    X, y, tasks = _data()
    solution = _solve(X, y, tasks, TaskKernel.individual(NAMES).matrix, 2.0, loss)
    X1, total = _with_constant(X), 0.0
    for t in range(4):
        own = tasks == t
        w = _liblinear(X1[own], y[own], 2.0, loss)
        total += _objective(w, X1[own], y[own], 2.0, loss)
        assert_allclose(np.append(solution.W[:, t], solution.bias[t]), w, atol=2e-3)
    assert solution.primal == pytest.approx(total, rel=1e-6)


def _augmented(X, tasks):
    """The features of Daume (2007): a common copy, and one of the own task."""
    n, d = X.shape
    parts = np.zeros((n, (1 + len(NAMES)) * d))
    parts[:, :d] = X
    for i, t in enumerate(tasks):
        parts[i, (1 + t) * d : (2 + t) * d] = X[i]
    return parts


@pytest.mark.parametrize("loss", LOSSES)
def test_frustratingly_easy_is_liblinear_on_augmented_features(loss):
    X, y, tasks = _data()
    K = 2 * TaskKernel.easy(NAMES).matrix
    assert_allclose(K, 1 + np.eye(4))
    solution = _solve(X, y, tasks, K, 1.5, loss)
    X1 = _with_constant(X)
    features = _augmented(X1, tasks)
    w = _liblinear(features, y, 1.5, loss)
    assert solution.primal == pytest.approx(_objective(w, features, y, 1.5, loss), rel=1e-6)
    d = X1.shape[1]
    for t in range(4):
        own = w[:d] + w[(1 + t) * d : (2 + t) * d]
        assert_allclose(np.append(solution.W[:, t], solution.bias[t]), own, atol=2e-3)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(
    "kernel",
    [
        TaskKernel.graph(EDGES, NAMES),
        TaskKernel.graphical(EDGES, 0.5, NAMES),
        TaskKernel.clustering({"a": NAMES[:2], "b": NAMES[1:]}, NAMES),
    ],
    ids=lambda kernel: kernel.source,
)
def test_graph_regularised_is_a_kernel_svm_on_the_product_kernel(kernel, bias):
    X, y, tasks = _data()
    solution = _solve(X, y, tasks, kernel.matrix, 2.0, bias=bias)
    H = kernel.matrix[np.ix_(tasks, tasks)] * (X @ X.T + bias**2)
    expected, scores = _kernel_svm(H, y, 2.0)
    assert solution.primal == pytest.approx(expected, rel=1e-6)
    assert_allclose(y * solution.margins, scores, atol=2e-3)


def test_the_graph_regulariser_is_a_penalty_on_differences():
    """1/2 sum_t ||w_t||^2 + 1/4 sum_{s,t} A[s,t] ||w_s - w_t||^2 (2012, eq. 8)."""
    X, y, tasks = _data()
    solution = _solve(X, y, tasks, TaskKernel.graph(EDGES, NAMES).matrix, 2.0, tol=1e-9)
    W = np.vstack([solution.W, solution.bias])
    value = 0.5 * (W**2).sum()
    for s in range(4):
        for t in range(4):
            value += 0.25 * EDGES[s, t] * ((W[:, s] - W[:, t]) ** 2).sum()
    value += 2.0 * np.maximum(0, 1 - solution.margins).sum()
    assert solution.primal == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_hierarchical_kernels_of_fixed_weights_are_a_kernel_svm(norm):
    """At the learnt theta, multi-task MKL is an SVM on the weighted sum of the kernels."""
    X, y, tasks = _data()
    kernel = TaskKernel.hierarchical("((worm,fly),(fish,mouse));", NAMES)
    problem = Problem(NumericRows(X), y, tasks, np.eye(4), np.full(y.size, 2.0))
    kernels = KernelSet(kernel.matrices, np.zeros(kernel.n_kernels, dtype=int), norm)
    solution = Descent(problem, kernels, tol=1e-8, dtype=np.float64).solve()
    K = kernel.combine(solution.theta).matrix
    expected, _ = _kernel_svm(K[np.ix_(tasks, tasks)] * (X @ X.T + 1), y, 2.0)
    assert solution.gap <= 1e-8
    assert solution.primal == pytest.approx(expected, rel=1e-6)
    again = _solve(X, y, tasks, K, 2.0)
    assert solution.primal == pytest.approx(again.primal, rel=1e-6)
