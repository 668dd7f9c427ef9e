"""The novelty detector against a quadratic program and scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import OneClassSVM

from seqmtl import MultiTaskModel, MultiTaskOneClassSVM
from seqmtl.commands.main import main
from seqmtl.sequences import Windows
from tests.estimators.examples import FEATURES, KERNEL, NAMES
from tests.oracles import svm


def _numbers(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 3, n)
    centers = 3.0 + rng.random((3, d))
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
    result = minimize(
        lambda a: (0.5 * a @ H @ a - a.sum(), H @ a - 1.0),
        np.zeros(150),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, C)] * 150,
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10**5, "maxfun": 10**6},
    )
    assert detector.model_.training["dual"] == pytest.approx(-result.fun, rel=1e-8)
    assert_allclose(detector.score_samples(X, tasks), H @ result.x, atol=2e-3)
    assert_array_equal(detector.intercept_, np.zeros(3))
    assert ((detector.dual_coef_ >= 0) & (detector.dual_coef_ <= C)).all()


def test_one_task_is_scikit_learns_detector_up_to_scale():
    X, _ = _numbers()
    nu = 0.2
    reference = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    # its alphas sum to nu n and its margin is rho; ours is 1
    detector = MultiTaskOneClassSVM(C=1.0 / reference.offset_[0], tol=1e-10).fit(X)
    assert_allclose(
        detector.score_samples(X), reference.score_samples(X) / reference.offset_[0], rtol=1e-4
    )


@pytest.mark.parametrize("contamination", [0.05, 0.5])
def test_the_threshold_is_a_quantile_of_each_task(contamination):
    X, tasks = _numbers(n=600)
    detector = MultiTaskOneClassSVM(C=0.001, contamination=contamination).fit(X, tasks=tasks)
    scores, predictions = detector.score_samples(X, tasks), detector.predict(X, tasks)
    for t, name in enumerate(detector.tasks_):
        of_task = tasks == name
        assert np.mean(predictions[of_task] == -1) == pytest.approx(contamination, abs=0.01)
        offset = np.quantile(scores[of_task], contamination)
        assert detector.offset_[t] == pytest.approx(offset, rel=1e-12)
        assert_allclose(
            detector.decision_function(X[of_task], name), scores[of_task] - offset, atol=1e-12
        )
    assert_array_equal(predictions, np.where(detector.decision_function(X, tasks) >= 0, 1, -1))
    assert_array_equal(detector.fit_predict(X, tasks=tasks), predictions)


def test_thresholds_of_relatives_are_mixed():
    X, tasks = _numbers()
    detector = MultiTaskOneClassSVM(task_kernel=KERNEL).fit(X, tasks=tasks)
    order = [KERNEL.names.index(name) for name in detector.tasks_]
    K = KERNEL.matrix
    mix = np.linalg.solve(K[np.ix_(order, order)], K[order, KERNEL.names.index("yeast")])
    offset = np.abs(mix) @ detector.offset_ / np.abs(mix).sum()
    scores = detector.score_samples(X, "yeast")
    assert_allclose(detector.decision_function(X, "yeast"), scores - offset, atol=1e-9)


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
    assert main(["info", "--json", str(path)]) == 0
    assert '"offset"' in capsys.readouterr().out
