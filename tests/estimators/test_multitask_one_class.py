"""The novelty detector against a quadratic program and scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import OneClassSVM

from seqmtl import MultiTaskModel, MultiTaskOneClassSVM
from seqmtl.commands.main import main
from seqmtl.sequences import Windows
from tests.estimators.examples import FEATURES, KERNEL, NAMES
from tests.oracles import svm


def _numbers(n=150, d=4):
    rng = np.random.default_rng(0)
    ids, centers = rng.integers(0, 3, n), 3.0 + rng.random((3, d))
    return centers[ids] + rng.standard_normal((n, d)), NAMES[ids]


def _strings(n=240, length=20, seed=0, motif=True):
    """Windows with a motif (the one class) or without (novelties); tasks are carried."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    tasks = rng.integers(0, 3, n)
    if motif:
        letters[:, 5:15] = np.where(rng.random((n, 10)) < 0.9, np.arange(10) % 4, letters[:, 5:15])
    return Windows(
        letters.ravel(), np.arange(n) * length, length, task_ids=tasks, task_names=tuple(NAMES)
    )


@pytest.mark.parametrize("C", [0.02, 5.0])
def test_scores_equal_a_quadratic_program(C):
    X, tasks = _numbers()
    detector = MultiTaskOneClassSVM(task_kernel="easy", C=C, tol=1e-10).fit(X, tasks=tasks)
    ids = np.array([detector.tasks_.index(name) for name in tasks])
    H = svm.multitask_kernel(X, ids, detector.task_kernel_.matrix, 0.0)
    objective = lambda a: (0.5 * a @ H @ a - a.sum(), H @ a - 1.0)  # noqa: E731
    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10**5, "maxfun": 10**6}
    how = {"jac": True, "method": "L-BFGS-B", "bounds": [(0.0, C)] * 150, "options": options}
    result = minimize(objective, np.zeros(150), **how)
    assert detector.model_.training["dual"] == pytest.approx(-result.fun, rel=1e-8)
    assert_allclose(detector.score_samples(X, tasks), H @ result.x, atol=2e-3)
    assert_array_equal(detector.intercept_, np.zeros(3))
    assert ((detector.dual_coef_ >= 0) & (detector.dual_coef_ <= C)).all()


def test_one_task_is_scikit_learns_detector_up_to_scale():
    X, _ = _numbers()
    reference = OneClassSVM(kernel="linear", nu=0.2, tol=1e-10).fit(X)
    # its alphas sum to nu n and its margin is rho; ours is 1
    rho = reference.offset_[0]
    detector = MultiTaskOneClassSVM(C=1.0 / rho, tol=1e-10).fit(X)
    assert_allclose(detector.score_samples(X), reference.score_samples(X) / rho, rtol=1e-4)


@pytest.mark.parametrize("contamination", [0.05, 0.5])
def test_the_threshold_is_a_quantile_of_each_task(contamination):
    X, tasks = _numbers(n=600)
    options = {"C": 0.001, "contamination": contamination, "task_kernel": KERNEL}
    detector = MultiTaskOneClassSVM(**options).fit(X, tasks=tasks)
    scores, predictions = detector.score_samples(X, tasks), detector.predict(X, tasks)
    values = detector.decision_function(X, tasks)
    for name, offset in zip(detector.tasks_, detector.offset_, strict=True):
        of_task = scores[tasks == name]
        assert offset == pytest.approx(np.quantile(of_task, contamination), rel=1e-12)
        assert_allclose(values[tasks == name], of_task - offset, atol=1e-12)
    assert_array_equal(predictions, np.where(values >= 0, 1, -1))
    assert_array_equal(detector.fit_predict(X, tasks=tasks), predictions)
    # that of a relative without data is mixed from theirs
    order, K = [KERNEL.names.index(name) for name in detector.tasks_], KERNEL.matrix
    mix = np.linalg.solve(K[np.ix_(order, order)], K[order, KERNEL.names.index("yeast")])
    offset = np.abs(mix) @ detector.offset_ / np.abs(mix).sum()
    expected = detector.score_samples(X, "yeast") - offset
    assert_allclose(detector.decision_function(X, "yeast"), expected, atol=1e-9)


def test_novel_strings_are_found():
    training, fresh, novel = _strings(), _strings(seed=1), _strings(seed=2, motif=False)
    detector = MultiTaskOneClassSVM(FEATURES, C=1.0).fit(training)
    assert detector.tasks_ == ("fly", "plant", "worm")
    scores = [detector.decision_function(windows) for windows in (fresh, novel)]
    assert roc_auc_score(np.repeat([1, 0], 240), np.concatenate(scores)) > 0.99
    assert (detector.predict(novel) == -1).mean() > 0.95
    assert (detector.predict(training) == -1).mean() == pytest.approx(0.1, abs=0.02)


def test_it_works_in_a_pipeline_and_the_file_keeps_the_thresholds(tmp_path, capsys):
    pipe = make_pipeline(MinMaxScaler(), MultiTaskOneClassSVM()).fit(_numbers()[0])
    assert (pipe.predict(_numbers()[0]) == -1).sum() == 15
    with pytest.raises(AttributeError, match="offset_ is available after fit"):
        _ = clone(pipe[-1]).offset_
    windows, path = _strings(), tmp_path / "model"
    detector = MultiTaskOneClassSVM(FEATURES).fit(windows)
    detector.model_.save(path)
    model = MultiTaskModel.load(path)
    assert model.kind == "novelty"
    assert_array_equal(model.offsets(detector.tasks_), detector.offset_)
    scores = model.decision_function(windows) - model.offsets(windows.tasks)
    assert_array_equal(scores, detector.decision_function(windows))
    assert main(["info", "--json", "-", str(path)]) == 0
    assert '"offset"' in capsys.readouterr().out
