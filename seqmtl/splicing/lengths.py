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

from seqmtl.splicing.layer import PairLayer
from seqmtl.splicing.model import EXON_LENGTHS

if TYPE_CHECKING:
    from seqmtl.splicing.regions import KnownSites

_MIN_BASES = 4  # of an intron: its two sites
_MIN_LEARNT = 15  # of an intron that no annotation has: the shortest known are those of a ciliate
_PRIOR_INTRONS = 50  # introns of an organism that count as much as all those of its relatives
_FIRST = 0.001  # share of introns that are no longer than what counts as the shortest
_ANY_LENGTH = 0.2  # share of the prior of an organism without labels that relatives do not tell
_FEW = 5  # introns that count as much as the share of relatives' introns that exons follow
_TAIL = 0.02  # share of introns of any length
_REACH = 1.5  # the longest intron in a table, in units of the 99 % quantile
_TABLE = 1_000  # bases of the longest one in any table, since time grows with it
_SCALES = np.array(
    [500.0, 2_000.0, 8_000.0, 32_000.0, 128_000.0]
)  # bases by which tails fall to 1 / e
_BEYOND = 0.002  # least share of the introns that are longer
_FITS = 100  # steps of expectation and maximization
_LONGEST = 100_000  # bases; longer ones count as this
_SHORTEST_EXON = 20  # bases
_STEPS = 64  # grid points per factor e of length


class LengthTable(NamedTuple):
    """Log density of intron lengths; see :class:`seqmtl.splicing.layer.PairLayer`."""

    shortest: int
    introns: NDArray[np.float64]
    tails: NDArray[np.float64]


def annotated_lengths(
    strands: Iterable[KnownSites], *, of_exons: bool = False
) -> NDArray[np.int64]:
    """Return the lengths from true donors to the true acceptors that follow them, or conversely."""
    parts = [np.zeros(0, dtype=np.int64)]
    for sites in strands:
        lengths = np.diff(sites.places)
        is_between = (sites.is_donor[:-1] != of_exons) & (sites.is_donor[1:] == of_exons)
        is_between &= sites.is_true[:-1] & sites.is_true[1:]
        parts.append(lengths[is_between & (lengths >= _MIN_BASES)])
    return np.concatenate(parts)


def length_tables(
    lengths: Mapping[str, NDArray[np.int64]], relatedness: NDArray[np.float64]
) -> dict[str, LengthTable]:
    """Estimate the length distributions of every organism, with those of its relatives.

    Intron lengths are smoothed by a Gaussian kernel on their logarithms. With n introns, an
    estimate from the organism has the weight n / (n + 50), and the mean over its relatives the
    remainder; 2 % are uniform in the logarithm, so that no length is impossible. Up to 1.5 times
    the length that 99 % do not exceed, or 1,000 bases, the density is tabulated as it is; that of
    longer introns is a mixture of geometric ones, of fixed means and the most likely shares.
    Introns shorter than the shortest one that is annotated have none; fewer than 50 tell no
    shortest one, which then is the smallest of the other organisms'.

    Parameters
    ----------
    lengths : mapping of str to ndarray of int64
        Annotated lengths of T organisms, in bases.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0.

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
    edge = min(_LONGEST, 2 * int(every.max()))
    grid = np.arange(1, edge + 1)
    seen = {name: np.minimum(of_name, edge) for name, of_name in lengths.items()}
    many = {
        name: int(of_name.min()) for name, of_name in seen.items() if of_name.size >= _PRIOR_INTRONS
    }
    least = min(many.values(), default=None)
    pooled = _pooled(seen, relatedness, grid)
    return {name: _cut(density, many.get(name, least)) for name, density in pooled.items()}


def exon_densities(
    lengths: Mapping[str, NDArray[np.int64]],
    introns: Mapping[str, NDArray[np.int64]],
    relatedness: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Estimate the densities of exon lengths of 0 to 599 bases, with those of relatives.

    Each adds up to the share of introns that such an exon follows, where the relatives' share
    counts as five introns: most genes of yeast have one intron only, and no such exon. Exons of
    fewer than 20 bases are left out. Where no organism has any, densities are empty.

    Parameters
    ----------
    lengths, introns, relatedness
        As :func:`length_tables` takes them, of exons and of introns.
    """
    seen = {
        name: of_name[(of_name >= _SHORTEST_EXON) & (of_name < EXON_LENGTHS)]
        for name, of_name in lengths.items()
    }
    if not any(of_name.size for of_name in seen.values()):
        return {name: np.zeros(0) for name in lengths}
    n = np.array([introns[name].size for name in seen])
    followed = np.array([of_name.size for of_name in seen.values()])
    relatives = _relative_weights(n / (n + _PRIOR_INTRONS), relatedness) @ (
        followed / np.maximum(n, 1)
    )
    shares = (followed + _FEW * relatives) / (n + _FEW)
    densities = _pooled(seen, relatedness, np.arange(1, EXON_LENGTHS))
    for (name, density), share in zip(densities.items(), shares.tolist(), strict=True):
        density[: _SHORTEST_EXON - 1] = 0.0
        densities[name] = np.append(0.0, share * density / density.sum())
    return densities


def _pooled(
    lengths: Mapping[str, NDArray[np.int64]],
    relatedness: NDArray[np.float64],
    grid: NDArray[np.int64],
) -> dict[str, NDArray[np.float64]]:
    """Return the density of every organism, mixed with that of its relatives."""
    densities = np.array([_smoothed(of_name, grid) for of_name in lengths.values()])
    counts = np.array([of_name.size for of_name in lengths.values()], dtype=np.float64)
    shares = _relative_weights(counts / (counts + _PRIOR_INTRONS), relatedness)
    trust = np.where(counts == counts.sum(), 1.0, counts / (counts + _PRIOR_INTRONS))[:, np.newaxis]
    return dict(zip(lengths, trust * densities + (1 - trust) * (shares @ densities), strict=True))


def _relative_weights(
    trust: NDArray[np.float64], relatedness: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each organism (columns) in the mean of the others for one (rows).

    Parameters
    ----------
    trust : ndarray of float64, shape (T,)
        From 0, for an organism without data, to 1.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0. For one unlike all others, all count the same.
    """
    weights = np.maximum(relatedness, 0.0) * trust
    np.fill_diagonal(weights, 0.0)
    weights[~(weights > 0).any(axis=1)] = trust
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


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
    edge = min(_LONGEST, max(_LONGEST if len(layer.tails) else layer.longest for layer in layers))
    density = np.zeros(edge)
    for layer, share in zip(layers, weights * counts / (counts + _PRIOR_INTRONS), strict=True):
        if share:
            density += share * layer.density(edge)
    return np.asarray(density / density.sum())


def mixed_table(
    lengths: NDArray[np.int64], posteriors: NDArray[np.float64], prior: NDArray[np.float64]
) -> LengthTable:
    """Estimate the length distribution of an organism from its likely introns and a prior.

    The prior counts as much as 50 introns. A fifth of it is uniform in the logarithm up to 100,000
    bases, so that introns may be far longer than those of relatives. None is below 15 bases: in
    repeats, ever shorter ones would be learnt from each other.

    Parameters
    ----------
    lengths, posteriors : ndarray, shape (n,)
        Bases of introns, and their probabilities.
    prior : ndarray of float64
        Density of the lengths 1, 2, ..., such as that of :func:`relatives_density`.
    """
    grid = np.arange(1, _LONGEST + 1)
    density = np.pad(prior, (0, grid.size - prior.size))
    any_length = (np.cumsum(density) >= _FIRST) / grid
    density = (1 - _ANY_LENGTH) * density + _ANY_LENGTH * any_length / any_length.sum()
    n = float(posteriors.sum())
    seen = _smoothed(np.minimum(lengths, grid.size), grid, posteriors)
    return _cut((n * seen + _PRIOR_INTRONS * density) / (n + _PRIOR_INTRONS), at_least=_MIN_LEARNT)


def _cut(
    density: NDArray[np.float64], shortest: int | None = None, at_least: int = _MIN_BASES
) -> LengthTable:
    """Return the table of a density of 1, 2, ... bases, and how it continues.

    The shortest intron is by default half as long as the one that .1 % are shorter than.
    """
    cumulative = np.cumsum(density) / density.sum()
    grid = np.arange(1, density.size + 1)
    if shortest is None:
        shortest = max(at_least, int(grid[np.searchsorted(cumulative, _FIRST)]) // 2)
    end = min(int(_REACH * grid[np.searchsorted(cumulative, 0.99)]), _TABLE, density.size - 1)
    end = max(shortest, end)
    head, tail = density[shortest - 1 : end], 1.0 / grid[shortest - 1 : end]
    shares = _shares_of_tails((1 - _BEYOND) * density[end:] / density.sum())
    mixed = (1 - _TAIL) * head / head.sum() + _TAIL * tail / tail.sum()
    tails = np.column_stack([np.log(shares * -np.expm1(-1 / _SCALES)), 1 / _SCALES])
    return LengthTable(shortest, np.log((1 - shares.sum()) * mixed), tails)


def _shares_of_tails(density: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the most likely shares of the tails in a density of 1, 2, ... bases beyond the table.

    They add up to its sum and what is there at least, of all scales alike. The last length stands
    for longer ones, too.
    """
    edges = np.unique(np.rint(np.geomspace(1, density.size, 500)).astype(np.int64)) - 1
    masses = np.add.reduceat(density, edges)
    survival = np.exp(-np.append(edges, np.inf)[:, np.newaxis] / _SCALES)
    in_bins = survival[:-1] - survival[1:]
    least = np.full(_SCALES.size, _BEYOND / _SCALES.size)
    shares = least + masses.sum() / _SCALES.size
    for _ in range(_FITS):
        shares = least + shares * (in_bins.T @ (masses / (in_bins @ shares)))
    return shares


def _smoothed(
    lengths: NDArray[np.int64], grid: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return a smooth density of lengths at whole numbers, which sums to 1, or zeros."""
    if not lengths.size:
        return np.zeros(grid.size)
    weights = np.ones(lengths.size) if weights is None else weights
    logs, n = np.log(np.maximum(lengths, 1)), float(weights.sum())
    order = np.argsort(logs, kind="stable")
    quartiles = np.interp(
        [0.25, 0.75], (weights[order].cumsum() - 0.5 * weights[order]) / n, logs[order]
    )
    mean = float(weights @ logs) / n
    spread = float(np.sqrt(weights @ (logs - mean) ** 2 / n))
    spread = min(spread, 0.74 * float(quartiles[1] - quartiles[0]))
    spread = max(spread, 1.0 / np.sqrt(n))  # few lengths say little about their spread
    width = max(0.05, 0.9 * spread * n**-0.2)
    low, high = 0.0, float(np.log(grid[-1]))
    points = np.linspace(low, high, max(2, int(_STEPS * (high - low))))
    step = points[1] - points[0]
    counts = np.bincount(
        np.clip(np.rint((logs - low) / step).astype(np.int64), 0, points.size - 1),
        weights,
        minlength=points.size,
    )
    reach = np.arange(-points.size + 1, points.size) * step
    density = np.convolve(counts, np.exp(-0.5 * (reach / width) ** 2), "valid")
    smooth = np.interp(np.log(grid), points, density) / grid
    return np.asarray(smooth / smooth.sum())
