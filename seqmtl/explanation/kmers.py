"""The k-mers with the largest weights, of features that need no positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.rows import blocks_of
from seqmtl.features.kmer_counts import KmerCounts
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows

_MATCHES = 4  # letters by which a k-mer joins a motif, if no other differs
_FLANK = 6  # bases of a motif on either side of its first k-mer
_TURNED = str.maketrans("ACGT", "TGCA")


class CountedKmer(NamedTuple):
    """A k-mer with its weight.

    Attributes
    ----------
    kmer : str
        Letters, with dots for gaps.
    other_strand : str
        Its reverse complement, which is the same feature; "." if strands differ.
    weight : float
        Weight w: a k-mer that is n times in a window adds w s(n) / norm to its
        score, see :class:`~seqmtl.features.kmer_counts.KmerCounts`.
    n_windows : int or None
        Number of windows that have it; None without windows.
    """

    kmer: str
    other_strand: str
    weight: float
    n_windows: int | None


def top_kmers(
    model: MultiTaskModel, organism: str, top: int = 100, windows: Windows | None = None
) -> list[CountedKmer]:
    """Return the k-mers of the largest and of the smallest weights, the largest first.

    Parameters
    ----------
    model : MultiTaskModel
        A model; only its features that need no positions have such k-mers.
    organism : str
        Task of the model, or a relative without data.
    top : int
        Number of either.
    windows : Windows, optional
        Windows to count. With hashed features, those of any k-mer with the same index count.

    Notes
    -----
    K-mers of more than 12 letters are not listed.
    """
    w = model.weights([organism])[0][:, 0]
    listed: list[tuple[float, int, str, str]] = []
    features = model.features
    columns = features.view_columns(model.length)
    for view, part in zip(features.flat_views(), columns, strict=True):
        if not isinstance(view, KmerCounts):
            continue
        of_view = w[part]
        for kmers in view.kmers(of_view):
            order = np.argsort(-kmers.weights, kind="stable")
            ends = {*order[:top].tolist(), *order[-top:].tolist()}
            for i in ends:
                if kmers.weights[i] != 0:
                    text = kmers.text(i)
                    other = "." if kmers.is_stranded else text.translate(_TURNED)[::-1]
                    index = part.start + int(kmers.indices[i])
                    listed.append((-float(kmers.weights[i]), index, text, other))
    listed.sort()
    best = [row for row in listed if row[0] < 0][:top]
    worst = [row for row in listed if row[0] > 0][-top:]
    counts = None if windows is None else _count_windows(model, windows)
    return [
        CountedKmer(text, other, -weight, None if counts is None else int(counts[index]))
        for weight, index, text, other in best + worst
    ]


def _count_windows(model: MultiTaskModel, windows: Windows) -> NDArray[np.int64]:
    """Return the number of windows with each feature."""
    rows = model.features.bind(windows)
    counts = np.zeros(rows.n_features, dtype=np.int64)
    for chosen in blocks_of(np.arange(rows.n_rows), rows.row_size):
        block = rows.block(chosen, np.float32)
        counts += np.bincount(block.indices[: block.indptr[-1]], minlength=rows.n_features)
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
    left = [row for row in kmers if row.weight > 0 and len(row.kmer.replace(".", "")) >= _MATCHES]
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
    letters = [(at + j, "ACGT".index(c)) for j, c in enumerate(kmer) if c != "."]
    for column, code in letters:
        heights[column, code] += weight / len(letters)


def _fits(heights: NDArray[np.float64], kmer: str) -> tuple[int, int, str]:
    """Return how many letters agree where a k-mer fits best, minus its position, and the k-mer."""
    codes = np.array([".ACGT".index(c) - 1 for c in kmer])
    largest = np.where(heights.any(axis=1), heights.argmax(axis=1), -1)
    best = 0, 0, kmer
    for at in range(len(largest) - len(codes) + 1):
        here = largest[at : at + len(codes)]
        is_both = (here >= 0) & (codes >= 0)
        n_equal = int((here == codes)[is_both].sum())
        n_other = int(is_both.sum()) - n_equal
        if n_equal >= _MATCHES + n_other and n_other <= 1:
            best = max(best, (n_equal - n_other, -at, kmer))
    return best
