"""Train a model from examples, with hyperparameters that are given or selected.

Tasks with far fewer labels than the others are left out of the joint training and then learnt from
their labels with the others as a prior; see :mod:`seqmtl.adaptation.adapted_model`. Jointly, what
such a task shares is limited by how little the others need from it. For acceptors of C. elegans
beside 1,000 windows each of five organisms this raises AUPRC from 0.926 (the tree) to 0.952 with
100 labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._surroundings import usual_floats
from seqmtl._threads import in_order
from seqmtl.adaptation.adapted_model import add_task
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import CALIBRATION, calibrate_tasks
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.features.joint import features_from_dict
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site, anchor_features
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.out_of_core import OutOfCoreTrainer
from seqmtl.training.selection import Space, select
from seqmtl.training.settings import Settings
from seqmtl.training.solver import ONE_THREAD, Fitted, Plan, check_classes, solve, summarise
from seqmtl.training.task_kernels import (
    couple,
    distinct_kernels,
    learnt_kernel,
    resolve_kernels,
    used_kernels,
    view_names,
)

Array = NDArray[np.float64]

_FEW = 0.25  # labels of a task as a share of the median, below which it is learnt afterwards
_FEWEST = 2  # labels per class that this needs


def train_windows(windows: Windows, **arguments: Any) -> tuple[MultiTaskModel, Solution]:
    """Train on windows with labels and tasks; see :func:`train`."""
    return train(Examples.of(windows), **arguments)


@usual_floats
@ONE_THREAD
def train(  # noqa: PLR0913
    examples: Examples,
    space: Space | None = None,
    *,
    features: Any = None,
    task_kernel: Any = None,
    settings: Settings | None = None,
    site: Site | None = None,
    few: Sequence[str] | None = None,
    disk: OutOfCoreTrainer | None = None,
    cached: dict[str, NDArray[np.float64]] | None = None,
    on_score: Callable[[str, int, int], None] | None = None,
    start: Any = None,
    on_epoch: Callable[[Any, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model.

    Parameters
    ----------
    examples : Examples
        Examples of all tasks.
    space : Space, optional
        Relation, trust, cost and features to select from. Default: none; the task kernel, settings
        and features are used as they are given.
    features : FeatureDefinition, optional
        Default: :class:`PositionalKmers`, anchored at the site.
    task_kernel : optional
        See :func:`seqmtl.training.task_kernels.resolve_kernels`; replaced by a selection. None
        means (11' + 3 I) / 4 unless kernel weights are learnt.
    settings : Settings, optional
        Training settings; a selection replaces C.
    site : Site, optional
        Position of the signal. Default: the result of :func:`~seqmtl.linear_model.site.find_site`.
    few : sequence of str, optional
        Tasks to learn after the others. Default: those with few labels if trust is selected.
    disk : OutOfCoreTrainer, optional
        How to train on the windows of a :class:`~seqmtl.io.window_store.WindowStore`, of which
        only some are in memory; kernel weights are not learnt, nor tasks after the others.
    cached, on_score : optional
        See :func:`seqmtl.training.selection.select`.
    start, on_epoch : optional
        See :func:`seqmtl.core.solve`, or, for windows on disk,
        :meth:`seqmtl.training.out_of_core.OutOfCoreTrainer.fit`.

    Returns
    -------
    model : MultiTaskModel
        Its tasks are in the order of the examples. What was selected is in
        ``model.training["selection"]``.
    solution : Solution
        Of the joint training; alpha is 0 for tasks that were learnt afterwards. On disk, alpha and
        margins are those of the windows in memory at the end.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    SeqmtlError, MemoryLimitError
        On disk: if the loss leaves no window at alpha = 0, or too many windows must be in memory.
    """
    settings = settings or Settings()
    settings.check()
    if settings.kind == "classification":
        check_classes(examples.y, examples.ids, examples.names)
    features = PositionalKmers() if features is None else features
    if disk is None:
        examples = replace(examples, y=np.asarray(examples.y, dtype=np.float64))
    else:
        disk = disk.for_training(examples.data, features, settings)
    features, site = anchor_features(features, examples, site)
    if few is None:
        few = _few_labels(examples) if space and space.is_shared and not disk else []
    joint, rows = examples, None
    if few:
        joint, rows = examples.only([name for name in examples.names if name not in few])
        start = start and start._replace(alpha=start.alpha[rows])
        on_epoch = on_epoch and _of_all(on_epoch, rows, examples.y.size)
    if space is None:
        if task_kernel is None and settings.norm is None:
            task_kernel = [None]
        kernel = resolve_kernels(task_kernel, joint.names)
        if settings.norm is not None:
            kernel = distinct_kernels(kernel, len(joint.names))
        plan = Plan(features, kernel, settings)
    else:
        space, run = space.led_by(joint.names) if few else space, disk.run if disk else in_order
        progress: dict[str, Any] = {"cached": cached, "on_score": on_score}
        plan = select(joint, space, features, settings, run=run, **progress)
    fitted = (disk.fit if disk else _fit_in_memory)(joint, plan, start, on_epoch)
    model, solution = _model(joint, plan, fitted, site), fitted.solution
    for name in few:
        at = sum(other in model.tasks for other in examples.names[: examples.names.index(name)])
        model = add_task(model, examples.only([name])[0], at)
    alpha = solution.alpha if rows is None else _spread(solution.alpha, rows, examples.y.size)
    return model, replace(solution, alpha=alpha)


def _spread(values: Array, rows: NDArray[np.int64], n: int) -> Array:
    spread = np.zeros(n)
    spread[rows] = values
    return spread


def _of_all(on_epoch: Any, rows: NDArray[np.int64], n: int) -> Any:
    """Return a function that calls another with the dual variables of all n examples."""

    def call(now: WarmStart, progress: Progress) -> None:
        on_epoch(now._replace(alpha=_spread(now.alpha, rows, n)), progress)

    return call


def _model(examples: Examples, plan: Plan, fitted: Fitted, site: Site | None) -> MultiTaskModel:
    solution, length = fitted.solution, examples.data.shape[1]
    summary = summarise(examples, plan.settings, solution) | fitted.facts | plan.report
    features = features_from_dict(plan.features.to_dict(length))
    return MultiTaskModel(
        features,
        length,
        examples.names,
        fitted.kernel,
        solution.W,
        solution.bias,
        fitted.calibration,
        site or Site(0, 0, ""),
        summary,
        kind=plan.settings.kind,
    )


def _few_labels(examples: Examples) -> list[str]:
    """Return the tasks with far fewer labels than the others, but enough of both classes."""
    sizes, positive = examples.counts()
    is_few = (sizes < _FEW * np.median(sizes)) & (np.minimum(positive, sizes - positive) >= _FEWEST)
    return [name for name, has_few in zip(examples.names, is_few, strict=True) if has_few]


def _fit_in_memory(
    examples: Examples,
    plan: Plan,
    start: WarmStart | None,
    on_epoch: Callable[[WarmStart, Progress], None] | None,
) -> Fitted:
    """Solve for examples that are all in memory, and calibrate the solution."""
    settings, kernel, T = plan.settings, plan.kernel, len(examples.names)
    rows, views = plan.features.bind(examples.data), view_names(plan.features)
    of_views = couple(kernel, T, len(views), settings.norm)
    solution = solve(rows, examples, of_views, settings, start=start, on_epoch=on_epoch)
    facts = {}
    if settings.norm is None:
        kernel = TaskKernel(kernel.names, kernel.matrix, kernel.source)
    else:
        of_views = of_views.combine(solution.theta)
        facts["mkl"] = _describe_weights(kernel, T, views, solution.theta)
        kernel = learnt_kernel(kernel, T, solution.theta, views)
    if settings.kind == "classification":
        left_out, _ = left_out_scores(
            rows, examples, of_views.K, solution, settings.upper(examples), settings.bias_scale
        )
        calibration = calibrate_tasks(left_out, examples.y, examples.ids, T, examples.weight)
    else:  # novelty detection: the margin, f(x) = 1
        calibration = np.ones((T, len(CALIBRATION[settings.kind])))
    return Fitted(solution, kernel, calibration, facts)


def _describe_weights(
    kernel: TaskKernel, n_tasks: int, views: list[str], theta: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return view, label, members and weight of every weighted kernel, as JSON values."""
    used = used_kernels(kernel, n_tasks)
    return [
        {
            "view": view,
            "label": kernel.labels[m],
            "tasks": [kernel.names[t] for t in range(n_tasks) if kernel.matrices[m, t, t] > 0],
            "weight": float(weight),
        }
        for view, weights in zip(views, theta.reshape(len(views), -1), strict=True)
        for m, weight in zip(used, weights, strict=True)
    ]
