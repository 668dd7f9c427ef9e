"""A model of both ends of introns, as a scan sees it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from seqmtl.exceptions import UsageError
from seqmtl.files.pipes import is_read_once
from seqmtl.linear_model.base import is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.filters import SiteFilters
from seqmtl.scanning.plan import SiteModel
from seqmtl.scanning.unpaired_sites import UnpairedSites
from seqmtl.scanning.writers.formats import WRITERS
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.new_organism import add_unlabelled, log_warnings

logger = logging.getLogger(__name__)


class NewOrganism(NamedTuple):
    """An organism that a paired model lacks, and is added to it by its genome.

    Attributes
    ----------
    genome : str
        Its genome, a FASTA file.
    like : str
        Its relative, or auto.
    tree : str, optional
        Where the relative is looked up.
    """

    genome: str
    like: str
    tree: str | None


class PairedSites:
    """Sites that are scored with their partners; a :class:`seqmtl.scanning.plan.SiteModel`.

    Parameters
    ----------
    model : PairedModel
        The model.
    new_organism : NewOrganism, optional
        How an organism is added that the model lacks.
    """

    has_introns = is_stranded = True

    def __init__(self, model: PairedModel, new_organism: NewOrganism | None = None) -> None:
        self.model = model
        self.new_organism = new_organism

    @property
    def tasks(self) -> tuple[str, ...]:
        """The organisms of the model."""
        return self.model.tasks

    def unsupported(self, file_format: str) -> Mapping[str, str]:
        """Return the options that do not apply, with a message for each."""
        messages = {
            name: f"--{name} is not for a model of seqmtl pair; leave it out"
            for name in ("consensus", "threshold")
        }
        if file_format != "introns":
            messages["top"] = (
                "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
                "choose sites by --min-probability"
            )
        return messages

    def check(self, organism: str) -> None:
        """Check that an organism is in the model, or can be added."""
        if not self._is_new(organism):
            self.model.match(organism)
        elif self.new_organism is not None and is_read_once(self.new_organism.genome):
            raise UsageError(
                "--like with a model of seqmtl pair first reads the whole genome, so it cannot "
                "come from standard input or a pipe; give it as a file"
            )

    def signals(self, organism: str, file_format: str) -> tuple[str, ...]:
        """Return both ends of introns, and edges of genes that have models."""
        is_of_introns = file_format != "all" and WRITERS[file_format].is_together
        if is_of_introns or self._is_new(organism):
            return ENDS
        return tuple(self.model.signals_of(organism))

    def is_calibrated(self, organism: str) -> bool:
        """Return True: the chain has probabilities of every organism."""
        return True

    def warn_if_uncalibrated(self, organism: str) -> None:
        """Do nothing."""

    def finder(
        self,
        organism: str,
        file_format: str,
        *,
        filters: SiteFilters,
        introns: float | None = None,
    ) -> PairedFinder:
        """Return the finder of the sites of an organism, which is first added if it is new."""
        signals = self.signals(organism, file_format)
        model = self._with_new(organism) if self._is_new(organism) else self.model
        return PairedFinder(model, organism, filters=filters, introns=introns, signals=signals)

    def _is_new(self, organism: str) -> bool:
        return self.new_organism is not None and not is_known(organism, self.tasks)

    def _with_new(self, organism: str) -> PairedModel:
        """Return the model with a new organism, and log what was expected in its genome."""
        assert self.new_organism is not None
        self_training = add_unlabelled(self.model, organism, *self.new_organism)
        model = self_training.paired()
        log_warnings(organism, model.training["unlabelled"][organism])
        logger.info("%s: seqmtl annotate learns from the genome, and finds more", organism)
        return model


def site_model(
    model: MultiTaskModel | PairedModel,
    consensus: str | None = None,
    new_organism: NewOrganism | None = None,
) -> SiteModel:
    """Return a model as a scan sees it.

    See :class:`PairedSites` and :class:`UnpairedSites`.
    """
    if isinstance(model, PairedModel):
        return PairedSites(model, new_organism)
    return UnpairedSites(model, consensus)
