"""Held-out log-likelihoods, by which hyperparameters are selected.

Up to :data:`MAX_GRAM_EXAMPLES` examples are cross-validated on their kernel matrix, where one
training run takes between milliseconds and a second. The criterion is the log-likelihood of the
labels, computed by a sigmoid fitted per task to the held-out scores; of targets, that of their
residuals as normally distributed. It is a sum over examples, so differences come with standard
errors, and it depends on every example, unlike precision, which depends on the top of the ranking.

What is selected is not the best candidate but a mean over all candidates, weighted by a prior and
the exponential of their log-likelihoods.

Folds are stratified by task and class. Copies of an example with its task and label are merged into
one with their summed weight; a fold has the other copies, too, so they never span two folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import call
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.calibration.leave_one_out import find_copies
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core import gram
from seqmtl.core.losses import find_loss
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.features._base import FeatureDefinition, gram_matrix
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings, class_factors

Array = NDArray[np.float64]
#: Gives the log-likelihoods of held-out labels.
Candidate = Callable[[], Array]

MAX_GRAM_EXAMPLES = 4000  # examples that are cross-validated on their kernel matrix
MIN_LABELS = 2  # labels of a class, so that one can be held out
_FOLDS = 5
_MAX_REPEATS = 4
FOLD_TOL = 1e-2  # relative duality gap of a fold


class CrossValidated(NamedTuple):
    """A candidate that was cross-validated.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables on all examples.
    scores : ndarray of float64, shape (n,)
        Held-out scores, averaged over repeats.
    log_likelihoods : ndarray of float64, shape (n,)
        Log-likelihood of every label given its held-out score, averaged over repeats; 0 for an
        example that is the only one of its class in its task.
    """

    alpha: Array
    scores: Array
    log_likelihoods: Array


class CrossValidation:
    """Held-out log-likelihoods for any K and C by cross-validation.

    Parameters
    ----------
    examples : Examples
        Up to a few thousand examples.
    features : FeatureDefinition
        The feature map.
    settings : Settings
        Training settings.
    scales : ndarray of float64, shape (G,), optional
        Factor on the kernel of every view of the features. Default: 1.
    is_apart : bool
        Give every view a separate task kernel.
    grams : dict of str to ndarray, optional
        Kernel matrices of views computed before, see :func:`view_grams`.

    Attributes
    ----------
    features : FeatureDefinition
        As given.
    rows : ndarray of int64, shape (n,)
        The distinct examples.
    copy_of : ndarray of int64, shape (n_all,)
        Distinct example of every example.
    y, ids, weight : ndarray, shape (n,)
        Label, task and weight of the distinct examples.
    training_sets : list of ndarray of int64
        Distinct examples outside every fold, repeat by repeat.
    """

    def __init__(
        self,
        examples: Examples,
        features: FeatureDefinition,
        settings: Settings,
        scales: Array | None = None,
        *,
        is_apart: bool = False,
        grams: dict[str, NDArray[np.float32]] | None = None,
    ) -> None:
        self._settings, self.features = settings, features
        grams = view_grams([features], examples.data) if grams is None else grams
        grams_of_views = [
            _kernel_matrix(view, grams, settings.bias_scale, scales)
            for view in (features.flat_views() if is_apart else [features])
        ]
        self._is_regression = settings.kind == "regression"
        rows, weight, copy_of, alike = _distinct(
            sum(grams_of_views[1:], grams_of_views[0]),
            examples,
            is_labelled=not self._is_regression,
        )
        self.copy_of, self._shares = copy_of, examples.weight / weight[copy_of]
        if not np.array_equal(rows, np.arange(len(copy_of))):
            grams_of_views = [G[np.ix_(rows, rows)] for G in grams_of_views]
        self._grams = grams_of_views
        self.rows, self.weight = rows, weight
        labels, self.ids = examples.y[rows], examples.ids[rows]
        self.y = np.ones(rows.size) if self._is_regression else labels
        self._targets = labels if self._is_regression else np.zeros(rows.size)
        self._factors = class_factors(examples.y, settings.class_weight)[rows] * weight
        self._T = len(examples.names)
        ratio = MAX_GRAM_EXAMPLES / max(rows.size, 1)
        n_repeats = int(np.clip(round(ratio**0.5), 1, _MAX_REPEATS))
        rng = np.random.default_rng(settings.seed)
        self._folds = [draw_folds(self.y, self.ids, alike, rng) for _ in range(n_repeats)]
        self.training_sets = [
            np.flatnonzero(folds != fold) for folds in self._folds for fold in range(_FOLDS)
        ]

    def fit(
        self,
        K: Array,
        C: float,
        given: Sequence[Array] | None = None,
    ) -> CrossValidated:
        """Train on all examples, and on those outside every fold; score the others.

        Parameters
        ----------
        K : ndarray of float64, shape (T, T) or (G, T, T)
            Task kernel, or that of every view.
        C : float
            Cost.
        given : sequence of ndarray of float64, shape (n,), optional
            Part of the margins that is given: in the training on all examples, then in that on
            each of the training sets. Default: none.
        """
        K = K.reshape(-1, self._T, self._T)
        H, cost = gram.hessian(self._grams, self.y, self.ids, K), C * self._factors
        settings, n, seed = self._settings, self.y.size, self._settings.seed
        loss = find_loss(settings.loss, settings.epsilon)
        if given is None:
            given = [-self._targets] * (1 + len(self.training_sets))
        alpha, margins = np.zeros(n), given[0].copy()
        options: Any = {"tol": FOLD_TOL, "seed": seed}
        gram.solve(H, np.arange(n), alpha, margins, cost, loss, given=given[0], **options)
        total, values = np.zeros(n), np.zeros(n)
        for repeat in range(len(self._folds)):
            scores = np.zeros(n)
            for part in range(repeat * _FOLDS, (repeat + 1) * _FOLDS):
                train, fold_given = self.training_sets[part], given[part + 1]
                fold_alpha = np.zeros(n)
                fold_alpha[train] = alpha[train]
                held = np.setdiff1d(np.arange(n), train, assume_unique=True)
                out = held[alpha[held] != 0.0]
                fold_margins = margins - given[0] + fold_given
                fold_margins -= alpha[out].astype(np.float32) @ H[out]
                gram.solve(
                    H, train, fold_alpha, fold_margins, cost, loss, given=fold_given, **options
                )
                scores[held] = (self.y * fold_margins)[held]
            if self._is_regression:  # scores are residuals
                values += target_likelihood(scores, self.weight)
            else:
                values += label_likelihood(scores, self.y, self.ids, self.weight)
            total += scores
        values[self._folds[0] < 0] = 0.0
        return CrossValidated(alpha, total / len(self._folds), values / len(self._folds))

    def accuracies(self, scores: Array) -> list[tuple[float, float] | None]:
        """Return AUROC and AUPRC of every task by held-out scores; None without both classes."""
        metrics: list[tuple[float, float] | None] = []
        for task in range(self._T):
            rows = np.flatnonzero((self.ids == task) & (self._folds[0] >= 0))
            is_positive = self.y[rows] > 0
            if is_positive.any() and not is_positive.all():
                weight = self.weight[rows]
                metrics.append(RankedScores(is_positive, scores[rows], weight).metrics())
            else:
                metrics.append(None)
        return metrics

    def of_examples(self, values: Array) -> Array:
        """Expand values of distinct examples to all examples, split over copies by weight."""
        return values[self.copy_of] * self._shares


def label_likelihood(scores: Array, y: Array, ids: NDArray[Any], weight: Array) -> Array:
    """Return the log-likelihood of every label given its score, with one sigmoid per task."""
    tasks, ids = np.unique(ids, return_inverse=True)
    slope, intercept = calibrate_tasks(scores, y, ids, tasks.size, weight).T
    z = np.clip(y * (slope[ids] * scores + intercept[ids]), -500.0, 500.0)
    return np.asarray(-weight * np.log1p(np.exp(-z)))


def target_likelihood(residuals: Array, weight: Array) -> Array:
    """Return the log-likelihood of every residual, as normally distributed."""
    square = max(float(np.average(residuals**2, weights=weight)), 1e-300)
    return np.asarray(-0.5 * weight * (np.log(2.0 * np.pi * square) + residuals**2 / square))


def view_grams(maps: Sequence[FeatureDefinition], data: Any) -> dict[str, NDArray[np.float32]]:
    """Return the kernel matrix of the examples by each view of several maps, by its `repr`.

    Only the lower triangles are set.
    """
    views = {repr(view): view for features in maps for view in features.flat_views()}
    every = np.arange(data.shape[0])
    grams = in_order(
        lambda view: gram_matrix(view.bind(data), every, np.float32), [*views.values()]
    )
    return dict(zip(views, grams, strict=True))


def _kernel_matrix(
    features: FeatureDefinition,
    grams: dict[str, NDArray[np.float32]],
    bias_scale: float,
    scales: Array | None,
) -> NDArray[np.float32]:
    """Return the kernel matrix of all examples, summed over views with constant features."""
    views = [grams[repr(view)] for view in features.flat_views()]
    scales = np.ones(len(views)) if scales is None else scales
    total = np.zeros_like(views[0])
    for scale, G in zip(scales, views, strict=True):
        total += np.float32(scale) * G
    total += np.float32(scales.sum() * bias_scale**2)
    return total


def _distinct(
    G: NDArray[np.float32], examples: Examples, *, is_labelled: bool
) -> tuple[NDArray[np.int64], Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct examples of a task and label, and which of them are alike.

    These are one row of each, sorted by length, the weights, the number of every example among
    them, and the number of each among those that differ in more than task and label. Examples with
    targets are all distinct: alike or not, each target is a measurement.
    """
    norms = np.diagonal(G).astype(np.float64)
    # rows of G that differ may have equal sums, as kernels of strings have few values
    share = np.random.default_rng(0).random(len(G))
    blocks = np.array_split(G, max(len(G) // 256, 1))  # converted to float64 piece by piece
    sums = np.concatenate([block.astype(np.float64) @ share for block in blocks])
    alike = find_copies(sums, norms) if is_labelled else np.arange(len(G))
    keys = np.column_stack([alike, examples.y, examples.ids])
    copy_of = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.unique(copy_of, return_index=True)[1]
    order = np.lexsort((rows, norms[rows]))
    weight = np.bincount(copy_of, examples.weight).astype(np.float64)
    rows = rows[order]
    first, number = np.unique(alike[rows], return_index=True, return_inverse=True)[1:]
    return rows, weight[order], np.argsort(order)[copy_of], first[number]


def draw_folds(
    y: Array, ids: NDArray[Any], alike: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of every example; -1 if its class in its task would have no other.

    Copies, which have one number in `alike`, share a fold whatever their tasks and labels. Others
    are drawn in the order of these numbers.
    """
    folds = np.full(y.size, -1)
    cells = [
        np.flatnonzero((ids == t) & (y == sign))
        for t in range(int(ids.max(initial=-1)) + 1)
        for sign in (1, -1)
    ]
    for cell in cells:
        first = np.unique(alike[cell], return_index=True)[1]
        rows = rng.permutation(cell[first])
        if rows.size > 1:
            folds[rows] = (np.arange(rows.size) + rng.integers(_FOLDS)) % _FOLDS
    _, first, number = np.unique(alike, return_index=True, return_inverse=True)
    folds = folds[first[number]]
    for cell in cells:
        if np.unique(folds[cell]).size == 1:
            folds[cell] = -1
    return folds


def posterior_weights(
    values: Array, prior: Any = 1.0, sharpness: float = 1.0, others: float = 0.0
) -> Array:
    """Return the weight of every candidate in every task, shape (R, T).

    Parameters
    ----------
    values : ndarray of float64, shape (R, T)
        Log-likelihoods of the labels of every task.
    prior : float or sequence of float
        Prior weight of every candidate.
    sharpness, others : float
        Factors on the log-likelihood of a task, and on the mean of those of the other tasks.
    """
    centred = values - values.mean(axis=0)
    mean_of_others = (centred.sum(axis=1, keepdims=True) - centred) / max(centred.shape[1] - 1, 1)
    log = np.reshape(np.log(prior), (-1, 1)) + sharpness * centred + others * mean_of_others
    weights = np.exp(log - log.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


class LikelihoodCache:
    """The held-out log-likelihoods of candidates, each computed once.

    Parameters
    ----------
    values : dict of str to ndarray, optional
        Log-likelihoods by candidate; new ones are added.
    on_score : callable, optional
        Called with a candidate, the number scored so far and the number of all.

    """

    def __init__(
        self,
        values: dict[str, Array] | None = None,
        on_score: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._cached: dict[str, Array] = {} if values is None else values
        self._on_score = on_score
        self._scored: set[str] = set()
        self._n_all = 0

    def expect(self, n: int) -> None:
        """Count candidates that will be scored, after those so far."""
        self._n_all = len(self._scored) + n

    def score(self, candidates: Mapping[str, Candidate]) -> list[Array]:
        """Return the value of every candidate; compute and report those that are not cached."""
        missing = [key for key in candidates if key not in self._cached]
        values = in_order(call, [candidates[key] for key in missing])
        self._scored.update(candidates.keys() - missing)
        for key, value in zip(missing, values, strict=True):
            self._cached[key] = value
            self._scored.add(key)
            if self._on_score is not None:
                self._on_score(key, len(self._scored), self._n_all)
        return [self._cached[key] for key in candidates]
