"""Minimax learning, a rival in Li 2014, against CVXPY."""

import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "paper"))

from _minimax import MinimaxClassifier

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


@pytest.mark.parametrize(("norm", "C"), [(1.0, 0.5), (2.0, 20.0), (3.0, 0.5), (np.inf, 20.0)])
@pytest.mark.parametrize(("regularizer", "share"), [("trace", 0.5), ("mean", 0.3)])
@pytest.mark.parametrize("shape", [{}, {"sizes": (6, 7, 8), "d": 30}])
def test_the_optimum_is_that_of_cvxpy(regularizer, share, norm, C, shape):
    """Li 2014, 5.4, Minimax MTL: both regularisers and any norm of the losses, by CVXPY."""
    X, y, tasks = data = _data(**shape)
    value, W = _optimum(*data, regularizer, C, norm, share)
    fitted = MinimaxClassifier(regularizer, C, share, norm, tol=1e-7).fit(X, y, tasks=tasks)
    assert fitted.objective == pytest.approx(value, rel=1e-6)
    assert_allclose(fitted.W, W, atol=2e-3)
    assert 0 <= fitted.gap <= 1e-7
