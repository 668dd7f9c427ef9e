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
both strands), so AUPRC and precision hold genome-wide: the column is auprc_genome. For a table,
only its rows are scored: auprc_windows, which is higher if the table has fewer decoys than the
genome.

columns: precision_50, _80 and _95 are the precision at 50, 80 and 95 % recall. For a calibrated
model and a dataset, expected is the sum of all probabilities, the number of true sites by the
model; positive is the annotated number. error_0.1 is the calibration error, the mean absolute
difference between probability and share of true sites over bins, for probabilities above 0.1.

The second table compares both numbers for all candidates, those above 0.1, and bins of the
probability. true_95: 95 % interval of the true number if the model is right (from blocks of the
genome, and of a Poisson variable). holds: yes, if both are within a factor of 1.25; by chance, if
they are not, but the difference is within sampling error; else no, and a warning.

A model of seqmtl pair takes two datasets. Sites are scored alone and with their partners, in the
regions that are in the same split of both."""


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
