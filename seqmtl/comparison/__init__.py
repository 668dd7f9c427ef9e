"""Compare methods on the same splits of the same windows: draw, run, tabulate, plot."""

from seqmtl.comparison.protocol import Protocol, Split, draw_split
from seqmtl.comparison.results import Result
from seqmtl.comparison.runs import Comparison, run_comparison

__all__ = [
    "Comparison",
    "Protocol",
    "Result",
    "Split",
    "draw_split",
    "run_comparison",
]
