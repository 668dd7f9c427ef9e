"""Report a folder of results as one HTML file with tables and figures."""

from seqmtl.reporting.contents import FolderContents
from seqmtl.reporting.page import write_folder_report, write_page

__all__ = ["FolderContents", "write_folder_report", "write_page"]
