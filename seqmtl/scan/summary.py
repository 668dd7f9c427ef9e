"""What a scan went through, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from seqmtl.scan.site_block import SiteBlock


@dataclass
class BlockCounts:
    """What is counted block by block.

    Attributes
    ----------
    n_scored, n_mixed : int
        Windows scored, both strands counted, and those of them that hold a letter other than A,
        C, G, T.
    n_candidates : int
        Sites with the letters asked for, before any filter.
    removed : dict of str to int
        Candidates that each filter took away, in the order in which they are applied.
    n_reported : int
        Sites left.
    """

    n_scored: int = 0
    n_mixed: int = 0
    n_candidates: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    n_reported: int = 0

    @classmethod
    def of(cls, strands: Sequence[SiteBlock]) -> BlockCounts:
        """Count the sites of a block."""
        counts = cls()
        for sites in strands:
            one = cls(
                sites.n_scored, sites.n_mixed, sites.n_candidates, dict(sites.removed),
                sites.starts.size,
            )  # fmt: skip
            counts.add(one)
        return counts

    def add(self, other: BlockCounts) -> None:
        """Add the counts of another block."""
        self.n_scored += other.n_scored
        self.n_mixed += other.n_mixed
        self.n_candidates += other.n_candidates
        self.n_reported += other.n_reported
        for reason, n in other.removed.items():
            self.removed[reason] = self.removed.get(reason, 0) + n

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)


@dataclass
class ScanSummary(BlockCounts):
    """What a scan went through.

    Attributes
    ----------
    n_contigs, n_bases : int
        Contigs scanned and their bases.
    n_records : int
        Lines or values written, the header aside.
    longest_contig : int
        Bases of the longest contig scanned.
    short_contigs : list of str
        Contigs shorter than a window; nothing is reported on them.
    n_contigs_left_out : int
        Contigs that were not asked for, or have none of the regions.

    Notes
    -----
    Beside these, the attributes of :class:`BlockCounts`, summed up.
    """

    n_contigs: int = 0
    n_bases: int = 0
    n_records: int = 0
    longest_contig: int = 0
    short_contigs: list[str] = field(default_factory=list)
    n_contigs_left_out: int = 0
