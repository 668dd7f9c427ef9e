"""The equations of a second-order step for all weights, where there are few.

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
the union and graphs with equal edges have r = 1; a tree has r = T - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.problem import Problem

Array = NDArray[np.float64]

_SAME = 1e-12  # eigenvalues of K that differ by less, relative to the largest, count as equal
_THIN = 1e-6  # smaller eigenvalues of K, relative to the largest, are not split off


def split(K: Array) -> tuple[float, Array]:
    """Return lam and R of K = lam I + R R', R with as few columns as possible."""
    values, U = np.linalg.eigh(K)
    lam = float(values[0]) if values[0] > _THIN * values[-1] else 0.0
    kept = values - lam > _SAME * values[-1]
    return lam, U[:, kept] * np.sqrt(values[kept] - lam)


class FewWeights:
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
            problem, y=problem.y[order], C=problem.C[order], tasks=problem.tasks[order],
            targets=problem.targets[order] if problem.targets.size else problem.targets,
        )  # fmt: skip
        self.K = p.kernels[0]
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
        primal, dual = self.problem.objectives(alpha, self.hessian(alpha))
        return (primal - dual) / max(abs(primal), 1e-300)

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

        def apart(G: Array) -> Array:
            return np.asarray((root.swapaxes(1, 2) @ (root @ G[:, :, None]))[:, :, 0])

        def solve(G: Array) -> Array:
            W = lam * G
            if factors is not None:
                W += R @ cho_solve(factors, (R.T @ apart(G)).ravel()).reshape(r, d)
            return apart(W)

        return solve
