"""Distributions of the lengths of introns.

Datasets keep annotated sites, not transcripts. A donor and the annotated site that follows it on
its strand are an intron if that site is an acceptor. This needs no annotation file, and holds for
all transcripts that are spliced in one way. Where sites are alternative, it takes the shortest of
the overlapping introns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.paired import PairLayer

if TYPE_CHECKING:
    from seqmtl.pairs.regions import KnownSites

_FEWEST_BASES = 4  # of an intron: its two sites
_ENOUGH = 50  # introns of an organism that count as much as all those of its relatives
_TAIL = 0.02  # share of introns of any length
_REACH = 1.5  # the longest intron considered, in units of the 99 % quantile
_LONGEST = 50_000  # bases; unless asked for, since time grows with the partners in reach
_STEPS = 64  # grid points per factor e of length


class LengthTable(NamedTuple):
    """Log density of intron lengths; see :class:`seqmtl.models.paired.PairLayer`."""

    shortest: int
    introns: NDArray[np.float64]


def annotated_lengths(strands: Iterable[KnownSites]) -> NDArray[np.int64]:
    """Return the lengths from true donors to the true acceptors that follow them."""
    found = [np.zeros(0, dtype=np.int64)]
    for sites in strands:
        lengths = np.diff(sites.places)
        is_intron = sites.is_donor[:-1] & ~sites.is_donor[1:]
        is_intron &= sites.is_true[:-1] & sites.is_true[1:]
        found.append(lengths[is_intron & (lengths >= _FEWEST_BASES)])
    return np.concatenate(found)


def length_tables(
    lengths: Mapping[str, NDArray[np.int64]],
    relatedness: NDArray[np.float64],
    longest: int | None = None,
) -> dict[str, LengthTable]:
    """Estimate the length distributions of every organism, with those of its relatives.

    Intron lengths are smoothed by a Gaussian kernel on their logarithms. With n introns, an
    organism's own density has the weight n / (n + 50), and the mean over its relatives the rest;
    2 % are uniform in the logarithm up to the longest intron considered, so that no length is
    impossible.

    Parameters
    ----------
    lengths : mapping of str to ndarray of int64
        Annotated lengths of T organisms, in bases.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0.
    longest : int, optional
        Bases of the longest intron considered. Default: for each organism, 1.5 times the length
        that 99 % of its introns do not exceed, but at most 50,000.

    Raises
    ------
    ValueError
        If no organism has an intron.
    """
    every = np.concatenate([*lengths.values()])
    if not every.size:
        raise ValueError(
            "the annotation has no introns: no annotated donor is followed by an acceptor; "
            "lengths of introns are needed"
        )
    edge = longest or min(max(_LONGEST, int(every.min())), 2 * int(every.max()))
    if longest is not None and longest < int(every.min()):
        raise ValueError(
            f"the longest intron considered must reach the annotated ones, of {every.min():,} "
            f"bases or more, got {longest:,}"
        )
    grid = np.arange(1, edge + 1)
    seen = [found[found <= edge] for found in lengths.values()]
    own = np.array([_smoothed(found, grid) for found in seen])
    counts = np.array([found.size for found in seen], dtype=np.float64)
    shares = borrowed(counts / (counts + _ENOUGH), relatedness)
    tables = {}
    for t, name in enumerate(lengths):
        trust = 1.0 if counts[t] == counts.sum() else counts[t] / (counts[t] + _ENOUGH)
        density = trust * own[t] + (1 - trust) * (shares[t] @ own)
        tables[name] = _cut(density, longest)
    return tables


def relatives_density(
    layers: Sequence[PairLayer], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the density of the lengths 1, 2, ... of relatives' introns, which sums to 1.

    Parameters
    ----------
    layers : sequence of PairLayer
        Layers of T organisms.
    weights : ndarray of float64, shape (T,)
        How much each counts; those with few introns count less.
    """
    counts = np.array([layer.n_introns for layer in layers], dtype=np.float64)
    density = np.zeros(max(layer.longest for layer in layers))
    for layer, share in zip(layers, weights * counts / (counts + _ENOUGH), strict=True):
        density[layer.shortest - 1 : layer.longest] += share * np.exp(layer.introns)
    return np.asarray(density / density.sum())


def mixed_table(lengths: NDArray[np.int64], prior: NDArray[np.float64]) -> LengthTable:
    """Estimate the length distribution of an organism from its introns and a prior.

    Parameters
    ----------
    lengths : ndarray of int64
        Lengths of its introns; n of them have the weight n / (n + 50).
    prior : ndarray of float64
        Density of the lengths 1, 2, ..., such as that of :func:`relatives_density`.
    """
    own = _smoothed(lengths[lengths <= prior.size], np.arange(1, prior.size + 1))
    trust = lengths.size / (lengths.size + _ENOUGH)
    return _cut(trust * own + (1 - trust) * prior, None)


def _cut(density: NDArray[np.float64], longest: int | None) -> LengthTable:
    """Return the lengths to consider, of a density of 1, 2, ... bases."""
    cumulative = np.cumsum(density) / density.sum()
    grid = np.arange(1, density.size + 1)
    shortest = max(_FEWEST_BASES, int(grid[np.searchsorted(cumulative, 0.001)]) // 2)
    end = longest or int(_REACH * grid[np.searchsorted(cumulative, 0.99)])
    end = max(shortest, min(end, density.size))
    kept, tail = density[shortest - 1 : end], 1.0 / grid[shortest - 1 : end]
    mixed = (1 - _TAIL) * kept / kept.sum() + _TAIL * tail / tail.sum()
    return LengthTable(shortest, np.log(mixed))


def _smoothed(lengths: NDArray[np.int64], grid: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a smooth density of lengths at whole numbers, which sums to 1, or zeros."""
    if not lengths.size:
        return np.zeros(grid.size)
    logs = np.log(np.maximum(lengths, 1))
    spread = min(float(logs.std()), 0.74 * float(np.subtract(*np.quantile(logs, [0.75, 0.25]))))
    spread = max(spread, 1.0 / np.sqrt(lengths.size))  # few lengths say little about their spread
    width = max(0.05, 0.9 * spread * lengths.size**-0.2)
    low, high = 0.0, float(np.log(grid[-1]))
    points = np.linspace(low, high, max(2, int(_STEPS * (high - low))))
    step = points[1] - points[0]
    counts = np.bincount(
        np.clip(np.rint((logs - low) / step).astype(np.int64), 0, points.size - 1),
        minlength=points.size,
    )
    reach = np.arange(-points.size + 1, points.size) * step
    density = np.convolve(counts, np.exp(-0.5 * (reach / width) ** 2), "valid")
    smooth = np.interp(np.log(grid), points, density) / grid
    return np.asarray(smooth / smooth.sum())


def borrowed(trust: NDArray[np.float64], relatedness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each organism (columns) in the mean of the others for one (rows).

    Parameters
    ----------
    trust : ndarray of float64, shape (T,)
        From 0, where nothing is known of an organism, to 1.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0. One unlike all others borrows from all alike.
    """
    weights = np.maximum(relatedness, 0.0) * trust
    np.fill_diagonal(weights, 0.0)
    weights[~(weights > 0).any(axis=1)] = trust
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
