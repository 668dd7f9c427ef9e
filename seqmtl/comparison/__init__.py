"""Compare methods on the same splits of the same windows: draw, run, tabulate, plot."""

from seqmtl.comparison.protocol import draw_split
from seqmtl.comparison.results import Result
from seqmtl.comparison.runs import Comparison, run_comparison

__all__ = [
    "Comparison",
    "Result",
    "draw_split",
    "run_comparison",
]
