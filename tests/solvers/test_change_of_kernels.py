"""Weights that follow new task kernels without going back to the examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.features.joint import JointRows
from seqmtl.features.numeric import NumericRows
from seqmtl.features.weighted_degree import WeightedDegree
from seqmtl.sequences import Windows
from seqmtl.solvers import mkl
from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.mkl import MultipleKernelDescent, change_of_coupling
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
    if kind == "numbers":
        return NumericRows(rng.standard_normal((n, 7)))
    if kind == "views":
        return JointRows([NumericRows(rng.standard_normal((n, d))) for d in (3, 5)])
    letters = ["".join(rng.choice(list("ACGT"), 11)) for _ in range(n)]
    if kind == "windows with N":
        letters[3] = "ACGTNACGTAC"
    return WeightedDegree(degree=3).bind(Windows.from_strings(letters))


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("kind", ["numbers", "views", "windows", "windows with N"])
def test_the_weights_are_those_of_the_new_kernels(kernels, kind, monkeypatch):
    monkeypatch.setattr(mkl, "_CHUNK", 4)  # several, and a last one that is not full
    rng, n = np.random.default_rng(0), 40
    G, M = 2 if kind == "views" else 1, len(KERNELS[kernels])
    K = KernelSet(np.array(KERNELS[kernels] * G), np.repeat(np.arange(G), M), 2.0)
    tasks, y = rng.integers(0, 3, n).astype(np.int16), rng.choice([-1.0, 1.0], n)
    problem = Problem(_rows(kind, n, rng), y, tasks, OWN, np.ones(n), "hinge", 0.8)
    solver = MultipleKernelDescent(problem, K, dtype=np.float64)
    solver.state.alpha[:] = rng.random(n) * (rng.random(n) < 0.6)
    solver._sum_weights()
    before = solver.problem.kernels
    theta = 0.5 + rng.random((G, M))
    theta[:, 1:] *= rng.random((G, M - 1)) < 0.7
    solver._set_theta(theta.ravel())
    solver._change_coupling(before)
    W, bias = solver.W.copy(), solver.bias.copy()
    solver._sum_weights()
    assert_allclose(W, solver.W, rtol=1e-9, atol=1e-9)
    assert_allclose(bias, solver.bias, atol=1e-12)
    assert np.abs(W).max() > 0.05


def test_kernels_change_within_their_range():
    rng = np.random.default_rng(2)
    V = rng.standard_normal((5, 3))
    for old, new in [
        (UNION + OWN, UNION + 2.0 * OWN),
        (UNION + PAIR, UNION),
        (PAIR, 0.5 * PAIR),
        (UNION, 0.0 * UNION),
        (0.0 * OWN, 0.0 * OWN),
    ]:
        assert_allclose(V @ old @ change_of_coupling(old, new), V @ new, atol=1e-12)
    near = np.array([1.0, 1.1, 1.2])
    thin = UNION + 1e-8 * OWN
    assert change_of_coupling(thin, thin) is None
    growing = UNION + 1e-3 * np.outer(near, near)
    assert change_of_coupling(growing, 0.1 * UNION + 2e-3 * np.outer(near, near)) is None
    assert change_of_coupling(growing, growing) is not None


def test_where_rounding_would_show_the_weights_are_summed_anew(monkeypatch):
    rng, n = np.random.default_rng(1), 20
    kernels = KernelSet(np.array([UNION, 1e-8 * OWN]), np.zeros(2, int), 2.0)
    problem = Problem(
        NumericRows(rng.standard_normal((n, 4))), np.ones(n), np.zeros(n, np.int16), OWN, np.ones(n)
    )
    solver = MultipleKernelDescent(problem, kernels, dtype=np.float64)
    calls = []
    monkeypatch.setattr(solver, "_sum_weights", lambda: calls.append("anew"))
    solver._change_coupling(solver.problem.kernels)
    assert calls == ["anew"]
