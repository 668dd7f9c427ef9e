"""Compiled loops of the chain of coding exons and introns: sums over parses, without overflow."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_LARGE = 1e30  # from here on, sums get a new unit


@njit
def move_on(outside, coding, content, switch):
    """Update the sums over parses in each state from one site to the next; return that outside.

    A coding state gets the weight ``content[r]``; it may begin or end once, with half of its
    content on average.
    """
    ended = 0.0
    for r in range(6):
        x = content[r]
        ended += coding[r] * (1.0 + x)
        coding[r] = coding[r] * x + 0.5 * switch * outside * (1.0 + x)
    return outside + 0.5 * switch * ended


@njit
def rescale(divisor, coding, far, first, n_starts, opened, first_end, n_ends, closed):
    """Divide the sums over parses by a number."""
    for r in range(6):
        coding[r] /= divisor
    for t in range(2):
        for q in range(4):
            far[t, q] /= divisor
        for i in range(first[t], n_starts[t]):
            for q in range(4):
                opened[t, i, q] /= divisor
        for i in range(first_end[t], n_ends[t]):
            for q in range(4):
                closed[t, i, q] /= divisor


@njit
def go_far(place, passed, table, decay, starts, opened, first, n_starts, far):
    """Update the sums over parses in introns that are longer than the table; return their first.

    ``far[q]`` is that at the place `passed` times the density of each intron's length; it becomes
    that at `place`, with the introns that have grown out of the table on the way.
    """
    introns, shortest = table
    reach = shortest + introns.size
    if decay == 0.0:
        while first < n_starts and place - starts[first] >= reach:
            first += 1
        return first
    kept = np.exp(-decay * (place - passed))
    for q in range(4):
        far[q] *= kept
    while first < n_starts and place - starts[first] >= reach:
        g = introns[introns.size - 1] * np.exp(-decay * (place - starts[first] - reach + 1))
        for q in range(4):
            far[q] += g * opened[first, q]
        first += 1
    return first


@njit
def close_introns(place, shortest, introns, starts, opened, first, last, far, weight, known):
    """Sum the parses whose last intron leads from a start to `place`.

    These are the starts first..last-1, and those farther away, whose sums are `far`.

    Unsigned indices spare numba the check for negative ones, which would take most of the time.
    """
    u = np.uint64
    s0, s1, s2, s3 = far[0], far[1], far[2], far[3]
    for i in range(u(first), u(last)):
        g = introns[u(place - shortest - starts[i])]
        s0 += g * opened[i, u(0)]
        s1 += g * opened[i, u(1)]
        s2 += g * opened[i, u(2)]
        s3 += g * opened[i, u(3)]
    known[0], known[1], known[2], known[3] = weight * s0, weight * s1, weight * s2, weight * s3


@njit
def sum_exons(place, path, exons, ends, paths, closed, first, last, sums):
    """Sum the parses whose last intron closes at one of the ends first..last-1, times its exon.

    ``exons[length]`` is the weight of an exon from an end to `place`, `path` and `paths` the
    logarithms of the weights of coding up to there, in the frames of the strand.
    """
    for q in range(4):
        sums[q] = 0.0
    for i in range(first, last):
        h = exons[place - ends[i]]
        if h > 0.0:
            sums[0] += h * closed[i, 0]
            for r in range(3):
                if closed[i, 1 + r] > 0.0:
                    coded = np.exp(min(path[r] - paths[i, r], 700.0))
                    sums[1 + r] += h * closed[i, 1 + r] * coded


@njit
def sum_parses(sites, lengths, known, units, starts, opened, ends, paths, closed):
    """Sum the weights of all parses of a contig up to each of its sites, by place.

    There are seven states between introns: outside coding sequence, or coding on strand t in frame
    r; a contig may begin and end in any. An intron leads from a start to an end on the same strand,
    and keeps the state outside, or the phase of the codon that it splits,
    ``(phases[k] - r) % 3``; `phases` are places modulo 3 on the forward strand. It weighs
    ``weights[start] * weights[end] * introns[length - shortest]``, where each base beyond the last
    of `introns` multiplies by ``exp(-decay)`` (0: there are none so long), and `shift` outside,
    `coding_shift` in coding sequence. Two introns that follow each other in one state also weigh
    ``1 + exons[length]``, of the length between them. `switch` is the weight of a beginning and of
    an end of coding sequence, per base; ``content[k, 3 t + r]`` is that of coding since the site
    before, see :func:`move_on`, and ``sums[k]`` the sum of its logarithms. `sites` and `lengths`
    are :class:`seqmtl.pairs.chain.SiteColumns` and :class:`seqmtl.pairs.chain.ChainWeights`.

    ``known[k]`` becomes, of a start, the sum over the parses before it that are outside, or in each
    phase; of an end, that over the parses whose last intron it closes. The sums are multiples of
    ``exp(units[k])``; those that underflow are negligible. The function returns the log of the sum
    over all parses. `starts`, `ends` (2 x n), `opened`, `closed` (2 x n x 4) and `paths`
    (2 x n x 3) are space.
    """
    places, phases, strands, is_end, weights, content, sums = sites
    introns, shortest, switch, shift, coding_shift, decay, exons = lengths
    outside, unit, coding, exon = 1.0, 0.0, np.ones(6), np.zeros(4)
    far, passed = np.zeros((2, 4)), np.zeros(2, dtype=np.int64)
    heads = np.zeros((5, 2), dtype=np.int64)
    first, last, n_starts = heads[0], heads[1], heads[2]  # starts in reach of the next end
    first_end, n_ends = heads[3], heads[4]  # ends in reach of the next start
    if places.size:
        passed[0] = passed[1] = places[0]
    for k in range(places.size):
        place, t, phase = places[k], strands[k], phases[k]
        if k and place > places[k - 1]:
            length = place - places[k - 1]
            outside = move_on(outside, coding, content[k], switch * length)
        highest = outside
        for r in range(6):
            highest = max(highest, coding[r])
        if highest > _LARGE or highest < 1.0 / _LARGE:
            unit += np.log(highest)
            outside /= highest
            rescale(highest, coding, far, first, n_starts, opened, first_end, n_ends, closed)
        units[k] = unit
        if is_end[k]:
            first[t] = go_far(
                place, passed[t], (introns, shortest), decay, starts[t], opened[t], first[t],
                n_starts[t], far[t],
            )  # fmt: skip
            passed[t] = place
            while last[t] < n_starts[t] and place - starts[t, last[t]] >= shortest:
                last[t] += 1
            close_introns(
                place, shortest, introns, starts[t], opened[t], first[t], last[t], far[t],
                weights[k], known[k],
            )  # fmt: skip
            i = n_ends[t]
            ends[t, i], closed[t, i, 0] = place, known[k, 0]
            outside += known[k, 0]
            for c in range(3):
                r = (phase - c) % 3
                coding[3 * t + r] += known[k, 1 + c]
                closed[t, i, 1 + r] = known[k, 1 + c]
                paths[t, i, r] = sums[k, 3 * t + r]
            n_ends[t] += 1
        else:
            while first_end[t] < n_ends[t] and place - ends[t, first_end[t]] >= exons.size:
                first_end[t] += 1
            path = sums[k, 3 * t : 3 * t + 3]
            sum_exons(
                place, path, exons, ends[t], paths[t], closed[t], first_end[t], n_ends[t], exon
            )
            i, weight = n_starts[t], weights[k]
            known[k, 0] = outside + exon[0]
            opened[t, i, 0] = known[k, 0] * weight * shift
            for c in range(3):
                r = (phase - c) % 3
                known[k, 1 + c] = coding[3 * t + r] + exon[1 + r]
                opened[t, i, 1 + c] = known[k, 1 + c] * weight * coding_shift
            starts[t, i] = place
            n_starts[t] += 1
    total = outside
    for r in range(6):
        total += coding[r]
    return np.log(total) + unit


@njit
def list_introns(sites, lengths, before, after, values, floor, found, found_values):
    """List the introns whose logarithm of the weight of all parses with it reaches `floor`.

    `before` and `after` are results of :func:`sum_parses` from either side, `values` what the site
    adds to the logarithm: that of its weight, and the unit. Return the number of introns. The first
    ones are written to the rows of `found` (start, end) and to `found_values`, as many as there is
    space for.
    """
    places, _, strands, is_end, _, _, _ = sites
    introns, shortest, _, shift, coding_shift, decay, _ = lengths
    n, n_starts = 0, np.zeros(2, dtype=np.int64)
    starts = np.zeros((2, places.size), dtype=np.int64)
    for k in range(places.size):
        t = strands[k]
        if not is_end[k]:
            starts[t, n_starts[t]] = k
            n_starts[t] += 1
            continue
        for j in range(n_starts[t] - 1, -1, -1):
            i = starts[t, j]
            length = places[k] - places[i]
            if length < shortest:
                continue
            if decay == 0.0 and length >= shortest + introns.size:
                break
            beyond = max(0, length - shortest - introns.size + 1)
            both = shift * before[i, 0] * after[k, 0]
            for q in range(1, 4):
                both += coding_shift * before[i, q] * after[k, q]
            value = values[i] + values[k] + introns[length - shortest - beyond] - decay * beyond
            value += np.log(both)
            if value >= floor:
                if n < found.shape[0]:
                    found[n, 0], found[n, 1], found_values[n] = i, k, value
                n += 1
    return n


@njit
def list_exons(sites, lengths, before, after, units, values, longest, floor, found, found_values):
    """List the exons whose logarithm of the share of all parses with them reaches `floor`.

    An exon is what lies between two introns that follow each other on one strand, up to `longest`
    bases, whether it codes or not. From the end of an intron, it is looked for until those of
    the parses that have had no other intron have a share below `floor`. `before` and `after` are
    results of :func:`sum_parses` from either side, `units` what a site adds to the logarithm, and
    `values` that of the share of the parses with the site; the rest as in :func:`list_introns`.
    """
    places, phases, strands, is_end, _, content, sums = sites
    switch, exons = lengths[2], lengths[6]
    n, coding, closed, least = 0, np.zeros(6), np.zeros(3), np.exp(floor)
    least_seen = floor - 5.0  # what is less probable hardly matters for what is left
    for i in range(places.size):
        if not is_end[i] or values[i] < floor:
            continue
        t, unit, outside, left = strands[i], 0.0, before[i, 0], np.exp(values[i])
        coding[:] = 0.0
        for c in range(3):
            r = (phases[i] - c) % 3
            coding[3 * t + r] = closed[r] = before[i, 1 + c]
        for k in range(i + 1, places.size):
            length, step = places[k] - places[i], places[k] - places[k - 1]
            if length > longest:
                break
            if step > 0:
                outside = move_on(outside, coding, content[k], switch * step)
            highest = outside
            for r in range(6):
                highest = max(highest, coding[r])
            if highest > _LARGE or 0.0 < highest < 1.0 / _LARGE:
                unit += np.log(highest)
                outside /= highest
                for r in range(6):
                    coding[r] /= highest
            if is_end[k] or values[k] < least_seen:
                continue
            u, h = strands[k], 0.0
            if u == t and length < exons.size:
                h = exons[length] * np.exp(-unit)
            both = (outside + h * before[i, 0]) * after[k, 0]
            for c in range(3):
                r = (phases[k] - c) % 3
                own, coded = coding[3 * u + r], sums[k, 3 * u + r] - sums[i, 3 * u + r]
                if h > 0.0 and closed[r] > 0.0:
                    own += h * closed[r] * np.exp(min(coded, 700.0))
                both += own * after[k, 1 + c]
            value = np.log(max(both, 1e-300)) + unit + units[i] + units[k]
            left -= np.exp(value)
            if u == t and value >= floor:
                if n < found.shape[0]:
                    found[n, 0], found[n, 1], found_values[n] = i, k, value
                n += 1
            if left < least:
                break
    return n
