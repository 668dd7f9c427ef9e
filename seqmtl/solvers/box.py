"""The dual of a support vector machine without intercept, on its kernel matrix.

    min over 0 <= alpha_i <= C_i   1/2 alpha' H alpha - sum_i alpha_i

Passes of coordinate descent find which bounds hold; Newton steps on the other variables, bent
where they meet a bound, bring precision (projected Newton method: Bertsekas 1982, SIAM J. Control
Optim. 20). Where the kernel is so ill-conditioned, or singular, that both crawl, a primal-dual
interior-point method leads to the optimum, whatever the conditioning (Mehrotra 1992, SIAM J.
Optim. 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PASSES = 4
_RIDGE = 1e-13  # of the mean of the diagonal, on the matrix of a Newton step
_HALVINGS = 30
_ENOUGH = 1e-4  # of the fall that the slope promises
_SMALLER = 0.5  # of the gap: a round that brings less has stalled
_STALLED = 3  # rounds that stall before another way is taken
_BARRIERS = 60  # Newton steps of the interior-point method, at most
_INWARDS = 0.995  # of the way to the nearest bound
_ROUNDING = 1e-13  # of the objective at 0: a gap that is none
_CENTRE = 0.01  # of the box: how far from its bounds to start at least


def minimise_in_box(
    H: Array,
    C: Array,
    alpha: Array,
    tol: float,
    rng: np.random.Generator,
    max_rounds: int = 200,
) -> Array:
    """Return the minimiser.

    Parameters
    ----------
    H : ndarray of float64, shape (n, n)
        y_i y_j times the kernel matrix, positive semi-definite.
    C : ndarray of float64, shape (n,)
        Upper bounds.
    alpha : ndarray of float64, shape (n,)
        Where to start; inside the box.
    tol : float
        Duality gap to stop at, absolute.
    rng : numpy.random.Generator
        Source of the visiting order.
    max_rounds : int
        Rounds at most, each of a few passes and a Newton step.
    """
    from seqmtl.solvers._dcd_kernels import descend_gram

    best, smallest, n_stalled, is_last = alpha, np.inf, 0, False
    for _ in range(max_rounds):
        margins = H @ alpha
        gap = float(alpha @ (margins - 1.0) + C @ np.maximum(0.0, 1.0 - margins))
        n_stalled = 0 if gap < _SMALLER * smallest else n_stalled + 1
        if gap < smallest:
            best, smallest = alpha, gap
        if gap <= tol:
            break
        if n_stalled == _STALLED:
            if is_last:
                break
            alpha, n_stalled, is_last = _cross_interior(H, C, best, 0.1 * tol), 0, True
            continue
        alpha = alpha.copy()
        order = rng.permuted(np.tile(np.arange(alpha.size), (_PASSES, 1)), axis=1).ravel()
        descend_gram(H, order, alpha, margins, C, 0, 0.0, 1.0)
        alpha = _newton(H, C, alpha)
    return best


def _cross_interior(H: Array, C: Array, alpha: Array, tol: float) -> Array:
    """Return the end of a path through the inside of the box, in units of its sides.

    z and w are the multipliers of the bounds 0 and 1: z x + w (1 - x) sums to the gap.
    """
    from scipy.linalg import lu_factor, lu_solve

    H, x = H * C[:, None] * C, np.clip(alpha / C, _CENTRE, 1.0 - _CENTRE)
    gradient = H @ x - C
    spread = float(np.abs(gradient).mean())
    z, w = np.maximum(gradient, 0.0) + spread, np.maximum(-gradient, 0.0) + spread
    y, tol = 1.0 - x, max(tol, _ROUNDING * float(C.sum()))
    for _ in range(_BARRIERS):
        gradient = H @ x - C
        gap = float(z @ x + w @ y)
        if gap <= tol:
            break
        factors = lu_factor(H + np.diag(z / x + w / y))
        low = high = 0.0  # what z x and w y are to become
        for is_ahead in (True, False):
            dx = lu_solve(factors, low / x - high / y - gradient)
            dz, dw = (low - z * dx) / x - z, (high + w * dx) / y - w
            size = _INWARDS * min(map(_reach, (x, y, z, w), (dx, -dx, dz, dw)))
            if is_ahead:
                left = (z + size * dz) @ (x + size * dx) + (w + size * dw) @ (y - size * dx)
                mu = gap / (2 * x.size) * float(left / gap) ** 3
                low, high = mu - dx * dz, mu + dx * dw
        x, y, z, w = x + size * dx, y - size * dx, z + size * dz, w + size * dw
    return C * np.clip(x, 0.0, 1.0)


def _reach(v: Array, step: Array) -> float:
    """Return how much of a step, at most all, keeps v positive."""
    falling = step < 0.0
    return min(1.0 / _INWARDS, float((-v[falling] / step[falling]).min(initial=np.inf)))


def _newton(H: Array, C: Array, alpha: Array) -> Array:
    """Return the end of a Newton step on the variables that no bound holds."""
    gradient = H @ alpha - 1.0
    free = np.flatnonzero(
        ~(((alpha <= 0.0) & (gradient > 0.0)) | ((alpha >= C) & (gradient < 0.0)))
    )
    if not free.size:
        return alpha
    part = H[np.ix_(free, free)]
    part[np.diag_indices(free.size)] += _RIDGE * max(float(np.trace(part)) / free.size, 1e-300)
    try:
        step = np.linalg.solve(part, -gradient[free])
    except np.linalg.LinAlgError:
        return alpha
    size = 1.0
    for _ in range(_HALVINGS):
        new = alpha.copy()
        new[free] = np.clip(alpha[free] + size * step, 0.0, C[free])
        change = new - alpha
        slope = float(gradient @ change)
        if slope + 0.5 * float(change @ (H @ change)) <= _ENOUGH * slope < 0.0:
            return new
        size *= 0.5
    return alpha
