"""Simulate genomes whose splice sites, promoters and codons drift along the branches of a tree."""

from seqmtl.simulate.simulation import Simulation, simulate
from seqmtl.simulate.trees import default_tree
from seqmtl.simulate.writing import write_simulation

__all__ = ["Simulation", "default_tree", "simulate", "write_simulation"]
