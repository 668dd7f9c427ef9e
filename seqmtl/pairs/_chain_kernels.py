"""Compiled loops of the chain of introns: sums over parses, in logarithms."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_NEGLIGIBLE = -40.0  # terms below this share of the largest, in logarithms, are left out


@njit
def sum_parses(starts, start_scores, ends, end_scores, shortest, introns, gaps, before, through):
    """Sum the weights of all parses of a strand, from its beginning on.

    A parse is a set of introns in order. An intron from start i to end j weighs
    ``start_scores[i] + end_scores[j] + introns[ends[j] - starts[i] - shortest]``, and the exon from
    end j to the next start i ``gaps[starts[i] - ends[j]]``; longer exons weigh 0. All weights are
    logarithms; positions rise.

    On return, ``before[i]`` is the sum over the parses of what precedes start i, and
    ``through[j]`` that over the parses whose last intron is closed by end j. The function returns
    the sum over all parses.
    """
    n_starts, n_ends, n_gaps = starts.size, ends.size, gaps.size
    reach = shortest + introns.size
    far, n_far = 0.0, 0  # parses without introns, or whose last one is n_gaps bases away or more
    first = 0
    i, j = 0, 0
    while i < n_starts or j < n_ends:
        if j == n_ends or (i < n_starts and starts[i] < ends[j]):
            while n_far < j and starts[i] - ends[n_far] >= n_gaps:
                low, high = min(far, through[n_far]), max(far, through[n_far])
                far = high + np.log1p(np.exp(low - high))
                n_far += 1
            best = far
            for k in range(n_far, j):
                best = max(best, through[k] + gaps[starts[i] - ends[k]])
            total = np.exp(far - best)
            for k in range(n_far, j):
                term = through[k] + gaps[starts[i] - ends[k]] - best
                if term > _NEGLIGIBLE:
                    total += np.exp(term)
            before[i] = best + np.log(total)
            i += 1
        else:
            while first < i and ends[j] - starts[first] >= reach:
                first += 1
            last = first
            best = -np.inf
            while last < i and ends[j] - starts[last] >= shortest:
                length = ends[j] - starts[last]
                best = max(best, before[last] + start_scores[last] + introns[length - shortest])
                last += 1
            total = 0.0
            for k in range(first, last):
                length = ends[j] - starts[k]
                term = before[k] + start_scores[k] + introns[length - shortest] - best
                if term > _NEGLIGIBLE:
                    total += np.exp(term)
            through[j] = best + np.log(total) + end_scores[j] if last > first else -np.inf
            j += 1
    best = far
    for k in range(n_far, n_ends):
        best = max(best, through[k])
    total = np.exp(far - best)
    for k in range(n_far, n_ends):
        total += np.exp(through[k] - best)
    return best + np.log(total)


@njit
def list_introns(starts, opened, ends, closed, shortest, introns, floor, places, values):
    """List the introns whose weight ``opened[i] + closed[j] + introns[...]`` reaches `floor`.

    Return their number. The first ones are written to the rows of `places` (start, end) and to
    `values`, as many as there is space for.
    """
    n, first = 0, 0
    reach = shortest + introns.size
    for j in range(ends.size):
        while first < starts.size and ends[j] - starts[first] >= reach:
            first += 1
        i = first
        while i < starts.size and ends[j] - starts[i] >= shortest:
            value = opened[i] + closed[j] + introns[ends[j] - starts[i] - shortest]
            if value >= floor:
                if n < values.size:
                    places[n, 0], places[n, 1], values[n] = i, j, value
                n += 1
            i += 1
    return n
