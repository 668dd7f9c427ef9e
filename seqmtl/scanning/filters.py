"""Filters of sites other than consensus and minimum score; counts of what they remove."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_number
from seqmtl.io.genome import ContigPiece
from seqmtl.sequences.sites import Sites

#: Size of the bins that report their best sites, in bases.
TOP_BASES = 1_000_000

Regions = Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
#: Returns which sites pass, given a part of the contig, their starts and their length.
PositionFilter = Callable[[ContigPiece, NDArray[np.int64], int], NDArray[np.bool_]]


@dataclass(frozen=True)
class SiteFilters:
    """Filters of sites, applied in the order of this list.

    Parameters
    ----------
    contigs : collection of str, optional
        Contigs to scan. Default: all.
    regions : mapping of str to (starts, ends), optional
        Keep sites whose interval starts in one of these, see
        :func:`seqmtl.io.rows.read_regions`; contigs without a region are not scanned.
    skip_lower : bool
        Drop sites that overlap a lower-case (soft-masked) letter.
    min_probability : float, optional
        Minimum probability.
    top : int, optional
        Keep at most this many sites in every bin of :data:`TOP_BASES` bases of a contig, over
        both strands; ties go to the one that starts first, plus before minus.

    Raises
    ------
    ValueError
        If `top` is below 1, or `min_probability` is not between 0 and 1.
    """

    contigs: Collection[str] | None = None
    regions: Regions | None = None
    skip_lower: bool = False
    min_probability: float | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ValueError(f"top must be at least 1, got {self.top}")
        if self.min_probability is not None:
            check_number("min_probability", self.min_probability, min_val=0, max_val=1)

    @property
    def scanned(self) -> Collection[str] | None:
        """Selected contigs that have a region, if there are regions; None for all."""
        if self.regions is None:
            return self.contigs
        return {name for name in self.regions if self.contigs is None or name in self.contigs}

    @property
    def of_positions(self) -> dict[str, PositionFilter]:
        """The filters that depend on the position of a site alone, by their reason."""
        filters: dict[str, PositionFilter] = {}
        if self.regions is not None:
            filters["regions"] = self._in_regions
        if self.skip_lower:
            filters["softmask"] = _is_upper
        return filters

    def _in_regions(
        self, piece: ContigPiece, starts: NDArray[np.int64], length: int
    ) -> NDArray[np.bool_]:
        """Return which sites start in a region."""
        assert self.regions is not None
        if piece.name not in self.regions:
            return np.zeros(starts.size, dtype=bool)
        begins, ends = self.regions[piece.name]
        before = np.searchsorted(begins, starts, side="right") - 1
        return (before >= 0) & (starts < ends[np.maximum(before, 0)])


class IntronFilter(NamedTuple):
    """The shortest introns of an organism, and the minimum probability to report them."""

    min_length: int
    min_probability: float


def _is_upper(piece: ContigPiece, starts: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Return which sites overlap no lower-case letter."""
    if piece.is_lower is None:
        raise ValueError("the pieces must record lower case; read them with keep_case=True")
    is_lower = np.zeros(starts.size, dtype=bool)
    for k in range(length):
        is_lower |= piece.is_lower[starts - piece.start + k]
    return ~is_lower


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
class BlockCounts:
    """Counts per block.

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
    """

    n_scored: int = 0
    n_mixed: int = 0
    n_candidates: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    n_reported: int = 0

    def keep(self, reason: str, sites: Sites, passing: NDArray[np.bool_]) -> Sites:
        """Return the sites that pass a filter, and count the others."""
        n_removed = int(np.count_nonzero(~passing))
        self.removed[reason] = self.removed.get(reason, 0) + n_removed
        return sites.take(passing)

    def add(self, other: BlockCounts) -> None:
        """Add the counts of another block."""
        for name in ("n_scored", "n_mixed", "n_candidates", "n_reported"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for reason, n in other.removed.items():
            self.removed[reason] = self.removed.get(reason, 0) + n


@dataclass
class ScanSummary(BlockCounts):
    """Counts of a scan.

    Attributes
    ----------
    n_contigs, n_bases : int
        Contigs scanned and their bases.
    n_records : int
        Lines or values written, without the header.
    longest_contig : int
        Bases of the longest contig scanned.
    short_contigs : list of str
        Contigs shorter than a window, which have no sites.
    n_contigs_left_out : int
        Contigs that were not selected, or have no region.

    Notes
    -----
    The attributes of :class:`BlockCounts` are sums over blocks.
    """

    n_contigs: int = 0
    n_bases: int = 0
    n_records: int = 0
    longest_contig: int = 0
    short_contigs: list[str] = field(default_factory=list)
    n_contigs_left_out: int = 0
