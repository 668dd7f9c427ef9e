"""``seqmtl evaluate``: AUROC and AUPRC of a model, per organism."""

from __future__ import annotations

from typing import Any

from seqmtl.cli._command import Command
from seqmtl.verbs.evaluate import Evaluate

_TEXT = """\
  seqmtl evaluate splice.seqmtl dataset
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid
  seqmtl evaluate splice.seqmtl donors acceptors     # a model of seqmtl pair

For a `seqmtl dataset` folder, every candidate in the test regions is scored (such as every GT, on
both strands), so AUPRC and precision hold genome-wide: the column is auprc_genome. Of a table, only
the rows are scored: auprc_windows, which is higher if decoys are fewer than in the genome.

columns: precision_50, _80 and _95 are the precision at 50, 80 and 95 % recall. expected, of a
calibrated model and a dataset, is the number of true sites by the model, the sum of all
probabilities (positive: the true number). error_0.1 is the mean absolute difference of probability
and share of true sites, over bins, among the candidates above .1.

The second table compares both numbers for all candidates, those above .1, and bins of the
probability. true_95 is where the true number would be by chance if the model is right (blocks of
the genome, and a Poisson variable). holds: yes, if both are within a factor of 1.25; by chance, if
not, but independent sites would differ as much; no, if the probabilities do not hold, of which a
warning tells too.

A model of seqmtl pair takes two datasets, and compares the sites alone with those that see their
partners, on the regions that are in the same split of both."""


def _show(_: Evaluate, metrics: dict[str, Any]) -> str:
    """Show the metrics, and below them the reliability of a calibrated model."""
    from seqmtl.evaluation import metrics_table, reliability_table
    from seqmtl.evaluation.tables import stacked

    if "signals" not in metrics:
        tables = [metrics_table(metrics)]
        details = [reliability_table(metrics["tasks"])]
    else:
        methods = [
            (results, {"signal": signal, "method": method})
            for signal, by_method in metrics["signals"].items()
            for method, results in by_method.items()
        ]
        tables = [metrics_table(results, **labels) for results, labels in methods]
        details = [reliability_table(results["tasks"], **labels) for results, labels in methods]
    below = f"\n{stacked(details)}" if details[0].count("\n") > 1 else ""
    return stacked(tables) + below


COMMAND = Command(Evaluate, "AUROC and AUPRC per organism, with confidence intervals", _TEXT, _show)
