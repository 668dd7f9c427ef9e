"""Simulate genomes whose splice sites, promoters and codons drift along the branches of a tree."""

from seqmtl.simulation.simulation import Simulation, simulate
from seqmtl.simulation.trees import default_tree
from seqmtl.simulation.writing import write_simulation

__all__ = ["Simulation", "default_tree", "simulate", "write_simulation"]
