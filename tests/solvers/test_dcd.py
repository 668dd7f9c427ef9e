"""The solver against LIBLINEAR, a kernel SVM, and a general optimiser on the dual."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix
from sklearn.svm import SVC, LinearSVC

from seqmtl import Spectrum, WeightedDegree
from seqmtl.features.numeric import NumericRows
from seqmtl.sequences import Windows
from seqmtl.solvers._dcd_kernels import dual_step
from seqmtl.solvers.dcd import CoordinateDescent, State
from seqmtl.solvers.problem import LOSSES, Problem
from tests.oracles import svm

K3 = np.array([[1.0, 0.6, 0.1], [0.6, 1.5, 0.2], [0.1, 0.2, 0.8]])


def _numbers(n=80, d=6, T=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    tasks = rng.integers(0, T, n)
    w = rng.standard_normal((d, T))
    y = np.sign((X @ w)[np.arange(n), tasks] + rng.standard_normal(n))
    return X, y, tasks


def _strings(n=400, length=30, seed=0):
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    letters[y > 0, 10:14] = np.where(rng.random(((y > 0).sum(), 4)) < 0.8, [0, 2, 1, 1], 3)
    return Windows(letters.ravel(), np.arange(n) * length, length), y


def _solve(rows, y, tasks, K, C, loss="hinge", bias=1.0, **options):
    problem = Problem(rows, y, tasks, K, np.broadcast_to(C, y.size).astype(float), loss, bias)
    return CoordinateDescent(problem, dtype=np.float64, **options).solve()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("T", [1, 3])
def test_objective_equals_a_general_optimiser(loss, T):
    X, y, tasks = _numbers(T=T)
    K, C = K3[:T, :T], np.random.default_rng(1).uniform(0.2, 2, y.size)
    solution = _solve(NumericRows(X), y, tasks, K, C, loss, tol=1e-9)
    _, dual = svm.solve_dual(X, y, tasks, K, C, loss)
    assert solution.converged
    assert solution.dual == pytest.approx(dual, rel=1e-6)
    value = svm.primal(X, y, tasks, K, C, loss, solution.W, solution.bias, 1.0)
    assert solution.primal == pytest.approx(value, rel=1e-8)
    assert value == pytest.approx(dual, rel=1e-6)


@pytest.mark.parametrize(("loss", "C"), [("hinge", 0.5), ("hinge", 20.0), ("squared_hinge", 2.0)])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_one_task_equals_liblinear(loss, C, bias):
    X, y, tasks = _numbers(n=300, d=10)
    solution = _solve(NumericRows(X), y, tasks, np.eye(1), C, loss, bias, tol=1e-8)
    reference = LinearSVC(
        loss=loss, C=C, tol=1e-10, max_iter=10**6, fit_intercept=bool(bias), random_state=0
    ).fit(X, y)
    w, b = reference.coef_[0], np.atleast_1d(reference.intercept_).astype(float)
    expected = svm.primal(X, y, tasks, np.eye(1), C, loss, w[:, None], b * bias, bias)
    assert solution.primal == pytest.approx(expected, rel=1e-6)
    if loss == "squared_hinge":
        assert_allclose(solution.W[:, 0], w, atol=1e-4)


def test_strings_equal_liblinear_on_explicit_features():
    windows, y = _strings()
    features = WeightedDegree(degree=5)
    tasks = np.zeros(y.size, dtype=int)
    solution = _solve(features.bind(windows), y, tasks, np.eye(1), 2.0, tol=1e-8)
    X = features.transform(windows).astype(float)
    reference = LinearSVC(loss="hinge", C=2.0, tol=1e-9, max_iter=10**6, random_state=0).fit(X, y)
    w, b = reference.coef_[0], reference.intercept_
    expected = svm.primal(X.toarray(), y, tasks, np.eye(1), 2.0, "hinge", w[:, None], b, 1.0)
    assert solution.primal == pytest.approx(expected, rel=1e-6)


def test_many_tasks_equal_a_kernel_svm():
    X, y, tasks = _numbers(n=150, T=3, seed=4)
    solution = _solve(NumericRows(X), y, tasks, K3, 1.0, tol=1e-10, bias=0.0)
    H = svm.multitask_kernel(X, tasks, K3, 0.0)
    # SVC has a free intercept: with none at the optimum both problems agree only if it is 0,
    # so compare with the dual that has no equality constraint
    alpha, dual = svm.solve_dual(X, y, tasks, K3, 1.0, bias=0.0)
    assert solution.dual == pytest.approx(dual, rel=1e-7)
    scores = H @ (solution.alpha * y)
    assert_allclose(y * scores, solution.margins, atol=1e-8)
    assert_allclose(H @ (alpha * y), scores, atol=1e-3)


def test_union_equals_a_pooled_kernel_svm_with_large_bias():
    X, y, tasks = _numbers(n=120, T=2, seed=2)
    bias = 30.0  # a heavy constant feature makes the intercept all but free, as in SVC
    solution = _solve(NumericRows(X), y, tasks, np.ones((2, 2)), 1.0, bias=bias, tol=1e-9)
    reference = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    assert_allclose(solution.margins, y * reference.decision_function(X), atol=5e-3)
    assert_allclose(solution.W[:, 0], solution.W[:, 1], atol=1e-12)


def test_individual_tasks_equal_separate_problems():
    X, y, tasks = _numbers(n=120, T=3, seed=3)
    joint = _solve(NumericRows(X), y, tasks, np.eye(3), 0.7, tol=1e-11)
    for t in range(3):
        part = tasks == t
        zeros = np.zeros(part.sum(), dtype=int)
        alone = _solve(NumericRows(X[part]), y[part], zeros, np.eye(1), 0.7, tol=1e-11)
        assert_allclose(joint.W[:, t], alone.W[:, 0], atol=1e-4)


def test_sparse_equals_dense():
    X, y, tasks = _numbers(n=200, d=12, T=3)
    X[np.abs(X) < 0.8] = 0
    dense = _solve(NumericRows(X), y, tasks, K3, 1.0, tol=1e-9)
    sparse = _solve(NumericRows(csr_matrix(X)), y, tasks, K3, 1.0, tol=1e-9)
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_epochs_without_polish_reach_the_same_optimum(loss):
    windows, y = _strings()
    tasks = np.arange(y.size) % 3
    rows = WeightedDegree(degree=4).bind(windows)
    with_polish = _solve(rows, y, tasks, K3, 1.0, loss, tol=1e-6)
    hashed = WeightedDegree(degree=4).bind(windows)
    hashed.gram = lambda rows, dtype: None
    without = _solve(hashed, y, tasks, K3, 1.0, loss, tol=1e-6)
    assert without.n_epochs > with_polish.n_epochs
    assert without.primal == pytest.approx(with_polish.primal, rel=2e-6)


def test_spectrum_rows_train():
    windows, y = _strings()
    features = Spectrum(k=3)
    tasks = np.zeros(y.size, dtype=int)
    solution = _solve(features.bind(windows), y, tasks, np.eye(1), 5.0, tol=1e-7)
    X = features.transform(windows).toarray().astype(float)
    reference = LinearSVC(loss="hinge", C=5.0, tol=1e-10, max_iter=10**6, random_state=0).fit(X, y)
    expected = svm.primal(
        X, y, tasks, np.eye(1), 5.0, "hinge", reference.coef_.T, reference.intercept_, 1.0
    )
    assert solution.primal == pytest.approx(expected, rel=1e-6)


def test_a_gap_of_1e_8_is_reached_with_double_weights():
    windows, y = _strings(n=600)
    tasks = np.arange(y.size) % 3
    solution = _solve(WeightedDegree(degree=6).bind(windows), y, tasks, K3, 1.0, tol=1e-8)
    assert 0 <= solution.gap <= 1e-8


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LOSSES)))
def test_weak_duality_at_any_point(seed, loss):
    rng = np.random.default_rng(seed)
    X, y, tasks = _numbers(n=20, d=4, T=3, seed=seed)
    C = rng.uniform(0.1, 3, 20)
    alpha = rng.random(20) * C * (rng.random(20) < 0.8)
    problem = Problem(NumericRows(X), y, tasks, K3, C, loss, 0.5)
    H = np.outer(y, y) * svm.multitask_kernel(X, tasks, K3, 0.5)
    primal, dual = problem.objectives(alpha, H @ alpha)
    W, b = rng.standard_normal((4, 3)), rng.standard_normal(3)
    assert dual <= primal + 1e-9
    assert dual <= svm.primal(X, y, tasks, K3, C, loss, W, b, 0.5) + 1e-9


@settings(max_examples=80)
@given(
    st.sampled_from(sorted(LOSSES)), st.floats(0.05, 5), st.floats(0.1, 10), st.floats(-5, 5),
    st.floats(0, 1),
)  # fmt: skip
def test_a_step_minimises_its_coordinate(loss, H, C, margin, share):
    alpha = share * C

    def value(z):
        move = z - alpha
        total = 0.5 * H * move**2 + margin * move
        if loss == "logistic":
            s = np.clip(z / C, 1e-15, 1 - 1e-15)
            return total + C * (s * np.log(s) + (1 - s) * np.log1p(-s))
        return total - z + (z**2 / (4 * C) if loss == "squared_hinge" else 0.0)

    upper = 100.0 if loss == "squared_hinge" else C
    new = dual_step(LOSSES[loss], alpha, margin, H, C, 0.0)
    best = minimize_scalar(value, bounds=(0, upper), method="bounded", options={"xatol": 1e-9})
    assert 0 <= new <= upper + 1e-9
    assert value(new) <= best.fun + 1e-7 * (1 + abs(best.fun))


def test_runs_are_reproducible_and_seeds_differ():
    windows, y = _strings()
    rows, tasks = WeightedDegree(degree=4).bind(windows), np.arange(y.size) % 3
    first, again, other = (_solve(rows, y, tasks, K3, 1.0, seed=s, tol=1e-3) for s in (1, 1, 2))
    assert_array_equal(first.W, again.W)
    assert_array_equal(first.alpha, again.alpha)
    assert (first.alpha != other.alpha).any()


def test_warm_start_continues():
    windows, y = _strings()
    rows, tasks = WeightedDegree(degree=4).bind(windows), np.arange(y.size) % 3
    rows.gram = lambda rows, dtype: None
    cold = _solve(rows, y, tasks, K3, 1.0, tol=1e-6)
    state = State(cold.alpha.copy(), np.arange(y.size), np.random.default_rng(0))
    warm = _solve(rows, y, tasks, K3, 1.0, tol=1e-5, state=state)
    assert warm.n_epochs == 0
    assert warm.gap <= 1e-5


def test_the_epoch_limit_is_kept_and_the_gap_reported():
    windows, y = _strings()
    rows, tasks = WeightedDegree(degree=4).bind(windows), np.zeros(y.size, dtype=int)
    rows.gram = lambda rows, dtype: None
    solution = _solve(rows, y, tasks, np.eye(1), 1.0, tol=1e-9, max_epochs=2)
    assert (solution.n_epochs, solution.converged) == (2, False)
    assert solution.gap > 1e-9


def test_rows_without_features_do_no_harm():
    windows = Windows.from_strings(["NNNN", "ACGT", "TTTT", "NNNN"])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    rows = WeightedDegree(degree=2).bind(windows)
    solution = _solve(rows, y, np.zeros(4, dtype=int), np.eye(1), 1.0, bias=0.0, tol=1e-9)
    assert np.isfinite(solution.W).all()
    assert solution.margins[0] == 0
