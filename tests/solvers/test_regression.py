"""Regression in the solver against LIBLINEAR and a general optimiser; novelty detection as well."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVR

from seqmtl import WeightedDegree
from seqmtl.features.numeric import NumericRows
from seqmtl.sequences import Windows
from seqmtl.solvers._dcd_kernels import dual_step
from seqmtl.solvers.dcd import CoordinateDescent, State
from seqmtl.solvers.polish import hessian, polish
from seqmtl.solvers.problem import REGRESSION_LOSSES, Problem
from tests.oracles import svm, svr

K3 = np.array([[1.0, 0.6, 0.1], [0.6, 1.5, 0.2], [0.1, 0.2, 0.8]])
LOSSES = sorted(REGRESSION_LOSSES)


def _numbers(n=80, d=6, T=1, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    tasks = rng.integers(0, T, n)
    z = (X @ rng.standard_normal((d, T)))[np.arange(n), tasks] + 1.0
    return X, z + noise * rng.standard_normal(n), tasks


def _strings(n=400, length=30, seed=0):
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    z = (letters[:, 10:14] == [0, 2, 1, 1]).sum(axis=1) + 0.3 * rng.standard_normal(n)
    return Windows(letters.ravel(), np.arange(n) * length, length), z


def _problem(rows, z, tasks, K, C, loss=LOSSES[0], epsilon=0.1, bias=1.0):
    C = np.broadcast_to(C, z.size).astype(float)
    return Problem(rows, np.ones(z.size), tasks, K, C, loss, bias, z, epsilon)


def _solve(*problem, options=None, **settings):
    solver = CoordinateDescent(_problem(*problem, **settings), dtype=np.float64, **(options or {}))
    return solver.solve()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("T", [1, 3])
def test_objective_equals_a_general_optimiser(loss, epsilon, T):
    X, z, tasks = _numbers(T=T)
    K, C = K3[:T, :T], np.random.default_rng(1).uniform(0.2, 2, z.size)
    solution = _solve(
        NumericRows(X), z, tasks, K, C, loss=loss, epsilon=epsilon, options={"tol": 1e-9}
    )
    _, dual = svr.solve_dual(X, z, tasks, K, C, loss, epsilon)
    assert solution.converged
    assert solution.dual == pytest.approx(dual, rel=1e-6)
    value = svr.primal(X, z, tasks, K, C, loss, epsilon, solution.W, solution.bias, 1.0)
    assert solution.primal == pytest.approx(value, rel=1e-8)
    assert value == pytest.approx(dual, rel=1e-6)
    f = (X @ solution.W)[np.arange(z.size), tasks] + solution.bias[tasks]
    assert_allclose(solution.margins, f, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("C", "epsilon", "bias"), [(0.1, 0.1, 1.0), (0.5, 0.0, 1.0), (1, 0.5, 0)])
def test_one_task_equals_liblinear(loss, C, epsilon, bias):
    X, z, tasks = _numbers(n=300, d=10)
    solution = _solve(
        NumericRows(X), z, tasks, np.eye(1), C, loss=loss, epsilon=epsilon, bias=bias,
        options={"tol": 1e-8, "max_epochs": 5000},
    )  # fmt: skip
    reference = LinearSVR(
        loss=loss, C=C, epsilon=epsilon, tol=1e-9, max_iter=10**6, fit_intercept=bool(bias),
        random_state=0,
    ).fit(X, z)  # fmt: skip
    W, b = reference.coef_[:, None], np.atleast_1d(reference.intercept_).astype(float)
    expected = svr.primal(X, z, tasks, np.eye(1), C, loss, epsilon, W, b, bias)
    assert solution.primal == pytest.approx(expected, rel=1e-6)
    if loss == "squared_epsilon_insensitive":
        assert_allclose(solution.W[:, 0], reference.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_strings_equal_liblinear_on_explicit_features(loss):
    windows, z = _strings()
    features, tasks = WeightedDegree(degree=4), np.zeros(z.size, dtype=int)
    solution = _solve(
        features.bind(windows), z, tasks, np.eye(1), 2.0, loss=loss, options={"tol": 1e-8}
    )
    X = features.transform(windows).astype(float)
    reference = LinearSVR(
        loss=loss, C=2.0, epsilon=0.1, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(X, z)
    expected = svr.primal(
        X.toarray(), z, tasks, np.eye(1), 2.0, loss, 0.1,
        reference.coef_[:, None], reference.intercept_, 1.0,
    )  # fmt: skip
    assert 0 <= solution.gap <= 1e-8
    assert solution.primal == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_epochs_without_polish_reach_the_same_optimum(loss):
    windows, z = _strings()
    tasks = np.arange(z.size) % 3
    rows = WeightedDegree(degree=4).bind(windows)
    with_polish = _solve(rows, z, tasks, K3, 1.0, loss=loss, options={"tol": 1e-6})
    rows.gram = lambda rows, dtype: None
    without = _solve(rows, z, tasks, K3, 1.0, loss=loss, options={"tol": 1e-6})
    assert without.converged
    assert without.n_epochs > with_polish.n_epochs
    assert without.primal == pytest.approx(with_polish.primal, rel=2e-6)


def test_sparse_equals_dense():
    X, z, tasks = _numbers(n=200, d=12, T=3)
    X[np.abs(X) < 0.8] = 0
    dense, sparse = (
        _solve(NumericRows(data), z, tasks, K3, 0.3, options={"tol": 1e-9})
        for data in (X, csr_matrix(X))
    )
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-8)


def test_a_wide_tube_leaves_every_weight_at_zero():
    X, z, tasks = _numbers()
    solution = _solve(NumericRows(X), z, tasks, np.eye(1), 1.0, epsilon=np.abs(z).max() + 1.0)
    assert (solution.primal, solution.dual, solution.gap) == (0.0, 0.0, 0.0)
    assert not solution.W.any()


def test_negated_targets_negate_the_solution():
    X, z, tasks = _numbers(T=3)
    there, back = (
        _solve(NumericRows(X), sign * z, tasks, K3, 0.5, options={"tol": 1e-10}) for sign in (1, -1)
    )
    assert_allclose(back.W, -there.W, atol=1e-4)
    assert (there.alpha > 0).any()
    assert (there.alpha < 0).any()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.floats(0, 2))
def test_weak_duality_at_any_point(seed, loss, epsilon):
    rng = np.random.default_rng(seed)
    X, z, tasks = _numbers(n=20, d=4, T=3, seed=seed)
    C = rng.uniform(0.1, 3, 20)
    beta = rng.uniform(-1, 1, 20) * C * (rng.random(20) < 0.8)
    problem = _problem(NumericRows(X), z, tasks, K3, C, loss, epsilon, 0.5)
    f = svm.multitask_kernel(X, tasks, K3, 0.5) @ beta
    primal, dual = problem.objectives(beta, f)
    W, b = rng.standard_normal((4, 3)), rng.standard_normal(3)
    assert dual <= primal + 1e-9
    assert dual <= svr.primal(X, z, tasks, K3, C, loss, epsilon, W, b, 0.5) + 1e-9


@settings(max_examples=100)
@given(
    st.sampled_from(LOSSES), st.floats(0.05, 5), st.floats(0.1, 10), st.floats(-5, 5),
    st.floats(-1, 1), st.floats(0, 3),
)  # fmt: skip
def test_a_step_minimises_its_coordinate(loss, H, C, residual, share, epsilon):
    beta = share * C
    D = 0.5 / C if loss.startswith("squared") else 0.0

    def value(new):
        move = new - beta
        return 0.5 * H * move**2 + residual * move + epsilon * abs(new) + 0.5 * D * new**2

    top = 200.0 if loss.startswith("squared") else C
    new = dual_step(REGRESSION_LOSSES[loss], beta, residual, H, C, epsilon)
    best = minimize_scalar(value, bounds=(-top, top), method="bounded", options={"xatol": 1e-9})
    assert abs(new) <= top + 1e-9
    assert value(new) <= min(best.fun, value(0.0)) + 1e-7 * (1 + abs(best.fun))


@pytest.mark.parametrize("loss", LOSSES)
def test_part_of_the_dual_is_solved_with_the_rest_fixed(loss):
    X, z, tasks = _numbers(n=60, d=100, T=2)
    K = np.array([[1.0, 0.4], [0.4, 1.0]])
    problem = _problem(NumericRows(X), z, tasks.astype(np.int16), K, 0.3, loss, 0.2)
    H = svm.multitask_kernel(X, tasks, K, 1.0)
    start = np.random.default_rng(0).uniform(-0.3, 0.3, 60)
    active = np.arange(0, 60, 2)
    G = hessian(problem, active, np.float64)
    beta, _ = polish(
        problem, active, start[active], (H @ start)[active], G, 1e-9, np.random.default_rng(0)
    )
    full = start.copy()
    full[active] = beta
    slope = (H @ full - z)[active] + (beta / 0.6 if loss.startswith("squared") else 0.0)
    inside = (beta != 0) & ((np.abs(beta) < 0.3) | loss.startswith("squared"))
    assert_allclose(slope[inside], -0.2 * np.sign(beta[inside]), atol=1e-4)
    assert (np.abs(slope[beta == 0]) <= 0.2 + 1e-4).all()
    assert (np.sign(beta) * slope <= 1e-4 - 0.2)[~inside & (beta != 0)].all()


def test_a_saved_state_continues_where_it_was():
    windows, z = _strings()
    rows, tasks = WeightedDegree(degree=4).bind(windows), np.arange(z.size) % 3
    rows.gram = lambda rows, dtype: None
    problem = _problem(rows, z, tasks, K3, 1.0)
    saved = []

    def keep(state, _):
        saved.append(replace(state, alpha=state.alpha.copy(), active=state.active.copy()))

    whole = CoordinateDescent(problem, dtype=np.float64, tol=1e-6)
    first = whole.solve(keep)
    state = State(saved[3].alpha, saved[3].active, np.random.default_rng(0))
    second = CoordinateDescent(problem, dtype=np.float64, tol=1e-6, state=state).solve()
    assert second.primal == pytest.approx(first.primal, rel=2e-6)
    done = State(first.alpha.copy(), np.arange(z.size), np.random.default_rng(0))
    again = CoordinateDescent(problem, dtype=np.float64, tol=1e-5, state=done).solve()
    assert (again.n_epochs, again.converged) == (0, True)
    assert_allclose(again.W, first.W, atol=1e-9)


def test_runs_are_reproducible():
    windows, z = _strings()
    rows, tasks = WeightedDegree(degree=4).bind(windows), np.arange(z.size) % 3
    first, again = (_solve(rows, z, tasks, K3, 1.0, options={"seed": 1}) for _ in range(2))
    assert_array_equal(first.W, again.W)
    assert_array_equal(first.alpha, again.alpha)


@pytest.mark.parametrize("T", [1, 3])
def test_novelty_detection_is_a_quadratic_program_in_a_box(T):
    X, _, tasks = _numbers(n=60, T=T, seed=5)
    X += 1.0
    K, C = K3[:T, :T], np.random.default_rng(2).uniform(0.02, 0.2, 60)
    problem = Problem(NumericRows(X), np.ones(60), tasks, K, C, "hinge", 0.0)
    solution = CoordinateDescent(problem, dtype=np.float64, tol=1e-10).solve()
    H = svm.multitask_kernel(X, tasks, K, 0.0)
    result = minimize(
        lambda a: (0.5 * a @ H @ a - a.sum(), H @ a - 1.0), np.zeros(60), jac=True,
        method="L-BFGS-B", bounds=[(0.0, top) for top in C], options={"ftol": 1e-16, "gtol": 1e-11},
    )  # fmt: skip
    assert solution.dual == pytest.approx(-result.fun, rel=1e-8)
    assert_allclose(solution.margins, H @ result.x, atol=1e-4)
    assert not solution.bias.any()
