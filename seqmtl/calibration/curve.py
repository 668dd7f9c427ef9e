"""Calibration on held-out windows: one rising curve from scores to log-odds per task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice
from seqmtl.calibration.sigmoid import fit_sigmoid
from seqmtl.exceptions import ParameterError

if TYPE_CHECKING:
    from seqmtl.files.model_file import Forms

METHODS = ("auto", "isotonic", "sigmoid")
#: Number of true sites of a task from which "auto" uses isotonic regression.
ENOUGH_FOR_ISOTONIC = 200
#: Recalls for which a threshold is reported.
RECALLS = (0.5, 0.8, 0.9, 0.95)
_FOLDS = 5
_CLOSE = 1e-9  # of the range of scores
_MIN_TRUE_SITES = 10  # smallest number of true sites behind a probability
_TAIL_SLOPE = 0.02  # rise where too few true sites are left, as a share of that of Platt's line


class CalibrationCurve(NamedTuple):
    """Log-odds of a true site as a piecewise linear function of the score.

    Attributes
    ----------
    scores : ndarray of float64, shape (k,)
        Rising scores, at least one.
    log_odds : ndarray of float64, shape (k,)
        Rising log-odds at these scores.
    slopes : ndarray of float64, shape (2,)
        Slopes below the first and above the last knot; positive.
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


def mean_curve(curves: Sequence[CalibrationCurve], weights: Sequence[float]) -> CalibrationCurve:
    """Return the weighted sum of curves, as one curve."""
    knots = np.unique(np.concatenate([curve.scores for curve in curves]))
    log_odds, slopes = np.zeros(knots.size), np.zeros(2)
    for curve, weight in zip(curves, weights, strict=True):
        log_odds += weight * curve(knots)
        slopes += weight * curve.slopes
    return CalibrationCurve(knots, log_odds, slopes)


def fit_curve(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    counts: NDArray[Any] | None = None,
    method: str = "auto",
    prevalence: float | None = None,
) -> CalibrationCurve:
    """Fit a calibration curve to scores of candidates that were not used for training.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of both classes.
    y : ndarray, shape (n,)
        Labels; positive means +1.
    counts : ndarray, shape (n,), optional
        Number of candidates that each row represents. Default: 1.
    method : {"auto", "isotonic", "sigmoid"}
        ``"sigmoid"`` is Platt's: log-odds are linear in the score. ``"isotonic"`` fits any
        rising curve. ``"auto"`` is isotonic from 200 true sites on.
    prevalence : float, optional
        Share of true sites for which the probabilities hold. Default: that of the candidates.

    Returns
    -------
    CalibrationCurve

    Raises
    ------
    ValueError
        If a class is absent, or the method is unknown.

    Notes
    -----
    Isotonic regression pools adjacent violators. Each pool becomes a knot at its mean score, and
    knots are joined linearly in log-odds (after the centred isotonic regression of Oron and
    Flournoy, 2017).

    Probabilities rest on at least 10 true sites. In isotonic regression, pools are merged from the
    highest scores down until they have that many. The sigmoid reaches, at the highest score, the
    largest share of true sites among the candidates above any threshold that 10 or more true sites
    exceed; isotonic regression reaches that of its highest pool. Both count one additional decoy,
    so a high probability needs many true sites. Another prevalence shifts the curve by the
    difference in log-odds.

    The curve rises everywhere, so that candidates are in the order of their scores. Below the
    lowest pool its slope is that of the sigmoid; above the highest pool, and where the sigmoid
    approaches its largest share, at most 2 % of that, also beyond the highest score.
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


def fit_consensus_offsets(
    scores: NDArray[np.float64],
    y: NDArray[Any],
    consensus: NDArray[Any],
    counts: NDArray[Any] | None = None,
    method: str = "auto",
) -> NDArray[np.float64]:
    """Fit how far the scores of each consensus move, so that one curve holds for all of them.

    Parameters
    ----------
    scores, y, counts, method
        See :func:`fit_curve`.
    consensus : ndarray of int, shape (n,)
        Number of the consensus of each row, from 0; -1 for none.

    Returns
    -------
    ndarray of float64, shape (n_consensus + 1,)
        Added to the scores of each consensus; the last, 0, is for rows without one.

    Notes
    -----
    The consensus with the most true sites stays, and its curve is that of all at first. If the
    probabilities of another's candidates sum to E by this curve, and n of them are true, their
    scores move until the sum is E (n + 1) / (E + 1). This is r E with the posterior mean of r, if n
    is Poisson with mean r E and r has a Gamma(1, 1) prior: one of which few sites are expected
    hardly moves, and one without a true site moves until just below one is expected.
    """
    is_true, shifts = np.asarray(y) > 0, np.zeros(int(consensus.max(initial=-1)) + 2)
    counts = np.ones(scores.size) if counts is None else np.asarray(counts, np.float64)
    n_true = np.array(
        [counts[is_true & (consensus == number)].sum() for number in range(shifts.size - 1)]
        or [0.0]
    )
    main = int(n_true.argmax())
    rows = consensus == main
    if not (n_true[main] and counts[rows & ~is_true].any()):
        return shifts
    curve = fit_curve(scores[rows], y[rows], counts[rows], method)
    for number in range(shifts.size - 1):
        if number != main:
            rows = consensus == number
            shifts[number] = _shift(
                curve, scores[rows], counts[rows], n_true[number], np.ptp(scores)
            )
    return shifts


def _shift(
    curve: CalibrationCurve,
    scores: NDArray[np.float64],
    counts: NDArray[np.float64],
    n_true: float,
    span: float,
) -> float:
    """Return the smallest shift of the scores that gives the expected number of true sites."""

    def expected(shift: float) -> float:
        return float(counts @ to_probability(curve(scores + shift)))

    alone = expected(0.0)
    sign = 1.0 if n_true > alone else -1.0
    wanted = sign * alone * (n_true + 1.0) / (alone + 1.0)
    wanted = min(wanted, sign * expected(sign * span))
    low, high = 0.0, span
    while high - low > _CLOSE * span:
        middle = (low + high) / 2.0
        if sign * expected(sign * middle) < wanted:
            low = middle
        else:
            high = middle
    return sign * high if low else 0.0


def describe_curve(
    curve: CalibrationCurve,
    scores: NDArray[np.float64],
    y: NDArray[Any],
    counts: NDArray[Any] | None = None,
    prevalence: float | None = None,
) -> dict[str, Any]:
    """Describe the data behind a curve, and the thresholds that reach given recalls.

    Returns
    -------
    dict
        ``{"method", "n", "n_positive", "prevalence", "thresholds": [{"recall", "score",
        "probability", "precision"}]}``. Precision is at the prevalence; a threshold is the
        score of the true site at which the recall is reached.
    """
    levels, true, decoys = (column[::-1] for column in _count_levels(scores, y, counts))
    n_true, n_decoys = float(true.sum()), float(decoys.sum())
    share = n_true / (n_true + n_decoys) if prevalence is None else prevalence
    per_decoy = n_true * (1 - share) / (share * n_decoys)
    n_found, wrong = np.cumsum(true), per_decoy * np.cumsum(decoys)
    thresholds = []
    for recall in RECALLS:
        level = int(np.searchsorted(n_found, recall * n_true - 1e-9))
        thresholds.append(
            {
                "recall": recall,
                "score": float(levels[level]),
                "probability": float(to_probability(curve(levels[level : level + 1]))[0]),
                "precision": float(n_found[level] / (n_found[level] + wrong[level])),
            }
        )
    return {
        "method": "sigmoid" if curve.scores.size == 1 else "isotonic",
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
    consensus: NDArray[Any] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return out-of-fold probabilities of candidates, from five folds.

    A reliability diagram needs these: on its training data isotonic regression seems
    calibrated however little there is. Folds take every fifth candidate by score within each class.

    Parameters
    ----------
    scores, y, counts, method, prevalence
        See :func:`fit_curve`.
    consensus : ndarray of int, shape (n,), optional
        See :func:`fit_consensus_offsets`; fitted in each fold. Default: scores do not move.

    Returns
    -------
    probabilities : ndarray of float64, shape (m,)
        One entry for each row and fold that has some of its candidates.
    rows : ndarray of int64, shape (m,)
        Row of each entry.
    counts : ndarray of int64, shape (m,)
        Number of candidates of each entry.

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
        moved = scores
        if consensus is not None:
            offsets = fit_consensus_offsets(scores, y, consensus, counts - held, method)
            moved = scores + offsets[consensus]
        curve = fit_curve(moved, y, counts - held, method, prevalence)
        parts.append((to_probability(curve(moved[rows])), rows, held[rows]))
    probabilities, rows, held = (np.concatenate(column) for column in zip(*parts, strict=True))
    return probabilities, rows, held


def to_probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert log-odds to probabilities."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))


def pack_curves(curves: Mapping[str, CalibrationCurve]) -> dict[str, NDArray[Any]]:
    """Return the curves as arrays for a model file; empty if there are none."""
    if not curves:
        return {}
    every = list(curves.values())
    return {
        "curve_sizes": np.array([curve.scores.size for curve in every], dtype=np.int64),
        "curve_scores": np.concatenate([curve.scores for curve in every]),
        "curve_log_odds": np.concatenate([curve.log_odds for curve in every]),
        "curve_slopes": np.stack([curve.slopes for curve in every]),
    }


def forms_of_curves(n: int) -> Forms:
    """Return types and shapes of the arrays of n curves."""
    return {
        "curve_sizes": ("int64", (n,)),
        "curve_scores": ("float64", (None,)),
        "curve_log_odds": ("float64", (None,)),
        "curve_slopes": ("float64", (n, 2)),
    }


def unpack_curves(
    names: Sequence[str], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, CalibrationCurve]:
    """Rebuild the curves of tasks from arrays of the types and shapes of :func:`forms_of_curves`.

    Raises
    ------
    ValueError
        If they are not rising curves.
    """
    if not names:
        return {}
    sizes = arrays["curve_sizes"].tolist()
    scores, log_odds = arrays["curve_scores"], arrays["curve_log_odds"]
    if min(sizes) < 1 or not sum(sizes) == scores.size == log_odds.size:
        raise ValueError("array curve_sizes does not match the curves")
    curves, end = {}, 0
    for name, size, slopes in zip(names, sizes, arrays["curve_slopes"], strict=True):
        part = slice(end, end + size)
        curve, end = CalibrationCurve(scores[part], log_odds[part], slopes), end + size
        rising = (np.diff(curve.scores) > 0).all() and (np.diff(curve.log_odds) >= 0).all()
        if not rising or (slopes < 0).any():
            raise ValueError(f"the calibration curve of {name} does not rise")
        curves[name] = curve
    return curves


def weights_for_prevalence(
    y: NDArray[Any], prevalence: float, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return weights that give the true sites this share, by rescaling the decoys.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Labels; positive means +1.
    prevalence : float
        Target share of true sites, between 0 and 1.
    weights : ndarray of float64, shape (n,), optional
        Current weights. Default: 1.

    Raises
    ------
    ValueError
        If the prevalence is not between 0 and 1, or a class is missing.
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
        raise ParameterError(f"must be between 0 and 1, got {prevalence:g}", "prevalence")


def _count_levels(
    scores: NDArray[np.float64], y: NDArray[Any], counts: NDArray[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct scores, rising, with the numbers of true sites and decoys at each."""
    levels, level_of = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    positive = np.asarray(y) > 0
    counts = np.ones(level_of.size) if counts is None else np.asarray(counts, dtype=np.float64)
    true: NDArray[Any] = np.bincount(level_of, counts * positive, levels.size)
    decoys: NDArray[Any] = np.bincount(level_of, counts * ~positive, levels.size)
    is_counted = true + decoys > 0
    return levels[is_counted], true[is_counted], decoys[is_counted]


def _line(
    levels: NDArray[np.float64], true: NDArray[np.float64], decoys: NDArray[np.float64]
) -> tuple[float, float]:
    """Return slope and intercept of Platt's line."""
    y = np.repeat([1.0, -1.0], levels.size)
    return fit_sigmoid(np.tile(levels, 2), y, np.concatenate([true, decoys]))


def _capped_sigmoid(
    levels: NDArray[np.float64], true: NDArray[np.float64], decoys: NDArray[np.float64]
) -> CalibrationCurve:
    """Fit a straight line that rises slowly to the largest supported log-odds."""
    a, b = _line(levels, true, decoys)
    n_found, wrong = np.cumsum(true[::-1]), np.cumsum(decoys[::-1])
    is_enough = n_found >= min(_MIN_TRUE_SITES, n_found[-1])
    cap = float(np.log(np.max(n_found[is_enough] / (wrong[is_enough] + 1))))
    slopes, top = np.array([a, _TAIL_SLOPE * a]), float(levels[-1])
    knot = min((cap - b - slopes[1] * top) / (slopes[0] - slopes[1]), top)
    return CalibrationCurve(np.array([knot]), np.array([a * knot + b]), slopes)


def _isotonic(
    levels: NDArray[np.float64], true: NDArray[np.float64], decoys: NDArray[np.float64]
) -> CalibrationCurve:
    """Pool adjacent violators, then top pools with too few true sites, and those that are level."""
    from scipy.optimize import isotonic_regression

    total = true + decoys
    fitted = isotonic_regression(true / total, weights=total).x
    heads = np.flatnonzero(np.diff(fitted, prepend=-1.0))
    joined, n_true = [], 0.0
    for head, n in zip(heads[::-1], np.add.reduceat(true, heads)[::-1], strict=True):
        n_true += float(n)
        if n_true >= _MIN_TRUE_SITES or head == 0:
            joined.append(head)
            n_true = 0.0
    sums = np.add.reduceat(np.stack([true, decoys, total * levels]), joined[::-1], axis=1)
    pools: list[NDArray[np.float64]] = []
    for pool in sums.T:
        while pools and _log_odds(pool) <= _log_odds(pools[-1]):
            pool = pool + pools.pop()
        pools.append(pool)
    merged = np.array(pools)
    a, _ = _line(levels, true, decoys)
    centers, log_odds = merged[:, 2] / (merged[:, 0] + merged[:, 1]), _log_odds(merged.T)
    left = float(levels[-1] - centers[-1])  # the highest score has the log-odds of its pool
    gap = float(log_odds[-1] - log_odds[-2]) if centers.size > 1 else np.inf
    slow = min(_TAIL_SLOPE * a, 0.5 * gap / left if left else np.inf)
    log_odds[-1] -= slow * left
    return CalibrationCurve(centers, log_odds, np.array([a, slow]))


def _log_odds(pool: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of pools from their true sites and decoys, with one decoy more."""
    return np.asarray(np.log(np.where(pool[0] > 0, pool[0], 0.5)) - np.log(pool[1] + 1))
