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
    """Normalised kernel matrix; 0 for windows without a clean letter."""
    raw = np.array([[kernel(x, z, degree, weighting) for z in zs] for x in xs])
    nx = np.array([kernel(x, x, degree, weighting) for x in xs])
    nz = np.array([kernel(z, z, degree, weighting) for z in zs])
    scale = np.sqrt(np.outer(np.where(nx > 0, nx, 1), np.where(nz > 0, nz, 1)))
    return raw / scale


def hash_index(position: int, degree: int, dmer: str, bits: int) -> int:
    """The documented hash in integers of any size."""
    mask = (1 << 64) - 1
    code = 0
    for letter in dmer:
        code = code * 4 + "ACGT".index(letter)
    slot = 32 * position + degree
    h = ((code + slot * 0x9E3779B97F4A7C15) & mask) ^ ((slot << 40) & mask)
    h ^= h >> 30
    h = (h * 0xBF58476D1CE4E5B9) & mask
    h ^= h >> 27
    h = (h * 0x94D049BB133111EB) & mask
    h ^= h >> 31
    return h & ((1 << bits) - 1)
