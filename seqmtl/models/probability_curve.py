"""Calibration on held-out windows: a rising curve from scores to log-odds for every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.calibration import fit_sigmoid

METHODS = ("auto", "isotonic", "sigmoid")
#: True sites of a task from which on "auto" trusts them with a curve of any shape.
ENOUGH_FOR_ISOTONIC = 200
#: Shares of the true sites for which a threshold is told.
RECALLS = (0.5, 0.8, 0.9, 0.95)
_FOLDS = 5


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
    weights: NDArray[np.float64] | None = None,
    method: str = "auto",
) -> ProbabilityCurve:
    """Fit the log-odds of a true site to scores of windows that had no part in the training.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores, both classes.
    y : ndarray, shape (n,)
        Labels; positive means +1.
    weights : ndarray of float64, shape (n,), optional
        How many places each window stands for. Probabilities hold where the classes have the
        shares that they have under these weights.
    method : {"auto", "isotonic", "sigmoid"}
        ``"sigmoid"`` is Platt's, a straight line of log-odds; ``"isotonic"`` any rising curve;
        ``"auto"`` takes the latter from 200 true sites on.

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
    2017), of log-odds here. A pool of one class alone would be certain: it is given half an example
    of the other, of that class's mean weight. The curve is flat beyond the outermost pools.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    positive = np.asarray(y) > 0
    if positive.all() or not positive.any():
        raise ValueError(
            "calibration needs true sites and decoys, got one class only; give more windows"
        )
    scores = np.asarray(scores, dtype=np.float64)
    weights = np.ones(scores.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if method == "sigmoid" or (method == "auto" and positive.sum() < ENOUGH_FOR_ISOTONIC):
        a, b = fit_sigmoid(scores, np.where(positive, 1.0, -1.0), weights)
        return ProbabilityCurve(np.zeros(1), np.array([b]), np.array([a, a]))
    return _isotonic(scores, positive, weights)


def describe_curve(
    curve: ProbabilityCurve,
    scores: NDArray[np.float64],
    y: NDArray[Any],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    """Return what a curve was fitted to, and which score finds which share of the true sites.

    Returns
    -------
    dict
        ``{"method", "n", "n_positive", "prevalence", "thresholds": [{"recall", "score",
        "probability", "precision"}]}``: prevalence and precision are weighted; a threshold is the
        score of the true site at which the recall is reached.
    """
    positive = np.asarray(y) > 0
    true = np.sort(scores[positive])[::-1]
    thresholds = []
    for recall in RECALLS:
        score = float(true[int(np.ceil(recall * true.size - 1e-9)) - 1])
        called = scores >= score
        thresholds.append(
            {
                "recall": recall,
                "score": score,
                "probability": float(to_probability(curve(np.array([score])))[0]),
                "precision": float(weights[called & positive].sum() / weights[called].sum()),
            }
        )
    return {
        "method": "sigmoid" if curve.scores.size == 1 else "isotonic",
        "n": int(scores.size),
        "n_positive": int(positive.sum()),
        "prevalence": float(weights[positive].sum() / weights.sum()),
        "thresholds": thresholds,
    }


def cross_fitted(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
    method: str = "auto",
) -> NDArray[np.float64]:
    """Return probabilities of windows by curves that were fitted without them, in five folds.

    What a reliability diagram needs: on the windows that it was fitted to, an isotonic curve
    looks right however few they are. Every fifth window by its score, class by class, is a fold.

    Raises
    ------
    ValueError
        If a class has fewer than two windows; see also :func:`fit_curve`.
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(y) > 0
    if min(positive.sum(), (~positive).sum()) < 2:
        raise ValueError(
            "calibration needs at least two windows of each class, got "
            f"{positive.sum()} true sites and {(~positive).sum()} decoys; give more windows"
        )
    fold = np.empty(scores.size, dtype=np.int64)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        n_folds = min(_FOLDS, members.size)
        fold[members[np.argsort(scores[members], kind="stable")]] = (
            np.arange(members.size) % n_folds
        )
    log_odds = np.empty(scores.size)
    for k in range(_FOLDS):
        held, rest = fold == k, fold != k
        part = None if weights is None else weights[rest]
        log_odds[held] = fit_curve(scores[rest], y[rest], part, method)(scores[held])
    return to_probability(log_odds)


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
    if not 0 < prevalence < 1:
        raise ValueError(f"prevalence must be between 0 and 1, got {prevalence:g}")
    if positive.all() or not positive.any():
        raise ValueError("a prevalence needs true sites and decoys, got one class only")
    weights = np.ones(positive.size) if weights is None else weights
    factor = weights[positive].sum() * (1 - prevalence) / prevalence / weights[~positive].sum()
    return np.where(positive, weights, factor * weights)


def _isotonic(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weights: NDArray[np.float64]
) -> ProbabilityCurve:
    from sklearn.isotonic import isotonic_regression

    levels, level_of = np.unique(scores, return_inverse=True)
    total = np.bincount(level_of, weights)
    true = np.bincount(level_of, weights * positive)
    kept = total > 0
    levels, total, true = levels[kept], total[kept], true[kept]
    fitted = isotonic_regression(true / total, sample_weight=total)
    heads = np.flatnonzero(np.diff(fitted, prepend=-1.0))
    total_of, true_of = np.add.reduceat(total, heads), np.add.reduceat(true, heads)
    centers = np.add.reduceat(total * levels, heads) / total_of
    half_true = 0.5 * float(weights[positive].mean())
    half_decoy = 0.5 * float(weights[~positive].mean())
    decoys_of = total_of - true_of
    true_of = np.where(true_of > 0, true_of, half_true)
    decoys_of = np.where(decoys_of > 1e-9 * total_of, decoys_of, half_decoy)
    log_odds = np.maximum.accumulate(np.log(true_of) - np.log(decoys_of))
    return ProbabilityCurve(centers, log_odds, np.zeros(2))
