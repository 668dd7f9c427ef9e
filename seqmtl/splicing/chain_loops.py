"""Compiled loops of the chain of coding exons and introns: sums over parses, without overflow."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_LARGE = 1e30  # from here on, sums get a new unit
_ROUNDING = 1e-9  # of logarithms
_NEAR = 256  # bases over which falls of tails are in a table
#: What a site is, as read along the forward strand; read backwards, 2 i and 2 i + 1 change places.
INTRON_START, INTRON_END, CODING_START, CODING_END = range(4)


@njit
def move_on(k, outside, coding, coded, content, switch):
    """Update the sums over parses in each state from a site to the next, k; return that outside.

    A coding state gets the weight ``content[k, r]``; it may begin or end once, with half of its
    content on average. `coded` is the product of these weights.
    """
    ended = 0.0
    for r in range(6):
        x = content[k, r]
        ended += coding[r] * (1.0 + x)
        coding[r] = coding[r] * x + 0.5 * switch * outside * (1.0 + x)
        coded[r] *= x
    return outside + 0.5 * switch * ended


@njit
def rescale(divisor, far, first, n_starts, opened, first_end, n_ends, closed):
    """Divide the sums over parses in introns, and before exons, by a number."""
    for u in range(far.shape[0]):
        for i in range(far.shape[1]):
            for q in range(4):
                far[u, i, q] /= divisor
        for i in range(first[u], n_starts[u]):
            for q in range(4):
                opened[u, i, q] /= divisor
    for t in range(2):
        for i in range(first_end[t], n_ends[t]):
            for q in range(4):
                closed[t, i, q] /= divisor


@njit
def pass_edge(kind, r, weight, outside, coding):
    """Update the sums over parses at an edge of coding sequence, in state r.

    Return that of the parses with it, and that outside. The former has the weight of the edge where
    coding sequence begins, so that the sums from either side have it once.
    """
    if kind == CODING_START:
        total = outside * weight
        coding[r] += total
        return total, outside
    return coding[r], outside + coding[r] * weight


@njit
def weigh_exons(r, coded, first_end, n_ends, closed):
    """Multiply `closed` by the weight of coding since the ends in a state, which then is 1."""
    t, q = r // 3, 1 + r % 3
    for i in range(first_end[t], n_ends[t]):
        closed[t, i, q] *= coded[r]
    coded[r] = 1.0


@njit
def fall_over(bases, i, tails, falls):
    """Return by what tail i falls over so many bases; ``falls[i]`` are those over 0, 1, ..."""
    return falls[i, bases] if bases < falls.shape[1] else np.exp(-tails[i, 1] * bases)


@njit
def go_far(pos, u, passed, reach, tails, falls, starts, opened, first, n_starts, far, every):
    """Update the sums over parses in introns that are longer than the table, and their first.

    ``far[u, i, q]`` is that at the position ``passed[u]`` times the density of each intron's length
    in tail i; it becomes that at `pos`, with the introns that have grown out of the table on the
    way, and ``every[u, q]`` its sum over the tails.
    """
    begin, step, passed[u] = first[u], pos - passed[u], pos
    while first[u] < n_starts[u] and pos - starts[u, first[u]] >= reach:
        first[u] += 1
    every[u, 0], every[u, 1], every[u, 2], every[u, 3] = 0.0, 0.0, 0.0, 0.0
    for i in range(tails.shape[0]):
        fall = fall_over(step, i, tails, falls)
        s0, s1 = far[u, i, 0] * fall, far[u, i, 1] * fall
        s2, s3 = far[u, i, 2] * fall, far[u, i, 3] * fall
        for k in range(begin, first[u]):
            g = tails[i, 0] * fall_over(pos - starts[u, k] - reach, i, tails, falls)
            s0 += g * opened[u, k, 0]
            s1 += g * opened[u, k, 1]
            s2 += g * opened[u, k, 2]
            s3 += g * opened[u, k, 3]
        far[u, i, 0], far[u, i, 1], far[u, i, 2], far[u, i, 3] = s0, s1, s2, s3
        every[u, 0] += s0
        every[u, 1] += s1
        every[u, 2] += s2
        every[u, 3] += s3


@njit
def add_partners(pos, t, table, places, sums, first, last, begun, row, totals):
    """Sum the parses up to the places first..last-1 of a row, times the weights of distances.

    These are ``table[distance]``. ``totals[row]`` becomes the sum and what it begins with. (Slices
    of arrays would count references, which takes as long as all else; unsigned indices spare the
    check for negative ones.)
    """
    u = np.uint64
    t = u(t)
    s0, s1, s2, s3 = begun[t, 0], begun[t, 1], begun[t, 2], begun[t, 3]
    for i in range(u(first[t]), u(last[t])):
        g = table[u(pos - places[t, i])]
        s0 += g * sums[t, i, u(0)]
        s1 += g * sums[t, i, u(1)]
        s2 += g * sums[t, i, u(2)]
        s3 += g * sums[t, i, u(3)]
    totals[row, 0], totals[row, 1], totals[row, 2], totals[row, 3] = s0, s1, s2, s3


@njit
def sum_parses(sites, lengths, is_backward, totals, units, starts, opened, ends, closed):
    """Sum the weights of all parses of a contig up to each of its sites, or from the end.

    There are seven states between introns: outside coding sequence, or coding on strand t in frame
    r; a contig may begin and end in any. An intron leads from a start to an end of its class on the
    same strand, and keeps the state outside, or the phase of the codon that it splits,
    ``(phases[k] - r) % 3``; `phases` are positions mod 3 on the forward strand. It weighs
    ``weights[start] * weights[end] * introns[length]``, and `shift` outside,
    `coding_shift` in coding sequence; b + 1 bases beyond the last of `introns` weigh the sum of
    ``first * exp(-decay * b)`` over the rows of `tails`. Two introns that follow each other in one
    state also have the weight ``1 + exons[length]``, of the length between them.
    `switch` is the weight of a beginning and of an end of coding sequence, per base;
    ``content[k, 3 t + r]`` is that of coding since the site before. `sites` and `lengths` are
    :class:`seqmtl.splicing.chain.SiteColumns` and :class:`seqmtl.splicing.chain.ChainWeights`.

    ``totals[k]`` becomes, of a start, the sum over the parses before it that are outside, or in
    each phase; of an end, that over the parses whose last intron it closes; of an edge of a gene,
    see :func:`pass_edge`; in multiples of ``exp(units[k])``, and those that underflow are
    negligible. The function returns the log of the sum over all parses. `starts` (4 x n), `ends`
    (2 x n), `opened` (4 x n x 4) and `closed` (2 x n x 4) are space; starts of both strands and
    classes are apart.
    """
    places, phases, strands, classes, kinds, weights, content = sites
    introns, _, switch, shift, coding_shift, tails, exons = lengths
    unit, outside, coding, coded, exon = 0.0, 1.0, np.ones(6), np.ones(6), np.zeros((1, 4))
    falls = np.exp(-tails[:, 1:] * np.arange(_NEAR))
    far, every = np.zeros((4, tails.shape[0], 4)), np.zeros((4, 4))
    nothing, passed = np.zeros((2, 4)), np.zeros(4, dtype=np.int64)
    heads = np.zeros((4, 4), dtype=np.int64)
    first, n_starts = heads[0], heads[1]  # starts in reach of the next end
    first_end, n_ends = heads[2], heads[3]  # ends in reach of the next start
    sign, begin = (-1, places.size - 1) if is_backward else (1, 0)
    if places.size:
        passed[:] = sign * places[begin]
    for n in range(places.size):
        k = begin + sign * n
        pos, t, phase, kind = sign * places[k], strands[k], phases[k], kinds[k] ^ (sign < 0)
        u = t + 2 * classes[k]
        length = pos - sign * places[k - sign] if n else 0
        if length > 0:
            row = k + 1 if is_backward else k
            outside = move_on(row, outside, coding, coded, content, switch * length)
            for r in range(6):
                if coded[r] > _LARGE or coded[r] < 1.0 / _LARGE:
                    weigh_exons(r, coded, first_end, n_ends, closed)
        highest = outside
        for r in range(6):
            highest = max(highest, coding[r])
        if highest > _LARGE or highest < 1.0 / _LARGE:
            unit += np.log(highest)
            outside /= highest
            for r in range(6):
                coding[r] /= highest
            rescale(highest, far, first, n_starts, opened, first_end, n_ends, closed)
        units[k] = unit
        totals[k, :] = 0.0
        if kind > INTRON_END:
            totals[k, 1], outside = pass_edge(kind, 3 * t + phase, weights[k], outside, coding)
        elif kind == INTRON_END:
            reach = introns.size
            go_far(pos, u, passed, reach, tails, falls, starts, opened, first, n_starts, far, every)
            add_partners(pos, u, introns, starts, opened, first, n_starts, every, k, totals)
            for q in range(4):
                totals[k, q] *= weights[k]
            i = n_ends[t]
            ends[t, i], closed[t, i, 0] = pos, totals[k, 0]
            outside += totals[k, 0]
            for c in range(3):
                r = (phase - c) % 3
                coding[3 * t + r] += totals[k, 1 + c]
                closed[t, i, 1 + r] = totals[k, 1 + c] / coded[3 * t + r]
            n_ends[t] += 1
        else:
            while first_end[t] < n_ends[t] and pos - ends[t, first_end[t]] >= exons.size:
                first_end[t] += 1
            add_partners(pos, t, exons, ends, closed, first_end, n_ends, nothing, 0, exon)
            i, weight = n_starts[u], weights[k]
            totals[k, 0] = outside + exon[0, 0]
            opened[u, i, 0] = totals[k, 0] * weight * shift
            for c in range(3):
                r = (phase - c) % 3
                totals[k, 1 + c] = coding[3 * t + r] + exon[0, 1 + r] * coded[3 * t + r]
                opened[u, i, 1 + c] = totals[k, 1 + c] * weight * coding_shift
            starts[u, i] = pos
            n_starts[u] += 1
    total = outside
    for r in range(6):
        total += coding[r]
    return np.log(total) + unit


@njit
def log_tail(beyond, tails):
    """Return the log density of an intron so many bases after the first one beyond the table."""
    highest, total = -np.inf, 0.0
    for i in range(tails.shape[0]):
        highest = max(highest, tails[i, 0] - tails[i, 1] * beyond)
    for i in range(tails.shape[0]):
        total += np.exp(tails[i, 0] - tails[i, 1] * beyond - highest)
    return highest + np.log(total)


@njit
def list_introns(sites, lengths, before, after, values, floor, pairs, pair_values):
    """List the introns whose logarithm of the weight of all parses with it reaches `floor`.

    `before` and `after` are results of :func:`sum_parses` from either side, `values` what the site
    adds to the logarithm: that of its weight, and the unit. Densities of lengths are logarithms,
    too. Return the number of introns. The first ones are written to the rows of `pairs` (start,
    end) and to `pair_values`, as many as there is space for. Introns may have any length; of
    nearly all pairs of sites, what both add at most is too little, and they take no more time.
    """
    places, _, strands, classes, kinds, _, _ = sites
    introns, shortest, _, shift, coding_shift, tails, _ = lengths
    n, n_starts, highest = 0, np.zeros(4, dtype=np.int64), -np.inf
    starts = np.zeros((4, places.size), dtype=np.int64)
    at_most = np.zeros((4, places.size))  # what starts add
    if tails.shape[0]:
        highest = log_tail(0, tails)
    densest = highest
    for i in range(introns.size):
        densest = max(densest, introns[i])
    for k in range(places.size):
        u = strands[k] + 2 * classes[k]
        if kinds[k] == INTRON_START:
            largest = shift * before[k, 0]
            for q in range(1, 4):
                largest = max(largest, coding_shift * before[k, q])
            starts[u, n_starts[u]] = k
            at_most[u, n_starts[u]] = values[k] + np.log(largest)
            n_starts[u] += 1
        if kinds[k] != INTRON_END:
            continue
        both = after[k, 0] + after[k, 1] + after[k, 2] + after[k, 3]
        wanted = floor - (values[k] + np.log(both) + densest) - _ROUNDING
        for j in range(n_starts[u] - 1, -1, -1):
            i = starts[u, j]
            length = places[k] - places[i]
            if length < shortest:
                continue
            beyond = length - shortest - introns.size
            if beyond >= 0 and not tails.shape[0]:
                break
            if at_most[u, j] < wanted:
                continue
            both = shift * before[i, 0] * after[k, 0]
            for q in range(1, 4):
                both += coding_shift * before[i, q] * after[k, q]
            value = values[i] + values[k] + np.log(both)
            if beyond < 0:
                value += introns[length - shortest]
            elif value + highest >= floor:  # hardly any, and their density takes long
                value += log_tail(beyond, tails)
            else:
                continue
            if value >= floor:
                if n < pairs.shape[0]:
                    pairs[n, 0], pairs[n, 1], pair_values[n] = i, k, value
                n += 1
    return n


@njit
def step_through(first, last, sites, switch, moves, coded):
    """Join the steps from a site to a later one, over the sites between them, in one matrix.

    ``moves[q]`` becomes what the state q (outside, or coding r as 1 + r) at the site `first`
    contributes to each at `last`, see :func:`move_on` and :func:`pass_edge`, in multiples of
    ``exp(unit)``, which is returned; `coded` the logarithm of the product of weights of coding.
    """
    places, phases, strands, _, kinds, weights, content = sites
    moves[:], coded[:], unit = 0.0, 1.0, 0.0
    for q in range(7):
        moves[q, q] = 1.0
    for k in range(first + 1, last + 1):
        half = 0.5 * switch * (places[k] - places[k - 1])
        if half > 0.0:
            for q in range(7):
                outside, ended = moves[q, 0], 0.0
                for r in range(6):
                    x, coding = content[k, r], moves[q, 1 + r]
                    ended += coding * (1.0 + x)
                    moves[q, 1 + r] = coding * x + half * outside * (1.0 + x)
                moves[q, 0] = outside + half * ended
            for r in range(6):
                coded[r] = min(max(coded[r] * content[k, r], 1e-300), 1e300)
        edge = 1 + 3 * strands[k] + phases[k]
        for q in range(7):
            if kinds[k] == CODING_START:
                moves[q, edge] += moves[q, 0] * weights[k]
            elif kinds[k] == CODING_END:
                moves[q, 0] += moves[q, edge] * weights[k]
        highest = 0.0
        for q in range(7):
            for r in range(7):
                highest = max(highest, moves[q, r])
        if highest > _LARGE:
            unit += np.log(highest)
            moves /= highest
    for r in range(6):
        coded[r] = np.log(coded[r])
    return unit


@njit
def list_exons(sites, lengths, before, after, units, values, longest, floor, pairs, pair_values):
    """List the exons whose logarithm of the share of all parses with them reaches `floor`.

    An exon is what lies between two introns that follow each other on one strand, up to `longest`
    bases, whether it codes or not. Only sites of a share of `floor` or more can bound it: these are
    few, and all between two of them are passed in one step. `before` and `after` are results of
    :func:`sum_parses` from either side, `units` what a site adds to the logarithm, and `values`
    that of the share of the parses with the site; the others as in :func:`list_introns`.
    """
    places, phases, strands, _, kinds, _, _ = sites
    switch, exons = lengths[2], lengths[6]
    rows, m, least = np.empty(places.size, dtype=np.int64), 0, np.exp(floor)
    for k in range(places.size):
        if kinds[k] <= INTRON_END and values[k] >= floor:
            rows[m] = k
            m += 1
    moves, steps, codings = np.empty((m, 7, 7)), np.zeros(m), np.empty((m, 6))
    for j in range(1, m):
        if places[rows[j]] - places[rows[j - 1]] <= longest:
            steps[j] = step_through(rows[j - 1], rows[j], sites, switch, moves[j], codings[j])
    n, state, new, coded, closed = 0, np.zeros(7), np.zeros(7), np.zeros(6), np.zeros(3)
    for a in range(m):
        i = rows[a]
        if kinds[i] != INTRON_END:
            continue
        t, unit, left = strands[i], 0.0, np.exp(values[i])
        state[:], coded[:], state[0] = 0.0, 0.0, before[i, 0]
        for c in range(3):
            r = (phases[i] - c) % 3
            state[1 + 3 * t + r] = closed[r] = before[i, 1 + c]
        for j in range(a + 1, m):
            k = rows[j]
            length = places[k] - places[i]
            if length > longest:
                break
            new[:], highest = 0.0, 0.0
            for q in range(7):
                for r in range(7):
                    new[r] += state[q] * moves[j, q, r]
            for r in range(7):
                highest = max(highest, new[r])
            unit += steps[j]
            if highest > _LARGE or 0.0 < highest < 1.0 / _LARGE:
                unit += np.log(highest)
                new /= highest
            state[:] = new
            for r in range(6):
                coded[r] += codings[j, r]
            if kinds[k] != INTRON_START:
                continue
            u, h = strands[k], 0.0
            if u == t and length < exons.size:
                h = exons[length] * np.exp(-unit)
            both = (state[0] + h * before[i, 0]) * after[k, 0]
            for c in range(3):
                r = (phases[k] - c) % 3
                parses = state[1 + 3 * u + r]
                if h > 0.0 and closed[r] > 0.0:
                    parses += h * closed[r] * np.exp(min(coded[3 * u + r], 690.0))
                both += parses * after[k, 1 + c]
            value = np.log(max(both, 1e-300)) + unit + units[i] + units[k]
            left -= np.exp(value)
            if u == t and value >= floor:
                if n < pairs.shape[0]:
                    pairs[n, 0], pairs[n, 1], pair_values[n] = i, k, value
                n += 1
            if left < least:
                break
    return n
