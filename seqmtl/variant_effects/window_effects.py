"""Changes of the score of the window around an allele, for models without a site."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Genome, Windows
from seqmtl.variant_effects.alleles import Alleles
from seqmtl.variant_effects.effect_text import EffectText, ScoreText
from seqmtl.variant_effects.effects import AlleleScorer, Effects, Haplotypes, ranges


class WindowEffectScorer(AlleleScorer):
    """Scores alleles by the windows around them.

    Changes are those of the score, and `scores` those of the window, in both columns; there are no
    positions, strands or probabilities.

    Parameters
    ----------
    model : MultiTaskModel
        A model.
    organism : str
        Task of the model, or a relative without data.

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
    n_records = 1024

    def __init__(self, model: MultiTaskModel, organism: str) -> None:
        model.weights([organism])  # an error if there are none
        super().__init__(organism, flank=model.length, length=model.length)
        self._model = model

    def texts(self) -> list[EffectText]:
        """Return what formats the change of the score."""
        return [ScoreText(self.organism)]

    def _groups(self, alleles: Alleles, zones: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the range of all alleles."""
        return ranges(np.zeros((len(zones), 1), dtype=np.int64))

    def _score(
        self, genome: Genome, alleles: Alleles, haplotypes: Haplotypes, effects: list[Effects]
    ) -> None:
        """Score the windows around all alleles."""
        model, length = self._model, self._length
        lengths = haplotypes.zones[:, 1:]
        starts = haplotypes.positions + length + lengths // 2 - length // 2
        strands = (False, True) if model.features.is_stranded else (False,)
        scores = [
            model.decision_function(
                Windows(
                    haplotypes.codes,
                    starts.ravel(),
                    length,
                    is_reverse=np.full(starts.size, is_reverse),
                ),
                self.organism,
            )
            for is_reverse in strands
        ]
        of_windows = np.max(scores, axis=0).reshape(-1, 2)
        change = of_windows[:, 1] - of_windows[:, 0]
        effects[0].scores[:] = of_windows[:, np.newaxis]
        effects[0].changes[:] = np.maximum(np.column_stack([change, -change]), 0.0)
