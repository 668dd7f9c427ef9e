"""Inner products of the virtual weights of all tasks, without forming the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from seqmtl.features.weighted_degree import WeightedDegreeRows


def folded_virtual_gram(
    bound: WeightedDegreeRows,
    rows: NDArray[np.int64],
    amount: NDArray[np.float64],
    tasks: NDArray[Any],
    n_tasks: int,
) -> NDArray[np.float64]:
    """Return V'V, shape (T, T), gathering all windows at one position at a time.

    `amount` includes the scale of the rows.
    """
    from seqmtl.features._wd_kernels import add_energies, scatter_tasks
    from seqmtl.features.weighted_degree import level_offsets

    w, S = bound.windows, np.zeros((n_tasks, n_tasks))
    levels, width = level_offsets(bound.degree)
    tables = np.zeros((width, n_tasks)), np.zeros(width, dtype=np.bool_)
    last = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size, dtype=np.int64)
    for l in range(w.length - 1, -1, -1):
        scatter_tasks(
            w.codes, w.starts, w.is_reverse, w.length, l, rows, amount, tasks, last, levels, tables
        )
        add_energies(tables, bound.root_beta**2, levels, min(bound.degree, w.length - l), S)
    return S + np.triu(S, 1).T
