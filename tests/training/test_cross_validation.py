"""Held-out log-likelihoods, against models trained by themselves on the same folds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl import core
from seqmtl.core import gram
from seqmtl.core.losses import LOSSES
from seqmtl.features.joint import JointFeatures
from seqmtl.features.numeric import Numeric
from seqmtl.relations import TaskKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training import cross_validation
from seqmtl.training.cross_validation import CrossValidation, draw_folds, view_grams
from seqmtl.training.settings import Settings
from seqmtl.training.solver import problem_of
from seqmtl.training.task_kernels import kernel_for_solver
from tests.oracles.losses import LOSSES as FORMULAS
from tests.oracles.svm import multitask_kernel, solve_dual

K = np.array([[1.0, 0.4], [0.4, 1.5]])


def _examples(n=48, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    y, ids = np.where(rng.random(n) < 0.4, 1.0, -1.0), np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + 0.8 * y[:, None] * [1, 0, -1]
    return Examples(X, y, ids, ("ape", "fly"), np.ones(n) if weight is None else weight)


def _likelihood(scores, y):
    """Log-likelihood of labels through the sigmoid of Platt, by a general optimiser."""
    n = (y > 0).sum()
    target = np.where(y > 0, (n + 1) / (n + 2), 1 / (len(y) - n + 2))

    def value(ab):
        z = ab[0] * scores + ab[1]
        return (np.logaddexp(0, z) - target * z).sum()

    a, b = minimize(value, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return -np.logaddexp(0, -y * (a * scores + b))


def _scores(train, test, C, loss):
    """Train on the dense kernel matrix, and score other examples."""
    alpha, _ = solve_dual(train.data, train.y, train.ids, K, C * train.weight, loss)
    both = np.vstack([test.data, train.data])
    ids = np.concatenate([test.ids, train.ids])
    H = multitask_kernel(both, ids, K, 1.0)[: len(test.y), len(test.y) :]
    return H @ (alpha * train.y)


@pytest.mark.parametrize(("loss", "C"), [*zip(LOSSES, (0.3, 3.0, 0.3), strict=True)])
def test_cross_validation_is_training_without_each_fold(monkeypatch, loss, C):
    monkeypatch.setattr(cross_validation, "FOLD_TOL", 1e-9)
    examples = _examples(30)
    validation = CrossValidation(examples, Numeric(), Settings(loss=loss, seed=5))
    order = np.argsort((examples.data**2).sum(axis=1))  # the distinct examples, by length
    examples = examples.take(order)
    assert_array_equal(validation.y, examples.y)
    found = validation.fit(K, C).log_likelihoods
    rng, expected = np.random.default_rng(5), np.zeros(len(order))
    for _ in range(4):
        folds = draw_folds(examples.y, examples.ids, np.arange(len(order)), rng)
        scores = np.zeros(len(order))
        for fold in range(5):
            train, test = (examples.take(np.flatnonzero(r)) for r in (folds != fold, folds == fold))
            scores[folds == fold] = _scores(train, test, C, loss)
        for t in range(2):
            own = examples.ids == t
            expected[own] += _likelihood(scores[own], examples.y[own]) / 4
    assert_allclose(found, expected, atol=1e-2)  # single precision


def test_targets_are_those_of_kernel_ridge_regression_without_each_fold(monkeypatch):
    """Squared loss: (H + I / (2 C)) alpha = z; residuals as normally distributed."""
    monkeypatch.setattr(cross_validation, "FOLD_TOL", 1e-9)
    examples, C, n = _examples(30), 0.3, 30
    examples = replace(examples, y=5.0 + examples.data[:, 0] + 0.3 * np.sin(np.arange(n)))
    settings = Settings(kind="regression", loss="squared_epsilon_insensitive", seed=5)
    validation = CrossValidation(examples, Numeric(), settings)
    X, z, ids = (part[validation.rows] for part in (examples.data, examples.y, examples.ids))
    H, rng, expected = multitask_kernel(X, ids, K, 1.0), np.random.default_rng(5), np.zeros(n)
    for _ in range(4):
        folds, residuals = draw_folds(np.ones(n), ids, np.arange(n), rng), np.zeros(n)
        for fold in range(5):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            block = H[np.ix_(train, train)] + np.eye(train.size) / (2 * C)
            scores = H[np.ix_(test, train)] @ np.linalg.solve(block, z[train])
            residuals[test] = scores - z[test]
        expected += norm(scale=np.sqrt((residuals**2).mean())).logpdf(residuals) / 4
    assert_allclose(validation.fit(K, C).log_likelihoods, expected, atol=1e-3)


def test_copies_count_as_weights():
    examples = _examples(30)
    copies = np.random.default_rng(0).integers(1, 4, 30)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(30), copies))
    repeated = examples.take(rows)
    weighted = _examples(30, weight=copies.astype(float))
    found = [
        CrossValidation(its, Numeric(), Settings()).fit(K, 1.0).log_likelihoods
        for its in (repeated, weighted)
    ]
    assert found[0].size == 30
    assert_allclose(found[0], found[1], rtol=1e-4)
    alike = CrossValidation(repeated, Numeric(), Settings())
    assert alike.weight.sum() == copies.sum()


def test_accuracies_are_those_of_scikit_learn_for_each_task():
    examples = _examples(30, weight=np.random.default_rng(0).integers(1, 4, 30).astype(float))
    folds = CrossValidation(examples, Numeric(), Settings())
    scores = np.round(np.random.default_rng(1).normal(size=folds.y.size), 1)  # some are equal
    for task, (auroc, auprc) in enumerate(folds.accuracies(scores)):
        rows = folds.ids == task
        of_task = folds.y[rows], scores[rows]
        weight = folds.weight[rows]
        assert_allclose(auroc, roc_auc_score(*of_task, sample_weight=weight))
        assert_allclose(auprc, average_precision_score(*of_task, sample_weight=weight))
    one_class = replace(examples, y=np.where(examples.ids == 0, 1.0, examples.y))
    assert CrossValidation(one_class, Numeric(), Settings()).accuracies(scores)[0] is None


def test_examples_whose_kernel_values_have_one_sum_are_no_copies():
    """In the rows of a unit matrix, all sums and norms are 1."""
    rows = np.r_[np.arange(30), 3, 8]
    examples = replace(_examples(30), data=np.eye(30)).take(rows)
    folds = CrossValidation(examples, Numeric(), Settings())
    assert sorted(folds.rows) == [*range(30)]
    assert sorted(folds.weight) == [1.0] * 28 + [2.0] * 2


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=4))
def test_folds_hold_each_class_of_each_task_in_its_share(counts):
    y = np.concatenate([[1.0] * p + [-1.0] * n for p, n in counts] + [[]])
    ids = np.repeat(np.arange(len(counts)), [p + n for p, n in counts])
    folds = draw_folds(y, ids, np.arange(y.size), np.random.default_rng(0))
    for t, pair in enumerate(counts):
        for sign, n in zip((1, -1), pair, strict=True):
            own = folds[(ids == t) & (y == sign)]
            if n < 2:
                assert_array_equal(own, [-1] * n)
            else:
                sizes = np.bincount(own, minlength=5)
                assert sizes.max() - sizes.min() <= 1


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([-1.0, 1.0]), st.integers(0, 9))))
def test_copies_share_a_fold_and_leave_others_of_their_class(rows):
    ids, y, alike = (np.array([row[i] for row in rows], dtype=float) for i in range(3))
    ids, alike = ids.astype(int), alike.astype(int)
    folds = draw_folds(y, ids, alike, np.random.default_rng(0))
    for i in np.flatnonzero(folds >= 0):
        own = (ids == ids[i]) & (y == y[i])
        assert (folds[own] != folds[i]).any()
        assert set(folds[alike == alike[i]]) <= {folds[i], -1}


def test_an_example_alone_of_its_class_is_never_held_out():
    examples = _examples(40)
    own = np.flatnonzero((examples.ids == 1) & (examples.y > 0))
    examples = examples.take(np.setdiff1d(np.arange(40), own[1:]))
    validation = CrossValidation(examples, Numeric(), Settings())
    found = validation.fit(K, 1.0).log_likelihoods
    assert_array_equal(found == 0.0, (validation.ids == 1) & (validation.y > 0))


@settings(max_examples=50)
@given(st.lists(st.integers(4, 200), min_size=1, max_size=5), st.integers(20, 400))
def test_a_sample_takes_small_tasks_whole_and_large_ones_alike(sizes, n):
    ids = np.repeat(np.arange(len(sizes)), sizes)
    y = np.where(np.arange(ids.size) % 2, 1.0, -1.0)
    names = tuple("abcde"[: len(sizes)])
    examples = Examples(np.zeros((ids.size, 1)), y, ids, names)
    rows = examples.sample(n, np.random.default_rng(0))
    assert (np.diff(rows) > 0).all()
    taken = np.bincount(ids[rows], minlength=len(sizes))
    level = next(m for m in range(201) if np.minimum(sizes, m).sum() >= min(n, sum(sizes)))
    assert (np.abs(taken - np.minimum(sizes, level)) <= 4).all()
    assert all(set(y[rows][ids[rows] == t]) == {-1.0, 1.0} for t in range(len(sizes)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_views", [1, 2])
def test_learnt_weights_are_those_of_the_solver(monkeypatch, loss, n_views):
    monkeypatch.setattr(cross_validation, "FOLD_TOL", 1e-7)
    examples, features = _examples(80), Numeric()
    if n_views == 2:
        features = JointFeatures([Numeric(), Numeric()])
    kernel = TaskKernel(examples.names, [np.eye(2), np.ones((2, 2)), K])
    settings = Settings(C=0.7, loss=loss, norm=1.5, tol=1e-7, dtype="float64")
    start, kernels = kernel_for_solver(kernel, 2, n_views, settings.norm)
    problem = problem_of(features.bind(examples.data), examples, start, settings)
    expected = core.solve(problem, kernels, **settings.limits)
    folds = CrossValidation(examples, features, settings, is_apart=True)
    of_views = kernels.combine(expected.theta).K
    found = folds.fit(of_views, 0.7)
    H = gram.hessian(folds._grams, folds.y, folds.ids, of_views).astype(float)
    terms = 0.7 * FORMULAS[loss].conjugate(found.alpha / 0.7, 0.0)
    dual = -terms.sum() - 0.5 * found.alpha @ H @ found.alpha
    assert dual == pytest.approx(expected.dual, rel=1e-3)


def test_maps_share_the_kernel_matrices_of_their_views():
    examples = _examples(30)
    several = [Numeric(), JointFeatures([Numeric(), Half()])]
    grams = view_grams(several, examples.data)
    assert [*grams] == ["Numeric()", "Half()"]
    assert_allclose(grams["Numeric()"], examples.data @ examples.data.T, rtol=1e-5, atol=1e-6)
    for features in several:
        found = CrossValidation(examples, features, Settings(), grams=grams).fit(K, 1.0)
        expected = CrossValidation(examples, features, Settings()).fit(K, 1.0)
        assert_array_equal(found.log_likelihoods, expected.log_likelihoods)


class Half(Numeric):
    """The first half of the columns."""

    def bind(self, data):
        return super().bind(data[:, : data.shape[1] // 2])
