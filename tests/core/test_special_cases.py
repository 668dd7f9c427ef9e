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
from tests.core.cases import numbers
from tests.oracles.losses import LOSSES as FORMULAS

NAMES = ("worm", "fly", "fish", "mouse")
EDGES = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0.0]])  # mouse has none


def related(kernel, loss="hinge", **options):
    """Four tasks with a task kernel."""
    K = kernel.matrix if isinstance(kernel, TaskKernel) else kernel
    return replace(numbers(loss, n=160, d=7, T=4), K=K, **{"C": 2.0, **options})


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


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(
    "kernel",
    [
        TaskKernel.graph(EDGES, NAMES),
        TaskKernel.graphical(EDGES, NAMES, 0.5),
        TaskKernel.clustering({"a": NAMES[:2], "b": NAMES[1:]}, NAMES),
        *(make(NAMES) for make in (TaskKernel.individual, TaskKernel.union, TaskKernel.easy)),
    ],
    ids=lambda kernel: kernel.source,
)
def test_related_tasks_are_a_kernel_svm_on_the_product_kernel(kernel, bias):
    """Widmer 2012, eq. 3; Widmer 2015, 2.5.3: LIBSVM on K[s,t] <x, z> has the same optimum.

    Of these, K = I is an SVM per task, 11' one of all examples, and 11' + I that of Daume (2007).
    """
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
    K = np.tensordot(solution.theta, kernel.matrices, 1)
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
