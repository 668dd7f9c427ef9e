"""Score blocks of sparse rows against a weight matrix, and add them to it."""

import numpy as np

from seqmtl._jit import njit, prefetch


@njit
def score_block(block, rows, W, columns, scores):
    """Set scores[rows[r]] to the inner product of block row r with W[:, columns[rows[r]]]."""
    indptr, indices, values = block
    n_columns = W.shape[1]
    flat = W.reshape(W.size)
    end = indptr[rows.size] - 1
    for r in range(rows.size):
        t = np.int64(columns[rows[r]])
        ahead = indptr[r + 1] - indptr[r]
        total = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            total += values[p] * flat[np.int64(indices[p]) * n_columns + t]
            prefetch(flat, np.int64(indices[min(p + ahead, end)]) * n_columns)
        scores[rows[r]] = total


@njit
def add_rows(block, tasks, amount, K, W):
    """Add amount[r] K[tasks[r], :] times block row r to W."""
    indptr, indices, values = block
    T = W.shape[1]
    flat = W.reshape(W.size)
    for r in range(tasks.size):
        coupling = K[np.int64(tasks[r])]
        for p in range(indptr[r], indptr[r + 1]):
            base = np.int64(indices[p]) * T
            step = amount[r] * values[p]
            for s in range(T):
                flat[base + s] += coupling[s] * step


@njit
def gram_lower(block, dense, out):
    """Set the lower triangle of out to the inner products of the rows of a block.

    dense is scratch, one number for every feature, all zero.
    """
    indptr, indices, values = block
    for i in range(out.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            dense[indices[p]] += values[p]
        for j in range(i + 1):
            total = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                total += values[p] * dense[indices[p]]
            out[i, j] = total
        for p in range(indptr[i], indptr[i + 1]):
            dense[indices[p]] = 0.0


@njit
def copy_part(source, first, part, n_parts, target):
    """Copy row r of the source block to row r * n_parts + part of the target block.

    Features are renumbered from `first`.
    """
    indptr, indices, values = source
    for r in range(indptr.size - 1):
        at = target[0][r * n_parts + part]
        for p in range(indptr[r], indptr[r + 1]):
            target[1][at] = indices[p] + first
            target[2][at] = values[p]
            at += 1
