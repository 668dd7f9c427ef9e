"""Distributions of the lengths of introns, and of the exons between them.

Datasets keep annotated sites, not transcripts. A donor and the annotated site that follows it on
its strand are an intron if that site is an acceptor; an acceptor and a following donor are an exon.
This needs no annotation file, and holds for all transcripts that are spliced in one way. Where
sites are alternative, it takes the shortest of the overlapping introns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.pairs.regions import KnownSites

#: Fewest bases of an exon between two introns.
LEAST_EXON = 4
_FEWEST_BASES = 4  # of an intron: its two sites
_ENOUGH = 50  # introns of an organism that count as much as all those of its relatives
_TAIL = 0.02  # share of introns of any length
_REACH = 1.5  # the longest intron considered, in units of the 99 % quantile
_LONGEST = 500_000
_EXON_REACH = 1000  # bases; exons beyond are not told from the space between genes
_MOST = 6.0  # bound on the log weight of an exon
_STEPS = 64  # grid points per factor e of length


class Lengths(NamedTuple):
    """Lengths of the introns, and of the spaces from an intron to the next, of one organism."""

    introns: NDArray[np.int64]
    spaces: NDArray[np.int64]


class LengthTables(NamedTuple):
    """Log densities and weights of lengths; see :class:`seqmtl.models.paired.PairLayer`."""

    shortest: int
    introns: NDArray[np.float64]
    exons: NDArray[np.float64]


def annotated_lengths(strands: Iterable[KnownSites]) -> Lengths:
    """Return the lengths between neighbouring annotated sites, both true sites of a dataset."""
    found: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
    for sites in strands:
        lengths = np.diff(sites.places)
        is_true = sites.is_true[:-1] & sites.is_true[1:]
        first, second = sites.is_donor[:-1], sites.is_donor[1:]
        found[0].append(lengths[is_true & first & ~second & (lengths >= _FEWEST_BASES)])
        found[1].append(lengths[is_true & ~first & second & (lengths >= LEAST_EXON)])
    empty = np.zeros(0, dtype=np.int64)
    return Lengths(*(np.concatenate([empty, *parts]) for parts in found))


def length_tables(
    lengths: Mapping[str, Lengths],
    relatedness: NDArray[np.float64],
    longest: int | None = None,
) -> dict[str, LengthTables]:
    """Estimate the length distributions of every organism, with those of its relatives.

    Intron lengths are smoothed by a Gaussian kernel on their logarithms. With n introns, an
    organism's own density has the weight n / (n + 50), and the mean over its relatives the rest;
    2 % are uniform in the logarithm up to the longest intron considered, so that no length is
    impossible.

    The weight of an exon length is its density over that of introns that follow each other at
    random, at the rate at which they do beyond 1,000 bases.

    Parameters
    ----------
    lengths : mapping of str to Lengths
        Annotated lengths of T organisms.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0.
    longest : int, optional
        Bases of the longest intron considered. Default: for each organism, 1.5 times the length
        that 99 % of its introns do not exceed.

    Raises
    ------
    ValueError
        If no organism has an intron.
    """
    every = np.concatenate([own.introns for own in lengths.values()])
    if not every.size:
        raise ValueError(
            "the annotation has no introns: no annotated donor is followed by an acceptor; "
            "lengths of introns are needed"
        )
    edge = longest or min(_LONGEST, 2 * int(every.max()))
    if longest is not None and longest < int(every.min()):
        raise ValueError(
            f"the longest intron considered must reach the annotated ones, of {every.min():,} "
            f"bases or more, got {longest:,}"
        )
    grid = np.arange(1, edge + 1)
    own = np.array([_smoothed(lengths[name].introns, grid) for name in lengths])
    counts = np.array([lengths[name].introns.size for name in lengths], dtype=np.float64)
    shares = _borrowed(counts, relatedness)
    tables = {}
    for t, name in enumerate(lengths):
        trust = counts[t] / (counts[t] + _ENOUGH) if (counts > 0).sum() > 1 else 1.0
        density = trust * own[t] + (1 - trust) * (shares[t] @ own)
        cumulative = np.cumsum(density) / density.sum()
        shortest = max(_FEWEST_BASES, int(grid[np.searchsorted(cumulative, 0.001)]) // 2)
        end = longest or int(_REACH * grid[np.searchsorted(cumulative, 0.99)])
        end = max(shortest, min(end, edge))
        kept, tail = density[shortest - 1 : end], 1.0 / grid[shortest - 1 : end]
        mixed = (1 - _TAIL) * kept / kept.sum() + _TAIL * tail / tail.sum()
        tables[name] = LengthTables(shortest, np.log(mixed), exon_weights(lengths[name].spaces))
    return tables


def exon_weights(spaces: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log weights of the lengths of exons; all 0 where there are too few to tell."""
    far = spaces[spaces >= _EXON_REACH]
    weights = np.zeros(_EXON_REACH)
    if far.size < _ENOUGH or far.size == spaces.size:
        return weights
    grid = np.arange(_EXON_REACH)
    rate = 1.0 / max(1.0, float(far.mean()) - _EXON_REACH)
    random = far.size * rate * np.exp(rate * (_EXON_REACH - grid))
    wide = 3 * _EXON_REACH  # the smoothing loses density at the edge
    near = spaces[spaces < wide]
    seen = near.size * _smoothed(near, np.arange(1, wide + 1))[:_EXON_REACH]
    added = _ENOUGH / _EXON_REACH
    return np.clip(np.log((seen + added) / (random + added)), -_MOST, _MOST)


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


def _borrowed(counts: NDArray[np.float64], relatedness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each organism's introns (columns) in the mean for another (rows)."""
    weights = np.maximum(relatedness, 0.0) * (counts / (counts + _ENOUGH))
    np.fill_diagonal(weights, 0.0)
    lonely = ~(weights > 0).any(axis=1)
    weights[lonely] = counts / (counts + _ENOUGH)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
