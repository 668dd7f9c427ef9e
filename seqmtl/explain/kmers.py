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
    """Weight of a k-mer in a region, 0-based half-open and relative to the site's first base."""

    view: str
    begin: int
    end: int
    kmer: str
    weight: float


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
            name = f"spectrum_{number}"
            found += _largest(name, region, k, view.w.astype(np.float64), n)
    return found


def mean_kmers(found: Poim, k: int, n: int) -> list[KmerWeight]:
    """Return the n k-mers of largest mean importance up- and downstream of the site.

    The weight is the mean of Q_{k,j} over the positions j at which the k-mer lies wholly on this
    side of the site: what one occurrence there changes on average.
    """
    first, after, L = found.site.offset, found.site.offset + found.site.length, found.positions.size
    kmers: list[KmerWeight] = []
    for begin, end in ((0, first), (after, L)):
        if end - begin >= k:
            weights = found.Q[k - 1][begin : end - k + 1].mean(axis=0)
            kmers += _largest("weighted_degree", (begin - first, end - first), k, weights, n)
    return kmers


def _largest(
    view: str, region: tuple[int, int], k: int, weights: NDArray[np.float64], n: int
) -> list[KmerWeight]:
    best = np.argsort(-np.abs(weights), kind="stable")[:n]
    return [KmerWeight(view, *region, oligomer(int(c), k), float(weights[c])) for c in best]
