"""Evaluate scores: metrics with intervals, curves, calibration; independent of models."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl._style import save_figure
    from seqmtl.evaluation.curves import draw_curves, draw_reliability
    from seqmtl.evaluation.expected import add_expected, calibration_error, expected_sites, failures
    from seqmtl.evaluation.metrics import evaluate
    from seqmtl.evaluation.tables import metrics_table, reliability_table, thresholds_table

__all__ = [
    "add_expected",
    "calibration_error",
    "draw_curves",
    "draw_reliability",
    "evaluate",
    "expected_sites",
    "failures",
    "metrics_table",
    "reliability_table",
    "save_figure",
    "thresholds_table",
]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl._style": "save_figure",
        "seqmtl.evaluation.curves": "draw_curves draw_reliability",
        "seqmtl.evaluation.expected": "add_expected calibration_error expected_sites failures",
        "seqmtl.evaluation.metrics": "evaluate",
        "seqmtl.evaluation.tables": "metrics_table reliability_table thresholds_table",
    },
)
