"""A model that scores each site alone, or each window, as a scan sees it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from seqmtl.exceptions import UsageError
from seqmtl.linear_model.base import is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.scanning.filters import SiteFilters
from seqmtl.scanning.finder import (
    SiteFinder,
    WindowFinder,
    calibration_of,
    finder_of,
    scanner_of,
)

#: Formats with a value for every window.
_TRACKS = ("bigwig", "bedgraph")

logger = logging.getLogger(__name__)


class UnpairedSites:
    """Sites or windows that are scored alone; a :class:`seqmtl.scanning.plan.SiteModel`.

    Parameters
    ----------
    model : MultiTaskModel
        The model.
    consensus : str, optional
        Letters of the sites, or any. Default: those of the training windows.

    Raises
    ------
    UsageError
        If there is a consensus, and the model has no site.
    """

    has_introns = False

    def __init__(self, model: MultiTaskModel, consensus: str | None = None) -> None:
        if model.is_sliding and consensus is not None:
            raise UsageError("is for models of sites; this one has none, leave it out", "consensus")
        self.model = model
        self.consensus = consensus
        self.is_stranded = not model.is_sliding or model.features.is_stranded

    @property
    def tasks(self) -> tuple[str, ...]:
        """The organisms of the model."""
        return self.model.tasks

    def unsupported(self, file_format: str) -> Mapping[str, str]:
        """Return no option: all apply."""
        return {}

    def check(self, organism: str) -> None:
        """Check that an organism can be scored, and log its relatives if it has no data."""
        self.model.log_relatives([organism])
        self.model.log_odds_of(organism)  # an error if there are no probabilities

    def signals(self, organism: str, file_format: str) -> tuple[str, ...]:
        """Return one signal, whose name is not in the names of files."""
        return ("",)

    def is_calibrated(self, organism: str) -> bool:
        """Return whether the organism was calibrated."""
        model = self.model
        return is_known(organism, model.tasks) and model.match(organism) in model.curves

    def warn_if_uncalibrated(self, organism: str) -> None:
        """Log what the probabilities of an organism are, unless it was calibrated."""
        if not is_known(organism, self.tasks):
            logger.info(
                "%s: probabilities are the weighted mean log-odds of its relatives, at their "
                "prevalence; use them to rank sites (--top), not as precision",
                organism,
            )
        elif not self.is_calibrated(organism):
            logger.warning(
                "%s is not calibrated: probabilities assume the %.2g %% true sites of the training "
                "windows; %s",
                organism,
                100 * self.model.prevalence(organism),
                "use them to rank" if self.model.is_sliding else "run seqmtl calibrate",
            )

    def finder(
        self,
        organism: str,
        file_format: str,
        *,
        filters: SiteFilters,
        introns: float | None = None,
    ) -> SiteFinder:
        """Return the finder of the sites of an organism, or of windows if there is no site."""
        model = self.model
        if model.is_sliding:
            return WindowFinder(
                scanner_of(model, organism, site=Site(model.length // 2, 1, "")),
                is_stranded=self.is_stranded,
                with_all=file_format in _TRACKS,
                filters=filters,
                **calibration_of(model, organism),
            )
        site = self._site()
        return finder_of(model, organism, site=site, filters=filters)

    def _site(self) -> Site:
        """Return the site to report: its letters are those of the training windows by default."""
        site, consensus = self.model.site, self.consensus
        if consensus is None:
            if site.letters:
                logger.info(
                    "reporting only sites with the letters %s, as in the training data; "
                    "use --consensus any to report every position",
                    site.letters,
                )
            return site
        if consensus.lower() == "any":
            return replace(site, letters="")
        sequences = {sequence.strip() for sequence in consensus.upper().split(",")}
        if site.letters and not sequences <= {*site.consensus}:
            logger.warning(
                "the training windows have %s at the site, but --consensus is %s",
                site.letters,
                consensus,
            )
        length = len(consensus.split(",")[0].strip())
        if not length:
            raise UsageError(f"must be letters such as AG, or any, got {consensus!r}", "consensus")
        return replace(site, length=length, letters=consensus)
