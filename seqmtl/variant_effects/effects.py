"""Changes of the probability of a signal by nearby alleles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.finder import finder_of
from seqmtl.sequences import Genome
from seqmtl.sequences.sites import find_motifs
from seqmtl.variant_effects.allele_loops import fill_haplotypes
from seqmtl.variant_effects.alleles import Alleles
from seqmtl.variant_effects.effect_loops import find_effects
from seqmtl.variant_effects.effect_text import EffectText

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
    positions : ndarray of int64, shape (n, 2)
        0-based contig position of its first base in reading direction; a site in inserted bases
        has that of the base before them. -1 if nothing changes.
    probabilities : ndarray of float64, shape (n, 2, 2)
        Probability of this site in the reference and in the alternative (last axis).
    scores : ndarray of float64, shape (n, 2, 2)
        Raw scores likewise, NaN if there is no site. They show changes that calibration hides.
    reasons : list of str
        Why an allele was not scored (a key of :data:`~seqmtl.variant_effects.alleles.REASONS`), or
        "".
    introns : ndarray of float64, shape (n, 2, 2, 3), optional
        Of paired models: start, end and probability of the most probable intron at this site, or of
        the exon itself, in the reference and in the alternative; NaN if there is none. Positions
        are those of the reference; an end in inserted bases is moved next to them.
    """

    changes: NDArray[np.float64]
    strands: NDArray[np.int64]
    positions: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    scores: NDArray[np.float64]
    reasons: list[str]
    introns: NDArray[np.float64] | None = None

    @classmethod
    def none(cls, n: int, with_introns: bool = False) -> Effects:
        """Return the effects of n alleles that change nothing."""
        return cls(
            np.zeros((n, 2)),
            np.full((n, 2), -1),
            np.full((n, 2), -1),
            np.zeros((n, 2, 2)),
            np.full((n, 2, 2), np.nan),
            [""] * n,
            np.full((n, 2, 2, 3), np.nan) if with_introns else None,
        )

    def lists(self) -> Effects:
        """Return the effects in lists, which are faster than arrays for single entries."""
        parts: list[Any] = [
            column.tolist() if isinstance(column, np.ndarray) else column for column in self
        ]
        return Effects(*parts)

    def rows(self, first: int, last: int) -> Effects:
        """Return a view of the effects of some alleles."""
        parts: list[Any] = [None if column is None else column[first:last] for column in self]
        return Effects(*parts)


class Haplotypes(NamedTuple):
    """The reference and the alternative of some alleles, one after another, with their flanks.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n,)
        Letters; beyond the contig 4 (N).
    inside : ndarray of bool, shape (n,)
        Whether a letter is on the contig.
    positions : ndarray of int64, shape (m, 2)
        Start of the reference and of the alternative of each allele.
    zones : ndarray of int64, shape (m, 3)
        See :meth:`seqmtl.variant_effects.alleles.Alleles.zones`.
    starts : ndarray of int64, shape (m,)
        Start of each zone on its contig.
    """

    codes: NDArray[np.uint8]
    inside: NDArray[np.bool_]
    positions: NDArray[np.int64]
    zones: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(
        cls, genome: Genome, alleles: Alleles, zones: NDArray[np.int64], flank: int
    ) -> Haplotypes:
        """Return the haplotypes of alleles with so many bases around their zones."""
        sizes = zones[:, 1:] + 2 * flank
        ends = np.cumsum(sizes.ravel()).reshape(-1, 2)
        codes = np.empty(int(ends[-1, 1]), dtype=np.uint8)
        inside = np.empty(codes.size, dtype=np.bool_)
        fill_haplotypes(genome.codes, alleles, zones, flank, ends - sizes, codes, inside)
        return cls(codes, inside, ends - sizes, zones, zones[:, 0] - alleles.begins)

    def one(self, i: int) -> Haplotypes:
        """Return a view of one allele."""
        first = int(self.positions[i, 0])
        last = int(self.positions[i + 1, 0]) if i + 1 < len(self.positions) else self.codes.size
        rows = slice(i, i + 1)
        positions = self.positions[rows] - first
        zones = self.zones[rows]
        starts = self.starts[rows]
        return Haplotypes(self.codes[first:last], self.inside[first:last], positions, zones, starts)


def ranges(keys: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of neighbouring rows that are equal."""
    cuts = np.flatnonzero(np.diff(keys, axis=0).any(axis=1)) + 1
    return pairwise([*range(min(1, len(keys))), *cuts.tolist(), len(keys)])


#: Probabilities, 0 without a site, and scores, NaN without one, by strand and window, shape (2, n).
Profile = tuple[NDArray[np.float64], NDArray[np.floating]]


class AlleleScorer(ABC):
    """Scores alleles by the sites that they change, or the windows around them.

    Parameters
    ----------
    organism : str
        Organism.
    flank : int
        Bases that are scored around the changed ones.
    length : int
        Bases of a window; a site is at a window of each profile.
    turns : sequence of int, two
        Window of which the site on the plus and on the minus strand lies on the zone's first base.
        Default: there is no site.

    Attributes
    ----------
    kinds : tuple of str
        The signals.
    sees_introns : bool
        Whether the effects have introns.
    n_records : int
        Records to score at a time.
    shortest_contig : int
        Bases of the shortest contig in which sites are scored with their partners; 0 if they have
        none.
    """

    kinds: tuple[str, ...]
    sees_introns = False
    n_records = 2048
    shortest_contig = 0

    def __init__(
        self,
        organism: str,
        *,
        flank: int,
        length: int,
        turns: tuple[int, int] = (0, 0),
    ) -> None:
        self.organism = organism
        self._flank = flank
        self._length = length
        self._turns = np.array(turns)

    def texts(self) -> list[EffectText]:
        """Return what formats the effects on each signal."""
        introns = self.sees_introns
        return [EffectText(kind, self.organism, with_introns=introns) for kind in self.kinds]

    def by_signal(self, genome: Genome, alleles: Alleles) -> list[Effects]:
        """Score alleles of a genome: the effects on each signal.

        Parameters
        ----------
        genome : Genome
            Reference genome.
        alleles : Alleles
            Alleles to score, with positions on `genome`.
        """
        effects = [Effects.none(alleles.starts.size, self.sees_introns) for _ in self.kinds]
        zones = alleles.zones(genome.codes)
        for first, last in self._groups(alleles, zones):
            part = alleles.take(slice(first, last))
            haplotypes = Haplotypes.of(genome, part, zones[first:last], self._flank)
            self._score(
                genome, part, haplotypes, [of_signal.rows(first, last) for of_signal in effects]
            )
        return effects

    @abstractmethod
    def _groups(self, alleles: Alleles, zones: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the ranges of alleles to score at a time."""

    @abstractmethod
    def _score(
        self, genome: Genome, alleles: Alleles, haplotypes: Haplotypes, effects: list[Effects]
    ) -> None:
        """Write the effects on each signal of a group of alleles."""

    def _compare(
        self, haplotypes: Haplotypes, profile: Profile, effects: Effects
    ) -> NDArray[np.int64]:
        """Write the effects on a signal; return those of :func:`find_effects`."""
        P, scores = profile
        strands_and_positions = np.empty((len(haplotypes.starts), 2, 4), dtype=np.int64)
        find_effects(
            P,
            haplotypes.positions,
            haplotypes.zones,
            self._length,
            self._turns,
            effects.changes,
            strands_and_positions,
        )
        is_found = strands_and_positions[..., 0] >= 0
        effects.strands[:] = strands_and_positions[..., 0]
        at = haplotypes.starts[:, np.newaxis] + strands_and_positions[..., 1]
        effects.positions[:] = np.where(is_found, np.maximum(at, 0), -1)
        has_window = is_found[..., np.newaxis] & (strands_and_positions[..., 2:] >= 0)
        strands = np.broadcast_to(strands_and_positions[..., :1], has_window.shape)[has_window]
        windows = strands_and_positions[..., 2:][has_window]
        effects.probabilities[has_window] = P[strands, windows]
        effects.scores[has_window] = scores[strands, windows]
        return strands_and_positions


class EffectScorer(AlleleScorer):
    """Scores alleles with the model of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        A classifier.
    organism : str
        Task of the model, or a relative without data.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    ValueError
        If the model has no site, or is not a classifier.

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

    def __init__(self, model: MultiTaskModel, organism: str) -> None:
        self._finder = finder_of(model, organism)
        if self._finder.log_odds is None:
            model.log_odds_of(organism)  # tells why
        length = self._finder.length
        offset = self._finder.scanner.site_offset
        turns = (length - 1 - offset, offset)
        super().__init__(organism, flank=length - 1, length=length, turns=turns)
        self.kinds = (model.site.kind,)

    def _groups(self, alleles: Alleles, zones: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield ranges of about `_BASES` bases, with at least one allele each."""
        sizes = (zones[:, 1:] + 2 * self._flank).sum(axis=1)
        return ranges(np.cumsum(sizes)[:, np.newaxis] // _BASES)

    def _score(
        self, genome: Genome, alleles: Alleles, haplotypes: Haplotypes, effects: list[Effects]
    ) -> None:
        """Score the windows of both strands."""
        scanner = self._finder.scanner
        n = haplotypes.codes.size - self._length + 1
        scores = np.full((2, n), np.nan, dtype=np.float32)
        P = np.zeros((2, n))
        for strand in (0, 1):
            starts = np.flatnonzero(self._has_site(haplotypes, n, strand == 1))
            values = scanner.score_range(haplotypes.codes, 0, n, strand == 1, starts)
            scores[strand, starts] = values
            P[strand, starts] = self._finder.probability(values)
        self._compare(haplotypes, (P, scores), effects[0])

    def _has_site(self, haplotypes: Haplotypes, n: int, is_reverse: bool) -> NDArray[np.bool_]:
        """Tell which of the first n windows have a site, shape (n,)."""
        first = self._finder.offset(is_reverse)
        size = self._finder.scanner.site_length
        if self._finder.consensus is not None:
            letters = haplotypes.codes[first : first + n + size - 1]
            return find_motifs(letters, self._finder.consensus, is_reverse)
        return np.logical_and.reduce([haplotypes.inside[first + i :][:n] for i in range(size)])


def score_variants(
    model: MultiTaskModel,
    genome: Genome,
    variants: Iterable[tuple[str, int, str, str]],
    organism: str,
) -> Effects:
    """Score variants with the model of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        A classifier, or a model without a site.
    genome : Genome
        Reference genome, see :func:`~seqmtl.io.genome.load_genome`.
    variants : iterable of (contig, start, ref, alt)
        Contig, 0-based first base of `ref`, and the reference and alternative letters in either
        case, one of which may be empty. One allele each.
    organism : str
        Task of the model, or a relative without data.

    Returns
    -------
    Effects
        One row per variant, see :class:`EffectScorer` for sites, and
        :class:`~seqmtl.variant_effects.WindowEffectScorer` for windows. Those that cannot be scored
        have NaN and a reason.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    ValueError
        If the model has a site and is not a classifier.

    Examples
    --------
    >>> from seqmtl.io import load_genome
    >>> genome = load_genome("worm.fa", padding=1)  # doctest: +SKIP
    >>> effects = score_variants(model, genome, [("I", 1041, "G", "A")], "c_elegans")
    ... # doctest: +SKIP
    """
    scorer = model.predictor(organism).allele_scorer()
    alleles, reasons = Alleles.of(
        genome,
        ((contig, start, ref.encode(), alt.encode()) for contig, start, ref, alt in variants),
    )
    (scored,) = scorer.by_signal(genome, alleles)
    rows = np.array([i for i, reason in enumerate(reasons) if not reason], dtype=np.int64)
    n = len(reasons)
    effects = Effects.none(n)._replace(reasons=reasons)
    effects.changes.fill(np.nan)
    effects.probabilities.fill(np.nan)
    targets: Any = effects[:5]
    for column, values in zip(targets, scored[:5], strict=True):
        column[rows] = values
    return effects
