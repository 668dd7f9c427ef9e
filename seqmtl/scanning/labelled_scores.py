"""Score the examples whose labels a model is evaluated by, or calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import errors_about
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.candidate_scores import CandidateScores, score_candidates
from seqmtl.training.example_source import ExampleSource, warn_if_trained_on


class LabelledScores(NamedTuple):
    """Scores of the labelled examples of a signal.

    Attributes
    ----------
    signal : str
        Kind of the sites.
    method : str
        How they are scored, "" if there is one way.
    candidates : CandidateScores
        Labels and scores.
    probabilities : ndarray of float64, shape (n,), or None
        Probabilities; None of windows, and of a model that is not calibrated.
    """

    signal: str
    method: str
    candidates: CandidateScores
    probabilities: NDArray[np.float64] | None


def score_labelled(
    model: MultiTaskModel, sources: Sequence[ExampleSource], what: str
) -> list[LabelledScores]:
    """Score every candidate of a dataset, or the labelled windows of a file; see ``Model``."""
    (source,) = sources
    with errors_about(source.name):
        scores = _scores(model, source, what)
    p = None
    if model.curves and scores.counts is not None:
        p = model.probability(scores.scores, scores.tasks.tolist())
    return [LabelledScores(model.site.kind, "", scores, p)]


def _scores(model: MultiTaskModel, source: ExampleSource, what: str) -> CandidateScores:
    if source.dataset is not None:
        scores = score_candidates(
            model, source.dataset, split=source.split_or_none, organism=source.organism
        )
        split: str | None = source.split
    else:
        windows = source.read_to_score(model, require_labels=True)
        model.site.check_consensus(windows, windows.labels)
        has_letters = model.site.consensus_of(windows) if len(model.site.consensus) > 1 else None
        scores = CandidateScores(
            windows.labels, model.decision_function(windows), windows.tasks, None, has_letters
        )
        split = source.split if windows.splits is not None else None
        source.warn_of_training_rows(windows, model, what)
    warn_if_trained_on(model, source.paths, scores.names, split, what)
    return scores
