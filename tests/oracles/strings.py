"""String kernels from their explicit features, every word written out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from tests.oracles.wd import betas

LETTERS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}


def words(x: str, length: int, alphabet: str = "dna") -> list[str]:
    """All words of one length without a letter that matches nothing."""
    found = [x[i : i + length].upper() for i in range(len(x) - length + 1)]
    return [word for word in found if set(word) <= set(LETTERS[alphabet])]


def spectrum(x: str, k: int, alphabet: str = "dna") -> Counter:
    return Counter(words(x, k, alphabet))


def gapped(x: str, length: int, k: int, alphabet: str = "dna") -> Counter:
    """Count what stands in every choice of k places of every l-mer."""
    return Counter(
        (places, tuple(word[p] for p in places))
        for word in words(x, length, alphabet)
        for places in combinations(range(length), k)
    )


def gram(features: list[Counter], others: list[Counter]) -> np.ndarray:
    """Inner products of explicit features."""
    return np.array(
        [[sum(c * z[f] for f, c in x.items()) for z in others] for x in features], float
    )


def shifted_weighted_degree(x: str, z: str, degree: int, shift: int, letters: str) -> float:
    """The sum over d, l and s of Raetsch, Sonnenburg and Schoelkopf (2005), term by term."""
    x, z = x.upper(), z.upper()
    total = 0.0
    for d, beta in enumerate(betas(degree), 1):
        for l in range(len(x) - d + 1):
            for s in range(min(shift, len(x) - d - l) + 1):
                for a, b in ((x[l + s :][:d], z[l:][:d]), (x[l:][:d], z[l + s :][:d])):
                    total += beta / (2 * (s + 1)) * (a == b and set(a) <= set(letters))
    return total


def normalized(raw: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Divide by the roots of k(x, x) and k(z, z); 0 where one is 0."""
    scale = np.sqrt(np.outer(rows, columns))
    return np.divide(raw, scale, out=np.zeros_like(raw), where=scale > 0)
