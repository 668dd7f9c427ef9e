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

so that each value costs a few additions and no sequences are enumerated. T is computed from left to
right, so that the weights of d-mers are needed at two positions at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory


def oligomer_importance(
    weights: Iterable[Sequence[NDArray[np.float64]]],
    length: int,
    max_order: int,
    letters: NDArray[np.float64],
) -> tuple[NDArray[np.float64], ...]:
    """Return Q_1..Q_K, shapes (L - k + 1, 4**k).

    Parameters
    ----------
    weights : iterable of sequences of ndarray of float64, shapes (4,), (16,), ...
        Weight of every d-mer at each position.
    length : int
        Number of positions L.
    max_order : int
        K.
    letters : ndarray of float64, shape (4,)
        Probabilities of A, C, G, T.

    Raises
    ------
    MemoryLimitError
        If the result does not fit into memory.
    """
    n_bytes = 8.0 * length * 5 * 4.0**max_order
    require_memory(n_bytes, f"a POIM of order {max_order}", "lower --max-order")
    found: list[NDArray[np.float64]] = []
    for k, t in enumerate(_containing(weights, length, max_order, letters), 1):
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
    weights: Iterable[Sequence[NDArray[np.float64]]],
    length: int,
    max_order: int,
    letters: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return T_1..T_K, averages of the d-mers that contain each k-mer; (L - k + 1, 4**k)."""
    found = [np.zeros((length - k + 1, 4**k)) for k in range(1, max_order + 1)]
    before: list[NDArray[np.float64]] = []
    for j, levels in enumerate(weights):
        here = list(levels[: length - j])
        for k in range(len(here) - 1, 0, -1):
            here[k - 1] = here[k - 1] + here[k].reshape(-1, 4) @ letters
        for k, longer in enumerate(before[1 : len(here) + 1]):
            here[k] += _mean_first(longer[None], letters)[0]
        for q, t in zip(found, here, strict=False):
            q[j] = t
        before = here
    return found


def _mean_first(values: NDArray[np.float64], letters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the first letter of k-mers, shape (n, 4**(k - 1))."""
    found: NDArray[np.float64] = letters @ values.reshape(values.shape[0], 4, -1)
    return found
