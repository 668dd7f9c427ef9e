"""Turn scores into probabilities, per organism, using held-out data.

examples:
  seqmtl calibrate splice.seqmtl dataset -o calibrated.seqmtl --plot reliability.png
  seqmtl calibrate splice.seqmtl windows.tsv.gz --prevalence 0.002 -o calibrated.seqmtl

For the `seqmtl dataset` folder that the model was trained on, every candidate of the validation and
training regions is scored (such as every GT, on both strands), so probabilities hold genome-wide.
Candidates of training regions are scored by models with the same hyperparameters, each trained
without their region. For another dataset only the validation regions are scored, and the
prevalence is that of its genomes. Windows of a table (its rows of the split valid) must be held out
from training; give their --prevalence, the share of true sites among the candidates to be scored.
Probabilities are by isotonic regression if an organism has 200 true sites, else by a sigmoid. Each
is based on at least ten true sites, so there are no high ones if sites are few. Probabilities
increase with the score. If there are several consensus sequences, such as GT and GC, a constant is
added to the scores of each, so that each has its own prior.

columns: precision is that of all candidates with at least this score; probability is that of
candidates with exactly this score, which is lower. The second table compares the expected number of
sites (the sum of the probabilities) with the true number, for all candidates, those above 0.1, and
bins of the probability; probabilities are cross-fitted. true_ci95: 95 % interval of the true
number. calibrated: yes, if both numbers are within a factor of 1.25; within error, if they are not,
but the expected one is in the Poisson interval, which may be narrower; else no. JSON has the
calibration error, too.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import InputFormatError, SeqmtlError, errors_about
from seqmtl.files.write import check_outputs, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.scanning.candidate_scores import CandidateScores

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Calibrate(_options.LabelledRows):
    """Turn the scores of a model into probabilities, per organism, using held-out data."""

    model: str = _options.model_file()
    data: tuple[str, ...] = _options.window_data("labelled windows not used in training")
    reference: tuple[str, ...] = ()
    output: str = required("-o", "model file", metavar="MODEL", affects_output=False)
    split: str = "valid"
    prevalence: float | None = option(
        "share of true sites among candidates (default: as in the dataset or DATA)",
        metavar="SHARE",
        kind=_kinds.share,
    )
    json: str | None = _options.summary_file("write a summary as JSON; - for standard output")
    plot: str | None = _options.figure("reliability diagram, cross-fitted")

    def run(self) -> Document:
        """Calibrate, and write the model.

        Returns
        -------
        dict
            The summary, as ``json`` has it.
        """
        from seqmtl._style import save_figure
        from seqmtl.evaluation import draw_reliability
        from seqmtl.loading import load_window_model

        check_outputs(self.files, [self.output, self.json, self.plot], replaced=self.model)
        model = load_window_model(self.model)
        if model.kind != "classification":
            raise InputFormatError("only two-class models have probabilities", self.model)
        with errors_about(self.source.name):
            scores = model.score_labelled([self.source], "probabilities are")[0]
            shares = _shares(self, scores.names)
            if scores.counts is not None:
                scores, shares = _with_training_regions(model, scores, shares, self)
            by_task = _calibrated(model, scores, shares)
        if self.plot:
            save_figure(draw_reliability(by_task), self.plot)
        summary = {"schema_version": 1, "source": self.source.name, "tasks": by_task}
        model.save(self.output)
        write_json(self.json, summary)
        logger.info(
            "%s: calibrated on %d candidates",
            self.output,
            sum(task["n"] for task in by_task.values()),
        )
        return summary

    def show(self, summary: Document) -> str:
        """Show the score thresholds and the reliability of every organism."""
        from seqmtl.evaluation import reliability_table, thresholds_table

        return f"{thresholds_table(summary['tasks'])}\n{reliability_table(summary['tasks'])}"


def _with_training_regions(
    model: MultiTaskModel,
    held: CandidateScores,
    shares: dict[str, float | None],
    request: Calibrate,
) -> tuple[CandidateScores, dict[str, float | None]]:
    """Add the training regions, scored by models that have not seen them, if there can be any.

    The prevalence is then that of the candidates, unless one is given.
    """
    from seqmtl.scanning.candidate_scores import join_scores
    from seqmtl.scanning.cross_fitting import score_cross_fitted

    cross_fitted = score_cross_fitted(model, request.source.name, organism=request.organism)
    if cross_fitted is None:
        logger.info("calibrating on the validation regions only")
        return held, shares
    if request.prevalence is None:
        shares = dict.fromkeys(held.names)
    return join_scores([held, cross_fitted]), shares


def _shares(request: Calibrate, names: Sequence[str]) -> dict[str, float | None]:
    """Return the prevalence for which each organism is calibrated."""
    from seqmtl.io.dataset import read_summary

    if request.prevalence is not None:
        return dict.fromkeys(names, request.prevalence)
    dataset = request.source.dataset
    if dataset is None:
        logger.warning(
            "probabilities assume the share of true sites in the windows; give that of the genome "
            "with --prevalence"
        )
        return dict.fromkeys(names)
    facts = read_summary(dataset)["organisms"]
    return {n: facts[n]["sites"] / (facts[n]["sites"] + facts[n]["candidates"]) for n in names}


def _calibrated(
    model: MultiTaskModel, scores: CandidateScores, shares: dict[str, float | None]
) -> Document:
    """Fit the curve of every organism; return it, and how well cross-fitted probabilities hold.

    Raises
    ------
    SeqmtlError
        If no organism can be calibrated.
    """
    import numpy as np

    from seqmtl._names import match_names
    from seqmtl.calibration.curve import cross_fitted, weights_for_prevalence
    from seqmtl.evaluation import calibration_error, expected_sites

    by_task: Document = {}
    problems: list[str] = []
    numbers = match_names(scores.names, model.tasks, "this model")
    for task, number in zip(scores.names, numbers, strict=True):
        name, prevalence = model.tasks[number], shares[task]
        candidates = scores.of(task)
        try:
            p, rows, counts = cross_fitted(**candidates, prevalence=prevalence)
        except ValueError as error:
            problems.append(f"{task}: {error}")
            continue
        by_task[name] = model.calibrate(name, **candidates, prevalence=prevalence)
        y, weight = candidates["y"][rows], counts.astype(float)
        if prevalence is not None:
            weight = weights_for_prevalence(y, prevalence, weight)
        by_task[name]["calibration_error"] = calibration_error(y, p, weights=weight)
        blocks = None if scores.blocks is None else scores.blocks[scores.tasks == task][rows]
        each = weight if blocks is None else counts
        by_task[name] |= expected_sites(y, p, np.full(p.size, name), each, blocks)[name]
    if not by_task:
        raise SeqmtlError("; ".join(problems))
    for problem in problems:
        logger.warning("%s; not calibrated", problem)
    if left := [name for name in model.tasks if name not in model.curves]:
        logger.warning("not calibrated, because DATA lacks them: %s", ", ".join(left))
    return by_task


calibrate = python_function(Calibrate)
