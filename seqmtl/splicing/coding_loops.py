"""Compiled loops over the words of a contig: lists, and sums of coding content."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_WORD = 5  # bases of a word of coding content
_C, _G = 1, 2  # codes of letters
_OTHER = 4  # of any letter but A, C, G, T
_HEADS = 2**12  # lists of words; a power of 2


@njit
def list_words(codes, size):
    """Return the number of the word of `size` letters that ends at each base.

    A, C, G, T are 0 to 3, the first letter most significant; it is -1 where a word is not complete
    or has another letter.
    """
    words, mask = np.empty(codes.size, dtype=np.int64), 4**size - 1
    word, n = 0, 0
    for p in range(codes.size):
        word = ((word << 2) | (codes[p] & 3)) & mask
        n = 0 if codes[p] >= _OTHER else n + 1
        words[p] = word if n >= size else -1
    return words


@njit
def find_copies(words, ends, flank, span, is_copy):
    """Tell which sites are in one of three equal words that end within `span` bases.

    Words are those of :func:`list_words`, and that of a site, with `flank` letters on either side,
    ends at ``ends[k]``. They are in lists by a part of their number: `heads` are the last of each,
    `before` leads to the one before. Words without one of the sites between are left out.
    """
    is_site, is_marked = np.zeros(16, dtype=np.bool_), np.zeros(words.size, dtype=np.bool_)
    for k in range(ends.size):
        if ends[k] < words.size and words[ends[k]] >= 0:
            is_site[(words[ends[k]] >> 2 * flank) & 15] = True
    heads = np.full(_HEADS, -1, dtype=np.int64)
    before = np.empty(words.size, dtype=np.int32)
    for p in range(words.size):
        word = words[p]
        if word < 0 or not is_site[(word >> 2 * flank) & 15]:
            continue
        head = (word ^ (word >> 12) ^ (word >> 24) ^ (word >> 36)) & (_HEADS - 1)
        second, i = -1, heads[head]
        while i >= 0 and p - i <= span:
            if words[i] == word:
                if second >= 0:
                    is_marked[i] = is_marked[second] = is_marked[p] = True
                    break
                second = i
            i = before[i]
        before[p] = heads[head]
        heads[head] = p
    for k in range(ends.size):
        is_copy[k] = ends[k] < words.size and is_marked[ends[k]]


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
def classify_gc(codes, reach, low, high, classes):
    """Set the class of each base to how many of two cuts its share of G and C exceeds.

    The share is that among A, C, G, T in `reach` bases on either side and the base itself.
    Unsigned indices spare numba the check for negative ones, and sums have no branches.
    """
    n_gc, n = 0, 0
    for p in range(min(reach, codes.size)):
        n_gc += (codes[p] == _C) | (codes[p] == _G)
        n += codes[p] < _OTHER
    for p in range(codes.size):
        if p + reach < codes.size:
            code = codes[np.uint64(p + reach)]
            n_gc += (code == _C) | (code == _G)
            n += code < _OTHER
        if p > reach:
            code = codes[np.uint64(p - reach - 1)]
            n_gc -= (code == _C) | (code == _G)
            n -= code < _OTHER
        classes[p] = (n_gc > low * n) + (n_gc > high * n)


@njit
def sum_content(codes, classes, places, content, sums):
    """Sum the content of the bases from the first position to each, in six frames.

    ``sums[k, r]`` becomes the sum over the bases ``places[0]..places[k]-1`` of the plus strand,
    read in codons that start at bases p with p % 3 == r; ``sums[k, 3 + r]`` that of the minus
    strand, read in codons whose first base is p - 1. ``content[g, w, j]`` is the
    content of the last base of word w at position j of a codon, where the class of G and C of that
    base is g; words with other letters count 0. `places` rise from
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
        g = classes[p]
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
            a += content[g, plus, i0]
            b += content[g, plus, i1]
            c += content[g, plus, i2]
        if n_minus >= _WORD:
            d += content[g, minus, j0]
            e += content[g, minus, j1]
            f += content[g, minus, j2]
        i0, i1, i2 = i2, i0, i1
        j0, j1, j2 = j2, j0, j1
    while k < places.size:
        sums[k, 0], sums[k, 1], sums[k, 2] = a, b, c
        sums[k, 3], sums[k, 4], sums[k, 5] = d, e, f
        k += 1
