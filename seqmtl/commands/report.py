"""Summarize a folder of results as one HTML page.

examples:
  seqmtl report results -o report.html
  seqmtl report mosquito --annotation mosquito=old.gff3 -o report.html

The report shows what commands wrote in DIR: datasets (seqmtl dataset), models (*.seqmtl),
evaluations (seqmtl evaluate --json, with the picture of --plot beside it, on the test regions of
datasets; also of models of seqmtl pair) and introns (seqmtl annotate; also how many of them are in
--annotation). It scores nothing. The details are those of one model that shares information between
organisms: the default of seqmtl train if present. Test labels play no part in this choice; seqmtl
info has its trust, costs and settings. The page is a single file that needs no network; it links to
the files in DIR. A genome browser shows introns and tracks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds
from seqmtl.commands._request import Request, option, python_function, required
from seqmtl.files.write import check_outputs

if TYPE_CHECKING:
    from seqmtl.reporting.contents import FolderContents


@dataclass(frozen=True, kw_only=True)
class Report(Request):
    """Summarize a folder of results as one HTML page."""

    folder: str = required("folder of results", metavar="DIR", is_positional=True)
    output: str = required(
        "-o",
        "page to write",
        metavar="HTML",
        kind=_kinds.path_of(".html", ".htm"),
        affects_output=False,
    )
    annotation: tuple[tuple[str, str], ...] = option(
        "GFF3, GTF or BED12 to compare the introns of seqmtl annotate with; repeat for each "
        "organism",
        metavar="ORGANISM=FILE",
        kind=_kinds.named_path,
        is_repeated=True,
    )

    def run(self) -> FolderContents:
        """Write the page.

        Returns
        -------
        FolderContents
            What is on the page, and what is not, see :mod:`seqmtl.reporting.contents`.
        """
        check_outputs([*dict(self.annotation).values()], [self.output])
        from seqmtl.reporting import write_folder_report

        return write_folder_report(
            self.folder, self.output, annotations=dict(self.annotation), command=self.command
        )


report = python_function(Report)
