"""Kernels of variants: where two haplotypes differ, and their sequences.

An allele turns `ref_lengths` bases of a contig, from `starts` on, into `alt_lengths` letters of
`alts`, from `firsts` on. All places are in one flat buffer of genomes; a contig is
``begins : ends`` of it.
"""

from seqmtl._jit import njit


@njit
def find_zones(codes, begins, ends, starts, ref_lengths, alts, firsts, alt_lengths, reach, zones):
    """Find the stretch in which the haplotypes of each allele differ, however it was written.

    zones[a] receives its start and its lengths in the reference and in the alternative. Bases that
    both haplotypes share on the left or on the right are left out; where an insertion or deletion
    can be written at several places, the stretch spans all of them, at most `reach` bases beyond
    the written place on either side. Where the haplotypes are the same it is empty.
    """
    for a in range(starts.size):
        m, n = ref_lengths[a], alt_lengths[a]
        start, first, shift = starts[a], firsts[a], n - m
        least = min(m, n)
        left = 0  # letters that agree from the written start on
        while left < least + reach:
            p = start + left
            if p >= ends[a] or p >= ends[a] + shift:
                break
            letter = alts[first + left] if left < n else codes[p - shift]
            if codes[p] != letter:
                break
            left += 1
        right = 0  # letters that agree from the written end backwards
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
    """Write both haplotypes of each allele, `flank` bases around its zone, behind one another.

    places[a] is where the reference and the alternative begin in `buffer`. What lies over an end
    of the contig is written as 4 (N), and `inside` tells it from the rest.
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
