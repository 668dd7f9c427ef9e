"""``seqmtl simulate``: related genomes with known sites."""

from seqmtl.cli._command import Command
from seqmtl.verbs.simulate import Simulate

_TEXT = """\
  seqmtl simulate -o simulated --seed 1
  seqmtl simulate --tree tree.nwk -o simulated --signal donor --windows 500"""

COMMAND = Command(
    Simulate, "simulate genomes related by a tree, with sites whose motifs drift", _TEXT
)
