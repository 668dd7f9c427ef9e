"""Draw decoys from a genome by stratum: split, inside genes or not, and word at the site."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seqmtl.dataset.config import SPLITS, DecoyRules
from seqmtl.dataset.splits import Regions
from seqmtl.dataset.true_sites import Finder, TrueSites, word_codes
from seqmtl.sequences.candidates import clean_windows, count_strata, draw, memory_blocks
from seqmtl.sequences.intervals import interval_mask, interval_values, merge_intervals
from seqmtl.sequences.sites import Sites

#: Reasons why a position with the consensus is not a candidate, in the order of checks.
NOT_CLEAN = "candidate whose window has other letters than A, C, G, T or runs over a contig's end"
IS_SITE = "candidate that is an annotated site"
IS_MASKED = "candidate in a masked region"
CROSSES = "candidate whose window is across a border between splits"
NEAR = "candidate near an annotated site"
AWAY = "candidate away from the introns that reads show"


@dataclass
class Decoys:
    """Decoys drawn from a genome.

    Attributes
    ----------
    windows : Sites
        Their windows in the genome's buffer; the column strata has the stratum of each, see
        :class:`Sampler`.
    population : ndarray of int64, shape (n_strata,)
        Number of candidates in each stratum, including those near a site.
    excluded : dict of str to int
        Number of excluded positions with the consensus, by reason.
    n_moved, n_lacking : int
        Decoys drawn from another stratum than planned, as that had too few candidates, and
        decoys that could not be drawn at all.
    """

    windows: Sites
    population: NDArray[np.int64]
    excluded: dict[str, int] = field(default_factory=dict)
    n_moved: int = 0
    n_lacking: int = 0

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


class Sampler:
    """Finds the candidates of a genome and draws decoys.

    Parameters
    ----------
    finder : Finder
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
    within : ndarray of int64, shape (n, 2), optional
        Disjoint, increasing intervals of the buffer with the sites of all decoys.
    masked : ndarray of int64, shape (n, 2), optional
        Such intervals without a candidate.
    """

    def __init__(
        self,
        finder: Finder,
        true_sites: TrueSites,
        genes: list[NDArray[np.int64]],
        regions: Regions,
        rules: DecoyRules,
        within: NDArray[np.int64] | None = None,
        masked: NDArray[np.int64] | None = None,
    ) -> None:
        self.finder, self.sites, self.genes = finder, true_sites.sites, genes
        self.masked = np.zeros((0, 2), dtype=np.int64) if masked is None else masked
        self.regions, self.rules, self.within = regions, rules, within
        self.length = finder.window
        # strata by split, by whether it is in a gene with sites on its strand, and by consensus
        self.shape = (len(SPLITS), 2, len(finder.consensus.names))
        site = finder.site
        # distance from the window start to the site on the forward strand, by strand
        self.offsets = (site.offset, self.length - site.length - site.offset)
        all_sites = true_sites.all_sites
        self.known_windows = [
            np.sort(all_sites.starts[all_sites.is_reverse == strand] - self.offsets[strand])
            for strand in (0, 1)
        ]
        near = finder.window_starts(all_sites.take(~all_sites["is_weak"]))
        self.near = merge_intervals(
            np.stack([near - rules.clearance + 1, near + rules.clearance], axis=1)
        )
        self.inside = np.stack([regions.starts, regions.ends - self.length + 1], axis=1)
        self.excluded = dict.fromkeys((NOT_CLEAN, IS_SITE, IS_MASKED, CROSSES, AWAY), 0)

    def draw(self, rng: np.random.Generator) -> Decoys:
        """Draw decoys in two passes over the genome; memory is proportional to their number."""
        population, free = count_strata(self._candidates(), math.prod(self.shape))
        n_near = int((population - free).sum()) - self.excluded[AWAY]
        excluded = {**self.excluded, NEAR: n_near}
        wanted, n_moved, n_lacking = self._plan(free)
        windows = draw(self._candidates(), free, wanted, rng)
        return Decoys(windows, population, excluded, n_moved, n_lacking)

    def _plan(self, free: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, int]:
        """Return the number to draw from each stratum, and how many were moved and are lacking."""
        splits = self.regions.of_windows(self.finder.window_starts(self.sites), self.length)
        shape = self.shape
        room = free.reshape(shape)
        wanted = np.zeros(shape, dtype=np.int64)
        n_lacking = n_short = 0
        has_genes = any(len(genes) for genes in self.genes)
        in_genes = self.rules.in_genes if has_genes else 0.0
        for split in range(shape[0]):
            consensus = self.sites["consensus"][splits == split]
            total = round(self.rules.ratio * consensus.size)
            if not total:
                continue
            if (
                self.finder.consensus.sequences
            ):  # so that a model learns how common each dinucleotide's sites are
                amounts = room[split].sum(axis=0)
            else:
                amounts = np.bincount(consensus, minlength=shape[2])
            composition = amounts / max(1, amounts.sum())
            plan = _round(total * np.outer([1 - in_genes, in_genes], composition))
            taken = np.minimum(plan, room[split])
            n_short += int((plan - taken).sum())
            for word in range(shape[2]):  # first the same consensus inside or outside genes
                lack = int(plan[:, word].sum() - taken[:, word].sum())
                for side in (0, 1):
                    more = min(lack, int(room[split, side, word] - taken[side, word]))
                    taken[side, word] += more
                    lack -= more
            wanted[split] = _fill(taken, room[split], int(plan.sum()))
            n_lacking += int(plan.sum() - wanted[split].sum())
        return wanted.ravel(), n_short - n_lacking, n_lacking

    def _candidates(self) -> Iterator[Sites]:
        """Yield the candidates, on the plus and minus strand in turn.

        These are all positions with the consensus that are not annotated sites and whose window
        is clean and inside the region of one split.
        """
        genome, consensus, length = self.finder.genome, self.finder.consensus, self.length
        self.excluded = dict.fromkeys(self.excluded, 0)
        first, last = genome.span
        first = first - length + 1  # windows beyond an end are counted
        for begin, n in memory_blocks(first, last):
            clean = clean_windows(genome.codes[begin : begin + n + length - 1], length)
            near = interval_mask(self.near, begin, n)
            split = interval_values(self.inside, self.regions.splits, begin, n)
            for strand in (0, 1):
                site = begin + self.offsets[strand]
                word_start = site - (consensus.lead if strand == 0 else 0)
                codes = genome.codes[word_start : word_start + n + consensus.width - 1]
                consensus_at = consensus.numbers(strand == 1)[word_codes(codes, consensus.width, n)]
                positions = np.flatnonzero(consensus_at >= 0)
                is_site = np.zeros(n, dtype=bool)
                windows = self.known_windows[strand]
                near_here = np.searchsorted(windows, [begin, begin + n])
                is_site[windows[slice(*near_here)] - begin] = True
                positions = self._without(positions, ~clean[positions], NOT_CLEAN)
                positions = self._without(positions, is_site[positions], IS_SITE)
                positions = self._without(
                    positions, interval_mask(self.masked, site, n)[positions], IS_MASKED
                )
                positions = self._without(positions, split[positions] < 0, CROSSES)
                in_gene = interval_mask(self.genes[strand], site, n)[positions]
                numbers = (split[positions].astype(np.int16) * 2 + in_gene) * self.shape[2]
                is_out = near[positions]
                if self.within is not None:
                    is_away = ~(is_out | interval_mask(self.within, site, n)[positions])
                    self.excluded[AWAY] += int(is_away.sum())
                    is_out = is_out | is_away
                columns = {"strata": numbers + consensus_at[positions], "is_near": is_out}
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
    lack = round(float(amounts.sum())) - int(floors.sum())
    order = np.argsort(-(amounts - floors).ravel(), kind="stable")[:lack]
    floors.ravel()[order] += 1
    return floors


def _fill(taken: NDArray[np.int64], room: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Distribute the remainder of a total over the available room, in proportion."""
    left = room - taken
    lack = min(total - int(taken.sum()), int(left.sum()))
    if lack <= 0:
        return taken
    more = _round(lack * (left / left.sum()))
    return taken + np.minimum(more, left)
