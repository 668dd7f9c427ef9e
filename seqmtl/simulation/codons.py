"""Coding sequence: codons of a usage that differs by organism, in a frame that stays open."""

from __future__ import annotations

import numpy as np

from seqmtl.simulation.background import PAIRS

#: Traits of an organism: how much it likes each of the 64 codons.
N_TRAITS = 64

_SPREAD = 1.0  # standard deviation of the log-odds of a codon
_POWERS = np.array([16, 4, 1])
_C, _G = 1, 2
_START = np.array([0, 3, 2])  # ATG
_STOPS = np.array([[3, 0, 0], [3, 0, 2], [3, 2, 0]])  # TAA, TAG, TGA


def write_codons(
    codes: np.ndarray, positions: np.ndarray, traits: np.ndarray, rng: np.random.Generator
) -> None:
    """Write codons, each drawn independently, none of them a stop codon; in place.

    The log-odds of a codon are its trait, and what its pairs of bases have in all genomes. One that
    makes a CpG with the codon before is drawn again, once.

    Parameters
    ----------
    codes : numpy.ndarray
        Shape (bases,), uint8, 0..3 for A, C, G, T.
    positions : numpy.ndarray
        Shape (codons, 3), positions of the bases of every codon.
    traits : numpy.ndarray
        Shape (:attr:`N_TRAITS`,), traits of one organism.
    rng : numpy.random.Generator
        Random generator.
    """
    common = PAIRS[:, :, np.newaxis] + PAIRS
    weights = np.exp(_SPREAD * traits + common.ravel())
    weights[_STOPS @ _POWERS] = 0.0
    weights /= weights.sum()
    drawn = rng.choice(N_TRAITS, size=len(positions), p=weights)
    is_cpg = np.append(False, (drawn[:-1] % 4 == _C) & (drawn[1:] // 16 == _G))
    drawn[is_cpg] = rng.choice(N_TRAITS, size=int(is_cpg.sum()), p=weights)
    codes[positions] = drawn[:, np.newaxis] // _POWERS % 4


def keep_open(
    codes: np.ndarray, positions: np.ndarray, first: np.ndarray, rng: np.random.Generator
) -> None:
    """Begin every gene with ATG and end it with a stop codon, and remove all others; in place.

    A stop codon that a motif has written becomes CAA, CAG or CGA.

    Parameters
    ----------
    codes, positions, rng
        As :func:`write_codons` takes them.
    first : numpy.ndarray
        Shape (genes,), the first codon of every gene.
    """
    is_stop = np.isin(codes[positions] @ _POWERS, _STOPS @ _POWERS)
    codes[positions[is_stop, 0]] = _C
    codes[positions[first]] = _START
    last = np.append(first[1:], len(positions)) - 1
    codes[positions[last]] = _STOPS[rng.integers(len(_STOPS), size=last.size)]
