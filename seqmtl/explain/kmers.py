"""The k-mers with the largest weights on either side of the site, averaged over positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqmtl.explain.poim import Poim, oligomer


class KmerWeight(NamedTuple):
    """Weight of a k-mer in a region, 0-based half-open and relative to the site's first base.

    `weight` is the mean of Q_{k,j} over the positions j at which the k-mer lies inside the
    region: the average change of the expected score by one occurrence there. `beyond_letters` is
    the part of the weight that its single letters do not explain, see
    :meth:`Poim.beyond_letters`.
    """

    begin: int
    end: int
    kmer: str
    weight: float
    beyond_letters: float


def mean_kmers(found: Poim, k: int, n: int) -> list[KmerWeight]:
    """Return the n k-mers of largest weight upstream of the site, and n downstream.

    They are ranked by the weight beyond their single letters; single letters by their weight.
    """
    first, after, L = found.site.offset, found.site.offset + found.site.length, found.positions.size
    rest = found.beyond_letters(k)
    kmers: list[KmerWeight] = []
    for begin, end in ((0, first), (after, L)):
        if end - begin < k:
            continue
        weight, beyond = (q[begin : end - k + 1].mean(axis=0) for q in (found.Q[k - 1], rest))
        kmers += [
            KmerWeight(
                begin - first, end - first, oligomer(int(c), k), float(weight[c]), float(beyond[c])
            )
            for c in np.argsort(-np.abs(beyond if k > 1 else weight), kind="stable")[:n]
        ]
    return kmers
