"""Descent on a kernel matrix against the general optimiser."""

import numpy as np
import pytest

from seqmtl.features.numeric import NumericRows
from seqmtl.solvers.polish import hessian, polish
from seqmtl.solvers.problem import LOSSES, Problem
from tests.oracles import svm


@pytest.mark.parametrize("loss", LOSSES)
def test_part_of_the_dual_is_solved_with_the_rest_fixed(loss):
    rng = np.random.default_rng(0)
    X, y, tasks = rng.standard_normal((60, 100)), rng.choice([-1.0, 1.0], 60), np.arange(60) % 2
    K = np.array([[1.0, 0.4], [0.4, 1.0]])
    problem = Problem(NumericRows(X), y, tasks.astype(np.int16), K, np.full(60, 0.3), loss, 1.0)
    H = np.outer(y, y) * svm.multitask_kernel(X, tasks, K, 1.0)
    start = rng.random(60) * 0.3
    active = np.arange(0, 60, 2)
    G = hessian(problem, active, np.float64)
    np.testing.assert_allclose(G, H[np.ix_(active, active)], atol=1e-10)
    alpha, _ = polish(
        problem, active, start[active], (H @ start)[active], G, 1e-9, np.random.default_rng(0)
    )
    full = start.copy()
    full[active] = alpha
    gradient = problem.gradient(full, H @ full)[active]
    at_zero, at_top = alpha <= 0, (alpha >= 0.3) & (loss != "squared_hinge")
    inside = ~at_zero & ~at_top
    assert np.abs(gradient[inside]).max(initial=0) < 1e-4
    assert (gradient[at_zero] > -1e-4).all()
    assert (gradient[at_top] < 1e-4).all()
