"""Trade-offs between tasks: what makes them Pareto-optimal, their path, its picture, classes."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from seqmtl import ParetoMKLClassifier, pareto_path
from seqmtl.evaluation.pareto import draw_path
from seqmtl.kernel_mkl.one_vs_one import split_pairs, vote
from seqmtl.kernels import RBF, Linear
from tests.oracles import kernel_space as oracle
from tests.oracles.tseng import norm

KERNELS = [Linear(), *map(RBF, oracle.GAMMAS)]
P = (0.05, 0.5, 1.0, 1.5, 4.0, np.inf)
TIGHT = {"tol": 1e-6, "max_iter": 5000}
NORM = 1.1


@pytest.fixture(scope="module")
def data():
    return oracle.data(0)


@pytest.fixture(scope="module")
def path(data):
    return pareto_path(
        data.X, data.y, data.names, p=P[::-1], kernels=KERNELS, norm=NORM, C=data.C, **TIGHT
    )


def fit(data, **options):
    model = ParetoMKLClassifier(KERNELS, norm=NORM, C=data.C, **(TIGHT | options))
    return model.fit(data.X, data.y, data.names)


def test_the_path_is_in_order_and_whole(path):
    assert_array_equal(path.p, P)
    assert path.tasks == ("a", "b", "c")
    assert path.theta.shape == path.objectives.shape == path.weights.shape == (len(P), 3)
    for p, model, g, weights, theta in zip(
        path.p, path.estimators, path.objectives, path.weights, path.theta, strict=True
    ):
        assert model.p == p
        assert_array_equal(model.objectives_, g)
        assert_array_equal(model.weights_, weights)
        assert_array_equal(model.theta_, theta)
        assert_allclose(np.linalg.norm(theta, NORM), 1, atol=1e-6)


def test_every_solution_is_the_best_of_all_by_its_own_measure(path):
    """Li 2014, eq. 4, 5, Proposition 1: by the norm of each solution no other one is better."""
    for p, g in zip(path.p, path.objectives, strict=True):
        values = [norm(other, p) for other in path.objectives]
        assert norm(g, p) <= min(values) * (1 + 2e-6)


def test_the_hardest_task_gains_as_p_grows(data, path):
    """Li 2014, 5.2: the largest objective falls as p grows, to the minimax optimum of CVXPY."""
    worst = path.objectives.max(axis=1)
    assert (np.diff(worst) <= 2e-6 * worst[1:]).all()
    assert worst[0] > worst[-1] * 1.0001
    assert_allclose(worst[-1], oracle.pareto(data, np.inf, NORM)[0], rtol=1e-5)


def test_descent_never_rises(data, path):
    """Li 2014, Algorithm 2: no iteration raises the objective."""
    for model in (fit(data, p=0.5), *path.estimators):
        values = np.array([step["objective"] for step in model.history_])
        assert len(values) == model.n_iter_
        assert (np.diff(values) <= 1e-8 * values[0]).all()
        assert values[-1] == model.objective_
        assert_allclose(norm(model.objectives_, model.p), model.objective_)
        gaps = [step["gap"] for step in model.history_]
        assert model.p < 1 or gaps[-1] == min(gaps) == model.gap_


def test_a_warm_start_ends_where_a_cold_one_does(data, path):
    warm, cold = path.estimators[3], fit(data, p=P[3])
    assert_allclose(warm.objective_, cold.objective_, rtol=3e-6)
    scores = [model.decision_function(data.X, data.names) for model in (warm, cold)]
    assert_allclose(*scores, atol=2e-2)


def test_scores_of_a_model_of_the_path_are_an_expansion(data, path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5, 2))
    model = path.estimators[0]
    K = oracle.kernels(X, data.X[data.names == "b"])
    labels = data.y[data.names == "b"]
    sizes = [int((data.names == name).sum()) for name in "abc"]
    alpha = np.split(model.dual_coef_, np.cumsum(sizes)[:-1])[1]
    expected = np.tensordot(model.theta_, K, 1) @ (alpha * labels) + model.intercept_[1]
    assert_allclose(model.decision_function(X, "b"), expected, atol=1e-10)


def test_a_path_needs_trade_offs(data):
    with pytest.raises(ValueError, match="p must hold at least one number above 0, got none"):
        pareto_path(data.X, data.y, data.names, p=[])
    with pytest.raises(ValueError, match=r"p must be a number above 0, got -1\.0"):
        pareto_path(data.X, data.y, data.names, p=[1, -1])


# -- classes -------------------------------------------------------------------------------------


def three_classes(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.standard_normal((n, 2)) + 1.2 * np.column_stack([np.cos(2 * y), np.sin(2 * y)]), y


def test_one_against_one_is_that_of_scikit_learn():
    k = 5
    X, y = three_classes(k=k)
    y = np.array(list("edcba"))[y]
    model = ParetoMKLClassifier([RBF(0.5)], p=1, C=2.0, tol=1e-6).fit(X, y)
    svc = SVC(gamma=0.5, C=2.0, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    new = np.random.default_rng(1).standard_normal((50, 2)) * 2
    columns = [model.decision_function(new, name) for name in model.tasks_]
    # libsvm's sign is that of the first class of a pair
    assert_allclose(np.column_stack(columns), -svc.decision_function(new), atol=1e-5)
    together = SVC(gamma=0.5, C=2.0, tol=1e-8, break_ties=True).fit(X, y)
    assert_allclose(model.decision_function(new), together.decision_function(new), atol=1e-5)
    assert_array_equal(model.predict(new), together.predict(new))
    assert model.tasks_[0] == f"{model.classes_[0]} vs {model.classes_[1]}"
    assert len(model.tasks_) == k * (k - 1) // 2
    with pytest.raises(ValueError, match=f"tasks must be None to choose between {k} classes"):
        model.predict(new, model.tasks_[0])


def test_pairs_by_hand():
    names, rows, signs, ids = split_pairs(np.array([2, 5, 9, 5]), np.array([2, 5, 9]))
    assert names == ("2 vs 5", "2 vs 9", "5 vs 9")
    assert_array_equal(rows, [0, 1, 3, 0, 2, 1, 2, 3])
    assert_array_equal(signs, [-1, 1, 1, -1, 1, -1, 1, -1])
    assert_array_equal(ids, [0, 0, 0, 1, 1, 2, 2, 2])
    votes = vote(np.array([[1.0, 2.0, -3.0], [0.0, 0.0, 0.0]]), 3)
    assert_allclose(votes[0], [0 - 1 / 4, 2 + 4 / 15, 1 - 1 / 6])
    assert_array_equal(votes[1], [2, 1, 0])


# -- the picture -----------------------------------------------------------------------------------


def test_the_picture_is_a_file_in_which_nothing_overlaps(path, tmp_path):
    path.plot(tmp_path / "front.png")
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    T, M, rng = 45, 40, np.random.default_rng(0)
    g = 10 + np.cumsum(rng.random((9, T)), axis=0)
    tasks, kernels = [f"task number {t} of many" for t in range(T)], [f"RBF({m})" for m in range(M)]
    figure = draw_path(np.r_[np.logspace(-2, 2, 8), np.inf], g, tasks, rng.random((9, M)), kernels)
    figure.canvas.draw()
    along, front, weights = figure.axes[:3]
    assert [len(axes.get_lines()) for axes in (along, weights)] == [T + 1, M + 1]
    boxes = [axes.get_tightbbox(for_layout_only=True) for axes in (along, front, weights)]
    assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(boxes))


def test_a_path_does_not_depend_on_how_numpy_reports_underflow():
    """A notebook that raises all errors of NumPy, and examples far apart under a narrow kernel."""
    X = np.random.default_rng(0).normal(size=(40, 3)) * 10
    arguments = {"tasks": list("ab") * 20, "p": [0.5, 2.0], "kernels": ["rbf:10"]}
    expected = pareto_path(X, [0, 1, 1, 0] * 10, **arguments)
    with np.errstate(all="raise"):
        path = pareto_path(X, [0, 1, 1, 0] * 10, **arguments)
    assert_array_equal(path.objectives, expected.objectives)
