"""Changes of the probability of a signal by nearby alleles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.model import MultiTaskModel
from seqmtl.scan.organism import probability_of, scanner_of
from seqmtl.sequences import Genome, encode, reverse_complement
from seqmtl.variants._allele_kernels import fill_haplotypes
from seqmtl.variants._effect_kernels import find_effects
from seqmtl.variants.alleles import AlleleList, Alleles

_BASES = 1 << 19  # bases of haplotypes scored at a time


class Effects(NamedTuple):
    """Gain and loss of a signal by each allele, in columns 0 and 1 of every array.

    Attributes
    ----------
    changes : ndarray of float64, shape (n, 2)
        Largest increase and decrease of the probability at any site, 0 to 1. NaN for alleles
        that could not be scored.
    strands : ndarray of int64, shape (n, 2)
        Strand of that site: 0 plus, 1 minus, -1 if nothing changes.
    places : ndarray of int64, shape (n, 2)
        0-based contig position of its first base in reading direction; a site in inserted bases
        has that of the base before them. -1 if nothing changes.
    probabilities : ndarray of float64, shape (n, 2, 2)
        Probability of this site in the reference and in the alternative (last axis).
    scores : ndarray of float64, shape (n, 2, 2)
        Raw scores likewise, NaN if there is no site. They show changes that calibration hides.
    reasons : list of str
        Why an allele was not scored (a key of :data:`~seqmtl.variants.alleles.REASONS`), or "".
    introns : ndarray of float64, shape (n, 2, 2, 3), optional
        Of paired models: start, end and probability of the most probable intron at this site in the
        reference and in the alternative; NaN if there is none. Positions are those of the
        reference; an end in inserted bases is moved to the end of the bases that they replace.
    """

    changes: NDArray[np.float64]
    strands: NDArray[np.int64]
    places: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    scores: NDArray[np.float64]
    reasons: list[str]
    introns: NDArray[np.float64] | None = None


class EffectScorer:
    """Scores alleles with the model of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        A classifier.
    organism : str
        Task of the model.
    distance : int, optional
        Consider only sites within this many bases of the changed bases. Default: all sites whose
        windows overlap the change.
    from_relatives : bool, default=False
        See :meth:`~seqmtl.models.model.MultiTaskModel.decision_function`.

    Attributes
    ----------
    kinds : tuple of str
        The signal.
    sees_introns : bool
        Whether the effects have introns: no.
    n_records : int
        Records to score at a time.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    ValueError
        If the model is not a classifier, or `distance` is negative.

    Notes
    -----
    The position of a *site* is that of its first base in reading direction. P(p) is the calibrated
    probability of the window whose site is at p, on either strand. It is 0 if the sequence lacks
    the consensus of the model, and beyond the ends of the contig. Windows that extend beyond an end
    are padded with N, as in training.

    P of the reference and of the alternative are compared in pairs of sites: left of the change by
    their distance from it, and likewise right of it. Within the change the shorter haplotype lacks
    some bases, all at one position. P = 0 there, so sites on deleted bases are lost and those on
    inserted bases are gained. If that position is ambiguous (within a repeat, or if bases were
    replaced by more or fewer others), it is the one that minimises the larger of gain and loss,
    then the smaller. So the result depends on the two sequences alone and not on the
    representation of the variant (repeats are followed for 1,000 bases on either side); a variant
    and its mirror image have the same gain and loss; and the gain of a variant is the loss of its
    reversal.

    SpliceAI (Jaganathan et al. 2019, Cell 176:535) treats deleted bases in the same way, takes
    indels as represented, compares the largest P of an insertion and the base before it with
    P of this base, and does not score replacements by more or fewer bases.
    """

    sees_introns, n_records = False, 2048

    def __init__(
        self,
        model: MultiTaskModel,
        organism: str,
        *,
        distance: int | None = None,
        from_relatives: bool = False,
    ) -> None:
        if distance is not None and distance < 0:
            raise ValueError(f"distance must be 0 or more, got {distance}")
        self.organism = organism
        self.site = model.site
        self.kinds = (model.site.kind,)
        self.scanner = scanner_of(model, organism, from_relatives=from_relatives)
        self.probability = probability_of(model, organism)
        L, offset = self.scanner.length, self.scanner.site_offset
        self._turns = np.array([L - 1 - offset, offset])
        rest = np.column_stack([self._turns, L - 1 - self._turns])
        self._spares = np.zeros_like(rest) if distance is None else np.maximum(0, rest - distance)
        words = self.site.letters.split(",") if self.site.letters else []
        self._words = [encode(word) for word in words]

    def score(self, genome: Genome, alleles: Alleles) -> Effects:
        """Score alleles of a genome.

        Parameters
        ----------
        genome : Genome
            Reference genome.
        alleles : Alleles
            Alleles to score, with positions on `genome`.
        """
        effects = no_effects(len(alleles))
        zones = alleles.zones(genome.codes)
        sizes = zones[:, 1:] + 2 * (self.scanner.length - 1)
        for first, last in _ranges(sizes.sum(axis=1)):
            self._score(genome, alleles.part(first, last), zones[first:last], effects, first)
        return effects

    def by_signal(self, genome: Genome, alleles: Alleles) -> list[Effects]:
        """Return the result of :meth:`score` as the only item of a list."""
        return [self.score(genome, alleles)]

    def _score(
        self,
        genome: Genome,
        alleles: Alleles,
        zones: NDArray[np.int64],
        effects: Effects,
        first: int,
    ) -> None:
        """Score a few alleles, and write the results from row `first` on."""
        L, n = self.scanner.length, zones.shape[0]
        sizes = zones[:, 1:] + 2 * (L - 1)
        ends = np.cumsum(sizes.ravel()).reshape(n, 2)
        places = ends - sizes
        buffer = np.empty(int(ends[-1, 1]), dtype=np.uint8)
        inside = np.empty(buffer.size, dtype=np.bool_)
        fill_haplotypes(
            genome.codes, alleles.begins, alleles.ends, alleles.starts, alleles.ref_lengths,
            alleles.alts, alleles.firsts, alleles.alt_lengths, zones, L - 1, places, buffer, inside,
        )  # fmt: skip
        scores, P = self._profiles(buffer, inside)
        found = np.empty((n, 2, 4), dtype=np.int64)
        rows = slice(first, first + n)
        find_effects(P, places, zones, L, self._turns, self._spares, effects.changes[rows], found)
        store_effects(effects, rows, found, zones[:, 0] - alleles.begins, P, scores)

    def _profiles(
        self, buffer: NDArray[np.uint8], inside: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Score the windows of a buffer on both strands, shape (2, n), as scores and probabilities.

        Without a site, the score is NaN and the probability 0.
        """
        scanner = self.scanner
        n = buffer.size - scanner.length + 1
        scores = np.full((2, n), np.nan, dtype=np.float32)
        P = np.zeros((2, n))
        for strand, is_reverse in enumerate((False, True)):
            starts = np.flatnonzero(self._has_site(buffer, inside, n, is_reverse))
            values = scanner.score_range(buffer, 0, n, is_reverse, starts).scores
            scores[strand, starts] = values
            P[strand, starts] = self.probability(values.astype(np.float64))
        return scores, P

    def _has_site(
        self, buffer: NDArray[np.uint8], inside: NDArray[np.bool_], n: int, is_reverse: bool
    ) -> NDArray[np.bool_]:
        """Tell which of the first n windows of a buffer have a site, shape (n,)."""
        scanner = self.scanner
        offset, length = scanner.site_offset, scanner.site_length
        if is_reverse:
            offset = scanner.length - offset - length
        if not self._words:
            return np.logical_and.reduce([inside[offset + i :][:n] for i in range(length)])
        found = np.zeros(n, dtype=np.bool_)
        for word in self._words:
            letters = reverse_complement(word) if is_reverse else word
            matches = [buffer[offset + i :][:n] == letter for i, letter in enumerate(letters)]
            found |= np.logical_and.reduce(matches)
        return found


def no_effects(n: int) -> Effects:
    """Return the effects of n alleles that change nothing."""
    return Effects(
        np.zeros((n, 2)), np.full((n, 2), -1), np.full((n, 2), -1),
        np.zeros((n, 2, 2)), np.full((n, 2, 2), np.nan), [""] * n,
    )  # fmt: skip


def store_effects(
    effects: Effects,
    rows: slice,
    found: NDArray[np.int64],
    starts: NDArray[np.int64],
    P: NDArray[np.float64],
    scores: NDArray[Any],
) -> None:
    """Write the results of :func:`find_effects` into some rows; zones begin at `starts`."""
    is_found = found[..., 0] >= 0
    effects.strands[rows] = found[..., 0]
    at = starts[:, np.newaxis] + found[..., 1]
    effects.places[rows] = np.where(is_found, np.maximum(at, 0), -1)
    has_window = is_found[..., np.newaxis] & (found[..., 2:] >= 0)
    strands = np.broadcast_to(found[..., :1], has_window.shape)[has_window]
    windows = found[..., 2:][has_window]
    effects.probabilities[rows][has_window] = P[strands, windows]
    effects.scores[rows][has_window] = scores[strands, windows]


def score_variants(
    model: MultiTaskModel,
    genome: Genome,
    variants: Iterable[tuple[str, int, str, str]],
    organism: str,
    *,
    distance: int | None = None,
    from_relatives: bool = False,
) -> Effects:
    """Score variants with the model of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        A classifier.
    genome : Genome
        Reference genome, see :func:`~seqmtl.io.genome.load_genome`.
    variants : iterable of (contig, start, ref, alt)
        Contig, 0-based first base of `ref`, and the reference and alternative letters in either
        case, one of which may be empty. One allele each.
    organism : str
        Task of the model.
    distance, from_relatives
        See :class:`EffectScorer`, which defines how sites are compared.

    Returns
    -------
    Effects
        One row per variant. Those that cannot be scored have NaN and a reason.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    ValueError
        If the model is not a classifier.

    Examples
    --------
    >>> from seqmtl.io import load_genome
    >>> genome = load_genome("worm.fa", padding=1)  # doctest: +SKIP
    >>> effects = score_variants(model, genome, [("I", 1041, "G", "A")], "c_elegans")
    ... # doctest: +SKIP
    """
    scorer = EffectScorer(model, organism, distance=distance, from_relatives=from_relatives)
    kept, reasons = AlleleList(genome), []
    for contig, start, ref, alt in variants:
        letters = ref.encode()
        reason = kept.refuse_record(contig, start, letters)
        reasons.append(reason or kept.add(contig, start, letters, alt.encode()))
    scored = scorer.score(genome, kept.alleles())
    rows = np.array([i for i, reason in enumerate(reasons) if not reason], dtype=np.int64)
    n = len(reasons)
    effects = Effects(
        np.full((n, 2), np.nan), np.full((n, 2), -1), np.full((n, 2), -1),
        np.full((n, 2, 2), np.nan), np.full((n, 2, 2), np.nan), reasons,
    )  # fmt: skip
    for column, values in zip(effects[:5], scored[:5], strict=True):
        column[rows] = values
    return effects


def _ranges(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Split rows into ranges of about `_BASES` bases, with at least one row each."""
    groups = np.cumsum(sizes) // _BASES
    cuts = np.flatnonzero(np.diff(groups)) + 1
    edges = [0, *cuts.tolist(), sizes.size]
    for first, last in pairwise(edges):
        if first < last:
            yield first, last
