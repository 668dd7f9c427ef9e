"""Compiled loops of the weighted-degree kernel: runs of matches."""

import numpy as np

from seqmtl._jit import njit

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
