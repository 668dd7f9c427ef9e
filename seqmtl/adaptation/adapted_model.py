"""Add an organism to a trained model, from few labels or none."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, check_distinct
from seqmtl.adaptation.learning import AdaptedTask, check_labels, dual_coefficients, learn
from seqmtl.adaptation.messages import log_relatives
from seqmtl.adaptation.relatives import RelativeWeights, extend, weights_of_relatives
from seqmtl.calibration.sigmoid import fit_sigmoid
from seqmtl.core.weights import TaskWeights
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.exceptions import UsageError
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.weights_io import round_weights, step_of
from seqmtl.relations.trees import Tree
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import settings_of

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)


def adapt(
    model: MultiTaskModel,
    name: str,
    data: Any = None,
    y: Any = None,
    *,
    like: str | None = None,
    tree: Tree | str | os.PathLike[str] | None = None,
    prevalence: float | None = None,
) -> MultiTaskModel:
    """Return a model with one more organism, learnt from few labels and the other organisms.

    Neither the data of the training nor those of a previous step are needed. An organism that
    was adapted before is adapted further by labels that it has not seen.

    Parameters
    ----------
    model : MultiTaskModel
        A model of classification.
    name : str
        The new organism.
    data : Windows, or ndarray or csr_matrix of shape (n, d), optional
        Labelled examples. Default: none; the organism is then scored from its relatives.
    y : array_like, shape (n,), optional
        Labels; positive means +1. Default: those of the windows.
    like : str, optional
        Organism of the model, or organism or clade of the tree, whose relatives it has.
        Default: its name in the tree.
    tree : Tree, str or path-like, optional
        See :func:`seqmtl.relations.trees.read_tree`; or the folder of an NCBI taxonomy dump.
        Default: the task kernel of the model, or for `like` the largest shipped tree. An
        organism that is nowhere starts at the mean.
    prevalence : float, optional
        Share of true sites for which its probabilities hold. Default: that of the labels.

    Raises
    ------
    ValueError
        If the model was trained on the organism, a class has fewer than two labels, or the
        examples are not like those of the training.
    UnknownTaskError
        If `like` or `name` is not in the tree.

    Notes
    -----
    See :mod:`seqmtl.adaptation.learning` (Yang, Yan, Hauptmann 2007; Schweikert et al. 2008).
    """
    y = data.labels if y is None and data is not None else y
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
    if model.inputs == "windows":
        model.site.check_consensus(data, y, or_nowhere=True)
        model.site.warn_missing_consensus(data)
    examples = Examples(data, y, np.zeros(y.size, dtype=np.int64), (name,))
    at = len(model.tasks) if column is None else column
    adapted, learnt = _learnt(model, relatives, examples, at, replaces=column is not None)
    if prevalence is not None:
        consensus = (
            model.site.consensus_of(data)[learnt.rows] if len(model.site.consensus) > 1 else None
        )
        adapted.calibrate(name, learnt.scores, y[learnt.rows], None, "auto", prevalence, consensus)
    return adapted


def add_task(model: MultiTaskModel, examples: Examples, at: int) -> MultiTaskModel:
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
    model: MultiTaskModel,
    relatives: RelativeWeights,
    examples: Examples,
    at: int,
    *,
    replaces: bool = False,
) -> tuple[MultiTaskModel, AdaptedTask]:
    """Return the model with a task that replaces one, or is inserted, and what was learnt."""
    scores, scales = _scores(model, examples.data), _scales(model)
    _warn_contradiction(scores @ relatives.weights, examples.y, examples.names[0])
    learnt = learn(
        examples,
        scores,
        relatives.weights,
        features=model.features,
        settings=settings_of(model.training),
        scales=scales,
    )
    alone = _alone(model, relatives, examples, learnt)
    return with_organism(model, alone, relatives.weights, at, replaces=replaces), learnt


def learn_parts(
    model: MultiTaskModel,
    relatives: RelativeWeights,
    name: str,
    data: Any,
    weight: Array,
    parts: Sequence[NDArray[np.int64]],
    *,
    trust: float,
    C: float,
) -> list[MultiTaskModel]:
    """Return models of a new organism alone, with the trust in its relatives and the cost as given.

    Each is learnt from some rows of the windows, and the last is the mean of the others. Nothing is
    chosen and nothing held out: the caller calibrates. Labels are calls of a model, and the summary
    of the training says so. :func:`with_organism` adds one to the model.

    Parameters
    ----------
    model, relatives, name
        The model, how much each of its organisms counts, and the name of the new one.
    data : Windows
        Windows with labels.
    weight : ndarray of float64, shape (n,)
        How much each counts.
    parts : sequence of ndarray of int64
        The rows that each model is learnt from.
    trust, C : float
        x and C.
    """
    y = np.where(data.labels > 0, 1.0, -1.0)
    examples = Examples(data, y, np.zeros(y.size, dtype=np.int64), (name,), weight)
    settings, a = replace(settings_of(model.training), C=C), trust * relatives.weights
    given = _scores(model, data, a)
    every = np.zeros((len(parts) + 1, y.size))
    for dual_coef, rows in zip(every, parts, strict=False):
        dual_coef[rows] = dual_coefficients(
            examples.take(rows), given[rows], settings, model.features, _scales(model)
        )
    every[-1] = every[:-1].mean(axis=0)
    learnt = [AdaptedTask(a, dual_coef, {trust: 1.0}) for dual_coef in every]
    models = [_alone(model, relatives, examples, one) for one in learnt]
    for adapted in models:
        adapted.training["adapted"][name]["calls"] = True
    return models


def _scales(model: MultiTaskModel) -> Array:
    """Return the variance of the new part of the weights in every view."""
    sizes = np.array([np.diagonal(K)[: len(model.tasks)].mean() for K in model.kernel.matrices])
    return np.broadcast_to(sizes / sizes.mean(), len(model.W.columns))


def _alone(
    model: MultiTaskModel, relatives: RelativeWeights, examples: Examples, learnt: AdaptedTask
) -> MultiTaskModel:
    """Return a model of an organism alone, as it was learnt from labels and the model."""
    name, scales, biases = examples.names[0], _scales(model), model.consensus_bias
    column = _column(model, examples, learnt, scales)
    if step := step_of(model.W):
        column = round_weights(column, step)  # so that the file of the model with it is as small
    change = settings_of(model.training).bias_scale * scales.sum() * learnt.dual_coef.sum()
    sigmoid = (1.0, 0.0)
    if learnt.rows.size:
        sigmoid = fit_sigmoid(learnt.scores, examples.y[learnt.rows])
    kernel = extend(model.kernel, len(model.tasks), name, relatives.weights)
    return replace(
        model,
        tasks=(name,),
        kernel=kernel.restrict([name]),
        W=TaskWeights.of(column[:, np.newaxis], model.W.columns),
        bias=np.array([model.bias @ learnt.weights + change]),
        consensus_bias=None if biases is None else (learnt.weights @ biases)[np.newaxis],
        calibration=np.array([sigmoid]),
        curves={},
        training=_summary(model, name, relatives, learnt, examples),
    )


def with_organism(
    model: MultiTaskModel,
    alone: MultiTaskModel,
    weights: Array,
    at: int | None = None,
    *,
    replaces: bool = False,
) -> MultiTaskModel:
    """Return a model with one more organism, of which there is a model alone.

    Parameters
    ----------
    model : MultiTaskModel
        Model of other organisms, T of them.
    alone : MultiTaskModel
        One of :func:`learn_parts`.
    weights : ndarray of float64, shape (T,)
        How much each of the others counts.
    at : int, optional
        Number of the organism in the result. Default: the last.
    replaces : bool, default False
        Whether the organism of this number in the model is replaced.
    """
    T, (name,) = len(model.tasks), alone.tasks
    column = alone.weights([name])[0][:, 0]
    at = T if at is None else at
    others = np.delete(np.arange(T), at if replaces else [])

    def inserted(table: Array, row: Array) -> Array:
        return np.insert(table[others], at, row, axis=0)

    biases = None
    if not (model.consensus_bias is None and alone.consensus_bias is None):
        both = model.consensus_biases(model.tasks), alone.consensus_biases([name])[0]
        biases = inserted(both[0][:, :-1], both[1][:-1])
    tasks = (*model.tasks[:at], name, *model.tasks[at + replaces :])

    def joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
        both = {**{task: value for task, value in old.items() if task != name}, **new}
        return {task: both[task] for task in tasks if task in both}

    parts: dict[str, Any] = {
        key: joined(model.training.get(key, {}), alone.training.get(key, {}))
        for key in ("tasks", "adapted", "calibration")
        if key in model.training or key in alone.training
    }
    return replace(
        model,
        tasks=tasks,
        kernel=model.kernel if replaces else extend(model.kernel, T, name, weights, at=at),
        W=model.W.with_task(at, column, replaces=replaces),
        bias=inserted(model.bias, alone.bias[0]),
        consensus_bias=biases,
        calibration=inserted(model.calibration, alone.calibration[0]),
        curves=joined(model.curves, alone.curves),
        training={**model.training, **parts},
    )


def _column(
    model: MultiTaskModel, examples: Examples, learnt: AdaptedTask, scales: Array
) -> NDArray[Any]:
    """Return the weights of the organism."""
    column = np.array(model.W.times(learnt.weights[:, np.newaxis]))  # W itself is of the model
    rows, zeros = model.features.bind(examples.data), np.zeros(examples.y.size, dtype=np.int16)
    used = np.flatnonzero(learnt.dual_coef)
    for scale, view in zip(scales, rows.views, strict=True):
        view.rows.accumulate(
            used, learnt.dual_coef, zeros, np.array([[scale]]), column[view.columns]
        )
    return np.asarray(column[:, 0])


def _trusts(model: MultiTaskModel) -> dict[str, float]:
    """Return the trust of the tasks for which it was tuned."""
    chosen = model.training.get("selection", {}).get("tasks", {})
    return {task: entry["trust"] for task, entry in chosen.items() if "trust" in entry}


def _adapted_column(model: MultiTaskModel, name: str) -> int | None:
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


def _scores(model: MultiTaskModel, data: Any, a: Array | None = None) -> Array:
    """Return the scores of examples as each task of the model, or as their sum with weights a."""
    rows, n, T = model.features.bind(data), data.shape[0], len(model.tasks)
    A = np.eye(T) if a is None else a[:, np.newaxis]
    W = model.W.times(A)
    columns = (rows.scores(W, np.full(n, t)) for t in range(A.shape[1]))
    scores = np.column_stack(list(columns)) + model.bias @ A
    if model.consensus_bias is not None:
        scores += (A.T @ model.consensus_biases(model.tasks))[:, model.site.consensus_of(data)].T
    return scores if a is None else scores[:, 0]


def _warn_contradiction(scores: Array, y: Array, name: str) -> None:
    """Warn if the labels rank the relatives' scores the wrong way round."""
    n, m = int((y > 0).sum()), int((y <= 0).sum())
    auroc, _ = RankedScores(y > 0, scores).metrics()
    error = float(np.sqrt((n + m + 1) / (12.0 * n * m)))  # of the AUROC of random scores
    if auroc < 0.5 - 2.0 * error:
        logger.warning(
            "%s: the labels contradict the relatives (AUROC %.2f of their scores); check that true "
            "sites have label 1 and are of the strand and signal of the model",
            name,
            auroc,
        )


def _summary(
    model: MultiTaskModel,
    name: str,
    relatives: RelativeWeights,
    learnt: AdaptedTask,
    examples: Examples,
) -> dict[str, Any]:
    """Return the training summary of the organism alone."""
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
    summary = {**training, "tasks": {name: counts}, "adapted": {name: entry}}
    if "selection" in training:
        summary["selection"] = {**training["selection"], "tasks": {}}
    return summary | ({"calibration": {}} if "calibration" in training else {})
