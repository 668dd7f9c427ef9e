"""Calibrate a model on scores of labelled candidates."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from seqmtl._names import match_names
from seqmtl.calibration.curve import cross_fitted, weights_for_prevalence
from seqmtl.evaluation import calibration_error, expected_sites
from seqmtl.exceptions import SeqmtlError
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.candidate_scores import CandidateScores

logger = logging.getLogger(__name__)


def calibrate_model(
    model: MultiTaskModel,
    scores: CandidateScores,
    prevalences: Mapping[str, float | None],
) -> dict[str, Any]:
    """Fit a probability curve for every organism of the scores.

    Parameters
    ----------
    model : MultiTaskModel
        The model, which gets the curves.
    scores : CandidateScores
        Scores of candidates that the model was not trained on.
    prevalences : mapping of str to float or None
        Share of true sites for every organism; None for that of its candidates.

    Returns
    -------
    dict of str to dict
        For every organism that could be calibrated, its curve, and how well cross-fitted
        probabilities hold.

    Raises
    ------
    SeqmtlError
        If no organism can be calibrated.
    """
    by_task: dict[str, Any] = {}
    problems: list[str] = []
    numbers = match_names(scores.names, model.tasks, "this model")
    for task, number in zip(scores.names, numbers, strict=True):
        name, prevalence = model.tasks[number], prevalences[task]
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
