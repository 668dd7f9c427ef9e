"""Changes of the probability of donors and acceptors by alleles, in sight of their partners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.models.paired import ENDS, PairedModel
from seqmtl.pairs import PairedFinder, Posteriors
from seqmtl.pairs.chain import to_log_odds
from seqmtl.sequences.sites import Sites
from seqmtl.variants.effects import AlleleScorer, Effects, Haplotypes, Profile

_DECIMALS = 6  # of probabilities; farther away, an allele changes them by less
_LEAST_INTRON = 0.01  # probability


class _Weighed(NamedTuple):
    """What the chain makes of a haplotype, and where it begins among all."""

    sites: Sites
    posteriors: Posteriors
    origin: int


class PairedEffectScorer(AlleleScorer):
    """Scores alleles with the paired model of one organism.

    The chain is run on both haplotypes, with as much around the sites that are compared as a scan
    sees. Compared are the sites from which an intron can reach the windows that overlap the allele,
    as by :class:`~seqmtl.variants.effects.EffectScorer`; scores are the log-odds of the posterior.
    The probabilities of the reference are those of a scan: windows that cross a contig end have no
    site.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    organism : str
        Organism of the model.
    distance : int, optional
        Consider only sites within this many bases of the changed bases.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    ValueError
        If `distance` is negative.
    """

    kinds, sees_introns, n_records = ENDS, True, 64

    def __init__(self, model: PairedModel, organism: str, *, distance: int | None = None) -> None:
        self._finder = PairedFinder(model, organism)
        windows = max(finder.length for finder in self._finder.finders)
        reach = min(self._finder.layer.span, self._finder.margin) + windows
        flank = self._finder.margin + reach
        length, turns = 2 * flank + 1, (flank, flank)
        super().__init__(organism, distance, flank=flank, length=length, turns=turns, reach=reach)

    def _groups(self, zones: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield each allele that changes a base."""
        changing = np.flatnonzero(zones[:, 1:].any(axis=1))
        return ((i, i + 1) for i in changing.tolist())

    def _score(self, haplotypes: Haplotypes, effects: list[Effects]) -> None:
        """Score one allele."""
        first, second = haplotypes.places[0].tolist()
        bounds = ((first, second), (second, haplotypes.codes.size))
        weighed = [self._weigh(haplotypes, *own) for own in bounds]
        for k, own in enumerate(effects):
            profile = self._profile(k, weighed, haplotypes.codes.size)
            found = self._compare(haplotypes, profile, own)
            assert own.introns is not None
            for c, (strand, _, *windows) in enumerate(found[0].tolist()):
                for h, window in enumerate(windows):
                    if window >= 0:
                        best = self._intron(k, strand, window, weighed[h])
                        own.introns[0, c, h] = self._on_reference(best, haplotypes, h)

    def _weigh(self, haplotypes: Haplotypes, begin: int, end: int) -> _Weighed:
        """Run the chain on a haplotype without what is beyond the contig."""
        inside = haplotypes.inside[begin:end]
        first, size = int(inside.argmax()), int(np.count_nonzero(inside))
        codes = haplotypes.codes[begin + first : begin + first + size]
        found = self._finder.weigh(ContigPiece("", 0, codes, True), 0, size, _LEAST_INTRON)
        return _Weighed(*found, begin + first)

    def _profile(self, k: int, weighed: list[_Weighed], n: int) -> Profile:
        """Return probabilities and log-odds by strand and first base of the site."""
        P, scores = np.zeros((2, n)), np.full((2, n), np.nan)
        last = self._finder.site_lengths[k] - 1
        for sites, _, origin in weighed:
            own = sites.take(sites["is_donor"] == (k == 0))
            strands = own.is_reverse.astype(int)
            at = origin + own.starts + last * strands
            P[strands, at] = np.round(np.exp(own["log_p"]), _DECIMALS)
            scores[strands, at] = to_log_odds(own["log_p"])
        return P, scores

    def _intron(
        self, k: int, strand: int, first: int, weighed: _Weighed
    ) -> tuple[float, float, float]:
        """Return start, end and probability of the most probable intron of a site; NaN if none.

        `first` is the first base of the site in reading direction; start and end count alike.
        """
        sites, found, origin = weighed
        start = first - origin - (self._finder.site_lengths[k] - 1) * strand
        is_here = (sites.starts == start) & (sites.is_reverse == strand)
        is_here &= sites["is_donor"] == (k == 0)
        here = np.flatnonzero(is_here[found.introns].any(axis=1))
        if not here.size:
            return np.nan, np.nan, np.nan
        best = here[found.intron_values[here].argmax()]
        begin, end = (sites["places"][found.introns[best]] + origin).tolist()
        return begin, end, float(np.exp(found.intron_values[best]))

    def _on_reference(
        self, intron: tuple[float, float, float], haplotypes: Haplotypes, h: int
    ) -> tuple[float, ...]:
        """Move an intron of a haplotype, where the zone is behind the flank, to the contig."""
        m, n = haplotypes.zones[0, 1:].tolist()
        zone = int(haplotypes.places[0, h]) + self._flank

        def moved(place: float) -> float:
            if h and place > zone:
                place = place - n + m if place >= zone + n else min(place, zone + m)
            return place - zone + int(haplotypes.starts[0])

        return moved(intron[0]), moved(intron[1]), intron[2]
