"""Task kernels, computed from relations between tasks."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.relations.distances import Distances
    from seqmtl.relations.task_kernel import TaskKernel
    from seqmtl.relations.trees import Tree, read_tree

__all__ = ["Distances", "TaskKernel", "Tree", "read_tree"]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.relations.distances": "Distances",
        "seqmtl.relations.task_kernel": "TaskKernel",
        "seqmtl.relations.trees": "Tree read_tree",
    },
)
