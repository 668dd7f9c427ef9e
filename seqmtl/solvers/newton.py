"""Second-order steps for problems with few weights: few columns, or few columns times tasks.

Where many examples share few weights, coordinate descent is slow. A step here solves the equations
for all weights at once (:mod:`seqmtl.solvers.few_weights`).

The squared and logistic losses take Newton's method with line search on the primal; D_i is C_i
times the second derivative of the loss. The hinge and the epsilon-insensitive loss take interior
points on the dual (:mod:`seqmtl.solvers.interior`), which end close to the bounds of alpha. Then
proximal steps, maximising the dual minus sum_i (alpha_i - alpha_i')^2 / (2 s C_i), put every
alpha_i on the bound where it belongs. Their primal has a loss that is quadratic near the kinks, so
that Newton's method solves them exactly.

Sources: Chapelle (2007), Neural Comput. 19; Ferris, Munson (2002), SIAM J. Optim. 13; Rockafellar
(1976), SIAM J. Control Optim. 14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.dcd import CoordinateDescent, Progress
from seqmtl.solvers.few_weights import FewWeights, split
from seqmtl.solvers.interior import minimise_in_cube
from seqmtl.solvers.problem import Problem, loss_values

Array = NDArray[np.float64]

_MOST_EQUATIONS = 4000
_MOST_BYTES = 1 << 30  # limit on the copy of the examples, and on the equations of the tasks
_INTERIOR_STEPS = 15  # number of cheap steps; there may be three times as many
_NEWTON_STEPS = 5
_MOST_STEPS = 40
_PRECISE = 1e-6  # interior points end at a hundredth of this gap at the latest
_SHARPNESS = (1.0, 10.0, 100.0)  # s of the proximal steps
_ROUNDING = 1e-20  # square of a step that counts as 0, relative to the regulariser


class Response:
    """The loss as a function of the margins, or that of a proximal step.

    Parameters
    ----------
    problem : Problem
        The problem.
    alpha, s : ndarray of float64 of shape (n,), and float; optional
        Centre and sharpness of a proximal step.
    """

    def __init__(self, problem: Problem, alpha: Array | None = None, s: float = 1.0) -> None:
        self._problem, self._alpha, self._s = problem, alpha, s

    def __call__(self, margins: Array) -> tuple[Array, Array, Array]:
        """Return the alpha_i that belong to the margins, their D_i, and the losses times C_i."""
        p, r = self._problem, self._problem.residuals(margins)
        if self._alpha is not None:
            return self._proximal(r, self._alpha, self._s * p.C)
        losses = p.C * loss_values(p.loss, r, p.epsilon)
        if p.loss == "logistic":
            share = 0.5 - 0.5 * np.tanh(0.5 * r)
            return p.C * share, p.C * share * (1.0 - share), losses
        if p.targets.size:
            short = -np.sign(r) * np.maximum(np.abs(r) - p.epsilon, 0.0)
        else:
            short = np.maximum(1.0 - r, 0.0)
        return 2.0 * p.C * short, 2.0 * p.C * (short != 0.0), losses

    def _proximal(self, r: Array, centre: Array, rate: Array) -> tuple[Array, Array, Array]:
        p = self._problem
        if p.targets.size:
            alpha = centre - rate * r
            alpha = np.sign(alpha) * np.maximum(np.abs(alpha) - rate * p.epsilon, 0.0)
            alpha = np.clip(alpha, -p.C, p.C)
            gain = -alpha * r - p.epsilon * np.abs(alpha)
        else:
            alpha = np.clip(centre + rate * (1.0 - r), 0.0, p.C)
            gain = alpha * (1.0 - r)
        is_free = (alpha != 0.0) & (np.abs(alpha) < p.C)
        return alpha, rate * is_free, gain - (alpha - centre) ** 2 / (2.0 * rate)


def newton(few: FewWeights, start: Array, response: Response) -> Array:
    """Return the alpha that belongs to its own margins, by Newton's method on the primal."""
    alpha, m = start, few.hessian(start)
    for _ in range(_MOST_STEPS):
        target, D, losses = response(m)
        change = target - alpha
        if abs(float(change @ few.hessian(change))) <= _ROUNDING * abs(float(alpha @ m)):
            break
        along = few.margins(few.factor(D)(few.virtual(change)))
        change -= D * along
        linear, square = float(alpha @ along), 0.5 * float(change @ along)
        slope = linear - float(target @ along)
        for size in 0.5 ** np.arange(40.0):
            gain = float((response(m + size * along)[2] - losses).sum())
            if gain + size * (linear + size * square) <= 1e-4 * size * slope:
                break
        else:
            break  # no decrease but by rounding
        alpha, m = alpha + size * change, m + size * along
    return response(m)[0]


def solve(few: FewWeights, start: Array, tol: float) -> Array:
    """Return alpha, in the order of `few`, with a relative gap of about tol or the least possible.

    Parameters
    ----------
    few : FewWeights
        The problem.
    start : ndarray of float64, shape (n,)
        Initial dual variables.
    tol : float
        Relative duality gap.
    """
    p = few.problem
    if not p.has_upper_bound:
        return newton(few, start, Response(p))
    cube = _Cube(few)
    aims = cube.unfold(p.targets) - p.epsilon if p.targets.size else np.ones(p.C.size)
    share = 0.01 * min(tol, _PRECISE)
    x = minimise_in_cube(cube, cube.C * aims, np.zeros(aims.size), 0.0, share=share)
    best = alpha = cube.fold(cube.C * x)
    least = few.gap(alpha)
    for s in _SHARPNESS:
        alpha = newton(few, alpha, Response(p, alpha, s))
        gap = few.gap(alpha)
        if gap <= max(tol, least):
            best, least = alpha, gap
        if not tol < gap < 1.0:
            break
    return best


class _Cube:
    """H scaled to the unit cube, for :func:`seqmtl.solvers.interior.minimise_in_cube`.

    In regression, alpha has two parts, for predictions that are too low and too high.
    """

    def __init__(self, few: FewWeights) -> None:
        self._few, self._n_parts = few, 2 if few.problem.targets.size else 1
        self.C = np.tile(few.problem.C, self._n_parts)

    def __matmul__(self, x: Array) -> Array:
        return self.C * self.unfold(self._few.hessian(self.fold(self.C * x)))

    def factor(self, diagonal: Array) -> Callable[[Array], Array]:
        """Return a function that solves by the identity of Sherman, Morrison and Woodbury."""
        few, C = self._few, self.C
        solve = few.factor((C * C / diagonal).reshape(self._n_parts, -1).sum(axis=0))

        def apply(b: Array) -> Array:
            W = solve(few.virtual(self.fold(C * b / diagonal)))
            return np.asarray((b - C * self.unfold(few.margins(W))) / diagonal)

        return apply

    def fold(self, alpha: Array) -> Array:
        """Return the dual variables of the examples from their parts."""
        return alpha if self._n_parts == 1 else np.subtract(*alpha.reshape(2, -1))

    def unfold(self, margins: Array) -> Array:
        """Return the margins of all parts."""
        return margins if self._n_parts == 1 else np.concatenate([margins, -margins])


class NewtonDescent(CoordinateDescent):
    """Coordinate descent that takes second-order steps when these are cheaper.

    They are taken, from dense rows, as soon as coordinate descent has cost about as much as they
    will. If rounding keeps them from the tolerance, coordinate descent continues where they end.

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    **options
        See :class:`~seqmtl.solvers.dcd.CoordinateDescent`.
    """

    def __init__(self, problem: Problem, **options: Any) -> None:
        super().__init__(problem, **options)
        self._step_work = self._work_of_step()
        n_steps = _INTERIOR_STEPS if problem.has_upper_bound else _NEWTON_STEPS
        patience = n_steps * self._step_work
        self._patience_for_newton = patience if self.state.work < patience else np.inf

    def _work_of_step(self) -> float:
        """Return the cost of a step in epochs; infinity if there are too many weights."""
        p, (n, d) = self.problem, (self.problem.y.size, self.problem.rows.n_features + 1)
        T, n_bytes = p.kernels.shape[-1], 8 * d * max(n, 4 * p.kernels.shape[-1] * d)
        if len(p.kernels) > 1 or not p.rows.is_dense or n_bytes > _MOST_BYTES:
            return np.inf
        r = split(p.kernels[0])[1].shape[1]
        if max(r, 1) * d > _MOST_EQUATIONS:
            return np.inf
        # in nanoseconds, of CPUs of 2023
        visit = 200 + 2 * d + d * T / 4
        step = 200 + 2 * d + d**2 / 8 + (T * d**3 + T * (r * d) ** 2 + (r * d) ** 3 / 3) / (8 * n)
        return step / visit

    def _is_savable(self) -> bool:
        """Tell so unless second-order steps are next; the work tells whether they were taken."""
        is_next = self._patience_for_newton <= self.state.work
        return not is_next and super()._is_savable()

    def _move(self, margins: NDArray[np.float64], now: Progress) -> bool:
        state = self.state
        if state.work < self._patience_for_newton:
            return super()._move(margins, now)
        from threadpoolctl import threadpool_limits

        self._patience_for_newton = np.inf
        few = FewWeights(self.problem, self.problem.rows.dense())
        try:
            with threadpool_limits(1, "blas"):  # threads wait longer than they work, and round anew
                alpha = solve(few, state.alpha[few.order], self.tol)
                is_better = few.gap(alpha) < now.gap
        except np.linalg.LinAlgError:
            return super()._move(margins, now)
        if is_better:
            state.alpha[few.order] = alpha
            self._sum_weights()
        state.work += few.n_steps * self._step_work
        return True
