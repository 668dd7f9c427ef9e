"""Checks of the JSON documents that ``seqmtl evaluate`` writes."""

from __future__ import annotations

from typing import Any

from seqmtl._schema import anything, either, items, mapping, number, record, text, whole

#: How the sites of a paired model are evaluated.
METHODS = ("alone", "paired")
_SHARE = either((type(None),), anything, number(min_val=0, max_val=1))  # unknown without true sites
_INTERVAL = either((type(None),), anything, items(number(min_val=0, max_val=1), 2, max_items=2))
_RANGE = items(number(min_val=0), 2, max_items=2)
_AREAS = {"auroc": _SHARE, "auprc_genome": _SHARE}
_GENOME = {
    "prevalence": _SHARE,
    "auprc": _SHARE,
    "precision_at_recall": record(dict.fromkeys(("0.5", "0.8", "0.95"), _SHARE)),
}
_BIN = {
    "probability": text,
    "n": number(min_val=0),
    "expected": number(min_val=0),
    "true": number(min_val=0),
    "true_interval": _RANGE,
    "calibrated": text,
}
_TASK = {
    **_AREAS,
    "auroc_interval": _INTERVAL,
    "auprc_genome_interval": _INTERVAL,
    "n_positive": whole(),
    "genome": record(_GENOME),
}
_OF_PROBABILITIES = {
    "expected": number(min_val=0),
    "calibration_error_p10": _SHARE,
    "reliability": items(record(_BIN)),
}
_METRICS = {
    "tasks": mapping(record(_TASK, _OF_PROBABILITIES), 1),
    "mean": record(_AREAS),
    "bootstrap": record({"n_resamples": whole(), "confidence": number(min_val=0, max_val=1)}),
}
_EVALUATION = record({"model": text, "split": text, "signal": text, **_METRICS}, {"plot": text})
_PAIRS = record(
    {
        "model": text,
        "split": text,
        "signals": mapping(record(dict.fromkeys(METHODS, record(_METRICS)))),
    }
)


def check_evaluation(document: Any) -> None:
    """Check that a JSON document is the evaluation of a model on a dataset.

    Raises
    ------
    ValueError
        If it is not; the message names the key.
    """
    _EVALUATION("", document)


def check_paired_evaluation(document: Any) -> None:
    """Check that a JSON document is the evaluation of a paired model.

    Raises
    ------
    ValueError
        If it is not; the message names the key.
    """
    _PAIRS("", document)
