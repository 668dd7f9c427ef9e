"""Make a task kernel: a table and a figure."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl import _kinds
from seqmtl.exceptions import UsageError
from seqmtl.files.outputs import check_outputs
from seqmtl.request import option, verb
from seqmtl.verbs import _options
from seqmtl.verbs._relations import Relations, check_tree

if TYPE_CHECKING:
    from seqmtl.similarity import TaskKernel

logger = logging.getLogger("seqmtl")

_SOURCES = "--tree, --taxonomy, --alignment, --distances, --graph, --groups"


@dataclass(frozen=True, kw_only=True)
class Similarity(Relations):
    """Make the similarity of organisms from a tree, an alignment, distances, graphs or groups."""

    similarity: str | None = option(
        "kind, see below, or task kernel as written by -o (default: depends on the source)",
        metavar="KIND|TSV",
    )
    organisms: tuple[str, ...] | None = option(
        "organisms, in this order and spelling (default: all)",
        metavar="A,B,...",
        kind=_kinds.names_list,
    )
    output: str | None = option(
        "-o", "table to write (default: print a summary)", metavar="TSV", role="how"
    )
    plot: str | None = _options.figure("figure")

    def run(self) -> TaskKernel:
        """Make the task kernel.

        Returns
        -------
        TaskKernel
            The similarities.
        """
        from seqmtl.files.atomic import write_lines

        check_outputs(self.output, self.plot)
        relation = self.relation(self.similarity)
        if relation is None:
            raise UsageError(
                f"give one of {_SOURCES}, or --similarity TSV or individual with --organisms"
            )
        if relation.needs_organisms and self.organisms is None:
            raise UsageError(f"{relation.kind} does not list organisms; give --organisms")
        check_tree(relation, self.organisms or ())
        kernel = relation.build(self.organisms)
        if self.plot:
            from seqmtl.evaluation.figures import save_figure
            from seqmtl.report.similarity_figure import draw_kernel

            tree = relation.read_tree(kernel.names) if relation.has_tree else None
            save_figure(draw_kernel(kernel, tree), self.plot)
        if self.output:
            write_lines(self.output, [kernel.to_tsv()])
            several = f"{kernel.n_kernels} kernels" if kernel.n_kernels > 1 else "a kernel"
            what = f"{several} of {len(kernel)} organisms from {kernel.source}"
            logger.info("%s: %s", self.output, what)
        return kernel


similarity = verb(Similarity)
