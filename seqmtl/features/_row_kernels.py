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
def sort_by_feature(block, postings):
    """Sort the entries of a block into postings, whose begins are 0 so far."""
    indptr, indices, values = block
    begins, rows, entries = postings
    for p in range(indptr[indptr.size - 1]):
        begins[np.int64(indices[p]) + 1] += 1
    for f in range(1, begins.size):
        begins[f] += begins[f - 1]
    for r in range(indptr.size - 1):
        for p in range(indptr[r], indptr[r + 1]):
            feature = np.int64(indices[p])
            rows[begins[feature]] = r
            entries[begins[feature]] = values[p]
            begins[feature] += 1
    for f in range(begins.size - 1, 0, -1):
        begins[f] = begins[f - 1]
    begins[0] = 0


@njit
def gram_by_postings(block, postings, out):
    """Set the lower triangle of out to the inner products of the rows of a block.

    postings holds the same values by feature: where each feature begins, rows (rising), values.
    """
    indptr, indices, values = block
    begins, rows, entries = postings
    for i in range(out.shape[0]):
        row = out[i]
        row[: i + 1] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            feature = np.int64(indices[p])
            for q in range(begins[feature], begins[feature + 1]):
                if rows[q] > i:
                    break
                row[rows[q]] += values[p] * entries[q]


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
