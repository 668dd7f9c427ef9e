"""The dual of a support vector machine without intercept, on its kernel matrix.

    min over 0 <= alpha_i <= C_i   1/2 alpha' H alpha - sum_i alpha_i

Passes of coordinate descent find which bounds hold; Newton steps on the other variables, bent
where they meet a bound, bring precision where the kernel is ill-conditioned and coordinates
alone would crawl (projected Newton method: Bertsekas 1982, SIAM J. Control Optim. 20).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PASSES = 4
_RIDGE = 1e-13  # of the mean of the diagonal, on the matrix of a Newton step
_HALVINGS = 30
_ENOUGH = 1e-4  # of the fall that the slope promises
_STALLED = 3  # rounds without a smaller gap: rounding is all that is left


def minimise_in_box(
    H: NDArray[np.float64],
    C: NDArray[np.float64],
    alpha: NDArray[np.float64],
    tol: float,
    rng: np.random.Generator,
    max_rounds: int = 200,
) -> NDArray[np.float64]:
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

    best, smallest, n_stalled = alpha, np.inf, 0
    for _ in range(max_rounds):
        margins = H @ alpha
        gap = float(alpha @ (margins - 1.0) + C @ np.maximum(0.0, 1.0 - margins))
        n_stalled = 0 if gap < smallest else n_stalled + 1
        if gap < smallest:
            best, smallest = alpha, gap
        if gap <= tol or n_stalled == _STALLED:
            break
        alpha = alpha.copy()
        order = rng.permuted(np.tile(np.arange(alpha.size), (_PASSES, 1)), axis=1).ravel()
        descend_gram(H, order, alpha, margins, C, 0, 0.0, 1.0)
        alpha = _newton(H, C, alpha)
    return best


def _newton(
    H: NDArray[np.float64], C: NDArray[np.float64], alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
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
