"""``seqmtl calibrate``: turn scores into probabilities, using held-out candidates or windows."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.verbs.calibrate import Calibrate

_TEXT = """\
  seqmtl calibrate splice.seqmtl dataset -o calibrated.seqmtl --plot reliability.png
  seqmtl calibrate splice.seqmtl windows.tsv.gz --prevalence 0.002 -o calibrated.seqmtl

For the `seqmtl dataset` folder that the model was trained on, every candidate of the validation and
training regions is scored (such as every GT, on both strands), so probabilities hold genome-wide.
Candidates of training regions are scored by models with the same hyperparameters, each trained
without their region (--folds). For another dataset only the validation regions are scored, and the
prevalence is that of its genomes. Windows of a table must be held out from training; give their
--prevalence, the share of true sites among the candidates to be scored. Every probability is based
on at least ten true sites, so there are no high ones if sites are few. Probabilities increase with
the score. If there are several consensus sequences, such as GT and GC, a constant is added to the
scores of each, so that each has its own prior.

columns: precision is that of all candidates with at least this score; probability is that of
candidates with exactly this score, which is lower. expected is the sum of all probabilities,
positive the annotated number. error is the expected calibration error: the mean absolute difference
between probability and share of true sites over bins; error_0.1 is the same for probabilities above
0.1 (most are near 0). Probabilities are cross-fitted. The second table is as in seqmtl evaluate."""


def _show(_: Calibrate, summary: dict[str, Any]) -> str:
    """Show the score thresholds and the reliability of every organism."""
    from seqmtl.evaluation import reliability_table, thresholds_table

    return f"{thresholds_table(summary['tasks'])}\n{reliability_table(summary['tasks'])}"


COMMAND = Command(
    Calibrate, "turn scores into probabilities, per organism, using held-out data", _TEXT, _show
)
