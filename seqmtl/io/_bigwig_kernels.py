"""Compiled loops of bigWig: summaries of values in bins of positions."""

from seqmtl._jit import njit


@njit
def sum_bins(starts, values, bases, bins, counts, sums):
    """Summarise values in bins of `bases` positions; return the number of nonempty bins.

    bins[b] receives the index of the bin, counts[b] the number of values, sums[b] their minimum,
    maximum, sum and sum of squares.
    """
    n = -1
    for i in range(starts.size):
        number = starts[i] // bases
        value = values[i]
        if n < 0 or number != bins[n]:
            n += 1
            bins[n], counts[n] = number, 0
            sums[n, 0] = sums[n, 1] = value
            sums[n, 2] = sums[n, 3] = 0.0
        counts[n] += 1
        sums[n, 0] = min(sums[n, 0], value)
        sums[n, 1] = max(sums[n, 1], value)
        sums[n, 2] += value
        sums[n, 3] += value * value
    return n + 1
