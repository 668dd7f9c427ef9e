"""Training, validation and test regions of a genome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.config import NamedSplits, SplitRules
from seqmtl.io.dataset import SPLITS
from seqmtl.sequences.genome import Genome, unknown_contig

_MIN_CONTIGS = 5
_MIN_BLOCKS = 20
_MIN_BLOCK_LENGTH = 1000
_TOLERANCE = 0.5


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of a genome, each belonging to one split, in the genome's buffer.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (n,)
        Bounds of the regions, increasing and disjoint; each is within a contig.
    splits : ndarray of int8, shape (n,)
        Index into :data:`seqmtl.io.dataset.SPLITS`.
    by : str
        How they were made.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    splits: NDArray[np.int8]
    by: str

    def of_windows(self, starts: NDArray[np.int64], length: int) -> NDArray[np.int8]:
        """Return the split of each window, or -1 if it is not inside one region."""
        region = np.maximum(np.searchsorted(self.starts, starts, side="right") - 1, 0)
        inside = (starts >= self.starts[region]) & (starts + length <= self.ends[region])
        return np.where(inside, self.splits[region], np.int8(-1))


def make_regions(
    genome: Genome,
    sites: NDArray[np.int64],
    rules: SplitRules,
    named: NamedSplits | None,
    rng: np.random.Generator,
) -> Regions:
    """Divide a genome into regions, each assigned to a split.

    Contigs or blocks are assigned in decreasing order of their number of sites, in random order
    among similar ones, each to the split that lacks most of its share. Those without sites are
    assigned at random in proportion to the shares.

    Parameters
    ----------
    genome : Genome
        Genome.
    sites : ndarray of int64
        Positions of the true sites in the genome's buffer.
    rules : SplitRules
        Unit of assignment, and the shares.
    named : NamedSplits, optional
        Contigs of "valid" and "test"; all others are for training.
    rng : numpy.random.Generator
        Random generator.

    Raises
    ------
    ValueError
        If a named contig is not in the genome, or is named twice.
    """
    contig_bounds = (genome.starts, genome.starts + genome.lengths)
    if named is not None:
        return _join(*contig_bounds, _by_name(genome, named), "names")
    shares = np.array([1 - rules.valid - rules.test, rules.valid, rules.test])
    if rules.by != "blocks":
        counts = _count(*contig_bounds, sites)
        splits = _assign(counts, shares, rng)
        if rules.by == "contigs" or _is_fair(counts, splits, shares):
            return _join(*contig_bounds, splits, "contigs")
    size = min(rules.block, max(genome.n_bases // _MIN_BLOCKS, _MIN_BLOCK_LENGTH))
    starts = np.concatenate(
        [np.arange(a, b, size) for a, b in zip(*(x.tolist() for x in contig_bounds), strict=True)]
    )
    contig_ends = contig_bounds[1][genome.contigs.contig_of(starts)]
    ends = np.minimum(starts + size, contig_ends)
    splits = _assign(_count(starts, ends, sites), shares, rng)
    return _join(starts, ends, splits, "blocks")


def _count(
    starts: NDArray[np.int64], ends: NDArray[np.int64], sites: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the sites in each interval."""
    ordered = np.sort(sites)
    return np.searchsorted(ordered, ends) - np.searchsorted(ordered, starts)


def _by_name(genome: Genome, named: NamedSplits) -> NDArray[np.int8]:
    splits = np.zeros(len(genome), dtype=np.int8)
    for name, contigs in vars(named).items():
        for contig in contigs:
            if contig not in genome:
                raise ValueError(unknown_contig([contig], genome.names))
            if splits[genome.index(contig)]:
                raise ValueError(f"a contig must be named in one split, got {contig!r} in two")
            splits[genome.index(contig)] = SPLITS.index(name)
    return splits


def _assign(
    counts: NDArray[np.int64], shares: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int8]:
    """Assign units to splits so that each has its share of the counts."""
    splits = rng.choice(len(shares), size=counts.size, p=shares).astype(np.int8)
    order = rng.permutation(counts.size)
    similar = np.floor(np.log2(np.maximum(counts, 1)))
    order = order[np.argsort(-similar[order], kind="stable")]
    deficits = (shares * counts.sum()).tolist()
    for unit in order[counts[order] > 0].tolist():
        chosen = max(range(len(deficits)), key=deficits.__getitem__)
        splits[unit] = chosen
        deficits[chosen] -= int(counts[unit])
    return splits


def _is_fair(
    counts: NDArray[np.int64], splits: NDArray[np.int8], shares: NDArray[np.float64]
) -> bool:
    """Return whether enough contigs have sites, and all splits are close to their shares."""
    if (counts > 0).sum() < _MIN_CONTIGS:
        return False
    counts_of_splits = np.bincount(splits, weights=counts, minlength=shares.size)
    targets = shares * counts.sum()
    return bool((np.abs(counts_of_splits - targets) <= _TOLERANCE * targets).all())


def _join(
    starts: NDArray[np.int64], ends: NDArray[np.int64], splits: NDArray[np.int8], by: str
) -> Regions:
    """Merge adjacent regions of the same split."""
    is_first = np.ones(starts.size, dtype=bool)
    is_first[1:] = (splits[1:] != splits[:-1]) | (starts[1:] != ends[:-1])
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], starts.size) - 1
    return Regions(starts[first], ends[last], splits[first], by)
