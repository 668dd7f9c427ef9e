"""Second-order steps: the optimum of other programs and of coordinate descent, in every corner."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from seqmtl import core
from seqmtl.core import dcd, newton
from seqmtl.core.newton import LowDimProblem, step_costs
from seqmtl.core.problem import Problem
from seqmtl.core.solver import with_second_order
from seqmtl.features.numeric import NumericRows
from tests.core.cases import EVERY_LOSS, numbers
from tests.oracles.losses import LOSSES as FORMULAS

KERNELS = ("individual", "union", "default", "any", "rank 2", "nearly singular")


def kernel(kind, T, rng):
    if kind in ("any", "rank 2"):
        F = rng.standard_normal((T, T if kind == "any" else 2))
        F /= np.linalg.norm(F, axis=1, keepdims=True)
        return F @ F.T
    shared, own = {
        "individual": (0, 1),
        "union": (1, 0),
        "default": (0.25, 0.75),
        "nearly singular": (1, 1e-8),
    }[kind]
    return shared * np.ones((T, T)) + own * np.eye(T)


def problem(loss, kind="default", C=1.0, *, n=150, d=4, T=3, bias=1.0, X=None):
    """A small problem with costs that differ by up to ten times."""
    rng, case = np.random.default_rng(0), numbers(loss, n, d, T, bias=bias, epsilon=0.3)
    case.X = case.X if X is None else X(case.X)
    return replace(case, K=kernel(kind, T, rng), C=C * rng.uniform(0.2, 2.0, n)).problem()


def at_once(p, tol, **options):
    """Take second-order steps from the start."""
    options = {"dtype": np.float64, "tol": tol} | options
    return with_second_order(p, 0.0, step_costs(p)[1], 1000, None, options)


def solve(p, tol=1e-8, **options):
    """Take second-order steps from the start, and require that these suffice."""
    solution = at_once(p, tol, **options)
    assert solution.n_epochs == 0
    assert 0 <= solution.gap <= tol
    assert (np.abs(solution.alpha) <= FORMULAS[p.loss.name].bound * p.C).all()
    assert p.loss.is_signed or (solution.alpha >= 0).all()
    return solution


def by_cvxpy(p):
    """Minimum of the primal, written out in the weights of all tasks."""
    X = np.column_stack([p.rows.X, np.full(p.y.size, p.bias_scale)])
    values, U = np.linalg.eigh(p.K[0])
    kept = values > 1e-10 * values[-1]
    L = U[:, kept] * np.sqrt(values[kept])  # W = L Z has the regulariser ||Z||^2 / 2
    Z = cp.Variable((L.shape[1], X.shape[1]))
    f = cp.sum(cp.multiply(X, (L @ Z)[p.tasks]), axis=1)
    residuals = f - p.targets if p.targets.size else cp.multiply(p.y, f)
    losses = FORMULAS[p.loss.name].value(residuals, p.loss.epsilon)
    whole = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(Z) + p.C @ losses))
    return whole.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_optimum_by_cvxpy(loss):
    for kind in KERNELS:
        p = problem(loss, kind, n=60)
        assert solve(p).primal == pytest.approx(by_cvxpy(p), rel=1e-6)
    for C in (0.01, 10.0):
        p = problem(loss, "union", C, n=60, T=1, bias=0.0)
        assert solve(p, 1e-9).primal == pytest.approx(by_cvxpy(p), rel=1e-6)


CORNERS = {
    "plain": lambda X: X,
    "equal columns": lambda X: X[:, [0, 0, 1, 1]],
    "equal rows": lambda X: np.vstack([X[:75], X[:75]]),
    "constant columns": lambda X: np.column_stack([X[:, :2], np.zeros(150), np.full(150, 3.0)]),
    "no columns": lambda X: np.zeros_like(X),
    "unequal scales": lambda X: X * [100.0, 1e-3, 1.0, 1.0],
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_corners_are_certified_to_eight_digits(loss, corner):
    large = 10.0 if corner == "unequal scales" else 1e4
    for kind in ("individual", "union", "default", "any"):
        solve(problem(loss, kind, large, X=CORNERS[corner]))
    solve(problem(loss, "default", 1e-4, X=CORNERS[corner]))


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_fewer_examples_than_weights_and_an_empty_task(loss, kind):
    p = problem(loss, kind, n=12, d=9, T=5)
    p.tasks[p.tasks == 2] = 1
    solve(p)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_dual_variables_lie_exactly_on_their_bounds(loss):
    """Those off the margin are at a bound; only as many as there are weights are between."""
    p = problem(loss, C=0.1)
    solution = solve(p)
    residuals = solution.margins - (p.targets if p.targets.size else 1.0)
    distance = np.abs(residuals) - 0.3 if p.targets.size else -residuals
    for side, expected in ((distance > 1e-4, p.C), (distance < -1e-4, 0.0 * p.C)):
        assert side.sum() > 10
        assert_array_equal(np.abs(solution.alpha)[side], expected[side])
    between = (solution.alpha != 0) & (np.abs(solution.alpha) < p.C)
    assert between.sum() <= 3 * 5


def test_steps_follow_when_descent_has_cost_as_much():
    p = problem("hinge", C=100.0, n=400)
    patience = step_costs(p)[0]
    assert 0 < patience < 100
    solution = core.solve(p, tol=1e-9, dtype=np.float64)
    assert solution.gap <= 1e-9
    assert solution.n_epochs > 1
    assert solution.work > patience
    assert solution.history[-1].gap == solution.gap


def test_loose_tolerances_are_left_to_descent():
    p = problem("hinge", C=0.01, n=600)
    one, other = (by.solve(p, tol=0.05, dtype=np.float64) for by in (core, dcd))
    assert_array_equal(one.alpha, other.alpha)


@pytest.mark.parametrize("is_error", [True, False])
def test_steps_that_fail_or_are_poor_are_not_taken(monkeypatch, is_error):
    p, calls = problem("hinge", C=1.0), []

    def fail(low_dim, start, tol):
        calls.append(tol)
        if is_error:
            raise np.linalg.LinAlgError
        return low_dim.problem.C.copy()

    monkeypatch.setattr(newton, "solve", fail)
    best = dcd.solve(p, tol=1e-5, dtype=np.float64)
    assert at_once(p, 1e-5).primal == pytest.approx(best.primal, rel=2e-5)
    assert len(calls) == 1


def test_many_weights_are_left_to_descent():
    rng = np.random.default_rng(0)
    T, d = 70, 60  # a kernel without structure: 69 x 61 equations
    tasks = np.arange(140, dtype=np.int16) % T
    X, y = rng.standard_normal((140, d)), np.where(np.arange(140) % 2, 1.0, -1.0)
    for kind, is_few in (("any", False), ("default", True)):
        p = Problem(NumericRows(X), y, tasks, kernel(kind, T, rng), np.ones(140))
        assert (step_costs(p) is not None) == is_few


def test_sparse_matrices_that_are_full_take_part():
    p = problem("hinge", C=100.0)
    solve(replace(p, rows=NumericRows(csr_matrix(p.rows.X))))
    nearly_empty = NumericRows(csr_matrix(p.rows.X * (p.y > 9)[:, None]))
    assert step_costs(replace(p, rows=nearly_empty)) is None


def test_a_solution_needs_no_more_steps_from_where_it_is():
    p = problem("logistic")
    low_dim = LowDimProblem(p, p.rows.X)
    newton.solve(low_dim, solve(p, 1e-12).alpha[low_dim.order], 1e-6)
    assert low_dim.n_steps <= 1
