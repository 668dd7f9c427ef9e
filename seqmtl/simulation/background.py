"""Base composition: a second-order Markov chain whose parameters vary by region and isochore."""

from __future__ import annotations

import numpy as np

#: Traits of an organism: mean GC, and deviations of the energies.
N_TRAITS = 1 + 3 * 64
#: Regions of a genome, in the order of the tables below.
INTERGENIC, EXON, INTRON = range(3)
N_ISOCHORES = 5

#: Energies of two neighbouring bases in all genomes: many AA and TT, few CpG and TA.
PAIRS = np.zeros((4, 4))
PAIRS[0, 0] = PAIRS[3, 3] = 0.25
PAIRS[1, 2] = -0.70
PAIRS[3, 0] = -0.15

_SEGMENT = 256
_BURN_IN = 8
_RESOLUTION = 1024
_ISOCHORE_BLOCK = 2000
_N_STATES = 16


def draw_bases(regions: np.ndarray, traits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the bases of one chromosome of an organism.

    The probability of base c after bases a and b is proportional to the exponential of an energy
    E[region, a, b, c] plus a GC preference that depends on the isochore. Energies are the sum of
    a part common to all genomes (few CpG, many AA and TT, exons richer in G and C, introns in T)
    and deviations of the organism. Outside genes they are the same on both strands.

    The chromosome is divided into segments of 256 bases that are drawn in parallel, one base of
    each per step. A few discarded steps precede the first base of each.

    Parameters
    ----------
    regions : numpy.ndarray
        Shape (n,), uint8: INTERGENIC, EXON or INTRON.
    traits : numpy.ndarray
        Shape (:data:`N_TRAITS`,), standard normal: mean GC, then three tables of 4 x 4 x 4.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    numpy.ndarray
        Shape (n,), uint8 codes 0..3 for A, C, G, T.
    """
    table = _base_of_state(traits)
    n_segments = -(-regions.size // _SEGMENT)
    rows = np.zeros(n_segments * _SEGMENT, dtype=np.uint8)
    rows[: regions.size] = regions * N_ISOCHORES + _isochores(regions.size, rng)
    rows = np.ascontiguousarray(rows.reshape(n_segments, _SEGMENT).T)
    codes = np.empty((_SEGMENT, n_segments), dtype=np.uint8)
    state = rng.integers(0, _N_STATES, size=n_segments, dtype=np.uint8)
    for step in range(-_BURN_IN, _SEGMENT):
        index = rows[max(step, 0)].astype(np.int32)
        index *= _N_STATES
        index += state
        index *= _RESOLUTION
        index += rng.integers(0, _RESOLUTION, size=n_segments, dtype=np.uint16)
        base = table.take(index)
        state = (state << 2 | base) & 15
        if step >= 0:
            codes[step] = base
    return np.ascontiguousarray(codes.T).ravel()[: regions.size]


def _base_of_state(traits: np.ndarray) -> np.ndarray:
    """Return the base for each region and isochore, two bases before, and random number; uint8."""
    deviations = traits[1:].reshape(3, 4, 4, 4)
    energies = _shared_energies()
    paired = deviations[0] + deviations[0].transpose(2, 1, 0)[::-1, ::-1, ::-1]
    energies += 0.15 * paired
    energies[EXON] += 0.15 * deviations[1]
    energies[INTRON] += 0.12 * deviations[2]
    levels = -0.30 + 0.25 * traits[0] + 0.18 * np.linspace(-2.0, 2.0, N_ISOCHORES)
    gc = np.array([0.0, 1.0, 1.0, 0.0])
    scores = energies[:, None] + (levels[:, None] * gc)[None, :, None, None, :]
    scores = scores.reshape(3 * N_ISOCHORES, _N_STATES, 4)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    cumulative = np.cumsum(weights / weights.sum(axis=-1, keepdims=True), axis=-1)
    bounds = np.rint(cumulative[..., :3] * _RESOLUTION).astype(np.int64)
    drawn = np.arange(_RESOLUTION)[:, None] >= bounds[..., None, :]
    table: np.ndarray = drawn.sum(axis=-1).astype(np.uint8).ravel()
    return table


def _shared_energies() -> np.ndarray:
    """Return the energies common to all genomes, shape (3 regions, 4, 4, 4)."""
    energies = np.tile(PAIRS, (3, 4, 1, 1))
    energies[EXON] += np.array([0.05, 0.25, 0.25, 0.0])
    energies[INTRON] += np.array([0.05, -0.15, -0.20, 0.20])
    return energies


def _isochores(length: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the isochore of every base: an autoregressive walk over blocks of 2,000 bases."""
    n_blocks = -(-length // _ISOCHORE_BLOCK)
    kernel = 0.9 ** np.arange(80)
    kernel /= np.sqrt(np.sum(kernel**2))
    walk = np.convolve(rng.standard_normal(n_blocks + kernel.size - 1), kernel, mode="valid")
    levels = np.clip(np.rint(walk) + N_ISOCHORES // 2, 0, N_ISOCHORES - 1).astype(np.uint8)
    return np.repeat(levels, _ISOCHORE_BLOCK)[:length]
