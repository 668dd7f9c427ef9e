"""Calibration on held-out windows: a rising curve from scores to log-odds for every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice
from seqmtl.models.calibration import fit_sigmoid

METHODS = ("auto", "isotonic", "sigmoid")
#: True sites of a task from which on "auto" trusts them with a curve of any shape.
ENOUGH_FOR_ISOTONIC = 200
#: Shares of the true sites for which a threshold is told.
RECALLS = (0.5, 0.8, 0.9, 0.95)
_FOLDS = 5
_FEWEST = 10  # true sites that a probability rests on


class ProbabilityCurve(NamedTuple):
    """Log-odds of a true site by score: straight between knots, straight on with end slopes.

    Attributes
    ----------
    scores : ndarray of float64, shape (k,)
        Rising scores, at least one.
    log_odds : ndarray of float64, shape (k,)
        Log-odds there, not falling.
    slopes : ndarray of float64, shape (2,)
        Slopes below the first and above the last knot, not negative.
    """

    scores: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    slopes: NDArray[np.float64]

    def __call__(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of scores."""
        low, high = self.scores[0], self.scores[-1]
        inner = np.interp(scores, self.scores, self.log_odds)
        below, above = np.minimum(scores - low, 0.0), np.maximum(scores - high, 0.0)
        return np.asarray(inner + self.slopes[0] * below + self.slopes[1] * above)


def fit_curve(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    counts: NDArray[Any] | None = None,
    method: str = "auto",
    prevalence: float | None = None,
) -> ProbabilityCurve:
    """Fit the log-odds of a true site to scores of candidates that had no part in the training.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores, both classes.
    y : ndarray, shape (n,)
        Labels; positive means +1.
    counts : ndarray, shape (n,), optional
        How many candidates each row stands for. Default: 1.
    method : {"auto", "isotonic", "sigmoid"}
        ``"sigmoid"`` is Platt's, a straight line of log-odds; ``"isotonic"`` any rising curve;
        ``"auto"`` takes the latter from 200 true sites on.
    prevalence : float, optional
        Share of true sites where the probabilities are to hold. Default: that of the candidates.

    Returns
    -------
    ProbabilityCurve

    Raises
    ------
    ValueError
        If a class is absent, or the method is unknown.

    Notes
    -----
    Isotonic regression by pooling adjacent violators, read off at the mean score of every pool
    and joined there by straight lines (the centred isotonic regression of Oron and Flournoy,
    2017), of log-odds here. The curve is flat beyond the outermost pools.

    No probability rests on less than 10 true sites: from the highest scores down, pools are joined
    until they have so many, and the sigmoid rises no higher than the best share that 10 or more of
    the highest true sites have among the candidates down to theirs. Both count one decoy more than
    there is, so that a high probability needs many true sites. Another prevalence moves the curve
    by the difference of the log-odds.
    """
    check_choice("method", method, METHODS)
    levels, true, decoys = _count_levels(scores, y, counts)
    if not (true.any() and decoys.any()):
        raise ValueError(
            "calibration needs true sites and decoys, got one class only; give more windows"
        )
    n_true, n_decoys = float(true.sum()), float(decoys.sum())
    if method == "sigmoid" or (method == "auto" and n_true < ENOUGH_FOR_ISOTONIC):
        curve = _capped_sigmoid(levels, true, decoys)
    else:
        curve = _isotonic(levels, true, decoys)
    if prevalence is None:
        return curve
    _check_prevalence(prevalence)
    change = np.log(prevalence / (1 - prevalence)) - np.log(n_true / n_decoys)
    return curve._replace(log_odds=curve.log_odds + change)


def describe_curve(
    curve: ProbabilityCurve,
    scores: NDArray[np.float64],
    y: NDArray[Any],
    counts: NDArray[Any] | None = None,
    prevalence: float | None = None,
) -> dict[str, Any]:
    """Return what a curve was fitted to, and which score finds which share of the true sites.

    Returns
    -------
    dict
        ``{"method", "n", "n_positive", "prevalence", "thresholds": [{"recall", "score",
        "probability", "precision"}]}``: precision is that at the prevalence; a threshold is the
        score of the true site at which the recall is reached.
    """
    levels, true, decoys = (column[::-1] for column in _count_levels(scores, y, counts))
    n_true, n_decoys = float(true.sum()), float(decoys.sum())
    share = n_true / (n_true + n_decoys) if prevalence is None else prevalence
    per_decoy = n_true * (1 - share) / (share * n_decoys)
    found, wrong = np.cumsum(true), per_decoy * np.cumsum(decoys)
    thresholds = []
    for recall in RECALLS:
        place = int(np.searchsorted(found, np.ceil(recall * n_true - 1e-9)))
        thresholds.append(
            {
                "recall": recall,
                "score": float(levels[place]),
                "probability": float(to_probability(curve(levels[place : place + 1]))[0]),
                "precision": float(found[place] / (found[place] + wrong[place])),
            }
        )
    return {
        "method": "sigmoid" if curve.slopes.any() else "isotonic",
        "n": int(n_true + n_decoys),
        "n_positive": int(n_true),
        "prevalence": share,
        "thresholds": thresholds,
    }


def cross_fitted(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    counts: NDArray[Any] | None = None,
    method: str = "auto",
    prevalence: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return probabilities of candidates by curves that were fitted without them, in five folds.

    What a reliability diagram needs: on the candidates that it was fitted to, an isotonic curve
    looks right however few they are. Every fifth candidate by its score, class by class, is a fold.

    Returns
    -------
    probabilities : ndarray of float64, shape (m,)
        A row for each row and fold that has some of its candidates.
    rows : ndarray of int64, shape (m,)
        Row that each is of.
    counts : ndarray of int64, shape (m,)
        How many candidates it stands for.

    Raises
    ------
    ValueError
        If a class has fewer than two candidates; see also :func:`fit_curve`.
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(y) > 0
    counts = np.ones(scores.size, np.int64) if counts is None else np.asarray(counts, np.int64)
    n_true, n_decoys = int(counts[positive].sum()), int(counts[~positive].sum())
    if min(n_true, n_decoys) < 2:
        raise ValueError(
            "calibration needs at least two windows of each class, got "
            f"{n_true} true sites and {n_decoys} decoys; give more windows"
        )
    order = np.lexsort([scores, positive])
    ends = np.cumsum(counts[order])
    ends = np.where(positive[order], ends - n_decoys, ends)  # within the class
    parts = []
    for k in range(_FOLDS):
        held = np.empty_like(counts)
        held[order] = (ends + _FOLDS - 1 - k) // _FOLDS - (
            ends - counts[order] + _FOLDS - 1 - k
        ) // _FOLDS
        rows = np.flatnonzero(held)
        curve = fit_curve(scores, y, counts - held, method, prevalence)
        parts.append((to_probability(curve(scores[rows])), rows, held[rows]))
    probabilities, rows, held = (np.concatenate(column) for column in zip(*parts, strict=True))
    return probabilities, rows, held


def to_probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn log-odds into probabilities."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))


def pack_curves(curves: Mapping[str, ProbabilityCurve]) -> dict[str, NDArray[Any]]:
    """Return the curves as arrays for a model file, none where there are none."""
    if not curves:
        return {}
    every = list(curves.values())
    return {
        "curve_sizes": np.array([curve.scores.size for curve in every], dtype=np.int64),
        "curve_scores": np.concatenate([curve.scores for curve in every]),
        "curve_log_odds": np.concatenate([curve.log_odds for curve in every]),
        "curve_slopes": np.stack([curve.slopes for curve in every]),
    }


def unpack_curves(
    names: Sequence[str], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, ProbabilityCurve]:
    """Rebuild the curves of some tasks from the arrays of a model file.

    Raises
    ------
    KeyError, ValueError
        If arrays are absent, or are not rising curves.
    """
    if not names:
        return {}
    ends = np.cumsum(arrays["curve_sizes"])
    scores, log_odds = arrays["curve_scores"], arrays["curve_log_odds"]
    slopes = arrays["curve_slopes"]
    if not ends.size == len(names) == len(slopes) or not ends[-1] == scores.size == log_odds.size:
        raise ValueError("calibration curves do not match the tasks")
    curves = {}
    for name, end, size, ends_ in zip(names, ends, arrays["curve_sizes"], slopes, strict=True):
        part = slice(int(end - size), int(end))
        curve = ProbabilityCurve(scores[part], log_odds[part], ends_)
        rising = (np.diff(curve.scores) > 0).all() and (np.diff(curve.log_odds) >= 0).all()
        if size < 1 or not rising or not (ends_ >= 0).all() or not np.isfinite(log_odds).all():
            raise ValueError(f"the calibration curve of {name} does not rise")
        curves[name] = curve
    return curves


def weights_for_prevalence(
    y: NDArray[Any], prevalence: float, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return weights that give the true sites this share: those of decoys are multiplied.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Labels; positive means +1.
    prevalence : float
        Share wanted, between 0 and 1.
    weights : ndarray of float64, shape (n,), optional
        Weights so far. Default: 1.

    Raises
    ------
    ValueError
        If the prevalence is not between 0 and 1, or a class is absent.
    """
    positive = np.asarray(y) > 0
    _check_prevalence(prevalence)
    if positive.all() or not positive.any():
        raise ValueError("a prevalence needs true sites and decoys, got one class only")
    weights = np.ones(positive.size) if weights is None else weights
    factor = weights[positive].sum() * (1 - prevalence) / prevalence / weights[~positive].sum()
    return np.where(positive, weights, factor * weights)


def _check_prevalence(prevalence: float) -> None:
    if not 0 < prevalence < 1:
        raise ValueError(f"prevalence must be between 0 and 1, got {prevalence:g}")


def _count_levels(
    scores: NDArray[np.float64], y: NDArray[Any], counts: NDArray[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct scores, rising, and the true sites and decoys that have each."""
    levels, level_of = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    positive = np.asarray(y) > 0
    counts = np.ones(level_of.size) if counts is None else np.asarray(counts, dtype=np.float64)
    true: NDArray[Any] = np.bincount(level_of, counts * positive, levels.size)
    decoys: NDArray[Any] = np.bincount(level_of, counts * ~positive, levels.size)
    kept = true + decoys > 0
    return levels[kept], true[kept], decoys[kept]


def _capped_sigmoid(
    levels: NDArray[np.float64], true: NDArray[np.float64], decoys: NDArray[np.float64]
) -> ProbabilityCurve:
    """Fit a straight line that is flat where it would be above what is supported."""
    y = np.repeat([1.0, -1.0], levels.size)
    a, b = fit_sigmoid(np.tile(levels, 2), y, np.concatenate([true, decoys]))
    found, wrong = np.cumsum(true[::-1]), np.cumsum(decoys[::-1])
    is_enough = found >= min(_FEWEST, found[-1])
    cap = float(np.log(np.max(found[is_enough] / (wrong[is_enough] + 1))))
    if a * levels[-1] + b <= cap:
        return ProbabilityCurve(levels[-1:], np.array([a * levels[-1] + b]), np.array([a, 0.0]))
    knot = levels[-1] if a == 0 else (cap - b) / a
    return ProbabilityCurve(np.array([knot]), np.array([cap]), np.array([a, 0.0]))


def _isotonic(
    levels: NDArray[np.float64], true: NDArray[np.float64], decoys: NDArray[np.float64]
) -> ProbabilityCurve:
    """Pool adjacent violators, and from the top pools of too few true sites."""
    from sklearn.isotonic import isotonic_regression

    total = true + decoys
    fitted = isotonic_regression(true / total, sample_weight=total)
    heads = np.flatnonzero(np.diff(fitted, prepend=-1.0))
    joined, n_true = [], 0.0
    for head, n in zip(heads[::-1], np.add.reduceat(true, heads)[::-1], strict=True):
        n_true += float(n)
        if n_true >= _FEWEST or head == 0:
            joined.append(head)
            n_true = 0.0
    heads = np.array(joined[::-1])
    centers = np.add.reduceat(total * levels, heads) / np.add.reduceat(total, heads)
    true_of, decoys_of = np.add.reduceat(true, heads), np.add.reduceat(decoys, heads)
    log_odds = np.log(np.where(true_of > 0, true_of, 0.5)) - np.log(decoys_of + 1)
    return ProbabilityCurve(centers, np.maximum.accumulate(log_odds), np.zeros(2))


def calibration_text(training: dict[str, Any]) -> list[str]:
    """Say which score finds which share of the true sites, where the model was calibrated."""
    found = training.get("calibration", {})
    lines = ["calibrated on held-out windows"] if found else []
    for name, task in found.items():
        lines.append(
            f"  {name}: {task['method']}, {task['n_positive']:,} true sites, a share of "
            f"{task['prevalence']:.2g} of all candidates"
        )
        lines += [
            f"    score {row['score']:8.4f}  probability {row['probability']:<8.4g}  recall "
            f"{row['recall']:.2f}  precision {row['precision']:.3f}"
            for row in task["thresholds"]
        ]
    return lines
