"""Filters of sites; counts of what they remove."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_number
from seqmtl.exceptions import ParameterError
from seqmtl.io.genome import ContigPiece
from seqmtl.sequences.sites import Sites

#: Size of the bins that report their best sites, in bases.
TOP_BASES = 1_000_000

Regions = Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class SiteFilters:
    """Filters of sites, applied in the order of this list.

    A filter is a field, a step of :meth:`by_position` or :meth:`by_score`, and its
    :attr:`descriptions`.

    Parameters
    ----------
    regions : mapping of str to (starts, ends), optional
        Keep sites whose interval starts in one of these, see
        :func:`seqmtl.io.bed.read_regions`; contigs without a region are not scanned.
    threshold : float, optional
        Minimum score.
    min_probability : float, optional
        Minimum probability.
    top : int, optional
        Keep at most this many sites in every megabase, over both strands; ties go to the one that
        starts first, plus before minus.

    Raises
    ------
    ValueError
        If `top` is below 1, or `min_probability` is not between 0 and 1.
    """

    regions: Regions | None = None
    threshold: float | None = None
    min_probability: float | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ParameterError(f"must be at least 1, got {self.top}", "top")
        if self.min_probability is not None:
            check_number("min_probability", self.min_probability, min_val=0, max_val=1)

    @property
    def scanned(self) -> Collection[str] | None:
        """Contigs that have a region, if there are regions; None for all."""
        return None if self.regions is None else {*self.regions}

    @property
    def descriptions(self) -> list[str]:
        """What is reported, for the header of a file."""
        descriptions = []
        if self.regions is not None:
            descriptions.append("sites that start in given regions")
        if self.threshold is not None:
            descriptions.append(f"raw score >= {self.threshold:g}")
        if self.min_probability is not None:
            descriptions.append(f"probability >= {self.min_probability:g}")
        if self.top is not None:
            descriptions.append(f"the best {self.top} in every megabase")
        return descriptions

    def by_position(self, sites: Sites, contig: ContigPiece, counts: ScanSummary) -> Sites:
        """Return the sites that pass, before they are scored; count the others."""
        if self.regions is not None:
            sites = counts.keep("regions", sites, self._in_regions(contig.name, sites.starts))
        return sites

    def by_score(
        self,
        sites: Sites,
        probability: Callable[[Sites], NDArray[np.float64]],
        counts: ScanSummary,
    ) -> Sites:
        """Return the sites that pass by their ``scores`` or probability; count the others."""
        if self.threshold is not None:
            sites = counts.keep("threshold", sites, sites["scores"] >= self.threshold)
        if self.min_probability is not None:
            is_probable = probability(sites) >= self.min_probability
            sites = counts.keep("min_probability", sites, is_probable)
        if self.top is not None:
            sites = counts.keep("top", sites, is_among_best(sites, self.top))
        return sites

    def _in_regions(self, contig: str, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sites start in a region."""
        assert self.regions is not None
        if contig not in self.regions:
            return np.zeros(starts.size, dtype=bool)
        begins, ends = self.regions[contig]
        before = np.searchsorted(begins, starts, side="right") - 1
        return (before >= 0) & (starts < ends[np.maximum(before, 0)])


def is_among_best(sites: Sites, top: int) -> NDArray[np.bool_]:
    """Return which sites have the best scores of their bins; bins are complete."""
    bins = sites.starts // TOP_BASES
    order = np.lexsort((sites.is_reverse, sites.starts, -sites["scores"], bins))
    ordered = bins[order]
    heads = np.searchsorted(ordered, ordered, side="left")
    passing = np.zeros(len(sites), dtype=bool)
    passing[order[np.arange(len(sites)) - heads < top]] = True
    return passing


@dataclass
class ScanSummary:
    """Counts of a scan, or of a block of it.

    Attributes
    ----------
    n_scored, n_mixed : int
        Windows scored on both strands, and those among them with a letter other than A, C, G, T.
    n_candidates : int
        Sites with the consensus, before any filter.
    removed : dict of str to int
        Candidates removed by each filter, in the order of application.
    n_reported : int
        Sites that remain.
    n_contigs, n_bases : int
        Contigs scanned and their bases.
    n_records : int
        Lines or values written, without the header.
    written : dict of str to int
        Those that are sites, introns, or values of tracks.
    longest_contig : int
        Bases of the longest contig scanned.
    short_contigs : list of str
        Contigs shorter than a window, which have no sites.
    n_contigs_excluded : int
        Contigs that have no region.
    """

    n_scored: int = 0
    n_mixed: int = 0
    n_candidates: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    n_reported: int = 0
    n_contigs: int = 0
    n_bases: int = 0
    n_records: int = 0
    written: dict[str, int] = field(default_factory=dict)
    longest_contig: int = 0
    short_contigs: list[str] = field(default_factory=list)
    n_contigs_excluded: int = 0

    def keep(self, reason: str, sites: Sites, passing: NDArray[np.bool_]) -> Sites:
        """Return the sites that pass a filter, and count the others."""
        n_removed = int(np.count_nonzero(~passing))
        self.removed[reason] = self.removed.get(reason, 0) + n_removed
        return sites.take(passing)

    def add(self, block: ScanSummary) -> None:
        """Add the counts of a block."""
        for name in ("n_scored", "n_mixed", "n_candidates", "n_reported"):
            setattr(self, name, getattr(self, name) + getattr(block, name))
        for reason, n in block.removed.items():
            self.removed[reason] = self.removed.get(reason, 0) + n
