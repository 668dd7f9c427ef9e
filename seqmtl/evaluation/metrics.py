"""AUROC and AUPRC per task with bootstrap intervals, and metrics at genomic prevalence."""

from __future__ import annotations

import logging
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._checks import check_choice
from seqmtl.evaluation._groups import (
    TaskGroup,
    check_labels,
    check_scores,
    group_by_task,
)

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 2
#: Names of the AUPRC with their titles.
AUPRC_TITLES = {
    "auprc": "AUPRC",
    "auprc_windows": "AUPRC (windows)",
    "auprc_genome": "AUPRC (genome)",
}
#: Recalls at which precision is reported.
RECALLS = (0.5, 0.8, 0.95)


class RankedScores:
    """Scores of one task, sorted once so that any weighting of examples is evaluated in O(n).

    Both metrics depend, for each positive, only on the weight of negatives that rank above it or
    tie with it. The m distinct scores of the positives, in decreasing order, therefore split the
    negatives into 2m + 1 cells: cell 2j is between levels j - 1 and j, cell 2j + 1 ties with
    level j, and cell 2m is below all positives.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Class of each example; both classes must occur.
    scores : ndarray of float64, shape (n,)
        Finite scores.
    weights : ndarray, shape (n,), optional
        Weight of each example: the number of examples it represents. Default: 1.
    """

    def __init__(
        self,
        positive: NDArray[np.bool_],
        scores: NDArray[np.float64],
        weights: NDArray[Any] | None = None,
    ) -> None:
        weights = np.ones(scores.size, dtype=np.int64) if weights is None else weights
        levels, positive_level = np.unique(-scores[positive], return_inverse=True)
        negatives = -scores[~positive]
        level = np.searchsorted(levels, negatives, side="left")
        is_tied = levels[np.minimum(level, levels.size - 1)] == negatives
        n_cells = 2 * levels.size + 1
        self.positive_weight = np.bincount(positive_level, weights[positive], levels.size)
        self.negative_weight = np.bincount(2 * level + is_tied, weights[~positive], n_cells)

    def metrics(
        self,
        positive_weight: NDArray[Any] | None = None,
        negative_weight: NDArray[Any] | None = None,
    ) -> tuple[float, float]:
        """Return (AUROC, average precision) for weights summed by level and by cell.

        Parameters
        ----------
        positive_weight : ndarray, shape (n_levels,), optional
            Weight of the positives at each level, not all zero. Default: from the examples.
        negative_weight : ndarray, shape (n_cells,), optional
            Weight of the negatives in each cell, not all zero. Default: from the examples.
        """
        if positive_weight is None:
            positive_weight = self.positive_weight
        if negative_weight is None:
            negative_weight = self.negative_weight
        cumulative = np.cumsum(negative_weight)
        false_positive = cumulative[1::2]
        true_positive = np.cumsum(positive_weight)
        n_positive, n_negative = float(true_positive[-1]), float(cumulative[-1])
        beaten = n_negative - false_positive + 0.5 * negative_weight[1::2]
        auroc = np.dot(positive_weight, beaten) / (n_positive * n_negative)
        predicted = true_positive + false_positive
        precision = np.divide(
            true_positive, predicted, out=np.zeros(predicted.size), where=predicted > 0
        )
        return float(auroc), float(np.dot(positive_weight, precision) / n_positive)

    def bootstrap(self, n_bootstrap: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return both metrics of resamples with replacement within each class.

        Returns
        -------
        ndarray of float64, shape (n_bootstrap, 2)
            AUROC and average precision of each resample.
        """
        both = (self.positive_weight, self.negative_weight)
        numbers = [round(float(weight.sum())) for weight in both]
        shares = [weight / weight.sum() for weight in both]
        samples = np.empty((n_bootstrap, 2))
        for row in samples:
            row[:] = self.metrics(*(rng.multinomial(*d) for d in zip(numbers, shares, strict=True)))
        return samples


def weighted_auroc_auprc(
    labels: ArrayLike, scores: ArrayLike, weights: ArrayLike
) -> tuple[float, float]:
    """Return the weighted AUROC and average precision of one ranking.

    Equal to scikit-learn's ``roc_auc_score`` and ``average_precision_score`` with
    ``sample_weight``, including ties; `evaluate` computes its intervals with this code.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    weights : array-like of float, shape (n,)
        Non-negative, and not all zero in either class.

    Raises
    ------
    ValueError
        If lengths differ, values are not finite, or a class has no weight.

    Examples
    --------
    >>> weighted_auroc_auprc([1, 0, 1, 0], [3.0, 2.0, 1.0, 0.0], [1, 1, 1, 1])
    (0.75, 0.8333333333333333)
    """
    positive = check_labels(labels)
    values = check_scores(scores, positive.size)
    weight = check_scores(weights, positive.size, "weights")
    if weight.min() < 0:
        raise ValueError(
            f"weights must not be negative, got {weight.min():g}; leave such examples out"
        )
    if not (weight[positive].any() and weight[~positive].any()):
        raise ValueError(
            "weights must be positive somewhere in both classes, got a class without any; "
            "add examples of it"
        )
    return RankedScores(positive, values, weight).metrics()


def evaluate(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    *,
    counts: ArrayLike | None = None,
    auprc: str = "auprc",
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Evaluate scores by task: AUROC and AUPRC (average precision) with bootstrap intervals.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task (organism) of each example.
    counts : array-like of int, shape (n,), optional
        Number of genomic candidates that each row represents, at least 1. Adds the metrics at
        genomic prevalence. Default: every row is one example.
    auprc : {"auprc", "auprc_windows", "auprc_genome"}
        Name of the AUPRC: over any examples, over windows with drawn decoys, or over every
        candidate of a genome.
    n_bootstrap : int, default 200
        Resamples per task, drawn with replacement within each class; 0 means no intervals.
    confidence : float, default 0.95
        Coverage of the intervals (percentile method), in (0, 1).
    seed : int, default 0
        Non-negative. The seed and the name of a task determine its resamples, so an interval
        does not depend on the other tasks.

    Returns
    -------
    dict
        JSON values: ``{"schema_version": 2, "tasks": {name: {"auroc", "auprc", "n",
        "n_positive", "auroc_interval": [low, high], "auprc_interval": [low, high]}},
        "mean": {"auroc", "auprc", "n_tasks"}, "bootstrap": {"n_resamples", "confidence",
        "seed"}}``. With `counts` every task also has ``"genome"``, see `evaluate_genome`. A task
        with one class has None for its metrics and is not in the mean over ``n_tasks`` tasks.

    Raises
    ------
    ValueError
        If lengths differ, a label is invalid, a score is NaN or infinite, or an option is out
        of range.
    """
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be at least 0, got {n_bootstrap}; 0 means no intervals")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}; 0.95 is usual")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}; give another")
    check_choice("auprc", auprc, AUPRC_TITLES)
    groups = group_by_task(labels, scores, tasks)
    rows: list[Any] = [None] * len(groups)
    if counts is not None:
        rows = [_check_counts(part.scores) for part in group_by_task(labels, counts, tasks)]
    results = {
        group.name: _evaluate_task(group, row, auprc, n_bootstrap, confidence, seed)
        for group, row in zip(groups, rows, strict=True)
    }
    if counts is not None:
        for name, genome in evaluate_genome(labels, scores, tasks, counts).items():
            results[name]["genome"] = genome
    counted = [result for result in results.values() if result["auroc"] is not None]
    mean: dict[str, Any] = {
        metric: float(np.mean([result[metric] for result in counted])) if counted else None
        for metric in ("auroc", auprc)
    }
    mean["n_tasks"] = len(counted)
    return {
        "schema_version": SCHEMA_VERSION,
        "tasks": results,
        "mean": mean,
        "bootstrap": {"n_resamples": n_bootstrap, "confidence": confidence, "seed": seed},
    }


def evaluate_genome(
    labels: ArrayLike, scores: ArrayLike, tasks: ArrayLike, weights: ArrayLike
) -> dict[str, dict[str, Any]]:
    """Evaluate scores at the prevalence of the genome, by task.

    Parameters
    ----------
    labels, scores, tasks, weights
        See `evaluate`.

    Returns
    -------
    dict of str to dict
        ``{"prevalence", "auprc", "precision_at_recall": {"0.5", "0.8", "0.95"}}`` by task: the
        weighted share of positives, the weighted average precision, and the weighted precision
        at the highest threshold that reaches each recall, including ties. None for a task with
        one class.

    Raises
    ------
    ValueError
        As `evaluate`, or if a weight is negative or not finite.
    """
    weight = check_scores(weights, np.size(labels), "weights")
    if weight.min() < 0:
        raise ValueError(
            f"weights must not be negative, got {weight.min():g}; leave such examples out"
        )
    groups = group_by_task(labels, scores, tasks)
    parts = group_by_task(labels, weight, tasks)
    return {
        group.name: _evaluate_genome(group.positive, group.scores, part.scores)
        for group, part in zip(groups, parts, strict=True)
    }


def _evaluate_genome(
    positive: NDArray[np.bool_], scores: NDArray[np.float64], weights: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the entry of one task in the result of `evaluate_genome`."""
    true, every = float(weights[positive].sum()), float(weights.sum())
    result: dict[str, Any] = {
        "prevalence": true / every if every else None,
        "auprc": None,
        "precision_at_recall": {str(recall): None for recall in RECALLS},
    }
    if not 0 < true < every:
        return result
    result["auprc"] = weighted_auroc_auprc(positive, scores, weights)[1]
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.diff(scores[order], append=-np.inf))  # last of equal scores
    found = np.cumsum(weights[order] * positive[order])[last]
    precision = found / np.cumsum(weights[order])[last]
    for recall in RECALLS:
        place = int(np.searchsorted(found, recall * true * (1 - 1e-12)))
        result["precision_at_recall"][str(recall)] = float(precision[place])
    return result


def _check_counts(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    whole = counts.astype(np.int64)
    bad = np.flatnonzero((whole != counts) | (whole < 1))
    if bad.size:
        raise ValueError(f"counts must be whole numbers of 1 or more, got {counts[bad[0]]:g}")
    return whole


def _evaluate_task(
    group: TaskGroup,
    counts: NDArray[np.int64] | None,
    auprc: str,
    n_bootstrap: int,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    """Return the entry of one task in the result of `evaluate`."""
    rows = np.ones(group.positive.size, dtype=np.int64) if counts is None else counts
    result: dict[str, Any] = {
        "auroc": None,
        auprc: None,
        "n": int(rows.sum()),
        "n_positive": int(rows[group.positive].sum()),
        "auroc_interval": None,
        f"{auprc}_interval": None,
    }
    if not group.has_both_classes:
        logger.warning(
            "task %r has %s examples only (%d): no AUROC or AUPRC, and left out of the mean",
            group.name,
            "positive" if group.positive[0] else "negative",
            result["n"],
        )
        return result
    from sklearn.metrics import average_precision_score, roc_auc_score

    data = (group.positive, group.scores)
    result["auroc"] = float(roc_auc_score(*data, sample_weight=counts))
    result[auprc] = float(average_precision_score(*data, sample_weight=counts))
    if n_bootstrap:
        rng = np.random.default_rng([seed, zlib.crc32(group.name.encode())])
        samples = RankedScores(*data, counts).bootstrap(n_bootstrap, rng)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        bounds = np.quantile(samples, tails, axis=0)
        result["auroc_interval"] = bounds[:, 0].tolist()
        result[f"{auprc}_interval"] = bounds[:, 1].tolist()
    return result
