"""The k-mers that weigh most, wherever in a region they stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.explain.poim import Poim, oligomer
from seqmtl.explain.views import linear_score
from seqmtl.features.spectrum import Spectrum
from seqmtl.models.model import MultiTaskModel


class KmerWeight(NamedTuple):
    """Weight of a k-mer in a region, 0-based half-open and relative to the site's first base.

    `beyond_letters` is the part of the weight that its single letters do not explain; None for
    the counts of a spectrum.
    """

    view: str
    begin: int
    end: int
    kmer: str
    weight: float
    beyond_letters: float | None


def spectrum_kmers(model: MultiTaskModel, organism: str, n: int) -> list[KmerWeight]:
    """Return the n k-mers of largest abs(weight) of every spectrum view of the model.

    The weight is what a k-mer adds to the score times the norm of the window's counts, where
    counts are normalised.
    """
    found: list[KmerWeight] = []
    for number, view in enumerate(linear_score(model, [organism]).views):
        if isinstance(view.features, Spectrum):
            k, begin, end = view.features.k, view.features.begin or 0, view.features.end
            end = model.length if end is None else end
            region = (begin - model.site.offset, end - model.site.offset)
            w = view.w.astype(np.float64)
            found += [
                KmerWeight(f"spectrum_{number}", *region, oligomer(int(c), k), float(w[c]), None)
                for c in _largest(w, n)
            ]
    return found


def mean_kmers(found: Poim, k: int, n: int) -> list[KmerWeight]:
    """Return n k-mers of large mean importance up- and downstream of the site.

    The weight is the mean of Q_{k,j} over the positions j at which the k-mer lies wholly on this
    side of the site: what one occurrence there changes on average. Those come first that are
    worth most beyond their single letters, see :meth:`Poim.beyond_letters`; single letters by
    their weight.
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
                "weighted_degree", begin - first, end - first, oligomer(int(c), k),
                float(weight[c]), float(beyond[c]),
            )
            for c in _largest(beyond if k > 1 else weight, n)
        ]  # fmt: skip
    return kmers


def _largest(weights: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    return np.argsort(-np.abs(weights), kind="stable")[:n]
