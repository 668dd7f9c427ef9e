"""Dual coordinate descent for the multi-task SVM: Algorithm 1 of Widmer et al. (2012).

    minimise over alpha    1/2 sum_{s,t} K[s,t] <v_s, v_t>
                           + sum_i [C_i loss*(-alpha_i / C_i) - alpha_i z_i]

    subject to             0 <= alpha_i <= C_i        hinge, logistic
                           0 <= alpha_i               squared hinge
                           in regression, the same for |alpha_i|

    given                  x_i, y_i, tasks t_i, costs C_i, targets z_i (usually 0), task kernel K
    where                  v_t = sum of alpha_i y_i x_i over the examples of task t,  W = V K

A step on example i of task t reads its residual r_i = y_i <w_t, x_i> - z_i:

    H_i      = K[t,t] ||x_i||^2
    alpha_i <- minimiser over alpha_i alone; for the hinge, clip(alpha_i + (1 - r_i) / H_i, 0, C_i)
    w_s     += K[s,t] (change of alpha_i) y_i x_i  for all s

Besides the order of the steps, three things differ from the print. Eq. 17 divides by ||x_i||^2, an
erratum, see ``docs/papers.md``. Line 9 updates V, of which line 12 and eq. 16 compute W at the end;
here every step updates W, which the next residual reads. And not all i are visited in each epoch:
around the steps is the shrinking of LIBLINEAR, with the duality gap as the stopping rule (line 4).

    repeat
        score all examples, which gives the gap; stop if it is at most tol          (a check)
        active examples <- all but those at a bound that they would not leave by a step,
                           even if the gradient changed by a margin;
                           at first, with alpha = 0, a random part
        repeat until the examples that remain, summed over the epochs, cost three checks,
        but at most ten times
            take a step on every active example, in random order                   (an epoch);
            examples that are safely at a bound then cease to be active

Rounding limits the gap: to about 2e-8 with float32 weights. Steps without rounding errors raise
the dual objective. Where ten checks have neither raised it nor halved the gap, W is summed anew at
every check, and after ten more of them the loop stops.

The steps are in :mod:`seqmtl.core.dcd_loops`, the symbols in :mod:`seqmtl.core.problem`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import ahead, stop_if_over
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.problem import Problem, relative_gap
from seqmtl.core.rows import blocks_of
from seqmtl.core.weights import TaskWeights, bias_of

#: Examples at a bound stay active while their residual is within this distance of where they leave
#: it; in regression, within this share of the mean absolute residual. A plain choice, and safe: an
#: example that is shrunk wrongly becomes active again at the next check.
SHRINK_MARGIN = 0.1
#: Cost of the epochs between two checks, in checks; of an epoch, the examples that remain active
#: count. With 1, six organisms of 10,000 windows each take 1.4 times as long, three organisms with
#: wd:8 1.1 to 1.2 times, one organism as long.
_CHECKS_PER_ROUND = 3.0
#: More epochs on few active examples solve for a set that the next check replaces.
_EPOCHS_PER_ROUND = 10
#: Checks in which the dual objective rises, or the gap halves, unless rounding prevents it; a plain
#: choice.
_PATIENCE = 10
#: The first epochs visit a random part of the examples, 1 / 16, but at least 2,048: plain choices.
#: Coming from alpha = 0, they mostly find out which examples matter.
_FIRST_SHARE, _FIRST_EXAMPLES = 16, 2048


@dataclass
class Progress:
    """State of the optimisation after an epoch.

    Attributes
    ----------
    epoch : int
        Number of passes over the active set.
    work : float
        Number of passes over all examples that cost as much, those of the checks included.
    n_active : int
        Number of examples that the next epoch visits.
    primal, dual, gap : float
        Objectives and relative duality gap at the last check.
    seconds : float
        Time since the start.
    """

    epoch: int
    work: float
    n_active: int
    primal: float
    dual: float
    gap: float
    seconds: float


class WarmStart(NamedTuple):
    """Where to begin: the dual variables of an earlier run, or of a related problem.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables; those out of bounds are moved to the bound.
    theta : ndarray of float64, shape (M,)
        Kernel weights. Empty if they are fixed, or all alike.
    """

    alpha: NDArray[np.float64]
    theta: NDArray[np.float64] = np.zeros(0)


#: Called after every epoch with a start for a later run, whose arrays the next epoch overwrites,
#: and with the progress.
OnEpoch = Callable[[WarmStart, Progress], None]


@dataclass
class Solution:
    """The result of a solver.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables.
    weights : TaskWeights, shape (n_features, T)
        Weights of the tasks.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature; intercepts are ``bias_scale * bias``.
    margins : ndarray of float64, shape (n,)
        y_i f(x_i) at the solution; f(x_i) in regression.
    primal, dual, gap : float
        Objectives and relative duality gap at these weights and alpha.
    stopped_by : {"tol", "max_epochs", "rounding"}
        Why the solver stopped: gap <= tol, the limit on the work, or rounding, see
        :mod:`seqmtl.core.dcd`.
    n_epochs, work
        As in :class:`Progress`.
    history : list of Progress
        One entry per check, but for that at alpha = 0.
    theta : ndarray of float64, shape (M,)
        Kernel weights if they were learnt, else empty.
    """

    alpha: NDArray[np.float64]
    weights: TaskWeights
    bias: NDArray[np.float64]
    margins: NDArray[np.float64]
    primal: float
    dual: float
    gap: float
    stopped_by: str
    n_epochs: int
    work: float
    history: list[Progress]
    theta: NDArray[np.float64]

    @property
    def W(self) -> NDArray[Any]:  # noqa: N802
        """The weights as a matrix, shape (n_features, T)."""
        return np.asarray(self.weights)

    @property
    def converged(self) -> bool:
        """Whether gap <= tol."""
        return self.stopped_by == "tol"


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_epochs: float = 1000,
    dtype: Any = np.float32,
    seed: int = 0,
    start: WarmStart | None = None,
    on_epoch: OnEpoch | None = None,
) -> Solution:
    """Train with a fixed task kernel.

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : float
        Maximum number of passes over the training data, see :attr:`Progress.work`.
    dtype : dtype
        Type of the weights: float32, or float64 for gaps below about 1e-6.
    seed : int
        Seed of the visiting order.
    start : WarmStart, optional
        Where to begin. Default: alpha = 0.
    on_epoch : callable, optional
        See :data:`OnEpoch`.

    Returns
    -------
    Solution
        Weights, dual variables and the gap between their objectives.
    """
    descent = Descent(problem, dtype=dtype, seed=seed, start=start)
    while True:
        descent.record(*descent.objectives())
        is_last = bool(descent.reason_to_stop(tol, max_epochs))
        if (is_last or descent.is_precise) and descent.recompute_W():
            descent.record(*descent.objectives())  # without rounding errors of the steps
        stopped_by = descent.reason_to_stop(tol, max_epochs)
        if stopped_by:
            return descent.solution(stopped_by)
        descent.shrink()
        descent.run_epochs(max_epochs, on_epoch)


class Descent:
    """Coordinate descent on a working set of examples.

    Attributes
    ----------
    problem : Problem
        The problem; see :meth:`set_kernel`.
    alpha : ndarray of float64, shape (n,)
        Dual variables.
    margins : ndarray of float64, shape (n,)
        y_i f(x_i) at the last check.
    weights : TaskWeights
        W.
    bias : ndarray of float64, shape (T,)
        Weights of the constant feature for every task.
    theta : ndarray of float64, shape (M,)
        Kernel weights, where they are learnt; only passed on.
    is_precise : bool
        Whether W is to be summed anew at every check, as rounding prevents progress.
    """

    problem: Problem
    margins: NDArray[np.float64]
    now: Progress

    def __init__(
        self,
        problem: Problem,
        *,
        dtype: Any = np.float32,
        seed: int = 0,
        start: WarmStart | None = None,
    ) -> None:
        self._started = time.perf_counter()
        self._rng, n = np.random.default_rng(seed), problem.y.size
        if start is None:
            start = WarmStart(np.zeros(n))
        self.alpha = problem.loss.within_bounds(start.alpha, problem.C)
        self.theta = start.theta
        self.n_epochs, self.work = 0, 0.0
        self.history: list[Progress] = []
        self.is_precise, self._n_before = False, 0
        self._tasks = np.ascontiguousarray(problem.tasks, dtype=np.int16)
        sums = problem.rows.pair_sums()
        self._rows = problem.rows if sums is None else sums
        self.weights = TaskWeights.zeros(
            self._rows, problem.kernel, dtype, is_padded=sums is not None
        )
        self.bias = np.zeros(len(problem.kernel.group))
        self._shrink_margin = SHRINK_MARGIN
        self._stays = np.ones(n, dtype=np.bool_)  # active after its last visit
        self._active = np.arange(n)
        self.problem, self._H = problem, problem.hessian_diagonal()
        self._has_drifted = bool(self.alpha.any())
        if self._has_drifted:
            self.recompute_W()
        else:
            n_first = max(n // _FIRST_SHARE, _FIRST_EXAMPLES)
            self._active = np.sort(self._rng.permutation(n)[:n_first])

    def set_kernel(self, kernel: GroupedKernel) -> None:
        """Replace the task kernel; W is out of date until :meth:`recompute_W`."""
        self.problem = replace(self.problem, kernel=kernel)
        self.weights.groups, self._has_drifted = kernel, True
        self._H = self.problem.hessian_diagonal()

    def objectives(self) -> tuple[float, float]:
        """Score all examples; return the primal and the dual objective, which certify the gap."""
        p = self.problem
        if self.alpha.any():
            self.work += p.rows.scoring_cost
            intercepts = p.bias_scale * self.bias
            self.margins = p.y * self.weights.scores(self._rows, self._tasks, intercepts)
        else:
            self.margins = np.zeros(p.y.size)
        if p.loss.is_signed:
            residuals = p.residuals(self.margins)
            self._shrink_margin = SHRINK_MARGIN * float(np.abs(residuals).mean())
        return p.objectives(self.alpha, self.margins)

    def record(self, primal: float, dual: float) -> Progress:
        """Put the objectives of a check into the history; return the progress."""
        self.now = self._progress(primal, dual, max(relative_gap(primal, dual), 0.0))
        if self.history and self.history[-1].epoch == self.n_epochs:
            self.history[-1] = self.now  # the same check, of weights that were summed anew
        elif self.alpha.any() or self.n_epochs:
            self.history.append(self.now)
        return self.now

    def reason_to_stop(self, tol: float, max_epochs: float, rounding: float = np.inf) -> str:
        """Return why to stop at the last check, see :class:`Solution`; empty if there is none.

        `rounding` is the largest gap that rounding is given as the reason for.
        """
        if self.now.gap <= tol:
            return "tol"
        checks = self.history[self._n_before :]
        before, since = checks[:-_PATIENCE], checks[-_PATIENCE:]
        if before and (
            self.now.gap <= rounding
            and max(check.dual for check in since) <= max(check.dual for check in before)
            and min(check.gap for check in since) > 0.5 * min(check.gap for check in before)
        ):
            if self.is_precise:
                return "rounding"
            self.is_precise, self._n_before = True, len(self.history) - 1
        return "max_epochs" if self.now.work >= max_epochs else ""

    def _progress(self, primal: float, dual: float, gap: float) -> Progress:
        seconds = time.perf_counter() - self._started
        n_active = self._active.size
        return Progress(self.n_epochs, self.work, n_active, primal, dual, gap, seconds)

    def shrink(self) -> None:
        """Choose the active examples: all but those safely at a bound (see above)."""
        if not self.alpha.any() and not self.n_epochs:
            return  # margins of 0 say nothing yet: the first epochs visit a random part
        p = self.problem
        residuals = p.residuals(self.margins)
        can_shrink = p.loss.can_shrink(self.alpha, residuals, p.C, self._shrink_margin)
        self._active = np.flatnonzero(~can_shrink)
        self.now.n_active = self._active.size

    def run_epochs(self, max_epochs: float, on_epoch: OnEpoch | None = None) -> None:
        """Take epochs (lines 5 to 10) until a check is due, or no example is active."""
        from seqmtl.core.dcd_loops import epoch, plain_epoch

        p, weights, n, visits = self.problem, self.weights, self.alpha.size, 0.0
        examples = (p.y, self._tasks, self._H, p.C, p.targets)
        K, groups = np.ascontiguousarray(p.K), weights.as_numba_args()
        of_loss = p.bias_scale, p.loss.as_numba_args, self._shrink_margin
        # the plain loop and the other take the same steps
        is_plain = weights.groups.is_single and self._rows is p.rows and len(p.rows.views) == 1

        def compute(rows: NDArray[np.int64]) -> Any:
            return self._rows.block(rows, weights.dtype)

        until_check = _CHECKS_PER_ROUND * p.rows.scoring_cost
        for _ in range(_EPOCHS_PER_ROUND):
            if visits >= until_check or self.work >= max_epochs:
                break
            stop_if_over()
            # threads compute the next blocks of features while this one takes its steps
            parts = blocks_of(self._rng.permutation(self._active), self._rows.row_size)
            for rows, block in zip(parts, ahead(compute, parts), strict=True):
                if is_plain:
                    state = self.alpha, weights.tables[0], self.bias, self._stays
                    plain_epoch(block, rows, examples, state, K[0], *of_loss)
                else:
                    state = self.alpha, weights.flat, self.bias, self._stays
                    epoch(block, rows, examples, state, groups, K, *of_loss)
            self.n_epochs += 1
            self.work += self._active.size / n
            self._active = self._active[self._stays[self._active]]
            self._has_drifted = True
            visits += self._active.size / n
            if on_epoch is not None:
                now = self._progress(self.now.primal, self.now.dual, self.now.gap)
                on_epoch(WarmStart(self.alpha, self.theta), now)
            if not self._active.size:
                break

    def recompute_W(self) -> bool:  # noqa: N802
        """Compute W = V K from alpha; return False if it is so already.

        The steps add to W in its precision, often float32, and the rounding errors limit the gap.
        """
        p, weights = self.problem, self.weights
        if not (weights.is_virtual or self._has_drifted):
            return False
        if weights.is_virtual:
            weights.apply_kernel()
        else:
            weights.flat[:] = 0
            weights.add(self._rows, self.alpha * p.y, self._tasks)
        self.bias = p.bias_scale * bias_of(p.kernel, self.alpha * p.y, self._tasks)
        self._has_drifted = False
        return True

    def switch_to_V(self) -> list[NDArray[np.float64]]:  # noqa: N802
        """Compute V from alpha in place of W, until :meth:`recompute_W`; return V'V by group."""
        amount, weights = self.alpha * self.problem.y, self.weights
        weights.flat[:] = 0
        weights.is_virtual = True
        weights.add(self._rows, amount, self._tasks)
        sums = np.bincount(self._tasks, amount, minlength=self.bias.size)
        of_bias = np.outer(sums, sums).astype(np.float64) * self.problem.bias_scale**2
        return weights.grams(self._rows, of_bias)

    def solution(self, stopped_by: str) -> Solution:
        """Return the solution; weights are computed anew if they are not as models store them."""
        now, p = self.now, self.problem
        if self._rows is not p.rows or not p.kernel.is_single:
            dtype = self.weights.dtype
            del self.weights
            # slots store sums over pairs of lengths; models store one weight per feature
            amount = self.alpha * p.y
            self.weights = TaskWeights.sums(p.rows, p.kernel, dtype, amount, self._tasks)
        return Solution(
            self.alpha,
            self.weights.astype(self.weights.dtype),
            self.bias,
            self.margins,
            now.primal,
            now.dual,
            now.gap,
            stopped_by,
            self.n_epochs,
            self.work,
            self.history,
            self.theta,
        )
