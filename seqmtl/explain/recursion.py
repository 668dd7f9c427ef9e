"""The recursion from the weights of d-mers to positional oligomer importance.

With weighted-degree features f is a sum of w_I(X_I) over intervals I, and those that are disjoint
from J = [j, j+k) drop out. Let T_J(z) be the part of the intervals that contain J, all letters
outside J averaged out. With ml and mr, the mean over the first and over the last letter,

    A_{j,k} = w_{j,k} + mr A_{j,k+1},        the intervals that start at j and contain J
    T_{j,k} = A_{j,k} + ml T_{j-1,k+1},      and those that start before

and, because an interval that misses the first (the last) letter of J does not see it,

    Q_{j,k}(z) = Q_{j,k-1}(z without its last letter) + Q_{j+1,k-1}(z without its first)
                 - Q_{j+1,k-2}(z without both)
                 + T_{j,k}(z) - (mr T_{j,k})(.) - (ml T_{j,k})(.) + (ml mr T_{j,k})(.)

so that each value costs a few additions and no sequence is ever enumerated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.features.weighted_degree import WeightedDegreeRows

logger = logging.getLogger(__name__)

_TELL_AFTER = 10.0  # seconds


def view_importance(
    rows: WeightedDegreeRows, w: NDArray[Any], max_order: int, letters: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return Q_1..Q_K of one weighted-degree view, shapes (L - k + 1, 4**k).

    Parameters
    ----------
    rows : WeightedDegreeRows
        The features of a window without N.
    w : ndarray, shape (n_features,)
        Their weights.
    max_order : int
        K.
    letters : ndarray of float64, shape (4,)
        Probabilities of A, C, G, T.

    Raises
    ------
    MemoryLimitError
        If the result does not fit into memory.
    """
    degree, length = rows.degree, rows.windows.length
    n_bytes = 8 * (5 * 4.0**degree + 5 * length * 4.0**max_order)
    require_memory(n_bytes, f"a POIM of order {max_order}", "lower --max-order")
    T = _containing(rows, w, max_order, letters)
    found: list[NDArray[np.float64]] = []
    for k, t in enumerate(T, 1):
        n = length - k + 1
        if k == 1:
            found.append(t - (t @ letters)[:, None])
            continue
        inner = t.reshape(n, 4, -1, 4)  # first letter, letters between, last letter
        without_last, without_first = inner @ letters, np.einsum("a,najb->njb", letters, inner)
        shorter = found[-1]
        without_last = shorter[:-1].reshape(n, 4, -1) - without_last
        both = (without_first @ letters)[:, None, :, None]
        if k > 2:
            both -= found[-2][1:-1].reshape(n, 1, -1, 1)
        inner += without_last[..., None] + both
        inner += (shorter[1:].reshape(n, -1, 4) - without_first)[:, None]
        found.append(inner.reshape(n, -1))
    return found


def _containing(
    rows: WeightedDegreeRows, w: NDArray[Any], max_order: int, letters: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return T_1..T_K, the means over the d-mers that contain each k-mer; (L - k + 1, 4**k)."""
    degree, length = rows.degree, rows.windows.length
    scale = float(rows.scale[0])
    found = [np.zeros((length - k + 1, 4**k)) for k in range(1, max_order + 1)]
    before: Sequence[NDArray[np.float64]] = ()  # T at the position before, by length
    told = time.monotonic()
    for position in range(length):
        if time.monotonic() > told + _TELL_AFTER:
            told = time.monotonic()
            logger.info("oligomer importance: position %d of %d", position, length)
        here: list[NDArray[np.float64]] = []
        starting = np.zeros(0)
        for k in range(min(degree, length - position), 0, -1):
            longer = starting
            starting = scale * rows.dmer_weights(w, position, k)
            if longer.size:
                starting += longer.reshape(-1, 4) @ letters
            total = starting
            if k < len(before):
                total = starting + letters @ before[k].reshape(4, -1)
            here.insert(0, total)
            if k <= max_order:
                found[k - 1][position] = total
        before = here
    return found
