"""Solve the SVM dual by an interior-point method, even for ill-conditioned kernels.

Primal-dual predictor-corrector method (Mehrotra 1992, SIAM J. Optim. 2). It is slower than libsvm,
and needed for kernel values too large for libsvm's single precision.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BARRIERS = 60  # maximum number of Newton steps
_INWARDS = 0.995  # share of the step to the nearest bound
_ROUNDING = 1e-13  # gap that counts as 0, relative to the objective at 0
_CENTRE = 0.01  # smallest initial distance from the bounds, relative to the box


def minimise_in_box(H: Array, C: Array, alpha: Array, tol: float, y: Array | None = None) -> Array:
    """Return the minimiser of 1/2 alpha' H alpha - sum_i alpha_i over 0 <= alpha_i <= C_i.

    The box is scaled to a unit cube, x = alpha / C. z and w are the multipliers of the bounds 0
    and 1, and the sum of z x + w (1 - x) is the gap. The multiplier of the equation
    sum_i y_i alpha_i = 0, if it is imposed, is the intercept.

    Parameters
    ----------
    H : ndarray of float64, shape (n, n)
        y_i y_j times the kernel matrix, positive semi-definite; it may be singular.
    C : ndarray of float64, shape (n,)
        Upper bounds.
    alpha : ndarray of float64, shape (n,)
        Initial point, inside the box.
    tol : float
        Absolute duality gap at which to stop.
    y : ndarray of float64, shape (n,), optional
        Labels, -1 or +1, if there is an intercept.
    """
    from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

    H, x = H * C[:, None] * C, np.clip(alpha / C, _CENTRE, 1.0 - _CENTRE)
    a = np.zeros_like(C) if y is None else y * C
    x = _balance(x, a)
    b, gradient = 0.0, H @ x - C
    spread = float(np.abs(gradient).mean())
    z, w = np.maximum(gradient, 0.0) + spread, np.maximum(-gradient, 0.0) + spread
    v, tol = 1.0 - x, max(tol, _ROUNDING * float(C.sum()))
    for _ in range(_BARRIERS):
        gradient = H @ x - C + b * a
        gap = float(z @ x + w @ v)
        if gap <= tol:
            break
        M = H + np.diag(z / x + w / v)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            factors = lu_factor(M, check_finite=False)
        along = lu_solve(factors, a, check_finite=False)
        if not (np.isfinite(along).all() and np.isfinite(factors[0]).all()):
            break  # too close to the bounds for the precision: x is the best so far
        low = high = 0.0  # targets of z x and w v
        for is_ahead in (True, False):
            dx = lu_solve(factors, low / x - high / v - gradient, check_finite=False)
            db = 0.0 if y is None else float(a @ x + a @ dx) / float(a @ along)
            dx = dx - db * along
            dz, dw = (low - z * dx) / x - z, (high + w * dx) / v - w
            size = _INWARDS * min(map(_reach, (x, v, z, w), (dx, -dx, dz, dw)))
            if is_ahead:
                left = (z + size * dz) @ (x + size * dx) + (w + size * dw) @ (v - size * dx)
                mu = gap / (2 * x.size) * float(left / gap) ** 3
                low, high = mu - dx * dz, mu + dx * dw
        x, v, z, w, b = x + size * dx, v - size * dx, z + size * dz, w + size * dw, b + size * db
    return C * np.clip(x, 0.0, 1.0)


def _balance(x: Array, a: Array) -> Array:
    """Shrink the positive or negative part of x in (0, 1) so that <a, x> = 0."""
    sums = [float(np.abs(a) @ np.where(side, x, 0.0)) for side in (a > 0.0, a < 0.0)]
    factors = min(sums) / np.maximum(sums, 1e-300)
    return np.where(a > 0.0, factors[0], np.where(a < 0.0, factors[1], 1.0)) * x


def _reach(v: Array, step: Array) -> float:
    """Return the largest share of a step, at most 1, that keeps v positive."""
    falling = step < 0.0
    return min(1.0 / _INWARDS, float((-v[falling] / step[falling]).min(initial=np.inf)))
