"""Train a model from examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.blocks import Rows
from seqmtl.features._base import gram_matrix
from seqmtl.features.definitions import features_from_dict
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.models.calibration import CALIBRATION, calibrate_tasks, find_copies, span_share
from seqmtl.models.kernels import (
    kernel_set,
    learnt_kernel,
    mean_nodes,
    resolve_kernels,
    used_kernels,
    view_names,
)
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.site import Site, find_anchor, find_site
from seqmtl.models.training import (
    ONE_THREAD,
    Settings,
    check_classes,
    class_factors,
    solve,
)
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import Progress, Solution, State
from seqmtl.solvers.problem import own_kernel


def train_windows(windows: Windows, **arguments: Any) -> tuple[MultiTaskModel, Solution]:
    """Train on windows with labels and tasks; see :func:`train_model`."""
    if not len(windows):
        raise ValueError("training needs windows, got none; check the split and files")
    if np.unique(windows.task_ids).size < len(windows.task_names):
        windows = windows.with_tasks(windows.tasks)
    check_distinct(windows.task_names)
    labels = windows.labels
    return train_model(windows, labels, windows.task_ids, windows.task_names, **arguments)


@ONE_THREAD
def train_model(  # noqa: PLR0913
    data: Any,
    y: NDArray[Any],
    task_ids: NDArray[Any],
    names: tuple[str, ...],
    *,
    features: Any = None,
    task_kernel: Any = None,
    settings: Settings | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    site: Site | None = None,
    state: State | None = None,
    on_epoch: Callable[[State, Progress], None] | None = None,
) -> tuple[MultiTaskModel, Solution]:
    """Train a model.

    Parameters
    ----------
    data : Windows, or ndarray or csr_matrix of shape (n, d)
        Examples.
    y : ndarray, shape (n,)
        Labels, -1 or +1; targets in regression; ones in novelty detection.
    task_ids : ndarray of int, shape (n,)
        Task of every example.
    names : tuple of str
        Names of the tasks.
    features : FeatureDefinition, optional
        Default: :class:`PositionalKmers`, anchored at the site.
    task_kernel : optional
        See :func:`seqmtl.models.kernels.resolve_kernels`. None means (11' + 3 I) / 4 unless
        kernel weights are learnt.
    settings : Settings, optional
        Training settings.
    sample_weight : ndarray, shape (n,), optional
        Positive factors on C.
    site : Site, optional
        Position of the signal. Default: the result of :func:`~seqmtl.models.site.find_site`.
    state, on_epoch : optional
        See :meth:`seqmtl.solvers.dcd.CoordinateDescent.solve`.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    """
    settings = settings or Settings()
    settings.check()
    features = PositionalKmers() if features is None else features
    if isinstance(data, Windows):
        site = site or find_site(data)
        features = features.at_site(find_anchor(data, y, site))
    if settings.kind == "classification":
        check_classes(y, task_ids, names)
    if task_kernel is None and settings.norm is None:
        task_kernel = [None]
    kernel = resolve_kernels(task_kernel, names)
    T, y = len(names), np.asarray(y, dtype=np.float64)
    rows = features.bind(data)
    views = view_names(features)
    K: Any = np.tile(kernel.matrix[:T, :T], (len(views), 1, 1))
    if settings.norm is not None:
        K = kernel_set(kernel, T, len(views), settings.norm)
    solution = solve(
        rows, y, task_ids, K, settings, nodes=mean_nodes(kernel, T),
        sample_weight=sample_weight, state=state, on_epoch=on_epoch,
    )  # fmt: skip
    summary = summarise(y, task_ids, names, settings, solution)
    if settings.norm is None:
        kernel = TaskKernel(kernel.names, kernel.matrix, kernel.source)
    else:
        K = K.couple(solution.theta).K
        summary["mkl"] = _describe_weights(kernel, T, views, solution.theta)
        kernel = learnt_kernel(kernel, T, solution.theta, views)
    if settings.kind == "classification":
        left_out, _ = left_out_scores(
            rows, y, task_ids, K, solution, upper=largest_alpha(y, settings, sample_weight),
            bias_scale=float(settings.fit_intercept), weight=sample_weight,
        )  # fmt: skip
        calibration = calibrate_tasks(left_out, y, task_ids, T, sample_weight)
    else:  # novelty detection: the margin, f(x) = 1
        calibration = np.ones((T, len(CALIBRATION[settings.kind])))
    length = data.shape[1]
    model = MultiTaskModel(
        features_from_dict(features.to_dict(length)), length, names, kernel, solution.W,
        solution.bias, calibration, site or Site(0, 0, ""), summary, kind=settings.kind,
    )  # fmt: skip
    return model, solution


def largest_alpha(
    y: NDArray[np.float64], settings: Settings, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the upper bound of every dual variable."""
    if settings.loss == "squared_hinge":
        return np.full_like(y, np.inf)
    upper = settings.C * class_factors(y, settings.class_weight)
    return upper if sample_weight is None else upper * sample_weight


def left_out_scores(
    rows: Rows,
    y: NDArray[np.float64],
    task_ids: NDArray[Any],
    K: NDArray[np.float64],
    solution: Solution,
    *,
    upper: NDArray[np.float64],
    bias_scale: float,
    weight: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], float]:
    """Approximate the score of every example by a model trained without it.

    Leaving out example i with dual variable alpha_i lowers its margin by alpha_i S_i^2 (Vapnik,
    Chapelle 2000). Copies of an example share its alpha equally.

    Parameters
    ----------
    rows : Rows
        Examples, n of them.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    task_ids : ndarray of int, shape (n,)
        Rows of K.
    K : ndarray, shape (G, T, T)
        Task kernel of every view.
    solution : Solution
        Dual variables and margins.
    upper : ndarray of float64, shape (n,)
        Upper bound of every dual variable.
    bias_scale : float
        Value of the constant feature.
    weight : ndarray, shape (n,), optional
        Weight of every example.

    Returns
    -------
    scores : ndarray of float64, shape (n,)
    share : float
        S_i^2 as a share of the kernel of an example with itself.
    """
    scores, norms = y * solution.margins, rows.squared_norms()
    views = rows.views
    ones = np.ones_like(y) if weight is None else weight
    copy_of = find_copies(scores, norms, y)
    alpha = np.bincount(copy_of, solution.alpha)
    n_copies = np.bincount(copy_of, ones)
    one_of_each = np.unique(copy_of, return_index=True)[1]

    def kernel_matrix(chosen: NDArray[np.int64]) -> NDArray[Any]:
        s, t = np.ix_(task_ids[chosen], task_ids[chosen])
        parts = zip(K, views, strict=True)
        return sum(K_g[s, t] * (gram_matrix(v.rows, chosen) + bias_scale**2) for K_g, v in parts)

    share = span_share(
        kernel_matrix, one_of_each[(alpha > 0) & (alpha < np.bincount(copy_of, upper))]
    )
    own = own_kernel(rows, task_ids, K, bias_scale)
    return scores - y * share * own * (alpha / n_copies)[copy_of], share


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


def summarise(
    y: NDArray[Any],
    task_ids: NDArray[Any],
    names: tuple[str, ...],
    settings: Settings,
    solution: Solution,
) -> dict[str, Any]:
    """Return settings, counts, objectives and history, as JSON values."""
    counts = {}
    for t, name in enumerate(names):
        labels = y[task_ids == t]
        counts[name] = {"n": int(labels.size)}
        if settings.kind == "classification":
            counts[name]["n_positive"] = int((labels > 0).sum())
    return {
        "settings": settings.to_dict(),
        "tasks": counts,
        "primal": solution.primal,
        "dual": solution.dual,
        "duality_gap": solution.gap,
        "converged": bool(solution.converged),
        "n_epochs": solution.n_epochs,
        "work": solution.work,
        "n_support": int((solution.alpha != 0).sum()),
        "history": [
            {"epoch": h.epoch, "work": h.work, "gap": h.gap, "n_active": h.n_active}
            for h in solution.history
        ],
    }
