"""Sequences: letters and codes, windows into an encoded buffer, encoded genomes."""

from seqmtl.sequences.alphabet import decode, encode, reverse_complement
from seqmtl.sequences.decoys import add_decoys
from seqmtl.sequences.genome import ContigTable, Genome
from seqmtl.sequences.task_array import TaskArray
from seqmtl.sequences.windows import Locator, RowNames, Windows, concatenate

__all__ = [
    "ContigTable",
    "Genome",
    "Locator",
    "RowNames",
    "TaskArray",
    "Windows",
    "add_decoys",
    "concatenate",
    "decode",
    "encode",
    "reverse_complement",
]
