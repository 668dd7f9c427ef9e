"""Evaluate scores: metrics with intervals, curves, calibration; independent of models."""

from seqmtl.evaluation.curves import draw_curves, draw_reliability
from seqmtl.evaluation.expected import calibration_error, expected_sites, failures
from seqmtl.evaluation.metrics import evaluate
from seqmtl.evaluation.tables import metrics_table, reliability_table, thresholds_table

__all__ = [
    "calibration_error",
    "draw_curves",
    "draw_reliability",
    "evaluate",
    "expected_sites",
    "failures",
    "metrics_table",
    "reliability_table",
    "thresholds_table",
]
