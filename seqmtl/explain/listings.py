"""Explanations of a model as lines of tab-separated tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.explain.kmers import KmerWeight
from seqmtl.explain.poim import Poim, oligomer

OLIGOMER_HEADER = "k\tposition\toligomer\tQ\tbeyond_letters\n"
IMPORTANCE_HEADER = "organism\tk\tposition\timportance\toligomer\tQ\tgain\n"
KMER_HEADER = "organism\tbegin\tend\tk\tkmer\tweight\tbeyond_letters\n"
CONTRIBUTION_HEADER = "organism\twindow\tscore\tposition\tletter\tcontribution\tdA\tdC\tdG\tdT\n"


def oligomer_lines(found: Poim, n: int) -> Iterator[str]:
    """Yield the n most important oligomers of every order."""
    for k in range(1, found.max_order + 1):
        for one in found.top(k, n):
            yield (
                f"{one.k}\t{one.position}\t{one.letters}\t{one.Q:.6g}\t{one.beyond_letters:.6g}\n"
            )


def importance_lines(found: Poim) -> Iterator[str]:
    """Yield the importance of every order and position, with the most important oligomer."""
    importance, gain, positions = found.importance(), found.gain(), found.positions
    for k, q in enumerate(found.Q, 1):
        best = np.abs(q).argmax(axis=1)
        for j, code in enumerate(best):
            yield (
                f"{found.label}\t{k}\t{positions[j]}\t{importance[k - 1, j]:.6g}\t"
                f"{oligomer(int(code), k)}\t{q[j, code]:.6g}\t{gain[k - 1, j]:.6g}\n"
            )


def kmer_lines(organism: str, kmers: Iterable[KmerWeight]) -> Iterator[str]:
    """Yield k-mers of a region and their weights."""
    for one in kmers:
        yield (
            f"{organism}\t{one.begin}\t{one.end}\t{len(one.kmer)}\t{one.kmer}\t"
            f"{one.weight:.6g}\t{one.beyond_letters:.6g}\n"
        )


def contribution_lines(
    organism: str,
    names: Iterable[str],
    scores: NDArray[np.float64],
    codes: NDArray[np.uint8],
    parts: NDArray[np.float64],
    changes: NDArray[np.float64],
    positions: NDArray[np.int64],
) -> Iterator[str]:
    """Yield every base of some windows: its contribution, and the effects of substitutions."""
    for i, name in enumerate(names):
        for j, position in enumerate(positions):
            change = "\t".join(f"{value:.6g}" for value in changes[i, j])
            yield (
                f"{organism}\t{name}\t{scores[i]:.6g}\t{position}\t{'ACGTN'[codes[i, j]]}\t"
                f"{parts[i, j]:.6g}\t{change}\n"
            )
