"""The weighted-degree kernel and its hash, written with loops and Python integers."""

from __future__ import annotations

import numpy as np


def betas(degree: int, weighting: str = "wd") -> list[float]:
    if weighting == "flat":
        return [1.0 / degree] * degree
    return [2.0 * (degree - d + 1) / (degree * (degree + 1)) for d in range(1, degree + 1)]


def kernel(x: str, z: str, degree: int, weighting: str = "wd") -> float:
    """Sum beta_d over equal clean d-mers at equal positions."""
    total = 0.0
    for d, beta in enumerate(betas(degree, weighting), 1):
        for start in range(len(x) - d + 1):
            a, b = x[start : start + d].upper(), z[start : start + d].upper()
            if a == b and set(a) <= set("ACGT"):
                total += beta
    return total


def gram(xs: list[str], zs: list[str], degree: int, weighting: str = "wd") -> np.ndarray:
    """Kernel matrix in units of the kernel of a window without N and itself."""
    raw = np.array([[kernel(x, z, degree, weighting) for z in zs] for x in xs])
    clean = "A" * len(xs[0])
    return raw / kernel(clean, clean, degree, weighting)


def hash_slot(slot: int, dmer: str, bits: int) -> int:
    """The documented hash in integers of any size."""
    mask = (1 << 64) - 1
    code = 0
    for letter in dmer:
        code = code * 4 + "ACGT".index(letter)
    h = ((code + slot * 0x9E3779B97F4A7C15) & mask) ^ ((slot << 40) & mask)
    h ^= h >> 30
    h = (h * 0xBF58476D1CE4E5B9) & mask
    h ^= h >> 27
    h = (h * 0x94D049BB133111EB) & mask
    h ^= h >> 31
    return h & ((1 << bits) - 1)


def hash_index(position: int, degree: int, dmer: str, bits: int) -> int:
    """The hashed index of a d-mer: degrees are levels, positions are bins."""
    return hash_slot(65536 * (degree - 1) + position, dmer, bits)
