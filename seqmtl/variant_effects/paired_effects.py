"""Changes of the probability of donors, acceptors and exons by alleles, in sight of each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import Genome
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.chain import context_of, to_log_odds
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.variant_effects.alleles import Alleles
from seqmtl.variant_effects.effect_text import EXON
from seqmtl.variant_effects.effects import AlleleScorer, Effects, Haplotypes, Profile, ranges
from seqmtl.variant_effects.exon_effects import compare_exons, delta, exons_of, probability
from seqmtl.variant_effects.neighbourhoods import Neighbourhood, SitePosteriors

_DECIMALS = 6  # of probabilities; farther away, an allele changes them by less


class PairedEffectScorer(AlleleScorer):
    """Scores alleles with the paired model of one organism.

    The chain is run on both haplotypes. Compared are the sites from which an intron can reach the
    windows that overlap the allele, as by :class:`~seqmtl.variant_effects.effects.EffectScorer`;
    scores are the log-odds of the posterior. Exons are between two successive introns, and the
    position of an exon is its first base in reading direction. Windows that cross a contig end have
    no site.

    The chain sees enough bases on either side of these sites for their posteriors to be right
    (:func:`seqmtl.splicing.chain.context_of`), in the same tiles of a contig for every allele, so
    that results do not depend on other alleles.

    In contigs shorter than two introns of median length, such as those of one exon, sites may lack
    their partners, and are scored by the site models alone; there are no introns and no exons.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    organism : str
        Organism of the model.

    Attributes
    ----------
    finder : PairedFinder
        Finds the sites, and runs the chain.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    """

    kinds = (*ENDS, EXON)
    sees_introns = True
    n_records = 64

    def __init__(self, model: PairedModel, organism: str) -> None:
        self.finder = PairedFinder(model, organism)
        layer = self.finder.layer
        shares = np.cumsum(layer.density(layer.span))
        self.shortest_contig = 2 * (1 + int(np.searchsorted(shares, 0.5)))
        windows = max(finder.length for finder in self.finder.finders)
        context = context_of(layer)
        flank = context + windows
        super().__init__(organism, flank=flank, length=2 * flank + 1, turns=(flank, flank))
        self._tile = context // 2
        self._margin = context + 2 * windows

    def _tiles(self, alleles: Alleles, zones: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the contig, the first and the last tile of each zone."""
        starts = zones[:, 0] - alleles.begins
        tiles = starts // self._tile, (starts + zones[:, 1]) // self._tile
        return np.column_stack([alleles.begins, *tiles])

    def _groups(self, alleles: Alleles, zones: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield ranges of alleles in the same tiles."""
        return ranges(self._tiles(alleles, zones))

    def _score(
        self, genome: Genome, alleles: Alleles, haplotypes: Haplotypes, effects: list[Effects]
    ) -> None:
        """Score the alleles of a group of tiles, one by one."""
        changing = np.flatnonzero(haplotypes.zones[:, 1:].any(axis=1)).tolist()
        if not changing:
            return
        begin, *tiles = self._tiles(alleles, haplotypes.zones)[0].tolist()
        contig = genome.codes[begin : int(alleles.ends[0])]
        first, last = tiles[0] * self._tile, (tiles[1] + 1) * self._tile
        neighbourhood = Neighbourhood(
            self.finder,
            contig,
            first - self._margin,
            last + self._margin,
            is_alone=contig.size < self.shortest_contig,
        )
        for i in changing:
            self._score_one(
                neighbourhood,
                haplotypes.one(i),
                [of_signal.rows(i, i + 1) for of_signal in effects],
            )

    def _score_one(
        self, neighbourhood: Neighbourhood, haplotypes: Haplotypes, effects: list[Effects]
    ) -> None:
        """Score one allele."""
        zone = int(haplotypes.starts[0]) - neighbourhood.start
        m, n = haplotypes.zones[0, 1:].tolist()
        first = int(haplotypes.positions[0, 1]) + self._flank
        haplotype_sites = (
            neighbourhood.reference,
            neighbourhood.alternative(zone, zone + m, haplotypes.codes[first : first + n]),
        )
        for k, effects_of_signal in enumerate(effects[:2]):
            strands_and_positions = self._compare(
                haplotypes, self._profile(k, haplotype_sites, haplotypes, zone), effects_of_signal
            )
            assert effects_of_signal.introns is not None
            for c, (strand, _, *windows) in enumerate(strands_and_positions[0].tolist()):
                for h, window in enumerate(windows):
                    if window >= 0:
                        first = window - int(haplotypes.positions[0, h]) - self._flank + zone
                        *ends, p = self._intron(k, strand, first, haplotype_sites[h])
                        if h:
                            ends = [_on_reference(end, zone, m, n) for end in ends]
                        effects_of_signal.introns[0, c, h] = (
                            *(end + neighbourhood.start for end in ends),
                            p,
                        )
        self._compare_exons(haplotype_sites, zone, (m, n), neighbourhood.start, effects[2])

    def _profile(
        self,
        k: int,
        haplotype_sites: tuple[SitePosteriors, SitePosteriors],
        haplotypes: Haplotypes,
        zone: int,
    ) -> Profile:
        """Return probabilities and log-odds by strand and first base of the site."""
        size = haplotypes.codes.size
        P = np.zeros((2, size))
        scores = np.full((2, size), np.nan)
        last = self.finder.site_lengths[k] - 1
        for (sites, posteriors), offset, n in zip(
            haplotype_sites,
            haplotypes.positions[0].tolist(),
            haplotypes.zones[0, 1:].tolist(),
            strict=True,
        ):
            strands = sites.is_reverse.astype(int)
            at = sites.starts + last * strands - zone + self._flank
            rows = (sites["signals"] == k) & (at >= 0) & (at < n + 2 * self._flank)
            rows_and_columns = strands[rows], at[rows] + offset
            log_p = posteriors.sites[rows]
            P[rows_and_columns] = np.round(np.exp(log_p), _DECIMALS)
            scores[rows_and_columns] = to_log_odds(log_p)
        return P, scores

    def _intron(
        self, k: int, strand: int, first: int, candidates: SitePosteriors
    ) -> tuple[float, float, float]:
        """Return start, end and probability of the most probable intron of a site; NaN if none.

        `first` is the first base of the site in reading direction; start and end count alike.
        """
        sites, posteriors = candidates
        start = first - (self.finder.site_lengths[k] - 1) * strand
        is_site = (sites.starts == start) & (sites.is_reverse == strand)
        is_site &= sites["signals"] == k
        introns = np.flatnonzero(is_site[posteriors.introns].any(axis=1))
        if not introns.size:
            return np.nan, np.nan, np.nan
        best = introns[posteriors.intron_values[introns].argmax()]
        begin, end = sites["places"][posteriors.introns[best]].tolist()
        return begin, end, float(np.exp(posteriors.intron_values[best]))

    def _compare_exons(
        self,
        haplotype_sites: tuple[SitePosteriors, SitePosteriors],
        zone: int,
        sizes: tuple[int, int],
        origin: int,
        effects: Effects,
    ) -> None:
        """Write the effects on exons; positions count from `origin`."""
        low = zone - self._flank
        highs = [zone + size + self._flank for size in sizes]
        before, after = (
            exons_of(candidates, low, high)
            for candidates, high in zip(haplotype_sites, highs, strict=True)
        )
        changes = compare_exons(before, after, zone, *sizes)
        assert effects.introns is not None
        for c, sign in enumerate((1, -1)):
            best = max(changes, key=lambda change: sign * delta(change), default=None)
            if best is None or sign * delta(best) <= 0:
                continue
            (first, last, strand), *values = best
            effects.changes[0, c], effects.strands[0, c] = sign * delta(best), strand
            effects.positions[0, c] = origin + (last if strand else first)
            effects.probabilities[0, c] = [probability(log_p) for log_p in values]
            effects.scores[0, c] = to_log_odds(np.array(values))
            for h, log_p in enumerate(values):
                if log_p == log_p:
                    effects.introns[0, c, h] = origin + first, origin + last + 1, np.exp(log_p)


def _on_reference(position: float, zone: int, m: int, n: int) -> float:
    """Return the position on the reference of one on an alternative with n bases instead of m."""
    return position - n + m if position >= zone + n else min(position, zone + m)
