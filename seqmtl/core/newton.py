"""Second-order steps for problems with few weights: few columns, or few columns times tasks.

Where many examples share few weights, coordinate descent is slow. A step here solves the equations
for all weights at once.

The losses with a derivative take Newton's method with line search on the primal; D_i is C_i
times the second derivative of the loss. The hinge and the epsilon-insensitive loss take interior
points on the dual (:mod:`seqmtl.core.interior`), which end close to the bounds of alpha. Then
proximal steps, maximising the dual minus sum_i (alpha_i - alpha_i')^2 / (2 s C_i), put every
alpha_i on the bound where it belongs. Their primal has a loss that is quadratic near the kinks, so
that Newton's method solves them exactly.

=========  ==============================================================================
K          task kernel, lam I + R R': lam its smallest eigenvalue, R of shape (T, r)
H          Hessian of the dual, y_i y_j K[t_i, t_j] <phi(x_i), phi(x_j)>; never formed
D_i        minus the change of alpha_i by the change of margin i, along a step
B_t        sum of D_i phi(x_i) phi(x_i)' over the examples of task t, d x d
P_t        I + lam B_t
E_t        P_t^-1 B_t = (I - P_t^-1) / lam
S          I + sum_t (R_t R_t') (x) E_t, of size r d
=========  ==============================================================================

The weights W of shape (T, d) that solve (I + K B) W = K G are W_t = P_t^-1 (lam G_t + (R s)_t),
S s = R' P^-1 G: d equations for each task, and r d for all together. K = I has r = 0; the default,
the union and complete graphs of equal edges have r = 1; a tree has at most r = T - 1.

Sources: Chapelle (2007), Neural Comput. 19; Ferris, Munson (2002), SIAM J. Optim. 13; Rockafellar
(1976), SIAM J. Control Optim. 14.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.interior import minimise_in_cube
from seqmtl.core.problem import Problem, relative_gap

Array = NDArray[np.float64]
Response = Callable[[Array], tuple[Array, Array, Array]]

_SAME = 1e-12  # eigenvalues of K that differ by less, relative to the largest, count as equal
_THIN = 1e-6  # smaller eigenvalues of K, relative to the largest, are not split off
# Plain choices: what a machine solves in seconds, and holds beside the examples.
_MAX_EQUATIONS = 4000
_MAX_BYTES = 1 << 30  # limit on the copy of the examples, and on the equations of the tasks
_INTERIOR_STEPS = 15  # expected, to decide when these steps pay; there may be three times as many
_NEWTON_STEPS = 5  # expected
_MAX_STEPS = 40
_PRECISE = 1e-6  # interior points end at a hundredth of this gap at the latest
_SHARPNESS = (1.0, 10.0, 100.0)  # s of the proximal steps; a plain choice
_ROUNDING = 1e-20  # square of a step that counts as 0, relative to the regulariser


def split(K: Array) -> tuple[float, Array]:
    """Return lam and R of K = lam I + R R', R with as few columns as possible."""
    values, U = np.linalg.eigh(K)
    lam = float(values[0]) if values[0] > _THIN * values[-1] else 0.0
    is_split = values - lam > _SAME * values[-1]
    return lam, U[:, is_split] * np.sqrt(values[is_split] - lam)


class LowDimProblem:
    """A problem with one view and few columns, its examples sorted by task.

    Parameters
    ----------
    problem : Problem
        The problem, whose rows are not used.
    X : ndarray of float64, shape (n, d)
        Its rows.

    Attributes
    ----------
    problem : Problem
        The problem with its examples in sorted order, as in all methods.
    order : ndarray of int64, shape (n,)
        The examples in this order.
    n_steps : int
        Number of times that equations were set up.
    """

    def __init__(self, problem: Problem, X: Array) -> None:
        self.order = order = np.argsort(problem.tasks, kind="stable")
        p = self.problem = replace(
            problem,
            y=problem.y[order],
            C=problem.C[order],
            tasks=problem.tasks[order],
            targets=problem.targets[order] if problem.targets.size else problem.targets,
        )
        self.K = p.K[0]
        self._lam, self._R = split(self.K)
        ends = np.searchsorted(p.tasks, np.arange(len(self.K) + 1))
        self._parts = [slice(a, b) for a, b in pairwise(ends)]
        self._X = np.full((order.size, X.shape[1] + (p.bias_scale > 0.0)), p.bias_scale)
        for part in self._parts:
            self._X[part, : X.shape[1]] = X[order[part]]
        self._X *= p.y[:, None]
        self.n_steps = 0

    def virtual(self, alpha: Array) -> Array:
        """Return the virtual weights V of the tasks, shape (T, d)."""
        return np.array([alpha[part] @ self._X[part] for part in self._parts])

    def margins(self, W: Array) -> Array:
        """Return the margins at weights of shape (T, d)."""
        return np.concatenate([self._X[part] @ w for part, w in zip(self._parts, W, strict=True)])

    def hessian(self, alpha: Array) -> Array:
        """Return H alpha, the margins at W = V K."""
        return self.margins(self.K @ self.virtual(alpha))

    def gap(self, alpha: Array) -> float:
        """Return the relative duality gap."""
        return relative_gap(*self.problem.objectives(alpha, self.hessian(alpha)))

    def factor(self, D: Array) -> Callable[[Array], Array]:
        """Return a function of G that solves (I + K B) W = K G, both of shape (T, d).

        Raises
        ------
        numpy.linalg.LinAlgError
            If the equations are singular to rounding.
        """
        from scipy.linalg import cho_factor, cho_solve

        self.n_steps += 1
        lam, R, (T, r), d = self._lam, self._R, self._R.shape, self._X.shape[1]
        B = np.empty((T, d, d))
        for part, product in zip(self._parts, B, strict=True):
            np.matmul(self._X[part].T * D[part], self._X[part], out=product)
        root = np.linalg.inv(np.linalg.cholesky(np.eye(d) + lam * B))  # its square is P_t^-1
        E = (np.eye(d) - root.swapaxes(1, 2) @ root) / lam if lam else B
        S = (R[:, :, None] * R[:, None]).reshape(T, r * r).T @ E.reshape(T, d * d)
        S = S.reshape(r, r, d, d).swapaxes(1, 2).reshape(r * d, r * d)
        S[np.diag_indices(r * d)] += 1.0
        factors = cho_factor(S, overwrite_a=True) if r else None

        def solve_tasks(G: Array) -> Array:
            return np.asarray((root.swapaxes(1, 2) @ (root @ G[:, :, None]))[:, :, 0])

        def solve(G: Array) -> Array:
            W = lam * G
            if factors is not None:
                W += R @ cho_solve(factors, (R.T @ solve_tasks(G)).ravel()).reshape(r, d)
            return solve_tasks(W)

        return solve


def newton(low_dim: LowDimProblem, start: Array, response: Response) -> Array:
    """Return the alpha that belongs to its own margins, by Newton's method on the primal.

    The response returns the alpha_i that belong to margins, their D_i, and the losses times C_i.
    """
    alpha, m = start, low_dim.hessian(start)
    for _ in range(_MAX_STEPS):
        target, D, losses = response(m)
        change = target - alpha
        if abs(float(change @ low_dim.hessian(change))) <= _ROUNDING * abs(float(alpha @ m)):
            break
        along = low_dim.margins(low_dim.factor(D)(low_dim.virtual(change)))
        change -= D * along
        linear, square = float(alpha @ along), 0.5 * float(change @ along)
        slope = linear - float(target @ along)
        for size in 0.5 ** np.arange(40.0):  # backtracking, with the condition of Armijo
            gain = float((response(m + size * along)[2] - losses).sum())
            if gain + size * (linear + size * square) <= 1e-4 * size * slope:
                break
        else:
            break  # no decrease but by rounding
        alpha, m = alpha + size * change, m + size * along
    return response(m)[0]


def solve(low_dim: LowDimProblem, start: Array, tol: float) -> Array:
    """Return alpha, in sorted order, with a relative gap of about tol or the least possible.

    Parameters
    ----------
    low_dim : LowDimProblem
        The problem.
    start : ndarray of float64, shape (n,)
        Initial dual variables.
    tol : float
        Relative duality gap.
    """
    p = low_dim.problem
    loss = p.loss
    if loss.is_smooth:
        return newton(low_dim, start, lambda m: loss.dual_from_margins(p.residuals(m), p.C))
    H = BoxScaledHessian(low_dim)
    targets = H.to_parts(loss.required_margin - p.residuals(np.zeros(p.C.size))) - loss.epsilon
    share = 0.01 * min(tol, _PRECISE)  # so close that the bounds of alpha can be recognised
    x = minimise_in_cube(H, H.C * targets, np.zeros(targets.size), 0.0, share=share)
    best = alpha = H.to_alpha(H.C * x)
    lowest = low_dim.gap(alpha)
    for s in _SHARPNESS:

        def proximal(m: Array, centre: Array = alpha, s: float = s) -> tuple[Array, Array, Array]:
            return loss.proximal(p.residuals(m), p.C, centre, s)

        alpha = newton(low_dim, alpha, proximal)
        gap = low_dim.gap(alpha)
        if gap <= max(tol, lowest):
            best, lowest = alpha, gap
        if not tol < gap < 1.0:
            break
    return best


class BoxScaledHessian:
    """H scaled to the unit cube, for :func:`seqmtl.core.interior.minimise_in_cube`.

    In regression, alpha has two parts, for predictions that are too low and too high.
    """

    def __init__(self, low_dim: LowDimProblem) -> None:
        self._low_dim, self._n_parts = low_dim, 2 if low_dim.problem.loss.is_signed else 1
        self.C = np.tile(low_dim.problem.C, self._n_parts)

    def __matmul__(self, x: Array) -> Array:
        return self.C * self.to_parts(self._low_dim.hessian(self.to_alpha(self.C * x)))

    def factor(self, diagonal: Array) -> Callable[[Array], Array]:
        """Return a function that solves by the identity of Sherman, Morrison and Woodbury."""
        low_dim, C = self._low_dim, self.C
        solve = low_dim.factor((C * C / diagonal).reshape(self._n_parts, -1).sum(axis=0))

        def apply(b: Array) -> Array:
            W = solve(low_dim.virtual(self.to_alpha(C * b / diagonal)))
            return np.asarray((b - C * self.to_parts(low_dim.margins(W))) / diagonal)

        return apply

    def to_alpha(self, alpha: Array) -> Array:
        """Return the dual variables of the examples from their parts."""
        return alpha if self._n_parts == 1 else np.subtract(*alpha.reshape(2, -1))

    def to_parts(self, margins: Array) -> Array:
        """Return the margins of all parts."""
        return margins if self._n_parts == 1 else np.concatenate([margins, -margins])


def step_costs(problem: Problem) -> tuple[float, float] | None:
    """Return the work of all expected steps, and that of one; None for sparse rows or many weights.

    Work is in epochs of coordinate descent. The steps are taken once that has cost as much as they
    will.
    """
    p, (n, d) = problem, (problem.y.size, problem.rows.n_features + 1)
    T = len(p.kernel.group)
    n_bytes = 8 * d * max(n, 4 * T * d)
    if not p.rows.is_dense or len(p.K) > 1 or n_bytes > _MAX_BYTES:
        return None
    r = split(p.K[0])[1].shape[1]
    if max(r, 1) * d > _MAX_EQUATIONS:
        return None
    # rough times in nanoseconds, fitted to runs on CPUs of 2023; only their ratio counts
    visit = 200 + 2 * d + d * T / 4
    step = 200 + 2 * d + d**2 / 8 + (T * d**3 + T * (r * d) ** 2 + (r * d) ** 3 / 3) / (8 * n)
    n_steps = _NEWTON_STEPS if p.loss.is_smooth else _INTERIOR_STEPS
    return n_steps * step / visit, step / visit


def take_steps(problem: Problem, alpha: Array, tol: float, gap: float) -> tuple[Array, int]:
    """Return the better alpha of before, whose gap is given, and after the steps; their number."""
    from threadpoolctl import threadpool_limits

    low_dim, better = LowDimProblem(problem, problem.rows.dense()), alpha.copy()
    try:
        with threadpool_limits(1, "blas"):  # threads wait longer than they work, and round anew
            solution = solve(low_dim, alpha[low_dim.order], tol)
            if low_dim.gap(solution) < gap:
                better[low_dim.order] = solution
    except np.linalg.LinAlgError:
        return alpha, 0
    return better, low_dim.n_steps
