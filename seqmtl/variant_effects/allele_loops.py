"""Compiled loops of variants: where two haplotypes differ, and their sequences.

An allele replaces `ref_lengths` bases of a contig, from `starts` on, by `alt_lengths` letters of
`alts`, from `firsts` on: :class:`seqmtl.variant_effects.alleles.Alleles`. Positions refer to one
flat buffer of genomes; a contig is ``begins : ends`` of it.
"""

from seqmtl._jit import njit


@njit
def find_zones(codes, alleles, max_shift, zones):
    """Find the stretch in which the haplotypes of each allele differ, in any representation.

    zones[a] receives its start, and its lengths in the reference and in the alternative. Bases that
    both haplotypes share on the left or right are excluded. If an insertion or deletion can be
    placed at several positions, the stretch spans all of them, up to `max_shift` bases from the
    given position on either side. It is empty if the haplotypes are equal.
    """
    alts = alleles.alts
    for a in range(alleles.starts.size):
        m, n = alleles.ref_lengths[a], alleles.alt_lengths[a]
        begin, end = alleles.begins[a], alleles.ends[a]
        start, first, shift = alleles.starts[a], alleles.firsts[a], n - m
        n_common = min(m, n)
        n_left = 0  # matching letters from the given start on
        while n_left < n_common + max_shift:
            p = start + n_left
            if p >= end or p >= end + shift:
                break
            letter = alts[first + n_left] if n_left < n else codes[p - shift]
            if codes[p] != letter:
                break
            n_left += 1
        n_right = 0  # matching letters from the given end backwards
        while n_right < n_common + max_shift:
            p = start + m - 1 - n_right
            if p < begin or p + shift < begin:
                break
            letter = alts[first + n - 1 - n_right] if n_right < n else codes[p + shift]
            if codes[p] != letter:
                break
            n_right += 1
        if m == n and n_left >= m:
            zones[a] = (start, 0, 0)
        elif n_left + n_right <= n_common:
            zones[a] = (start + n_left, m - n_left - n_right, n - n_left - n_right)
        else:
            length = n_left + n_right - 2 * n_common
            zones[a] = (start + n_common - n_right, length + m, length + n)


@njit
def fill_haplotypes(codes, alleles, zones, flank, positions, buffer, inside):
    """Write both haplotypes of each allele, with `flank` bases around its zone, to the buffer.

    positions[a] holds the starts of the reference and the alternative in `buffer`. Positions beyond
    the contig are written as 4 (N); `inside` distinguishes them from N in the contig.
    """
    alts = alleles.alts
    for a in range(alleles.starts.size):
        start, n, first = alleles.starts[a], alleles.alt_lengths[a], alleles.firsts[a]
        begin, end, shift = alleles.begins[a], alleles.ends[a], n - alleles.ref_lengths[a]
        for i in range(zones[a, 1] + 2 * flank):
            p = zones[a, 0] - flank + i
            is_inside = begin <= p < end
            inside[positions[a, 0] + i] = is_inside
            buffer[positions[a, 0] + i] = codes[p] if is_inside else 4
        for i in range(zones[a, 2] + 2 * flank):
            p = zones[a, 0] - flank + i
            is_inside = begin <= p < end + shift
            inside[positions[a, 1] + i] = is_inside
            letter = 4
            if is_inside and p < start:
                letter = codes[p]
            elif is_inside and p < start + n:
                letter = alts[first + p - start]
            elif is_inside:
                letter = codes[p - shift]
            buffer[positions[a, 1] + i] = letter
