"""Every special case of the problem against its textbook form, to 1e-6 of the objective."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from seqmtl import TaskKernel, core
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.core.losses import LOSSES
from seqmtl.core.mkl import KernelSet
from tests.core.cases import BY_LIBLINEAR, numbers
from tests.oracles.losses import LOSSES as FORMULAS

NAMES = ("worm", "fly", "fish", "mouse")
BY_LINEAR_SVC = [loss for loss in BY_LIBLINEAR if loss in LOSSES]
EDGES = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0.0]])  # mouse has none


def related(kernel, loss="hinge", **options):
    """Four tasks with a task kernel."""
    K = kernel.matrix if isinstance(kernel, TaskKernel) else kernel
    return replace(numbers(loss, n=160, d=7, T=4), K=K, **{"C": 2.0, **options})


def alone(case, own=slice(None), **changes):
    """Some of the examples as a single task."""
    changes = {"X": case.X[own], "tasks": 0 * case.tasks[own]} | changes
    return replace(case, z=case.z[own], K=np.eye(1), **changes)


def kernel_svm(H, y, C):
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


def assert_weights(solution, t, w, b):
    found = np.append(solution.W[:, t], solution.bias[t])
    assert_allclose(found, np.append(w, b), atol=2e-3)


@pytest.mark.parametrize("loss", BY_LINEAR_SVC)
def test_union_is_a_pooled_svm(loss):
    """Widmer 2015, 2.5.3: K = 11', the uniform kernel, is one SVM of all examples, by LIBLINEAR."""
    case = related(TaskKernel.union(NAMES), loss)
    solution, pooled = case.solve(tol=1e-8), alone(case)
    w, b = pooled.by_liblinear()
    assert solution.primal == pytest.approx(pooled.primal(w, b), rel=1e-6)
    for t in range(4):
        assert_weights(solution, t, w, b)


@pytest.mark.parametrize("loss", BY_LINEAR_SVC)
def test_individual_is_one_svm_per_task(loss):
    """Widmer 2015, 2.5.3: K = I, the Dirac kernel, is an SVM per task, by LIBLINEAR."""
    case = related(TaskKernel.individual(NAMES), loss)
    solution, total = case.solve(tol=1e-8), 0.0
    for t in range(4):
        own = alone(case, case.tasks == t)
        w, b = own.by_liblinear()
        total += own.primal(w, b)
        assert_weights(solution, t, w, b)
    assert solution.primal == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("loss", BY_LINEAR_SVC)
def test_frustratingly_easy_is_liblinear_on_augmented_features(loss):
    """Widmer 2015, 2.5.3: K = 11' + I is LIBLINEAR on the copies of Daume (2007)."""
    case = related(2 * TaskKernel.easy(NAMES).matrix, loss)
    solution = case.solve(tol=1e-8)
    X = np.column_stack([case.X, np.ones(160)])
    own = np.eye(4)[case.tasks]  # of Daume (2007): a common copy, and one of the own task
    copies = np.hstack([X, np.einsum("it,id->itd", own, X).reshape(160, -1)])
    augmented = alone(case, X=copies, bias=0.0)
    w, _ = augmented.by_liblinear()
    assert solution.primal == pytest.approx(augmented.primal(w, 0.0), rel=1e-6)
    parts = w.reshape(5, 8)
    for t in range(4):
        assert_weights(solution, t, *np.split(parts[0] + parts[1 + t], [7]))


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(
    "kernel",
    [
        TaskKernel.graph(EDGES, NAMES),
        TaskKernel.graphical(EDGES, NAMES, 0.5),
        TaskKernel.clustering({"a": NAMES[:2], "b": NAMES[1:]}, NAMES),
    ],
    ids=lambda kernel: kernel.source,
)
def test_related_tasks_are_a_kernel_svm_on_the_product_kernel(kernel, bias):
    """Widmer 2012, eq. 3: LIBSVM on K[s,t] <x, z> has the same optimum."""
    case = related(kernel, bias=bias)
    solution = case.solve(tol=1e-8)
    H = kernel.matrix[np.ix_(case.tasks, case.tasks)] * (case.X @ case.X.T + bias**2)
    expected, scores = kernel_svm(H, case.z, 2.0)
    assert solution.primal == pytest.approx(expected, rel=1e-6)
    assert_allclose(case.z * solution.margins, scores, atol=2e-3)


def test_the_graph_regulariser_is_a_penalty_on_differences():
    """Widmer 2012, eq. 8: 1/2 sum_t ||w_t||^2 + 1/4 sum_{s,t} A[s,t] ||w_s - w_t||^2."""
    solution = related(TaskKernel.graph(EDGES, NAMES)).solve(tol=1e-9)
    W = np.vstack([solution.W, solution.bias])
    value = 0.5 * (W**2).sum() + 2.0 * np.maximum(0, 1 - solution.margins).sum()
    for s, t in np.ndindex(4, 4):
        value += 0.25 * EDGES[s, t] * ((W[:, s] - W[:, t]) ** 2).sum()
    assert solution.primal == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_hierarchical_kernels_of_learnt_weights_are_a_kernel_svm(norm):
    """Widmer 2015, eq. 10: at the learnt theta it is LIBSVM on the weighted sum of the kernels."""
    kernel = TaskKernel.hierarchical("((worm,fly),(fish,mouse));", NAMES)
    kernels = KernelSet(KernelStack(kernel.matrices), np.zeros(kernel.n_kernels, dtype=int), norm)
    case = related(kernel)
    options = {"tol": 1e-8, "dtype": np.float64, "max_epochs": 100_000}
    solution = core.solve(case.problem(), kernels, **options)
    K = kernel.combine(solution.theta).matrix
    H = K[np.ix_(case.tasks, case.tasks)] * (case.X @ case.X.T + 1)
    assert solution.gap <= 1e-8
    assert solution.primal == pytest.approx(kernel_svm(H, case.z, 2.0)[0], rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_pseudo_inverse_of_a_laplacian(loss):
    """Widmer 2015, eq. 18 and 19: with K = L^+ the differences cost, and there is no common part.

    The primal over the range of K: the weights of connected tasks sum to zero.
    """
    A = EDGES + np.outer([0, 0, 0, 1], [0, 0, 0.5, 0]) + np.outer([0, 0, 1, 0], [0, 0, 0, 0.5])
    case = related(TaskKernel.graph(A, NAMES, 0), loss)
    solution = case.solve(tol=1e-9)
    W, X = cp.Variable((4, 8)), np.column_stack([case.X, np.ones(160)])
    margins = cp.multiply(case.z, cp.sum(cp.multiply(X, W[case.tasks]), axis=1))
    errors = FORMULAS[loss].value(margins, 0.0)
    edges = [(s, t) for s in range(4) for t in range(s) if A[s, t]]
    cost = sum(A[s, t] * cp.sum_squares(W[s] - W[t]) for s, t in edges)
    problem = cp.Problem(
        cp.Minimize(0.5 * cost + case.C * cp.sum(errors)), [cp.sum(W, axis=0) == 0]
    )
    problem.solve(solver="CLARABEL")
    assert solution.gap <= 1e-9
    assert solution.primal == pytest.approx(problem.value, rel=1e-6)
    found = np.vstack([solution.W, solution.bias])
    assert_allclose(found, W.value.T, atol=2e-3)
    assert_allclose(found.sum(axis=1), 0.0, atol=1e-12)
