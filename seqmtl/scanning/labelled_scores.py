"""Score the examples whose labels a model is evaluated by, or calibrated on."""

from __future__ import annotations

from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.candidate_scores import CandidateScores, score_candidates
from seqmtl.training.example_source import ExampleSource, warn_if_trained_on


def score_labelled(model: MultiTaskModel, source: ExampleSource, what: str) -> CandidateScores:
    """Score every candidate of a dataset, or the labelled windows of a file.

    Warns that `what` is misleading if the model was trained on them.
    """
    if model.can_scan and source.dataset is not None:
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
