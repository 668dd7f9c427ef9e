"""Sequences: letters and codes, windows into an encoded buffer, encoded genomes."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
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

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.sequences.alphabet": "decode encode reverse_complement",
        "seqmtl.sequences.genome": "ContigTable Genome",
        "seqmtl.sequences.task_array": "TaskArray",
        "seqmtl.sequences.windows": "Locator Windows concatenate",
    },
)
