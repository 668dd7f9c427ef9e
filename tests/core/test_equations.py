"""Equations of Widmer et al. (2012, 2015) and their slips, in numbers."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar

from seqmtl import TaskKernel
from seqmtl.core.dcd import WarmStart
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.core.losses import LOSSES, find_loss
from seqmtl.core.mkl import KernelSet
from seqmtl.core.norms import minimise_on_ball
from tests.core import test_mkl
from tests.core.cases import EVERY_LOSS, K3, numbers
from tests.oracles import mkl, svm
from tests.oracles.losses import LOSSES as FORMULAS

EDGES = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
L = np.diag(EDGES.sum(axis=1)) - EDGES
M = np.linalg.inv(np.eye(3) + L)


def case(**options):
    """Three tasks of 2012 with M = (I + L)^-1, without the constant feature."""
    return replace(numbers(n=40, d=4, T=3, **({"C": 0.7, "bias": 0.0} | options)), K=M)


def psi(data):
    """The examples of 2012, eq. 6, shape (n, T d): zeros but in the block of the own task."""
    return np.einsum("it,id->itd", np.eye(3)[data.tasks], data.X).reshape(len(data.X), -1)


def block(B, d=4):
    """Block matrix of 2012, eq. 7, shape (T d, T d)."""
    return np.kron(B, np.eye(d))


def pairs(W, A):
    """Sum over s and t of A[s,t] ||w_s - w_t||^2."""
    return sum(A[s, t] * ((W[:, s] - W[:, t]) ** 2).sum() for s, t in np.ndindex(A.shape))


# -- Widmer, Kloft, Goernitz, Raetsch (2012) -------------------------------------------------------


def test_blocks_give_the_product_kernel():
    """Widmer 2012, eq. 6, 7: psi(x)' block(M) psi(z) is M[s,t] <x, z>."""
    data = case()
    H = svm.multitask_kernel(data.X, data.tasks, M, 0.0)
    assert_allclose(psi(data) @ block(M) @ psi(data).T, H, atol=1e-12)
    assert_allclose(np.linalg.inv(block(np.eye(3) + L)), block(M), atol=1e-12)


def test_the_laplacian_counts_every_pair_once():
    """Widmer 2012, eq. 2, 4, 5: w'Lw is half of eq. 2, so that eq. 4 and 5 differ by 2."""
    W = np.random.default_rng(0).standard_normal((4, 3))
    J = 0.5 * pairs(W, EDGES)
    assert np.einsum("ds,st,dt->", W, L, W) == pytest.approx(J)  # eq. 4
    in_primal = 0.5 * np.einsum("ds,st,dt->", W, L, W)  # eq. 5, which the solver minimises
    assert in_primal == pytest.approx(0.25 * pairs(W, EDGES))
    assert in_primal == pytest.approx(0.5 * J)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_primal_in_blocks_is_that_of_cvxpy(loss):
    """Widmer 2012, eq. 1, 8: the primal in block form, solved by CVXPY."""
    data = case(loss=loss)
    w = cp.Variable(12)
    margins = cp.multiply(data.z, psi(data) @ w)
    energy = cp.sum_squares(np.linalg.cholesky(block(np.eye(3) + L)).T @ w)
    problem = cp.Problem(
        cp.Minimize(0.5 * energy + 0.7 * cp.sum(FORMULAS[loss].value(margins, 0.0)))
    )
    problem.solve(solver=cp.CLARABEL)
    solution = data.solve(tol=1e-8)
    assert solution.primal == pytest.approx(problem.value, rel=1e-6)
    assert_allclose(solution.W.T.ravel(), w.value, atol=1e-3)


def test_the_lagrangian_has_its_saddle_point_at_the_solution():
    """Widmer 2012, eq. 9: at alpha, w minimises 1/2 w'block(I+L)w - sum alpha_i y_i w'psi(x_i)."""
    data = case()
    solution = data.solve(tol=1e-10)
    push = psi(data).T @ (solution.alpha * data.z)
    gradient = block(np.eye(3) + L) @ solution.W.T.ravel() - push
    assert_allclose(gradient, 0.0, atol=1e-9)
    slack = np.maximum(0, 1 - solution.margins)
    lagrangian = 0.5 * solution.W.T.ravel() @ push + 0.7 * slack.sum()
    assert lagrangian == pytest.approx(solution.dual, rel=1e-8)


def test_weights_are_mixed_virtual_weights():
    """Widmer 2012, eq. 13 to 16: w = sum_i alpha_i y_i block(M) psi(x_i), without a w inside."""
    data = case()
    solution = data.solve(tol=1e-3, max_epochs=2)  # at any alpha
    signed = solution.alpha * data.z
    V = np.stack([signed[data.tasks == t] @ data.X[data.tasks == t] for t in range(3)], axis=1)
    by_examples = [(M[t, data.tasks] * signed) @ data.X for t in range(3)]
    assert_allclose(solution.W.T, by_examples, atol=1e-12)
    assert_allclose(solution.W, V @ M, atol=1e-12)
    assert_allclose(solution.W.T.ravel(), block(M) @ psi(data).T @ signed, atol=1e-12)


def test_the_dual_norm_is_of_virtual_weights():
    """Widmer 2012, display after eq. 12: 1/2 sum m_st v_s'v_t, of the v and not of the w."""
    data = case()
    solution = data.solve(tol=1e-9)
    signed = solution.alpha * data.z
    V = np.stack([signed[data.tasks == t] @ data.X[data.tasks == t] for t in range(3)], axis=1)
    energy = 0.5 * np.einsum("st,ds,dt->", M, V, V)
    assert solution.dual == pytest.approx(solution.alpha.sum() - energy, rel=1e-9)
    of_weights = 0.5 * np.einsum("st,ds,dt->", M, solution.W, solution.W)
    assert abs(solution.alpha.sum() - of_weights - solution.dual) > 0.01 * solution.dual


@pytest.mark.parametrize("share", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("C", [0.05, 10.0])
def test_a_step_divides_by_the_diagonal_of_the_task_kernel(share, C):
    """Widmer 2012, eq. 17, 18: d = (1 - y w'x) / (m_tt x'x), clipped; not over x'x alone."""
    x = np.array([[0.6, -0.8, 1.2]])
    data = replace(numbers(T=1), X=x, z=np.ones(1), tasks=np.zeros(1, int), K=np.eye(1) * share)
    data = replace(data, C=C, bias=0.0)
    H = share * float(x[0] @ x[0])
    start = WarmStart(np.array([0.03]))
    solution = data.solve(start=start, max_epochs=1, tol=1e-12)
    step = (1 - 0.03 * H) / H
    assert solution.alpha[0] == pytest.approx(max(0.0, min(C, 0.03 + step)), rel=1e-12)


def descend(H, diagonal, C, n_epochs=300):
    """Algorithm 1 of 2012 in plain loops; return the dual objective after every epoch."""
    alpha, values = np.zeros(len(H)), []
    for _ in range(n_epochs):
        for i in range(len(H)):
            alpha[i] = max(0.0, min(C, alpha[i] + (1 - H[i] @ alpha) / diagonal[i]))
        values.append(alpha.sum() - 0.5 * alpha @ H @ alpha)
    return np.array(values)


def test_the_published_step_overshoots_where_a_task_weighs_more_than_two():
    """Widmer 2012, Algorithm 1: with m_tt x'x it rises to the optimum; with x'x it need not."""
    data = replace(case(), K=5.0 * M / M.max())
    H = data.hessian()
    right = descend(H, np.diagonal(H), 0.7)
    assert (np.diff(right) >= -1e-9 * abs(right[-1])).all()
    assert right[-1] == pytest.approx(data.solve(tol=1e-9).dual, rel=1e-3)
    published = descend(H, (data.X**2).sum(axis=1), 0.7)
    assert (np.diff(published) < 0).any()
    assert published[-1] < right[-1]


# -- Widmer, Kloft, Sreedharan, Raetsch (2015) -----------------------------------------------------


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_dual_terms_are_conjugates(loss):
    """Widmer 2015, Table 1, eq. 8, Lemma 11: -C l*(-a / C) by a numerical infimum, and in print.

    Also the terms of Widmer 2012, Table 1. The logistic one is -a log(-a) + (1 + a) log(1 + a).
    """
    C = np.array([0.5, 1.0, 3.0])
    for share in (0.1, 0.5, 0.9):
        alpha = share * C
        expected = [mkl.conjugate_term(loss, a, c, 0.2) for a, c in zip(alpha, C, strict=True)]
        assert_allclose(find_loss(loss, 0.2).dual(alpha, C), expected, atol=1e-7)
        assert_allclose(expected, -C * FORMULAS[loss].conjugate(share, 0.2), atol=1e-7)
        below, above = (FORMULAS[loss].conjugate(share + step, 0.2) for step in (-1e-5, 1e-5))
        slope = (above - below) / 2e-5
        assert FORMULAS[loss].slope(share, 0.2) == pytest.approx(slope, abs=1e-7)
        if loss == "logistic":
            a = -share
            conjugate = -a * np.log(-a) + (1 + a) * np.log(1 + a)
            assert_allclose(expected, -C * conjugate, atol=1e-7)


def test_the_conjugate_of_the_regulariser_has_the_inverse():
    """Widmer 2015, eq. 1: the supremum of <V, W> - 1/2 tr(V Q V') is 1/2 tr(W Q^-1 W')."""
    W = np.random.default_rng(1).standard_normal((2, 3))
    Q = np.linalg.inv(K3)

    def negative(v):
        V = v.reshape(2, 3)
        return 0.5 * np.trace(V @ Q @ V.T) - (V * W).sum(), (V @ Q - W).ravel()

    found = minimize(negative, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-10})
    assert -found.fun == pytest.approx(0.5 * np.trace(W @ K3 @ W.T), rel=1e-9)
    assert_allclose(found.x.reshape(2, 3), W @ K3, atol=1e-6)


def test_energies_are_sums_over_pairs_of_examples():
    """Widmer 2015, eq. 3, 5, 6: ||A*_m(alpha)||^2 is sum alpha_i alpha_j y_i y_j K_m[t_i,t_j] k."""
    data = numbers(n=15, T=3)
    alpha = np.random.default_rng(2).random(15)
    signed = alpha * data.z
    V = np.stack([signed[data.tasks == t] @ data.X[data.tasks == t] for t in range(3)], axis=1)
    matrices = test_mkl.KERNELS
    kernels = KernelSet(KernelStack(matrices), np.zeros(len(matrices), dtype=int), 2.0)
    found = kernels.energies([(V.T @ V)[None]])
    for K, q in zip(matrices, found, strict=True):
        pairwise = 0.0
        for i, j in np.ndindex(15, 15):
            k = K[data.tasks[i], data.tasks[j]] * (data.X[i] @ data.X[j])
            pairwise += signed[i] * signed[j] * k
        assert q == pytest.approx(pairwise, rel=1e-9)


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
def test_the_order_of_theta_and_alpha_does_not_matter(norm):
    """Widmer 2015, eq. 2, Problem 2: minimum over theta of the maximum over alpha, by CVXPY."""
    data = test_mkl.case(norm, n=20, matrices=test_mkl.KERNELS[:2], seed=4)
    grams = [X @ X.T for X in data.oracle[0]]
    common = (grams, data.y, data.tasks)

    def inner(angle):
        theta = np.abs([np.cos(angle), np.sin(angle)])
        theta = theta / np.linalg.norm(theta, norm)
        K = np.tensordot(theta, data.K, 1)[None]
        return mkl.solve_dual(*common, K, data.which[:1], data.C, "hinge", 1.0)

    outer = minimize_scalar(inner, bounds=(0, np.pi / 2), method="bounded", options={"xatol": 1e-5})
    assert outer.fun == pytest.approx(data.solve().primal, rel=1e-5)


def test_the_last_term_of_the_dual_is_subtracted():
    """Widmer 2015, Problem 3: minus C L*(-alpha / C), as in Problem 2; plus has no optimum."""
    data = test_mkl.case(2.0)
    solution = data.solve()
    q = [
        solution.alpha @ H @ solution.alpha
        for H in mkl.hessians(
            [X @ X.T for X in data.oracle[0]], data.y, data.tasks, data.K, data.which
        )
    ]
    minus = solution.alpha.sum() - 0.5 * np.linalg.norm(q, 2.0)
    assert minus == pytest.approx(solution.primal, rel=1e-7)
    assert -solution.alpha.sum() - 0.5 * np.linalg.norm(q, 2.0) < 0 < minus


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_the_theta_step_is_the_minimum_on_the_ball(p):
    """Widmer 2015, eq. 22: theta_m in closed form against CVXPY; a_m to the power 1/(p+1)."""
    a = np.array([0.2, 3.0, 0.7, 0.0])
    theta = cp.Variable(4, nonneg=True)
    total = sum(cp.inv_pos(theta[m]) * a[m] for m in range(3))
    problem = cp.Problem(cp.Minimize(total), [cp.pnorm(theta, p) <= 1, theta[3] == 0])
    problem.solve(solver=cp.CLARABEL)
    found = minimise_on_ball(a, p)
    assert_allclose(found, theta.value, atol=1e-4)
    assert (a[:3] / found[:3]).sum() == pytest.approx(problem.value, rel=1e-6)
    assert np.linalg.norm(found, p) == pytest.approx(1.0)


def test_a_step_has_theta_once():
    """Widmer 2015, eq. 23, 24: d = (1 - y f) / sum_m theta_m K_m[t,t] k; w holds theta already."""
    x = np.array([[0.6, -0.8, 1.2]])
    data = replace(
        test_mkl.case(2.0, matrices=K3[None]),
        X=(x,),
        z=np.ones(1),
        tasks=np.ones(1, np.int16),
        K=np.array([K3, np.eye(3), np.ones((3, 3))]),
        which=np.zeros(3, int),
        C=np.full(1, 9.0),
        bias=0.0,
    )
    theta = np.array([0.6, 0.8, 0.0])
    H = theta @ data.K[:, 1, 1] * float(x[0] @ x[0])
    found = data.descend(start=WarmStart(np.array([0.1]), theta), max_epochs=1)
    assert found.alpha[0] == pytest.approx(0.1 + (1 - 0.1 * H) / H, rel=1e-12)
    twice = 0.1 + (1 - 0.1 * theta**2 @ data.K[:, 1, 1] * float(x[0] @ x[0])) / H
    assert abs(found.alpha[0] - twice) > 0.01


def test_the_centre_of_a_cluster_is_the_minimiser():
    """Widmer 2015, eq. 13, 14: eq. 14 needs the centre that minimises eq. 13, not the mean."""
    rng = np.random.default_rng(3)
    W, r, rho, lam = rng.standard_normal((2, 4)), rng.uniform(0.5, 2, 4), 0.8, 0.3

    def value(centre):
        apart = ((W - np.reshape(centre, (2, 1))) ** 2).sum(axis=0)
        return 0.5 * (lam * (W**2).sum() + rho * (np.square(centre)).sum() + r @ apart)

    Q = np.linalg.inv(TaskKernel.clustering([r], "abcd", lam=lam, rho_centre=rho).matrix)
    expected = 0.5 * np.trace(W @ Q @ W.T)
    assert minimize(value, np.zeros(2)).fun == pytest.approx(expected, rel=1e-8)
    assert value(W.mean(axis=1)) > 1.01 * expected


def test_the_graph_regulariser_counts_every_pair_once():
    """Widmer 2015, eq. 16, 17, 18: eq. 17 and 18 are the solver's; eq. 16 has every pair twice."""
    W = np.random.default_rng(0).standard_normal((4, 3))
    Q = np.linalg.inv(TaskKernel.graph(EDGES, "abc").matrix)
    expected = 0.5 * np.trace(W @ Q @ W.T)
    assert 0.5 * ((W**2).sum() + 0.5 * pairs(W, EDGES)) == pytest.approx(expected)
    assert 0.5 * ((W**2).sum() + pairs(W, EDGES)) > 1.01 * expected


def test_a_pseudo_inverse_has_reciprocal_eigenvalues():
    """Widmer 2015, eq. 19: 1 / sigma_i belongs there, and L+ is not the inverse of I + L."""
    values, vectors = np.linalg.eigh(L)
    kept = values > 1e-9
    right = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    assert_allclose(right, np.linalg.pinv(L, hermitian=True), atol=1e-12)
    as_printed = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    assert_allclose(as_printed, L, atol=1e-12)
    K = TaskKernel.graph(EDGES, "abc").matrix
    assert_allclose(K, (vectors / (1 + values)) @ vectors.T, atol=1e-12)
    assert np.abs(K - right).max() > 0.1


def test_groups_of_a_tree_are_pseudo_inverses_and_theta_divides():
    """Widmer 2015, eq. 20, 21: Q_m^-1 is pinv(G_m), and not (I + G_m)^-1; theta_m divides."""
    K = TaskKernel.hierarchical("((a,b),c);", "abc").matrices[1]
    G = np.array([[2, -1, 0], [-1, 2, 0], [0, 0, 0]]) / 3
    assert_allclose(K, np.linalg.pinv(G, hermitian=True), atol=1e-12)
    assert np.abs(K - np.linalg.inv(np.eye(3) + G)).max() > 0.3
    w, theta = np.array([0.4, -1.0]), np.array([0.3, 0.7])  # two groups, one feature, K = 1
    assert (w**2 / theta).sum() != pytest.approx((theta * w**2).sum())
    best = minimise_on_ball(w**2, 1.0)  # what Problem 1 weighs: large functions get large theta
    assert best[1] > best[0]


def test_similarity_falls_with_distance():
    """Widmer 2015, 2.6.3: exp(-Dist / sigma) is a kernel of a tree; exp(Dist / sigma) is none."""
    D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 3.0], [3.0, 3.0, 0.0]])
    assert_allclose(TaskKernel.smooth(D, [2.0], names="abc").matrix, np.exp(-D / 2.0))
    assert np.linalg.eigvalsh(np.exp(D / 2.0))[0] < -0.1
