"""The compiled search for windows that look related."""

from __future__ import annotations

from seqmtl._jit import njit


@njit
def mark_related(
    windows, words, kinds, others, other_kinds, order, begins, same, differs, least, found
):
    """Set ``found[i]`` for each window i that one of the others is related to.

    Others are looked at if they have the word ``words[i, j]`` at position j: those at
    ``order[j, begins[j, word]:begins[j, word + 1]]``, the first 64. A pair is related if the
    scores of the bases of the left or of the right half add up to `least`. The score of base p is
    ``same[k, l, p, x]`` where both bases are equal, else ``differs[k, l, p, x]``, where k and l
    are the kinds of both windows and x is 5 times the code of the other's base before p, plus that
    of its base at p. Bases other than A, C, G, T count nothing.
    """
    length = windows.shape[1]
    half = length // 2
    for i in range(windows.shape[0]):
        for j in range(words.shape[1]):
            word = words[i, j]
            if word < 0 or found[i]:
                continue
            begin, end = begins[j, word], begins[j, word + 1]
            for row in range(begin, min(end, begin + 64)):
                other = order[j, row]
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
                    found[i] = True
                    break
