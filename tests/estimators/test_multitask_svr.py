"""The regressor against LinearSVR, a general optimiser, and inside scikit-learn."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from seqmtl import MultiTaskModel, MultiTaskSVR, TaskKernel, WeightedDegree
from seqmtl.cli.main import main
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from tests.oracles import svr as oracle

NAMES = np.array(["worm", "fly", "plant"])
TREE = "((worm:0.2,fly:0.3):0.4,(plant:0.5,yeast:0.6):0.1);"
TIGHT = {"tol": 1e-8, "max_epochs": 5000}


def _numbers(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    ids = rng.integers(0, 3, n)
    w = rng.standard_normal((d, 1)) + 0.5 * rng.standard_normal((d, 3))
    return X, (X @ w)[np.arange(n), ids] + 0.3 * rng.standard_normal(n) + 0.5, NAMES[ids]


def _strings(n=240, length=20, seed=0):
    """Windows whose target counts the letters of a motif; tasks are carried."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    tasks = rng.integers(0, 3, n)
    z = (letters[:, 8:12] == [0, 2, 1, 1]).sum(axis=1) - 1.0 + 0.2 * tasks
    windows = Windows(
        letters.ravel(), np.arange(n) * length, length, task_ids=tasks, task_names=tuple(NAMES)
    )
    return windows, z


def _svr(**options):
    return MultiTaskSVR(features=WeightedDegree(degree=3), **options)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_one_task_equals_linear_svr(loss):
    X, y, _ = _numbers(n=300)
    svr = MultiTaskSVR(loss=loss, epsilon=0.2, C=0.3, **TIGHT).fit(X, y)
    reference = LinearSVR(
        loss=loss, epsilon=0.2, C=0.3, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(X, y)
    assert_allclose(svr.coef_[0], reference.coef_, atol=2e-4)
    assert_allclose(svr.intercept_, reference.intercept_, atol=2e-4)
    assert_allclose(svr.predict(X), reference.predict(X), atol=1e-3)
    assert svr.score(X, y) == pytest.approx(reference.score(X, y), abs=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_many_tasks_equal_a_general_optimiser(loss):
    X, y, tasks = _numbers()
    svr = MultiTaskSVR(task_kernel="easy", C=0.4, loss=loss, **TIGHT).fit(X, y, tasks=tasks)
    ids = np.array([svr.tasks_.index(name) for name in tasks])
    K = svr.task_kernel_.matrix
    _, dual = oracle.solve_dual(X, y, ids, K, 0.4, loss, 0.1)
    value = oracle.primal(X, y, ids, K, 0.4, loss, 0.1, svr.coef_.T, svr.intercept_, 1.0)
    assert value == pytest.approx(dual, rel=1e-6)
    assert 0 <= svr.dual_gap_ <= 1e-8


def test_windows_equal_their_explicit_features():
    windows, y = _strings()
    svr = _svr(dtype="float64", tol=1e-7).fit(windows, y)
    X = WeightedDegree(degree=3).transform(windows)
    explicit = MultiTaskSVR(tol=1e-7).fit(X, y, tasks=windows.tasks)
    assert svr.tasks_ == ("fly", "plant", "worm")
    assert svr.n_features_in_ == windows.length
    assert_allclose(svr.predict(windows), explicit.predict(X, windows.tasks), atol=2e-3)
    assert svr.score(windows, y) > 0.8


def test_windows_predict_what_was_not_seen():
    windows, y = _strings(n=1200)
    svr = MultiTaskSVR(features=WeightedDegree(degree=2)).fit(windows[:900], y[:900])
    found = svr.predict(windows[900:])
    assert r2_score(y[900:], found) > 0.7
    assert svr.score(windows[900:], y[900:]) == pytest.approx(r2_score(y[900:], found))


def test_sharing_helps_a_task_with_few_examples():
    X, y, tasks = _numbers(n=600, d=20)
    train = (np.arange(600) < 300) & ((tasks != "fly") | (np.arange(600) % 6 == 0))
    test = (np.arange(600) >= 300) & (tasks == "fly")
    score = {
        kernel: MultiTaskSVR(task_kernel=kernel)
        .fit(X[train], y[train], tasks=tasks[train])
        .score(X[test], y[test], tasks="fly")
        for kernel in ("easy", "individual")
    }
    assert score["easy"] > score["individual"]


def test_from_relatives_mixes_the_virtual_weights():
    X, y, tasks = _numbers()
    kernel = TaskKernel.from_newick(TREE)
    svr = MultiTaskSVR(task_kernel=kernel, from_relatives=True, **TIGHT).fit(X, y, tasks=tasks)
    similarity = kernel.matrix[kernel.names.index("yeast")]
    expected = np.zeros(len(X))
    for name in NAMES:
        beta = svr.dual_coef_[tasks == name]
        expected += similarity[kernel.names.index(name)] * (
            X @ (beta @ X[tasks == name]) + beta.sum()
        )
    assert_allclose(svr.predict(X, tasks="yeast"), expected, atol=1e-9)
    strict = clone(svr).set_params(from_relatives=False).fit(X, y, tasks=tasks)
    with pytest.raises(UnknownTaskError, match="'yeast' was not trained on"):
        strict.predict(X, tasks="yeast")


def test_epsilon_is_the_error_that_costs_nothing():
    X, y, tasks = _numbers()
    svr = MultiTaskSVR(epsilon=0.5, C=10.0, **TIGHT).fit(X, y, tasks=tasks)
    error = np.abs(svr.predict(X, tasks) - y)
    assert (svr.dual_coef_[error < 0.5 - 1e-3] == 0).all()
    assert (np.abs(svr.dual_coef_[error > 0.5 + 1e-3]) == 10.0).all()
    assert svr.model_.training["n_support"] == (svr.dual_coef_ != 0).sum()


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_shapes(make):
    X, y, tasks = _numbers()
    svr = MultiTaskSVR().fit(make(X), y, tasks=tasks)
    assert svr.coef_.shape == (3, 5)
    assert svr.intercept_.shape == (3,)
    assert svr.dual_coef_.shape == (150,)
    assert np.abs(svr.dual_coef_).max() <= svr.C
    assert svr.history_[-1]["gap"] == svr.dual_gap_
    assert svr.predict(make(X), tasks).dtype == np.float64


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_weight_two_is_the_row_twice(loss):
    X, y, tasks = _numbers()
    weight = np.where(np.arange(150) % 4 == 0, 2.0, (np.arange(150) % 4 > 1).astype(float))
    twice = np.repeat(np.arange(150), weight.astype(int))
    weighted = MultiTaskSVR(loss=loss, C=0.3, **TIGHT).fit(X, y, tasks, sample_weight=weight)
    repeated = MultiTaskSVR(loss=loss, C=0.3, **TIGHT).fit(X[twice], y[twice], tasks[twice])
    assert_allclose(weighted.predict(X, tasks), repeated.predict(X, tasks), atol=1e-3)


def test_grid_search_with_routed_tasks_equals_a_loop():
    X, y, tasks = _numbers()
    with sklearn.config_context(enable_metadata_routing=True):
        svr = MultiTaskSVR().set_fit_request(tasks=True).set_score_request(tasks=True)
        search = GridSearchCV(svr, {"C": [0.01, 1.0]}, cv=KFold(3)).fit(X, y, tasks=tasks)
    for C, score in zip([0.01, 1.0], search.cv_results_["mean_test_score"], strict=True):
        found = [
            MultiTaskSVR(C=C).fit(X[a], y[a], tasks=tasks[a]).score(X[b], y[b], tasks=tasks[b])
            for a, b in KFold(3).split(X)
        ]
        assert score == pytest.approx(np.mean(found), abs=1e-12)


def test_cross_val_predict_on_windows_and_pipelines():
    windows, y = _strings()
    found = cross_val_predict(_svr(), windows, y, cv=KFold(3))
    expected = np.zeros(len(windows))
    for train, test in KFold(3).split(np.zeros(len(windows))):
        expected[test] = _svr().fit(windows[train], y[train]).predict(windows[test])
    assert_array_equal(found, expected)
    X, y, _ = _numbers()
    assert make_pipeline(StandardScaler(), MultiTaskSVR()).fit(X, y).score(X, y) > 0.5


def test_a_fitted_regressor_survives_pickling():
    windows, y = _strings()
    svr = _svr(task_kernel=TaskKernel.from_newick(TREE)).fit(windows, y)
    again = pickle.loads(pickle.dumps(svr))
    assert_array_equal(again.predict(windows), svr.predict(windows))
    with pytest.raises(AttributeError, match="coef_ is available after fit"):
        _ = clone(svr).coef_


class TestModelFile:
    @pytest.fixture
    def path(self, tmp_path):
        windows, y = _strings()
        _svr().fit(windows, y).model_.save(tmp_path / "model")
        return tmp_path / "model"

    def test_it_comes_back_and_knows_its_kind(self, path):
        windows, y = _strings()
        model = MultiTaskModel.load(path)
        assert model.kind == "regression"
        assert model.calibration.shape == (3, 0)
        assert model.training["settings"]["epsilon"] == 0.1
        assert model.training["tasks"]["fly"] == {"n": int((windows.tasks == "fly").sum())}
        assert_array_equal(
            model.decision_function(windows), _svr().fit(windows, y).predict(windows)
        )

    def test_it_has_no_probabilities(self, path):
        model = MultiTaskModel.load(path)
        with pytest.raises(ValueError, match="probabilities need a model of classific"):
            model.probability(np.zeros(1), ["fly"])
        with pytest.raises(ValueError, match="offsets need a model of novelty, got"):
            model.offsets(["fly"])

    def test_an_unknown_kind_or_none_is_refused(self, path, tmp_path):
        description, arrays = read_arrays(path)
        del description["kind"]
        write_arrays(tmp_path / "old", description, arrays)
        with pytest.raises(ModelFileError, match="kind is missing; the file is damaged"):
            MultiTaskModel.load(tmp_path / "old")
        description["kind"] = "ranking"
        write_arrays(tmp_path / "new", description, arrays)
        with pytest.raises(ModelFileError, match="kind must be one of classification, "):
            MultiTaskModel.load(tmp_path / "new")

    def test_the_commands_know_the_kind(self, path, capsys, tmp_path):
        assert main(["info", str(path)]) == 0
        shown = capsys.readouterr().out
        assert "kind=regression" in shown
        assert "positive" not in shown
        assert main(["info", "--json", str(path)]) == 0
        (tmp_path / "x.tsv").write_text("organism\tsequence\nfly\t" + "ACGTA" * 4 + "\n")
        capsys.readouterr()
        assert main(["predict", str(path), str(tmp_path / "x.tsv")]) == 0
        header, row = (line.split("\t") for line in capsys.readouterr().out.splitlines())
        assert header == ["name", "organism", "score"]
        windows = Windows.from_strings(["ACGTA" * 4], tasks=["fly"])
        expected = MultiTaskModel.load(path).decision_function(windows)[0]
        assert float(row[2]) == pytest.approx(expected, rel=1e-5)


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"epsilon": -0.1}, r"epsilon must be a finite number of at least 0, got -0\.1"),
            ({"epsilon": np.inf}, "epsilon must be a finite number of at least 0, got inf"),
            ({"loss": "hinge"}, "loss must be one of epsilon_insensitive, squared_epsilon_insens"),
            ({"loss": "epsilon_insensitiv"}, "did you mean 'epsilon_insensitive'"),
            ({"C": 0}, "C must be a finite number above 0, got 0"),
        ],
    )
    def test_bad_parameters_are_refused(self, options, message):
        X, y, _ = _numbers()
        with pytest.raises(ValueError, match=message):
            MultiTaskSVR(**options).fit(X, y)

    def test_an_unknown_kind_is_refused(self):
        with pytest.raises(ValueError, match=r"kind must be one of .*did you mean 'regression'"):
            Settings(kind="regresion").check()

    def test_windows_need_targets_of_their_number(self):
        windows, y = _strings()
        with pytest.raises(ValueError, match="windows carry labels, but no targets"):
            _svr().fit(windows, None)
        with pytest.raises(ValueError, match=r"y must have one label per window \(240\), got"):
            _svr().fit(windows, y[:-1])
        with pytest.raises(ValueError, match="Input y contains NaN"):
            _svr().fit(windows, np.where(y > 0, y, np.nan))

    def test_the_warning_says_what_to_change(self):
        X, y, _ = _numbers(n=3000)
        with pytest.warns(ConvergenceWarning, match="raise max_epochs or tol") as caught:
            MultiTaskSVR(max_epochs=1, tol=1e-12).fit(X, y)
        assert caught[0].filename == __file__
