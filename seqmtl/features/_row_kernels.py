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

    Eight rows are spread out at a time over dense, scratch of eight numbers for every feature, all
    zero: what a row has of one feature then meets all eight in one cache line.
    """
    indptr, indices, values = block
    zero = out.dtype.type(0)
    for i in range(0, out.shape[0], 8):
        n = min(8, out.shape[0] - i)
        for r in range(n):
            for p in range(indptr[i + r], indptr[i + r + 1]):
                dense[np.int64(indices[p]) * 8 + r] += values[p]
        for j in range(i + n):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
            for p in range(indptr[j], indptr[j + 1]):
                at, value = np.int64(indices[p]) * 8, values[p]
                s0 += value * dense[at]
                s1 += value * dense[at + 1]
                s2 += value * dense[at + 2]
                s3 += value * dense[at + 3]
                s4 += value * dense[at + 4]
                s5 += value * dense[at + 5]
                s6 += value * dense[at + 6]
                s7 += value * dense[at + 7]
            sums = (s0, s1, s2, s3, s4, s5, s6, s7)
            for r in range(max(j - i, 0), n):
                out[i + r, j] = sums[r]
        for r in range(n):
            for p in range(indptr[i + r], indptr[i + r + 1]):
                dense[np.int64(indices[p]) * 8 + r] = zero


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
