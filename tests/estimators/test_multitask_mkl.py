"""The classifier that learns the weights of task kernels, against fixed kernels and sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import (
    JointFeatures,
    MultiTaskMKLClassifier,
    MultiTaskModel,
    MultiTaskSVC,
    MultiTaskSVR,
    PositionalKmers,
    TaskKernel,
)
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES
from seqmtl.features.numeric import Numeric
from tests.estimators.examples import labelled, strings
from tests.oracles import mkl as oracle

NAMES = np.array(["ape", "man", "fly"])
TREE = "((ape:0.2,man:0.2)primates:0.8,fly:1.0)animals;"
TIGHT = {"tol": 1e-8, "dtype": "float64"}


def _strings(n=150, seed=0):
    windows = strings(n=n, length=16, seed=seed)
    return windows.with_tasks(NAMES[np.arange(n) % 3].tolist())


def _numbers(n=120):
    X, y, tasks = labelled(n=n)
    return X, np.array(["no", "yes"])[y], NAMES[np.unique(tasks, return_inverse=True)[1]]


def _mkl(**options):
    options = {"features": PositionalKmers("wd:3"), "task_kernel": CLADES, "C": 0.5, **options}
    return MultiTaskMKLClassifier(**options)


CLADES = TaskKernel.hierarchical(TREE)


class TestAgainstFixedKernels:
    @pytest.mark.parametrize(("loss", "norm"), [*zip(LOSSES, (1.0, 1.3, np.inf), strict=True)])
    def test_it_is_the_svc_with_the_learnt_kernel(self, loss, norm):
        X, y, tasks = _numbers()
        mkl = _mkl(features=None, norm=norm, loss=loss, **TIGHT).fit(X, y, tasks)
        assert mkl.dual_gap_ <= 1e-8
        if np.isinf(norm):
            assert_array_equal(mkl.theta_, 1.0)
        else:
            assert (mkl.theta_**norm).sum() == pytest.approx(1.0)
        assert mkl.task_kernel_.names == ("ape", "fly", "man")
        given = CLADES.restrict(["ape", "fly", "man"])
        K = sum(t * K for t, K in zip(mkl.theta_, given.matrices, strict=True))
        assert_allclose(mkl.task_kernel_.matrix, K, rtol=1e-9)
        fixed = TaskKernel(given.names, K)
        svc = MultiTaskSVC(task_kernel=fixed, loss=loss, C=0.5, **TIGHT).fit(X, y, tasks)
        training = mkl.model_.training
        assert training["primal"] == pytest.approx(svc.model_.training["primal"], rel=3e-8)
        assert_allclose(mkl.decision_function(X, tasks), svc.decision_function(X, tasks), atol=2e-3)

    def test_a_single_kernel_has_weight_one(self):
        windows = _strings()
        mkl = _mkl(task_kernel="easy", norm=3, **TIGHT).fit(windows)
        assert_array_equal(mkl.theta_, [1.0])
        svc = MultiTaskSVC(PositionalKmers("wd:3"), "easy", C=0.5, **TIGHT).fit(windows)
        assert_allclose(mkl.decision_function(windows), svc.decision_function(windows), atol=1e-3)


class TestViews:
    VIEWS = (
        PositionalKmers("wd:3"),
        PositionalKmers("kmers:2/inf@0..5", anchor=0),
        PositionalKmers("kmers:2/inf@10..15", anchor=0),
    )

    def test_weights_are_described(self):
        mkl = _mkl(features=list(self.VIEWS)).fit(_strings())
        joint = _mkl(features=JointFeatures(self.VIEWS)).fit(_strings())
        assert_array_equal(mkl.coef_, joint.coef_)
        described = mkl.kernel_weights_
        assert [entry["view"] for entry in described[::2]] == [str(view) for view in self.VIEWS]
        assert [entry["label"] for entry in described] == ["animals", "primates"] * 3
        assert [set(entry["tasks"]) for entry in described[:2]] == [{*NAMES}, {"ape", "man"}]
        assert_array_equal([entry["weight"] for entry in described], mkl.theta_)
        assert (mkl.theta_**2).sum() == pytest.approx(1.0)
        assert mkl.task_kernel_.labels == tuple(str(view) for view in self.VIEWS)

    def test_views_with_equal_definitions_share_what_one_gets(self):
        X, y, tasks = _numbers()
        twice, once = (
            _mkl(features=[Numeric()] * n, norm=1.0, **TIGHT).fit(X, y, tasks) for n in (2, 1)
        )
        names = [entry["view"] for entry in twice.kernel_weights_]
        assert names[1:3] == ["Numeric() (1)", "Numeric() (2)"]
        values = [mkl.model_.training["primal"] for mkl in (twice, once)]
        assert values[0] == pytest.approx(values[1], rel=1e-7)


class TestFits:
    def test_fitting_again_gives_the_same_and_forgets_what_was_before(self, tmp_path):
        windows, other = _strings(), _strings(seed=9)
        mkl = _mkl()
        first = mkl.fit(windows).coef_.copy()
        mkl.set_params(task_kernel="union", norm=1.0).fit(other)
        assert len(mkl.theta_) == len(mkl.kernel_weights_) == 1
        mkl.set_params(task_kernel=CLADES, norm=2.0).fit(windows)
        assert_array_equal(mkl.coef_, first)
        mkl.model_.save(tmp_path / "m")
        model = MultiTaskModel.load(tmp_path / "m")
        assert_array_equal(model.decision_function(windows), mkl.decision_function(windows))
        assert model.training["mkl"] == mkl.kernel_weights_


NUMBERS = "Numeric needs a matrix of numbers, got Windows; use PositionalKmers"
OF_MEN = TaskKernel.easy(["ape", "men"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task_kernel": np.ones((2, 4, 4))}, r"one row per task \(3\)"),
        ({"task_kernel": [CLADES, OF_MEN]}, "tasks 'fly', 'man' are not in the task kernel from"),
        ({"features": ["wd:8", "kmers:3@20.."]}, "must hold a k-mer of 3 bases"),
        ({"features": [PositionalKmers("wd:8"), Numeric()]}, NUMBERS),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _mkl(**options).fit(_strings())


def test_organisms_without_data_stay_and_one_of_one_class_is_refused():
    windows = _strings()
    y = np.where(windows.task_ids == 2, -1, windows.labels)
    with pytest.raises(ValueError, match="task 'fly' has 0 positive and 50 negative; add the"):
        _mkl().fit(windows, y)
    long = TaskKernel.hierarchical("((ape,man),(fly,(bee,cat)));")
    assert _mkl(task_kernel=long).fit(windows).task_kernel_.names[3:] == ("bee", "cat")


class TestOtherLosses:
    """Widmer 2015, Problem 1 and 3 for losses without classes, against CVXPY."""

    @pytest.mark.parametrize(("loss", "norm"), zip(REGRESSION_LOSSES, (1.5, np.inf), strict=True))
    def test_it_is_the_optimum(self, loss, norm, tmp_path):
        windows, z = strings(n=60, length=12), np.random.default_rng(1).normal(size=60)
        tasks = np.array(windows.tasks)
        options = {
            "features": [PositionalKmers("wd:2"), PositionalKmers("kmers:2/inf", anchor=0)],
            "C": 0.3,
            "norm": norm,
        }
        kernels = ["union", TaskKernel.graph(np.ones((3, 3)), np.unique(tasks))]
        options |= {"loss": loss, "task_kernel": kernels}
        model = MultiTaskSVR(**options, **TIGHT).fit(windows, z)
        views = [view.transform(windows).toarray() for view in model.model_.features.views]
        grams = [X @ X.T + 1.0 for X in views]
        ids = np.unique(tasks, return_inverse=True)[1]
        matrices = [np.ones((3, 3)), kernels[1].matrix] * 2
        of_views, costs = [0, 0, 1, 1], np.full(60, 0.3)
        best = oracle.solve_dual(
            grams, np.ones(60), ids, matrices, of_views, costs, loss, norm, z=z, epsilon=0.1
        )
        assert model.dual_gap_ <= 1e-8
        assert model.model_.training["primal"] == pytest.approx(best, rel=1e-6)
        assert [entry["label"] for entry in model.kernel_weights_] == ["union", "graph"] * 2
        assert_array_equal(model.theta_, [entry["weight"] for entry in model.kernel_weights_])
        if np.isfinite(norm):
            assert (model.theta_**norm).sum() == pytest.approx(1.0)
        model.model_.save(tmp_path / "m")
        scores = MultiTaskModel.load(tmp_path / "m").decision_function(windows)
        assert_allclose(scores, model.model_.decision_function(windows), atol=1e-12)
