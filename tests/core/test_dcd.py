"""The solver against LIBLINEAR, kernel SVMs and a general optimiser, for every loss."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from seqmtl import PositionalKmers, TaskKernel
from seqmtl.core import dcd, gram
from seqmtl.core.dcd import WarmStart
from seqmtl.core.dcd_loops import dual_step
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import LOSSES, find_loss
from seqmtl.features._base import sparse_rows
from tests.core.cases import BY_LIBLINEAR, EVERY_LOSS, numbers, strings
from tests.oracles import dcd as oracle
from tests.oracles.losses import LOSSES as FORMULAS


@pytest.mark.parametrize(("T", "epsilon"), [(1, 0.3), (3, 0.0), (3, 0.3), (3, 50.0)])
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_the_objective_is_that_of_a_general_optimiser(loss, epsilon, T):
    """Widmer 2012, eq. 12: the dual by L-BFGS-B on the kernel matrix, for every loss."""
    if epsilon != 0.3 and loss in LOSSES:
        return
    case = numbers(loss, T=T, epsilon=epsilon, C=np.random.default_rng(1).uniform(0.2, 2, 80))
    solution = case.solve(tol=1e-9)
    _, dual = case.dual()
    assert solution.converged
    assert solution.dual == pytest.approx(dual, rel=1e-6)
    value = case.primal(solution.W, solution.bias)
    assert solution.primal == pytest.approx(value, rel=1e-8)
    assert value == pytest.approx(dual, rel=1e-6)
    f = (case.X @ solution.W)[np.arange(80), case.tasks] + solution.bias[case.tasks]
    assert_allclose(solution.margins, case.y * f, atol=1e-9)


@pytest.mark.parametrize("loss", BY_LIBLINEAR)
@pytest.mark.parametrize("features", [None, PositionalKmers("kmers:3/inf", anchor=0)])
def test_strings_are_liblinear_on_explicit_features(loss, features):
    """Widmer 2012, 4: features of strings generated on the fly are LIBLINEAR on explicit ones."""
    case = strings(loss, T=1, features=features, C=2.0)
    solution = case.solve(tol=2e-7)
    assert 0 <= solution.gap <= 2e-7
    assert solution.primal == pytest.approx(case.primal(*case.by_liblinear()), rel=1e-6)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_epochs_reach_the_optimum_on_strings(loss):
    """Widmer 2012, Theorem 1: epochs of coordinate steps reach the optimum."""
    case = strings(loss)
    solution, (_, dual) = case.solve(tol=1e-6), case.dual()
    assert solution.converged
    assert solution.primal == pytest.approx(dual, rel=2e-6)


def random_alpha(loss, C, rng):
    low = -1.0 if find_loss(loss).is_signed else 0.0
    return rng.uniform(low, 1, C.size) * C * (rng.random(C.size) < 0.8)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.sampled_from(EVERY_LOSS), st.floats(0, 2))
def test_weak_duality_at_any_point(seed, loss, epsilon):
    """Widmer 2012, eq. 10: the dual is below the primal at any two points, for every loss."""
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.1, 3, 20)
    case = numbers(loss, n=20, d=4, T=3, seed=seed, C=C, bias=0.5, epsilon=epsilon)
    alpha = random_alpha(loss, C, rng)
    primal, dual = case.problem().objectives(alpha, case.hessian() @ alpha)
    assert dual <= primal + 1e-9
    W, b = rng.standard_normal((4, 3)), rng.standard_normal(3)
    assert dual <= case.primal(W, b) + 1e-9


@settings(max_examples=150)
@given(
    st.sampled_from(EVERY_LOSS),
    st.floats(0.05, 5),
    st.floats(0.1, 10),
    st.floats(-5, 5),
    st.floats(0, 1),
    st.floats(0, 3),
)
def test_a_step_minimises_its_coordinate(loss, H, C, residual, share, epsilon):
    """Widmer 2012, eq. 18: a clipped step is the minimum over its coordinate, for every loss."""
    formula = FORMULAS[loss]
    alpha = (2 * share - 1) * C if formula.is_regression else share * C

    def value(new):
        quadratic = 0.5 * H * (new - alpha) ** 2 + residual * (new - alpha)
        return quadratic + C * formula.conjugate(new / C, epsilon)

    top = min(formula.bound * C, 200.0)
    new = dual_step(find_loss(loss, epsilon).as_numba_args, alpha, residual, H, C)
    bounds = (-top if formula.is_regression else 0.0, top)
    best = minimize_scalar(value, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    assert bounds[0] - 1e-9 <= new <= top + 1e-9
    assert value(new) <= min(best.fun, value(0.0)) + 1e-7 * (1 + abs(best.fun))


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_some_examples_are_trained_on_a_kernel_matrix(loss):
    case = numbers(loss, n=60, d=100, T=2, C=0.3, epsilon=0.2)
    case.K = np.array([[1.0, 0.4], [0.4, 1.0]])
    problem, H = case.problem(), case.hessian()
    G = gram.hessian([case.X @ case.X.T + 1.0], problem.y, problem.tasks, problem.K)
    assert_allclose(G, H, atol=1e-10)
    active, given = np.arange(0, 60, 2), np.random.default_rng(0).standard_normal(60)
    if case.is_regression:
        given -= case.z
    full, residuals = np.zeros(60), given.copy()
    options = {"given": given, "tol": 1e-12}
    gram.solve(G, active, full, residuals, problem.C, problem.loss, **options)
    assert_allclose(residuals, H @ full + given, atol=1e-9)
    assert not np.delete(full, active).any()
    alpha = full[active]
    gradient = problem.loss.gradient(alpha, residuals[active], problem.C[active])
    at_zero = alpha == 0
    at_top = (np.abs(alpha) >= 0.3) & problem.loss.reaches_C
    assert_allclose(gradient[~at_zero & ~at_top], 0.0, atol=1e-4)
    away = np.abs(gradient) - 0.2 if case.is_regression else -gradient
    assert (away[at_zero] < 1e-4).all()
    assert (np.sign(alpha) * gradient < 1e-4)[at_top].all()


def test_runs_are_reproducible_and_seeds_differ():
    case = strings()
    first, again, other = (case.solve(seed=s, tol=1e-3) for s in (1, 1, 2))
    assert_array_equal(first.W, again.W)
    assert_array_equal(first.alpha, again.alpha)
    assert (first.alpha != other.alpha).any()


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_a_warm_start_needs_fewer_epochs(loss):
    case, saved = strings(loss), []
    whole = case.solve(tol=1e-6, on_epoch=lambda now, _: saved.append(now.alpha.copy()))
    half = case.solve(tol=1e-6, start=WarmStart(saved[len(saved) // 2]))
    assert half.gap <= 1e-6
    assert half.n_epochs < whole.n_epochs
    assert half.primal == pytest.approx(whole.primal, rel=1.1e-6)
    again = case.solve(tol=1e-5, start=WarmStart(whole.alpha))
    assert (again.n_epochs, again.converged) == (0, True)
    assert_allclose(again.W, whole.W, atol=1e-9)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_the_gap_holds_after_a_start_out_of_bounds(loss):
    case = numbers(loss)
    far = np.random.default_rng(0).normal(0.0, 9.0, case.z.size)
    for alpha in (far, np.abs(far), np.full(case.z.size, 1e4)):
        solution = case.solve(tol=1e-6, start=WarmStart(alpha))
        assert solution.gap <= 1e-6
        assert solution.primal == pytest.approx(case.solve(tol=1e-6).primal, rel=1.1e-6)


def test_the_epoch_limit_is_kept_and_the_gap_reported():
    solution = strings(T=1).solve(tol=1e-9, max_epochs=2)
    assert (solution.n_epochs, solution.converged) == (2, False)
    assert solution.gap > 1e-9


class _Recorded:
    """A generator of random numbers that remembers the orders that it gave."""

    def __init__(self, seed):
        self._rng, self.orders = np.random.default_rng(seed), []

    def permutation(self, rows):
        self.orders.append(self._rng.permutation(rows))
        return self.orders[-1]


@pytest.mark.parametrize(
    ("features", "loss"),
    [
        *(("numbers", loss) for loss in LOSSES),
        ("slots", "logistic"),
        ("lists of strings", "hinge"),
        ("groups of tasks", "squared_hinge"),
    ],
)
def test_every_epoch_is_the_algorithm_of_the_paper(features, loss):
    """Widmer 2012, Algorithm 1: the same alpha after each epoch, in the same order."""
    case = numbers(loss, T=3, bias=0.0)
    if features != "numbers":
        spectrum = (
            PositionalKmers("kmers:2/inf", anchor=0) if features == "lists of strings" else None
        )
        case = strings(loss, degree=3, features=spectrum, bias=0.0)
        case.X = sparse_rows(case.rows, np.arange(400), np.float64).toarray()
    problem = case.problem()
    if features == "groups of tasks":
        tree = TaskKernel.hierarchical(_ladder(24)).restrict([f"t{t}" for t in range(24)])
        case = replace(case, tasks=np.arange(400) % 24, K=tree.matrix)
        mean = tree.stack.means([range(tree.n_kernels)])
        problem = replace(case.problem(), kernel=GroupedKernel.of(mean))
        assert not problem.kernel.is_single
    descent = dcd.Descent(problem, dtype=np.float64)
    descent._rng = recorded = _Recorded(1)
    alpha, W = np.zeros(case.z.size), np.zeros((case.X.shape[1], len(case.K)))
    epochs = []  # dual variables and order of each
    descent.record(*descent.objectives())
    while len(epochs) < 2:
        descent.run_epochs(
            np.inf, lambda start, _: epochs.append((start.alpha.copy(), recorded.orders[-1]))
        )
    for found, order in epochs:
        arguments = case.X, case.y, case.tasks, case.K, problem.C, loss
        alpha, W = oracle.epoch(order, *arguments, alpha, W)
        assert_allclose(found, alpha, atol=1e-11)
        assert order.size > 0
        assert alpha.any()


def _ladder(T):
    """Return a tree in which every clade has one leaf less than the one above."""
    text = f"(t{T - 2}:1,t{T - 1}:1)"
    for t in range(T - 3, -1, -1):
        text = f"(t{t}:1,{text}:1)"
    return text + ";"
