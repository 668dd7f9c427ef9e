"""AUROC and AUPRC per task with bootstrap intervals, and what holds over a whole genome."""

from __future__ import annotations

import logging
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation._groups import (
    TaskGroup,
    check_labels,
    check_scores,
    group_by_task,
)

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
#: Shares of the true sites at which the precision is told.
RECALLS = (0.5, 0.8, 0.95)


class RankedScores:
    """Scores of one task, sorted once so that any weighting of its examples is judged in O(n).

    Both metrics ask of each positive only how much negative weight ranks above it and how much
    ties with it. So the m distinct scores of the positives, from high to low, cut the negatives
    into 2m + 1 cells: cell 2j lies between level j - 1 and level j, cell 2j + 1 is tied with
    level j, cell 2m lies below all positives.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Class of each example; both classes occur.
    scores : ndarray of float64, shape (n,)
        Finite scores.
    """

    def __init__(self, positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> None:
        levels, self.positive_level = np.unique(-scores[positive], return_inverse=True)
        negatives = -scores[~positive]
        level = np.searchsorted(levels, negatives, side="left")
        is_tied = levels[np.minimum(level, levels.size - 1)] == negatives
        self.negative_cell = 2 * level + is_tied
        self.n_levels = levels.size
        self.n_cells = 2 * levels.size + 1

    def metrics(
        self, positive_weight: NDArray[Any], negative_weight: NDArray[Any]
    ) -> tuple[float, float]:
        """Return (AUROC, average precision) under weights summed by level and by cell.

        Parameters
        ----------
        positive_weight : ndarray, shape (n_levels,)
            Weight of the positives at each level, not all zero.
        negative_weight : ndarray, shape (n_cells,)
            Weight of the negatives in each cell, not all zero.
        """
        cumulative = np.cumsum(negative_weight)
        false_positive = cumulative[1::2]
        true_positive = np.cumsum(positive_weight)
        n_positive, n_negative = float(true_positive[-1]), float(cumulative[-1])
        beaten = n_negative - false_positive + 0.5 * negative_weight[1::2]
        auroc = np.dot(positive_weight, beaten) / (n_positive * n_negative)
        predicted = true_positive + false_positive
        precision = np.divide(
            true_positive, predicted, out=np.zeros(self.n_levels), where=predicted > 0
        )
        return float(auroc), float(np.dot(positive_weight, precision) / n_positive)

    def bootstrap(self, n_bootstrap: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw both metrics of resamples with replacement within each class.

        Returns
        -------
        ndarray of float64, shape (n_bootstrap, 2)
            AUROC and average precision of each resample.
        """
        samples = np.empty((n_bootstrap, 2))
        level, cell = self.positive_level, self.negative_cell
        for row in samples:
            drawn_positive = level[rng.integers(level.size, size=level.size, dtype=np.uint32)]
            drawn_negative = cell[rng.integers(cell.size, size=cell.size, dtype=np.uint32)]
            row[:] = self.metrics(
                np.bincount(drawn_positive, minlength=self.n_levels),
                np.bincount(drawn_negative, minlength=self.n_cells),
            )
        return samples


def weighted_auroc_auprc(
    labels: ArrayLike, scores: ArrayLike, weights: ArrayLike
) -> tuple[float, float]:
    """Return the weighted AUROC and average precision of one ranking.

    The same values as scikit-learn's ``roc_auc_score`` and ``average_precision_score`` with
    ``sample_weight``, ties included; the intervals of `evaluate` rest on this code.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    weights : array-like of float, shape (n,)
        Not negative, and not all zero in either class.

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
    ranked = RankedScores(positive, values)
    return ranked.metrics(
        np.bincount(ranked.positive_level, weight[positive], ranked.n_levels),
        np.bincount(ranked.negative_cell, weight[~positive], ranked.n_cells),
    )


def evaluate(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Judge scores task by task: AUROC and AUPRC (average precision) with bootstrap intervals.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task (organism) of each example.
    weights : array-like of float, shape (n,), optional
        How many places of the genome each example stands for, not negative. Adds what holds at
        the prevalence of the genome; AUROC and AUPRC stay those of the examples.
    n_bootstrap : int, default 200
        Resamples per task, drawn with replacement within each class; 0 leaves the intervals None.
    confidence : float, default 0.95
        Share of the resamples that an interval (percentile method) covers, in (0, 1).
    seed : int, default 0
        Not negative. Together with the name of a task it fixes the resamples of that task, so
        an interval does not depend on which other tasks are evaluated.

    Returns
    -------
    dict
        Ready for JSON: ``{"schema_version": 1, "tasks": {name: {"auroc", "auprc", "n",
        "n_positive", "auroc_interval": [low, high], "auprc_interval": [low, high]}},
        "mean": {"auroc", "auprc", "n_tasks"}, "bootstrap": {"n_resamples", "confidence",
        "seed"}}``. With `weights` every task also has ``"genome"``, see `evaluate_genome`. A task
        with one class has None for its metrics and is not counted in the mean; ``n_tasks`` says
        how many are.

    Raises
    ------
    ValueError
        If lengths differ, a label is neither class, a score is NaN or infinite, or an option
        is out of range.
    """
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be at least 0, got {n_bootstrap}; 0 means no intervals")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}; 0.95 is usual")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}; give another")
    groups = group_by_task(labels, scores, tasks)
    results = {group.name: _evaluate_task(group, n_bootstrap, confidence, seed) for group in groups}
    if weights is not None:
        for name, genome in evaluate_genome(labels, scores, tasks, weights).items():
            results[name]["genome"] = genome
    counted = [result for result in results.values() if result["auroc"] is not None]
    mean: dict[str, Any] = {
        metric: float(np.mean([result[metric] for result in counted])) if counted else None
        for metric in ("auroc", "auprc")
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
    """Judge scores at the prevalence of the genome, task by task.

    Parameters
    ----------
    labels, scores, tasks, weights
        See `evaluate`.

    Returns
    -------
    dict of str to dict
        ``{"prevalence", "auprc", "precision_at_recall": {"0.5", "0.8", "0.95"}}`` by task: the
        weighted share of positives, the weighted average precision, and the weighted precision
        of the smallest set of best scores that holds this share of the positives, ties included.
        None for a task with one class.

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
    last = np.flatnonzero(np.diff(scores[order], append=-np.inf))  # of equal scores
    found = np.cumsum(weights[order] * positive[order])[last]
    precision = found / np.cumsum(weights[order])[last]
    for recall in RECALLS:
        place = int(np.searchsorted(found, recall * true * (1 - 1e-12)))
        result["precision_at_recall"][str(recall)] = float(precision[place])
    return result


def _evaluate_task(
    group: TaskGroup, n_bootstrap: int, confidence: float, seed: int
) -> dict[str, Any]:
    """Return the entry of one task in the result of `evaluate`."""
    result: dict[str, Any] = {
        "auroc": None,
        "auprc": None,
        "n": int(group.positive.size),
        "n_positive": int(group.positive.sum()),
        "auroc_interval": None,
        "auprc_interval": None,
    }
    if not group.has_both_classes:
        logger.warning(
            "task %r has %s examples only (%d): no AUROC or AUPRC, and left out of the mean",
            group.name,
            "positive" if group.positive[0] else "negative",
            group.positive.size,
        )
        return result
    from sklearn.metrics import average_precision_score, roc_auc_score

    result["auroc"] = float(roc_auc_score(group.positive, group.scores))
    result["auprc"] = float(average_precision_score(group.positive, group.scores))
    if n_bootstrap:
        rng = np.random.default_rng([seed, zlib.crc32(group.name.encode())])
        samples = RankedScores(group.positive, group.scores).bootstrap(n_bootstrap, rng)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        bounds = np.quantile(samples, tails, axis=0)
        result["auroc_interval"] = bounds[:, 0].tolist()
        result["auprc_interval"] = bounds[:, 1].tolist()
    return result
