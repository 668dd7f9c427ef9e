"""``seqmtl similarity``: a task kernel as a table and a figure."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds, _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import Request, option, python_function
from seqmtl.exceptions import UsageError
from seqmtl.files.write import check_outputs
from seqmtl.relations.kinds import MANUAL, SCALED

if TYPE_CHECKING:
    from seqmtl.relations import TaskKernel
    from seqmtl.relations.build import KernelRequest

logger = logging.getLogger("seqmtl")

_SOURCES = "--tree, --taxonomy, --alignment, --distances, --graph, --groups, --product"


@dataclass(frozen=True, kw_only=True)
class Similarity(Request):
    """Make the similarity of organisms from a tree, an alignment, distances, graphs or groups.

    For a model, it is the cosine of the weight vectors of every two organisms.
    """

    model: str | None = option(
        "model whose weights to compare with its task kernel and with the source",
        metavar="MODEL",
        is_positional=True,
    )
    similarity: str | None = option(
        "kind (see below) or table written by -o (default: depends on the source)",
        metavar="KIND|TSV",
        long_help=MANUAL,
    )
    organisms: tuple[str, ...] | None = option(
        "organisms, in this order and spelling (default: all)",
        metavar="A,B,...",
        kind=_kinds.names_list,
    )
    output: str | None = option(
        "-o", "table to write (default: print a summary)", metavar="TSV", affects_output=False
    )
    plot: str | None = _options.figure("figure")
    tree: str | None = _options.tree_option()
    taxonomy: str | None = _options.relation_option(
        "NCBI taxonomy: folder with nodes.dmp and names.dmp", metavar="DIR"
    )
    alignment: str | None = _options.relation_option(
        "aligned sequences, such as rRNA, named by organism", metavar="FASTA"
    )
    distances: str | None = _options.relation_option(
        "distances: square table, or lines of a, b, distance", metavar="TSV"
    )
    graph: tuple[str, ...] = _options.relation_option(
        "lines of a, b and an optional weight; may be repeated", metavar="FILE", is_repeated=True
    )
    groups: str | None = _options.relation_option(
        "lines of organism or group, its group, optional weight", metavar="TSV"
    )
    product: tuple[str, ...] = _options.relation_option(
        "tables to multiply, of the parts of names such as human_CTCF; to be repeated",
        metavar="TSV",
        is_repeated=True,
    )
    scales: tuple[float, ...] | None = _options.relation_option(
        f"scales of {' and '.join(SCALED)} (default: 1/4, 1, 4 times the median distance)",
        metavar="S,...",
        kind=_kinds.scales,
    )

    def run(self) -> TaskKernel:
        """Make the task kernel.

        Returns
        -------
        TaskKernel
            The similarities.
        """
        from seqmtl.files.write import write_lines
        from seqmtl.relations.build import kernel_request

        if self.product and self.similarity:
            raise UsageError("--product names all tables; give it alone, without --similarity")
        tables = (self.alignment, self.distances, self.groups, self.similarity)
        inputs = [self.model, self.tree, self.taxonomy, *tables, *self.graph, *self.product]
        check_outputs(inputs, [self.output, self.plot])
        relation = kernel_request(
            self.product or self.similarity,
            scales=self.scales,
            tree=self.tree,
            taxonomy=self.taxonomy,
            alignment=self.alignment,
            distances=self.distances,
            graph=self.graph,
            groups=self.groups,
        )
        kernel, others = self._of_model(relation) if self.model else (self._given(relation), None)
        if self.plot:
            from seqmtl._style import save_figure
            from seqmtl.relations.figure import draw_kernel

            tree = relation.read_tree(kernel.names) if relation and relation.has_tree else None
            save_figure(draw_kernel(kernel, tree, others), self.plot)
        if self.output:
            write_lines(self.output, [kernel.to_tsv()])
            several = f"{kernel.n_kernels} kernels" if kernel.n_kernels > 1 else "a kernel"
            what = f"{several} of {len(kernel)} organisms from {kernel.source}"
            logger.info("%s: %s", self.output, what)
        return kernel

    def _given(self, relation: KernelRequest | None) -> TaskKernel:
        """Return the kernel of a source."""
        from seqmtl.relations.build import check_tree

        if relation is None:
            raise UsageError(
                f"give one of {_SOURCES}, or --similarity TSV or individual with --organisms"
            )
        if relation.needs_organisms and self.organisms is None:
            raise UsageError(f"{relation.kind} does not list organisms; give --organisms")
        check_tree(relation, self.organisms or ())
        return relation.build(self.organisms)

    def _of_model(self, relation: KernelRequest | None) -> tuple[TaskKernel, TaskKernel]:
        """Return the similarity of the weights of a model, and the kernels to compare it with."""
        import numpy as np

        from seqmtl.linear_model.model import MultiTaskModel
        from seqmtl.relations import TaskKernel
        from seqmtl.relations.build import check_tree

        model = MultiTaskModel.load(str(self.model))
        weights = model.weight_similarity().restrict(self.organisms or model.tasks)
        kernels = [model.kernel.restrict(weights.names).scaled()]
        labels = ["K of the model"]
        if relation is not None:
            check_tree(relation, weights.names)
            kernels.append(relation.build(weights.names).scaled())
            labels.append(kernels[-1].source)
        pairs = np.triu_indices(len(weights), 1)
        for m, kernel in enumerate(kernels):
            first, second = weights.matrix[pairs], kernel.matrix[pairs]
            if first.size > 1 and np.ptp(first) > 0.0 and np.ptp(second) > 0.0:
                labels[m] += f", r = {np.corrcoef(first, second)[0, 1]:.2f}"
        logger.info("%s", "; ".join(labels))
        return weights, TaskKernel.join(kernels, "model", labels)


_TEXT = f"""\
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --similarity hierarchical -o K.tsv --plot K.png
  seqmtl similarity --alignment rrna.fasta --scales 0.05,0.2 -o K.tsv
  seqmtl similarity --graph a.tsv --graph b.tsv --similarity multigraph -o K.tsv
  seqmtl similarity --product species.tsv --product factors.tsv -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl
  seqmtl similarity splice.seqmtl --tree tree.nwk --plot learnt.png

{MANUAL}"""


def _show(request: Similarity, kernel: TaskKernel) -> str:
    return "" if request.output else f"{kernel}\n"


COMMAND = Command(Similarity, "print and draw the similarity of organisms", _TEXT, _show)

similarity = python_function(Similarity)
