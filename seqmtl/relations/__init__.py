"""Task kernels, computed from relations between tasks; names are imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqmtl.relations.distances import Distances
    from seqmtl.relations.task_kernel import TaskKernel
    from seqmtl.relations.trees import Tree, read_tree

__all__ = ["Distances", "TaskKernel", "Tree", "read_tree"]

_HOME = {"Distances": "distances", "TaskKernel": "task_kernel"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'seqmtl.relations' has no attribute {name!r}")
    return getattr(import_module(f"seqmtl.relations.{_HOME.get(name, 'trees')}"), name)
