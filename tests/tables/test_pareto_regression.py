"""Trade-offs between tasks in regression."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import ParetoMKLRegressor, load_model
from seqmtl.kernels import RBF, Linear
from tests.oracles import kernel_space as oracle

KERNELS = [Linear(), *map(RBF, oracle.GAMMAS)]
NORM, EPSILON, C = 1.5, 0.2, 2.0
P = (0.05, 0.5, 1.0, 2.0, np.inf)
TIGHT = {"tol": 1e-6, "max_iter": 5000, "norm": NORM, "C": C}


@pytest.fixture(scope="module")
def data():
    """Three tasks; the noise of the last is the largest."""
    given = oracle.data(0)
    number = np.unique(given.names, return_inverse=True)[1]
    noise = np.random.default_rng(1).standard_normal(number.size)
    given.y = np.sin(2 * given.X[:, 0]) + number * (0.5 * given.X[:, 1] + 10 + 0.5 * noise)
    return given


def fit(data, p):
    model = ParetoMKLRegressor(KERNELS, p=p, epsilon=EPSILON, **TIGHT)
    return model.fit(data.X, data.y, data.names)


@pytest.fixture(scope="module")
def path(data):
    return [fit(data, p) for p in P]


def optimum(data, p):
    """Return the optimum for p >= 1, in the functions, by CVXPY."""
    theta, constraints = oracle.ball(3, NORM)
    objectives = []
    for H, y in data.tasks:
        F = [oracle.factor(h) for h in H]
        w = [cp.Variable(part.shape[1]) for part in F]
        f = sum(part @ v for part, v in zip(F, w, strict=True))
        losses = cp.pos(cp.abs(f + cp.Variable() - y) - EPSILON)
        norms = sum(cp.quad_over_lin(v, theta[m]) for m, v in enumerate(w))
        objectives.append(0.5 * norms + C * cp.sum(losses))
    return cp.Problem(cp.Minimize(cp.pnorm(cp.hstack(objectives), p)), constraints).solve()


def size(g, p):
    return g.max() if np.isinf(p) else (g**p).sum() ** (1 / p)


def test_the_optimum_is_that_of_cvxpy(data, path):
    """Li 2014, problem 1 with other losses: the sum, a trade-off, and the worst task."""
    for p, model in zip(P[2:], path[2:], strict=True):
        assert model.gap_ <= 1e-6
        assert_allclose(model.objective_, optimum(data, p), rtol=1e-5)
        assert_allclose(model.objective_, size(model.objectives_, p))


def test_no_trade_off_dominates_another(path):
    """Li 2014, eq. 4, 5, Proposition 1: each is the best by its own measure, none is for all."""
    worst = np.array([model.objectives_.max() for model in path])
    assert (np.diff(worst) <= 2e-6 * worst[1:]).all()
    assert worst[0] > worst[-1] * 1.0001
    for p, own in zip(P, path, strict=True):
        others = [model.objectives_ for model in path]
        assert own.objective_ <= min(size(g, p) for g in others) * (1 + 2e-6)
        for g in others:
            assert not (g < own.objectives_ * (1 - 2e-6)).all()
        assert_allclose(np.linalg.norm(own.theta_, NORM), 1, atol=1e-6)


def test_descent_never_rises(path):
    """Li 2014, Algorithm 2: no iteration raises the objective."""
    for model in path[:3]:
        values = np.array([step["objective"] for step in model.history_])
        assert len(values) > 2
        assert (np.diff(values) <= 1e-8 * values[0]).all()


def test_objectives_are_those_of_the_scores(data, path):
    """Li 2014, problem 1: every g_t from its definition, and the saved model scores alike."""
    for model in path:
        f = model.predict(data.X, data.names)
        for t, (H, y) in enumerate(data.tasks):
            own = data.names == model.tasks_[t]
            amounts = model.dual_coef_[own]
            losses = np.maximum(0, np.abs(f[own] - y) - EPSILON)
            g = 0.5 * amounts @ np.tensordot(model.theta_, H, 1) @ amounts + C * losses.sum()
            assert_allclose(model.objectives_[t], g, rtol=1e-8)


def test_saved_models_score_alike(data, path, tmp_path):
    path[0].model_.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(
        loaded.decision_function(data.X, data.names), path[0].predict(data.X, data.names)
    )


def test_targets_within_epsilon_are_refused(data):
    with pytest.raises(ValueError, match=r"y of task 'b' .* more than 2 epsilon = 4, got 1"):
        ParetoMKLRegressor(epsilon=2).fit(np.eye(4), [0, 9, 0, 1], list("aabb"))
