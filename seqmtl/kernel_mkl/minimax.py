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

whose three steps are exact: least squares for W, a projection onto the feasible set of the dual for
m, and the proximal map of R for B. The multipliers of m are dual feasible and R(B) is finite, so
the two objectives always give a certified gap. Nothing is smoothed, and W of the trace norm has low
rank.

Source: Mehta, Lee, Gray (2012), Minimax multi-task learning and a generalized loss-compositional
paradigm for MTL; regularisers of Evgeniou, Pontil (2004) and of Argyriou, Evgeniou, Pontil (2008);
Boyd et al. (2011), Distributed optimization by ADMM, sections 3.1, 3.4.1 and 3.4.3.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice, check_number
from seqmtl._memory import require_memory
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core.dcd import Progress, Solution
from seqmtl.estimators._base import MultiTaskClassifier
from seqmtl.features.numeric import Numeric
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.similarity import TaskKernel
from seqmtl.training.settings import Settings, check_norm, class_factors
from seqmtl.training.solver import check_classes, summarise

_CHECK_EVERY = 10  # epochs between evaluations of the objectives
_RELAXATION = 1.6
_IMBALANCE = 1.2  # ratio of the residuals above which penalties change, if
_MIN_INTERVAL = 1.6  # times as many epochs have passed as at their last change
_MAX_CHANGE = 10.0


@dataclass
class MinimaxSolution(Solution):
    """The result of :func:`solve_minimax`.

    Attributes
    ----------
    tau : ndarray of float64, shape (T,)
        Weights of the tasks.
    losses : ndarray of float64, shape (T,)
        Loss of every task at W, for C = 1.
    """

    tau: NDArray[np.float64]
    losses: NDArray[np.float64]


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


def solve_minimax(  # noqa: PLR0913
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    tasks: NDArray[Any],
    share: NDArray[np.float64],
    regularizer: KernelRegularizer | TraceRegularizer,
    *,
    C: float = 1.0,
    norm: float = np.inf,
    tol: float = 1e-3,
    max_epochs: int = 10_000,
) -> MinimaxSolution:
    """Solve the problem of this module.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        Examples, including the constant feature if there is an intercept.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    tasks : ndarray of int, shape (n,)
        Task of each example; every task occurs.
    share : ndarray of float64, shape (n,)
        Share of each example in the mean loss of its task, 1 / n_t with equal weights.
    regularizer : KernelRegularizer or TraceRegularizer
        R.
    C : float
        Cost of the losses.
    norm : float
        p of the norm over task losses, 1 to infinity.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of epochs; an epoch is one step over all variables.

    Returns
    -------
    MinimaxSolution
        W of shape (d, T), which includes intercepts (`bias` is empty).
    """
    order = np.argsort(tasks, kind="stable")
    starts = np.searchsorted(tasks[order], np.arange(int(tasks.max()) + 2))
    h = np.sqrt(share[order])
    A = X[order] * (h * y[order])[:, None]
    basis = None
    if A.shape[1] > A.shape[0]:  # w_t is a sum of examples
        basis, R = np.linalg.qr(A.T)
        A = np.ascontiguousarray(R.T)
    solution = _Alternation(A, starts, h, C, regularizer, norm).solve(tol, max_epochs)
    if basis is not None:
        solution.W = basis @ solution.W
    solution.alpha[order] = solution.alpha.copy()
    solution.margins = y * np.einsum("ij,ji->i", X, solution.W[:, tasks])
    return solution


class _Alternation:
    """The method of multipliers, with the rows ordered by task.

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
        self.primal, self.dual = np.inf, -np.inf
        self.best: tuple[NDArray[np.float64], ...] = ()  # W, losses
        self.best_dual: tuple[NDArray[np.float64], ...] = ()  # alpha, tau

    def solve(self, tol: float, max_epochs: int) -> MinimaxSolution:
        """Alternate until the gap is `tol` or less."""
        started, changed, history = time.perf_counter(), 0, []
        for epoch in range(1, max_epochs + 1):
            residuals = self._step()
            if epoch % _CHECK_EVERY and epoch < max_epochs:
                continue
            self._evaluate()
            gap = (self.primal - self.dual) / max(abs(self.primal), 1e-300)
            seconds = time.perf_counter() - started
            history.append(
                Progress(epoch, float(epoch), self.m.size, self.primal, self.dual, gap, seconds)
            )
            if gap <= tol:
                break
            if epoch >= _MIN_INTERVAL * changed and self._change_penalties(residuals):
                changed = epoch
        return MinimaxSolution(
            self.best_dual[0],
            self.best[0],
            np.zeros(0),
            np.zeros(0),
            self.primal,
            self.dual,
            gap,
            gap <= tol,
            epoch,
            float(epoch),
            history,
            np.zeros(0),
            self.best_dual[1],
            self.best[1],
        )

    def _step(self) -> tuple[float, float, float, float]:
        """Update W, m, B and the multipliers; return the relative residuals.

        First those of the constraints, of rho and sigma, then those of optimality.
        """
        from seqmtl.kernel_mkl.minimax_loops import project

        rho, sigma, m, B = self.rho, self.sigma, self.m, self.B
        target = rho * self._virtual(m - self.u) + sigma * (B - self.S)
        W = np.einsum("tij,jt->it", self.inverses, target)
        margins = self._margins(W)
        v = _RELAXATION * margins + (1.0 - _RELAXATION) * m + self.u
        project(rho * (self.h - v), self.C * self.h, self.starts, self.norm, self.tau, self.alpha)
        self.u = self.alpha / -rho
        self.m = v - self.u
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
        from seqmtl.kernel_mkl.minimax_loops import norm_of

        margins = self._margins(self.B)
        violations = self.h * np.maximum(0.0, self.h - margins)
        losses = np.add.reduceat(violations, self.starts[:-1])
        primal = self.value + self.C * float(norm_of(losses, self.norm))
        if primal < self.primal:
            self.primal, self.best = primal, (self.B, losses)
        dual = float((self.h * self.alpha).sum()) - self.regularizer.conjugate(
            self._virtual(self.alpha)
        )
        if dual > self.dual:
            self.dual, self.best_dual = dual, (self.h * self.alpha, self.tau.copy())

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


REGULARIZERS = ("trace", "mean")
_LEAST = 1e-12  # added to the diagonal of a learnt kernel, for tasks with zero weights
_ROUNDING = 1e-9  # relative distance at which dual variables count as at their bounds


@dataclass(eq=False, repr=False)
class MinimaxClassifier(MultiTaskClassifier):
    """Linear support vector machine for several tasks that minimises the loss of the worst task.

    Solves min over W of R(W) + C ||(L_1, .., L_T)||_p, where L_t is the mean hinge loss of task
    t, to a certified duality gap (Mehta, Lee, Gray 2012). The norm is the largest loss for
    p = infinity and the sum of the losses for p = 1. With one task this is the linear SVM.

    Parameters
    ----------
    regularizer : {"trace", "mean"}, default="trace"
        Regularizer that couples the tasks. "trace": R(W) = 1/2 ||W||_tr^2; the weights share a
        low-dimensional subspace (Argyriou, Evgeniou, Pontil 2008). "mean": w_t = w_0 + v_t and
        R(W) = 1/2 ||w_0||^2 / share + 1/2 sum_t ||v_t||^2 / (1 - share); the weights are close to
        a common vector (Evgeniou, Pontil 2004).
    C : float, default=100.0
        Cost of the mean losses: an example of task t costs C / n_t.
    share : float, default=0.5
        Share that tasks have in common, in (0, 1]; 1 is one vector for all. Only for "mean".
    norm : float, default=inf
        p of the norm over task losses, from 1 to infinity.
    class_weight : dict or "balanced", optional
        Factors on the losses by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=10000
        Maximum number of steps over all variables; a warning is given if it is reached.

    Attributes
    ----------
    losses_ : ndarray, shape (n_tasks,)
        L_t, weighted by example and class.
    task_weights_ : ndarray, shape (n_tasks,)
        Weight tau_t of each task at the optimum: sum_t tau_t L_t is the norm of the losses, and
        ||tau||_q = 1 with 1/p + 1/q = 1.
    objective_ : float
        R(W) + C ||(L_1, .., L_T)||_p.
    task_kernel_ : TaskKernel
        The K for which R(W) = 1/2 tr(W K^-1 W'); learnt for "trace", as (W'W)^(1/2) over its trace.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha, bounded by C tau_t times the share of the example in L_t.
    n_iter_ : int
        Number of steps.
    classes_, tasks_, coef_, intercept_, dual_gap_, history_, model_, n_features_in_
        As in :class:`MultiTaskSVC`.

    Notes
    -----
    The problem with (lambda_0 / 2) ||w_0||^2 + (lambda_1 / (2 T)) sum_t ||v_t||^2 and cost 1 is
    "mean" with C = 1 / lambda_0 + T / lambda_1 and share = 1 / (lambda_0 C); with (lambda / 2)
    ||W||_tr^2 it is "trace" with C = 1 / lambda. Training takes fewer steps if features have
    similar scales.

    Examples
    --------
    >>> from seqmtl import MinimaxClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> worst = MinimaxClassifier(C=10.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> worst.predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    regularizer: str = "trace"
    C: float = 100.0
    share: float = 0.5
    norm: float = np.inf
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_epochs: int = 10_000

    loss = "hinge"
    dtype = "float64"
    random_state = 0

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        X, y, ids, names = examples.data, examples.y, examples.ids, examples.names
        if isinstance(X, Windows):
            raise TypeError(
                "X must be a matrix of numbers, got Windows; pass the matrix that "
                "Spectrum(k=...).transform(windows) returns"
            )
        settings.check()
        check_choice("regularizer", self.regularizer, REGULARIZERS)
        check_norm(self.norm)
        remedy = "the smaller, the less tasks have in common"
        check_number("share", self.share, max_val=1, remedy=remedy)
        check_classes(y, ids, names)
        kernel = TaskKernel.easy(names, float(self.share))
        is_trace = self.regularizer == "trace"
        cost = _costs(examples, settings.class_weight)
        solution = solve_minimax(
            _dense(X, len(names), settings.fit_intercept),
            y,
            ids,
            cost,
            TraceRegularizer() if is_trace else KernelRegularizer(kernel.matrix),
            C=float(self.C),
            norm=float(self.norm),
            tol=self.tol,
            max_epochs=self.max_epochs,
        )
        if is_trace:
            kernel = _trace_kernel(solution.W, names)
        W, bias = solution.W[: X.shape[1]], solution.W[X.shape[1] :].sum(axis=0)
        solution = replace(solution, W=W, bias=bias)  # the last row, if there is a constant feature
        self.losses_, self.task_weights_ = solution.losses, solution.tau
        self.objective_ = solution.primal
        features = Numeric()
        upper = self.C * cost * solution.tau[ids] * (1.0 - _ROUNDING)
        left_out, _ = left_out_scores(
            features.bind(X), examples, kernel.matrices, solution, upper, settings.bias_scale
        )
        model = MultiTaskModel(
            features,
            X.shape[1],
            names,
            kernel,
            solution.W,
            solution.bias,
            calibrate_tasks(left_out, y, ids, len(names), examples.weight),
            Site(0, 0, ""),
            summarise(examples, settings, solution) | {"minimax": self._summary(names)},
        )
        return model, solution

    def _summary(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the settings, losses and weights of the tasks, as JSON values."""
        return {
            "regularizer": self.regularizer,
            "share": float(self.share) if self.regularizer == "mean" else None,
            "norm": "inf" if np.isinf(self.norm) else float(self.norm),
            "losses": dict(zip(names, self.losses_.tolist(), strict=True)),
            "task_weights": dict(zip(names, self.task_weights_.tolist(), strict=True)),
        }


def _costs(examples: Examples, class_weight: Any) -> NDArray[np.float64]:
    """Return the weight of every example in the loss of its task, shape (n,)."""
    cost = examples.weight * class_factors(examples.y, class_weight)
    return np.asarray(cost / np.bincount(examples.ids, examples.weight)[examples.ids])


def _dense(X: Any, n_tasks: int, with_constant: bool) -> NDArray[np.float64]:
    n, d = X.shape
    require_memory(
        24.0 * n * (d + 1) + 16.0 * n_tasks * min(n, d + 1) ** 2,
        f"the dense matrices of {n:,} examples of {d:,} features in {n_tasks} tasks",
        "take fewer features",
    )
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return np.column_stack([X, np.ones(n)]) if with_constant else X


def _trace_kernel(W: NDArray[np.float64], names: tuple[str, ...]) -> TaskKernel:
    """Return the K of trace 1 that minimises tr(W K^-1 W'): (W'W)^(1/2) over its trace."""
    _, values, right = np.linalg.svd(W, full_matrices=False)
    K = (right.T * (values / max(float(values.sum()), 1e-300))) @ right
    return TaskKernel(names, K + _LEAST * np.eye(len(names)), "learnt by the trace norm")
