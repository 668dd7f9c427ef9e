"""Reliability of probabilities: calibration error, and expected beside true numbers of sites."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation.metrics import (
    check_labels,
    check_probabilities,
    check_scores,
    group_by_task,
)

#: Maximum number of blocks into which held-out regions are cut, for intervals; a plain choice.
BLOCKS = 20
#: Candidates above this probability are those that users consider; a plain choice.
LIKELY = 0.1
#: Expected and true numbers that differ by no more than this factor agree; a plain choice.
FACTOR = 1.25
_EDGES = (0.0, 1e-3, 1e-2, LIKELY, 0.25, 0.5, 0.75, 0.9, 1.0)
_HIGHEST = "0.9-1"
_RESAMPLES = 1000
_TAILS = (0.025, 0.975)


def calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, n_bins: int = 10, weights: ArrayLike | None = None
) -> float:
    """Return the expected calibration error over equal-width bins.

    This is the mean over the examples of ``|share of positives - mean probability|`` in their
    bin (Naeini, Cooper and Hauskrecht, AAAI 2015).

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    probabilities : array-like of float, shape (n,)
        Probability of the positive class, in [0, 1].
    n_bins : int, default 10
        Number of bins of equal width; a boundary belongs to the upper bin, 1 to the last.
    weights : array-like of float, shape (n,), optional
        Number of positions that each example represents.

    Raises
    ------
    ValueError
        If lengths differ, a probability lies outside [0, 1] or `n_bins` is below 1.

    Examples
    --------
    >>> round(calibration_error([1, 0, 1, 0], [0.9, 0.9, 0.1, 0.1]), 3)
    0.4
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}; 10 is usual")
    positive = check_labels(labels)
    p = check_probabilities(probabilities, positive.size)
    weight = np.ones(p.size) if weights is None else check_scores(weights, p.size, "weights")
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    return float(np.abs(np.bincount(bins, weight * (positive - p))).sum() / weight.sum())


def expected_sites(
    labels: NDArray[Any],
    probabilities: NDArray[np.float64],
    tasks: NDArray[Any],
    counts: NDArray[Any] | None = None,
    blocks: NDArray[np.int64] | None = None,
) -> dict[str, dict[str, Any]]:
    """Compare the number of sites expected by a model with the true number, by task.

    Parameters
    ----------
    labels : ndarray, shape (n,)
        -1/+1, 0/1 or bool.
    probabilities : ndarray of float64, shape (n,)
        Probability of a true site.
    tasks : ndarray of str, shape (n,)
        Task of each row.
    counts : ndarray, shape (n,), optional
        Number of candidates that each row represents. Default: 1.
    blocks : ndarray of int64, shape (n,), optional
        Number of the block of the genome in which the candidates of a row are. Default: rows are
        dealt to 20 blocks.

    Returns
    -------
    dict
        By task ``{"expected", "calibration_error_p10", "reliability": [row, ...]}``. The rows are
        those of all candidates, of those above :data:`LIKELY`, and of bins of the probability:
        ``{"probability", "n", "expected", "true", "true_interval", "calibrated"}``.
        ``calibration_error_p10`` is the mean absolute difference of probability and fraction of
        true sites among the candidates above :data:`LIKELY`, over the bins; None if there are none.

    Notes
    -----
    The interval is that of the number of true sites: the wider of two 95 % intervals, a bootstrap
    over blocks of the genome of the difference between the true and the expected number, and that
    of a Poisson variable. ``calibrated`` is ``"yes"`` if both numbers differ by at most a factor
    of :data:`FACTOR`. It is ``"within error"`` if they differ by more, but the expected number is
    in the Poisson interval of the true one, as it would be for independent sites; else ``"no"``.
    """
    block_numbers = np.arange(len(labels)) % BLOCKS if blocks is None else blocks
    check_probabilities(probabilities, len(labels))
    results = {}
    for group in group_by_task(labels, probabilities, tasks, counts, block_numbers):
        block_of = np.unique(group.blocks, return_inverse=True)[1]
        bin_of = np.searchsorted(_EDGES[1:-1], group.scores, side="right")
        shape = int(block_of.max()) + 1, len(_EDGES) - 1
        cell = block_of * shape[1] + bin_of
        sums = np.array(
            [
                np.bincount(cell, group.counts * part, shape[0] * shape[1]).reshape(shape)
                for part in (np.ones(cell.size), group.scores, group.positive)
            ]
        )
        results[group.name] = _describe(sums)
    return results


def failures(tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Describe the tasks whose probabilities are not calibrated.

    Parameters
    ----------
    tasks : mapping of str to mapping
        Entries of :func:`expected_sites` by task; others are ignored.

    Returns
    -------
    list of str
        A sentence without its end for each task whose numbers of all candidates, or of those of
        the highest bin, differ by more than chance.
    """
    sentences = []
    for name, task in tasks.items():
        rows = {row["probability"]: row for row in task.get("reliability", [])}
        all_candidates = rows.get("all")
        high = rows.get(_HIGHEST)
        parts = []
        if all_candidates and all_candidates["calibrated"] == "no":
            parts.append(
                f"{all_candidates['expected']:,.0f} sites expected, "
                f"{all_candidates['true']:,.0f} true"
            )
        if high and high["calibrated"] == "no":
            true_share = high["true"] / high["n"]
            parts.append(f"{true_share:.0%} of {high['n']:,.0f} candidates with p >= 0.9 are true")
        if parts:
            sentences.append(f"{name}: probabilities are not calibrated ({'; '.join(parts)})")
    return sentences


def _describe(sums: NDArray[np.float64]) -> dict[str, Any]:
    """Return the entry of a task from numbers, expected and true by block and bin."""
    draws = np.random.default_rng(0).multinomial(
        sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), _RESAMPLES
    )
    likely = _EDGES.index(LIKELY)
    parts = [("all", slice(None)), (f">{LIKELY:g}", slice(likely, None))]
    parts += [
        (f"{low:g}-{high:g}", slice(k, k + 1)) for k, (low, high) in enumerate(pairwise(_EDGES))
    ]
    rows = []
    for name, bins in parts:
        by_block = sums[:, :, bins].sum(axis=2)
        n, expected, true = by_block.sum(axis=1).tolist()
        if not n and bins.stop is not None:
            continue
        low, high = np.quantile(expected + draws @ (by_block[2] - by_block[1]), _TAILS).tolist()
        poisson_low, poisson_high = _poisson_interval(true)
        low, high = max(0.0, min(low, poisson_low)), min(n, max(high, poisson_high))
        agrees = expected <= FACTOR * true and true <= FACTOR * expected
        calibrated = (
            "yes" if agrees else "within error" if poisson_low <= expected <= poisson_high else "no"
        )
        rows.append(
            {
                "probability": name,
                "n": n,
                "expected": expected,
                "true": true,
                "true_interval": [low, high],
                "calibrated": calibrated,
            }
        )
    n, expected, true = sums[:, :, likely:].sum(axis=1)
    error = float(np.abs(expected - true).sum() / n.sum()) if n.any() else None
    return {"expected": rows[0]["expected"], "calibration_error_p10": error, "reliability": rows}


def _poisson_interval(n: float) -> tuple[float, float]:
    """Return the exact 95 % interval of the mean of a Poisson variable that is n."""
    from scipy.special import gammaincinv

    low = float(gammaincinv(n, _TAILS[0])) if n else 0.0
    return low, float(gammaincinv(n + 1, _TAILS[1]))
