"""Which matrices a training run weighs, what is kept of them, and a model with several views."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import (
    JointFeatures,
    MultiTaskMKLClassifier,
    MultiTaskModel,
    PositionalKmers,
    TaskKernel,
)
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.features.numeric import Numeric
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from seqmtl.training.settings import Settings
from seqmtl.training.task_kernels import (
    distinct_kernels,
    kernel_for_solver,
    learnt_kernel,
    resolve_kernel,
    resolve_kernels,
    used_kernels,
    view_names,
)
from tests.linear_model.cases import motif_windows, rewritten

NAMES = ("ape", "man", "fly")
TREE = "((ape:0.2,man:0.2):0.8,(fly:1.0,bee:0.4):0.5);"
VIEWS = JointFeatures(
    [
        PositionalKmers("wd:2"),
        PositionalKmers("kmers:2/inf@0..5", anchor=0),
        PositionalKmers("kmers:2/inf@0..9", anchor=6),
    ]
)
TIGHT = Settings(C=0.7, tol=1e-8, dtype="float64", norm=1.5)


def _windows(n=120, seed=0):
    return motif_windows(n, NAMES, length=16, at=8, seed=seed)


class TestResolve:
    def test_nothing_given(self):
        several = resolve_kernels(None, ("a", "b"), 2.0)
        assert several.labels == ("union", "individual")
        assert_array_equal(several.matrices, [np.ones((2, 2)), np.eye(2)])
        assert_array_equal(resolve_kernels(None, ("a",), 2.0).matrices, [[[1.0]]])
        assert_array_equal(resolve_kernel(None, ("a", "b")).matrix, [[1, 0.25], [0.25, 1]])

    def test_kernels_are_put_into_the_order_and_the_spelling_of_the_data(self):
        K = TaskKernel(["Mus musculus", "Homo sapiens"], [[4.0, 1.0], [1.0, 9.0]])
        found = resolve_kernels([K, "union"], ("human", "m_musculus"))
        assert found.names == ("human", "m_musculus")
        assert_array_equal(found.matrices, [[[9, 1], [1, 4]], np.ones((2, 2))])
        assert found.labels == ("matrix", "union")

    def test_a_data_frame_is_put_into_the_order_of_the_data(self):
        pandas = pytest.importorskip("pandas")
        K = pandas.DataFrame([[1, 2, 7.0], [3, 8, 2], [9, 3, 1]], list("bac"), list("cab"))
        found = resolve_kernel(K, ("a", "b"))
        assert found.names == ("a", "b", "c")
        assert_array_equal(found.matrix, [[8, 2, 3], [2, 7, 1], [3, 1, 9]])

    def test_matrices_of_several_kernels_keep_their_labels(self):
        clades = TaskKernel.hierarchical("((a,b)ab,c)abc;")
        found = resolve_kernels([clades, "easy", "easy"], ("a", "b", "c"))
        assert found.labels == ("abc", "ab", "easy(0.5) (1)", "easy(0.5) (2)")
        assert found.source == f"{clades.source} + easy(0.5) + easy(0.5)"
        assert found.n_kernels == 4

    def test_tasks_without_data_stay_where_all_kernels_know_them(self):
        first = TaskKernel.easy(["x", "a", "b", "y"])
        second = TaskKernel.smooth(
            np.array([[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0.0]]),
            [1.0],
            ["a", "b", "x", "y"],
        )
        found = resolve_kernels([first, second], ("b", "a"))
        assert found.names[:2] == ("b", "a")
        assert set(found.names) == {"a", "b", "x", "y"}
        s, t = found.names.index("x"), found.names.index("a")
        assert_allclose(found.matrices[:, s, t], [0.5, np.exp(-2.0)])
        assert resolve_kernels([first, second, "union"], ("b", "a")).names == ("b", "a")

    def test_what_is_no_kernel_of_these_tasks(self):
        for given, error, message in (
            ([], ValueError, "task_kernel must hold at least one task kernel, got none"),
            ([np.eye(3)], ValueError, r"one row per task \(2\), got shape \(3, 3\)"),
            (["union", [[1, 0.5], [0.2, 1]]], ValueError, r"must be symmetric, got 0\.5 for"),
            ([TaskKernel.easy(["c", "d"])], UnknownTaskError, "'a', 'b' are not in the task"),
        ):
            with pytest.raises(error, match=message):
                resolve_kernels(given, ("a", "b"))


class TestKernelSets:
    def test_every_view_with_every_kernel_that_is_not_zero_on_the_data(self):
        K = np.zeros((3, 3, 3))
        K[0], K[1, 2, 2], K[2, :2, :2] = 1.0, 1.0, [[2, 1], [1, 2]]
        kernel = TaskKernel(["a", "b", "new"], K)
        assert_array_equal(used_kernels(kernel, 2), [0, 2])
        _, kernels = kernel_for_solver(kernel, 2, 2, 1)
        assert_array_equal(kernels.kernels.matrices(), K[[0, 2, 0, 2], :2, :2])
        assert_array_equal(kernels.views, [0, 0, 1, 1])
        assert kernels.norm == 1.0

    def test_clades_with_the_same_tasks_are_one(self):
        tree = "(t0,t1)"
        for i in range(2, 31):
            tree = f"({tree},t{i})n{i}"
        tree += ";"
        names = ("t2", "t0", "t1")
        large = resolve_kernel(TaskKernel.hierarchical(tree), names)
        found, pruned = distinct_kernels(large, 3), TaskKernel.hierarchical(tree, names)
        assert (large.n_kernels, found.names) == (30, large.names)
        assert found.labels == pruned.labels == ("n2", "(t0..t1)")
        assert_allclose(found.matrices[:, :3, :3], pruned.matrices, rtol=1e-14)
        assert distinct_kernels(found, 3) is found
        # the farther a task without data, the fewer of the clades it shares
        at = {name: i for i, name in enumerate(found.names)}
        shared = found.matrices[0, at["t0"], [at["t1"], at["t3"], at["t30"]]]
        assert_allclose(shared, [1, 28 / 29, 1 / 29])

        X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) // 3 % 2
        fits = [
            MultiTaskMKLClassifier(task_kernel=kernel, tol=1e-7).fit(X, y, tasks=names * 20)
            for kernel in (TaskKernel.hierarchical(tree), pruned)
        ]
        assert_allclose(fits[0].theta_, fits[1].theta_)
        assert_allclose(fits[0].coef_, fits[1].coef_)

    def test_groups_that_alone_have_a_task_are_kept(self):
        groups = {"x": [*"ab"], "y": [*"cd"], "z": [*"be"]}
        kernel = resolve_kernel(TaskKernel.hierarchical(groups), ("a", "b", "c"))
        assert distinct_kernels(kernel, 3).labels == ("x", "y", "z")

    def test_groups_of_one_are_kept_and_equal_ones_are_one(self):
        groups = {"x": [*"abc"], "y": [*"abcd"], "z": ["a"], "w": [*"cde"]}
        kernel = resolve_kernel(TaskKernel.hierarchical(groups), ("a", "b"))
        assert distinct_kernels(kernel, 2).labels == ("y", "z", "w")
        twice = TaskKernel(["a", "b"], [np.eye(2), 2 * np.eye(2)])
        assert distinct_kernels(twice, 2) is twice

    def test_the_learnt_kernel_is_the_weighted_sum_of_every_view(self):
        rng = np.random.default_rng(0)
        root = rng.standard_normal((3, 4, 4))
        kernel = TaskKernel("abcd", root @ root.transpose(0, 2, 1))
        theta = rng.random(6)
        learnt = learnt_kernel(kernel, 3, theta, ["one", "two"])
        assert learnt.names == ("a", "b", "c", "d")
        assert learnt.labels == ("one", "two")
        for g in (0, 1):
            expected = sum(theta[3 * g + m] * kernel.matrices[m] for m in range(3))
            assert_allclose(learnt.matrices[g], expected)

    def test_a_relative_that_no_weighed_kernel_knows_is_left_out(self):
        K = np.zeros((2, 3, 3))
        K[0, :2, :2], K[1, 2, 2] = 1.0, 1.0
        learnt = learnt_kernel(TaskKernel(["a", "b", "new"], K), 2, np.array([0.5]), ["one"])
        assert learnt.names == ("a", "b")
        assert_array_equal(learnt.matrix, np.full((2, 2), 0.5))

        K = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])  # weights of zero
        learnt = learnt_kernel(TaskKernel(["a", "b"], K), 2, np.array([1.0, 0, 0, 0]), ["x", "y"])
        assert learnt.names == ("a", "b")
        assert_allclose(learnt.matrices, [np.diag([1.0, 0]), np.zeros((2, 2))], atol=1e-11)

    def test_names_of_views_differ(self):
        twos, threes = PositionalKmers("kmers:2/inf"), PositionalKmers("kmers:3/inf")
        twice = JointFeatures([twos, JointFeatures([twos, threes])])
        assert view_names(twice) == ["kmers:2/inf (1)", "kmers:2/inf (2)", "kmers:3/inf"]
        assert view_names(Numeric()) == ["Numeric()"]
        views = JointFeatures(
            [PositionalKmers("wd:3"), PositionalKmers("wd:2,kmers:3/7=0.5", anchor=5)]
        )
        assert view_names(views) == ["wd:3", "wd:2,kmers:3/7=0.5"]
        assert str(views) == "wd:3 + wd:2,kmers:3/7=0.5"
        assert [str(view) for view in twice.flat_views()] == ["kmers:2/inf"] * 2 + ["kmers:3/inf"]


@pytest.fixture(scope="module")
def trained():
    """Return windows, a model of three views with the relative bee, and its solution."""
    windows = _windows()
    tree = TaskKernel.hierarchical(TREE, ["ape", "man", "fly", "bee"])
    return windows, *fit(Examples.of(windows), features=VIEWS, task_kernel=tree, settings=TIGHT)


class TestSeveralViews:
    def test_scores_are_those_of_explicit_features_by_view(self, trained):
        windows, model, solution = trained
        X = VIEWS.transform(windows).toarray().astype(float)
        ids, W = windows.task_ids, np.asarray(model.W)
        f = np.einsum("ij,ij->i", X, W.T[ids]) + model.bias[ids]
        assert_allclose(model.decision_function(windows), f, atol=1e-5)
        assert_allclose(solution.margins, windows.labels * f, atol=1e-5)

    def test_an_organism_without_data_is_scored_by_hand(self, trained):
        windows, model, solution = trained
        new = _windows(n=9, seed=5)
        amount = np.eye(3)[windows.task_ids] * (solution.alpha * windows.labels)[:, None]
        expected = np.zeros(9)
        for view, K in zip(VIEWS.views, model.kernel.matrices, strict=True):
            k = (view.transform(new) @ view.transform(windows).T).toarray() + 1.0
            expected += k @ amount @ K[:3, 3]
        scores = model.decision_function(new, "bee")
        assert_allclose(scores, expected, atol=1e-5)
        with pytest.raises(UnknownTaskError, match=r"kernel; .* \(or give it a place among them"):
            model.decision_function(new, "oak")

    def test_strings_have_to_be_windows_with_a_task(self, trained):
        model = trained[1]
        with pytest.raises(TypeError, match=r"must be Windows, got list; use Windows.from_strings"):
            model.decision_function(["ACGT"])
        plain = Windows.from_strings(["ACGTACGTACGTACGT"])
        with pytest.raises(ValueError, match=r"the examples carry none; give tasks="):
            model.decision_function(plain)
        assert model.decision_function(plain, "ape").shape == (1,)

    def test_save_and_load(self, trained, tmp_path):
        windows, model, _ = trained
        model.save(tmp_path / "m.seqmtl")
        again = MultiTaskModel.load(tmp_path / "m.seqmtl")
        assert again.kernel == model.kernel
        assert again.training["mkl"] == model.training["mkl"]
        for name in ("ape", "bee"):
            scores = [m.decision_function(windows, name) for m in (again, model)]
            assert_array_equal(*scores)
        K = model.kernel.matrices[[0, 1, 2, 2]]
        rewritten(tmp_path / "m.seqmtl", tmp_path / "bad", K=K)
        message = r"array K must be float64 of shape \(3, 4, 4\), got .* \(4, 4, 4\)"
        with pytest.raises(ModelFileError, match=message):
            MultiTaskModel.load(tmp_path / "bad")


def test_infinity_is_written_as_a_word():
    assert Settings(norm=float("inf")).to_dict()["norm"] == "inf"
    assert Settings(norm=1.5).to_dict()["norm"] == 1.5
    model = MultiTaskMKLClassifier(Numeric(), norm=np.inf).fit([[0.0], [1.0]], [0, 1]).model_
    assert model.training["settings"]["norm"] == "inf"
