"""Rules of kernel weights of rivals in Li 2014, against CVXPY."""

import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.kernel_mkl.test_kernel_space import KERNELS, fit, given, problems
from tests.oracles import kernel_space as oracle

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "paper"))

from _kernel_weights import (
    MixedNorm,
    Partial,
    PartiallySharedMKLClassifier,
    SparseMKLClassifier,
)


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_kernels_in_common_and_of_ones_own(share):
    """Li 2014, 5.4, Tang's method: a common kernel and one per task, by CVXPY."""
    data = given()
    optimum, zeta, theta = oracle.partial(data, share)
    model = fit(PartiallySharedMKLClassifier, data, share=share)
    assert_allclose(model.objective_, optimum, rtol=1e-5)
    assert_allclose(model.theta_, theta, atol=2e-2)
    assert_allclose(model.common_.sum(), share, atol=1e-9)
    assert zeta.sum() <= share + 1e-6


@pytest.mark.parametrize("q", [1, 1.5, 2])
def test_a_mixed_norm_is_that_of_cvxpy(q):
    """Li 2014, 5.4, Sparse MTL: the squared l_1-l_q norm, by CVXPY."""
    data = given(1)
    model = fit(SparseMKLClassifier, data, p=1, q=q)
    assert_allclose(model.objective_, oracle.mixed_norm(data, q), rtol=1e-5)


def l_p_norm(parts, p, q):
    """1/2 of the squared l_p-l_q norm of ||w_tm||, shape (T, M)."""
    return 0.5 * ((parts**q).sum(axis=0) ** (p / q)).sum() ** (2 / p)


@pytest.mark.parametrize("q", [1.5, 2.0])
def test_a_norm_below_one_falls_to_a_stationary_point(q):
    data, p = given(), 0.5
    model = fit(SparseMKLClassifier, data, p=p, q=q, tol=1e-7)
    values = np.array([step["objective"] for step in model.history_])
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    pairs = zip(problems(data), model.theta_, strict=True)
    solved = [(task.solve(theta, 1e-9), theta) for task, theta in pairs]
    sizes = model.theta_ * np.sqrt([svm.q for svm, _ in solved])
    losses = sum(svm.primal - 0.5 * theta @ svm.q for svm, theta in solved)
    assert_allclose(l_p_norm(sizes, p, q) + losses, model.objective_, rtol=1e-5)
    # the norm, made linear in the sizes where it is concave, has no better point for cvxpy
    norms = (sizes**q).sum(axis=0) ** (1 / q)
    used = np.flatnonzero(norms > 1e-9)
    slope = norms[used] ** (p - 1) * (norms[used] ** p).sum() ** (1 / p - 1)
    machines = [oracle.Machine(H[used], y, data.C) for H, y in data.tasks]
    size = cp.Variable((3, used.size), nonneg=True)
    rules = [rule for machine in machines for rule in machine.constraints]
    for t, machine in enumerate(machines):
        rules += [cp.norm(w, 2) <= size[t, m] for m, w in enumerate(machine.w)]
    total = sum(slope[m] * cp.pnorm(size[:, m], q) for m in range(used.size))
    best = oracle.minimise(0.5 * cp.square(total) + sum(each.losses for each in machines), rules)
    assert_allclose(model.objective_, best, rtol=2e-5)


def test_a_small_p_is_no_worse_than_one_kernel_alone():
    data = given(n=8)
    alone = [
        SparseMKLClassifier([kernel], C=data.C).fit(data.X, data.y, data.names).objective_
        for kernel in KERNELS
    ]
    assert fit(SparseMKLClassifier, data, p=0.02).objective_ <= (1 + 1e-3) * max(alone)


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (1.0, 1.5), (1.0, 2.0), (0.5, 1.2), (0.5, 2.0)])
def test_weights_of_a_mixed_norm_give_that_norm(p, q):
    rng = np.random.default_rng(3)
    sizes, T = rng.exponential(size=(3, 4)), 3
    theta, _ = MixedNorm(p, q).step(np.ones((3, 4)), np.ones(T), sizes**2)
    assert_allclose(0.5 * (sizes**2 / theta).sum(), l_p_norm(sizes, p, q))
    sizes[:, 1] = sizes[0, 2] = 0
    theta, _ = MixedNorm(p, q).step(np.ones((3, 4)), np.ones(T), sizes**2)
    used = sizes > 0
    assert_allclose(0.5 * (sizes[used] ** 2 / theta[used]).sum(), l_p_norm(sizes, p, q))


def test_a_state_stays_where_no_function_is():
    g, q = np.ones(2), np.zeros((2, 3))
    for rule in (Partial(0.3), MixedNorm(1.0, 1.5)):
        state = rule.start(2, 3)
        assert_array_equal(rule.step(state, g, q)[0], state)


def test_what_does_not_converge_says_so():
    with pytest.warns(UserWarning, match=r"stopped before the objective settled \(tol=1e-06\)"):
        fit(SparseMKLClassifier, given(), p=0.5, max_iter=2)
