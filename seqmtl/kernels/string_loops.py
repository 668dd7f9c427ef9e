"""Compiled loops of the string kernels: runs of matches, and pairs of k-mers.

A k-mer is packed into 64 bits, its first letter in the most significant ones.
"""

import numpy as np

from seqmtl._jit import njit, popcount

NOTHING = np.uint8(255)  # code of a letter that matches nothing


@njit
def sum_of_runs(x, z, shift, gain):
    """Sum gain[r] over the positions l, where r is the length of the run of matches ending at l.

    x[l + shift] is compared with z[l]; gain[0] is 0.
    """
    total = 0.0
    run = 0
    for l in range(x.size - shift):
        # branch-free, as matches cannot be predicted
        run = (run + 1) * ((x[l + shift] == z[l]) & (z[l] != NOTHING))
        total += gain[run]
    return total


@njit
def pair_with_shifts(x, z, shifts, gain):
    """Weighted-degree kernel of one pair: the sum of runs over all shifts up to the largest."""
    total = sum_of_runs(x, z, 0, gain)
    for s in range(1, min(shifts, x.size - 1) + 1):
        both = sum_of_runs(x, z, s, gain) + sum_of_runs(z, x, s, gain)
        total += both / (2.0 * (s + 1))
    return total


@njit
def weighted_degree_matrix(X, Z, shifts, gain, symmetric, out):
    """Fill the kernel matrix of codes X (n, L) and Z (m, L)."""
    for i in range(X.shape[0]):
        for j in range(i + 1 if symmetric else Z.shape[0]):
            out[i, j] = pair_with_shifts(X[i], Z[j], shifts, gain)
            if symmetric:
                out[j, i] = out[i, j]


@njit
def weighted_degree_diagonal(X, shifts, gain, out):
    """Fill the kernel of every row of codes with itself."""
    for i in range(X.shape[0]):
        out[i] = pair_with_shifts(X[i], X[i], shifts, gain)


@njit
def hamming(a, b, bits, lowest):
    """Count the letters in which two packed k-mers differ.

    `lowest` has the lowest bit of every letter set. Any differing bit of a letter is moved there.
    """
    different = a ^ b
    folded = different
    for j in range(1, bits):
        folded |= different >> np.uint64(j)
    return np.int64(popcount(folded & lowest))


@njit
def add_kmer_pairs(a, b, of_a, of_b, bits, lowest, table, symmetric, row, out):
    """Add table[Hamming distance] over all pairs of k-mers, a[u] of row i and b[v] of row j.

    of_a and of_b are the counts of the k-mers in column format: column starts, rows, counts.
    out[j, i] receives the sum; if a is b, only half of the matrix out + out.T. row is scratch.
    Distances are computed once for each pair of distinct k-mers, not for each pair of sequences.
    """
    begin_a, row_a, count_a = of_a
    begin_b, row_b, count_b = of_b
    for v in range(b.size):
        row[:] = 0.0  # of b[v] with the sequences of a
        for u in range(v + 1 if symmetric else a.size):
            value = table[hamming(a[u], b[v], bits, lowest)]
            if value == 0.0:
                continue
            if symmetric and u == v:
                value /= 2.0  # out.T adds the other half
            for p in range(begin_a[u], begin_a[u + 1]):
                row[row_a[p]] += count_a[p] * value
        for q in range(begin_b[v], begin_b[v + 1]):
            j, count = row_b[q], count_b[q]
            for i in range(row.size):
                out[j, i] += count * row[i]


@njit
def kmer_diagonal(kmers, indptr, indices, counts, bits, lowest, table, out):
    """Fill the sum over all pairs of k-mers of a row, for every row of a sparse count matrix."""
    for i in range(out.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(indptr[i], indptr[i + 1]):
                distance = hamming(kmers[indices[p]], kmers[indices[q]], bits, lowest)
                total += counts[p] * counts[q] * table[distance]
        out[i] = total
