"""Learn a new organism from few labels, given the scores of its relatives.

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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.coupling import Coupling
from seqmtl.models.calibration import fit_sigmoid
from seqmtl.models.held_out import MOST, CrossValidation, Labelled, label_likelihood
from seqmtl.models.training import Settings, class_factors
from seqmtl.solvers.dcd import CoordinateDescent
from seqmtl.solvers.problem import Problem

#: Trust values to choose from, with their prior weights.
TRUSTS = {1.0: 2.0, 0.5: 1.0, 0.25: 0.5, 0.0: 0.5}
COSTS = (0.3, 1.0, 3.0)

Array = NDArray[np.float64]

_SHARPNESS = 0.5  # factor on the log-likelihood in the weights of the candidates
_RIDGE = 0.3  # precision of the weights of the relatives around those from the tree
_FEWEST = 2  # labels of a class, so that one can be held out
_STEPS = 50


@dataclass(frozen=True)
class Adapted:
    """The function learnt for a new organism.

    Attributes
    ----------
    weights : ndarray of float64, shape (T,)
        a, the weights of the relatives.
    amounts : ndarray of float64, shape (n,)
        delta = sum_i amounts_i phi(x_i).
    rows : ndarray of int64, shape (m,)
        The examples that were cross-validated: all, or a sample.
    held_out : ndarray of float64, shape (m,)
        Their scores.
    evidence : dict of float to float
        Weight of every trust value after seeing the labels.
    """

    weights: Array
    amounts: Array
    rows: NDArray[np.int64]
    held_out: Array
    evidence: dict[float, float]


def check_labels(y: NDArray[Any], name: str) -> None:
    """Check that there are enough labels of both classes.

    Raises
    ------
    ValueError
        If there are not.
    """
    n_positive = int((y > 0).sum())
    if min(n_positive, y.size - n_positive) < _FEWEST:
        raise ValueError(
            f"labels of {name!r} must have at least {_FEWEST} of each class, got {n_positive} "
            f"positive and {y.size - n_positive} negative; add the missing class, or give no "
            "labels at all"
        )


def learn(
    examples: Labelled,
    scores: Array,
    weights: Array,
    *,
    features: Any,
    settings: Settings,
    scales: Array,
) -> Adapted:
    """Learn a new organism from labels and the scores of its relatives.

    Parameters
    ----------
    examples : Labelled
        Labelled examples of the new organism.
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
    if n > MOST:
        rows = examples.sample(MOST, np.random.default_rng(settings.seed))
    folds = _Folds(examples.take(rows), scores[rows], weights, features, settings, scales)
    check_labels(folds.y, examples.names[0])
    candidates = [(d, x, C) for x in TRUSTS for d in range(2 if x else 1) for C in COSTS]
    prior = [TRUSTS[x] / (2 if x else 1) for _, x, _ in candidates]
    fits = [folds.fit(*candidate) for candidate in candidates]
    share = _share(np.array([fit.log_likelihood for fit in fits]), np.array(prior))
    part = share / np.maximum([fit.held_out.std() for fit in fits], 1e-12)
    part /= part.sum()
    trusts = np.array([x for _, x, _ in candidates])
    a = (part * trusts) @ np.array([folds.directions[d] for d, *_ in candidates])
    if rows.size == n:
        amounts = folds.amounts_of(part @ np.array([fit.alpha for fit in fits]))
    else:
        C = float(np.exp(share @ np.log([C for *_, C in candidates])))
        amounts = _descend(examples, scores @ a, C, features, settings, scales)
    held_out = folds.of_copies(part @ np.array([fit.held_out for fit in fits]))
    evidence = {x: float(share[trusts == x].sum()) for x in TRUSTS}
    return Adapted(a, amounts, rows, held_out, evidence)


def _share(found: Array, prior: Array) -> Array:
    """Return the weights of candidates with these held-out log-likelihoods."""
    log = np.log(prior) + _SHARPNESS * found
    share = np.exp(log - log.max())
    return np.asarray(share / share.sum())


def _descend(
    examples: Labelled, given: Array, C: float, features: Any, settings: Settings, scales: Array
) -> Array:
    """Return the amounts of many examples, whose scores have a given part, at one cost."""
    y, rows = examples.y, features.bind(examples.data)
    problem = Problem(
        rows, y, np.zeros(y.size, dtype=np.int16), Coupling.of(scales[:, np.newaxis, np.newaxis]),
        C * class_factors(y, settings.class_weight) * examples.weight, settings.loss,
        float(settings.fit_intercept), targets=-y * given,
    )  # fmt: skip
    solver = CoordinateDescent(
        problem, tol=settings.tol, max_epochs=settings.max_epochs, seed=settings.seed
    )
    return np.asarray(y * solver.solve().alpha)


@dataclass(frozen=True)
class _Fit:
    """A candidate: dual variables on all labels, held-out scores, and their log-likelihood."""

    alpha: Array
    held_out: Array
    log_likelihood: float


class _Folds(CrossValidation):
    """Cross-validation with an offset per example: what the relatives say."""

    def __init__(
        self,
        examples: Labelled,
        scores: Array,
        weights: Array,
        features: Any,
        settings: Settings,
        scales: Array,
    ) -> None:
        super().__init__(examples, features, settings, scales=scales)
        self._H = self._hessian(np.ones((1, 1)))
        self._examples = examples
        scores = scores[self.rows]
        everything = np.arange(self.y.size)
        self.directions, self._offsets = self._prior(scores, weights, everything)
        self._held = [
            [(np.flatnonzero(own == k), np.flatnonzero(own != k)) for k in range(own.max() + 1)]
            for own in self._folds
        ]
        self._held_offsets = [
            [self._prior(scores, weights, kept)[1] for _, kept in repeat] for repeat in self._held
        ]

    def _prior(
        self, scores: Array, weights: Array, rows: NDArray[np.int64]
    ) -> tuple[list[Array], list[Array]]:
        """Return the directions, the second fitted to the labels of some rows, and the offsets."""
        fitted = fit_weights(scores[rows], self.y[rows], weights, self.weight[rows])
        directions = [weights, fitted]
        return directions, [self.y * (scores @ direction) for direction in directions]

    def fit(self, direction: int, trust: float, C: float) -> _Fit:
        """Train a candidate on all labels, and on those outside every fold."""
        cost, n = C * self._factors, self.y.size
        given = trust * self._offsets[direction]
        alpha, margins = np.zeros(n), given.copy()
        self._descend(self._H, np.arange(n), alpha, margins, cost, given)
        held_out, total = np.zeros(n), 0.0
        for repeat, offsets in zip(self._held, self._held_offsets, strict=True):
            scores = np.zeros(n)
            for (held, kept), offset in zip(repeat, offsets, strict=True):
                own, own_given = alpha.copy(), trust * offset[direction]
                own[held] = 0.0
                out = held[alpha[held] > 0.0]
                own_margins = margins - given + own_given
                own_margins -= alpha[out].astype(np.float32) @ self._H[out]
                self._descend(self._H, kept, own, own_margins, cost, own_given[kept])
                scores[held] = (self.y * own_margins)[held]
            total += float(label_likelihood(scores, self.y, self.ids, 1, self.weight).sum())
            held_out += scores
        return _Fit(alpha, held_out / len(self._held), total / len(self._held))

    def amounts_of(self, alpha: Array) -> Array:
        """Return the amounts of all examples; of copies, the first has that of all."""
        amounts = np.zeros(self._examples.y.size)
        amounts[self.rows] = self.y * alpha
        return amounts

    def of_copies(self, values: Array) -> Array:
        """Return the values of all examples, the same for copies."""
        return values[self._copy_of]


def fit_weights(scores: Array, y: Array, weights: Array, share: Array) -> Array:
    """Fit the weights of relatives to labels: not negative, with sum 1, shrunk to given ones.

        min over a >= 0, b   sum_i p_i log(1 + exp(-y_i (<a, f_i> + b))) + r/2 ||a - g weights||^2

    g is the slope of the sigmoid that fits the scores of the given weights. Projected Newton steps
    (Bertsekas 1982).

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
    center, T = np.append(slope * weights, 0.0), weights.size
    ridge = np.append(np.full(T, _RIDGE), 1e-6)
    X = np.column_stack([scores, np.ones(y.size)])

    def value(a: Array) -> float:
        losses = share * np.logaddexp(0.0, -y * (X @ a))
        return float(losses.sum() + 0.5 * (ridge * (a - center) ** 2).sum())

    a = np.append(slope * weights, intercept)
    current = value(a)
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(np.clip(y * (X @ a), -500, 500)))
        gradient = -(X.T @ (share * y * p)) + ridge * (a - center)
        free = (a > 0.0) | (gradient < 0.0)
        free[T] = True
        H = (X[:, free] * (share * p * (1.0 - p))[:, None]).T @ X[:, free] + np.diag(ridge[free])
        step = np.zeros(T + 1)
        step[free] = np.linalg.solve(H, gradient[free])
        size, before = 1.0, current
        while size > 1e-8:
            new = a - size * step
            new[:T] = np.maximum(new[:T], 0.0)
            current = value(new)
            if current < before:
                break
            size *= 0.5
        if not current < before - 1e-9 * (1.0 + abs(before)):
            break
        a = new
    total = float(a[:T].sum())
    return weights if total <= 0.0 else a[:T] / total


def chance_of_ranking(scores: Array, y: NDArray[Any]) -> tuple[float, float]:
    """Return the AUROC of scores and its standard error if they were random."""
    positive = y > 0
    n, m = int(positive.sum()), int((~positive).sum())
    higher = (scores[positive][:, None] > scores[~positive]).mean()
    ties = (scores[positive][:, None] == scores[~positive]).mean()
    return float(higher + 0.5 * ties), float(np.sqrt((n + m + 1) / (12.0 * n * m)))


def settings_of(training: dict[str, Any]) -> Settings:
    """Return the settings that a model was trained with."""
    known = {key: value for key, value in training["settings"].items() if key != "norm"}
    return replace(Settings(), **known)
