"""K-mers in bins of positions, counted with dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np


def starts(view, k: int, length: int, anchor: int) -> list[int]:
    """Where k-mers of a view may start."""
    begin = 0 if view.begin is None else max(0, anchor + view.begin)
    end = length if view.end is None else min(length, anchor + view.end)
    reach = k if view.width == 1 else view.k_max
    return [l for l in range(begin, end) if l + reach <= length]


def bin_of(view, l: int, anchor: int) -> int:
    if view.width is None:
        return 0 if l >= anchor else -1
    return int(np.floor((l - anchor) / view.width))


def omega(view, k: int) -> float:
    if not view.decays:
        return view.weight
    return view.weight * 2 * (view.k_max - k + 1) / (view.k_max * (view.k_max + 1))


def counts(string: str, views, anchor: int) -> Counter:
    """How often each k-mer of A, C, G, T starts in each bin of each view."""
    found: Counter = Counter()
    for v, view in enumerate(views):
        for k in range(view.k_min, view.k_max + 1):
            for l in starts(view, k, len(string), anchor):
                kmer = string[l : l + k].upper()
                if set(kmer) <= set("ACGT"):
                    found[v, k, bin_of(view, l, anchor), kmer] += 1
    return found


def normaliser(views, length: int, anchor: int) -> float:
    """Expected squared norm: a pair of positions of a bin has one k-mer with chance 4**-k."""
    total = 0.0
    for view in views:
        for k in range(view.k_min, view.k_max + 1):
            places = starts(view, k, length, anchor)
            for a in places:
                for b in places:
                    if bin_of(view, a, anchor) == bin_of(view, b, anchor):
                        total += omega(view, k) * (1.0 if a == b else 0.25**k)
    return total


def gram(strings: list[str], views, anchor: int) -> np.ndarray:
    """Kernel matrix."""
    found = [counts(string, views, anchor) for string in strings]
    K = [
        [
            sum(omega(views[v], k) * n * z[v, k, *place] for (v, k, *place), n in x.items())
            for z in found
        ]
        for x in found
    ]
    return np.array(K) / normaliser(views, len(strings[0]), anchor)
