"""Score every position of a genome on both strands, as arrays or as files."""

from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.finder import BlockSites, SiteFinder
from seqmtl.scanning.scanner import Scanner
from seqmtl.scanning.sink import Track
from seqmtl.scanning.writers import write_scan

__all__ = [
    "BlockSites",
    "ScanSummary",
    "Scanner",
    "SiteFilters",
    "SiteFinder",
    "Track",
    "write_scan",
]
