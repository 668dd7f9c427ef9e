"""One HTML file with its tables and figures inside: of a demo run, or of a folder of results."""

from seqmtl.report.contents import (
    Convergence,
    DemoReport,
    GenomeScan,
    OrganismData,
    ThresholdRow,
)
from seqmtl.report.demo_page import write_report
from seqmtl.report.folder_page import write_folder_report

__all__ = [
    "Convergence",
    "DemoReport",
    "GenomeScan",
    "OrganismData",
    "ThresholdRow",
    "write_folder_report",
    "write_report",
]
