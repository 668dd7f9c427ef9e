"""Sequences: letters and codes, windows into an encoded buffer, encoded genomes."""

from seqmtl.sequences.alphabet import decode, encode, reverse_complement
from seqmtl.sequences.genome import ContigTable, Genome
from seqmtl.sequences.task_array import TaskArray
from seqmtl.sequences.windows import Locator, Windows, concatenate

__all__ = [
    "ContigTable",
    "Genome",
    "Locator",
    "TaskArray",
    "Windows",
    "concatenate",
    "decode",
    "encode",
    "reverse_complement",
]
