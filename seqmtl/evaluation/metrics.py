"""AUROC and AUPRC per task with bootstrap intervals, and metrics at genomic prevalence."""

from __future__ import annotations

import logging
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._checks import check_choice, check_integer

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

_Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class TaskGroup:
    """The examples of one task, in their original order.

    Attributes
    ----------
    name : str
        Name of the task.
    positive : ndarray of bool, shape (n,)
        Whether the label is positive.
    scores : ndarray of float64, shape (n,)
        Finite scores (or probabilities).
    counts : ndarray of float64, shape (n,)
        Number of examples that each row represents.
    blocks : ndarray of float64, shape (n,)
        Number of the part of the genome of each row; 0 if there are no parts.
    """

    name: str
    positive: NDArray[np.bool_]
    scores: NDArray[np.float64]
    counts: NDArray[np.float64]
    blocks: NDArray[np.float64]

    @property
    def has_both_classes(self) -> bool:
        """Whether the task has both classes, as ranking metrics require."""
        return bool(self.positive.any() and not self.positive.all())


def check_labels(labels: ArrayLike) -> NDArray[np.bool_]:
    """Convert labels of -1/+1, 0/1 or bool to a boolean array that is True for positives.

    Raises
    ------
    ValueError
        If there are no labels, they are not one-dimensional, or they have other values.
    """
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"labels must be a non-empty vector, got shape {array.shape}; "
            "give one label per example"
        )
    if array.dtype == np.bool_:
        return array
    values = set(np.unique(array).tolist())
    if not (values <= {-1, 1} or values <= {0, 1}):
        examples = ", ".join(repr(value) for value in sorted(values, key=str)[:5])
        raise ValueError(f"labels must be -1/+1 or 0/1, got {examples}; recode them")
    return np.asarray(array == 1)


def check_scores(scores: ArrayLike, n: int, name: str = "scores") -> NDArray[np.float64]:
    """Return `scores` as finite float64 of length `n`.

    Raises
    ------
    ValueError
        If the length differs from that of the labels, or a score is NaN or infinite.
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one value for each of the {n} labels, got shape {array.shape}; "
            "give one per example"
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(
            f"{name} must be finite, got {array[bad[0]]} at index {bad[0]} ({bad.size} in all); "
            "leave these examples out, or find out why they have no score"
        )
    return array


def check_probabilities(probabilities: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return `probabilities` as float64 of length `n`, all in [0, 1].

    Raises
    ------
    ValueError
        As `check_scores`, or if a value lies outside [0, 1].
    """
    array = check_scores(probabilities, n, "probabilities")
    if array.min() < 0 or array.max() > 1:
        outside = array[(array < 0) | (array > 1)][0]
        raise ValueError(
            f"probabilities must be between 0 and 1, got {outside:g}; calibrate the scores first"
        )
    return array


def group_by_task(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    counts: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
) -> list[TaskGroup]:
    """Split validated labels and scores by task, tasks in the order of their first example.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task of each example.
    counts : array-like of float, shape (n,), optional
        Number of examples that each row represents. Default: 1.
    blocks : array-like of int, shape (n,), optional
        Number of the part of the genome of each row. Default: 0.

    Raises
    ------
    ValueError
        If lengths differ, a label is invalid, or a score is not finite.
    """
    positive = check_labels(labels)
    n = positive.size
    columns = [
        positive,
        check_scores(scores, n),
        np.ones(n) if counts is None else check_scores(counts, n, "counts"),
        np.zeros(n) if blocks is None else check_scores(blocks, n, "blocks"),
    ]
    names = np.asarray(tasks)
    if names.shape != positive.shape:
        raise ValueError(
            f"tasks must have one name for each of the {n} labels, "
            f"got shape {names.shape}; name the task of every example"
        )
    if names.dtype.kind != "U":
        names = names.astype(str)
    unique, first, inverse, sizes = np.unique(
        names, return_index=True, return_inverse=True, return_counts=True
    )
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(sizes)[:-1])
    return [
        TaskGroup(str(unique[t]), *(column[rows[t]] for column in columns))
        for t in np.argsort(first)
    ]


class RankedScores:
    """Scores of one task, sorted once so that any weighting of examples is evaluated in O(n).

    The metrics are equal to scikit-learn's ``roc_auc_score`` and ``average_precision_score`` with
    ``sample_weight``, including ties.

    All metrics depend, for each positive, only on the weight of negatives that rank above it or
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

    Examples
    --------
    >>> RankedScores(np.array([True, False, True, False]), np.array([3.0, 2.0, 1.0, 0.0])).metrics()
    (0.75, 0.8333333333333333)
    """

    def __init__(
        self,
        positive: NDArray[np.bool_],
        scores: NDArray[np.float64],
        weights: NDArray[Any] | None = None,
    ) -> None:
        weights = np.ones(scores.size) if weights is None else weights
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

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        n_positive = float(self.positive_weight.sum())
        return n_positive / (n_positive + float(self.negative_weight.sum()))

    def roc(self) -> _Curve:
        """Return the corners of the ROC curve: false and true positive rates, rising."""
        false_positive = np.append(0.0, np.cumsum(self.negative_weight))
        true_positive = np.append([0.0, 0.0], np.repeat(np.cumsum(self.positive_weight), 2))
        return false_positive / false_positive[-1], true_positive / true_positive[-1]

    def precision_recall(self) -> _Curve:
        """Return recall, rising, and precision at every level, after the point (0, 1)."""
        true_positive = np.cumsum(self.positive_weight)
        predicted = true_positive + np.cumsum(self.negative_weight)[1::2]
        recall = np.append(0.0, true_positive / true_positive[-1])
        return recall, np.append(1.0, true_positive / predicted)

    def precision_at(self, recall: float) -> float:
        """Return the precision at the highest score that reaches a recall, with its ties."""
        recalls, precision = self.precision_recall()
        return float(precision[1:][np.searchsorted(recalls[1:], recall * (1 - 1e-12))])

    def bootstrap(self, n_bootstrap: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return both metrics of resamples with replacement within each class.

        Returns
        -------
        ndarray of float64, shape (n_bootstrap, 2)
            AUROC and average precision of each resample.
        """
        weights_of_classes = (self.positive_weight, self.negative_weight)
        numbers = [round(float(weight.sum())) for weight in weights_of_classes]
        probabilities = [weight / weight.sum() for weight in weights_of_classes]
        samples = np.empty((n_bootstrap, 2))
        for row in samples:
            row[:] = self.metrics(
                *(rng.multinomial(*d) for d in zip(numbers, probabilities, strict=True))
            )
        return samples


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
        "seed"}}``. A task with one class has None for its metrics and is not in the mean over
        ``n_tasks`` tasks. With `counts` every task also has ``"genome": {"prevalence", "auprc",
        "precision_at_recall": {"0.5", "0.8", "0.95"}}``: the share of positives, the AUPRC, and
        the precision at the highest threshold that reaches each recall, including ties.

    Raises
    ------
    ValueError
        If lengths differ, a label is invalid, a score is NaN or infinite, or an option is out
        of range.
    """
    check_integer("n_bootstrap", n_bootstrap, 0, 1_000_000)
    check_integer("seed", seed, 0)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}; 0.95 is usual")
    check_choice("auprc", auprc, AUPRC_TITLES)
    bootstrap = {"n_resamples": n_bootstrap, "confidence": confidence, "seed": seed}
    results = {}
    for group in group_by_task(labels, scores, tasks, counts):
        _check_counts(group.counts)
        results[group.name] = _evaluate_task(group, auprc, bootstrap, counts is not None)
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
        "bootstrap": bootstrap,
    }


def _check_counts(counts: NDArray[np.float64]) -> None:
    bad = np.flatnonzero((np.floor(counts) != counts) | (counts < 1))
    if bad.size:
        raise ValueError(f"counts must be whole numbers of 1 or more, got {counts[bad[0]]:g}")


def _evaluate_task(
    group: TaskGroup, auprc: str, bootstrap: dict[str, Any], is_genome: bool
) -> dict[str, Any]:
    """Return the entry of one task in the result of `evaluate`."""
    n = int(group.counts.sum())
    n_positive = int(group.counts[group.positive].sum())
    areas: tuple[float | None, float | None] = (None, None)
    intervals: list[Any] = [None, None]
    precision: dict[str, float | None] = dict.fromkeys(map(str, RECALLS))
    if group.has_both_classes:
        ranked = RankedScores(group.positive, group.scores, group.counts)
        areas = ranked.metrics()
        intervals = _intervals(group.name, ranked, bootstrap)
        precision = {str(recall): ranked.precision_at(recall) for recall in RECALLS}
    else:
        logger.warning(
            "task %r has %s examples only (%d): no AUROC or AUPRC, and left out of the mean",
            group.name,
            "positive" if n_positive else "negative",
            n,
        )
    result: dict[str, Any] = {
        "auroc": areas[0],
        auprc: areas[1],
        "n": n,
        "n_positive": n_positive,
        "auroc_interval": intervals[0],
        f"{auprc}_interval": intervals[1],
    }
    if is_genome:
        result["genome"] = {
            "prevalence": n_positive / n,
            "auprc": areas[1],
            "precision_at_recall": precision,
        }
    return result


def _intervals(name: str, ranked: RankedScores, bootstrap: dict[str, Any]) -> list[Any]:
    """Return the intervals of AUROC and AUPRC; None for both without resamples."""
    if not bootstrap["n_resamples"]:
        return [None, None]
    rng = np.random.default_rng([bootstrap["seed"], zlib.crc32(name.encode())])
    samples = ranked.bootstrap(bootstrap["n_resamples"], rng)
    tails = [(1 - bootstrap["confidence"]) / 2, (1 + bootstrap["confidence"]) / 2]
    return np.quantile(samples, tails, axis=0).T.tolist()
