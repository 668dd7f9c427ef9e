"""``seqmtl evaluate``: AUROC and AUPRC of a model, per organism."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds, _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import Document, option, python_function
from seqmtl.exceptions import InputFormatError, UsageError, errors_about
from seqmtl.files.write import check_outputs, write_json

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")

_FIGURES = "this accuracy is"


@dataclass(frozen=True, kw_only=True)
class Evaluate(_options.LabelledRows, _options.Relatives, _options.Threads):
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
    seed: int = _options.seed("seed of the bootstrap")

    def run(self) -> Document:
        """Score the rows, and compare the scores with the labels.

        Returns
        -------
        dict
            The metrics, as ``json`` has them; see :func:`seqmtl.evaluation.evaluate`.
        """
        from seqmtl.loading import load_site_model
        from seqmtl.splicing.model import PairedModel

        inputs = [self.model, *self.files, self.tree]
        check_outputs(inputs, [self.json, self.plot])
        model, request = _options.with_organism_of_like(
            load_site_model(self.model), self, _kinds.name_and_path(self.data[0])[1]
        )
        if model.kind == "regression":
            raise InputFormatError(
                "a regression model cannot be evaluated on labels of 1 and -1; compare its "
                "predictions with the targets in Python",
                self.model,
            )
        if isinstance(model, PairedModel):
            metrics = _of_pairs(model, request)
        else:
            metrics = _of_model(model, request)
        write_json(self.json, metrics)
        _warn_of_failures(metrics)
        return metrics


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


def _of_model(model: MultiTaskModel, request: Evaluate) -> Document:
    """Return the metrics of a model, with expected numbers of sites if it is calibrated."""
    from seqmtl import evaluation
    from seqmtl._style import save_figure
    from seqmtl.loading import window_model
    from seqmtl.scanning.labelled_scores import score_labelled

    with errors_about(request.source.name):
        held = score_labelled(window_model(model, request.model), request.source, _FIGURES)
    data = (held.labels, held.scores, held.tasks)
    auprc = "auprc_windows" if held.counts is None else "auprc_genome"
    options: Document = {"n_bootstrap": request.bootstrap, "seed": request.seed}
    metrics: Document = evaluation.evaluate(*data, counts=held.counts, auprc=auprc, **options)
    if held.counts is not None:
        metrics |= {"model": request.model, "signal": model.site.kind, "split": request.split}
        metrics |= {"plot": request.plot} if request.plot else {}
    if model.curves and held.counts is not None:
        p = model.probability(held.scores, held.tasks.tolist())
        evaluation.add_expected(metrics, held.labels, p, held.tasks, held.counts, held.blocks)
    if request.plot:
        save_figure(evaluation.draw_curves(*data, held.counts, auprc=auprc), request.plot)
    return metrics


def _of_pairs(model: PairedModel, request: Evaluate) -> Document:
    """Compare the scores of single sites with those that use their partners."""
    from seqmtl import evaluation
    from seqmtl.calibration.curve import to_probability
    from seqmtl.splicing import score_paired
    from seqmtl.training.example_source import warn_if_trained_on

    if len(request.data) != 2:
        raise UsageError(
            "a model of seqmtl pair takes two datasets: that of donors, then that of acceptors"
        )
    request.refuse(
        ("plot", "negatives", "reference"), "is not for a model of seqmtl pair; leave it out"
    )
    donors, acceptors = request.data
    for end, path in (("donor", donors), ("acceptor", acceptors)):
        warn_if_trained_on(getattr(model, end), [path], model.tasks, request.split, _FIGURES)
    if request.split in (model.training.get("split"), "all"):
        logger.warning(
            "the model was fitted on the %s regions, so its accuracy there is overestimated",
            model.training.get("split"),
        )
    split = None if request.split == "all" else request.split
    scores_of_signals = score_paired(
        model, donors, acceptors, split=split, organism=request.organism
    )
    options: Document = {"n_bootstrap": request.bootstrap, "seed": request.seed}
    signals: Document = {}
    for signal, held in scores_of_signals.items():
        p_alone = getattr(model, signal).probability(held.alone, held.tasks.tolist())
        signals[signal] = {}
        for method, scores, p in (
            ("alone", held.alone, p_alone),
            ("paired", held.paired, to_probability(held.paired)),
        ):
            counts = [1] * held.labels.size
            metrics = evaluation.evaluate(
                held.labels, scores, held.tasks, counts=counts, auprc="auprc_genome", **options
            )
            evaluation.add_expected(metrics, held.labels, p, held.tasks, None, held.blocks)
            signals[signal][method] = metrics
    return {"schema_version": 2, "model": request.model, "split": request.split, "signals": signals}


_TEXT = """\
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
regions that are in the same split of both."""


def _show(_: Evaluate, metrics: Document) -> str:
    """Show AUPRC, AUROC and the precision at 80 % recall of every organism."""
    from seqmtl.evaluation import metrics_table
    from seqmtl.evaluation.tables import stacked

    if "signals" not in metrics:
        return metrics_table(metrics)
    tables = [
        metrics_table(results, signal=signal, method=method)
        for signal, by_method in metrics["signals"].items()
        for method, results in by_method.items()
    ]
    return stacked(tables)


COMMAND = Command(Evaluate, "AUROC and AUPRC per organism, with confidence intervals", _TEXT, _show)

evaluate = python_function(Evaluate)
