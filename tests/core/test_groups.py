"""Task kernels in groups of nodes, against the same kernels as plain matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csc_array
from sklearn.svm import LinearSVC

from seqmtl import PositionalKmers, TaskKernel
from seqmtl.core import dcd, grouped_kernel
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.kernel_stack import MAX_TASKS_AS_MATRIX, KernelStack
from seqmtl.core.mkl import KernelSet
from seqmtl.core.problem import Problem
from seqmtl.features.numeric import NumericRows
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from seqmtl.training.settings import Settings
from tests.linear_model.cases import motif_windows


def _clades(tasks, split, rng):
    """Return all clades of a tree of some tasks, the whole first."""
    if len(tasks) == 1 or split == "union":
        return [tasks]
    if split == "individual":
        return [[t] for t in tasks]
    if split == "ladder":
        parts = [tasks[:1], tasks[1:]]
    elif split == "star":
        parts = [[t] for t in tasks]
    else:
        n = 2 if split == "binary" else int(rng.integers(2, 12))
        parts = [list(part) for part in np.array_split(tasks, n) if len(part)]
    return [tasks, *(clade for part in parts for clade in _clades(part, split, rng))]


def _nodes(T, split, seed=0):
    rng = np.random.default_rng(seed)
    clades = _clades(list(rng.permutation(T)), split, rng)
    N = np.zeros((T, len(clades)))
    for j, clade in enumerate(clades):
        N[clade, j] = np.sqrt(rng.random())
    return N


def _sum_of(N):
    return KernelStack.of_nodes(N, np.ones((1, N.shape[1])))


@settings(max_examples=40)
@given(
    T=st.integers(MAX_TASKS_AS_MATRIX + 1, 45),
    split=st.sampled_from(["ladder", "star", "binary", "many"]),
    seed=st.integers(0, 99),
    n_trees=st.integers(1, 3),
    has_own=st.booleans(),
)
def test_groups_sum_to_the_kernel(T, split, seed, n_trees, has_own):
    rng = np.random.default_rng(seed)
    parts = [_nodes(T, split, seed + k) * rng.uniform(0.2, 1, (T, 1)) for k in range(n_trees)]
    N = np.concatenate([*parts, *([np.diag(rng.random(T))] * has_own)], axis=1)
    lengths = rng.random((2, N.shape[1]))
    K = np.einsum("sj,vj,tj->vst", N, lengths, N)
    assert_allclose(grouped_kernel._pack(csc_array(N), lengths).K, K, atol=1e-12)


def test_a_step_touches_the_path_of_its_task_alone():
    for T, split, most in ((300, "binary", 24), (1000, "binary", 32), (300, "star", 2)):
        N = _nodes(T, split)
        groups = GroupedKernel.of(_sum_of(N))
        written = (groups.widths[groups.group] * (groups.group >= 0)).sum(axis=1)
        assert written.max() <= most
        assert (groups.group >= 0).sum(axis=1).max() <= 5
        assert groups.widths.sum() <= 1.6 * T  # columns of weights


def test_few_tasks_and_kernels_without_a_tree_are_one_group():
    K = np.eye(MAX_TASKS_AS_MATRIX)
    assert GroupedKernel.of(_sum_of(K)).is_single
    K = np.random.default_rng(0).random((30, 30))
    assert GroupedKernel.of(K @ K.T).is_single
    assert GroupedKernel.of(_sum_of(K)).is_single  # every node has every task


@pytest.mark.parametrize("split", ["ladder", "star", "binary", "many", "union", "individual"])
def test_the_optimum_is_that_of_liblinear_on_the_expanded_problem(split, monkeypatch):
    monkeypatch.setattr(grouped_kernel, "_MAX_WRITES", 2.0)  # a ladder of 20 is not worth it
    T, rng = 20, np.random.default_rng(1)
    N = _nodes(T, split) * rng.uniform(0.5, 1, (T, 1))
    X, tasks = rng.standard_normal((240, 4)), np.arange(240) % T
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(240))
    K = N @ N.T
    found = {}
    for name, groups in (("groups", GroupedKernel.of(_sum_of(N))), ("matrix", K)):
        problem = Problem(NumericRows(X), y, tasks, groups, np.full(240, 0.7), "squared_hinge", 0.0)
        found[name] = dcd.solve(problem, tol=1e-10, dtype=np.float64, max_epochs=100_000)
    assert not found["groups"].weights.groups.is_single
    expanded = np.einsum("ij,id->ijd", N[tasks], X).reshape(240, -1)
    svc = LinearSVC(loss="squared_hinge", C=0.7, fit_intercept=False, tol=1e-12, max_iter=10**6)
    svc.fit(expanded, y)
    margins = y * svc.decision_function(expanded)
    assert_allclose(found["groups"].margins, margins, atol=1e-4)
    assert_allclose(found["groups"].margins, found["matrix"].margins, atol=1e-6)
    W = np.einsum("tj,jd->dt", N, svc.coef_.reshape(-1, 4))
    assert_allclose(found["groups"].W, W, atol=1e-4)
    assert_allclose(found["groups"].W, found["matrix"].W, atol=1e-6)
    scores = found["groups"].weights.scores(NumericRows(X), tasks, np.zeros(T))
    assert_allclose(y * scores, found["groups"].margins, atol=1e-10)


def _newick(first, last, rng):
    if last - first == 1:
        return f"t{first}:{rng.random():.3f}"
    middle = (first + last) // 2
    return f"({_newick(first, middle, rng)},{_newick(middle, last, rng)}):{rng.random():.3f}"


def test_learnt_weights_are_those_of_plain_matrices():
    windows = motif_windows(720, [f"t{i}" for i in range(24)], length=24, at=9)
    kernel = TaskKernel.hierarchical(_newick(0, 24, np.random.default_rng(3)) + ";")
    plain = TaskKernel(kernel.names, kernel.matrices, labels=kernel.labels)
    options = {
        "features": PositionalKmers("wd:3"),
        "settings": Settings(tol=1e-6, dtype="float64", norm=1.5, max_epochs=3000),
    }
    grouped, solution = fit(Examples.of(windows), task_kernel=kernel, **options)
    _, expected = fit(Examples.of(windows), task_kernel=plain, **options)
    assert not grouped.W.groups.is_single
    assert solution.converged
    assert solution.primal == pytest.approx(expected.primal, rel=2e-6)
    assert_allclose(solution.theta, expected.theta, atol=2e-3)


@pytest.mark.parametrize("n_views", [1, 2])
def test_energies_of_groups_are_those_of_plain_matrices(n_views):
    rng = np.random.default_rng(5)
    tree = TaskKernel.hierarchical(_newick(0, 40, rng) + ";", rho_task=2.0)
    K, M, T = tree.matrices, tree.n_kernels, 40
    stack = tree.stack.pick(np.tile(range(M), n_views))
    kernels = KernelSet(stack, np.repeat(range(n_views), M), 2.0)
    V = rng.standard_normal((n_views, 9, T))
    grams = V.swapaxes(1, 2) @ V
    theta = rng.random(n_views * M) * (rng.random(n_views * M) < 0.8)
    groups = kernels.combine(theta)
    assert len(groups.kernels) > 1
    weighted = np.einsum("gm,mst->gst", theta.reshape(n_views, M), K)
    assert_allclose(groups.K, weighted, atol=1e-12)
    expected = np.einsum("mst,gst->gm", K, grams).ravel()
    assert_allclose(kernels.energies(groups.project_gram(grams)), expected, rtol=1e-10)
