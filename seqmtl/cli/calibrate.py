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
Those of training regions are scored by models with the same hyperparameters that were trained
without their region (--folds). For another dataset only the validation regions are scored, and the
prevalence is that of its whole genomes. Windows of a table must be held out from training; give
their --prevalence, the share of true sites among the candidates to be scored. Probabilities rest on
at least ten true sites, so with few sites no high ones are assigned; they rise with the score
everywhere. If the consensus has several words, such as GT and GC, a constant is added to the scores
of each, so that each has its own prior.

columns: precision is that of all candidates with at least this score, probability that of
candidates with just this score, which is lower. expected is the sum of all probabilities, beside
the true number, positive; error_0.1 and error are the mean absolute difference between probability
and share of true sites, over bins: of the candidates above .1, and of all, nearly all of which have
probabilities near 0. Probabilities are cross-fitted. The second table is as in seqmtl evaluate."""


def _show(_: Calibrate, summary: dict[str, Any]) -> str:
    """Show the score thresholds and the reliability of every organism."""
    from seqmtl.evaluation import reliability_table, thresholds_table

    return f"{thresholds_table(summary['tasks'])}\n{reliability_table(summary['tasks'])}"


COMMAND = Command(
    Calibrate, "turn scores into probabilities, per organism, using held-out data", _TEXT, _show
)
