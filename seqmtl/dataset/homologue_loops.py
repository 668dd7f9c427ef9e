"""The compiled search for homologous windows."""

from __future__ import annotations

from seqmtl._jit import njit


@njit
def mark_related(
    windows, kinds, rows, kmers, others, other_kinds, order, ends, same, differs, least, is_related
):
    """Set ``is_related[i]`` for each window i of `rows` that one of the others is related to.

    Others are compared if they have the same k-mer, ``kmers[k]`` for the window ``rows[k]``: those
    of ``order[ends[kmer - 1]:ends[kmer]]``, the first 64. A pair is related if the scores of the
    bases of the left or of the right half add up to `least`. The score of base p is
    ``same[k, l, p, x]`` where both bases are equal, else ``differs[k, l, p, x]``, where k and l
    are the kinds of both windows and x is 5 times the code of the other's base before p, plus that
    of its base at p. Bases other than A, C, G, T count nothing.
    """
    length = windows.shape[1]
    half = length // 2
    for number in range(rows.size):
        i, kmer = rows[number], kmers[number]
        if is_related[i]:
            continue
        begin = ends[kmer - 1] if kmer > 0 else 0
        for row in range(begin, min(ends[kmer], begin + 64)):
            other = order[row]
            k, m = kinds[i], other_kinds[other]
            left, right = 0.0, 0.0
            for p in range(1, length):
                base = others[other, p]
                if base > 3 or windows[i, p] > 3:
                    continue
                x = 5 * others[other, p - 1] + base
                score = same[k, m, p, x] if windows[i, p] == base else differs[k, m, p, x]
                if p < half:
                    left += score
                else:
                    right += score
            if left >= least or right >= least:
                is_related[i] = True
                break
