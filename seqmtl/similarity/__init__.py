"""Task kernels, computed from relations between tasks."""

from seqmtl.similarity.distances import Distances
from seqmtl.similarity.task_kernel import TaskKernel
from seqmtl.similarity.trees import Tree, read_tree

__all__ = ["Distances", "TaskKernel", "Tree", "read_tree"]
