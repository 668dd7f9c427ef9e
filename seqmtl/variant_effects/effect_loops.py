"""Compiled loops of variants: the largest gain and loss of a signal by each allele.

The windows that overlap an allele's zone are numbered from the left: ``length - 1 + m`` in the
reference and ``length - 1 + n`` in the alternative, where m and n are the lengths of the zone.
Sites are compared in pairs, from the left up to the gap and from the right down to it. The gap is
where the longer haplotype has the bases that the other lacks. On strand s the site of window
``turns[s]`` lies on the zone's first base.
"""

import numpy as np

from seqmtl._jit import njit


@njit
def add_pairs(P, positions, n_windows, turn, k, gains, losses):
    """Raise gains[g] and losses[g] to the largest changes outside the gap, for a gap at 0..k."""
    last_ref = positions[0] + n_windows[0] - 1
    last_alt = positions[1] + n_windows[1] - 1
    gain = loss = 0.0
    i = 0
    for g in range(k + 1):
        while i < g + turn:
            delta = P[positions[1] + i] - P[positions[0] + i]
            gain, loss = max(gain, delta), max(loss, -delta)
            i += 1
        gains[g], losses[g] = max(gains[g], gain), max(losses[g], loss)
    gain = loss = 0.0
    shorter = min(n_windows[0], n_windows[1])
    i = 0
    for g in range(k, -1, -1):
        while i < shorter - g - turn:
            delta = P[last_alt - i] - P[last_ref - i]
            gain, loss = max(gain, delta), max(loss, -delta)
            i += 1
        gains[g], losses[g] = max(gains[g], gain), max(losses[g], loss)


@njit
def add_gap(P, start, size, turn, k, changes):
    """Raise changes[g] to the largest probability in a gap of `size` sites at g = 0..k."""
    for g in range(k + 1):
        for i in range(g + turn, g + turn + size):
            changes[g] = max(changes[g], P[start + i])


@njit
def choose_gap(gains, losses, k):
    """Return the position of the gap with the smallest effect, the leftmost among ties."""
    best = 0
    for g in range(1, k + 1):
        previous = (max(gains[best], losses[best]), min(gains[best], losses[best]), gains[best])
        new = (max(gains[g], losses[g]), min(gains[g], losses[g]), gains[g])
        if new < previous:
            best = g
    return best


@njit
def find_change(P, starts, n_windows, turn, g, change, sign, site):
    """Find the leftmost site with this change; site[1:] receives it, site[1] as below.

    The position is counted from the first base of the zone on the reference; an inserted base has
    that of the base before the gap. A window that one haplotype lacks is -1.
    """
    n_ref, n_alt = n_windows
    size = n_alt - n_ref
    cut = g + turn
    for i in range(cut):
        if sign * (P[starts[1] + i] - P[starts[0] + i]) == change:
            site[1:] = (i - turn, starts[0] + i, starts[1] + i)
            return True
    for i in range(cut, cut - size):  # lost bases
        if sign < 0 and P[starts[0] + i] == change:
            site[1:] = (i - turn, starts[0] + i, -1)
            return True
    for i in range(cut, cut + size):  # inserted bases
        if sign > 0 and P[starts[1] + i] == change:
            site[1:] = (g - 1, -1, starts[1] + i)
            return True
    for i in range(cut + max(0, -size), n_ref):
        if sign * (P[starts[1] + i + size] - P[starts[0] + i]) == change:
            site[1:] = (i - turn, starts[0] + i, starts[1] + i + size)
            return True
    return False


@njit
def find_effects(P, starts, zones, length, turns, changes, sites):
    """Find the largest gain (0) and loss (1) of each allele, and their positions.

    `P` holds the probabilities on the plus and minus strand, 0 where there is no site.
    changes[a, 0:2] and sites[a, 0:2, :] receive the results; sites[..., 0] is 0 on plus, 1 on
    minus, -1 for no change.
    """
    longest = 0
    for a in range(starts.shape[0]):
        if zones[a, 1] != zones[a, 2]:
            longest = max(longest, min(zones[a, 1], zones[a, 2]))
    gains = np.zeros(longest + 1)
    losses = np.zeros(longest + 1)
    for a in range(starts.shape[0]):
        m, n = zones[a, 1], zones[a, 2]
        k = min(m, n) if m != n else 0
        n_windows = (length - 1 + m, length - 1 + n)
        gains[: k + 1] = 0.0
        losses[: k + 1] = 0.0
        for s in range(2):
            add_pairs(P[s], starts[a], n_windows, turns[s], k, gains, losses)
            if m > n:
                add_gap(P[s], starts[a, 0], m - n, turns[s], k, losses)
            elif n > m:
                add_gap(P[s], starts[a, 1], n - m, turns[s], k, gains)
        g = choose_gap(gains, losses, k)
        changes[a, 0], changes[a, 1] = gains[g], losses[g]
        for c in range(2):
            sites[a, c, 0] = -1
            for s in range(2):
                change, sign = changes[a, c], 1 - 2 * c
                if change > 0 and find_change(
                    P[s], starts[a], n_windows, turns[s], g, change, sign, sites[a, c]
                ):
                    sites[a, c, 0] = s
                    break
