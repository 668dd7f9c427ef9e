"""Relations between tasks to matrices: who may borrow from whom, and how much."""

from seqmtl.similarity.task_kernel import TaskKernel

__all__ = ["TaskKernel"]
