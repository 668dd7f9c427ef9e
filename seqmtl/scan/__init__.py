"""Score every position of a genome on both strands, as arrays or as files."""

from seqmtl.scan.filters import ScanSummary, SiteFilters
from seqmtl.scan.finder import BlockSites, SiteFinder
from seqmtl.scan.scanner import Scanner
from seqmtl.scan.sink import Track
from seqmtl.scan.writers import write_scan

__all__ = [
    "BlockSites",
    "ScanSummary",
    "Scanner",
    "SiteFilters",
    "SiteFinder",
    "Track",
    "write_scan",
]
