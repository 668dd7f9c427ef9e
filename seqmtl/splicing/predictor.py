"""Predictor of introns: both ends are scored with their partners."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from seqmtl.exceptions import UsageError
from seqmtl.files.pipes import is_read_once
from seqmtl.io.genome import ContigPiece
from seqmtl.io.junctions import IntronChain
from seqmtl.scanning.filters import SiteFilters
from seqmtl.scanning.predictor import Predictor
from seqmtl.scanning.writers.formats import Format
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.judging import JudgedChain, judge_introns
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.new_organism import (
    add_unlabelled,
    check_new,
    log_expectation,
    log_warnings,
    with_relatives,
)

if TYPE_CHECKING:
    from seqmtl.variant_effects.effects import AlleleScorer

logger = logging.getLogger(__name__)


class IntronPredictor(Predictor):
    """Introns of an organism.

    On the genome of a new organism it is settled how much each relative counts, and what is learnt
    without rounds: lengths, and how rare some kinds of introns are.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism, or no organism or clade has the name `like`.
    UsageError
        If the model has the organism, and `like` is given.
    """

    has_introns = True

    def _check(self, model: PairedModel) -> None:
        if self.like is None:
            model.match(self.organism)
        else:
            check_new(model, self.organism, self.like)
        self._base = model

    @cached_property
    def model(self) -> PairedModel:  # type: ignore[override]
        """The model with the organism."""
        if self.like is None:
            return self._base
        if self.genome is None:
            return with_relatives(self._base, self.organism, self.like)
        model = add_unlabelled(self._base, self.organism, self.genome, self.like).paired()
        log_warnings(self.organism, model.training["unlabelled"][self.organism])
        return model

    def check(self, options: Collection[str], file_format: Format) -> None:
        """Check that the options apply, and the genome of a new organism can be read twice."""
        if "threshold" in options:
            raise UsageError("--threshold is not for a model of seqmtl pair; leave it out")
        is_of_introns = file_format.has_introns and not file_format.has_several_files
        if "top" in options and not is_of_introns:
            raise UsageError(
                "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
                "choose sites by --min-probability"
            )
        if self.genome is not None and self.like is not None and is_read_once(self.genome):
            raise UsageError(
                "--like with a model of seqmtl pair first reads the whole genome, so it cannot "
                "come from standard input or a pipe; give it as a file"
            )

    def signals(self, file_format: Format) -> tuple[str, ...]:
        """Return both ends of introns, and edges of genes that have models."""
        if file_format.is_together or self.like is not None:
            return ENDS
        return tuple(self.model.signals_of(self.organism))

    @cached_property
    def _all_candidates(self) -> PairedFinder:
        return self.finder()

    def judge(self, contig: ContigPiece, chains: Sequence[IntronChain]) -> Iterator[JudgedChain]:
        """Judge given introns, see :func:`seqmtl.splicing.judging.judge_introns`."""
        return judge_introns(self._all_candidates, contig, chains)

    def finder(
        self,
        file_format: Format | None = None,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
    ) -> PairedFinder:
        """Return the finder of the introns and their ends; a new organism is added first."""
        if file_format is not None and self.like is not None and self.genome is not None:
            log_expectation(self.organism, self.model.training["unlabelled"][self.organism])
            logger.info("%s: seqmtl annotate learns from the genome, and finds more", self.organism)
        signals = None if file_format is None else self.signals(file_format)
        return PairedFinder(
            self.model, self.organism, filters=filters, introns=introns, signals=signals
        )

    def allele_scorer(self) -> AlleleScorer:
        """Return what compares alleles by sites and their partners, introns and exons."""
        from seqmtl.variant_effects.paired_effects import PairedEffectScorer

        return PairedEffectScorer(self.model, self.organism)
