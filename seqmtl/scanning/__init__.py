"""Score every position of a genome on both strands, as arrays or as files."""

from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.finder import SiteFinder
from seqmtl.scanning.scan import write_scan
from seqmtl.scanning.scanner import Scanner
from seqmtl.scanning.writers.base import TrackOptions

__all__ = [
    "ScanSummary",
    "Scanner",
    "SiteFilters",
    "SiteFinder",
    "TrackOptions",
    "write_scan",
]
