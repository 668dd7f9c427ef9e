"""Compiled loops of the chain of introns: sums over parses, without overflow."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_LARGE = 1e20  # from here on, sums get a new unit


@njit
def add_products(values, places, first, last, place, table):
    """Return the sum of ``values[k] * table[place - places[k]]`` for k = first..last-1.

    Four sums at a time do not wait for one another. Unsigned indices spare numba the check for
    negative ones.
    """
    u = np.uint64
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = first
    while k + 4 <= last:
        p = u(k)
        a += values[p] * table[u(place - places[p])]
        b += values[p + u(1)] * table[u(place - places[p + u(1)])]
        c += values[p + u(2)] * table[u(place - places[p + u(2)])]
        d += values[p + u(3)] * table[u(place - places[p + u(3)])]
        k += 4
    while k < last:
        a += values[u(k)] * table[u(place - places[u(k)])]
        k += 1
    return (a + b) + (c + d)


@njit
def sum_parses(
    starts,
    start_weights,
    ends,
    end_weights,
    shortest,
    introns,
    gaps,
    before,
    through,
    opened,
    closed,
):
    """Sum the weights of all parses of a strand, from its beginning on.

    A parse is a set of introns in order. An intron from start i to end j weighs
    ``start_weights[i] * end_weights[j] * introns[ends[j] - starts[i] - shortest]``, and the exon
    from end j to the next start i ``gaps[starts[i] - ends[j]]``; longer exons weigh 1. Positions
    rise.

    On return, ``before[i]`` is the log of the sum over the parses of what precedes start i, and
    ``through[j]`` that over the parses whose last intron is closed by end j. The function returns
    the log of the sum over all parses. `opened` and `closed` are space for a number per start and
    per end.

    Sums are kept as multiples of exp(unit), and the unit grows with them: a number that underflows
    is negligible beside the parses that it competes with.
    """
    n_starts, n_ends, n_gaps = starts.size, ends.size, gaps.size
    reach = shortest + introns.size
    unit = 0.0
    far, n_far = 1.0, 0  # parses without introns, or whose last one is n_gaps bases away or more
    first, last = 0, 0  # starts within reach of the next end
    i, j = 0, 0
    while i < n_starts or j < n_ends:
        if j == n_ends or (i < n_starts and starts[i] < ends[j]):
            while n_far < j and starts[i] - ends[n_far] >= n_gaps:
                far += closed[n_far]
                n_far += 1
            total = far + add_products(closed, ends, n_far, j, starts[i], gaps)
            before[i] = np.log(total) + unit
            opened[i] = total * start_weights[i]
            i += 1
        else:
            while first < i and ends[j] - starts[first] >= reach:
                first += 1
            while last < i and ends[j] - starts[last] >= shortest:
                last += 1
            total = add_products(opened, starts, first, last, ends[j] - shortest, introns)
            closed[j] = total * end_weights[j]
            through[j] = np.log(closed[j]) + unit
            highest = max(far, closed[j])
            if highest > _LARGE:
                unit += np.log(highest)
                far /= highest
                for k in range(first, i):
                    opened[k] /= highest
                for k in range(n_far, j + 1):
                    closed[k] /= highest
            j += 1
    total = far
    for k in range(n_far, n_ends):
        total += closed[k]
    return np.log(total) + unit


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
