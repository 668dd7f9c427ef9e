"""Compiled loops over blocks of sparse rows: score against weights, add to weights.

These are the two operations of COFFIN (Sonnenburg and Franc 2010), <w, phi(x)> and w += a phi(x),
for several tasks at once. ``W[j, t]`` is the weight of feature j for task t, so that an update,
which changes all tasks, writes neighbours in memory. A row of a
:class:`~seqmtl.core.rows.RowBlock` lists its features and their values, or has one feature index
per slot. Indices of a row are far apart, and W is larger than the caches: without the prefetch of
the weights of the next row, a loop would mostly wait for memory.
"""

import numpy as np

from seqmtl._jit import add_scaled_4, njit, prefetch


@njit
def score_block(block, rows, W, columns, scores):
    """Set scores[rows[r]] to the inner product of block row r with W[:, columns[rows[r]]]."""
    indptr, indices, values, _, slots, _ = block
    n_columns = W.shape[1]
    flat = W.reshape(W.size)
    end = indptr[rows.size] - 1
    for r in range(rows.size):
        t = np.int64(columns[rows[r]])
        n_features = indptr[r + 1] - indptr[r]
        total = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            total += values[p] * flat[np.int64(indices[p]) * n_columns + t]
            prefetch(flat, np.int64(indices[min(p + n_features, end)]) * n_columns)
        if n_features == 0:  # no features are listed: the row has slots
            next_slots = slots[min(r + 1, rows.size - 1)]
            for p in range(next_slots.size):
                total += flat[np.int64(slots[r, p]) * n_columns + t]
                prefetch(flat, np.int64(next_slots[p]) * n_columns)
        scores[rows[r]] = total


@njit
def add_rows(block, tasks, amount, K, W):
    """Add amount[r] K[tasks[r], :] times block row r to W.

    A slot adds shares[p, 0] of the amount to its weight, and shares[p, 1] to this and its three
    siblings, the indices with the same bits but the last two: pair sums, see
    :mod:`seqmtl.features.positional_rows`.
    """
    indptr, indices, _, writes, slots, shares = block
    T = W.shape[1]
    flat = W.reshape(W.size)
    pattern = np.zeros(4, W.dtype)
    for r in range(tasks.size):
        coupling = K[np.int64(tasks[r])]
        for p in range(indptr[r], indptr[r + 1]):
            base = np.int64(indices[p]) * T
            step = amount[r] * writes[p]
            for s in range(coupling.size):
                flat[base + s] += coupling[s] * step
        if indptr[r] < indptr[r + 1]:
            continue
        if T == 1:
            pattern[:] = coupling[0] * amount[r]  # siblings are neighbours: one vector instruction
            for p in range(slots.shape[1]):
                index = np.int64(slots[r, p])
                flat[index] += shares[p, 0] * pattern[0]
                add_scaled_4(flat, index & ~np.int64(3), pattern, np.int64(0), (shares[p, 1],))
            continue
        for p in range(slots.shape[1]):
            index = np.int64(slots[r, p])
            for s in range(coupling.size):
                step = coupling[s] * amount[r]
                W[index, s] += shares[p, 0] * step
                if shares[p, 1] != 0.0:
                    for q in range(4):
                        W[(index & ~np.int64(3)) + q, s] += shares[p, 1] * step


@njit
def square_rows(block, rows, total, norms):
    """Set norms[rows[r]] to the squared norm of block row r; `total` is 0 before and after."""
    indptr, indices, values, _, _, _ = block
    for r in range(rows.size):
        square = 0.0
        for p in range(indptr[r], indptr[r + 1]):  # (a + b)**2 = a**2 + b (2 a + b)
            square += values[p] * (2.0 * total[indices[p]] + values[p])
            total[indices[p]] += values[p]
        for p in range(indptr[r], indptr[r + 1]):
            total[indices[p]] = 0.0
        norms[rows[r]] = square


@njit
def gram_lower(block, columns, ends, rows_of, values_of, out):
    """Add the part of the rare features to the lower triangle of the kernel matrix.

    Those with columns[f] < 0 are frequent, see :func:`copy_frequent`. The rows with a rare feature
    are listed in rows_of and values_of from columns[f] to ends[f], which is initially columns[f].
    """
    indptr, indices, values, _, _, _ = block
    for i in range(out.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            f = np.int64(indices[p])
            if columns[f] >= 0:
                rows_of[ends[f]] = i
                values_of[ends[f]] = values[p]
                ends[f] += 1
        row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            f = np.int64(indices[p])
            if columns[f] >= 0:
                for q in range(columns[f], ends[f]):  # rows up to i that have the feature
                    row[rows_of[q]] += values[p] * values_of[q]


@njit
def copy_frequent(block, columns, first, dense):
    """Add feature f with columns[f] = -1 - c to column c - first of dense, where there is one."""
    indptr, indices, values, _, _, _ = block
    for i in range(dense.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            c = -1 - columns[indices[p]] - first
            if 0 <= c < dense.shape[1]:
                dense[i, c] += values[p]


@njit
def copy_part(source, first, part, n_parts, target):
    """Copy row r of the source block to row r * n_parts + part of the target block.

    Feature indices start at `first`.
    """
    indptr, indices, values, _, _, _ = source
    for r in range(indptr.size - 1):
        q = target[0][r * n_parts + part]
        for p in range(indptr[r], indptr[r + 1]):
            target[1][q] = indices[p] + first
            target[2][q] = values[p]
            q += 1
