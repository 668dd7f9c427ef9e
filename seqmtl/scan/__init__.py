"""From a genome to scored windows: every position of both strands, as arrays, BED or bedGraph."""

from seqmtl.scan.scanner import Scanner
from seqmtl.scan.sites import SiteFinder
from seqmtl.scan.writers import ScanSummary, write_scan

__all__ = ["ScanSummary", "Scanner", "SiteFinder", "write_scan"]
