"""Effects of variants on strings: whole haplotypes, every window cut by hand, every alignment."""

from functools import cache

import numpy as np

from seqmtl.sequences import Windows, encode

_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def mirror(text):
    """Reverse complement."""
    return text[::-1].translate(_COMPLEMENT)


def scorer(model, organism):
    """Return a function from the letters of one window to (score, probability)."""

    @cache
    def score(letters):
        windows = Windows(encode(letters), np.zeros(1, dtype=np.int64), len(letters))
        scores = model.decision_function(windows, tasks=organism)
        return float(scores[0]), float(model.probability(scores, [organism])[0])

    return score


def profile(score, site, length, contig):
    """Return {(strand, place of the site's first base): (score, P)} of a whole contig."""
    found = {}
    for strand, text in enumerate((contig, mirror(contig))):
        padded = "N" * length + text + "N" * length
        for p in range(len(text)):
            letters = text[p : p + site.length]
            if len(letters) < site.length or (
                site.letters and letters not in site.letters.split(",")
            ):
                continue
            first = p + length - site.offset
            place = p if strand == 0 else len(text) - 1 - p
            found[strand, place] = score(padded[first : first + length])
    return found


def shared(one, other):
    """Return how many letters two texts share at their beginning."""
    shorter = min(len(one), len(other))
    one, other = (np.frombuffer(text[:shorter].encode(), np.uint8) for text in (one, other))
    differs = np.flatnonzero(one != other)
    return int(differs[0]) if differs.size else shorter


def zone(ref, alt):
    """Return start and lengths of the stretch that differs, however the change is written."""
    shorter = min(len(ref), len(alt))
    left, right = shared(ref, alt), shared(ref[::-1], alt[::-1])
    if ref == alt:
        return 0, 0, 0
    begin, rest = min(left, shorter - right), min(right, shorter - left)
    return begin, len(ref) - begin - rest, len(alt) - begin - rest


def alignments(ref, alt):
    """Yield all alignments as lists of (place in ref or None, place in alt or None, anchor)."""
    begin, m, n = zone(ref, alt)
    shorter = min(m, n)
    for g in range(shorter + 1 if m != n else 1):
        cut = begin + g
        pairs = [(p, p, p) for p in range(cut)]
        pairs += [(cut + i, None, cut + i) for i in range(m - n)]
        pairs += [(None, cut + i, max(0, cut - 1)) for i in range(n - m)]
        after = cut + max(0, m - n)
        pairs += [(p, p + n - m, p) for p in range(after, len(ref))]
        yield pairs


def effect(score, site, length, contig, start, ref, alt):
    """Return ((gain, {(strand, place), ...}), (loss, {...})) of one allele."""
    assert contig[start : start + len(ref)] == ref
    changed = contig[:start] + alt + contig[start + len(ref) :]
    before, after = (profile(score, site, length, text) for text in (contig, changed))
    best = None
    for pairs in alignments(contig, changed):
        deltas = {}
        for p, q, anchor in pairs:
            for strand in (0, 1):
                delta = after.get((strand, q), (0, 0))[1] - before.get((strand, p), (0, 0))[1]
                deltas.setdefault((strand, anchor), []).append(delta)
        gain = max([0.0, *(d for each in deltas.values() for d in each)])
        loss = max([0.0, *(-d for each in deltas.values() for d in each)])
        places = [
            {key for key, each in deltas.items() if change > 0 and sign * change in each}
            for sign, change in ((1, gain), (-1, loss))
        ]
        rank = (max(gain, loss), min(gain, loss), gain)
        if best is None or rank < best[0]:
            best = (rank, (gain, places[0]), (loss, places[1]))
    return best[1:]
