"""Compiled loops over the k-mers of a contig: counts, and sums of coding content."""

from __future__ import annotations

from seqmtl._jit import njit

_WORD = 6  # bases of a word
_OTHER = 4  # code of any letter but A, C, G, T


@njit
def count_words(codes, positions, counts):
    """Add 1 to ``counts[positions[p], w]`` for the word w that ends at base p.

    A word with other letters than A, C, G, T is left out, and so is a base with a negative
    position.
    """
    mask = 4**_WORD - 1
    word, n = 0, 0
    for p in range(codes.size):
        word = ((word << 2) | (codes[p] & 3)) & mask
        n = 0 if codes[p] >= _OTHER else n + 1
        if n >= _WORD and positions[p] >= 0:
            counts[positions[p], word] += 1


@njit
def list_codons(codes, kinds, codons):
    """List the codons whose word, of 64, has a kind above 0; return their number.

    The first base of each, and its kind, are written to the rows of `codons`, which has space for
    all bases.
    """
    word, n, size = 0, 0, 0
    for p in range(codes.size):
        word = ((word << 2) | (codes[p] & 3)) & 63
        size = 0 if codes[p] >= _OTHER else size + 1
        if size >= 3 and kinds[word] > 0:
            codons[n, 0], codons[n, 1] = p - 2, kinds[word]
            n += 1
    return n


@njit
def sum_content(codes, places, content, sums):
    """Sum the content of the bases from the first position to each, in six frames.

    ``sums[k, r]`` becomes the sum over the bases ``places[0]..places[k]-1`` of the plus strand,
    read in codons that start at bases p with p % 3 == r; ``sums[k, 3 + r]`` that of the minus
    strand, read in codons whose first base is p - 1. ``content[w, j]`` is the content of the last
    base of k-mer w at position j of a codon; k-mers with other letters count 0. `places` rise from
    0 or more to at most the number of codes.
    """
    mask, shift = 4**_WORD - 1, 2 * (_WORD - 1)
    first, last = max(0, places[0] - _WORD + 1), places[places.size - 1]
    plus, minus, n_plus, n_minus = 0, 0, 0, 0
    for p in range(places[0], min(places[0] + _WORD - 1, codes.size)):  # ahead of the minus strand
        minus = (minus >> 2) | ((3 - codes[p] & 3) << shift)
        n_minus = 0 if codes[p] >= _OTHER else n_minus + 1
    for p in range(first, places[0]):
        plus = ((plus << 2) | (codes[p] & 3)) & mask
        n_plus = 0 if codes[p] >= _OTHER else n_plus + 1
    k, at = 0, places[0] % 3
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    i0, i1, i2 = at, (at + 2) % 3, (at + 1) % 3  # positions of a codon, by frame
    j0, j1, j2 = 2 - at, (3 - at) % 3, (4 - at) % 3
    for p in range(places[0], last):
        while places[k] <= p:
            sums[k, 0], sums[k, 1], sums[k, 2] = a, b, c
            sums[k, 3], sums[k, 4], sums[k, 5] = d, e, f
            k += 1
        plus = ((plus << 2) | (codes[p] & 3)) & mask
        n_plus = 0 if codes[p] >= _OTHER else n_plus + 1
        ahead = p + _WORD - 1
        if ahead < codes.size and codes[ahead] < _OTHER:
            minus = (minus >> 2) | ((3 - codes[ahead]) << shift)
            n_minus += 1
        else:
            minus, n_minus = minus >> 2, 0
        if n_plus >= _WORD:
            a += content[plus, i0]
            b += content[plus, i1]
            c += content[plus, i2]
        if n_minus >= _WORD:
            d += content[minus, j0]
            e += content[minus, j1]
            f += content[minus, j2]
        i0, i1, i2 = i2, i0, i1
        j0, j1, j2 = j2, j0, j1
    while k < places.size:
        sums[k, 0], sums[k, 1], sums[k, 2] = a, b, c
        sums[k, 3], sums[k, 4], sums[k, 5] = d, e, f
        k += 1
