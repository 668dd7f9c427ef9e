"""Explanations of a model as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.explain.poim import Poim, mean_kmers, oligomer

OLIGOMERS = ("k", "position", "oligomer", "Q", "beyond_letters")
IMPORTANCE = ("organism", "k", "position", "importance", "oligomer", "Q", "gain")
KMERS = ("organism", "begin", "end", "k", "kmer", "weight", "beyond_letters")
CONTRIBUTIONS = (
    "organism", "window", "score", "position", "letter", "contribution", "dA", "dC", "dG", "dT",
)  # fmt: skip

Row = tuple[Any, ...]


def table_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Yield tab-separated lines, with six digits of each number that is not whole."""
    for row in rows:
        texts = (f"{value:.6g}" if isinstance(value, float) else str(value) for value in row)
        yield "\t".join(texts) + "\n"


def oligomer_rows(found: Poim, n: int) -> Iterator[Row]:
    """Yield the n most important oligomers of every order."""
    for k in range(1, found.max_order + 1):
        yield from found.top(k, n)


def importance_rows(found: Poim) -> Iterator[Row]:
    """Yield the importance of every order and position, with the most important oligomer."""
    importance, gain, positions = found.importance(), found.gain(), found.positions
    for k, q in enumerate(found.Q, 1):
        for j, code in enumerate(np.abs(q).argmax(axis=1).tolist()):
            best = oligomer(code, k), q[j, code]
            yield (found.label, k, positions[j], importance[k - 1, j], *best, gain[k - 1, j])


def kmer_rows(found: Poim, n: int) -> Iterator[Row]:
    """Yield the k-mers of largest weight of every order."""
    for k in range(1, found.max_order + 1):
        for begin, end, *own in mean_kmers(found, k, n):
            yield (found.label, begin, end, k, *own)


def contribution_rows(
    organism: str,
    names: Iterable[str],
    scores: NDArray[np.float64],
    codes: NDArray[np.uint8],
    parts: NDArray[np.float64],
    changes: NDArray[np.float64],
    positions: NDArray[np.int64],
) -> Iterator[Row]:
    """Yield every base of some windows: its contribution, and the effects of substitutions."""
    for (i, name), (j, position) in product(enumerate(names), enumerate(positions)):
        letter = "ACGTN"[codes[i, j]]
        yield (organism, name, scores[i], position, letter, parts[i, j], *changes[i, j])
