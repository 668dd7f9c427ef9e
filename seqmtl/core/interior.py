"""Solve the SVM dual by an interior-point method, even for ill-conditioned kernels.

Primal-dual predictor-corrector method (Mehrotra 1992, SIAM J. Optim. 2). On a kernel matrix it is
slower than libsvm, and needed for kernel values too large for libsvm's single precision. With few
weights its equations are small, and it is the faster one (:mod:`seqmtl.core.newton`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The usual choices of interior-point codes.
_MAX_STEPS = 60  # of Newton's method
_STEP_SHARE = 0.995  # share of the step to the nearest bound
_ROUNDING = 1e-13  # gap that counts as 0, relative to the objective at 0
_CENTRE = 0.01  # smallest initial distance from the bounds, relative to the box


def minimise_in_box(H: Array, C: Array, alpha: Array, tol: float, y: Array | None = None) -> Array:
    """Return the minimiser of 1/2 alpha' H alpha - sum_i alpha_i over 0 <= alpha_i <= C_i.

    The box is scaled to a unit cube, x = alpha / C. The multiplier of the equation
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
    a = None if y is None else y * C
    return C * minimise_in_cube(DenseMatrix(H * C[:, None] * C), C, alpha / C, tol, a)


class DenseMatrix:
    """A symmetric positive semi-definite matrix in memory; it may be singular."""

    def __init__(self, H: Array) -> None:
        self.H = H

    def __matmul__(self, x: Array) -> Array:
        """Return the product with a vector."""
        return np.asarray(self.H @ x)

    def factor(self, diagonal: Array) -> Callable[[Array], Array]:
        """Return a function of b that solves (H + diag(diagonal)) x = b.

        By LU factors, for rounding can make H indefinite.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the sum is singular to rounding.
        """
        from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            factors = lu_factor(self.H + np.diag(diagonal), check_finite=False)
        if not np.isfinite(factors[0]).all():
            raise np.linalg.LinAlgError("singular to rounding")
        return lambda b: np.asarray(lu_solve(factors, b, check_finite=False))


def minimise_in_cube(
    H: Any, c: Array, x: Array, tol: float, a: Array | None = None, share: float = 0.0
) -> Array:
    """Return the minimiser of 1/2 x' H x - c' x over 0 <= x_i <= 1 and, if given, a' x = 0.

    H has the operator @ and the method ``factor`` of :class:`DenseMatrix`.
    z and w are the multipliers of the bounds 0 and 1, and the sum of z x + w (1 - x) is the gap.
    Stops at a gap of `tol`, or of `share` times the value of the minimum, and before that when
    rounding forbids another step. x is the initial point.
    """
    x = np.clip(x, _CENTRE, 1.0 - _CENTRE)
    has_intercept, a = a is not None, np.zeros_like(c) if a is None else a
    x = _balance(x, a)
    b, gradient = 0.0, H @ x - c
    spread = float(np.abs(gradient).mean())
    z, w = np.maximum(gradient, 0.0) + spread, np.maximum(-gradient, 0.0) + spread
    v, tol = 1.0 - x, max(tol, _ROUNDING * float(np.abs(c).sum()))
    for _ in range(_MAX_STEPS):
        gradient = H @ x - c
        gap = float(z @ x + w @ v)
        if gap <= max(tol, 0.5 * share * abs(float((gradient - c) @ x))):
            break
        gradient += b * a
        try:
            solve = H.factor(z / x + w / v)
        except np.linalg.LinAlgError:
            break  # too close to the bounds for double precision: x is the best so far
        along = solve(a) if has_intercept else a
        if not np.isfinite(along).all():
            break
        low: Any = 0.0  # target of z x
        high: Any = 0.0  # target of w v
        # predictor: how far a step to the bounds gets; corrector: aim for a gap mu that follows
        for is_predictor in (True, False):
            dx = solve(low / x - high / v - gradient)
            db = float(a @ x + a @ dx) / float(a @ along) if has_intercept else 0.0
            dx = dx - db * along
            dz, dw = (low - z * dx) / x - z, (high + w * dx) / v - w
            size = _STEP_SHARE * min(map(_reach, (x, v, z, w), (dx, -dx, dz, dw)))
            if is_predictor:
                remaining = (z + size * dz) @ (x + size * dx) + (w + size * dw) @ (v - size * dx)
                mu = gap / (2 * x.size) * float(remaining / gap) ** 3
                low, high = mu - dx * dz, mu + dx * dw
        x, v, z, w, b = x + size * dx, v - size * dx, z + size * dz, w + size * dw, b + size * db
    return np.clip(x, 0.0, 1.0)


def _balance(x: Array, a: Array) -> Array:
    """Shrink the positive or negative part of x in (0, 1) so that <a, x> = 0."""
    sums = [float(np.abs(a) @ np.where(side, x, 0.0)) for side in (a > 0.0, a < 0.0)]
    factors = min(sums) / np.maximum(sums, 1e-300)
    return np.where(a > 0.0, factors[0], np.where(a < 0.0, factors[1], 1.0)) * x


def _reach(v: Array, step: Array) -> float:
    """Return the largest step size that keeps v positive; with _STEP_SHARE, up to 1."""
    falling = step < 0.0
    return min(1.0 / _STEP_SHARE, float((-v[falling] / step[falling]).min(initial=np.inf)))
