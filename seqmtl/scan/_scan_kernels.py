"""Kernels of the scan: number the d-mers of a contig, add table rows, finish the scores.

A *row* holds what one d-mer adds to the L windows that contain its first letter, in whole units.
All sums are sums of integers, so no result depends on the order in which rows are added.
"""

import numpy as np

from seqmtl._jit import njit, prefetch

GROUP = 4  # rows summed in registers before the accumulators are touched
AHEAD = 16  # positions between the prefetch of a row and its use
LINE = 32  # int16 entries of a cache line
STEP = 16  # sums in a vector, so that the inner loop leaves no remainder


@njit
def index_rows(codes, degree, coarse_degree, first_row, rows, coarse_rows, clean):
    """Find the row of the longest clean d-mer (d <= degree) at every position, and its coarse row.

    A d-mer with the base-4 number c has the row first_row[d] + c; d = 0 where the letter at the
    position is not A, C, G or T. `clean` receives d.
    """
    depth = 0
    c = np.int64(0)
    for p in range(codes.size - 1, -1, -1):
        code = np.int64(codes[p])
        if code > 3:
            depth = 0
            c = np.int64(0)
        elif depth == degree:
            c = (c >> 2) | (code << (2 * (degree - 1)))
        else:
            c |= code << (2 * depth)
            depth += 1
        rows[p] = first_row[depth] + c
        clean[p] = depth
        if coarse_degree > 0:
            kept = min(depth, coarse_degree)
            coarse_rows[p] = first_row[kept] + (c >> (2 * (depth - kept)))


@njit
def add_rows(table, stride, length, rows, n_positions, total):
    """Add the row of position p to total[p : p + length], for all p < n_positions.

    Every row is `stride` entries: GROUP - 1 zeros, `length` numbers, zeros. n_positions is a
    multiple of GROUP, `rows` goes on for AHEAD more entries and `total` for length + GROUP + STEP.
    Four neighbouring rows are summed, each one entry further left than the last, before `total`
    is read and written once.
    """
    width = (length + GROUP - 1 + STEP - 1) // STEP * STEP
    for p in range(0, n_positions, GROUP):
        for k in range(p + AHEAD, p + AHEAD + GROUP):
            begin = np.int64(rows[k]) * stride
            for j in range(0, stride, LINE):
                prefetch(table, begin + j)
        if rows[p] + rows[p + 1] + rows[p + 2] + rows[p + 3] == 0:
            continue
        row0 = table[np.int64(rows[p]) * stride + 3 :][:width]
        row1 = table[np.int64(rows[p + 1]) * stride + 2 :][:width]
        row2 = table[np.int64(rows[p + 2]) * stride + 1 :][:width]
        row3 = table[np.int64(rows[p + 3]) * stride :][:width]
        sums = total[p : p + width]
        for m in range(width):
            sums[m] += np.int32(row0[m]) + np.int32(row1[m]) + np.int32(row2[m]) + np.int32(row3[m])


@njit
def shift_left(total, n_bits):
    """Multiply every sum by 2**n_bits."""
    for i in range(total.size):
        total[i] <<= n_bits


@njit
def finish_scores(total, bias, factor, scores):
    """Turn sums into scores of windows of one and the same norm."""
    for s in range(scores.size):
        scores[s] = bias + factor * total[s]


@njit
def finish_mixed_scores(total, codes, clean, length, beta, bias, unit, scores):
    """Turn sums into scores where windows may hold other letters, each divided by its own norm.

    The squared norm is the sum of beta[d - 1] over the clean d-mers of the window; an empty beta
    asks for no division. Returns the number of windows that hold another letter.
    """
    degree = beta.size
    n_other = 0
    n_mixed = 0
    counts = np.zeros(degree, np.int64)
    for s in range(scores.size):
        if s == 0:
            for p in range(length):
                n_other += codes[p] > 3
            for d in range(1, degree + 1):
                for p in range(length - d + 1):
                    counts[d - 1] += clean[p] >= d
        else:
            before = n_other
            n_other += np.int64(codes[s + length - 1] > 3) - np.int64(codes[s - 1] > 3)
            if before + n_other > 0:
                for d in range(1, degree + 1):
                    counts[d - 1] += np.int64(clean[s + length - d] >= d)
                    counts[d - 1] -= np.int64(clean[s - 1] >= d)
        n_mixed += n_other > 0
        if degree == 0:
            scores[s] = bias + unit * total[s]
            continue
        squared = 0.0
        for d in range(degree):
            squared += beta[d] * counts[d]
        scores[s] = bias + (unit / np.sqrt(squared) * total[s] if squared > 0.0 else 0.0)
    return n_mixed
