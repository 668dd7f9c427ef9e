"""Report a folder of results as one HTML file with tables and figures."""

from seqmtl.reporting.page import write_folder_report

__all__ = ["write_folder_report"]
