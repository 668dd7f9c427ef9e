"""What all estimators on features do alike, inside and outside scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from seqmtl import (
    MultiTaskClassifierCV,
    MultiTaskMKLClassifier,
    MultiTaskSVC,
    MultiTaskSVR,
    TaskKernel,
)
from seqmtl import train as train_command
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES
from seqmtl.training.settings import Settings
from tests.estimators.examples import FEATURES, KERNEL, TIGHT, numbers, strings

SCORES = {
    MultiTaskSVC: "decision_function",
    MultiTaskSVR: "predict",
    MultiTaskMKLClassifier: "decision_function",
}
every = pytest.mark.parametrize("kind", SCORES, ids=lambda kind: kind.__name__)
of_a_kernel = pytest.mark.parametrize("kind", [kind for kind in SCORES if "MKL" not in str(kind)])


def scores(model, *arguments):
    return getattr(model, SCORES[type(model)])(*arguments)


def examples(kind, **options):
    """Return numbers, and what the kind learns of them."""
    X, z, tasks = numbers(**options)
    y = z if kind is MultiTaskSVR else (z > 0).astype(int)
    return X, y, tasks


@every
def test_windows_are_their_explicit_features_and_carry_tasks(kind):
    windows = strings(n=150)
    y = windows.labels * (0.5 if kind is MultiTaskSVR else 1)
    model = kind(FEATURES, **TIGHT).fit(windows, y)
    X = FEATURES.transform(windows)
    explicit = kind(**TIGHT).fit(X, y, tasks=windows.tasks)
    assert model.tasks_ == ("fly", "plant", "worm")
    assert model.n_features_in_ == windows.length
    assert_allclose(scores(model, windows), scores(explicit, X, windows.tasks), atol=2e-3)
    given = kind(FEATURES, **TIGHT).fit(windows, y, tasks=windows.tasks)
    assert_array_equal(scores(model, windows), scores(given, windows))
    as_worm = windows.with_tasks(["worm"] * len(windows))
    assert_array_equal(scores(model, windows, "worm"), scores(model, as_worm))
    with pytest.raises(ValueError, match="windows must have 20 bases as in training, got 18"):
        scores(model, strings(length=18))


@every
def test_attributes_and_sparse_matrices(kind):
    X, y, tasks = examples(kind)
    dense, sparse = (kind(**TIGHT).fit(make(X), y, tasks) for make in (np.asarray, csr_matrix))
    assert_allclose(scores(sparse, csr_matrix(X), tasks), scores(dense, X, tasks), atol=1e-4)
    assert (dense.coef_.shape, dense.intercept_.shape) == ((3, 5), (3,))
    assert dense.dual_coef_.shape == (150,)
    assert np.abs(dense.dual_coef_).max() <= dense.C
    assert dense.history_[-1]["gap"] == dense.dual_gap_ <= 1e-8
    assert dense.n_iter_ >= 1
    ids = [dense.tasks_.index(task) for task in tasks]
    f = np.einsum("ij,ij->i", X, dense.coef_[ids]) + dense.intercept_[ids]
    assert_allclose(scores(dense, X, tasks), f, atol=1e-9)
    with pytest.raises(AttributeError, match="coef_ is available after fit"):
        _ = clone(dense).coef_
    by_state = [kind(random_state=np.random.RandomState(5)).fit(X, y, tasks) for _ in "ab"]
    assert_array_equal(by_state[0].coef_, by_state[1].coef_)


@of_a_kernel
@pytest.mark.parametrize("is_text", [False, True])
def test_relatives_without_data_mix_the_virtual_weights(kind, is_text):
    X, y, tasks = examples(kind)
    data, features = X, None
    if is_text:
        data, features = strings(n=150), FEATURES
        X, tasks = features.transform(data).toarray().astype(float), data.tasks
        y = data.labels * 0.7 if kind is MultiTaskSVR else data.labels
    model = kind(features, KERNEL, **TIGHT).fit(data, y, tasks=tasks)
    sign = np.where(y > 0, 1, -1) if kind is MultiTaskSVC else 1
    to_yeast = dict(zip(KERNEL.names, KERNEL.matrix[KERNEL.names.index("yeast")], strict=True))
    amounts = model.dual_coef_ * sign * [to_yeast[task] for task in tasks]
    assert_allclose(scores(model, data, "yeast"), (X @ X.T + 1.0) @ amounts, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        *((MultiTaskSVC, loss) for loss in LOSSES),
        *((MultiTaskSVR, loss) for loss in REGRESSION_LOSSES),
        (MultiTaskMKLClassifier, "hinge"),
    ],
)
def test_weights_are_copies_and_zero_leaves_out(kind, loss):
    X, y, tasks = examples(kind, n=90)
    weight = np.arange(90) % 3
    model = kind(C=0.3, loss=loss, **TIGHT)
    weighted = clone(model).fit(X, y, tasks, sample_weight=weight)
    copied = clone(model).fit(*(np.repeat(part, weight, axis=0) for part in (X, y, tasks)))
    assert_allclose(scores(weighted, X, tasks), scores(copied, X, tasks), atol=1e-3)
    assert weighted.dual_coef_.size == 60
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, tasks, sample_weight=np.ones(3))


@every
def test_tasks_are_named_and_one_for_each(kind):
    X, y, tasks = examples(kind)
    model = kind().fit(X, y, tasks=tasks)
    few = TaskKernel.union(["worm", "plant"])
    options = {"task_kernel": few}
    for call, message in (
        (lambda: kind().fit(X, y, tasks[:-1]), r"must have one entry per example \(150\)"),
        (lambda: scores(model, X[:10], tasks), r"must have one entry per example \(10\)"),
        (lambda: scores(model, X), r"tasks must be given: the model has 3 tasks \(fly"),
        (lambda: scores(model, X, "yeast"), "task 'yeast' is not in the model's task kernel"),
        (lambda: kind(**options).fit(X, y, tasks), "'fly' is not in the task kernel"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@every
def test_training_that_stops_early_says_what_to_change(kind):
    X, y, tasks = examples(kind, n=3000, d=20)
    message = r"stopped after [12]\.\d passes over .* duality gap of .*; raise max_epochs or tol"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = kind(max_epochs=1, tol=1e-13).fit(X, y, tasks=tasks)
    assert caught[0].filename == __file__ or kind is not MultiTaskSVR
    assert model.dual_gap_ > 1e-13
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(FEATURES).fit(strings(n=60), strings(n=60).labels)


ALL, NORM = list(SCORES), "norm must be a number from 1 to infinity, got "
DTYPE = "dtype must be one of float32, float64, got "


@pytest.mark.parametrize(
    ("kinds", "options", "message"),
    [
        (ALL, {"C": 0}, "C must be a finite number above 0, got 0"),
        (ALL, {"tol": np.nan}, "tol must be a finite number above 0"),
        (ALL, {"max_epochs": 0}, "max_epochs must be an integer of at least 1"),
        (ALL, {"dtype": np.float16}, DTYPE + "'float16'"),
        (ALL[:1], {"loss": "hinge2"}, "did you mean 'hinge'"),
        (ALL[:1], {"class_weight": "even"}, "class_weight must be None, 'balanced' or a mapping"),
        (ALL[:2], {"task_kernel": "tree"}, "task_kernel must be one of individual, union, easy"),
        (ALL[1:2], {"epsilon": -0.1}, r"epsilon must be a finite number of at least 0, got -0\.1"),
        (ALL[1:2], {"loss": "hinge"}, "loss must be one of epsilon_insensitive, squared_epsilon"),
        (ALL[2:], {"norm": 0.5}, r"norm must be a number from 1 .*got 0\.5; below 1 the"),
        (ALL[2:], {"norm": np.nan}, NORM + "nan"),
        (ALL[2:], {"norm": None}, "got None; for one fixed kernel use MultiTaskSVC"),
    ],
)
def test_parameters_out_of_range_are_refused(kinds, options, message):
    for kind in kinds:
        X, y, _ = examples(kind, n=30)
        with pytest.raises(ValueError, match=message):
            kind(**options).fit(X, y)


def test_labels_and_numbers_that_do_not_fit_are_refused():
    windows, (X, y, _) = strings(n=60), examples(MultiTaskSVC)
    svc, svr = MultiTaskSVC(FEATURES), MultiTaskSVR(FEATURES)
    for model, data, targets, message in (
        (svc, windows, windows.labels[:-1], r"y must have one label per window \(60\), got"),
        (MultiTaskSVC(), np.where(X > 2, np.nan, X), y, "NaN"),
        (svc, X, y, "PositionalKmers needs Windows of DNA"),
        (MultiTaskSVC(), X, np.zeros(len(y)), "only one class"),
        (MultiTaskSVC(), X, np.arange(len(y)) % 3, "Only binary classification is supporte"),
        (svr, windows, None, "sequences and windows carry no targets"),
        (svr, windows, np.where(windows.labels > 0, np.nan, 0.0), "Input y contains NaN"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(data, targets)


# -- searches and pipelines -------------------------------------------------------------------


def test_searches_cut_windows_and_reach_into_the_features():
    windows, folds = strings(n=120), KFold(2)
    grid = {"C": [0.1, 1.0], "features__views": ["wd:1", "wd:3"]}
    mkl = MultiTaskMKLClassifier(FEATURES)
    found = GridSearchCV(mkl, grid, cv=folds).fit(windows, windows.labels).cv_results_
    for parameters, score in zip(found["params"], found["mean_test_score"], strict=True):
        parts = []
        for a, b in folds.split(np.zeros(len(windows))):
            model = clone(mkl).set_params(**parameters).fit(windows[a])
            parts.append(model.score(windows[b], windows[b].labels))
        assert score == pytest.approx(np.mean(parts), abs=1e-12)
    assert FEATURES.views == "wd:3"
    svr = MultiTaskSVR(FEATURES)
    result = cross_val_predict(svr, windows, windows.labels, cv=folds)
    for a, b in folds.split(np.zeros(len(windows))):
        expected = clone(svr).fit(windows[a], windows[a].labels).predict(windows[b])
        assert_array_equal(result[b], expected)


def test_every_loss_is_named_where_users_choose_one():
    classifiers = (MultiTaskSVC, MultiTaskMKLClassifier, MultiTaskClassifierCV)
    choosers = [(each, LOSSES) for each in (*classifiers, train_command)]
    choosers += [(MultiTaskSVR, REGRESSION_LOSSES), (Settings, [*LOSSES, *REGRESSION_LOSSES])]
    for chooser, losses in choosers:
        text = chooser.__doc__.replace("'", '"')
        assert [loss for loss in losses if f'"{loss}"' not in text] == []
