"""Weights that follow new task kernels without going back to the examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.features.joint import JointRows
from seqmtl.features.numeric import NumericRows
from seqmtl.features.weighted_degree import WeightedDegree
from seqmtl.sequences import Windows
from seqmtl.solvers.dcd import Descent
from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.problem import Problem

UNION, OWN = np.ones((3, 3)), np.eye(3)
PAIR = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
KERNELS = {
    "definite": [UNION, OWN, PAIR],
    "singular": [UNION, PAIR],
    "rank one": [UNION],
    "nearly singular": [UNION, 1e-9 * OWN],
}


def _rows(kind, n, rng):
    """Rows for which no kernel matrix is made, and the same as one matrix for every view."""
    if kind in ("numbers", "views"):
        views = [rng.standard_normal((n, d)) for d in ((3, 5) if kind == "views" else (7,))]
        parts = [NumericRows(X) for X in views]
        rows = JointRows(parts) if len(parts) > 1 else parts[0]
    else:
        letters = ["".join(rng.choice(list("ACGT"), 11)) for _ in range(n)]
        if kind == "windows with N":
            letters[3] = "ACGTNACGTAC"
        windows = Windows.from_strings(letters)
        features = WeightedDegree(degree=3)
        rows, views = features.bind(windows), [features.transform(windows).toarray()]
    for view in rows.views:
        view.rows.gram_rows = 0
    return rows, views


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("kind", ["numbers", "views", "windows", "windows with N"])
def test_the_weights_are_those_of_the_last_kernels(kernels, kind):
    """W_g = X_g' diag(y alpha) K_g and the intercepts likewise, though K has changed often."""
    rng, n = np.random.default_rng(0), 40
    rows, views = _rows(kind, n, rng)
    G, M = len(views), len(KERNELS[kernels])
    K = KernelSet(np.array(KERNELS[kernels] * G), np.repeat(np.arange(G), M), 2.0)
    tasks, y = rng.integers(0, 3, n).astype(np.int16), rng.choice([-1.0, 1.0], n)
    problem = Problem(rows, y, tasks, OWN, np.ones(n), "hinge", 0.8)
    start, steps = K.start(), []
    solution = Descent(problem, K, dtype=np.float64, tol=1e-6, max_epochs=40).solve(
        lambda state, _: steps.append(np.abs(state.theta - start).max())
    )
    assert max(steps) > 0.01 or M * G == 1
    coupled = K.couple(solution.theta).K
    signed = y * solution.alpha
    W = np.vstack(
        [(X * signed[:, None]).T @ K_g[tasks] for X, K_g in zip(views, coupled, strict=True)]
    )
    rtol = 1e-8 if kind in ("numbers", "views") else 1e-6  # transform is in single precision
    assert_allclose(solution.W, W, rtol=rtol, atol=rtol)
    assert_allclose(solution.bias, 0.8 * signed @ coupled.sum(axis=0)[tasks], atol=1e-9)
    assert np.abs(W).max() > 0.05
