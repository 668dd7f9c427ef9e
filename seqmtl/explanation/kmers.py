"""The k-mers with the largest weights, of features that need no positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqmtl.core.rows import blocks_of
from seqmtl.features.kmer_counts import KmerCounts
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows

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
        Weight w: a k-mer that is n times in a window adds w s(n) / |s| to its score.
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


def _count_windows(model: MultiTaskModel, windows: Windows) -> np.ndarray:
    """Return the number of windows with each feature."""
    rows = model.features.bind(windows)
    counts = np.zeros(rows.n_features, dtype=np.int64)
    for chosen in blocks_of(np.arange(rows.n_rows), rows.row_size):
        block = rows.block(chosen, np.float32)
        counts += np.bincount(block.indices[: block.indptr[-1]], minlength=rows.n_features)
    return counts
