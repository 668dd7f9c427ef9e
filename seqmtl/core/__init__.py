"""Optimisation: arrays in, arrays out; nothing here knows of DNA, files or names of tasks."""

from seqmtl.core.problem import Problem
from seqmtl.core.solver import solve

__all__ = ["Problem", "solve"]
