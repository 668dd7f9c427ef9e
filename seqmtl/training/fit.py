"""Train a model from examples: validate, bind, solve, calibrate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl._surroundings import usual_floats
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.joint import features_from_dict
from seqmtl.features.numeric import Numeric
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import NO_SITE, Site, site_told_by
from seqmtl.relations import TaskKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings
from seqmtl.training.solver import ONE_THREAD, check_classes, problem_of, summarise
from seqmtl.training.task_kernels import (
    kernel_for_solver,
    learnt_kernel,
    resolve_kernels,
    used_kernels,
    view_names,
)


@usual_floats
@ONE_THREAD
def fit(
    examples: Examples,
    task_kernel: Any = None,
    *,
    features: FeatureDefinition | None = None,
    settings: Settings | None = None,
    site: Site | None = None,
    report: dict[str, Any] | None = None,
    start: WarmStart | None = None,
    on_epoch: Callable[[WarmStart, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model of all tasks jointly, with what is given or was selected.

    Parameters
    ----------
    examples : Examples
        Examples of all tasks, all in memory.
    task_kernel : optional
        See :func:`seqmtl.training.task_kernels.resolve_kernels`. None means (11' + 3 I) / 4 unless
        kernel weights are learnt.
    features : FeatureDefinition, optional
        Default: :class:`~seqmtl.PositionalKmers` of windows, the numbers of others. Those without
        an anchor begin their bins at the site.
    settings : Settings, optional
        Training settings.
    site : Site, optional
        Position of the signal. Default: what the windows say; it is not searched for.
    report : dict, optional
        More entries of the training summary, such as what was selected.
    start, on_epoch : optional
        See :func:`seqmtl.core.solve`.

    Returns
    -------
    model : MultiTaskModel
        Its tasks are in the order of the examples.
    solution : Solution
        Weights, dual variables and the gap between their objectives.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    """
    settings, names = settings or Settings(), examples.names
    examples, T = replace(examples, y=np.asarray(examples.y, dtype=np.float64)), len(names)
    if settings.kind == "classification":
        check_classes(examples)
    kernel = resolve_kernels(task_kernel, names, settings.norm)
    features, site = features_at_site(features, examples, site)
    rows, views = features.bind(examples.data), view_names(features)
    K, kernels = kernel_for_solver(kernel, T, len(views), settings.norm)
    problem = problem_of(rows, examples, K, settings)
    solution = core.solve(problem, kernels, start=start, on_epoch=on_epoch, **settings.limits)
    report = report or {}
    if kernels is None:
        kernel = TaskKernel(kernel.names, kernel.matrix, kernel.source)
    else:
        K = kernels.combine(solution.theta)
        report = {"mkl": _describe_weights(kernel, T, views, solution.theta)} | report
        kernel = learnt_kernel(kernel, T, solution.theta, views)
    if settings.kind == "classification":
        left_out, _ = left_out_scores(
            rows, examples, K.K, solution, settings.upper(examples), settings.bias_scale
        )
        calibration = calibrate_tasks(left_out, examples.y, examples.ids, T, examples.weight)
    else:
        calibration = np.zeros((T, 0))
    report = summarise(examples, settings, solution) | report
    return model_of(examples, features, kernel, solution, calibration, site, report), solution


def features_at_site(
    features: FeatureDefinition | None, examples: Examples, site: Site | None
) -> tuple[FeatureDefinition, Site]:
    """Return the features of a training, anchored, and the site; see :func:`fit`."""
    if not hasattr(examples.data, "site"):
        return features or Numeric(), NO_SITE
    site = site or site_told_by(examples.data)
    features = features or PositionalKmers()
    return features.anchored(site.offset, len(examples.names)), site


def model_of(
    examples: Examples,
    features: FeatureDefinition,
    kernel: TaskKernel,
    solution: Solution,
    calibration: NDArray[np.float64],
    site: Site,
    training: dict[str, Any],
) -> MultiTaskModel:
    """Return the model of a solution; `training` says how it was trained."""
    length = examples.data.shape[1]
    return MultiTaskModel(
        features_from_dict(features.to_dict(length)),
        length,
        examples.names,
        kernel,
        solution.weights,
        solution.bias,
        calibration,
        NO_SITE if features.is_position_free else site,
        training,
        kind=training["settings"].get("kind", "classification"),
    )


def _describe_weights(
    kernel: TaskKernel, n_tasks: int, views: list[str], theta: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return view, label, members and weight of every weighted kernel, as JSON values."""
    used, has_task = used_kernels(kernel, n_tasks), kernel.stack.diagonals() > 0.0
    return [
        {
            "view": view,
            "label": kernel.labels[m],
            "tasks": [kernel.names[t] for t in range(n_tasks) if has_task[m, t]],
            "weight": float(weight),
        }
        for view, weights in zip(views, theta.reshape(len(views), -1), strict=True)
        for m, weight in zip(used, weights, strict=True)
    ]
