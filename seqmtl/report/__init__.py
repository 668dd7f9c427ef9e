"""The page that a demo run leaves behind: one HTML file with its tables and figures inside."""

from seqmtl.report.contents import (
    Convergence,
    DemoReport,
    GenomeScan,
    OrganismData,
    ThresholdRow,
)
from seqmtl.report.demo_page import write_report

__all__ = [
    "Convergence",
    "DemoReport",
    "GenomeScan",
    "OrganismData",
    "ThresholdRow",
    "write_report",
]
