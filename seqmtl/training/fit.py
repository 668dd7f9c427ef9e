"""Train a model from examples, with hyperparameters that are given or selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._surroundings import usual_floats
from seqmtl._threads import in_order
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import CALIBRATION, calibrate_tasks
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.joint import features_from_dict
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.relations import TaskKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import LikelihoodCache, Run
from seqmtl.training.selection import SearchSpace, select
from seqmtl.training.settings import Settings
from seqmtl.training.site_detection import NO_SITE, anchor_features
from seqmtl.training.solver import (
    ONE_THREAD,
    Fitted,
    Plan,
    check_classes,
    solve_examples,
    summarise,
)
from seqmtl.training.task_kernels import (
    distinct_kernels,
    kernel_for_solver,
    learnt_kernel,
    resolve_kernels,
    used_kernels,
    view_names,
)

if TYPE_CHECKING:
    from seqmtl.training.out_of_core import OutOfCoreTrainer


@usual_floats
@ONE_THREAD
def train(  # noqa: PLR0913
    examples: Examples,
    task_kernel: Any = None,
    *,
    features: FeatureDefinition | None = None,
    settings: Settings | None = None,
    site: Site | None = None,
    disk: OutOfCoreTrainer | None = None,
    likelihoods: LikelihoodCache | None = None,
    start: Any = None,
    on_epoch: Callable[[Any, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model of all tasks jointly.

    Parameters
    ----------
    examples : Examples
        Examples of all tasks.
    task_kernel : optional
        See :func:`seqmtl.training.task_kernels.resolve_kernels`. None means (11' + 3 I) / 4 unless
        kernel weights are learnt. Or a :class:`~seqmtl.training.selection.SearchSpace`, from which
        relation, trust, cost and features are selected.
    features : FeatureDefinition, optional
        Default: :class:`PositionalKmers`, anchored at the site; if this has no letters, a selection
        may choose others, see :func:`seqmtl.training.site_detection.anchor_features`.
    settings : Settings, optional
        Training settings; a selection replaces C.
    site : Site, optional
        Position of the signal. Default: the result of
        :func:`~seqmtl.training.site_detection.find_site`.
    disk : OutOfCoreTrainer, optional
        How to train on the windows of a :class:`~seqmtl.io.window_store.WindowStore`, of which
        only some are in memory; kernel weights are not learnt.
    likelihoods : LikelihoodCache, optional
        Held-out log-likelihoods of a selection that was interrupted.
    start, on_epoch : optional
        See :func:`seqmtl.core.solve`, or, for windows on disk,
        :meth:`seqmtl.training.out_of_core.OutOfCoreTrainer.fit`.

    Returns
    -------
    model : MultiTaskModel
        Its tasks are in the order of the examples. What was selected is in
        ``model.training["selection"]``.
    solution : Solution
        On disk, alpha and margins are those of the windows in memory at the end.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    SeqmtlError, MemoryLimitError
        On disk: if the loss leaves no window at alpha = 0, or too many windows must be in memory.
    """
    settings = settings or Settings()
    settings.check()
    if disk is None:
        examples = replace(examples, y=np.asarray(examples.y, dtype=np.float64))
    else:
        disk = disk.for_training(examples.data, features or PositionalKmers(), settings)
    kinds, site = anchor_features(features, examples, site)
    run = disk.run if disk else in_order
    plan = make_plan(examples, task_kernel, kinds, settings, likelihoods, run)
    return fit(examples, plan, site, disk=disk, start=start, on_epoch=on_epoch)


def make_plan(
    examples: Examples,
    task_kernel: Any,
    kinds: Sequence[FeatureDefinition],
    settings: Settings,
    likelihoods: LikelihoodCache | None = None,
    run: Run = in_order,
) -> Plan:
    """Return how to train: with a task kernel, or with what is selected from a search space.

    The parameters are those of :func:`train`, but that anchored `kinds` of features are given, of
    which the first is taken without a selection, and of :func:`seqmtl.training.selection.select`.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    """
    settings.check()
    if settings.kind == "classification":
        check_classes(examples.y, examples.ids, examples.names)
    if isinstance(task_kernel, SearchSpace):
        return select(examples, task_kernel, kinds, settings, likelihoods=likelihoods, run=run)
    if task_kernel is None and settings.norm is None:
        task_kernel = [None]
    kernel = resolve_kernels(task_kernel, examples.names)
    if settings.norm is not None:
        kernel = distinct_kernels(kernel, len(examples.names))
    return Plan(kinds[0], kernel, settings)


def fit(
    examples: Examples,
    plan: Plan,
    site: Site | None,
    *,
    disk: OutOfCoreTrainer | None = None,
    start: Any = None,
    on_epoch: Callable[[Any, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model as planned; the parameters are those of :func:`train`."""
    fitted = (disk.fit if disk else _fit_in_memory)(examples, plan, start, on_epoch)
    return _model(examples, plan, fitted, site), fitted.solution


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
        NO_SITE if site is None or features.is_position_free else site,
        summary,
        kind=plan.settings.kind,
    )


def _fit_in_memory(
    examples: Examples,
    plan: Plan,
    start: WarmStart | None,
    on_epoch: Callable[[WarmStart, Progress], None] | None,
) -> Fitted:
    """Solve for examples that are all in memory, and calibrate the solution."""
    settings, kernel, T = plan.settings, plan.kernel, len(examples.names)
    rows, views = plan.features.bind(examples.data), view_names(plan.features)
    of_views = kernel_for_solver(kernel, T, len(views), settings.norm)
    start = start or plan.start
    solution = solve_examples(rows, examples, of_views, settings, start=start, on_epoch=on_epoch)
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
