"""Problems of kernel space, written down for cvxpy in the functions, intercepts and slacks.

Every kernel matrix stands as features, from its eigenvectors; nothing of the package is used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

GAMMAS = (0.3, 1.5)


def rbf(X, Z, gamma):
    """Return a Gaussian kernel from its formula."""
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def kernels(X, Z=None):
    """Return a linear and two Gaussian kernels from their formulas, shape (3, n, m)."""
    Z = X if Z is None else Z
    return np.array([X @ Z.T, *(rbf(X, Z, gamma) for gamma in GAMMAS)])


def factor(H):
    """Return F with F F' = H."""
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


@dataclass
class Data:
    """Examples of several tasks, of which the last is hard."""

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    C: float

    @property
    def tasks(self):
        """(kernel matrices, labels) of every task."""
        for name in np.unique(self.names):
            own = self.names == name
            yield kernels(self.X[own]), self.y[own]


def data(seed=0, n=12, T=3, d=2, C=1.0):
    """Make a small problem; numbers of examples differ between tasks."""
    rng = np.random.default_rng(seed)
    X, y, names = [], [], []
    for t in range(T):
        size = n + 2 * t
        x = rng.standard_normal((size, d))
        score = x[:, 0] + (t - 1) * (x[:, 1] ** 2 - 1) + (0.3 + 0.5 * t) * rng.standard_normal(size)
        X.append(x)
        y.append(np.where(np.argsort(np.argsort(score)) >= size // 2, 1.0, -1.0))
        names += ["abcdefgh"[t]] * size
    return Data(np.concatenate(X), np.concatenate(y), np.array(names), C)


class Machine:
    """Variables of one support vector machine with several kernels and an intercept."""

    def __init__(self, matrices, y, cost, intercept=True):
        F = [factor(H) for H in matrices]
        self.w = [cp.Variable(f.shape[1]) for f in F]
        b, xi = cp.Variable() if intercept else 0.0, cp.Variable(y.size, nonneg=True)
        f = sum(part @ w for part, w in zip(F, self.w, strict=True)) + b
        self.constraints = [cp.multiply(y, f) >= 1 - xi]
        self.losses = cp.sum(cp.multiply(cost, xi))

    def objective(self, theta):
        """1/2 sum_m ||w_m||^2 / theta_m + the losses."""
        return self.losses + 0.5 * sum(cp.quad_over_lin(w, theta[m]) for m, w in enumerate(self.w))


def machines(given):
    """Return a machine for every task."""
    return [Machine(H, y, given.C) for H, y in given.tasks]


def ball(M, norm):
    """Return theta and the constraint ||theta||_norm <= 1."""
    theta = cp.Variable(M, nonneg=True)
    return theta, [cp.pnorm(theta, norm) <= 1 if np.isfinite(norm) else cp.max(theta) <= 1]


def minimise(objective, constraints):
    """Return the optimum."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    for tol in (1e-8, 1e-7):  # on some processors the last digit is out of reach for a few
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tol)
        with np.errstate(divide="ignore"), warnings.catch_warnings():  # w^2 / theta at 0 / 0
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            problem.solve(solver=cp.CLARABEL, **options)
        if problem.status == cp.OPTIMAL:
            break
    assert problem.status == cp.OPTIMAL, problem.status
    return problem.solution.opt_val


def _constraints(found):
    return [rule for machine in found for rule in machine.constraints]


def pareto(given, p, norm):
    """Minimise (sum_t g_t^p)^(1/p), p >= 1; return the optimum and theta."""
    found = machines(given)
    theta, rules = ball(3, norm)
    g = cp.Variable(len(found), nonneg=True)
    rules += [machine.objective(theta) <= g[t] for t, machine in enumerate(found)]
    value = cp.max(g) if np.isinf(p) else cp.pnorm(g, p)
    return minimise(value, rules + _constraints(found)), theta.value


def weighted(given, weights, norm):
    """Minimise sum_t lambda_t g_t; return the optimum and theta."""
    found = machines(given)
    theta, rules = ball(3, norm)
    total = sum(
        weight * machine.objective(theta) for weight, machine in zip(weights, found, strict=True)
    )
    return minimise(total, rules + _constraints(found)), theta.value


def partial(given, share):
    """Tang et al. 2009: zeta in common, gamma_t of one's own; return optimum, zeta, theta."""
    found = machines(given)
    zeta, gamma = cp.Variable(3, nonneg=True), cp.Variable((len(found), 3), nonneg=True)
    rules = [cp.sum(zeta) <= share, cp.sum(gamma, axis=1) <= 1 - share]
    total = sum(machine.objective(zeta + gamma[t]) for t, machine in enumerate(found))
    value = minimise(total, rules + _constraints(found))
    return value, zeta.value, zeta.value + gamma.value


def mixed_norm(given, q):
    """1/2 (sum_m (sum_t ||w_tm||^q)^(1/q))^2 + the losses; return the optimum."""
    found = machines(given)
    size = cp.Variable((len(found), 3), nonneg=True)
    rules = [
        cp.norm(w, 2) <= size[t, m]
        for t, machine in enumerate(found)
        for m, w in enumerate(machine.w)
    ]
    norm = sum(cp.pnorm(size[:, m], q) for m in range(3))
    losses = sum(machine.losses for machine in found)
    return minimise(0.5 * cp.square(norm) + losses, rules + _constraints(found))


def products(matrices, y, cost, norm):
    """Multi-task MKL over given matrices of all examples, no intercept; optimum and theta."""
    machine = Machine(matrices, y, cost, intercept=False)
    theta, rules = ball(len(matrices), norm)
    return minimise(machine.objective(theta), rules + machine.constraints), theta.value


def svm(H, y, cost):
    """One machine with an intercept; return the optimum."""
    machine = Machine([H], y, cost)
    return minimise(machine.objective(np.ones(1)), machine.constraints)
