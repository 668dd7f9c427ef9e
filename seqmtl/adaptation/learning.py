"""Learn a new organism from few labels, given what its relatives say.

    f(x) = sum_s a_s f_s(x) + <delta, phi(x)>
    min over delta   1/2 ||delta||^2 + C sum_i loss(y_i f(x_i)),     a = x b

=====  ====================================================================================
f_s    score of relative s, a task of the model
b      direction of the prior: the weights from the tree, or those that fit the labels
x      trust in it: 1 as it is, 0 labels alone
C      cost, the product of the cost of an example and the variance of delta
=====  ====================================================================================

Given the weights of the other tasks, the multi-task regulariser is this prior on those of the new
one. It enters as an offset per example, so that the data of the relatives are not needed (Yang,
Yan, Hauptmann 2007; Schweikert et al. 2008).

The result is not the best of the candidates (b, x, C) but their mean, weighted by the held-out
log-likelihood of the labels and a prior that favours trust. Each candidate is trained on all labels
and enters at equal spread of its held-out scores. With too many labels to cross-validate all, the
candidates are weighed on a sample, and one function with their mean a and C learns from all labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl.calibration.sigmoid import fit_logistic, fit_sigmoid
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.features._base import FeatureDefinition
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import (
    MAX_GRAM_EXAMPLES,
    MIN_LABELS,
    CrossValidation,
    posterior_weights,
)
from seqmtl.training.settings import Settings
from seqmtl.training.solver import problem_of

#: Trust values to choose from, with their prior weights.
TRUSTS = {1.0: 2.0, 0.5: 1.0, 0.25: 0.5, 0.0: 0.5}
COSTS = (0.3, 1.0, 3.0)

Array = NDArray[np.float64]

_SHARPNESS = 0.5  # factor on the log-likelihood in the weights of the candidates
_RIDGE = 0.3  # precision of the weights of the relatives around those from the tree


@dataclass(frozen=True)
class AdaptedTask:
    """The function learnt for a new organism.

    Attributes
    ----------
    weights : ndarray of float64, shape (T,)
        a, the weights of the relatives.
    dual_coef : ndarray of float64, shape (n,)
        delta = sum_i dual_coef_i phi(x_i).
    evidence : dict of float to float
        Weight of every trust value after seeing the labels.
    rows : ndarray of int64, shape (m,)
        The examples that were cross-validated: all, a sample, or none.
    scores : ndarray of float64, shape (m,)
        Their scores in cross-validation.
    """

    weights: Array
    dual_coef: Array
    evidence: dict[float, float]
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    scores: Array = field(default_factory=lambda: np.zeros(0))


def check_labels(y: NDArray[Any], name: str) -> None:
    """Check that there are enough labels of both classes.

    Raises
    ------
    ValueError
        If there are not.
    """
    n_positive = int((y > 0).sum())
    if min(n_positive, y.size - n_positive) < MIN_LABELS:
        raise ValueError(
            f"labels of {name!r} must have at least {MIN_LABELS} of each class, got {n_positive} "
            f"positive and {y.size - n_positive} negative; add the missing class, or give no "
            "labels at all"
        )


def learn(
    examples: Examples,
    scores: Array,
    weights: Array,
    *,
    features: FeatureDefinition,
    settings: Settings,
    scales: Array,
) -> AdaptedTask:
    """Learn a new organism from labels and the scores of its relatives.

    Parameters
    ----------
    examples : Examples
        Examples of the new organism, with labels.
    scores : ndarray of float64, shape (n, T)
        Scores of the examples as each relative.
    weights : ndarray of float64, shape (T,)
        Weights of the relatives from the tree, with sum 1.
    features, settings
        Feature map and settings of the model; the cost is replaced.
    scales : ndarray of float64, shape (G,)
        Variance of delta in every view of the features.
    """
    n, rows = examples.y.size, np.arange(examples.y.size)
    if n > MAX_GRAM_EXAMPLES:
        rows = examples.sample(MAX_GRAM_EXAMPLES, np.random.default_rng(settings.seed))
    folds = CrossValidation(examples.take(rows), features, settings, scales=scales)
    check_labels(folds.y, examples.names[0])
    directions, offsets = _given(folds, scores[rows], weights)
    candidates = [
        (direction, trust, C, prior / n_directions)
        for trust, prior in TRUSTS.items()
        for n_directions in [2 if trust else 1]
        for direction in range(n_directions)
        for C in COSTS
    ]
    K = np.ones((1, 1))
    fits = [
        folds.fit(K, C, [trust * offset[direction] for offset in offsets])
        for direction, trust, C, _ in candidates
    ]
    numbers, trusts, costs, priors = map(np.array, zip(*candidates, strict=True))
    log_likelihoods = np.array([[fit.log_likelihoods.sum()] for fit in fits])
    posterior = posterior_weights(log_likelihoods, priors, _SHARPNESS)[:, 0]
    mixture = posterior / np.maximum([fit.scores.std() for fit in fits], 1e-12)
    mixture /= mixture.sum()
    a = (mixture * trusts) @ np.array(directions)[numbers]
    if rows.size == n:
        dual_coef = np.zeros(n)  # of copies, the first has that of all
        dual_coef[folds.rows] = folds.y * (mixture @ np.array([fit.alpha for fit in fits]))
    else:
        settings = replace(settings, C=float(np.exp(posterior @ np.log(costs))))
        dual_coef = dual_coefficients(examples, scores @ a, settings, features, scales)
    cv_scores = (mixture @ np.array([fit.scores for fit in fits]))[folds.copy_of]
    evidence = {trust: float(posterior[trusts == trust].sum()) for trust in TRUSTS}
    return AdaptedTask(a, dual_coef, evidence, rows, cv_scores)


def _given(
    folds: CrossValidation, scores: Array, weights: Array
) -> tuple[list[Array], list[list[Array]]]:
    """Return the two directions of the prior, and the margins that they give.

    The second direction is fitted to labels: to all, and for the margins also to those of every
    training set of the cross-validation.
    """
    scores = scores[folds.rows]
    directions = [
        [weights, fit_weights(scores[rows], folds.y[rows], weights, folds.weight[rows])]
        for rows in (np.arange(folds.y.size), *folds.training_sets)
    ]
    offsets = [[folds.y * (scores @ direction) for direction in of_set] for of_set in directions]
    return directions[0], offsets


def dual_coefficients(
    examples: Examples, given: Array, settings: Settings, features: FeatureDefinition, scales: Array
) -> Array:
    """Return the dual coefficients of many examples, whose scores have a given part."""
    K = GroupedKernel.of(scales[:, np.newaxis, np.newaxis])
    settings = replace(settings, dtype="float32")
    problem = problem_of(features.bind(examples.data), examples, K, settings, given=given)
    solution = core.solve(problem, **settings.limits)
    return np.asarray(examples.y * solution.alpha)


def fit_weights(scores: Array, y: Array, weights: Array, share: Array) -> Array:
    """Fit the weights of relatives to labels: not negative, with sum 1, shrunk to given ones.

        min over a >= 0, b   sum_i p_i log(1 + exp(-y_i (<a, f_i> + b))) + r/2 ||a - g weights||^2

    g is the slope of the sigmoid that fits the scores of the given weights.

    Parameters
    ----------
    scores : ndarray of float64, shape (n, T)
        f_i.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    weights : ndarray of float64, shape (T,)
        Weights to shrink to, with sum 1.
    share : ndarray of float64, shape (n,)
        p_i.

    Returns
    -------
    ndarray of float64, shape (T,)
        Those given if the labels contradict all relatives.
    """
    slope, intercept = fit_sigmoid(scores @ weights, y, share)
    T, X = weights.size, np.column_stack([scores, np.ones(y.size)])
    start, center = np.append(slope * weights, intercept), np.append(slope * weights, 0.0)
    ridge = np.append(np.full(T, _RIDGE), 1e-6)
    a = fit_logistic(X, (y > 0).astype(np.float64), share, start, center, ridge)[:T]
    return a / a.sum() if a.any() else weights
