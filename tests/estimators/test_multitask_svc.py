"""The classifier inside scikit-learn: pipelines, searches, metadata, calibration, warm starts."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from seqmtl import MultiTaskSVC, Spectrum, TaskKernel, WeightedDegree
from seqmtl.evaluation import calibration_error
from seqmtl.exceptions import UnknownTaskError
from seqmtl.sequences import Windows
from tests.oracles import svm

NAMES = np.array(["worm", "fly", "plant"])
TREE = "((worm:0.2,fly:0.3):0.4,(plant:0.5,yeast:0.6):0.1);"
TIGHT = {"tol": 1e-7, "dtype": "float64"}


def _strings(n=240, length=20, seed=0, signal=0.8):
    """Windows with a motif that differs a little by task; labels and tasks are carried."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    tasks = rng.integers(0, 3, n)
    for i in np.flatnonzero(labels > 0):
        motif = [0, 2, 1, tasks[i]]
        letters[i, 8:12] = np.where(rng.random(4) < signal, motif, letters[i, 8:12])
    return Windows(
        letters.ravel(), np.arange(n) * length, length,
        labels=labels, task_ids=tasks, task_names=tuple(NAMES),
    )  # fmt: skip


def _numbers(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    ids = rng.integers(0, 3, n)
    w = rng.standard_normal((d, 1)) + 0.5 * rng.standard_normal((d, 3))
    y = np.where((X @ w)[np.arange(n), ids] + 0.5 * rng.standard_normal(n) > 0, 1, 0)
    return X, y, NAMES[ids]


def _svc(**options):
    return MultiTaskSVC(features=WeightedDegree(degree=3), **options)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class TestWindows:
    def test_fit_reads_labels_and_tasks_from_the_windows(self):
        windows = _strings()
        svc = _svc().fit(windows, windows.labels)
        assert svc.tasks_ == ("fly", "plant", "worm")
        assert svc.n_features_in_ == windows.length
        given = _svc().fit(windows, windows.labels, tasks=windows.tasks)
        assert_array_equal(svc.decision_function(windows), given.decision_function(windows))
        assert_array_equal(svc.coef_, _svc().fit(windows).coef_)
        assert svc.score(windows, windows.labels) > 0.85

    def test_scores_are_those_of_explicit_features(self):
        windows = _strings()
        svc = _svc(task_kernel="easy").fit(windows, windows.labels)
        X = WeightedDegree(degree=3).transform(windows)
        ids = np.array([svc.tasks_.index(name) for name in windows.tasks])
        expected = np.einsum("ij,ij->i", X.toarray(), svc.coef_[ids]) + svc.intercept_[ids]
        assert_allclose(svc.decision_function(windows), expected, atol=1e-5)

    def test_one_task_for_all(self):
        windows = _strings()
        svc = _svc().fit(windows, windows.labels)
        as_worm = windows.with_tasks(["worm"] * len(windows))
        assert_array_equal(
            svc.decision_function(windows, tasks="worm"), svc.decision_function(as_worm)
        )

    def test_pipeline(self):
        windows = _strings()
        pipe = make_pipeline(_svc()).fit(windows, windows.labels)
        alone = _svc().fit(windows, windows.labels)
        assert_array_equal(pipe.decision_function(windows), alone.decision_function(windows))

    def test_features_as_a_step_of_a_pipeline(self):
        windows = _strings()
        pipe = make_pipeline(WeightedDegree(degree=3), MultiTaskSVC(**TIGHT))
        pipe.fit(windows, windows.labels)
        union = _svc(task_kernel="union", **TIGHT).fit(windows, windows.labels)
        assert_allclose(
            pipe.decision_function(windows), union.decision_function(windows), atol=1e-3
        )

    def test_cross_val_predict_equals_a_loop_that_slices(self):
        windows = _strings()
        folds = StratifiedKFold(3)
        scores = cross_val_predict(
            _svc(), windows, windows.labels, cv=folds, method="decision_function"
        )
        expected = np.zeros(len(windows))
        for train, test in folds.split(np.zeros(len(windows)), windows.labels):
            svc = _svc().fit(windows[train], windows[train].labels)
            expected[test] = svc.decision_function(windows[test])
        assert_array_equal(scores, expected)

    def test_grid_search_equals_a_loop_and_reaches_into_the_features(self):
        windows = _strings()
        grid = {"C": [0.1, 1.0], "features__degree": [1, 3]}
        folds = KFold(3)
        search = GridSearchCV(_svc(), grid, cv=folds, scoring="roc_auc")
        search.fit(windows, windows.labels)
        for parameters, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        ):
            found = []
            for train, test in folds.split(np.zeros(len(windows))):
                svc = MultiTaskSVC(
                    features=WeightedDegree(degree=parameters["features__degree"]),
                    C=parameters["C"],
                ).fit(windows[train])
                found.append(
                    roc_auc_score(windows[test].labels, svc.decision_function(windows[test]))
                )
            assert score == pytest.approx(np.mean(found), abs=1e-12)
        assert search.predict(windows).shape == (len(windows),)

    def test_feature_maps_as_grid_values(self):
        windows = _strings()
        search = GridSearchCV(
            MultiTaskSVC(), {"features": [Spectrum(k=2), WeightedDegree(degree=2)]}, cv=2
        ).fit(windows, windows.labels)
        assert isinstance(search.best_estimator_.features, WeightedDegree)

    def test_calibrated_classifier_equals_a_loop_that_slices(self):
        windows = _strings()
        folds = StratifiedKFold(2)
        calibrated = CalibratedClassifierCV(_svc(), cv=folds, ensemble=True)
        probability = calibrated.fit(windows, windows.labels).predict_proba(windows)
        parts = []
        for (train, _), part in zip(
            folds.split(np.zeros(len(windows)), windows.labels),
            calibrated.calibrated_classifiers_,
            strict=True,
        ):
            scores = _svc().fit(windows[train]).decision_function(windows)
            parts.append(part.calibrators[0].predict(scores))
        assert_allclose(probability[:, 1], np.mean(parts, axis=0), atol=1e-12)

    def test_windows_of_another_length_are_refused(self):
        svc = _svc().fit(_strings())
        with pytest.raises(ValueError, match=r"windows must have 20 bases as in training, got 18"):
            svc.decision_function(_strings(length=18))

    def test_labels_of_another_length_are_refused(self):
        windows = _strings()
        with pytest.raises(ValueError, match="y must have one label per window"):
            _svc().fit(windows, windows.labels[:-1])

    def test_numbers_cannot_have_string_features(self):
        X, y, _ = _numbers()
        with pytest.raises(TypeError, match="WeightedDegree needs Windows of DNA"):
            _svc().fit(X, y)


class TestTasks:
    def test_numeric_tasks_need_tasks_to_predict(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC().fit(X, y, tasks=tasks)
        with pytest.raises(ValueError, match=r"tasks must be given: the model has 3 tasks \(fly"):
            svc.predict(X)

    def test_tasks_of_another_length_are_refused(self):
        X, y, tasks = _numbers()
        with pytest.raises(ValueError, match=r"tasks must have one entry per example \(150\)"):
            MultiTaskSVC().fit(X, y, tasks=tasks[:-1])
        svc = MultiTaskSVC().fit(X, y, tasks=tasks)
        with pytest.raises(ValueError, match=r"tasks must have one entry per example \(10\)"):
            svc.predict(X[:10], tasks=tasks)

    def test_an_unknown_task_is_refused_by_name(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC().fit(X, y, tasks=tasks)
        with pytest.raises(UnknownTaskError, match=r"task 'yeast' was not trained on"):
            svc.predict(X, tasks="yeast")

    def test_a_relative_without_data_is_refused_with_a_hint(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(task_kernel=TaskKernel.from_newick(TREE)).fit(X, y, tasks=tasks)
        with pytest.raises(UnknownTaskError, match=r"'yeast' was not trained .*its relatives"):
            svc.predict(X, tasks="yeast")

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_from_relatives_mixes_the_virtual_weights(self, fit_intercept):
        X, y, tasks = _numbers()
        kernel = TaskKernel.from_newick(TREE)
        svc = MultiTaskSVC(
            task_kernel=kernel, from_relatives=True, fit_intercept=fit_intercept, tol=1e-8
        ).fit(X, y, tasks=tasks)
        signed = svc.dual_coef_ * np.where(y == 1, 1.0, -1.0)
        similarity = kernel.matrix[kernel.names.index("yeast")]
        expected = np.zeros(len(X))
        for name in NAMES:
            v = signed[tasks == name] @ X[tasks == name]
            b = signed[tasks == name].sum() * fit_intercept
            expected += similarity[kernel.names.index(name)] * (X @ v + b)
        assert_allclose(svc.decision_function(X, tasks="yeast"), expected, atol=1e-9)
        assert_allclose(svc.predict_proba(X, tasks="yeast").sum(axis=1), 1.0)

    def test_from_relatives_on_strings(self):
        windows = _strings()
        kernel = TaskKernel.from_newick(TREE)
        svc = _svc(task_kernel=kernel, from_relatives=True, **TIGHT).fit(windows)
        X = WeightedDegree(degree=3).transform(windows).toarray().astype(float)
        H = kernel.restrict(["yeast", *NAMES]).matrix[0, 1:][windows.task_ids] * (X @ X.T + 1)
        expected = H @ (svc.dual_coef_ * windows.labels)
        assert_allclose(svc.decision_function(windows, tasks="yeast"), expected, atol=1e-5)

    def test_names_only_permute_the_rows(self):
        X, y, tasks = _numbers()
        new_name = {"worm": "a", "fly": "c", "plant": "b"}
        K = TaskKernel.from_newick(TREE)
        renamed = TaskKernel([new_name.get(n, n) for n in K.names], K.matrix)
        first = MultiTaskSVC(task_kernel=K, tol=1e-9).fit(X, y, tasks=tasks)
        second = MultiTaskSVC(task_kernel=renamed, tol=1e-9).fit(
            X, y, tasks=[new_name[n] for n in tasks]
        )
        rows = [second.tasks_.index(new_name[n]) for n in first.tasks_]
        assert_allclose(second.coef_[rows], first.coef_, atol=1e-3)
        assert_allclose(second.intercept_[rows], first.intercept_, atol=1e-3)

    def test_an_array_is_in_the_order_of_the_sorted_names(self):
        X, y, tasks = _numbers()
        named = TaskKernel.from_newick(TREE).restrict(sorted(NAMES))
        by_array = MultiTaskSVC(task_kernel=named.matrix).fit(X, y, tasks=tasks)
        by_name = MultiTaskSVC(task_kernel=TaskKernel.from_newick(TREE)).fit(X, y, tasks=tasks)
        assert_array_equal(by_array.coef_, by_name.coef_)

    def test_a_task_with_one_class_is_refused_by_name(self):
        X, y, tasks = _numbers()
        y = np.where(tasks == "fly", 1, y)
        with pytest.raises(ValueError, match=r"task 'fly' has \d+ positive and 0 negative"):
            MultiTaskSVC().fit(X, y, tasks=tasks)

    def test_a_task_kernel_without_one_of_the_tasks_is_refused(self):
        X, y, tasks = _numbers()
        with pytest.raises(UnknownTaskError, match="'fly' is not in the task kernel"):
            MultiTaskSVC(task_kernel=TaskKernel.union(["worm", "plant"])).fit(X, y, tasks=tasks)

    def test_objective_equals_a_general_optimiser(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(task_kernel="easy", C=0.7, tol=1e-9).fit(X, y, tasks=tasks)
        ids = np.array([svc.tasks_.index(name) for name in tasks])
        signs, K = np.where(y == 1, 1.0, -1.0), svc.task_kernel_.matrix
        _, dual = svm.solve_dual(X, signs, ids, K, 0.7)
        value = svm.primal(X, signs, ids, K, 0.7, "hinge", svc.coef_.T, svc.intercept_, 1.0)
        assert value == pytest.approx(dual, rel=1e-6)
        assert 0 <= svc.dual_gap_ <= 1e-9


class TestRouting:
    def test_grid_search_with_routed_tasks_equals_a_loop(self, routing):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC().set_fit_request(tasks=True).set_score_request(tasks=True)
        search = GridSearchCV(svc, {"C": [0.01, 1.0]}, cv=KFold(3)).fit(X, y, tasks=tasks)
        for C, score in zip([0.01, 1.0], search.cv_results_["mean_test_score"], strict=True):
            found = []
            for train, test in KFold(3).split(X):
                part = MultiTaskSVC(C=C).fit(X[train], y[train], tasks=tasks[train])
                found.append(part.score(X[test], y[test], tasks=tasks[test]))
            assert score == pytest.approx(np.mean(found), abs=1e-12)

    def test_pipeline_routes_tasks_to_the_last_step(self, routing):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC().set_fit_request(tasks=True).set_predict_request(tasks=True)
        pipe = make_pipeline(StandardScaler(), svc).fit(X, y, tasks=tasks)
        Z = StandardScaler().fit_transform(X)
        alone = MultiTaskSVC().fit(Z, y, tasks=tasks)
        assert_array_equal(pipe.predict(X, tasks=tasks), alone.predict(Z, tasks=tasks))

    def test_without_routing_a_wrong_score_is_refused(self):
        X, y, tasks = _numbers()
        search = GridSearchCV(MultiTaskSVC(), {"C": [1.0]}, cv=2, error_score="raise")
        with pytest.raises(ValueError, match="tasks must be given"):
            search.fit(X, y, tasks=tasks)


class TestConventions:
    def test_numeric_pipeline_with_one_task(self):
        X, y, _ = _numbers()
        pipe = make_pipeline(StandardScaler(), MultiTaskSVC()).fit(X, y)
        assert pipe.score(X, y) > 0.7

    @pytest.mark.parametrize("make", [np.asarray, csr_matrix])
    def test_shapes(self, make):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC().fit(make(X), y, tasks=tasks)
        assert svc.coef_.shape == (3, 5)
        assert svc.intercept_.shape == (3,)
        assert svc.dual_coef_.shape == (150,)
        assert (svc.dual_coef_ >= 0).all()
        assert svc.dual_coef_.max() <= svc.C
        assert svc.history_[-1]["gap"] == svc.dual_gap_
        assert svc.n_iter_ >= 1

    def test_without_intercept(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(fit_intercept=False).fit(X, y, tasks=tasks)
        assert_array_equal(svc.intercept_, np.zeros(3))
        assert_array_equal(svc.decision_function(np.zeros((1, 5)), tasks="fly"), [0.0])

    def test_clone_keeps_parameters_and_drops_the_fit(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(
            features=WeightedDegree(degree=4), task_kernel=TaskKernel.union(NAMES), C=3.0
        )
        copy = clone(svc)
        assert copy.features.degree == 4
        assert copy.features is not svc.features
        assert copy.task_kernel == svc.task_kernel
        fitted = MultiTaskSVC(C=3.0).fit(X, y, tasks=tasks)
        with pytest.raises(NotFittedError):
            clone(fitted).predict(X)
        with pytest.raises(AttributeError, match="coef_ is available after fit"):
            _ = clone(fitted).coef_

    def test_fit_leaves_the_parameters_alone(self):
        windows = _strings()
        svc = MultiTaskSVC()
        before = dict(svc.get_params())
        svc.fit(windows)
        assert svc.get_params() == before

    def test_a_fitted_classifier_survives_pickling(self):
        windows = _strings()
        svc = _svc(task_kernel=TaskKernel.from_newick(TREE)).fit(windows)
        again = pickle.loads(pickle.dumps(svc))
        assert_array_equal(again.decision_function(windows), svc.decision_function(windows))
        assert again.task_kernel_ == svc.task_kernel_

    def test_same_seed_same_weights(self):
        windows = _strings()
        first, again = (_svc(random_state=3).fit(windows) for _ in range(2))
        assert_array_equal(first.coef_, again.coef_)
        by_state = _svc(random_state=np.random.RandomState(5)).fit(windows)
        assert_array_equal(
            by_state.coef_, _svc(random_state=np.random.RandomState(5)).fit(windows).coef_
        )

    def test_class_names_are_kept(self):
        X, y, _ = _numbers()
        names = np.array(["decoy", "site"])[y]
        svc = MultiTaskSVC().fit(X, names)
        assert_array_equal(svc.classes_, ["decoy", "site"])
        assert set(svc.predict(X)) == {"decoy", "site"}
        assert ((svc.decision_function(X) > 0) == (svc.predict(X) == "site")).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_nan_and_infinity_are_refused(self, bad):
        X, y, _ = _numbers()
        X[3, 2] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            MultiTaskSVC().fit(X, y)

    def test_one_class_and_three_classes_are_refused(self):
        X, y, _ = _numbers()
        with pytest.raises(ValueError, match="only one class"):
            MultiTaskSVC().fit(X, np.zeros(len(y)))
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            MultiTaskSVC().fit(X, np.arange(len(y)) % 3)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"C": 0}, "C must be a finite number above 0, got 0"),
            ({"tol": np.nan}, "tol must be a finite number above 0"),
            ({"loss": "hinge2"}, "did you mean 'hinge'"),
            ({"max_epochs": 0}, "max_epochs must be an integer of at least 1"),
            ({"dtype": "float16"}, "dtype must be 'float32' or 'float64', got 'float16'"),
            ({"dtype": np.float16}, "dtype must be 'float32' or 'float64', got 'float16'"),
            ({"dtype": 3.5}, "dtype must be 'float32' or 'float64', got 3.5"),
            ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a mapping"),
            ({"task_kernel": "tree"}, "task_kernel must be one of individual, union, easy"),
        ],
    )
    def test_bad_parameters_are_refused(self, options, message):
        X, y, _ = _numbers()
        with pytest.raises(ValueError, match=message):
            MultiTaskSVC(**options).fit(X, y)

    @pytest.mark.parametrize("name", ["float32", "float64"])
    @pytest.mark.parametrize("make", [np.dtype, lambda name: getattr(np, name)])
    def test_numpy_types_are_taken(self, name, make):
        X, y, tasks = _numbers()
        named, typed = (
            MultiTaskSVC(dtype=dtype).fit(X, y, tasks=tasks) for dtype in (name, make(name))
        )
        assert typed.coef_.dtype == np.dtype(name)
        assert_array_equal(typed.coef_, named.coef_)
        assert typed.model_.training["settings"]["dtype"] == name

    def test_the_warning_says_what_to_change(self):
        X, y, _ = _numbers(n=3000, d=20)
        message = r"stopped after 1 epochs at a relative duality gap of .*raise max_epochs or tol"
        with pytest.warns(ConvergenceWarning, match=message):
            svc = MultiTaskSVC(max_epochs=1, tol=1e-12).fit(X, y)
        assert svc.n_iter_ == 1
        assert svc.dual_gap_ > 1e-12


class TestWeights:
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
    def test_weight_two_is_the_row_twice(self, loss):
        X, y, tasks = _numbers()
        weight = np.where(np.arange(150) % 4 == 0, 2.0, 1.0)
        twice = np.repeat(np.arange(150), weight.astype(int))
        weighted = MultiTaskSVC(loss=loss, tol=1e-9).fit(X, y, tasks=tasks, sample_weight=weight)
        repeated = MultiTaskSVC(loss=loss, tol=1e-9).fit(X[twice], y[twice], tasks=tasks[twice])
        assert_allclose(
            weighted.decision_function(X, tasks), repeated.decision_function(X, tasks), atol=1e-3
        )

    def test_weight_zero_leaves_the_row_out(self):
        X, y, tasks = _numbers()
        weight = (np.arange(150) % 4 > 0).astype(float)
        weighted = MultiTaskSVC(tol=1e-9).fit(X, y, tasks=tasks, sample_weight=weight)
        kept = weight > 0
        without = MultiTaskSVC(tol=1e-9).fit(X[kept], y[kept], tasks=tasks[kept])
        assert_allclose(weighted.coef_, without.coef_, atol=1e-9)

    @pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}, {1: 4.0}])
    def test_class_weight_equals_liblinear(self, class_weight):
        X, y, _ = _numbers(n=300)
        keep = (y == 1) | (np.arange(300) % 3 == 0)
        X, y = X[keep], y[keep]
        svc = MultiTaskSVC(class_weight=class_weight, loss="squared_hinge", tol=1e-9).fit(X, y)
        reference = LinearSVC(
            class_weight=class_weight, loss="squared_hinge", tol=1e-9, max_iter=10**6
        ).fit(X, y)
        assert_allclose(svc.coef_, reference.coef_, atol=1e-3)
        assert_allclose(svc.intercept_, reference.intercept_, atol=1e-3)

    def test_sample_weights_of_another_length_are_refused(self):
        X, y, _ = _numbers()
        with pytest.raises(ValueError, match="sample_weight"):
            MultiTaskSVC().fit(X, y, sample_weight=np.ones(3))


class TestWarmStart:
    def test_a_path_of_costs_needs_less_work_warm(self):
        X, y, tasks = _numbers(n=4000, d=30)
        costs = [0.05, 0.1, 0.2]
        warm, work = MultiTaskSVC(warm_start=True, tol=1e-4), {"warm": 0.0, "cold": 0.0}
        for C in costs:
            warm.set_params(C=C).fit(X, y, tasks=tasks)
            work["warm"] += warm.model_.training["work"]
            cold = MultiTaskSVC(C=C, tol=1e-4).fit(X, y, tasks=tasks)
            work["cold"] += cold.model_.training["work"]
            assert warm.model_.training["primal"] == pytest.approx(
                cold.model_.training["primal"], rel=3e-4
            )
        assert work["warm"] < work["cold"]

    def test_an_unchanged_problem_is_solved_at_once(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(warm_start=True).fit(X, y, tasks=tasks)
        before = svc.coef_.copy()
        svc.fit(X, y, tasks=tasks)
        assert svc.n_iter_ == 0
        assert_allclose(svc.coef_, before, atol=1e-9)

    def test_rows_added_at_the_end(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(warm_start=True, tol=1e-8).fit(X[:100], y[:100], tasks=tasks[:100])
        svc.fit(X, y, tasks=tasks)
        cold = MultiTaskSVC(tol=1e-8).fit(X, y, tasks=tasks)
        assert_allclose(svc.coef_, cold.coef_, atol=1e-3)

    def test_fewer_rows_start_afresh(self):
        X, y, tasks = _numbers()
        svc = MultiTaskSVC(warm_start=True).fit(X, y, tasks=tasks)
        svc.fit(X[:100], y[:100], tasks=tasks[:100])
        cold = MultiTaskSVC().fit(X[:100], y[:100], tasks=tasks[:100])
        assert_array_equal(svc.coef_, cold.coef_)


class TestProbabilities:
    def test_rows_sum_to_one_and_rise_with_the_score(self):
        windows = _strings()
        svc = _svc().fit(windows)
        probability = svc.predict_proba(windows)
        assert probability.shape == (len(windows), 2)
        assert_allclose(probability.sum(axis=1), 1.0)
        assert (probability >= 0).all()
        scores = svc.decision_function(windows)
        for name in NAMES:
            of_task = windows.tasks == name
            rising = probability[of_task, 1][np.argsort(scores[of_task])]
            assert (np.diff(rising) >= 0).all()

    def test_they_hold_on_windows_that_were_not_trained_on(self):
        windows = _strings(n=3000, signal=0.6)
        train, test = windows[:1500], windows[1500:]
        svc = MultiTaskSVC(features=WeightedDegree(degree=5)).fit(train)
        held_out = svc.predict_proba(test)[:, 1]
        assert calibration_error(test.labels, held_out) < 0.1
        assert roc_auc_score(test.labels, held_out) > 0.8

    def test_numbers_with_tasks(self):
        X, y, tasks = _numbers(n=2000)
        svc = MultiTaskSVC().fit(X[:1000], y[:1000], tasks=tasks[:1000])
        held_out = svc.predict_proba(X[1000:], tasks=tasks[1000:])[:, 1]
        assert calibration_error(y[1000:], held_out) < 0.1


def test_a_converged_fit_is_silent():
    windows = _strings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _svc().fit(windows)
