"""When the solvers stop: at sizes at which a round visits few of the examples, and by rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from seqmtl import core
from seqmtl.core import Problem, dcd
from seqmtl.core.dcd import WarmStart
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.core.mkl import KernelSet
from seqmtl.features.numeric import NumericRows

SHARED = (np.ones((2, 2)) + np.eye(2)) / 2


def problem(n, d, n_nonzero=None, noise=0.01, C=1.0):
    """Two related tasks that are nearly separable, of dense or sparse numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    if n_nonzero is not None:
        columns = rng.integers(d, size=(n, n_nonzero))
        indptr = n_nonzero * np.arange(n + 1)
        X = sparse.csr_matrix((X[:, :n_nonzero].ravel(), columns.ravel(), indptr), shape=(n, d))
        X.sum_duplicates()
    w = rng.standard_normal((d, 1)) + 0.3 * rng.standard_normal((d, 2))
    tasks = rng.integers(2, size=n)
    scores = (X @ w)[np.arange(n), tasks]
    y = np.where(scores + noise * scores.std() * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem(NumericRows(X), y, tasks, SHARED, np.full(n, C))


def kernel_set(norm):
    """Individual tasks and their union, with learnt weights."""
    kernels = KernelStack(np.stack([np.eye(2), np.ones((2, 2))]))
    return KernelSet(kernels, np.zeros(2, dtype=int), norm)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_defaults_suffice_where_few_examples_are_active(loss):
    data = problem(30_000, 200, 10)
    solution = core.solve(Problem(data.rows, data.y, data.tasks, SHARED, data.C, loss))
    assert solution.stopped_by == "tol"
    assert solution.gap <= 1e-3
    assert solution.work < 100


def test_the_defaults_suffice_for_learnt_weights_of_kernels():
    data = problem(20_000, 20, noise=0.1)
    solution = core.solve(data, kernel_set(2.0))
    assert solution.converged
    assert solution.work < 100


@pytest.mark.parametrize("max_epochs", [1, 4, 9])
def test_the_limit_is_on_passes_over_all_examples(max_epochs):
    """A pass is as many visits as there are examples; a check adds less than a pass."""
    solution = dcd.solve(problem(6000, 50, 5), tol=1e-12, max_epochs=max_epochs)
    assert solution.stopped_by == "max_epochs"
    assert not solution.converged
    assert max_epochs <= solution.work < max_epochs + 2
    assert solution.n_epochs > solution.work or max_epochs == 1  # as few were active in most


def test_a_gap_that_float32_cannot_reach_is_not_waited_for():
    data = problem(1500, 30, noise=0.5, C=0.05)
    solution = dcd.solve(data, tol=1e-9)
    assert solution.stopped_by == "rounding"
    assert solution.gap < 1e-6
    assert solution.work < 500
    precise = dcd.solve(data, tol=1e-9, dtype=np.float64)
    assert precise.stopped_by == "tol"
    assert solution.primal == pytest.approx(precise.primal, rel=1e-6)


def test_learnt_weights_stop_by_rounding():
    solution = core.solve(problem(1500, 10, noise=0.5), kernel_set(2.0), tol=1e-11)
    assert solution.stopped_by == "rounding"
    assert solution.gap < 1e-6
    assert solution.work < 500


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_a_kernel_weight_of_0_in_a_start_does_not_stay_0(norm):
    data = problem(600, 10, noise=0.5)
    kernels = kernel_set(norm)
    expected = core.solve(data, kernels, dtype=np.float64, tol=1e-6)
    start = WarmStart(np.zeros(600), np.array([1.0, 0.0]))
    solution = core.solve(data, kernels, dtype=np.float64, tol=1e-6, start=start)
    assert solution.converged
    assert_allclose(solution.theta, expected.theta, atol=0.01)
    assert solution.theta[1] > 0.1
