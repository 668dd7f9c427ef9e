"""Changes of the probability of donors and acceptors by alleles, in sight of their partners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.models.paired import ENDS, PairedModel
from seqmtl.pairs import PairedFinder
from seqmtl.pairs.chain import to_log_odds
from seqmtl.pairs.finder import Weighed
from seqmtl.sequences import Genome
from seqmtl.variants._allele_kernels import fill_haplotypes
from seqmtl.variants._effect_kernels import find_effects
from seqmtl.variants.alleles import Alleles
from seqmtl.variants.effects import Effects, no_effects, store_effects

_DECIMALS = 6  # of probabilities; farther away, an allele changes them by less
_LEAST_INTRON = 0.01  # probability


class PairedEffectScorer:
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

    Attributes
    ----------
    kinds, sees_introns, n_records
        See :class:`~seqmtl.variants.effects.EffectScorer`.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    ValueError
        If `distance` is negative.
    """

    kinds, sees_introns, n_records = ENDS, True, 64

    def __init__(self, model: PairedModel, organism: str, *, distance: int | None = None) -> None:
        if distance is not None and distance < 0:
            raise ValueError(f"distance must be 0 or more, got {distance}")
        self.organism = organism
        self._finder = PairedFinder(model, organism)
        windows = max(finder.length for finder in self._finder.finders)
        reach = self._finder.layer.longest + windows
        self._flank = self._finder.margin + reach
        reach = reach if distance is None else min(reach, distance)
        self._turns = np.full(2, self._flank)
        self._spares = np.full((2, 2), self._flank - reach)

    def by_signal(self, genome: Genome, alleles: Alleles) -> list[Effects]:
        """Score alleles of a genome: the effects on donors, then those on acceptors.

        Parameters
        ----------
        genome : Genome
            Reference genome.
        alleles : Alleles
            Alleles to score, with positions on `genome`.
        """
        n = len(alleles)
        effects = [no_effects(n)._replace(introns=np.full((n, 2, 2, 3), np.nan)) for _ in ENDS]
        zones = alleles.zones(genome.codes)
        for i in np.flatnonzero(zones[:, 1:].any(axis=1)).tolist():
            self._score(genome, alleles.part(i, i + 1), zones[i : i + 1], effects, i)
        return effects

    def _score(
        self,
        genome: Genome,
        allele: Alleles,
        zone: NDArray[np.int64],
        effects: list[Effects],
        row: int,
    ) -> None:
        """Score one allele, and write the results to a row."""
        flank = self._flank
        sizes = zone[0, 1:] + 2 * flank
        places = np.array([[0, sizes[0]]])
        buffer = np.empty(int(sizes.sum()), dtype=np.uint8)
        inside = np.empty(buffer.size, dtype=np.bool_)
        fill_haplotypes(
            genome.codes, allele.begins, allele.ends, allele.starts, allele.ref_lengths,
            allele.alts, allele.firsts, allele.alt_lengths, zone, flank, places, buffer, inside,
        )  # fmt: skip
        haplotypes = (slice(sizes[0]), slice(sizes[0], None))
        weighed = [self._weigh(buffer[own], inside[own]) for own in haplotypes]
        start = zone[:, 0] - allele.begins
        rows = slice(row, row + 1)
        for k, own in enumerate(effects):
            P, scores = self._profiles(k, weighed, places[0], buffer.size)
            found = np.empty((1, 2, 4), dtype=np.int64)
            find_effects(
                P, places, zone, 2 * flank + 1, self._turns, self._spares, own.changes[rows], found
            )
            store_effects(own, rows, found, start, P, scores)
            assert own.introns is not None
            for c, (strand, _, *windows) in enumerate(found[0].tolist()):
                for h, window in enumerate(windows):
                    if window >= 0:
                        best = self._intron(k, strand, window - int(places[0, h]), weighed[h])
                        own.introns[row, c, h] = _on_reference(best, zone[0], start[0], flank, h)

    def _weigh(self, codes: NDArray[np.uint8], inside: NDArray[np.bool_]) -> Weighed:
        """Run the chain on a haplotype without what is beyond the contig; places count from it."""
        first, size = int(inside.argmax()), int(np.count_nonzero(inside))
        piece = ContigPiece("", first, codes[first : first + size], True)
        weighed = self._finder.weigh(piece, 0, codes.size, _LEAST_INTRON)
        sites = weighed.sites
        return weighed._replace(sites=sites._replace(places=sites.places + first))

    def _profiles(
        self, k: int, weighed: list[Weighed], places: NDArray[np.int64], n: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return probabilities and log-odds by strand and first base of the site, shape (2, n)."""
        P, scores = np.zeros((2, n)), np.full((2, n), np.nan)
        last = self._finder.finders[k].scanner.site_length - 1
        for origin, own in zip(places.tolist(), weighed, strict=True):
            for strand, (block, log_p) in enumerate(zip(own.blocks[k], own.log_p[k], strict=True)):
                at = origin + block.starts + last * strand
                P[strand, at] = np.round(np.exp(log_p), _DECIMALS)
                scores[strand, at] = to_log_odds(log_p)
        return P, scores

    def _intron(
        self, k: int, strand: int, first: int, weighed: Weighed
    ) -> tuple[float, float, float]:
        """Return start, end and probability of the most probable intron of a site; NaN if none.

        `first` is the first base of the site in reading direction.
        """
        length = self._finder.finders[k].scanner.site_length
        is_end = int(strand == 1 - k)  # donors on minus, acceptors on plus
        place = first - (length - 1) * strand + length * is_end
        sites, found = weighed.sites, weighed.posteriors
        own = found.introns[:, is_end]
        here = np.flatnonzero((sites.places[own] == place) & (sites.is_reverse[own] == strand))
        if not here.size:
            return np.nan, np.nan, np.nan
        best = here[found.intron_values[here].argmax()]
        start, end = sites.places[found.introns[best]].tolist()
        return start, end, float(np.exp(found.intron_values[best]))


def _on_reference(
    intron: tuple[float, float, float], zone: NDArray[np.int64], start: int, flank: int, h: int
) -> tuple[float, ...]:
    """Move an intron of a haplotype, where the zone is at `flank`, to the contig."""
    m, n = zone[1:].tolist()

    def moved(place: float) -> float:
        if h and place > flank:
            place = place - n + m if place >= flank + n else min(place, flank + m)
        return place - flank + start

    return moved(intron[0]), moved(intron[1]), intron[2]
