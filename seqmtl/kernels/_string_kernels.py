"""Compiled loops of the string kernels: runs of matches, and pairs of words."""

import numpy as np

from seqmtl._jit import njit, popcount

NOTHING = np.uint8(255)  # the code of a letter that matches nothing


@njit
def sum_of_runs(x, z, shift, table):
    """Sum table[r] over the runs of r matches of x[l + shift] with z[l]."""
    total = 0.0
    run = 0
    for l in range(x.size - shift):
        if x[l + shift] == z[l] and z[l] != NOTHING:
            run += 1
        else:
            total += table[run]
            run = 0
    return total + table[run]


@njit
def pair_with_shifts(x, z, shifts, table):
    """Weighted-degree kernel of one pair: the sum of runs over all shifts up to the largest."""
    total = sum_of_runs(x, z, 0, table)
    for s in range(1, min(shifts, x.size - 1) + 1):
        both = sum_of_runs(x, z, s, table) + sum_of_runs(z, x, s, table)
        total += both / (2.0 * (s + 1))
    return total


@njit
def weighted_degree_matrix(X, Z, shifts, table, symmetric, out):
    """Fill the kernel matrix of codes X (n, L) and Z (m, L)."""
    for i in range(X.shape[0]):
        for j in range(i + 1 if symmetric else Z.shape[0]):
            out[i, j] = pair_with_shifts(X[i], Z[j], shifts, table)
            if symmetric:
                out[j, i] = out[i, j]


@njit
def weighted_degree_diagonal(X, shifts, table, out):
    """Fill the kernel of every row of codes with itself."""
    for i in range(X.shape[0]):
        out[i] = pair_with_shifts(X[i], X[i], shifts, table)


@njit
def hamming(a, b, bits, lowest):
    """Count the letters in which two packed words differ."""
    different = a ^ b
    folded = different
    for j in range(1, bits):
        folded |= different >> np.uint64(j)
    return np.int64(popcount(folded & lowest))


@njit
def pairs_of_words(a, b, bits, lowest, table, out):
    """Fill out[u, v] with table[Hamming distance of words a[u] and b[v]]."""
    for u in range(a.size):
        for v in range(b.size):
            out[u, v] = table[hamming(a[u], b[v], bits, lowest)]


@njit
def words_with_themselves(words, indptr, indices, counts, bits, lowest, table, out):
    """Fill the sum over all pairs of words of a row, for every row of a sparse count matrix."""
    for i in range(out.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(indptr[i], indptr[i + 1]):
                distance = hamming(words[indices[p]], words[indices[q]], bits, lowest)
                total += counts[p] * counts[q] * table[distance]
        out[i] = total
