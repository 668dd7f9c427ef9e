"""Optimisation: arrays in, arrays out; nothing here knows of DNA, files or names of tasks."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.core.problem import Problem
    from seqmtl.core.solver import solve

__all__ = ["Problem", "solve"]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.core.problem": "Problem",
        "seqmtl.core.solver": "solve",
    },
)
