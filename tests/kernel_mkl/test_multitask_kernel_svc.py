"""The support vector machine with a product kernel: Sheldon's cases, kernels, cross-validation."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from seqmtl import MultiTaskKernelSVC, TaskArray, TaskKernel, TaskScorer, Windows
from seqmtl.kernel_mkl.coupled import connected_tasks
from seqmtl.kernel_mkl.svm import violation
from seqmtl.kernels import Precomputed
from tests.oracles import kernel_space as oracle

GAMMA, C, TIGHT = 0.5, 2.0, 1e-7
PATH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
PINV = np.linalg.pinv(np.diag(PATH.sum(axis=1)) - PATH, hermitian=True)


@pytest.fixture(scope="module")
def data():
    return oracle.data(3, n=16)


@pytest.fixture(scope="module")
def new():
    rng = np.random.default_rng(9)
    return rng.standard_normal((20, 2)), rng.choice(list("abc"), 20)


rbf = partial(oracle.rbf, gamma=GAMMA)


def fit(data, K, **options):
    model = MultiTaskKernelSVC(**({"gamma": GAMMA, "C": C, "tol": TIGHT} | options), task_kernel=K)
    return model.fit(data.X, data.y, data.names)


def svc(**options):
    return SVC(**({"gamma": GAMMA, "C": C, "tol": 1e-9} | options))


def ids(names):
    return np.array(["abc".index(name) for name in names])


# -- Sheldon (2008) ---------------------------------------------------------------------------


def test_cost_and_sharing_are_chosen_by_cross_validation(data):
    """Sheldon 2008, section 3: C and the a of eq. 5 are chosen by cross-validation."""
    kernels = [TaskKernel.graphical(PATH, ("a", "b", "c"), a) for a in (0.01, 1.0, 100.0)]
    strata = [f"{name} {label}" for name, label in zip(data.names, data.y, strict=True)]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, strata))
    grid = {"C": [0.1, 1.0], "task_kernel": kernels}
    search = GridSearchCV(MultiTaskKernelSVC(gamma=GAMMA), grid, scoring=TaskScorer(), cv=folds)
    search.fit(TaskArray(data.X, data.names), data.y)
    scores = search.cv_results_["mean_test_score"]
    for settings, score in zip(search.cv_results_["params"], scores, strict=True):
        expected = []
        for train, test in folds:
            model = MultiTaskKernelSVC(gamma=GAMMA, **settings)
            model.fit(data.X[train], data.y[train], data.names[train])
            expected.append(TaskScorer()(model, data.X[test], data.y[test], data.names[test]))
        assert score == pytest.approx(np.mean(expected), abs=1e-12)
    assert search.best_score_ == max(scores)
    assert search.best_estimator_.task_kernel_.source == search.best_params_["task_kernel"].source


UNION, PARTLY = np.ones((3, 3)), np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.0], [0.4, 0.0, 1.0]])
ONE, RANK_ONE = [[0, 1, 2]], np.outer([1.0, -2.0, 0.5], [1.0, -2.0, 0.5])


@pytest.mark.parametrize(
    ("K", "matrix", "groups"),
    [
        ("individual", np.eye(3), [[0], [1], [2]]),
        ("union", UNION, ONE),
        (None, 0.25 * UNION + 0.75 * np.eye(3), ONE),  # the default shares a quarter
        (PINV, PINV, ONE),
        (PINV + 3.0, PINV + 3.0, ONE),
        (RANK_ONE, RANK_ONE, ONE),
        (PARTLY, PARTLY, [[0, 2], [1]]),
    ],
)
def test_every_connected_group_of_tasks_is_libsvm_on_the_product(data, new, K, matrix, groups):
    """Sheldon 2008, eq. 2, INDIV, POOL: LIBSVM on K[s,t] k(x, z), K singular or not."""
    model = fit(data, K)
    s, t = ids(data.names), ids(new[1])
    for group in groups:
        trained, scored = np.isin(s, group), np.isin(t, group)
        X, s_in, t_in = data.X[trained], s[trained], t[scored]
        product = svc(kernel="precomputed")
        product.fit(matrix[np.ix_(s_in, s_in)] * rbf(X, X), data.y[trained])
        expected = product.decision_function(matrix[np.ix_(t_in, s_in)] * rbf(new[0][scored], X))
        scores = model.decision_function(new[0][scored], new[1][scored])
        assert_allclose(scores, expected, atol=1e-5)
        assert len(set(model.intercept_[group])) == 1
    assert [group.tolist() for group in connected_tasks(matrix)] == groups
    assert len(connected_tasks(np.array([[1.0, -0.5, 0], [-0.5, 1, 0.1], [0, 0.1, 1]]))) == 1


@pytest.mark.parametrize(
    ("kernel", "gamma"), [("linear", "scale"), ("poly", 0.7), ("rbf", "scale")]
)
def test_named_kernels_have_the_parameters_of_scikit_learn(data, new, kernel, gamma):
    options = {"kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 0.5}
    model = fit(data, "union", **options)
    scores = svc(**options).fit(data.X, data.y).decision_function(new[0])
    assert_allclose(model.decision_function(*new), scores, atol=1e-4)


# -- matrices, weights ---------------------------------------------------------------------------


def test_a_matrix_is_a_kernel(data, new):
    every = np.concatenate([data.X, new[0]])
    rows, others = np.split(np.arange(len(every))[:, None], [len(data.X)])
    model = MultiTaskKernelSVC(Precomputed(rbf(every, every)), C=C, tol=TIGHT)
    model.fit(rows, data.y, data.names)
    expected = fit(data, None).decision_function(*new)
    assert_allclose(model.decision_function(others, new[1]), expected, atol=1e-9)


def test_weights_of_examples_are_repetitions(data, new):
    times = np.random.default_rng(1).integers(0, 4, data.y.size)
    model = MultiTaskKernelSVC(gamma=GAMMA, tol=TIGHT)
    weighted = clone(model).fit(data.X, data.y, data.names, sample_weight=times)
    repeated = clone(model)
    repeated.fit(*(np.repeat(part, times, axis=0) for part in (data.X, data.y, data.names)))
    scores = [model.decision_function(*new) for model in (weighted, repeated)]
    assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("weight", ["balanced", {1.0: 4.0, -1.0: 0.5}])
def test_class_weights_are_those_of_scikit_learn(data, new, weight):
    rows = np.r_[np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)[::2]]
    X, y = data.X[rows], data.y[rows]
    model = MultiTaskKernelSVC(
        gamma=GAMMA, C=C, tol=TIGHT, class_weight=weight, task_kernel="union"
    )
    model.fit(X, y, data.names[rows])
    expected = svc(class_weight=weight).fit(X, y).decision_function(new[0])
    assert_allclose(model.decision_function(*new), expected, atol=1e-5)


# -- texts ---------------------------------------------------------------------------------------


def test_texts_and_windows_give_the_same():
    rng = np.random.default_rng(0)
    texts, y = ["".join(row) for row in rng.choice(list("ACGT"), (40, 12))], rng.integers(0, 2, 40)
    texts = [text[:5] + "GAT" + text[8:] if i else text for text, i in zip(texts, y, strict=True)]
    tasks = np.tile(["fly", "worm"], 20)
    model = MultiTaskKernelSVC("wd:4:1", C=C)
    scores = clone(model).fit(texts, y, tasks).decision_function(texts, "worm")
    windows = Windows.from_strings(texts, labels=np.where(y, 1, -1), tasks=tasks)
    refitted = clone(model).fit(windows)
    assert_allclose(refitted.decision_function(windows, "worm"), scores)
    assert_allclose(refitted.decision_function(windows)[1::2], scores[1::2])


# -- searches --------------------------------------------------------------------------------------


def test_a_pickle_has_no_kernel_matrix(data):
    given = MultiTaskKernelSVC().fit(data.X, data.y, data.names)
    held = sum(part.nbytes for part in vars(given.model_).values() if isinstance(part, np.ndarray))
    assert len(pickle.dumps(given)) < held + 5000


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_the_violation_is_what_libsvm_stops_at(data, tol):
    y = np.where(data.y > 0, 1.0, -1.0)
    costs = np.full(y.size, 50.0)
    machine = SVC(gamma=GAMMA, C=50.0, tol=tol).fit(data.X, y)
    alpha = np.zeros(y.size)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    f = machine.decision_function(data.X) - machine.intercept_[0]
    value = violation(f, y, costs, alpha)
    assert 0 < value <= 1.01 * tol
    pairs = [
        (y[i] - f[i]) - (y[j] - f[j])
        for i in range(y.size)
        for j in range(y.size)
        if (alpha[i] < 50 if y[i] > 0 else alpha[i] > 0)
        and (alpha[j] > 0 if y[j] > 0 else alpha[j] < 50)
    ]
    assert value == pytest.approx(max(pairs))
