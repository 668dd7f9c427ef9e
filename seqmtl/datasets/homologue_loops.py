"""The compiled search for homologous windows."""

from __future__ import annotations

from seqmtl._jit import njit


@njit
def mark_related(
    windows,
    organisms,
    rows,
    kmers,
    references,
    reference_organisms,
    order,
    ends,
    same,
    differs,
    min_score,
    is_related,
):
    """Set ``is_related[i]`` for each window i of `rows` that is related to a reference.

    A window is compared with the first 64 references that have its k-mer, ``kmers[n]`` for the
    window ``rows[n]``: those of ``order[ends[kmer - 1]:ends[kmer]]``. A pair is related if the
    scores of the bases of the left or of the right half add up to `min_score`. Base p scores
    ``same[k, m, p, x]`` where both bases are equal, else ``differs[k, m, p, x]``, where k and m
    are the organisms of the window and the reference, and x is 5 times the code of the reference's
    base before p, plus that of its base at p. Bases other than A, C, G, T count nothing.
    """
    length = windows.shape[1]
    half = length // 2
    for n in range(rows.size):
        i, kmer = rows[n], kmers[n]
        if is_related[i]:
            continue
        begin = ends[kmer - 1] if kmer > 0 else 0
        for q in range(begin, min(ends[kmer], begin + 64)):
            r = order[q]
            k, m = organisms[i], reference_organisms[r]
            left_score, right_score = 0.0, 0.0
            for p in range(1, length):
                base = references[r, p]
                if base > 3 or windows[i, p] > 3:
                    continue
                x = 5 * references[r, p - 1] + base
                score = same[k, m, p, x] if windows[i, p] == base else differs[k, m, p, x]
                if p < half:
                    left_score += score
                else:
                    right_score += score
            if left_score >= min_score or right_score >= min_score:
                is_related[i] = True
                break
