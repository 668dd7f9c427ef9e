"""Add an organism to a trained model, from few labels or none, given what its relatives say.

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

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, check_distinct
from seqmtl.adaptation.messages import log_relatives
from seqmtl.adaptation.relatives import RelativeWeights, extend, weights_of_relatives
from seqmtl.calibration.sigmoid import fit_logistic, fit_sigmoid
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.exceptions import UsageError
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import MOST, CrossValidation, posterior_weights
from seqmtl.training.settings import Settings
from seqmtl.training.solver import solve

#: Trust values to choose from, with their prior weights.
TRUSTS = {1.0: 2.0, 0.5: 1.0, 0.25: 0.5, 0.0: 0.5}
COSTS = (0.3, 1.0, 3.0)

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

_SHARPNESS = 0.5  # factor on the log-likelihood in the weights of the candidates
_RIDGE = 0.3  # precision of the weights of the relatives around those from the tree
_FEWEST = 2  # labels of a class, so that one can be held out


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
    C : float
        Geometric mean of the costs.
    """

    weights: Array
    amounts: Array
    rows: NDArray[np.int64]
    held_out: Array
    evidence: dict[float, float]
    C: float


class _Candidate(NamedTuple):
    """A direction of the prior, by number, the trust in it, and the cost."""

    direction: int
    trust: float
    C: float
    prior: float


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
    examples: Examples,
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
    if n > MOST:
        rows = examples.sample(MOST, np.random.default_rng(settings.seed))
    folds = CrossValidation(examples.take(rows), features, settings, scales=scales)
    check_labels(folds.y, examples.names[0])
    directions, offsets = _given(folds, scores[rows], weights)
    candidates = [
        _Candidate(direction, trust, C, prior / n_directions)
        for trust, prior in TRUSTS.items()
        for n_directions in [2 if trust else 1]
        for direction in range(n_directions)
        for C in COSTS
    ]
    K = np.ones((1, 1))
    fits = [
        folds.fit(K, c.C, [c.trust * offset[c.direction] for offset in offsets]) for c in candidates
    ]
    log_likelihoods = np.array([[fit.values.sum()] for fit in fits])
    posterior = posterior_weights(log_likelihoods, [c.prior for c in candidates], _SHARPNESS)[:, 0]
    mixture = posterior / np.maximum([fit.scores.std() for fit in fits], 1e-12)
    mixture /= mixture.sum()
    trusts = np.array([c.trust for c in candidates])
    a = (mixture * trusts) @ np.array([directions[c.direction] for c in candidates])
    C = float(np.exp(posterior @ np.log([c.C for c in candidates])))
    if rows.size == n:
        amounts = np.zeros(n)  # of copies, the first has that of all
        amounts[folds.rows] = folds.y * (mixture @ np.array([fit.alpha for fit in fits]))
    else:
        amounts = _descend(examples, scores @ a, replace(settings, C=C), features, scales)
    held_out = (mixture @ np.array([fit.scores for fit in fits]))[folds.copy_of]
    evidence = {trust: float(posterior[trusts == trust].sum()) for trust in TRUSTS}
    return Adapted(a, amounts, rows, held_out, evidence, C)


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


def _descend(
    examples: Examples, given: Array, settings: Settings, features: Any, scales: Array
) -> Array:
    """Return the amounts of many examples, whose scores have a given part."""
    K = GroupedKernel.of(scales[:, np.newaxis, np.newaxis])
    settings = replace(settings, dtype="float32")
    solution = solve(features.bind(examples.data), examples, K, settings, given=given)
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


def chance_of_ranking(scores: Array, y: NDArray[Any]) -> tuple[float, float]:
    """Return the AUROC of scores and its standard error if they were random."""
    n, m = int((y > 0).sum()), int((y <= 0).sum())
    auroc, _ = RankedScores(y > 0, scores).metrics()
    return auroc, float(np.sqrt((n + m + 1) / (12.0 * n * m)))


def adapt_model(
    model: Any,
    name: str,
    data: Any,
    y: NDArray[Any] | None,
    *,
    like: str | None,
    tree: Any,
    prevalence: float | None,
) -> Any:
    """Return a model with one more organism; see :meth:`MultiTaskModel.adapt`."""
    if model.kind != "classification":
        raise ValueError(f"only models of classification can be adapted, got one of {model.kind}")
    column = _adapted_column(model, name)
    if column is None:
        check_distinct([*model.tasks, name])
        relatives = weights_of_relatives(
            model.kernel, model.tasks, name, like=like, tree=tree, trusts=_trusts(model)
        )
    else:
        name = model.tasks[column]
        n = model.training["tasks"][name]["n"]
        relatives = RelativeWeights(
            np.eye(len(model.tasks))[column], f"its own model of {n:,} labels", 1.0
        )
    if data is None:
        if column is not None:
            raise UsageError(f"{name!r} is in the model already; give labels to adapt it further")
        # the table has the distances of the shipped tree
        log_relatives(
            name, relatives, {} if tree is not None else model.training.get("left_out", {})
        )
        return replace(
            model, kernel=extend(model.kernel, len(model.tasks), name, relatives.weights)
        )
    y = np.where(np.asarray(y) > 0, 1.0, -1.0)
    check_labels(y, name)
    model.check_examples(data)
    if model.can_scan:
        model.site.check_consensus(data, y, or_nowhere=True)
        model.site.warn_missing_consensus(data)
    examples = Examples(data, y, np.zeros(y.size, dtype=np.int64), (name,))
    at = len(model.tasks) if column is None else column
    adapted, learnt = _learnt(model, relatives, examples, at, replaces=column is not None)
    if prevalence is not None:
        consensus = (
            model.site.consensus_of(data)[learnt.rows] if len(model.site.consensus) > 1 else None
        )
        adapted.calibrate(
            name, learnt.held_out, y[learnt.rows], None, "auto", prevalence, consensus
        )
    return adapted


def add_task(model: Any, examples: Examples, at: int) -> Any:
    """Return the model with one more task, learnt from its labels and the other tasks.

    Parameters
    ----------
    model : MultiTaskModel
        Its kernel may have the task already, as one without data.
    examples : Examples
        Examples of the task alone.
    at : int
        Number of the task in the result.
    """
    relatives = weights_of_relatives(
        model.kernel, model.tasks, examples.names[0], trusts=_trusts(model)
    )
    return _learnt(model, relatives, examples, at)[0]


def _learnt(
    model: Any, relatives: RelativeWeights, examples: Examples, at: int, *, replaces: bool = False
) -> tuple[Any, Adapted]:
    """Return the model with a task that replaces one, or is inserted, and what was learnt."""
    scores, scales = _scores(model, examples.data), _scales(model)
    _tell_contradiction(scores @ relatives.weights, examples.y, examples.names[0])
    learnt = learn(
        examples,
        scores,
        relatives.weights,
        features=model.features,
        settings=settings_of(model.training),
        scales=scales,
    )
    return _joined(model, relatives, examples, learnt, at, replaces=replaces), learnt


def learn_parts(
    model: Any,
    relatives: RelativeWeights,
    name: str,
    data: Any,
    weight: Array,
    parts: Sequence[Any],
    *,
    trust: float,
    C: float,
) -> list[Any]:
    """Return models with a new organism, with the trust in its relatives and the cost as given.

    Each is learnt from some rows of the windows, and the last is the mean of the others. Nothing is
    chosen and nothing held out: the caller calibrates. Labels are calls of a model, and the summary
    of the training says so.

    Parameters
    ----------
    model, placed, name
        The model, where the organism is among its relatives, and its name.
    data : Windows
        Windows with labels.
    weight : ndarray of float64, shape (n,)
        How much each counts.
    parts : sequence of ndarray of int64
        The rows that each model is learnt from.
    trust, C : float
        x and C.
    """
    y, none = np.where(data.labels > 0, 1.0, -1.0), np.zeros(0, dtype=np.int64)
    examples = Examples(data, y, np.zeros(y.size, dtype=np.int64), (name,), weight)
    settings, a = replace(settings_of(model.training), C=C), trust * relatives.weights
    given = _scores(model, data) @ a
    every = np.zeros((len(parts) + 1, y.size))
    for amounts, rows in zip(every, parts, strict=False):
        amounts[rows] = _descend(
            examples.take(rows), given[rows], settings, model.features, _scales(model)
        )
    every[-1] = every[:-1].mean(axis=0)
    models = [
        _joined(
            model,
            relatives,
            examples,
            Adapted(a, amounts, none, np.zeros(0), {trust: 1.0}, C),
            len(model.tasks),
        )
        for amounts in every
    ]
    for adapted in models:
        adapted.training["adapted"][name]["calls"] = True
    return models


def _scales(model: Any) -> Array:
    """Return the variance of the new part of the weights in every view."""
    sizes = np.array([np.diagonal(K)[: len(model.tasks)].mean() for _, K in model.views()])
    return np.asarray(sizes / sizes.mean())


def _joined(
    model: Any,
    relatives: RelativeWeights,
    examples: Examples,
    learnt: Adapted,
    at: int,
    *,
    replaces: bool = False,
) -> Any:
    """Return the model with a task that replaces one, or is inserted, as it was learnt."""
    T, name, scales = len(model.tasks), examples.names[0], _scales(model)
    others = np.delete(np.arange(T), at if replaces else [])

    def inserted(table: Any, row: Any) -> Any:
        return np.insert(table[others], at, row, axis=0)

    column, W = _column(model, examples, learnt, scales), model.W
    if isinstance(W, TaskWeights):
        W = W.with_task(at, column, replaces=replaces)
    else:
        W = np.insert(W[:, others], at, column, axis=1)
    change = settings_of(model.training).bias_scale * scales.sum() * learnt.amounts.sum()
    sigmoid = (1.0, 0.0)
    if learnt.rows.size:
        sigmoid = fit_sigmoid(learnt.held_out, examples.y[learnt.rows])
    biases = model.word_bias
    return replace(
        model,
        tasks=(*model.tasks[:at], name, *model.tasks[at + replaces :]),
        kernel=model.kernel
        if replaces
        else extend(model.kernel, T, name, relatives.weights, at=at),
        W=W,
        bias=inserted(model.bias, model.bias @ learnt.weights + change),
        word_bias=None if biases is None else inserted(biases, learnt.weights @ biases),
        calibration=inserted(model.calibration, sigmoid),
        curves={task: curve for task, curve in model.curves.items() if task != name},
        training=_summary(model, name, relatives, learnt, examples),
    )


def _column(model: Any, examples: Examples, learnt: Adapted, scales: Array) -> NDArray[Any]:
    """Return the weights of the organism."""
    column = np.asarray(model.W) @ learnt.weights.astype(model.W.dtype)[:, np.newaxis]
    rows, zeros = model.features.bind(examples.data), np.zeros(examples.y.size, dtype=np.int16)
    used = np.flatnonzero(learnt.amounts)
    for scale, view in zip(scales, rows.views, strict=True):
        view.rows.accumulate(used, learnt.amounts, zeros, np.array([[scale]]), column[view.columns])
    return np.asarray(column[:, 0])


def _trusts(model: Any) -> dict[str, float]:
    """Return the trust of the tasks for which it was tuned."""
    chosen = model.training.get("selection", {}).get("tasks", {})
    return {task: entry["trust"] for task, entry in chosen.items() if "trust" in entry}


def _adapted_column(model: Any, name: str) -> int | None:
    """Return the column of an organism that was adapted before, or None if it is new.

    Raises
    ------
    ValueError
        If the model was trained on it.
    """
    matches = NameIndex(model.tasks).find(name)
    if not matches:
        return None
    match = model.tasks[matches[0]]
    if match not in model.training.get("adapted", {}):
        raise UsageError(
            f"organism {name!r} is in the model already, which was trained on {match!r}; train "
            "again with all labels, or give the new organism another name"
        )
    return int(matches[0])


def _scores(model: Any, data: Any) -> Array:
    """Return the scores of examples as each task of the model, shape (n, T)."""
    rows, n = model.features.bind(data), data.shape[0]
    W = np.asarray(model.W)
    columns = (rows.scores(W, np.full(n, t)) for t in range(len(model.tasks)))
    scores = np.column_stack(list(columns)) + model.bias
    if model.word_bias is not None:
        scores += model.word_biases(model.tasks)[:, model.site.consensus_of(data)].T
    return scores


def _tell_contradiction(scores: Array, y: Array, name: str) -> None:
    """Warn if the labels rank the relatives' scores the wrong way round."""
    auroc, error = chance_of_ranking(scores, y)
    if auroc < 0.5 - 2.0 * error:
        logger.warning(
            "%s: the labels contradict the relatives (AUROC %.2f of their scores); check that true "
            "sites have label 1 and are of the strand and signal of the model",
            name,
            auroc,
        )


def _summary(
    model: Any, name: str, relatives: RelativeWeights, learnt: Adapted, examples: Examples
) -> dict[str, Any]:
    """Return the training summary with the organism."""
    training = model.training
    before = training.get("adapted", {}).get(name, {}).get("relatives", {})
    weights = dict(zip(model.tasks, learnt.weights.tolist(), strict=True))
    again = weights.pop(name, 0.0)
    counts = {"n": examples.y.size, "n_positive": int((examples.y > 0).sum())}
    for key, value in training["tasks"].get(name, {}).items():
        counts[key] += value
    entry = {
        "source": relatives.source,
        "relatives": {s: a + again * before.get(s, 0.0) for s, a in weights.items()},
        "trust": {f"{x:g}": round(weight, 4) for x, weight in learnt.evidence.items()},
    }
    calibration = {t: c for t, c in training.get("calibration", {}).items() if t != name}
    summary = {
        **training,
        "tasks": {**training["tasks"], name: counts},
        "adapted": {**training.get("adapted", {}), name: entry},
    }
    return summary | ({"calibration": calibration} if "calibration" in training else {})


def settings_of(training: dict[str, Any]) -> Settings:
    """Return the settings that a model was trained with, but for the norm of kernel weights."""
    stored = training["settings"]
    names = [
        field.name for field in fields(Settings) if field.name in stored and field.name != "norm"
    ]
    return Settings(**{name: stored[name] for name in names})
