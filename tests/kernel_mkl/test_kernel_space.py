"""The solvers of kernel space against cvxpy, brute force, and each other."""

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MultiTaskKernelSVC,
    MultiTaskMKLClassifier,
    ParetoMKLClassifier,
    TaskKernel,
)
from seqmtl.core.interior import minimise_in_box
from seqmtl.core.norms import conjugate, dual_norm, minimise_on_ball, norm_of
from seqmtl.kernel_mkl.descent import descend
from seqmtl.kernel_mkl.rules import Separate, Shared, trade_off
from seqmtl.kernel_mkl.svm import KernelSVM, best_intercept, solve_dual
from seqmtl.kernels import RBF, Linear
from tests.oracles import kernel_space as oracle
from tests.oracles import tseng

KERNELS = [Linear(), *map(RBF, oracle.GAMMAS)]
COSTS = {0: 1.0, 1: 0.3, 2: 10.0}
TIGHT = {"tol": 1e-6, "max_iter": 5000}


def given(seed=0, **options):
    return oracle.data(seed, C=COSTS[seed], **options)


def fit(kind, data, **options):
    return kind(KERNELS, C=data.C, **(TIGHT | options)).fit(data.X, data.y, data.names)


def problems(data):
    return [
        KernelSVM(H, y, np.full(y.size, data.C), np.zeros(y.size, int), np.ones((1, 1, 1)))
        for H, y in data.tasks
    ]


# -- trade-offs between tasks ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "norm", "seed"),
    [(1, 1, 0), (1, np.inf, 0), (1.5, 1.1, 2), (2, 2, 1), (10, 1, 1), (np.inf, 1.1, 1)],
)
def test_a_convex_trade_off_is_that_of_cvxpy(p, norm, seed):
    """Li 2014, eq. 1, 3, 17: the p-norm of the objectives, p >= 1, by CVXPY."""
    data = given(seed)
    optimum, theta = oracle.pareto(data, p, norm)
    model = fit(ParetoMKLClassifier, data, p=p, norm=norm)
    assert_allclose(model.objective_, optimum, rtol=1e-5)
    assert_allclose(model.theta_, theta, atol=1e-2 if norm > 1 else 2e-2)
    assert_allclose(np.linalg.norm(model.objectives_, p), model.objective_, rtol=1e-12)
    assert model.gap_ <= 1e-6


@pytest.mark.parametrize(
    ("p", "norm", "seed"), [(0.1, 2, 0), (0.5, 1.1, 1), (0.1, 1, 2), (0.5, 1, 0)]
)
def test_a_trade_off_below_one_is_stationary_and_a_local_minimum(p, norm, seed):
    """Li 2014, Theorem 3: with p < 1 the optimum of sum lambda_t g_t by CVXPY, a local minimum."""
    data = given(seed)
    model = fit(ParetoMKLClassifier, data, p=p, norm=norm)
    optimum, _ = oracle.weighted(data, model.weights_, norm)
    assert_allclose(model.weights_ @ model.objectives_, optimum, rtol=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(3):
        start = model.theta_ * np.exp(0.1 * rng.standard_normal(3)) + 1e-3
        start /= np.linalg.norm(start, norm)
        near = descend(problems(data), Shared(norm, p), tol=1e-5, state=start[None])
        assert near.objective >= model.objective_ * (1 - 1e-5)
        first = np.array([task.solve(start, 1e-8).primal for task in problems(data)])
        assert (first**p).sum() ** (1 / p) >= model.objective_ * (1 - 1e-6)


@pytest.mark.parametrize("p", [3.0, np.inf])
def test_descent_ends_at_the_saddle_point_of_the_paper(p):
    """Li 2014, Algorithm 1: Tseng's method from any start ends at eq. 9, and so does descent."""
    data = given()
    expected, _ = oracle.pareto(data, p, 2)
    solution = descend(problems(data), Shared(2, p), tol=1e-6)
    assert solution.converged
    assert_allclose(solution.objective, expected, rtol=1e-5)
    for start in ([1.0, 0.0, 0.0], [0.0, 1e-9, 1.0], [1e-5, 1e-5, 1e-5]):
        objective, theta = tseng.minimise(list(data.tasks), data.C, p, 2, np.array(start))
        assert_allclose(objective, expected, rtol=1e-5)
        assert_allclose(theta, solution.theta[0], atol=1e-2)


@settings(max_examples=50)
@for_all(
    st.integers(0, 2**31 - 1),
    st.sampled_from([1.0001, 1.5, 8.0, 1000.0, 1e9, np.inf]),
    st.sampled_from([1.0, 1.1, 2.0, 1000.0]),
    st.sampled_from([0, 2, 8]),
)
def test_a_step_is_certified_and_never_rises(seed, p, norm, decades):
    """Li 2014, Theorem 1: the maximum over lambda is the minimum over theta, of any scales."""
    rng = np.random.default_rng(seed)
    T, M = rng.integers(1, 9, 2)
    state = 10 ** rng.uniform(-decades / 2, 0, (1, M))
    state /= norm_of(state[0], norm)
    q = 10 ** rng.uniform(-decades, decades, (T, M)) * (rng.random((T, M)) < 0.8)
    losses = 10 ** rng.uniform(-decades, decades, T)
    a, g, rule = state**2 * q, losses + 0.5 * q @ state[0], Shared(norm, p)
    (theta,), weights = rule.step(state, g, q)
    inverse = np.divide(1, theta, out=np.zeros(M), where=theta > 0)
    value = rule.objective(losses + 0.5 * a @ inverse)
    bound = weights @ losses + 0.5 * norm_of(weights @ a, norm / (norm + 1))  # over theta
    assert norm_of(theta, norm) <= 1 + 1e-9
    assert value <= rule.objective(g) * (1 + 1e-9)
    assert bound <= value * (1 + 1e-9)
    assert value - bound <= 1e-5 * value


# -- other rules of kernel weights -------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.1, np.inf])
def test_individual_tasks_are_that_many_problems(norm):
    """Li 2014, 5.4, baseline: MKL of every task alone, by CVXPY."""
    data = given(1)
    model = fit(IndividualMKLClassifier, data, norm=norm)
    for t, name in enumerate("abc"):
        is_task = data.names == name
        alone = oracle.Data(data.X[is_task], data.y[is_task], data.names[is_task], data.C)
        optimum, theta = oracle.pareto(alone, 1, norm)
        assert_allclose(model.objectives_[t], optimum, rtol=1e-5)
        assert_allclose(model.theta_[t], theta, atol=2e-2)


# -- closed-form weights against numerical minimisers ------------------------------------------


def test_a_state_stays_where_no_function_is():
    g, q = np.ones(2), np.zeros((2, 3))
    for rule in (Shared(2.0, 0.5), Shared(2.0, 3.0), Separate(1.0)):
        state = rule.start(2, 3)
        assert_array_equal(rule.step(state, g, q)[0], state)


def test_norms_and_trade_offs_by_hand():
    v, w = np.array([3.0, 4.0]), np.array([1.0, 4.0])
    assert [norm_of(v, p) for p in (2, 1, np.inf)] == [5, 7, 4]
    assert_allclose(norm_of(w, 0.5), 9)
    assert norm_of(np.zeros(2), 3) == 0
    assert [conjugate(p) for p in (1, np.inf, 3)] == [np.inf, 1, 1.5]
    assert [dual_norm(v, p) for p in (1, np.inf)] == [4, 7]
    trade_offs = [trade_off(v, 1), trade_off(v, 2), trade_off(v, np.inf), trade_off(w, 0.5)]
    assert_allclose(trade_offs, [[1, 1], [0.6, 0.8], [0, 1], [3, 1.5]])
    assert_allclose(minimise_on_ball(w, 1.0), [1 / 3, 2 / 3])
    assert_array_equal(minimise_on_ball(v, np.inf), [1, 1])
    assert minimise_on_ball(np.zeros(2), 2.0) is None


# -- products with task kernels ------------------------------------------------------------------

K3 = np.array([[1.0, 0.6, 0.1], [0.6, 1.5, 0.2], [0.1, 0.2, 0.8]])
TASK_KERNELS = ["union", "individual", TaskKernel(["a", "b", "c"], K3)]


def all_products(data, constant=1.0):
    t = np.unique(data.names, return_inverse=True)[1]
    return [
        K[np.ix_(t, t)] * (H + constant)
        for H in oracle.kernels(data.X)
        for K in (np.ones((3, 3)), np.eye(3), K3)
    ]


@pytest.mark.parametrize(("norm", "fit_intercept"), [(1, False), (1.5, True), (np.inf, True)])
def test_learnt_products_are_those_of_cvxpy(norm, fit_intercept):
    """Widmer 2015, eq. 7: MKL over products of task and base kernels, by CVXPY."""
    data = given(int(fit_intercept))
    matrices = all_products(data, float(fit_intercept))
    optimum, theta = oracle.products(matrices, data.y, data.C, norm)
    model = fit(
        KernelMKLClassifier, data, norm=norm, task_kernel=TASK_KERNELS, fit_intercept=fit_intercept
    )
    assert_allclose(model.objective_, optimum, rtol=1e-5)
    assert_allclose(model.theta_, theta, atol=1e-2)
    H = np.tensordot(model.theta_, matrices, 1)
    assert_allclose(
        model.decision_function(data.X, data.names), H @ (model.dual_coef_ * data.y), atol=1e-8
    )


@pytest.mark.parametrize(
    ("options", "is_weighted"),
    [
        ({"norm": 1.5, "fit_intercept": False}, False),
        ({"norm": np.inf, "class_weight": {1: 3.0, -1: 0.5}}, False),
        ({"norm": 1.2, "class_weight": "balanced"}, True),
    ],
)
def test_a_linear_kernel_is_the_linear_solver(options, is_weighted):
    """Widmer 2015, Algorithm 1: alternating with an SVM ends where Algorithm 2 does."""
    data = oracle.data(4, n=15, d=4)
    weight = np.random.default_rng(0).exponential(size=data.y.size) if is_weighted else 1.0
    weight = np.where(is_weighted & (np.arange(data.y.size) % 7 == 0), 0.0, weight)
    common = {"task_kernel": TASK_KERNELS, "C": 0.7, "tol": 1e-10, **options}
    here = KernelMKLClassifier([Linear()], max_iter=5000, **common)
    there = MultiTaskMKLClassifier(max_epochs=20000, **common)
    used = weight > 0
    for model in (here, there):
        model.fit(data.X, data.y, data.names, weight)
        f = model.decision_function(data.X, data.names)[used]
        value = model.dual_coef_.sum() - 0.5 * (model.dual_coef_ * data.y[used]) @ f
        assert_allclose(value, here.objective_, rtol=1e-6)
    assert_allclose(here.theta_, there.theta_, atol=1e-5)
    scores = [model.decision_function(data.X, data.names) for model in (here, there)]
    assert_allclose(*scores, atol=1e-5)


# -- one support vector machine --------------------------------------------------------------------


def value_of(H, y, C, alpha):
    """Primal and dual objective at alpha."""
    f = H @ (alpha * y)
    b = best_intercept(f, y, C)
    half = 0.5 * alpha @ (y * f)
    return half + (C * np.maximum(0, 1 - y * (f + b))).sum(), alpha.sum() - half


@pytest.mark.parametrize("seed", range(2))
def test_a_machine_is_that_of_libsvm_and_of_cvxpy(seed):
    """Li 2014, eq. 2: the objective of a task, with an intercept, by LIBSVM and CVXPY."""
    data = oracle.data(seed, n=30, T=1)
    H, y = oracle.kernels(data.X)[1], data.y
    C = np.random.default_rng(seed).exponential(size=y.size) + 0.1
    alpha = solve_dual(H, y, C, 1e-6)
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    assert abs(alpha @ y) <= 1e-12 * C.sum()
    primal, dual = value_of(H, y, C, alpha)
    assert_allclose(primal, dual, rtol=1e-9)
    assert_allclose(primal, oracle.svm(H, y, C), rtol=1e-6)
    svc = SVC(kernel="precomputed", tol=1e-6).fit(H, y, sample_weight=C)
    assert_allclose(
        H @ (alpha * y) + best_intercept(H @ (alpha * y), y, C), svc.decision_function(H), atol=1e-4
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_best_intercept_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    y = np.where(np.arange(n) < 1 + seed % (n - 1), 1.0, -1.0)
    f = rng.integers(-2, 3, n) * 0.5
    C = np.ones(n) if seed % 2 else rng.integers(1, 4, n) * 0.5

    def losses(b):
        return float((C * np.maximum(0, 1 - y * (f + b))).sum())

    values = np.array([losses(b) for b in y - f])
    best = (y - f)[np.isclose(values, values.min())]
    b = best_intercept(f, y, C)
    assert_allclose(losses(b), values.min())
    assert_allclose(b, 0.5 * (best.min() + best.max()))


# -- boxes and balls -----------------------------------------------------------------------------


def boxed(kind, rng):
    X, y = rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    far, distances = (X + 100) @ (X + 100).T, ((X[:, None] - X) ** 2).sum(2)
    H = {
        "good": X @ X.T + np.eye(40),
        "singular": X @ X.T,
        "shifted": far,
        "shifted squared": (far + 1) ** 2,
        "zero": np.zeros((40, 40)),
        "constant": np.ones((40, 40)),
        "narrow": np.exp(-50 * distances),
        "wide": np.exp(-1e-6 * distances),
    }[kind]
    return H * np.outer(y, y)


KINDS = ["good", "singular", "shifted", "shifted squared", "zero", "constant", "narrow", "wide"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_svm_is_solved_whatever_the_matrix(kind):
    rng = np.random.default_rng(1)
    y = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    H = boxed(kind, rng)
    for C in (np.ones(40), np.linspace(0.1, 2, 40)):
        primal, dual = value_of(H, y, C, solve_dual(H, y, C, 1e-6))
        assert_allclose(primal, dual, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-6, 1e3, "mixed"])
def test_a_box_is_solved_whatever_the_matrix(kind, C):
    rng = np.random.default_rng(5)
    H = boxed(kind, rng)
    C = rng.exponential(size=40) ** 3 + 1e-6 if C == "mixed" else np.full(40, C)
    alpha = minimise_in_box(H, C, np.zeros(40), 1e-7 * C.sum())
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    margins = H @ alpha
    gap = alpha @ (margins - 1) + C @ np.maximum(0, 1 - margins)
    # rounding: 1e8 in the matrix, a thousand times 40 of them
    assert gap <= C.sum() * (1e-4 if kind == "shifted squared" and C[0] > 100 else 1e-6)


def test_numbers_that_nobody_scaled_are_solved_to_the_gap():
    C = 100.0
    X, y = load_breast_cancer(return_X_y=True)
    machine = MultiTaskKernelSVC("linear", C=C).fit(
        X[:150], y[:150], tasks=(X[:150, 4] > 0.1).astype(str)
    )
    assert machine.dual_gap_ <= machine.tol
    weights = ParetoMKLClassifier(["linear", "rbf"], p=np.inf, C=C).fit(X[:100], y[:100])
    assert weights.gap_ <= weights.tol


@pytest.mark.parametrize("p", [0.5, 2.0])
def test_what_cannot_converge_ends_soon(p):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match="scale the features"):
        model = ParetoMKLClassifier(p=p).fit(1e9 * X[:100], y[:100])
    assert model.n_iter_ < 100
    assert np.isfinite(model.decision_function(1e9 * X)).all()


def test_what_does_not_converge_says_so():
    data = given()
    for kind in (ParetoMKLClassifier, KernelMKLClassifier):
        with pytest.warns(UserWarning, match="stopped at a relative gap of .* raise max_iter or"):
            fit(kind, data, max_iter=2)
