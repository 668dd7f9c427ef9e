"""Print and draw the similarity of organisms.

examples:
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --similarity hierarchical -o K.tsv --plot K.png
  seqmtl similarity --source alignment=rrna.fasta --similarity smooth:0.05,0.2 -o K.tsv
  seqmtl similarity --source graph=a.tsv --source graph=b.tsv --similarity multigraph -o K.tsv
  seqmtl similarity --source table=species.tsv --source table=factors.tsv -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl
  seqmtl similarity splice.seqmtl --tree tree.nwk --plot learnt.png

sources:
  taxonomy=FOLDER    NCBI taxonomy: nodes.dmp and names.dmp; name the --organisms
  alignment=FASTA    aligned sequences, such as rRNA, named by organism
  distances=TSV      square table, or lines of a, b, distance
  graph=FILE         lines of a, b and an optional weight
  groups=TSV         lines of organism or group, its group, optional weight
  table=TSV          table of the parts of names such as human_CTCF; several are multiplied

MANUAL
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl._checks import refuse
from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Request, option, python_function
from seqmtl.exceptions import UsageError
from seqmtl.files.write import check_outputs
from seqmtl.relations.kinds import MANUAL

if TYPE_CHECKING:
    from seqmtl.relations import TaskKernel
    from seqmtl.relations.build import KernelRequest

logger = logging.getLogger("seqmtl")

__doc__ = (__doc__ or "").replace("MANUAL", MANUAL)

_SOURCES = ("taxonomy", "alignment", "distances", "graph", "groups", "table")
_REPEATED = ("graph", "table")


def source(value: object) -> tuple[str, str]:
    """Take KIND=FILE, or the two of them."""
    name, path = _kinds.name_and_path(value)
    if name not in _SOURCES or not path:
        refuse("", f"KIND=FILE, with a kind of {', '.join(_SOURCES)}", value)
    return name, _kinds.text(path)


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
    source: tuple[tuple[str, str], ...] = _options.relation_option(
        f"another source, see below: one of {', '.join(_SOURCES)}; graphs and tables may be "
        "repeated",
        metavar="KIND=FILE",
        kind=source,
        is_repeated=True,
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

        of_source = {kind: [path for of, path in self.source if of == kind] for kind in _SOURCES}
        for kind, paths in of_source.items():
            if len(paths) > 1 and kind not in _REPEATED:
                raise UsageError(f"--source {kind} must be given once, got {len(paths)}")
        tables, graphs = of_source.pop("table"), of_source.pop("graph")
        if tables and self.similarity:
            raise UsageError("--source table=TSV names all tables; leave --similarity out")
        inputs = [self.model, self.tree, self.similarity, *(path for _, path in self.source)]
        check_outputs(inputs, [self.output, self.plot])
        relation = kernel_request(
            tables or self.similarity,
            tree=self.tree,
            graph=graphs,
            **{kind: paths[0] for kind, paths in of_source.items() if paths},
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
                "give --tree or --source, or --similarity TSV or individual with --organisms"
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

    def show(self, kernel: TaskKernel) -> str:
        """Show the task kernel, unless it has a file."""
        return "" if self.output else f"{kernel}\n"


similarity = python_function(Similarity)
