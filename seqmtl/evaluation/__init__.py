"""Evaluate scores: metrics with intervals, curves, calibration; independent of models."""

from seqmtl.evaluation.curves import draw_curves, plot_curves
from seqmtl.evaluation.expected import add_expected, expected_sites, reliability_table
from seqmtl.evaluation.metrics import evaluate, weighted_auroc_auprc
from seqmtl.evaluation.reliability import calibration_error, draw_reliability, plot_reliability

__all__ = [
    "add_expected",
    "calibration_error",
    "draw_curves",
    "draw_reliability",
    "evaluate",
    "expected_sites",
    "plot_curves",
    "plot_reliability",
    "reliability_table",
    "weighted_auroc_auprc",
]
