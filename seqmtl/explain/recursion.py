"""Compute positional oligomer importance from the weights of d-mers by recursion.

The score f is a sum of w_I(X_I) over intervals I, and those that are disjoint from J = [j, j+k)
cancel. Let T_J(z) be the sum over the intervals that contain J, averaged over all letters outside
J. Let ml and mr be the means over the first and the last letter. Then

    A_{j,k} = w_{j,k} + mr A_{j,k+1},        the intervals that start at j and contain J
    T_{j,k} = A_{j,k} + ml T_{j-1,k+1},      and those that start before

and, as an interval that does not contain the first (last) letter of J does not depend on it,

    Q_{j,k}(z) = Q_{j,k-1}(z without its last letter) + Q_{j+1,k-1}(z without its first)
                 - Q_{j+1,k-2}(z without both)
                 + T_{j,k}(z) - (mr T_{j,k})(.) - (ml T_{j,k})(.) + (ml mr T_{j,k})(.)

so that each value costs a few additions and no sequences are enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory


def oligomer_importance(
    weights: Sequence[NDArray[np.float64]], max_order: int, letters: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return Q_1..Q_K, shapes (L - k + 1, 4**k).

    Parameters
    ----------
    weights : sequence of ndarray of float64, shapes (L, 4), (L, 16), ...
        Weight of every d-mer by position.
    max_order : int
        K.
    letters : ndarray of float64, shape (4,)
        Probabilities of A, C, G, T.

    Raises
    ------
    MemoryLimitError
        If the result does not fit into memory.
    """
    length = weights[0].shape[0]
    n_bytes = 8.0 * length * (4 * 4.0 ** len(weights) + 5 * 4.0**max_order)
    require_memory(n_bytes, f"a POIM of order {max_order}", "lower --max-order")
    found: list[NDArray[np.float64]] = []
    for k, t in enumerate(_containing(weights, max_order, letters), 1):
        n = length - k + 1
        if k == 1:
            found.append(t - (t @ letters)[:, None])
            continue
        inner = t.reshape(n, 4, -1, 4)  # first letter, letters between, last letter
        without_last, without_first = inner @ letters, _mean_first(t, letters).reshape(n, -1, 4)
        shorter = found[-1]
        without_last = shorter[:-1].reshape(n, 4, -1) - without_last
        both = (without_first @ letters)[:, None, :, None]
        if k > 2:
            both -= found[-2][1:-1].reshape(n, 1, -1, 1)
        inner += without_last[..., None] + both
        inner += (shorter[1:].reshape(n, -1, 4) - without_first)[:, None]
        found.append(inner.reshape(n, -1))
    return tuple(found)


def _containing(
    weights: Sequence[NDArray[np.float64]], max_order: int, letters: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return T_1..T_K, averages of the d-mers that contain each k-mer; (L - k + 1, 4**k)."""
    length, span = weights[0].shape[0], len(weights)
    A = T = weights[-1][: length - span + 1]
    found = {span: T.copy()}
    for k in range(span - 1, 0, -1):
        longer, A = A, weights[k - 1][: length - k + 1].copy()
        A[:-1] += longer.reshape(length - k, -1, 4) @ letters
        longer, T = T, A.copy()
        T[1:] += _mean_first(longer, letters)
        found[k] = T
    orders = range(1, max_order + 1)
    return [found[k] if k <= span else np.zeros((length - k + 1, 4**k)) for k in orders]


def _mean_first(values: NDArray[np.float64], letters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the first letter of k-mers, shape (n, 4**(k - 1))."""
    found: NDArray[np.float64] = letters @ values.reshape(values.shape[0], 4, -1)
    return found
