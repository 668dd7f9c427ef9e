"""How good scores are: metrics with intervals, curves, calibration; knows scores and names only."""

from seqmtl.evaluation.curves import draw_curves, draw_reliability, plot_curves, plot_reliability
from seqmtl.evaluation.metrics import calibration_error, evaluate, weighted_auroc_auprc

__all__ = [
    "calibration_error",
    "draw_curves",
    "draw_reliability",
    "evaluate",
    "plot_curves",
    "plot_reliability",
    "weighted_auroc_auprc",
]
