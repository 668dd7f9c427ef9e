"""Changes of the log-odds of the ends of annotated exons by alleles, by the site models alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.transcripts import Transcript
from seqmtl.sequences import Genome
from seqmtl.sequences.alphabet import decode, reverse_complement
from seqmtl.sequences.sites import Sites, words_at
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.chain import with_letters
from seqmtl.splicing.layer import ALL, ENDS
from seqmtl.variant_effects.alleles import Alleles
from seqmtl.variant_effects.effects import Haplotypes

_LOST = -10.0  # log-odds of an end without its letters, if the layer takes sites of any log-odds
_LOSS = 5.0  # log-odds that an end at least loses with its letters
_SITE = 2  # bases
_LETTERS = ("AGGT", "AGGC")  # before and behind an exon


class ExonEffects(NamedTuple):
    """Annotated exons that alleles reach, and the log-odds of their ends.

    Attributes
    ----------
    alleles, exons : ndarray of int64, shape (n,)
        Rows of the alleles, in order, and of the exons.
    log_odds : ndarray of float64, shape (n, 2, 2)
        Of the donor and of the acceptor (second axis), in the reference and in the alternative;
        NaN where a transcript begins or ends, and where the reference lacks the letters of a
        site.
    """

    alleles: NDArray[np.int64]
    exons: NDArray[np.int64]
    log_odds: NDArray[np.float64]

    @property
    def changes(self) -> NDArray[np.float64]:
        """Effect on each exon: the sum of the changes of its ends, shape (n,); NaN without any."""
        changes = np.diff(self.log_odds)[..., 0]
        sums: NDArray[np.float64] = np.nansum(changes, axis=1)
        sums[np.isnan(changes).all(axis=1)] = np.nan
        return sums

    def by_allele(self, n: int) -> list[ExonEffects]:
        """Return those of each of n alleles."""
        cuts = np.searchsorted(self.alleles, np.arange(1, n))
        columns = (np.split(column, cuts) for column in self)
        return [ExonEffects(*parts) for parts in zip(*columns, strict=True)]


class AnnotatedExons(NamedTuple):
    """Exons that introns have, each once, by where they begin.

    The exon of a transcript without introns, as in a minigene, is one if it has AG before and GT
    or GC behind.

    Attributes
    ----------
    bounds : ndarray of int64, shape (n, 2)
        Start and end in the buffer of the genome.
    origins : ndarray of int64, shape (n,)
        First base of the contig there.
    is_reverse : ndarray of bool, shape (n,)
        Whether an exon is on the minus strand.
    has_ends : ndarray of bool, shape (n, 2)
        Whether introns have their donor and their acceptor at it. An exon that is the first or the
        last one in some transcripts is there once more for them.
    names : list of list of str
        Transcripts.
    """

    bounds: NDArray[np.int64]
    origins: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    has_ends: NDArray[np.bool_]
    names: list[list[str]]

    @classmethod
    def of(cls, genome: Genome, transcripts: Iterable[Transcript]) -> AnnotatedExons:
        """Return the exons on contigs of a genome; others are left out.

        Raises
        ------
        SeqmtlError
            If an exon is not on its contig.
        """
        names: dict[tuple[int, int, int, bool, bool, bool], dict[str, None]] = {}
        for transcript in transcripts:
            if transcript.contig not in genome:
                continue
            number = genome.index(transcript.contig)
            if transcript.end > genome.lengths[number]:
                raise SeqmtlError(
                    f"exons of the annotation must lie on {transcript.contig}, which has "
                    f"{genome.lengths[number]:,} bases, got one of {transcript.name} that ends at "
                    f"{transcript.end:,}; give the annotation of this assembly"
                )
            origin, last = int(genome.starts[number]), len(transcript.exons) - 1
            is_alone = not last and _has_sites(genome.contig(transcript.contig), transcript)
            for k, (start, end) in enumerate(transcript.exons):
                donor, acceptor = k < last or is_alone, k > 0 or is_alone
                if transcript.is_reverse:
                    donor, acceptor = acceptor, donor
                exon = (
                    origin + start,
                    origin + end,
                    origin,
                    transcript.is_reverse,
                    donor,
                    acceptor,
                )
                if donor or acceptor:
                    names.setdefault(exon, {})[transcript.name] = None
        ordered = sorted(names)
        columns = np.array(ordered, dtype=np.int64).reshape(-1, 6)
        return cls(
            columns[:, :2],
            columns[:, 2],
            columns[:, 3] > 0,
            columns[:, 4:] > 0,
            [list(names[key]) for key in ordered],
        )

    def ends(self) -> NDArray[np.int64]:
        """Return where the donor and the acceptor end the exon in the buffer, shape (n, 2)."""
        return np.where(self.is_reverse[:, np.newaxis], self.bounds, self.bounds[:, ::-1])


def _has_sites(codes: NDArray[np.uint8], transcript: Transcript) -> bool:
    """Return whether a transcript has the letters of an acceptor before and of a donor behind."""
    start, end = transcript.start, transcript.end
    if start < _SITE or end + _SITE > codes.size:
        return False
    ends = np.concatenate([codes[start - _SITE : start], codes[end : end + _SITE]])
    letters = decode(reverse_complement(ends) if transcript.is_reverse else ends)
    return letters in _LETTERS


class ExonScorer:
    """Scores alleles by the ends of the annotated exons that they reach.

    An allele reaches an exon if the bases that it changes, in any representation, are in it or in
    the window of its donor or acceptor. The effect on an exon is the change of the log-odds of its
    donor, plus that of its acceptor, by the site models alone: partners do not count, and neither
    do models of U12-type introns.

    An end that loses its letters, or is on deleted bases, has the least log-odds that the layer of
    the organism takes (-10 if it takes all), or 5 less than before if these are less. An end that
    lacks the letters of a site in the reference has no log-odds. Donors with other
    letters that the layer knows, such as GC, lose what they do there. Bases that an insertion or
    deletion shifts are followed on both sides of it; if it can be placed on either side of an end,
    the smaller change of this end counts.

    Parameters
    ----------
    finder : PairedFinder
        Finder of the organism.
    genome : Genome
        Reference genome.
    transcripts : iterable of Transcript
        Those of its annotation.

    Attributes
    ----------
    exons : AnnotatedExons
        The exons.
    n_ends, n_without_letters : int
        Ends of exons at introns, and those that lack the letters of a site.

    Raises
    ------
    SeqmtlError
        If an exon is not on its contig.
    """

    def __init__(
        self, finder: PairedFinder, genome: Genome, transcripts: Iterable[Transcript]
    ) -> None:
        self._layer, self._ends, self._genome = finder.layer, finder.ends, genome
        self._least = [_LOST if least in ALL else least for least in self._layer.least]
        self.exons = exons = AnnotatedExons.of(genome, transcripts)
        self._places = exons.ends()
        number = np.searchsorted(genome.starts, exons.origins, side="right") - 1
        bounds = [exons.bounds]
        for k, end in enumerate(self._ends):
            firsts = self._window_starts(k, self._places[:, k], exons.is_reverse)
            windows = np.column_stack([firsts, firsts + end.finder.length])
            bounds.append(np.where(exons.has_ends[:, k : k + 1], windows, exons.bounds))
        every = np.stack(bounds)
        lows = np.maximum(every[..., 0].min(axis=0), exons.origins - 1)
        highs = np.minimum(every[..., 1].max(axis=0), exons.origins + genome.lengths[number] + 1)
        self._order = np.argsort(lows, kind="stable")
        self._lows, self._highs = lows[self._order], highs[self._order]
        self._furthest = np.maximum.accumulate(self._highs)
        self.n_ends = self.n_without_letters = 0
        for k in range(len(ENDS)):
            rows = np.flatnonzero(exons.has_ends[:, k])
            has_letters = self._has_letters(
                k, genome.codes, self._places[rows, k], exons.is_reverse[rows]
            )
            self.n_ends += rows.size
            self.n_without_letters += int(rows.size - has_letters.sum())

    def _has_letters(
        self,
        k: int,
        codes: NDArray[np.uint8],
        ends: NDArray[np.int64],
        is_reverse: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return which ends of exons have the letters of donors (0) or acceptors (1)."""
        finder = self._ends[k].finder
        if finder.consensus is None:
            return np.ones(ends.size, dtype=np.bool_)
        n_bases = finder.scanner.site_length
        starts = np.clip(_site_starts(k, ends, is_reverse, n_bases), 0, codes.size - n_bases)
        return words_at(codes, starts, is_reverse, finder.consensus) >= 0

    def _window_starts(
        self, k: int, ends: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return where the windows of donors (0) or acceptors (1) begin."""
        finder = self._ends[k].finder
        offsets = np.where(is_reverse, finder.offset(True), finder.offset(False))
        return _site_starts(k, ends, is_reverse, finder.scanner.site_length) - offsets

    def score(self, alleles: Alleles) -> ExonEffects:
        """Score alleles, with positions on the genome."""
        zones = alleles.zones(self._genome.codes)
        rows, exons = self._reached(zones)
        log_odds = np.full((rows.size, 2, 2), np.nan)
        starts, m, n = zones[rows].T
        for k in range(len(ENDS)):
            here = np.flatnonzero(self.exons.has_ends[exons, k])
            if not here.size:
                continue
            ends = self._places[exons[here], k]
            before, shorter = ends - starts[here], np.minimum(m, n)[here]
            is_left, is_right = before <= shorter, m[here] - before <= shorter
            moved = ends + (n - m)[here]
            scored = [here, here[is_left], here[is_right]]
            values = self._log_odds(
                k,
                alleles.take(rows[np.concatenate(scored)]),
                np.concatenate([ends, ends[is_left], moved[is_right]]),
                self.exons.is_reverse[exons[np.concatenate(scored)]],
                np.repeat([0, 1, 1], [part.size for part in scored]),
            )
            cuts = np.cumsum([part.size for part in scored])
            reference = values[: cuts[0]]
            lost = np.minimum(self._least[k], reference - _LOSS)
            left, right = lost.copy(), lost.copy()
            left[is_left], right[is_right] = values[cuts[0] : cuts[1]], values[cuts[1] :]
            left, right = (np.where(np.isnan(values), lost, values) for values in (left, right))
            is_nearer = np.abs(right - reference) < np.abs(left - reference)
            is_moved = is_right & (is_nearer | ~is_left)
            log_odds[here, k] = np.column_stack([reference, np.where(is_moved, right, left)])
        return ExonEffects(rows, exons, log_odds)

    def _reached(self, zones: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of zones, in order, and of the exons that they reach."""
        firsts = np.searchsorted(self._furthest, zones[:, 0], side="right")
        lasts = np.searchsorted(self._lows, zones[:, 0] + zones[:, 1])
        counts = np.maximum(lasts - firsts, 0)
        rows = np.repeat(np.arange(len(zones)), counts)
        numbers = np.arange(rows.size) + np.repeat(firsts - np.cumsum(counts) + counts, counts)
        is_reached = self._highs[numbers] > zones[rows, 0]
        return rows[is_reached], self._order[numbers[is_reached]]

    def _log_odds(
        self,
        k: int,
        alleles: Alleles,
        ends: NDArray[np.int64],
        is_reverse: NDArray[np.bool_],
        haplotypes: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the log-odds of donors (0) or acceptors (1) in a haplotype of an allele each.

        NaN without the letters of a site.
        """
        finder = self._ends[k].finder
        flank, n_bases = finder.length, finder.scanner.site_length
        around = np.column_stack([ends, np.zeros((ends.size, 2), dtype=np.int64)])
        codes, _, positions, *_ = Haplotypes.of(self._genome, alleles, around, flank)
        places = positions[np.arange(ends.size), haplotypes] + flank
        windows = self._window_starts(k, places, is_reverse)
        scores = np.empty(ends.size, dtype=np.float32)
        for strand in (False, True):
            rows = np.flatnonzero(is_reverse == strand)
            scores[rows] = finder.scanner.score_range(
                codes, 0, codes.size - flank + 1, strand, windows[rows]
            )
        starts = _site_starts(k, places, is_reverse, n_bases)
        sites = self._ends[k].scored(Sites(starts, is_reverse, {"scores": scores}), codes)
        log_odds = with_letters(sites, self._layer)
        log_odds[~self._has_letters(k, codes, places, is_reverse)] = np.nan
        return log_odds


def _site_starts(
    k: int, ends: NDArray[np.int64], is_reverse: NDArray[np.bool_], length: int
) -> NDArray[np.int64]:
    """Return the first base of donors (0) or acceptors (1) that end exons."""
    return ends - length * (is_reverse == (k == 0))
