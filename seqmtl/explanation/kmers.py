"""The k-mers that change the score most, of features that need no positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.explanation.poim import oligomer, oligomer_importance
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.position_weights import part_of, position_weights
from seqmtl.sequences import Windows

_MATCHES = 4  # letters by which a k-mer joins a motif, if no other differs
_FLANK = 6  # bases of a motif on either side of its first k-mer


class CountedKmer(NamedTuple):
    """A k-mer with its weight.

    Attributes
    ----------
    kmer : str
        Letters.
    other_strand : str
        Its reverse complement, which has the same weight; "." if strands differ.
    weight : float
        Change of the expected score by the k-mer, inside a window of random letters.
    n_windows : int or None
        Number of windows that have it; None without windows.
    """

    kmer: str
    other_strand: str
    weight: float
    n_windows: int | None


def top_kmers(
    model: MultiTaskModel,
    organism: str,
    top: int = 100,
    windows: Windows | None = None,
    k: int = 6,
) -> list[CountedKmer]:
    """Return the k-mers of the largest and of the smallest weights, the largest first.

    Parameters
    ----------
    model : MultiTaskModel
        A model; only its features that need no positions count.
    organism : str
        Task of the model, or a relative without data.
    top : int
        Number of either.
    windows : Windows, optional
        Windows to count.
    k : int, default=6
        Length of the k-mers, 1 to 10.

    Notes
    -----
    The weight is the importance Q of :mod:`seqmtl.explanation.poim` where all stretches that
    overlap the k-mer are inside the window.
    """
    (levels,) = zip(*position_weights(model, [organism], anywhere=True)(0, 1), strict=True)
    n_before = len(levels) - 1
    n = k + 2 * n_before
    weights = oligomer_importance([levels] * n, n, k)[-1][n_before]
    turned = np.flip(np.arange(4**k).reshape((4,) * k).T).ravel()  # of the reverse complement
    is_stranded = part_of(model, True)[0].is_stranded
    first = np.arange(4**k) if is_stranded else np.minimum(np.arange(4**k), turned)
    listed = np.unique(first)
    listed = listed[np.argsort(-weights[listed], kind="stable")]
    best, worst = listed[weights[listed] > 0][:top], listed[weights[listed] < 0][-top:]
    counts = None if windows is None else _count_windows(windows, k, first)
    return [
        CountedKmer(
            oligomer(code, k),
            "." if is_stranded else oligomer(int(turned[code]), k),
            float(weights[code]),
            None if counts is None else int(counts[code]),
        )
        for code in [*best.tolist(), *worst.tolist()]
    ]


def _count_windows(windows: Windows, k: int, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of windows with each k-mer; `first` is the one that stands for another."""
    counts = np.zeros(first.size, dtype=np.int64)
    for letters in windows.matrix().astype(np.int64):
        kmers = np.lib.stride_tricks.sliding_window_view(letters, min(k, letters.size))
        kmers = kmers[kmers.max(axis=1, initial=0) < 4]
        if letters.size >= k:
            counts[np.unique(first[kmers @ 4 ** np.arange(k)[::-1]])] += 1
    return counts


def align_kmers(kmers: Sequence[CountedKmer], n_motifs: int = 3) -> list[NDArray[np.float64]]:
    """Align k-mers of positive weights to motifs.

    The first k-mer of 4 letters or more begins a motif. Each later one, on either strand, is added
    where 4 or more of its letters agree with the largest ones of the motif so far, and none
    differs, or one if 5 agree. The others may begin further motifs.

    Parameters
    ----------
    kmers : sequence of CountedKmer
        K-mers, the largest weight first.
    n_motifs : int
        Number of motifs at most.

    Returns
    -------
    list of ndarray of float64, shapes (l, 4)
        Sum over the k-mers of a motif with a letter at a position: the weight, divided by the
        number of their letters.
    """
    left = [row for row in kmers if row.weight > 0 and len(row.kmer) >= _MATCHES]
    motifs: list[NDArray[np.float64]] = []
    while left and len(motifs) < n_motifs:
        size = len(left[0].kmer)
        heights = np.zeros((size + 2 * _FLANK, 4))
        _add(heights, left[0].kmer, _FLANK, left[0].weight)
        others = []
        for row in left[1:]:
            strands = {row.kmer, row.other_strand} - {"."}
            best = max(_fits(heights, text) for text in sorted(strands))
            if best[0] > 0:
                _add(heights, best[2], -best[1], row.weight)
            else:
                others.append(row)
        used = np.flatnonzero(heights.any(axis=1))
        motifs.append(heights[used[0] : used[-1] + 1])
        left = others
    return motifs


def _add(heights: NDArray[np.float64], kmer: str, at: int, weight: float) -> None:
    """Add a k-mer to a motif."""
    for j, letter in enumerate(kmer):
        heights[at + j, "ACGT".index(letter)] += weight / len(kmer)


def _fits(heights: NDArray[np.float64], kmer: str) -> tuple[int, int, str]:
    """Return how many letters agree where a k-mer fits best, minus its position, and the k-mer."""
    codes = np.array(["ACGT".index(letter) for letter in kmer])
    largest = np.where(heights.any(axis=1), heights.argmax(axis=1), -1)
    best = 0, 0, kmer
    for at in range(len(largest) - len(codes) + 1):
        here = largest[at : at + len(codes)]
        n_equal = int((here == codes).sum())
        n_other = int((here >= 0).sum()) - n_equal
        if n_equal >= _MATCHES + n_other and n_other <= 1:
            best = max(best, (n_equal - n_other, -at, kmer))
    return best
