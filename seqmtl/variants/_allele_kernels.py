"""Compiled loops of variants: where two haplotypes differ, and their sequences.

An allele replaces `ref_lengths` bases of a contig, from `starts` on, by `alt_lengths` letters of
`alts`, from `firsts` on. Positions refer to one flat buffer of genomes; a contig is
``begins : ends`` of it.
"""

from seqmtl._jit import njit


@njit
def find_zones(codes, begins, ends, starts, ref_lengths, alts, firsts, alt_lengths, reach, zones):
    """Find the stretch in which the haplotypes of each allele differ, in any representation.

    zones[a] receives its start, and its lengths in the reference and in the alternative. Bases that
    both haplotypes share on the left or right are excluded. If an insertion or deletion can be
    placed at several positions, the stretch spans all of them, up to `reach` bases beyond the given
    position on either side. It is empty if the haplotypes are equal.
    """
    for a in range(starts.size):
        m, n = ref_lengths[a], alt_lengths[a]
        start, first, shift = starts[a], firsts[a], n - m
        least = min(m, n)
        left = 0  # matching letters from the given start on
        while left < least + reach:
            p = start + left
            if p >= ends[a] or p >= ends[a] + shift:
                break
            letter = alts[first + left] if left < n else codes[p - shift]
            if codes[p] != letter:
                break
            left += 1
        right = 0  # matching letters from the given end backwards
        while right < least + reach:
            p = start + m - 1 - right
            if p < begins[a] or p + shift < begins[a]:
                break
            letter = alts[first + n - 1 - right] if right < n else codes[p + shift]
            if codes[p] != letter:
                break
            right += 1
        if m == n and left >= m:
            zones[a] = (start, 0, 0)
        elif left + right <= least:
            zones[a] = (start + left, m - left - right, n - left - right)
        else:
            both = left + right - 2 * least
            zones[a] = (start + least - right, both + m, both + n)


@njit
def fill_haplotypes(
    codes, begins, ends, starts, ref_lengths, alts, firsts, alt_lengths,
    zones, flank, places, buffer, inside,
):  # fmt: skip
    """Write both haplotypes of each allele, with `flank` bases around its zone, to the buffer.

    places[a] holds the starts of the reference and the alternative in `buffer`. Positions beyond
    the contig are written as 4 (N); `inside` distinguishes them from N in the contig.
    """
    for a in range(starts.size):
        start, n, first = starts[a], alt_lengths[a], firsts[a]
        shift = n - ref_lengths[a]
        for i in range(zones[a, 1] + 2 * flank):
            p = zones[a, 0] - flank + i
            is_inside = begins[a] <= p < ends[a]
            inside[places[a, 0] + i] = is_inside
            buffer[places[a, 0] + i] = codes[p] if is_inside else 4
        for i in range(zones[a, 2] + 2 * flank):
            p = zones[a, 0] - flank + i
            is_inside = begins[a] <= p < ends[a] + shift
            inside[places[a, 1] + i] = is_inside
            letter = 4
            if is_inside and p < start:
                letter = codes[p]
            elif is_inside and p < start + n:
                letter = alts[first + p - start]
            elif is_inside:
                letter = codes[p - shift]
            buffer[places[a, 1] + i] = letter
