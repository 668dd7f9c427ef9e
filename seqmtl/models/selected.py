"""Train one model with hyperparameters selected on held-out labels.

Tasks with far fewer labels than the others are left out of the joint training and then learnt from
their labels with the others as a prior; see :mod:`seqmtl.models.adaptation`. Jointly, what such a
task shares is limited by how little the others need from it. For acceptors of C. elegans beside
1,000 windows each of five organisms this raises AUPRC from .926 (the tree) to .952 with 100 labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.models.adapt import add_task
from seqmtl.models.fit import train_model
from seqmtl.models.held_out import HoldOut, Labelled, draw_folds
from seqmtl.models.kernels import kernel_set, resolve_kernels, view_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.selection import Space, select, weigh
from seqmtl.models.site import Site, find_anchor, find_site
from seqmtl.models.training import ONE_THREAD, Settings, check_classes
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import Progress, Solution, State

_FEW = 0.25  # labels of a task as a share of the median, below which it is learnt afterwards
_FEWEST, _MOST_FEW = 2, 1000  # labels per class that this needs; labels up to which it was better


def labelled(
    data: Any,
    y: NDArray[Any],
    task_ids: NDArray[Any],
    names: tuple[str, ...],
    sample_weight: NDArray[np.float64] | None = None,
) -> Labelled:
    """Check examples and return them for a selection.

    Raises
    ------
    ValueError
        If a task lacks a class.
    """
    check_classes(y, task_ids, names)
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    return Labelled(data, np.asarray(y, dtype=np.float64), task_ids, names, weight)


@ONE_THREAD
def train_selected(  # noqa: PLR0913
    examples: Labelled,
    space: Space | None = None,
    *,
    features: Any = None,
    settings: Settings | None = None,
    site: Site | None = None,
    known: dict[str, NDArray[np.float64]] | None = None,
    on_score: Callable[[str, int, int], None] | None = None,
    state: State | None = None,
    on_epoch: Callable[[State, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Select relation, trust, cost and features, then train on all examples.

    Parameters
    ----------
    examples : Labelled
        See :func:`labelled`.
    space : Space, optional
        Search space. Default: the trust in treating all tasks as alike, and three costs.
    features, settings, site, state, on_epoch
        See :func:`seqmtl.models.fit.train_model`; C is replaced.
    known, on_score
        See :func:`seqmtl.models.selection.select`.

    Returns
    -------
    model : MultiTaskModel
        The selection is in ``model.training["selection"]``.
    solution : Solution
        Of the joint training; alpha is 0 for tasks that were learnt afterwards.
    """
    settings = settings or Settings()
    settings.check()
    features, site = _placed(features, examples.data, examples.y, site)
    space = space or Space.of_sharing(examples.names)
    few = _few_labels(examples) if len(space.trusts) > 1 else []
    joint = examples.without(few)[0] if few else examples
    chosen = select(
        joint, space.led_by(joint.names) if few else space, features=features, settings=settings,
        known=known, on_score=on_score,
    )  # fmt: skip
    return train_with_few(
        examples, few, features=chosen.features, task_kernel=chosen.kernel,
        settings=chosen.settings, site=site, state=state, on_epoch=on_epoch,
        selection=chosen.report,
    )  # fmt: skip


def train_with_few(
    examples: Labelled,
    few: list[str],
    *,
    site: Site | None,
    selection: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[MultiTaskModel, Solution]:
    """Train jointly on all tasks but some with few labels, then learn these from the others.

    Parameters
    ----------
    examples : Labelled
        Examples of all tasks.
    few : list of str
        Tasks with few labels.
    selection : dict, optional
        Report of a selection, kept in the summary; the trust in it places the tasks of `few`.
    site, **options
        See :func:`seqmtl.models.fit.train_model`.

    Returns
    -------
    model : MultiTaskModel
        Its tasks are in the order of the examples.
    solution : Solution
        Of the joint training; alpha is 0 for the tasks of `few`.
    """
    joint, rows = examples.without(few) if few else (examples, slice(None))
    has_weights = bool((joint.weight != 1.0).any())
    model, solution = train_model(
        joint.data, joint.y, joint.ids, joint.names, site=site,
        sample_weight=joint.weight if has_weights else None, **options,
    )  # fmt: skip
    if selection is not None:
        model.training["selection"] = selection
    for name in few:
        own, _ = examples.without([other for other in examples.names if other != name])
        at = sum(other in model.tasks for other in examples.names[: examples.names.index(name)])
        model = add_task(model, own, at)
    alpha = np.zeros(examples.y.size)
    alpha[rows] = solution.alpha
    return model, replace(solution, alpha=alpha)


def _few_labels(examples: Labelled) -> list[str]:
    """Return the tasks with far fewer labels than the others, but enough of both classes."""
    T = len(examples.names)
    sizes = np.bincount(examples.ids, minlength=T)
    positive = np.bincount(examples.ids[examples.y > 0], minlength=T)
    is_few = (sizes < _FEW * np.median(sizes)) & (np.minimum(positive, sizes - positive) >= _FEWEST)
    return [name for name, own in zip(examples.names, is_few, strict=True) if own]


@ONE_THREAD
def train_learnt(
    examples: Labelled,
    kernels: TaskKernel,
    costs: Iterable[float],
    *,
    features: Any = None,
    settings: Settings,
    site: Site | None = None,
) -> MultiTaskModel:
    """Train MT-MKL (Widmer et al. 2015), with one cost for all tasks chosen by cross-validation.

    Parameters
    ----------
    examples : Labelled
        See :func:`labelled`.
    kernels : TaskKernel
        K_1..K_M.
    costs : iterable of float
        Costs to choose from.
    features, settings, site
        See :func:`seqmtl.models.fit.train_model`; ``settings.norm`` is p, and C is replaced.
    """
    features, site = _placed(features, examples.data, examples.y, site)
    names, T = examples.names, len(examples.names)
    costs = sorted(costs)
    norm = 2.0 if settings.norm is None else settings.norm
    K = kernel_set(resolve_kernels(kernels, names), T, len(view_names(features)), norm)
    folds = draw_folds(examples.y, examples.ids, np.random.default_rng(settings.seed))
    found = np.zeros(len(costs))
    if len(costs) > 1:
        for fold in range(int(folds.max(initial=0)) + 1):
            train, held = (examples.take(np.flatnonzero(r)) for r in (folds != fold, folds == fold))
            if held.y.size:
                own = HoldOut(train, held, features, settings)
                found += [own.log_likelihood(K, cost).sum() for cost in costs]
    C = float(np.exp(weigh(found[:, None])[:, 0] @ np.log(costs)))
    model, _ = train_model(
        examples.data, examples.y, examples.ids, names, features=features, task_kernel=kernels,
        settings=replace(settings, C=C, norm=norm), site=site,
    )  # fmt: skip
    model.training["selection"] = {"tasks": {name: {"C": C} for name in names}}
    return model


def _placed(features: Any, data: Any, y: Any, site: Site | None) -> tuple[Any, Site | None]:
    """Return the features anchored at the site of the windows, and the site."""
    features = PositionalKmers() if features is None else features
    if not isinstance(data, Windows):
        return features, site
    site = site or find_site(data)
    return features.at_site(find_anchor(data, y, site)), site
