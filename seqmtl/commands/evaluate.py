"""AUROC and AUPRC per organism, with confidence intervals.

examples:
  seqmtl evaluate splice.seqmtl dataset
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid
  seqmtl evaluate splice.seqmtl donors acceptors     # a model of seqmtl pair

For a `seqmtl dataset` folder, every candidate in the test regions is scored (such as every GT, on
both strands), so AUPRC and precision hold genome-wide: the column is auprc_genome. For a table,
only its rows are scored: auprc_windows, which is higher if the table has fewer decoys than the
genome. precision_80 is the precision at 80 % recall.

JSON has more: 95 % intervals, the precision at other recalls and, for calibrated models, the
expected and the true number of sites by probability; seqmtl report makes tables and pictures of it.

A model of seqmtl pair takes two datasets. Sites are scored alone and with their partners, in the
regions that are in the same split of both; --plot has a curve of each.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function
from seqmtl.exceptions import InputFormatError, UsageError
from seqmtl.files.write import check_outputs, write_json

if TYPE_CHECKING:
    from seqmtl.linear_model.base import Model
    from seqmtl.scanning.candidate_scores import CandidateScores
    from seqmtl.training.example_source import ExampleSource

logger = logging.getLogger("seqmtl")

_FIGURES = "this accuracy is"


@dataclass(frozen=True, kw_only=True)
class Evaluate(_options.LabelledRows, _options.Relatives):
    """Measure AUROC and AUPRC of a model per organism, with confidence intervals."""

    model: str = _options.model_file()
    data: tuple[str, ...] = _options.window_data("labelled windows")
    negatives: tuple[str, ...] = _options.negatives()
    exclude: tuple[str, ...] = _options.exclude()
    json: str | None = _options.summary_file("write metrics as JSON; - for standard output")
    plot: str | None = _options.figure("ROC and PR curves")
    bootstrap: int = option(
        "bootstrap resamples for the 95 % intervals; 0 for none",
        metavar="N",
        kind=_kinds.up_to(1_000_000, 0),
        default=200,
    )

    def run(self) -> Document:
        """Score the rows, and compare the scores with the labels.

        Returns
        -------
        dict
            The metrics, as ``json`` has them; see :func:`seqmtl.evaluation.evaluate`.
        """
        from seqmtl._style import save_figure
        from seqmtl.evaluation import draw_curves
        from seqmtl.loading import load_site_model

        check_outputs([self.model, *self.files], [self.json, self.plot])
        model, request = _options.with_organism_of_like(
            load_site_model(self.model), self, _kinds.name_and_path(self.data[0])[1]
        )
        if model.kind == "regression":
            raise InputFormatError(
                "a regression model cannot be evaluated on labels of 1 and -1; compare its "
                "predictions with the targets in Python",
                self.model,
            )
        results = model.score_labelled(request._sources(model), _FIGURES)
        metrics = request._document(results)
        if self.plot:
            curves = _joined(results) if len(results) > 1 else results[0]
            save_figure(draw_curves(*curves[:4], auprc=_auprc(results[0])), self.plot)
        write_json(self.json, metrics)
        _warn_of_failures(metrics)
        return metrics

    def _sources(self, model: Model) -> list[ExampleSource]:
        """Return DATA, a dataset for each signal of the model if there are several."""
        if len(model.signals) == 1:
            return [self.source]
        if len(self.data) != len(model.signals):
            raise UsageError(
                "a model of seqmtl pair takes two datasets: that of donors, then that of acceptors"
            )
        self.refuse(("negatives", "reference"), "is not for a model of seqmtl pair; leave it out")
        return [replace(self, data=(path,)).source for path in self.data]

    def _document(self, results: list[CandidateScores]) -> Document:
        """Return the metrics, by signal and method if there are several."""
        if len(results) == 1:
            (held,) = results
            metrics = self._metrics(held)
            if held.counts is not None:
                metrics |= {"model": self.model, "signal": held.signal, "split": self.split}
                metrics |= {"plot": self.plot} if self.plot else {}
            return metrics
        signals: Document = {held.signal: {} for held in results}
        for held in results:
            signals[held.signal][held.method] = self._metrics(held)
        return {"schema_version": 2, "model": self.model, "split": self.split, "signals": signals}

    def _metrics(self, held: CandidateScores) -> Document:
        """Return the metrics, with expected numbers of sites if there are probabilities."""
        from seqmtl import evaluation

        labels, tasks, counts = held.labels, held.tasks, held.counts
        metrics: Document = evaluation.evaluate(
            labels,
            held.scores,
            tasks,
            counts=counts,
            auprc=_auprc(held),
            n_bootstrap=self.bootstrap,
        )
        if held.probabilities is not None:
            expected = evaluation.expected_sites(
                labels, held.probabilities, tasks, counts, held.blocks
            )
            for name, facts in expected.items():
                metrics["tasks"][name] |= facts
        return metrics

    def show(self, metrics: Document) -> str:
        """Show AUPRC, AUROC and the precision at 80 % recall of every organism."""
        from seqmtl.evaluation import metrics_table

        if "signals" not in metrics:
            return metrics_table(metrics)
        tables = [
            metrics_table(results, signal=signal, method=method)
            for signal, by_method in metrics["signals"].items()
            for method, results in by_method.items()
        ]
        return "".join([tables[0], *(table.partition("\n")[2] for table in tables[1:])])


def _joined(results: list[CandidateScores]) -> CandidateScores:
    """Return the scores of all signals and methods of a paired model, with these in the names."""
    import numpy as np

    from seqmtl.scanning.candidate_scores import join_scores

    return join_scores(
        [
            held._replace(
                tasks=np.array([f"{task}, {held.signal} {held.method}" for task in held.tasks])
            )
            for held in results
        ]
    )


def _auprc(held: CandidateScores) -> str:
    """Return the name of the AUPRC: of windows, or of all candidates of a genome."""
    return "auprc_windows" if held.counts is None else "auprc_genome"


def _warn_of_failures(metrics: Document) -> None:
    """Warn of probabilities that are not calibrated; of a paired model, of those with partners."""
    from seqmtl.evaluation import failures

    of_signals = {
        signal: results["paired"] for signal, results in metrics.get("signals", {}).items()
    }
    for signal, results in of_signals.items() or {metrics.get("signal", ""): metrics}.items():
        for line in failures(results["tasks"]):
            logger.warning(
                "%s%s; rank sites by score instead, or calibrate on labels of the organism",
                f"{signal} sites, " if signal else "",
                line,
            )


evaluate = python_function(Evaluate)
