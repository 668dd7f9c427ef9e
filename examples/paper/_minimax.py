"""Minimax multi-task learning: minimise the largest loss of a task, or a p-norm of all losses.

    primal   min over W             R(W) + C ||(L_1(W), .., L_T(W))||_p
    dual     max over alpha, tau    sum_i alpha_i - R*(V)
             where                  0 <= alpha_i <= c_i tau_{t_i},  tau >= 0,  ||tau||_q <= 1

=========  ==============================================================================
L_t        loss of task t, the mean over its examples of max(0, 1 - y_i <w_t, x_i>), weighted
p          1 to infinity (the maximum); q = p / (p - 1)
c_i        cost of example i: C * its share of the mean of its task
tau        weights of the tasks; at the optimum a subgradient of the norm at the losses
V          virtual weights, v_t = sum of alpha_i y_i x_i over the examples of task t
R          regulariser: 1/2 tr(W K^-1 W') with a task kernel K, R*(V) = 1/2 tr(V K V'); or
           1/2 ||W||_tr^2, the sum of the singular values, R*(V) = 1/2 sigma_max(V)^2
=========  ==============================================================================

Solved by the alternating direction method of multipliers with copies of the margins and of W,

    min R(B) + C ||L(m)||_p   subject to   m_i = y_i <w_{t_i}, x_i>,   B = W,

whose steps are exact (Boyd et al. 2011, 3.1.1, with the scaled multipliers u and S):

    W      <- least squares: both penalties together
    alpha  <- projection of rho (1 - y <w, x> - u) onto the feasible set of the dual
    m, u   <- y <w, x> + u + alpha / rho,  -alpha / rho
    B, S   <- proximal map of R at W + S,  W + S - B

The multipliers of m are dual feasible and R(B) is finite, so the two objectives always give a
certified gap. Nothing is smoothed, and W of the trace norm has low rank.

The loop is not that of :mod:`seqmtl.kernel_mkl.descent`, which would train an SVM of all tasks for
fixed tau and K, then improve both. For a given K that takes up to 16 times as long, at 45 and 2,500
examples and a gap of 1e-6. For the trace norm it often stalls, at gaps of 1e-3 to 5e-2, as
eigenvalues of K near 0 stay there.

Source: Mehta, Lee, Gray (2012), Minimax multi-task learning and a generalized loss-compositional
paradigm for MTL; regularisers of Evgeniou, Pontil (2004) and of Argyriou, Evgeniou, Pontil (2008);
Boyd et al. (2011), Distributed optimization by ADMM, 3.1.1, 3.4.1 and 3.4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from _minimax_loops import project
from numpy.typing import NDArray

from seqmtl.core.norms import norm_of

# Measured on 72 problems of three tasks: both regularisers, p of 1, 2 and infinity, C of 1 to 1e4.
_CHECK_EVERY = 10  # epochs between evaluations of the objectives; 5 and 20 take the same time
_RELAXATION = 1.6  # Boyd et al., 3.4.3; with 1 (none) it takes 1.4 times as many epochs
# Penalties change if the residuals differ by the first factor, after the second times as many
# epochs as at their last change, by the third at most (Boyd et al., 3.4.1, with fixed factors).
# 2, 1.1 and 100 are as good; 5, 3 and 2 take 1.2, 1.3 and 2 times as many epochs.
_IMBALANCE, _MIN_INTERVAL, _MAX_CHANGE = 1.2, 1.6, 10.0


@dataclass(frozen=True)
class KernelRegularizer:
    """R(W) = 1/2 tr(W K^-1 W') for a task kernel K, which may be singular."""

    K: NDArray[np.float64]

    def proximal(self, M: NDArray[np.float64], sigma: float) -> tuple[NDArray[np.float64], float]:
        """Return the B that minimises R(B) + sigma/2 ||B - M||^2, shape (d, T), and R(B).

        It is V K with V (K + I / sigma) = M.
        """
        V = np.linalg.solve(self.K + np.eye(len(self.K)) / sigma, M.T).T
        B = V @ self.K
        return B, 0.5 * float((V * B).sum())

    def conjugate(self, V: NDArray[np.float64]) -> float:
        """Return R*(V) = max over W of <V, W> - R(W): 1/2 tr(V K V')."""
        return 0.5 * float((V * (V @ self.K)).sum())


@dataclass(frozen=True)
class TraceRegularizer:
    """R(W) = 1/2 ||W||_tr^2.

    It is the minimum over D >= 0, tr D <= 1 of 1/2 sum_t w_t' D^-1 w_t, at D = (WW')^(1/2) / tr.
    """

    def proximal(self, M: NDArray[np.float64], sigma: float) -> tuple[NDArray[np.float64], float]:
        """Return M with its singular values lowered by sum(those of B) / sigma, and R(B)."""
        left, values, right = np.linalg.svd(M, full_matrices=False)
        lowered_by = np.cumsum(values) / (sigma + np.arange(1, values.size + 1))
        rank = max(int(np.count_nonzero(values > lowered_by)), 1)
        values = np.maximum(values - lowered_by[rank - 1], 0.0)
        return (left * values) @ right, 0.5 * float(values.sum()) ** 2

    def conjugate(self, V: NDArray[np.float64]) -> float:
        """Return half the square of the largest singular value."""
        return 0.5 * float(np.linalg.norm(V, 2)) ** 2


@dataclass
class MinimaxClassifier:
    """Linear classifier of several tasks that minimises the loss of the worst one.

    Attributes
    ----------
    regularizer : {"trace", "mean"}
        "trace": R(W) = 1/2 ||W||_tr^2; "mean": w_t = w_0 + v_t with
        R(W) = 1/2 ||w_0||^2 / share + 1/2 sum_t ||v_t||^2 / (1 - share).
    C : float
        Cost of the mean losses.
    share : float
        Share that tasks have in common, in (0, 1]; only for "mean".
    norm : float
        p.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of steps over all variables.
    W, alpha, tau : ndarray
        After `fit`: weights, whose last row are the intercepts, shape (d + 1, T); dual variables,
        shape (n,); weights of the tasks, shape (T,).
    objective, gap : float
        After `fit`.
    """

    regularizer: str = "trace"
    C: float = 100.0
    share: float = 0.5
    norm: float = np.inf
    tol: float = 1e-3
    max_epochs: int = 10_000

    def fit(self, X: Any, y: Any, tasks: Any) -> MinimaxClassifier:
        """Train on examples X, shape (n, d), of two classes."""
        self.classes, numbers = np.unique(y, return_inverse=True)
        self.tasks, ids, sizes = np.unique(tasks, return_inverse=True, return_counts=True)
        K = self.share + (1.0 - self.share) * np.eye(len(self.tasks))
        regularizer = TraceRegularizer() if self.regularizer == "trace" else KernelRegularizer(K)
        order = np.argsort(ids, kind="stable")
        starts = np.append(0, np.cumsum(sizes))
        h = np.sqrt(1.0 / sizes[ids][order])
        A = _with_constant(X)[order] * (h * (2.0 * numbers - 1.0)[order])[:, None]
        basis = None
        if A.shape[1] > A.shape[0]:  # every w_t is a sum of examples: their coordinates are enough
            basis, R = np.linalg.qr(A.T)
            A = np.ascontiguousarray(R.T)
        admm = _ADMM(A, starts, h, self.C, regularizer, self.norm)
        self.gap = admm.solve(self.tol, self.max_epochs)
        self.objective, self.tau = admm.primal, admm.best_tau
        self.W = admm.best_W if basis is None else basis @ admm.best_W
        self.alpha = np.empty(len(ids))
        self.alpha[order] = admm.best_alpha
        return self

    def decision_function(self, X: Any, tasks: Any) -> NDArray[np.float64]:
        """Score examples of one task, or each of its own."""
        ids = np.searchsorted(self.tasks, np.broadcast_to(tasks, len(X)))
        return np.einsum("ij,ji->i", _with_constant(X), self.W[:, ids])

    def predict(self, X: Any, tasks: Any) -> NDArray[Any]:
        """Predict classes."""
        return self.classes[(self.decision_function(X, tasks) > 0).astype(int)]


def _with_constant(X: Any) -> NDArray[np.float64]:
    return np.column_stack([X, np.ones(len(X))])


class _ADMM:
    """The alternating direction method of multipliers, with the rows ordered by task.

    Margins and rows are those of the problem times h_i, and dual variables times 1 / h_i, where
    h_i^2 is the share of an example: so copies of an example behave as one of their total weight.
    `u` and `S` are the scaled multipliers, rho and sigma the penalties of the two constraints.
    """

    def __init__(
        self,
        A: NDArray[np.float64],
        starts: NDArray[np.int64],
        h: NDArray[np.float64],
        C: float,
        regularizer: KernelRegularizer | TraceRegularizer,
        norm: float,
    ) -> None:
        (n, d), T = A.shape, starts.size - 1
        self.starts, self.regularizer, self.norm = starts, regularizer, float(norm)
        self.A, self.h, self.C = A, h, C
        self.parts = [slice(starts[t], starts[t + 1]) for t in range(T)]
        self.squares = np.array([self.A[part].T @ self.A[part] for part in self.parts])
        self.m, self.u, self.alpha = np.zeros(n), np.zeros(n), np.zeros(n)
        self.B, self.S, self.tau = np.zeros((d, T)), np.zeros((d, T)), np.zeros(T)
        self.rho = C * T ** (1.0 / self.norm - 1.0)  # makes rho m as large as alpha
        total = max(float(np.einsum("tjj->", self.squares)), 1e-300)
        self.sigma = self.rho * (float((self.squares**2).sum()) / total or 1.0)  # an eigenvalue
        self._invert()
        self.primal, self.best_W = np.inf, self.B
        self.dual, self.best_alpha, self.best_tau = -np.inf, self.alpha, self.tau

    def solve(self, tol: float, max_epochs: int) -> float:
        """Alternate until the gap is `tol` or less; return the gap."""
        changed, gap = 0, np.inf
        for epoch in range(1, max_epochs + 1):
            residuals = self._step()
            if epoch % _CHECK_EVERY and epoch < max_epochs:
                continue
            self._evaluate()
            gap = (self.primal - self.dual) / max(abs(self.primal), 1e-300)
            if gap <= tol:
                break
            if epoch >= _MIN_INTERVAL * changed and self._change_penalties(residuals):
                changed = epoch
        return gap

    def _step(self) -> tuple[float, float, float, float]:
        """Update W, m, B and the multipliers; return the relative residuals.

        First those of the constraints, of rho and sigma, then those of optimality.
        """
        rho, sigma, m, B = self.rho, self.sigma, self.m, self.B
        # W: (rho A_t'A_t + sigma I) w_t = rho A_t'(m - u) + sigma (b_t - s_t) in every task
        target = rho * self._virtual(m - self.u) + sigma * (B - self.S)
        W = np.einsum("tij,jt->it", self.inverses, target)
        margins = self._margins(W)
        # m and u: by Moreau, the proximal map of the losses is what a projection leaves
        v = _RELAXATION * margins + (1.0 - _RELAXATION) * m + self.u
        project(rho * (self.h - v), self.C * self.h, self.starts, self.norm, self.tau, self.alpha)
        self.u = self.alpha / -rho
        self.m = v - self.u
        # B and S: the proximal map of R
        M = _RELAXATION * W + (1.0 - _RELAXATION) * B + self.S
        self.B, self.value = self.regularizer.proximal(M, sigma)
        self.S = M - self.B
        return (
            _ratio(margins - self.m, self.m),
            _ratio(W - self.B, self.B),
            _ratio(self.m - m, self.u),
            _ratio(self.B - B, self.S),
        )

    def _evaluate(self) -> None:
        """Store B and alpha if they are the best so far."""
        margins = self._margins(self.B)
        violations = self.h * np.maximum(0.0, self.h - margins)
        losses = np.add.reduceat(violations, self.starts[:-1])
        primal = self.value + self.C * norm_of(losses, self.norm)
        if primal < self.primal:
            self.primal, self.best_W = primal, self.B
        dual = float((self.h * self.alpha).sum()) - self.regularizer.conjugate(
            self._virtual(self.alpha)
        )
        if dual > self.dual:
            self.dual = dual
            self.best_alpha, self.best_tau = self.h * self.alpha, self.tau.copy()

    def _change_penalties(self, residuals: tuple[float, float, float, float]) -> bool:
        """Balance the residuals; return whether penalties changed."""
        factors = []
        for constraint, optimality in zip(residuals[:2], residuals[2:], strict=True):
            factor = np.sqrt(max(constraint, 1e-300) / max(optimality, 1e-300))
            factors.append(float(np.clip(factor, 1.0 / _MAX_CHANGE, _MAX_CHANGE)))
        if max(np.abs(np.log(factors))) < np.log(_IMBALANCE):
            return False
        self.rho *= factors[0]
        self.u /= factors[0]
        self.sigma *= factors[1]
        self.S /= factors[1]
        self._invert()
        return True

    def _invert(self) -> None:
        d = self.A.shape[1]
        self.inverses = np.linalg.inv(self.rho * self.squares + self.sigma * np.eye(d))

    def _margins(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        # einsum here and below: threaded BLAS is slower on small blocks, more so on busy cores
        columns = np.ascontiguousarray(W.T)
        return np.concatenate(
            [
                np.einsum("ij,j->i", self.A[part], w)
                for part, w in zip(self.parts, columns, strict=True)
            ]
        )

    def _virtual(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum of coef[i] A_i over the examples of every task, shape (d, T)."""
        return np.array([np.einsum("i,ij->j", coef[p], self.A[p]) for p in self.parts]).T


def _ratio(change: NDArray[np.float64], size: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(change)) / max(float(np.linalg.norm(size)), 1e-300)
