"""Changes of the score of the window around an allele, for models without a site."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Genome, Windows
from seqmtl.variant_effects.alleles import AlleleList, Alleles
from seqmtl.variant_effects.effects import Haplotypes


class WindowEffects(NamedTuple):
    """Scores of the windows around alleles.

    Attributes
    ----------
    changes : ndarray of float64, shape (n, 2)
        Increase and decrease of the score, one of them 0. NaN for alleles that could not be scored.
    scores : ndarray of float64, shape (n, 2)
        Score of the reference and of the alternative.
    reasons : list of str
        Why an allele was not scored, see :class:`~seqmtl.variant_effects.Effects`.
    """

    changes: NDArray[np.float64]
    scores: NDArray[np.float64]
    reasons: list[str]

    @classmethod
    def of(cls, scores: NDArray[np.float64], reasons: list[str]) -> WindowEffects:
        """Return the effects that scores have."""
        change = scores[:, 1] - scores[:, 0]
        return cls(np.maximum(np.column_stack([change, -change]), 0.0), scores, reasons)

    def lists(self) -> WindowEffects:
        """Return the effects in lists, which are faster than arrays for single entries."""
        return WindowEffects(self.changes.tolist(), self.scores.tolist(), self.reasons)  # type: ignore[arg-type]


class WindowEffectScorer:
    """Scores alleles by the windows around them.

    Parameters
    ----------
    model : MultiTaskModel
        A model.
    organism : str
        Task of the model, or a relative without data.

    Attributes
    ----------
    kinds : tuple of str
        What the effects are on: the score.
    sees_introns : bool
        False.
    n_records : int
        Records to score at a time.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.

    Notes
    -----
    The *zone* of an allele are the bases that it changes, in any representation; a deletion in a
    repeat has the whole repeat. With the model's length L, and m bases of the zone in one of the
    sequences, its window has L bases from L // 2 - m // 2 before the zone on, and N beyond the ends
    of the contig. So both windows have L bases. Of stranded features, the larger score of both
    strands counts.
    """

    kinds = ("score",)
    sees_introns = False
    n_records = 1024

    def __init__(self, model: MultiTaskModel, organism: str) -> None:
        model.weights([organism])  # an error if there are none
        self._model = model
        self.organism = organism

    def by_signal(self, genome: Genome, alleles: Alleles) -> list[WindowEffects]:
        """Score alleles of a genome.

        Parameters
        ----------
        genome : Genome
            Reference genome.
        alleles : Alleles
            Alleles to score, with positions on `genome`.
        """
        n, length = alleles.starts.size, self._model.length
        if not n:
            return [WindowEffects.of(np.zeros((0, 2)), [])]
        zones = alleles.zones(genome.codes)
        haplotypes = Haplotypes.of(genome, alleles, zones, length)
        starts = haplotypes.positions + length + zones[:, 1:] // 2 - length // 2
        strands = (False, True) if self._model.features.is_stranded else (False,)
        scores = [
            self._model.decision_function(
                Windows(
                    haplotypes.codes,
                    starts.ravel(),
                    length,
                    is_reverse=np.full(2 * n, is_reverse),
                ),
                self.organism,
            )
            for is_reverse in strands
        ]
        return [WindowEffects.of(np.max(scores, axis=0).reshape(n, 2), [""] * n)]


def score_changes(
    model: MultiTaskModel,
    genome: Genome,
    variants: Iterable[tuple[str, int, str, str]],
    organism: str,
) -> WindowEffects:
    """Score the windows around variants, with a model that needs no site.

    Parameters
    ----------
    model : MultiTaskModel
        A model.
    genome, variants, organism
        See :func:`~seqmtl.variant_effects.score_variants`.

    Returns
    -------
    WindowEffects
        One row per variant. Those that cannot be scored have NaN and a reason.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    """
    scorer = WindowEffectScorer(model, organism)
    scorable, reasons = AlleleList.of(genome, variants)
    (scored,) = scorer.by_signal(genome, scorable.alleles())
    scores = np.full((len(reasons), 2), np.nan)
    scores[[not reason for reason in reasons]] = scored.scores
    return WindowEffects.of(scores, reasons)
