"""Draw decoys from a genome by stratum: split, inside or outside genes, consensus sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.config import DecoyRules
from seqmtl.datasets.splits import Regions
from seqmtl.datasets.true_sites import SiteResolver, TrueSites, word_numbers
from seqmtl.io.dataset import SPLITS
from seqmtl.sequences.intervals import interval_mask, interval_values, merge_intervals
from seqmtl.sequences.sites import Sites, clean_windows

#: Reasons why a position with the consensus is not a candidate, in the order of checks.
NOT_CLEAN = "candidate whose window has other letters than A, C, G, T or runs over a contig's end"
IS_SITE = "candidate that is an annotated site"
IS_MASKED = "candidate in a masked region"
CROSSES = "candidate whose window is across a border between splits"
NEAR_SITE = "candidate near an annotated site"

_BLOCK = 1 << 20  # bases: some arrays of 1 to 8 MiB; a plain choice

#: No candidates. Candidates have the columns strata, and is_near: counted, but never drawn.
_NONE = Sites(
    np.zeros(0, np.int64),
    np.zeros(0, np.bool_),
    {"strata": np.zeros(0, np.int16), "is_near": np.zeros(0, np.bool_)},
)


@dataclass
class Decoys:
    """Decoys drawn from a genome.

    Attributes
    ----------
    windows : Sites
        Their windows in the genome's buffer; the column strata has the stratum of each, see
        :class:`DecoySampler`.
    population : ndarray of int64, shape (n_strata,)
        Number of candidates in each stratum, including those near a site.
    excluded : dict of str to int
        Number of excluded positions with the consensus, by reason.
    n_moved, n_missing : int
        Decoys drawn from another stratum than planned, as that had too few candidates, and
        decoys that could not be drawn at all.
    """

    windows: Sites
    population: NDArray[np.int64]
    excluded: dict[str, int] = field(default_factory=dict)
    n_moved: int = 0
    n_missing: int = 0

    def weights(self, strata: NDArray[np.int16]) -> NDArray[np.float64]:
        """Return the number of candidates that each of some decoys represents.

        This is the number of candidates in its stratum divided by the number of decoys. Candidates
        of strata without decoys are distributed over the others of their split, in proportion, so
        that the weights of a split's decoys sum to its number of candidates.
        """
        drawn = np.bincount(strata, minlength=self.population.size)
        shared = np.where(drawn, self.population, 0).reshape(len(SPLITS), -1)
        total = self.population.reshape(shared.shape).sum(axis=1)
        factor = (total / np.maximum(shared.sum(axis=1), 1)).repeat(shared.shape[1])
        return (factor * self.population / np.maximum(drawn, 1))[strata]


class DecoySampler:
    """Draw decoys among the candidates of a genome.

    Parameters
    ----------
    resolver : SiteResolver
        Genome, window and consensus.
    true_sites : TrueSites
        True sites and all annotated positions.
    genes : list of two arrays of int64, shape (n, 2)
        Disjoint, increasing intervals of the buffer covered by genes with sites on the plus
        and on the minus strand.
    regions : Regions
        Regions of the splits.
    rules : DecoyRules
        Number and origin of the decoys.
    masked : ndarray of int64, shape (n, 2)
        Disjoint, increasing intervals of the buffer without a candidate.
    """

    def __init__(
        self,
        resolver: SiteResolver,
        true_sites: TrueSites,
        genes: list[NDArray[np.int64]],
        regions: Regions,
        rules: DecoyRules,
        masked: NDArray[np.int64],
    ) -> None:
        self.resolver = resolver
        self.sites = true_sites.sites
        self.genes = genes
        self.masked = masked
        self.regions = regions
        self.rules = rules
        self.length = resolver.window
        # strata by split, by whether it is in a gene with sites on its strand, and by consensus
        self.shape = (len(SPLITS), 2, len(resolver.words))
        strands = np.array([False, True])
        self.offsets = resolver.site.offsets(strands, self.length).tolist()
        all_sites = true_sites.all_sites
        self.site_windows = [
            np.sort(all_sites.starts[all_sites.is_reverse == strand] - self.offsets[strand])
            for strand in (0, 1)
        ]
        near = resolver.window_starts(all_sites.take(~all_sites["is_weak"]))
        self.clearance_zones = merge_intervals(
            np.stack([near - rules.clearance + 1, near + rules.clearance], axis=1)
        )
        self.region_bounds = np.stack([regions.starts, regions.ends - self.length + 1], axis=1)
        self.excluded = dict.fromkeys((NOT_CLEAN, IS_SITE, IS_MASKED, CROSSES), 0)

    def draw(self, rng: np.random.Generator) -> Decoys:
        """Draw decoys in two passes over the genome; memory is proportional to their number."""
        population, free = _count_strata(self._candidates(), math.prod(self.shape))
        excluded = {**self.excluded, NEAR_SITE: int((population - free).sum())}
        n_to_draw, n_moved, n_missing = self._plan(free)
        windows = _draw(self._candidates(), free, n_to_draw, rng)
        return Decoys(windows, population, excluded, n_moved, n_missing)

    def _plan(self, free: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, int]:
        """Return the number to draw from each stratum, and how many were moved and are missing."""
        splits = self.regions.of_windows(self.resolver.window_starts(self.sites), self.length)
        shape = self.shape
        available = free.reshape(shape)
        n_to_draw = np.zeros(shape, dtype=np.int64)
        n_missing = n_shortfall = 0
        has_genes = any(len(genes) for genes in self.genes)
        in_genes = self.rules.in_genes if has_genes else 0.0
        for split in range(shape[0]):
            consensus = self.sites["consensus"][splits == split]
            total = round(self.rules.ratio * consensus.size)
            if not total:
                continue
            if self.resolver.site.consensus:
                # so that a model learns how common the sites of each dinucleotide are
                amounts = available[split].sum(axis=0)
            else:
                amounts = np.bincount(consensus, minlength=shape[2])
            composition = amounts / max(1, amounts.sum())
            plan = _round(total * np.outer([1 - in_genes, in_genes], composition))
            taken = np.minimum(plan, available[split])
            n_shortfall += int((plan - taken).sum())
            for index in range(shape[2]):  # first the same consensus inside or outside genes
                n_short = int(plan[:, index].sum() - taken[:, index].sum())
                for in_gene in (0, 1):
                    n_added = min(
                        n_short, int(available[split, in_gene, index] - taken[in_gene, index])
                    )
                    taken[in_gene, index] += n_added
                    n_short -= n_added
            n_to_draw[split] = _fill(taken, available[split], int(plan.sum()))
            n_missing += int(plan.sum() - n_to_draw[split].sum())
        return n_to_draw.ravel(), n_shortfall - n_missing, n_missing

    def _candidates(self) -> Iterator[Sites]:
        """Yield the candidates, on the plus and minus strand in turn.

        These are all positions with the consensus that are not annotated sites and whose window
        is clean and inside the region of one split.
        """
        genome = self.resolver.genome
        words, lead = self.resolver.words, self.resolver.lead
        length = self.length
        self.excluded = dict.fromkeys(self.excluded, 0)
        first, last = genome.span
        first = first - length + 1  # windows beyond an end are counted
        for begin in range(first, last, _BLOCK):
            n = min(_BLOCK, last - begin)
            clean = clean_windows(genome.codes[begin : begin + n + length - 1], length)
            near = interval_mask(self.clearance_zones, begin, n)
            split = interval_values(self.region_bounds, self.regions.splits, begin, n)
            for strand in (0, 1):
                site = begin + self.offsets[strand]
                first_letter = site - (lead if strand == 0 else 0)
                codes = genome.codes[first_letter : first_letter + n + len(words[0]) - 1]
                consensus_at = word_numbers(codes, words, strand == 1)
                positions = np.flatnonzero(consensus_at >= 0)
                is_site = np.zeros(n, dtype=bool)
                windows = self.site_windows[strand]
                bounds = np.searchsorted(windows, [begin, begin + n])
                is_site[windows[slice(*bounds)] - begin] = True
                positions = self._without(positions, ~clean[positions], NOT_CLEAN)
                positions = self._without(positions, is_site[positions], IS_SITE)
                positions = self._without(
                    positions, interval_mask(self.masked, site, n)[positions], IS_MASKED
                )
                positions = self._without(positions, split[positions] < 0, CROSSES)
                in_gene = interval_mask(self.genes[strand], site, n)[positions]
                strata = (split[positions].astype(np.int16) * 2 + in_gene) * self.shape[2]
                strata += consensus_at[positions]
                columns = {"strata": strata, "is_near": near[positions]}
                yield Sites(begin + positions, np.full(positions.size, strand == 1), columns)

    def _without(
        self, positions: NDArray[np.int64], is_out: NDArray[np.bool_], reason: str
    ) -> NDArray[np.int64]:
        """Remove candidates, and count them."""
        self.excluded[reason] += int(is_out.sum())
        return positions[~is_out]


def _round(amounts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round and preserve the sum, by rounding up the largest remainders."""
    floors = np.floor(amounts).astype(np.int64)
    n_up = round(float(amounts.sum())) - int(floors.sum())
    order = np.argsort(-(amounts - floors).ravel(), kind="stable")[:n_up]
    floors.ravel()[order] += 1
    return floors


def _fill(taken: NDArray[np.int64], available: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Distribute the remainder of a total over the available room, in proportion."""
    remaining = available - taken
    n_short = min(total - int(taken.sum()), int(remaining.sum()))
    if n_short <= 0:
        return taken
    n_added = _round(n_short * (remaining / remaining.sum()))
    return taken + np.minimum(n_added, remaining)


def _count_strata(
    candidates: Iterator[Sites], n_strata: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of candidates in each stratum, and how many of them may be drawn."""
    population, free = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64)
    for block in candidates:
        population += np.bincount(block["strata"], minlength=n_strata)
        free += np.bincount(block["strata"][~block["is_near"]], minlength=n_strata)
    return population, free


def _draw(
    candidates: Iterator[Sites],
    free: NDArray[np.int64],
    n_to_draw: NDArray[np.int64],
    rng: np.random.Generator,
) -> Sites:
    """Draw uniformly, without replacement; memory is proportional to the number drawn.

    Parameters
    ----------
    candidates : iterator of Sites
        The same candidates that were counted.
    free, n_to_draw : ndarray of int64, shape (n_strata,)
        Available candidates per stratum, see :func:`_count_strata`, and how many to draw.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    Sites
        The candidates drawn, in their order.
    """
    ranks = [_draw_ranks(int(n), int(k), rng) for n, k in zip(free, n_to_draw, strict=True)]
    # ranks[s]: which of the free candidates of stratum s are drawn, in their order
    n_passed = np.zeros(free.size, dtype=np.int64)
    drawn = [_NONE]
    for block in candidates:
        strata = block["strata"]
        rows = np.flatnonzero(~block["is_near"])
        order = rows[np.argsort(strata[rows], kind="stable")]
        counts = np.bincount(strata[rows], minlength=n_passed.size)
        ends = np.cumsum(counts)
        chosen = []
        for stratum in np.flatnonzero(counts):
            drawn_ranks, before = ranks[stratum], n_passed[stratum]
            low, high = np.searchsorted(drawn_ranks, [before, before + counts[stratum]])
            if low < high:
                chosen.append(
                    order[ends[stratum] - counts[stratum] + drawn_ranks[low:high] - before]
                )
        n_passed += counts
        if chosen:
            drawn.append(block.take(np.sort(np.concatenate(chosen))))
    return Sites.join(drawn)


def _draw_ranks(total: int, n_to_draw: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw distinct numbers, sorted, in memory proportional to their count.

    Parameters
    ----------
    total : int
        Upper bound of the numbers, exclusive.
    n_to_draw : int
        How many to draw, at most `total`.
    rng : numpy.random.Generator
        Random generator.
    """
    if 2 * n_to_draw > total:
        return np.sort(rng.permutation(total)[:n_to_draw])
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < n_to_draw:
        added = rng.integers(total, size=n_to_draw - drawn.size + n_to_draw // 8 + 8)
        drawn = np.unique(np.concatenate([drawn, added]))
    surplus = rng.permutation(drawn.size)[: drawn.size - n_to_draw]
    return np.delete(drawn, surplus)
