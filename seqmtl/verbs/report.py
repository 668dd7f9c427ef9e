"""Write a folder of results as one page."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl import _kinds
from seqmtl.files.outputs import check_outputs
from seqmtl.request import Request, option, required, verb

if TYPE_CHECKING:
    from seqmtl.reporting.folder import FolderContents

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Report(Request):
    """Summarize a folder of results as one HTML page."""

    folder: str = required("folder of results", metavar="DIR", is_positional=True)
    output: str = required(
        "-o", "page to write", metavar="HTML", kind=_kinds.path_of(".html", ".htm"), role="how"
    )
    title: str | None = option("heading (default: signals and organisms)")
    tree: str | None = option("tree to draw next to the similarity", metavar="NEWICK|NAME")
    annotation: tuple[tuple[str, str], ...] = option(
        "GFF3, GTF or BED12 to compare the introns of seqmtl annotate with; repeat for each "
        "organism",
        metavar="ORGANISM=FILE",
        kind=_kinds.named_path,
        is_repeated=True,
        default=(),
    )

    def run(self) -> FolderContents:
        """Write the page.

        Returns
        -------
        FolderContents
            What is on the page, and what is not, see :mod:`seqmtl.reporting.folder`.
        """
        check_outputs([self.tree, *dict(self.annotation).values()], [self.output])
        from seqmtl.reporting import write_folder_report

        contents = write_folder_report(
            self.folder,
            self.output,
            title=self.title,
            tree=self.tree,
            annotations=dict(self.annotation),
            command=self.command,
        )
        for introns in contents.introns.values():
            logger.info("%s", introns.sentence())
            if warning := introns.warning():
                logger.warning("%s", warning)
        for line in contents.left_out:
            logger.info("not shown: %s", line)
        logger.info("%s: open it in a browser", self.output)
        return contents


report = verb(Report)
