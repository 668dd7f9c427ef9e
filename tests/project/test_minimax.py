"""Minimax learning, a rival in Li 2014: CVXPY, conditions of optimality, special cases."""

import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import MultiTaskSVC, TaskKernel

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "paper"))

from _minimax import KernelRegularizer, MinimaxClassifier, TraceRegularizer
from _minimax_loops import project

NORMS = [1.0, 1.001, 1.3, 2.0, 5.0, 500.0, np.inf]
NAMES = np.array(["fly", "plant", "worm"])


def _data(sizes=(15, 15, 15), d=5, seed=0, noise=(0.2, 1.0, 2.0)):
    """Return related tasks of different difficulty, in random order."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.standard_normal((ids.size, d))
    w = rng.standard_normal((d, 1)) + 0.5 * rng.standard_normal((d, len(sizes)))
    scores = (X @ w)[np.arange(ids.size), ids] + 0.3
    y = np.where(scores + np.array(noise)[ids] * rng.standard_normal(ids.size) > 0, 1, 0)
    return X, y, NAMES[ids]


def _with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def _mean_losses(W, X, y, tasks):
    """Mean hinge losses at W, shape (d + 1, T), by a loop over examples."""
    total, n = np.zeros(3), np.zeros(3)
    for x, sign, name in zip(_with_constant(X), 2 * y - 1, tasks, strict=True):
        t = list(NAMES).index(name)
        total[t] += max(0.0, 1.0 - sign * (x @ W[:, t]))
        n[t] += 1
    return total / n


def _optimum(X, y, tasks, regularizer, C, norm, share=0.5):
    """Return the optimum that CLARABEL finds."""
    A, signs = _with_constant(X), 2 * y - 1
    W = cp.Variable((A.shape[1], 3))
    losses = []
    for t in range(3):
        is_task = tasks == NAMES[t]
        hinge = cp.pos(1 - cp.multiply(signs[is_task], A[is_task] @ W[:, t]))
        losses.append(cp.sum(hinge) / is_task.sum())
    if regularizer == "trace":
        R = 0.5 * cp.square(cp.normNuc(W))
    else:
        w0 = cp.Variable((A.shape[1], 1))
        own_part = cp.sum_squares(W - w0 @ np.ones((1, 3)))
        R = 0.5 / share * cp.sum_squares(w0) + 0.5 / (1 - share) * own_part
    loss = cp.max(cp.hstack(losses)) if np.isinf(norm) else cp.norm(cp.hstack(losses), norm)
    problem = cp.Problem(cp.Minimize(R + C * loss))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, W.value


def _norm(values, p):
    top = values.max()
    return top * np.linalg.norm(values / top, p) if top else 0.0


def _tight(data, **options):
    return MinimaxClassifier(**{"tol": 1e-9, "max_epochs": 100_000} | options).fit(*data)


class TestOptimum:
    @pytest.mark.parametrize(("norm", "C"), [(1.0, 0.5), (2.0, 20.0), (3.0, 0.5), (np.inf, 20.0)])
    @pytest.mark.parametrize(("regularizer", "share"), [("trace", 0.5), ("mean", 0.3)])
    @pytest.mark.parametrize("shape", [{}, {"sizes": (6, 7, 8), "d": 30}])
    def test_is_that_of_cvxpy(self, regularizer, share, norm, C, shape):
        """Li 2014, 5.4, Minimax MTL: both regularisers and any norm of the losses, by CVXPY."""
        X, y, tasks = data = _data(**shape)
        value, W = _optimum(*data, regularizer, C, norm, share)
        fitted = MinimaxClassifier(regularizer, C, share, norm, tol=1e-7).fit(X, y, tasks=tasks)
        assert fitted.objective == pytest.approx(value, rel=1e-6)
        assert_allclose(fitted.W, W, atol=2e-3)
        assert 0 <= fitted.gap <= 1e-7

    @settings(max_examples=25)
    @given(
        st.integers(0, 2**31 - 1),
        st.sampled_from(NORMS),
        st.sampled_from(["trace", "mean"]),
        st.floats(-2.0, 4.0),
    )
    def test_gap_is_certified_and_closed(self, seed, norm, regularizer, log_C):
        X, y, tasks = _data(seed=seed, sizes=(9, 12, 30), noise=(0.5, 0.5, 0.5))
        y[[np.flatnonzero(tasks == name)[0] for name in NAMES]] = 1
        y[[np.flatnonzero(tasks == name)[1] for name in NAMES]] = 0
        C = 10.0**log_C
        fitted = MinimaxClassifier(regularizer, C, 0.6, norm).fit(X, y, tasks=tasks)
        W, tau, alpha = fitted.W, fitted.tau, fitted.alpha
        ids = np.searchsorted(NAMES, tasks)
        V = np.zeros_like(W)
        for x, sign, t, a in zip(_with_constant(X), 2 * y - 1, ids, alpha, strict=True):
            V[:, t] += a * sign * x
        if regularizer == "trace":
            R = 0.5 * np.linalg.svd(W, compute_uv=False).sum() ** 2
            conjugate = 0.5 * np.linalg.svd(V, compute_uv=False)[0] ** 2
        else:
            K = 0.6 + 0.4 * np.eye(3)
            R, conjugate = 0.5 * np.trace(W @ np.linalg.inv(K) @ W.T), 0.5 * np.trace(V @ K @ V.T)
        losses = _mean_losses(W, X, y, tasks)
        primal = R + C * _norm(losses, norm)
        assert fitted.objective == pytest.approx(primal, rel=1e-9)
        q = 1.0 if np.isinf(norm) else np.inf if norm == 1 else norm / (norm - 1)
        assert _norm(tau, q) <= 1 + 1e-9
        assert (alpha >= 0).all()
        assert (alpha <= C * tau[ids] / np.bincount(ids)[ids] * (1 + 1e-9)).all()
        gap = 1 - (alpha.sum() - conjugate) / primal
        assert fitted.gap == pytest.approx(gap, abs=1e-9)
        assert gap <= 1e-3


class TestSpecialCases:
    @pytest.mark.parametrize("share", [0.3, 1.0])
    def test_sum_of_losses_around_a_mean_is_the_multitask_svm(self, share):
        X, y, tasks = data = _data(sizes=(10, 20, 30))
        fitted = _tight(data, regularizer="mean", norm=1, share=share, C=30.0)
        weight = np.array([1 / (tasks == name).sum() for name in tasks])
        svc = MultiTaskSVC(task_kernel=TaskKernel.easy(NAMES, share), C=30.0, tol=1e-9)
        svc.fit(X, y, tasks=tasks, sample_weight=weight)
        assert fitted.objective == pytest.approx(svc.model_.training["primal"], rel=1e-7)
        assert_allclose(fitted.W, np.vstack([svc.coef_.T, svc.intercept_]), atol=1e-3)
        assert_array_equal(fitted.tau, np.ones(3))

    def test_trace_norm_gives_low_rank(self):
        fitted = _tight(_data(), C=1.0)
        assert np.linalg.matrix_rank(fitted.W, tol=1e-10) == 1

    @pytest.mark.parametrize("scale", [0.0, 1e-6, 100.0])
    def test_features_of_any_scale(self, scale):
        X, y, tasks = _data()
        fitted = MinimaxClassifier(C=10.0).fit(scale * X, y, tasks=tasks)
        assert fitted.gap <= 1e-3


class TestSteps:
    @settings(max_examples=150)
    @given(st.integers(0, 2**31 - 1), st.sampled_from(NORMS), st.floats(-2.0, 2.0))
    def test_projection_is_the_nearest_point(self, seed, p, log_size):
        """No feasible b has <r - alpha, b - alpha> > 0; the largest <g, b> is known."""
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 8, 4)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        ids = np.repeat(np.arange(4), sizes)
        r = 10.0**log_size * rng.standard_normal(ids.size)
        c = rng.uniform(0.1, 2.0, ids.size)
        c[rng.random(ids.size) < 0.1] = 0.0
        tau, alpha = np.empty(4), np.empty(ids.size)
        project(r, c, starts, p, tau, alpha)
        q = 1.0 if np.isinf(p) else np.inf if p == 1 else p / (p - 1)
        assert _norm(tau, q) <= 1 + 1e-12
        assert (tau >= 0).all()
        assert (alpha >= 0).all()
        assert (alpha <= c * tau[ids]).all()
        g = r - alpha
        largest = _norm(np.bincount(ids, c * np.maximum(g, 0), minlength=4), p)
        assert largest - g @ alpha <= 1e-9 * np.linalg.norm(r) ** 2

    @pytest.mark.parametrize(
        "regularizer", [TraceRegularizer(), KernelRegularizer(0.5 + 0.5 * np.eye(3))]
    )
    @pytest.mark.parametrize("sigma", [0.01, 1.0, 100.0])
    def test_proximal_map_and_conjugate_meet_in_fenchels_equality(self, regularizer, sigma):
        M = np.random.default_rng(0).standard_normal((5, 3))
        B, value = regularizer.proximal(M, sigma)
        V = sigma * (M - B)
        assert value + regularizer.conjugate(V) == pytest.approx((V * B).sum(), rel=1e-10)
        W = np.random.default_rng(1).standard_normal((5, 3))
        other = regularizer.proximal(W, 1.0)
        assert other[1] + regularizer.conjugate(V) >= (V * other[0]).sum()
