"""Multi-task MKL against cvxpy, brute-force objectives, and invariances of the problem."""

import copy
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from seqmtl import core
from seqmtl.core import mkl as algorithm
from seqmtl.core.dcd import WarmStart
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.core.losses import REGRESSION_LOSSES
from seqmtl.core.mkl import KernelSet
from seqmtl.features.joint import JointRows
from seqmtl.features.numeric import NumericRows
from tests.core import cases
from tests.core.cases import EVERY_LOSS, K3
from tests.oracles import mkl
from tests.oracles.losses import LOSSES as FORMULAS

NORMS = [1.0, 4 / 3, 2.0, np.inf]
PAIR = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])  # of a node without task 3
RANK_ONE = np.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
KERNELS = np.array([np.ones((3, 3)), np.eye(3), PAIR, RANK_ONE, K3])


@dataclass
class Case(cases.Case):
    """A small problem of views X and kernels K_1..K_M; `which` is the view of every kernel."""

    which: np.ndarray | None = None
    norm: float = 2.0

    @property
    def oracle(self):
        """The arguments of both brute-force objectives, without theta, alpha and W."""
        views = [np.column_stack([X, np.full(self.z.size, self.bias)]) for X in self.X]
        return (views, self.y, self.tasks, self.K, self.which, self.C, self.loss)

    @property
    def regression(self):
        return {"z": self.z, "epsilon": self.epsilon} if self.is_regression else {}

    def problem(self):
        rows = [NumericRows(X) for X in self.X]
        own = replace(self, rows=JointRows(rows) if len(rows) > 1 else rows[0], K=self.K[0])
        return cases.Case.problem(own)

    def solve(self, **options):
        options = {"tol": 1e-9, "dtype": np.float64, "max_epochs": 100_000} | options
        return core.solve(
            self.problem(), KernelSet(KernelStack(self.K), self.which, self.norm), **options
        )

    def descend(self, **options):
        """Solve in epochs alone, as many examples are."""
        options = {"dtype": np.float64, "max_epochs": 20_000} | options
        return algorithm.solve(
            self.problem(), KernelSet(KernelStack(self.K), self.which, self.norm), **options
        )

    def optimum(self):
        views, y, tasks, matrices, which, C, loss = self.oracle
        grams = [X @ X.T for X in views]
        return mkl.solve_dual(
            grams, y, tasks, matrices, which, C, loss, self.norm, **self.regression
        )

    def weights(self, solution):
        """W_m = theta_m V_g K_m, from the dual variables."""
        V = []
        for X in self.oracle[0]:
            V.append(np.zeros((X.shape[1], self.K.shape[1])))
            for x, t, amount in zip(X, self.tasks, solution.alpha * self.y, strict=True):
                V[-1][:, t] += amount * x
        kernels = zip(solution.theta, self.which, self.K, strict=True)
        return [share * V[g] @ K for share, g, K in kernels]


def case(norm=2.0, loss="hinge", n_views=1, n=40, d=6, seed=0, C=None, matrices=KERNELS):
    """Tasks 1 and 2 are alike, task 3 is another, and with two views the second is noise."""
    rng = np.random.default_rng(seed)
    T = matrices.shape[1]
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    tasks = rng.integers(0, T, n).astype(np.int16)
    w = rng.standard_normal((d, 1)) + 0.3 * rng.standard_normal((d, T))
    w[:, T - 1] = rng.standard_normal(d)
    f = (X @ w)[np.arange(n), tasks] + 0.5 * rng.standard_normal(n)
    parts = (X,) if n_views == 1 else (X[:, : d // 2].copy(), X[:, d // 2 :].copy())
    C = rng.uniform(0.3, 3, n) if C is None else np.full(n, float(C))
    is_regression = loss in REGRESSION_LOSSES
    return Case(
        parts,
        f if is_regression else np.sign(f),
        tasks,
        np.concatenate([matrices] * n_views),
        loss,
        C,
        bias=0.7,
        epsilon=0.2,
        which=np.repeat(np.arange(n_views), len(matrices)),
        norm=norm,
    )


def size(theta, norm):
    return np.linalg.norm(theta, norm)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize(("norm", "n_views"), [(1.0, 2), (4 / 3, 1), (2.0, 2), (np.inf, 1)])
def test_the_optimum_is_that_of_a_general_convex_solver(norm, loss, n_views):
    """Widmer 2015, eq. 9, Problem 1: the optimum by CVXPY, for every loss."""
    data = case(norm, loss, n_views)
    solution = data.solve(tol=1e-8)
    assert -1e-14 <= solution.gap <= 1e-8  # rounding may pass the optimum
    assert solution.converged
    assert solution.primal == pytest.approx(data.optimum(), rel=1e-6)
    value = mkl.primal(*data.oracle, solution.theta, data.weights(solution), **data.regression)
    assert solution.primal == pytest.approx(value, rel=1e-9)
    assert (solution.theta >= 0).all()
    assert size(solution.theta, norm) <= 1 + 1e-12


@pytest.mark.parametrize("norm", [1.0, 1.5, 3.0, np.inf])
@pytest.mark.parametrize("of", ["features", "tasks"])
def test_weights_of_kernels_are_the_norm_of_the_weights(norm, of):
    """Widmer 2012, Table 1: the regulariser 1/2 ||w||_r^2 is --norm p with r = 2 p / (p + 1).

    Its parts are what has a kernel of its own: here single features, or single tasks.
    """
    r = 2.0 if np.isinf(norm) else 2.0 * norm / (norm + 1.0)
    data = replace(case(norm, "hinge", n=50, d=4), bias=0.0)
    X = data.X[0]
    if of == "features":  # a view each, of a single task
        columns = tuple(X[:, [j]].copy() for j in range(4))
        data = replace(
            data, X=columns, tasks=0 * data.tasks, K=np.ones((4, 1, 1)), which=np.arange(4)
        )
    else:  # Q_m is 1 for the norm of one task
        own = np.einsum("ms,mt->mst", np.eye(3), np.eye(3))
        data = replace(data, K=own, which=np.zeros(3, dtype=int))
    W = cp.Variable((data.K.shape[1], 4))
    f = cp.sum(cp.multiply(X, W[data.tasks]), axis=1)
    sizes = W[0] if of == "features" else cp.norm(W, axis=1)
    regulariser = 0.5 * cp.square(cp.pnorm(sizes, r))
    loss = data.C @ cp.pos(1 - cp.multiply(data.z, f))
    problem = cp.Problem(cp.Minimize(regulariser + loss))
    problem.solve(solver="CLARABEL")
    assert data.solve().primal == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize(("norm", "n_views"), [(1.0, 2), (2.0, 1)])
def test_epochs_and_theta_steps_reach_the_optimum(norm, loss, n_views):
    """Widmer 2015, Algorithm 2: epochs and theta steps alone reach the optimum by CVXPY."""
    data = case(norm, loss, n_views)
    solution = data.descend(tol=1e-4)
    assert solution.converged
    assert solution.n_epochs > 0
    assert solution.primal == pytest.approx(data.optimum(), rel=1.1e-4)


@pytest.mark.parametrize("norm", [1.01, 100.0])
def test_norms_close_to_the_ends(norm):
    data = case(norm, n_views=2, seed=3)
    solution = data.solve(tol=1e-8)
    assert solution.primal == pytest.approx(data.optimum(), rel=1e-6)
    assert size(solution.theta, norm) == pytest.approx(1.0, abs=1e-9)
    nearest = replace(data, norm=1.0 if norm < 2 else np.inf).solve(tol=1e-8)
    assert solution.primal == pytest.approx(nearest.primal, rel=3 * min(norm - 1, 1 / norm))


def test_one_norm_chooses_and_infinity_takes_all():
    sparse, full = case(1.0, n=60, n_views=2).solve(), case(np.inf, n=60, n_views=2).solve()
    assert (sparse.theta < 1e-3).sum() >= 3
    assert_array_equal(full.theta, np.ones(10))


@pytest.mark.parametrize("norm", NORMS)
def test_one_task_is_mkl_over_groups_of_features(norm):
    """Widmer 2015, 2.5.2: with one task it is MKL over groups of features, a group lasso."""
    groups = case(norm, "hinge", matrices=np.ones((1, 1, 1)), n=50, d=9)
    X = groups.X[0]
    groups.X = (X[:, :2].copy(), X[:, 2:5].copy(), csr_matrix(X[:, 5:]))
    groups.K, groups.which, groups.bias = np.ones((3, 1, 1)), np.arange(3), 0.0
    solution = groups.solve(tol=1e-9)
    groups.X = (*groups.X[:2], X[:, 5:])
    assert solution.primal == pytest.approx(groups.optimum(), rel=1e-6)
    # group lasso and its relatives: theta out of the primal leaves 1/2 (sum_g ||w_g||^r)^(2/r)
    norms = [np.linalg.norm(solution.W[part]) for part in (slice(2), slice(2, 5), slice(5, 9))]
    power = 2.0 if np.isinf(norm) else 2 * norm / (norm + 1)
    value = 0.5 * np.linalg.norm(norms, power) ** 2
    missing = np.maximum(0, 1 - groups.y * (X @ solution.W[:, 0]))
    assert value + groups.C @ missing == pytest.approx(solution.primal, rel=1e-6)


def _random_point(data, rng):
    """Feasible dual variables, kernel weights on the ball, and W_m in the range of K_m."""
    share = rng.random(data.y.size) * (rng.random(data.y.size) < 0.8)
    signs = rng.choice([-1.0, 1.0], share.size) if data.is_regression else 1.0
    alpha = signs * share * data.C * min(FORMULAS[data.loss].bound, 3.0)
    theta = rng.random(len(data.K)) * (rng.random(len(data.K)) < 0.8)
    if theta.any():
        theta /= size(theta, data.norm)
    W = [
        (share > 0) * rng.standard_normal((data.X[g].shape[1] + 1, len(K))) @ K
        for share, g, K in zip(theta, data.which, data.K, strict=True)
    ]
    return alpha, theta, W


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(EVERY_LOSS),
    st.sampled_from([*NORMS, 1.05, 30.0]),
    st.integers(1, 2),
)
def test_weak_duality_at_any_point(seed, loss, norm, n_views):
    """Widmer 2015, Problem 3: the dual is below the primal at any feasible alpha, theta and W."""
    rng = np.random.default_rng(seed)
    data = case(norm, loss, n_views, n=12, d=4, seed=seed)
    alpha, theta, W = _random_point(data, rng)
    dual = mkl.dual(*data.oracle, norm, alpha, **data.regression)
    primal = mkl.primal(*data.oracle, theta, W, **data.regression)
    assert dual <= primal + 1e-8 * abs(primal)

    there = data.descend(start=WarmStart(alpha, theta), max_epochs=0)  # a look, and no step
    own = mkl.primal(*data.oracle, theta, data.weights(there), **data.regression)
    assert_array_equal(there.alpha, alpha)
    assert there.primal == pytest.approx(own, rel=1e-9, abs=1e-9)
    assert there.dual == pytest.approx(dual, rel=1e-7, abs=1e-7)
    assert there.gap == pytest.approx((there.primal - there.dual) / there.primal, rel=1e-9)
    assert there.gap >= -1e-9
    W_all = np.concatenate(
        [
            sum(w[:-1] for w, h in zip(data.weights(there), data.which, strict=True) if h == g)
            for g in range(n_views)
        ]
    )
    assert_allclose(there.W, W_all, atol=1e-9)


def test_the_theta_step_at_the_ends():
    kernels = KernelSet(KernelStack(np.ones((3, 1, 1))), np.zeros(3, dtype=int), np.inf)
    assert_array_equal(kernels.start(), np.ones(3))
    assert_array_equal(kernels.step(np.array([0.2, 0.3, 1.0]), np.ones(3)), np.ones(3))
    kernels = replace(kernels, norm=2.0)
    assert_allclose(kernels.start(), 3**-0.5)
    theta = np.array([0.0, 0.6, 0.8])
    assert_array_equal(kernels.step(theta, np.zeros(3)), theta)
    assert kernels.step(theta, np.ones(3))[0] == 0.0


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_one_kernel_is_the_solver_with_a_fixed_kernel(loss):
    """Widmer 2015, eq. 11, 12: one kernel is the multi-task SVM with that kernel."""
    data = case(4 / 3, loss, matrices=K3[None], d=12)
    solution = data.solve(tol=1e-6)
    options = {"tol": 1e-9, "dtype": np.float64, "max_epochs": 20000}
    fixed = core.solve(replace(data.problem(), kernel=K3), **options)
    assert_array_equal(solution.theta, [1.0])
    assert solution.primal == pytest.approx(fixed.primal, rel=1.1e-6)
    primal, dual = data.problem().objectives(solution.alpha, solution.margins)
    assert (solution.primal, solution.dual) == pytest.approx((primal, dual), rel=1e-9)


def test_a_task_in_no_kernel_scores_nothing():
    matrices = np.array([PAIR, np.diag([1.0, 0.0, 0.0])])
    data = case(2.0, matrices=matrices, d=12)
    solution = data.solve(tol=1e-6)
    assert solution.primal == pytest.approx(data.optimum(), rel=2e-6)
    assert_array_equal(solution.W[:, 2], 0.0)
    assert solution.bias[2] == 0.0


def test_a_task_without_examples_borrows_from_its_relatives():
    data = case(2.0, n=60, d=12)
    kept = data.tasks != 0
    own = {name: getattr(data, name)[kept] for name in ("z", "tasks", "C")}
    data = replace(data, X=(data.X[0][kept],), **own)
    solution = data.solve(tol=1e-6)
    assert solution.primal == pytest.approx(data.optimum(), rel=2e-6)
    assert np.abs(solution.W[:, 0]).max() > 0


@pytest.mark.parametrize("n_views", [1, 2])
def test_a_start_from_the_middle_leads_to_the_same_optimum(n_views):
    data = case(4 / 3, n=60, d=12, n_views=n_views)
    starts = []
    whole = data.descend(tol=1e-6, on_epoch=lambda now, _: starts.append(copy.deepcopy(now)))
    middle = starts[len(starts) // 2 - 1]
    equal = KernelSet(KernelStack(data.K), data.which, data.norm).start()
    again = data.solve(tol=1e-6, start=middle)
    assert again.converged
    assert again.primal == pytest.approx(whole.primal, rel=1.1e-6)
    assert np.abs(middle.theta - equal).max() > 0.01
    assert again.n_epochs < whole.n_epochs
    done = data.solve(tol=1e-5, start=WarmStart(whole.alpha, whole.theta))
    assert done.n_epochs == 0
    assert_array_equal(done.theta, whole.theta)
    assert_allclose(done.W, whole.W, atol=1e-9)


@pytest.mark.parametrize("max_epochs", [1, 2, 3, 7])
def test_what_is_returned_at_the_epoch_limit_belongs_together(max_epochs):
    """Widmer 2015, eq. 4, 25, 26: at any time W_m is theta_m V K_m."""
    data = case(4 / 3, n=60, d=12, n_views=2)
    solution = data.descend(tol=1e-14, max_epochs=max_epochs)
    assert not solution.converged
    value = mkl.primal(*data.oracle, solution.theta, data.weights(solution))
    assert solution.primal == pytest.approx(value, rel=1e-9)
    X = np.hstack(data.X)
    f = (X @ solution.W + data.bias * solution.bias)[np.arange(60), data.tasks]
    assert_allclose(data.y * f, solution.margins, atol=1e-9)
