"""A folder of results as one HTML file with its tables and figures inside."""

from seqmtl.report.page import write_folder_report

__all__ = ["write_folder_report"]
