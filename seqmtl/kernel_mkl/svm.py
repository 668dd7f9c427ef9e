"""One SVM on a weighted sum of kernels, by libsvm.

    g_t(theta) = min over w, b   1/2 sum_m ||w_m||^2 / theta_m + sum_i C_i hinge(y_i (f(x_i) + b))
               = max over alpha  sum_i alpha_i - 1/2 sum_m theta_m q_m,
                                 0 <= alpha_i <= C_i, sum_i alpha_i y_i = 0

=========  ==============================================================================
theta_m    weight of kernel m
q_m        sum_{i,j} alpha_i y_i alpha_j y_j k_m(x_i, x_j); -q_m / 2 is the derivative of g_t
f(x)       sum_m theta_m sum_i alpha_i y_i k_m(x_i, x)
b          intercept, unregularised
=========  ==============================================================================

Source: Li, Georgiopoulos, Anagnostopoulos (2014), eq. 2, in the notation of Widmer et al. (2015).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.calibration.leave_one_out import find_copies
from seqmtl.core.interior import minimise_in_box
from seqmtl.core.problem import relative_gap

Array = NDArray[np.float64]
#: Trains on the examples of the first indices, and scores those of the second.
Scorer = Callable[[NDArray[np.int64], NDArray[np.int64]], Array]

# Steps of libsvm: a plain choice of a minimum, and so many more per pair of examples that interior
# points, which take over, would be as fast; a limit for many examples, where they cannot.
_MIN_STEPS, _STEPS_PER_PAIR = 100_000, 1
_MAX_STEPS, _STEPS_PER_EXAMPLE = 1_000_000, 2000
# Plain choices.
_AT_BOUND = 1e-9  # distance from a bound, relative to C or the largest alpha, that counts as 0
_RIDGE = 1e-13  # added to the diagonal of a possibly singular matrix, relative to its mean
_MAX_FREE = 2000  # largest number of variables for which linear equations are solved
_GAP_LIMIT = 10.0  # gap, in tolerances, that is acceptable if the conditions hold to the tolerance


class SVMSolution(NamedTuple):
    """A trained SVM.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables.
    f : ndarray of float64, shape (n,)
        Scores of the examples, with the intercept.
    bias : float
        Intercept; 0 without one.
    primal, dual : float
        Objectives; g_t lies between them.
    q : ndarray of float64, shape (M,)
        q_m.
    """

    alpha: Array
    f: Array
    bias: float
    primal: float
    dual: float
    q: Array

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual)


@dataclass(frozen=True, eq=False)
class KernelSVM:
    """An SVM to be trained, on base kernels times task kernels.

    Kernel m is ``task_kernels[m % K, s, t] * grams[m // K, i, j]`` for examples i and j of tasks s
    and t.

    Attributes
    ----------
    grams : ndarray of float64, shape (G, n, n)
        Matrices of the base kernels.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1, both present.
    C : ndarray of float64, shape (n,)
        Cost of each example, positive.
    tasks : ndarray of int, shape (n,)
        Task of each example.
    task_kernels : ndarray of float64, shape (K, T, T)
        Task kernels; of a single task ``[[[1.0]]]``.
    has_intercept : bool
        Whether there is an unregularised intercept.
    """

    grams: Array
    y: Array
    C: Array
    tasks: NDArray[Any]
    task_kernels: Array
    has_intercept: bool = True

    @property
    def n_kernels(self) -> int:
        """M = G K."""
        return len(self.grams) * len(self.task_kernels)

    def matrix(self, theta: Array) -> Array:
        """Return the matrix of sum_m theta_m k_m, shape (n, n)."""
        weighted = weighted_task_kernels(theta, self.task_kernels)
        if weighted.shape[1] == 1:
            return np.tensordot(weighted[:, 0, 0], self.grams, 1)
        pairs = np.ix_(self.tasks, self.tasks)
        G = weighted[0][pairs] * self.grams[0]
        for A, gram in zip(weighted[1:], self.grams[1:], strict=True):
            G += A[pairs] * gram
        return G

    def solve(self, theta: Array, tol: float) -> SVMSolution:
        """Train with the kernel sum_m theta_m k_m; theta has shape (M,)."""
        y, C, tasks = self.y, self.C, self.tasks
        alpha = solve_dual(self.matrix(theta), y, C, tol, has_intercept=self.has_intercept)
        dual_coef = np.zeros((y.size, self.task_kernels.shape[1]))
        dual_coef[np.arange(y.size), tasks] = alpha * y
        scores = self.grams @ dual_coef  # of every example by the examples of every task
        energies = dual_coef.T @ scores
        q = np.maximum(np.einsum("gst,kst->gk", energies, self.task_kernels).ravel(), 0.0)
        weighted = weighted_task_kernels(theta, self.task_kernels)
        f = np.einsum("git,git->i", scores, weighted[:, tasks])
        bias = best_intercept(f, y, C) if self.has_intercept else 0.0
        losses = C * np.maximum(0.0, 1.0 - y * (f + bias))
        half_q = 0.5 * float(theta @ q)
        primal, dual = half_q + float(losses.sum()), float(alpha.sum()) - half_q
        return SVMSolution(alpha, f + bias, bias, primal, dual, q)

    def cross_validation_scorer(self, theta: Array, tol: float) -> tuple[NDArray[np.int64], Scorer]:
        """Return the groups of copies, and a function (train, test) -> scores of test."""
        G = self.matrix(theta)

        def score(train: NDArray[np.int64], test: NDArray[np.int64]) -> Array:
            block, y, C = G[np.ix_(train, train)], self.y[train], self.C[train]
            dual_coef = y * solve_dual(block, y, C, tol, has_intercept=self.has_intercept)
            bias = best_intercept(block @ dual_coef, y, C) if self.has_intercept else 0.0
            return np.asarray(G[np.ix_(test, train)] @ dual_coef + bias)

        def times(v: Array) -> Array:
            return np.sum([gram @ v for gram in self.grams], axis=0)

        return number_copies(times, np.einsum("gii->i", self.grams)), score


def number_copies(times: Callable[[Array], Array], norms: Array) -> NDArray[np.int64]:
    """Return the group of copies of every example.

    The numbers of groups depend neither on the order of the examples nor on how often they occur.

    Parameters
    ----------
    times : callable
        Returns the product of the sum of the kernel matrices and a vector of shape (n,).
    norms : ndarray of float64, shape (n,)
        Diagonal of this sum.
    """
    copy_of = find_copies(times(np.random.default_rng(0).random(norms.size)), norms)
    first = np.unique(copy_of, return_index=True)[1]
    is_first = np.bincount(first, minlength=norms.size).astype(np.float64)
    return np.argsort(np.argsort(times(is_first)[first]))[copy_of]


def weighted_task_kernels(theta: Array, task_kernels: Array) -> Array:
    """Return sum_k theta_gk K_k for every base kernel, shape (G, T, T)."""
    return np.tensordot(theta.reshape(-1, len(task_kernels)), task_kernels, 1)


def solve_dual(G: Array, y: Array, C: Array, tol: float, *, has_intercept: bool = True) -> Array:
    """Return the dual variables of an SVM on a kernel matrix, by libsvm.

    libsvm stores kernel values in single precision. The matrix is therefore centred first, which
    changes nothing if sum_i alpha_i y_i = 0, but saves the digits lost to features far from zero.
    The result is refined to rounding by one Newton step if the right variables are at their
    bounds. The number of steps is limited; if a large gap remains and there are few enough
    examples, an interior-point method takes over.

    Parameters
    ----------
    G : ndarray of float64, shape (n, n)
        Kernel (Gram) matrix, without the signs of the labels.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1, both present.
    C : ndarray of float64, shape (n,)
        Upper bounds, positive.
    tol : float
        Tolerance on violations of the optimality conditions, in units of the margin.
    has_intercept : bool
        Whether there is an unregularised intercept, as in libsvm.

    Returns
    -------
    ndarray of float64, shape (n,)
        alpha.
    """
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    n = y.size
    matrix, labels, costs = (G, y, C) if has_intercept else _anchor(G, y, C)
    # 1. libsvm, on the centred matrix; it always has an intercept, which `_anchor` keeps at 0
    means = matrix.mean(axis=0)
    matrix = matrix - means
    matrix -= means[:, None] - means.mean()
    largest = float(costs.max())
    weight = None if costs.min() == largest else costs / largest
    svc = SVC(kernel="precomputed", C=largest, tol=tol, cache_size=1000.0, max_iter=_max_steps(n))
    with (
        warnings.catch_warnings(),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc.fit(matrix, labels, sample_weight=weight)
    alpha = np.zeros(labels.size)
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    # 2. a Newton step on the examples on the margin, in double precision
    alpha = _polish(G, y, C, np.minimum(alpha[:n], C), has_intercept)
    gap = duality_gap(G @ (alpha * y), y, C, alpha, has_intercept)
    max_gap = tol * float(alpha.sum())
    if gap <= _GAP_LIMIT * max_gap or n > _MAX_FREE:
        return alpha
    # 3. interior points, where libsvm ran out of steps
    signed = y[:, None] * (matrix if has_intercept else G) * y  # the Hessian of the dual
    interior = minimise_in_box(signed, C, alpha, max_gap, y if has_intercept else None)
    is_better = duality_gap(G @ (interior * y), y, C, interior, has_intercept) < gap
    return interior if is_better else alpha


def _max_steps(n: int) -> int:
    """Return the number of libsvm steps that are worth their time for n examples."""
    return min(_MIN_STEPS + _STEPS_PER_PAIR * n * n, _MAX_STEPS + _STEPS_PER_EXAMPLE * n)


def _anchor(G: Array, y: Array, C: Array) -> tuple[Array, Array, Array]:
    """Add two examples whose losses are |b| times the sum of all costs, which keeps b at 0.

    They lie at e and -e in an additional dimension, with labels +1 and -1, and both margins are
    1 at b = 0. Their alphas sum to 1 / ||e||^2 and differ by the sum of alpha_i y_i of the others,
    so ||e||^2 must not exceed the inverse of all costs.
    """
    n, total = y.size, float(C.sum())
    square = 1.0 / total
    matrix = np.zeros((n + 2, n + 2))
    matrix[:n, :n] = G
    matrix[n:, n:] = [[square, -square], [-square, square]]
    return matrix, np.append(y, [1.0, -1.0]), np.append(C, [2.0 * total, 2.0 * total])


def _polish(G: Array, y: Array, C: Array, alpha: Array, has_intercept: bool) -> Array:
    """Return the optimum with the same variables at their bounds, or alpha if there is none.

    The others satisfy y_i (f(x_i) + b) = 1, linear equations in their change and the intercept.
    """
    free = np.flatnonzero((alpha > _AT_BOUND * alpha.max()) & (alpha < (1.0 - _AT_BOUND) * C))
    m = free.size
    if not 0 < m <= _MAX_FREE:
        return alpha
    f = G @ (alpha * y)
    change = _solve_free(G, free, y - f, has_intercept)
    if change is None:
        return alpha
    polished = alpha.copy()
    polished[free] += y[free] * change
    if (polished[free] < 0.0).any() or (polished[free] > C[free]).any():
        return alpha
    gap, before = (
        duality_gap(scores, y, C, values, has_intercept)
        for scores, values in ((G @ (polished * y), polished), (f, alpha))
    )
    return polished if gap < before else alpha


def _solve_free(
    G: Array, free: NDArray[np.int64], change: Array, has_intercept: bool
) -> Array | None:
    """Return the change of the m free variables by which f + b grows by `change` there.

    With an intercept the change sums to 0. None if the equations have no solution.
    """
    m = free.size
    size = m + 1 if has_intercept else m
    system = np.ones((size, size))
    system[:m, :m] = G[np.ix_(free, free)]
    system[np.arange(m), np.arange(m)] += _RIDGE * np.trace(system[:m, :m]) / m
    system[m:, m:] = 0.0
    try:
        solved = np.linalg.solve(system, np.append(change[free], np.zeros(size - m)))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(solved[:m])


def duality_gap(f: Array, y: Array, C: Array, alpha: Array, has_intercept: bool = True) -> float:
    """Return the absolute duality gap of alpha, given its scores f without the intercept."""
    bias = best_intercept(f, y, C) if has_intercept else 0.0
    losses = C * np.maximum(0.0, 1.0 - y * (f + bias))
    return float(losses.sum() + alpha @ (y * f) - alpha.sum())


def violation(f: Array, y: Array, C: Array, alpha: Array) -> float:
    """Return the violation of the optimality conditions, as libsvm defines it.

    In units of the margin: the largest y_i - f_i of an example whose y_i alpha_i may increase,
    minus the smallest of one whose may decrease (Fan, Chen, Lin 2005). With large costs the
    duality gap may be large even at a small violation.
    """
    positive, residual = y > 0.0, y - f
    may_grow = np.where(positive, alpha < C, alpha > 0.0)
    may_fall = np.where(positive, alpha > 0.0, alpha < C)
    return max(0.0, float(residual[may_grow].max() - residual[may_fall].min()))


def best_intercept(f: Array, y: Array, C: Array) -> float:
    """Return the b that minimises sum_i C_i hinge(y_i (f_i + b)); the midpoint of an interval.

    The sum is convex and linear between the points y_i - f_i. At each its slope increases by C_i,
    from minus the cost of all positive examples to the cost of all negative ones.
    """
    points = y - f
    order = np.argsort(points)
    slope = np.cumsum(C[order]) - float(C[y > 0].sum())
    rounding = 1e-12 * float(C.sum())
    first = int(np.searchsorted(slope, -rounding))
    last = min(int(np.searchsorted(slope, rounding, side="right")), points.size - 1)
    return 0.5 * float(points[order[first]] + points[order[last]])
