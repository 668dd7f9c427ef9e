"""Counts of a scan."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.sites import Sites


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
        self.n_scored += other.n_scored
        self.n_mixed += other.n_mixed
        self.n_candidates += other.n_candidates
        self.n_reported += other.n_reported
        for reason, n in other.removed.items():
            self.removed[reason] = self.removed.get(reason, 0) + n

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return asdict(self)


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
