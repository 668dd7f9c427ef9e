"""Equations of Sheldon (2008) and Li et al. (2014) in numbers."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from seqmtl import MultiTaskKernelSVC, TaskKernel
from seqmtl.core.norms import minimise_on_ball, norm_of
from seqmtl.kernel_mkl.rules import Shared, trade_off
from tests.oracles import kernel_space as oracle

EDGES = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
L = np.diag(EDGES.sum(axis=1)) - EDGES
GAMMA = 0.5


# -- Sheldon (2008) --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return oracle.data(3, n=16)


def test_a_function_of_a_task_is_an_expansion(data):
    """Sheldon 2008, eq. 1, 3: f_t(x) is sum_i alpha_i y_i K[t,t_i] k(x, x_i), and an intercept."""
    K = TaskKernel.graphical(EDGES, "abc", 0.5)
    model = MultiTaskKernelSVC("rbf", gamma=GAMMA, task_kernel=K, C=2.0)
    model.fit(data.X, data.y, data.names)
    ids = np.array(["abc".index(name) for name in data.names])
    new = np.random.default_rng(0).standard_normal((5, 2))
    for t, name in enumerate("abc"):
        beta = model.dual_coef_ * data.y * K.matrix[t, ids]
        expected = oracle.rbf(new, data.X, GAMMA) @ beta + model.intercept_[t]
        assert_allclose(model.decision_function(new, name), expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["graphical", "pseudo-inverse", "union"])
def test_the_norm_is_that_of_any_generalised_inverse(data, kind):
    """Sheldon 2008, Proposition 1, eq. 4: ||f||^2 is sum K^-[s,t] <f_s, f_t>, for L+ over edges."""
    K = {
        "graphical": np.linalg.inv(L + 0.5 * np.eye(3)),
        "union": np.ones((3, 3)),
        "pseudo-inverse": np.linalg.pinv(L, hermitian=True),
    }[kind]
    ids = np.array(["abc".index(name) for name in data.names])
    k = oracle.rbf(data.X, data.X, GAMMA)
    dual_coef = np.random.default_rng(1).standard_normal(ids.size)
    expected = dual_coef @ (K[np.ix_(ids, ids)] * k) @ dual_coef
    coefficients = np.array([dual_coef * K[t, ids] for t in range(3)])
    products = coefficients @ k @ coefficients.T  # <f_s, f_t>
    inverse = np.linalg.pinv(K, hermitian=True)
    assert_allclose(K @ inverse @ K, K, atol=1e-10)
    assert (inverse * products).sum() == pytest.approx(expected)
    if kind == "pseudo-inverse":
        distances = np.add.outer(np.diagonal(products), np.diagonal(products)) - 2 * products
        assert 0.5 * (EDGES * distances).sum() == pytest.approx(expected)


# -- Li, Georgiopoulos, Anagnostopoulos (2014) -----------------------------------------------------


@pytest.mark.parametrize("p", [1.5, 2.0, 4.0])
def test_weights_of_tasks_are_the_maximum_on_the_dual_ball(p):
    """Li 2014, eq. 6, 7, 8, Lemma 1: the maximum of <lambda, g> on the dual ball, by CVXPY."""
    g = np.array([0.5, 2.0, 1.3])
    weights = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Maximize(weights @ g), [cp.pnorm(weights, p / (p - 1)) <= 1])
    problem.solve(solver=cp.CLARABEL)
    assert problem.value == pytest.approx(norm_of(g, p), rel=1e-6)
    assert_allclose(trade_off(g, p), weights.value, atol=1e-3)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_weights_of_tasks_below_one_are_a_minimum(p):
    """Li 2014, eq. 18 to 23, Lemmas 2, 3, 4: the least sum g_t / lambda_t, ||lambda||_r <= 1."""
    g, r = np.array([0.5, 2.0, 1.3]), p / (1 - p)
    best = minimise_on_ball(g, r)
    assert_allclose(1 / best, trade_off(g, p), rtol=1e-12)
    assert (g / best).sum() == pytest.approx(norm_of(g, p))

    def value(logits):  # on the boundary, where lambda is any point of a simplex to the power 1/r
        share = np.exp(logits - logits.max())
        return (g / (share / share.sum()) ** (1 / r)).sum()

    result = minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    assert result.fun == pytest.approx(norm_of(g, p), rel=1e-6)


@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize("norm", [1.0, 1.1, 2.0])
def test_weights_of_kernels_minimise_the_weighted_sum(p, norm):
    """Li 2014, eq. 24, 25: theta at fixed functions and lambda, by CVXPY."""
    rng = np.random.default_rng(5)
    old, g, q = np.full(4, 0.4), rng.uniform(1, 3, 3), rng.exponential(size=(3, 4))
    functions = old**2 * q  # ||w_tm||^2
    theta = cp.Variable(4, nonneg=True)
    parts = trade_off(g, p) @ functions
    total = sum(a * cp.inv_pos(theta[m]) for m, a in enumerate(parts))
    problem = cp.Problem(cp.Minimize(total), [cp.pnorm(theta, norm) <= 1])
    problem.solve(solver=cp.CLARABEL)
    ((step,), _) = Shared(norm, p).step(old[None], g, q)
    assert (parts / step).sum() == pytest.approx(problem.value, rel=1e-5)
    assert_allclose(step, theta.value, atol=1e-3)
