"""Train a model that weights tasks by a p-norm of their losses, up to the worst task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice, check_number
from seqmtl._memory import require_memory
from seqmtl.features.numeric import Numeric
from seqmtl.models.calibration import calibrate_tasks, left_out_scores
from seqmtl.models.examples import Examples
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.site import Site
from seqmtl.models.training import (
    Settings,
    check_classes,
    check_norm,
    class_factors,
    summarise,
)
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.minimax import (
    KernelRegularizer,
    MinimaxSolution,
    TraceRegularizer,
    solve_minimax,
)

REGULARIZERS = ("trace", "mean")
_LEAST = 1e-12  # added to the diagonal of a learnt kernel, for tasks with zero weights
_ROUNDING = 1e-9  # relative distance at which dual variables count as at their bounds


def train_minimax(  # noqa: PLR0913
    X: Any,
    y: NDArray[np.float64],
    task_ids: NDArray[Any],
    names: tuple[str, ...],
    *,
    regularizer: str = "trace",
    share: float = 0.5,
    norm: float = np.inf,
    settings: Settings | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> tuple[MultiTaskModel, MinimaxSolution]:
    """Train a model; see :mod:`seqmtl.solvers.minimax`.

    The task kernel of the model satisfies W = V K. With "mean" it is (1 - share) I + share 11';
    with "trace" it is (W'W)^(1/2) divided by its trace, intercepts included.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        Examples; converted to dense.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    task_ids : ndarray of int, shape (n,)
        Task of every example.
    names : tuple of str
        Names of the tasks.
    regularizer : {"trace", "mean"}
        Regularizer that couples the tasks.
    share : float
        Share of the regularizer common to all tasks, in (0, 1]; only for "mean".
    norm : float
        p of the p-norm over the task losses.
    settings : Settings, optional
        Training settings; the loss is the hinge and weights are float64.
    sample_weight : ndarray, shape (n,), optional
        Positive weights of the examples in the mean loss of their task.

    Raises
    ------
    ValueError
        If a task lacks a class, or a setting is out of range.
    MemoryLimitError
        If the dense examples do not fit into memory.
    """
    settings = settings or Settings(max_epochs=10_000, dtype="float64")
    settings.check()
    _check_options(regularizer, share, norm)
    check_classes(y, task_ids, names)
    kernel = TaskKernel.easy(names, float(share))
    cost = _costs(y, task_ids, sample_weight, settings.class_weight)
    solution = solve_minimax(
        _dense(X, len(names), settings.fit_intercept), y, task_ids, cost,
        TraceRegularizer() if regularizer == "trace" else KernelRegularizer(kernel.matrix),
        C=float(settings.C), norm=float(norm), tol=settings.tol, max_epochs=settings.max_epochs,
    )  # fmt: skip
    if regularizer == "trace":
        kernel = _trace_kernel(solution.W, names)
    solution = _split_intercept(solution, X.shape[1])
    examples = Examples(X, y, task_ids, names, sample_weight)
    summary = summarise(examples, settings, solution)
    summary["minimax"] = {
        "regularizer": regularizer,
        "share": float(share) if regularizer == "mean" else None,
        "norm": "inf" if np.isinf(norm) else float(norm),
        "losses": dict(zip(names, solution.losses.tolist(), strict=True)),
        "task_weights": dict(zip(names, solution.tau.tolist(), strict=True)),
    }
    features = Numeric()
    upper = settings.C * cost * solution.tau[task_ids] * (1.0 - _ROUNDING)
    left_out, _ = left_out_scores(
        features.bind(X), examples, kernel.matrices, solution, upper, settings.bias_scale
    )
    calibration = calibrate_tasks(left_out, y, task_ids, len(names), sample_weight)
    model = MultiTaskModel(
        features, X.shape[1], names, kernel, solution.W, solution.bias, calibration,
        Site(0, 0, ""), summary,
    )  # fmt: skip
    return model, solution


def _check_options(regularizer: str, share: float, norm: float) -> None:
    check_choice("regularizer", regularizer, REGULARIZERS)
    check_norm(norm)
    remedy = "the smaller, the less tasks have in common"
    check_number("share", share, most=1, remedy=remedy)


def _costs(
    y: NDArray[np.float64],
    task_ids: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    class_weight: Any,
) -> NDArray[np.float64]:
    """Return the weight of every example in the loss of its task, shape (n,)."""
    weight = np.ones_like(y) if sample_weight is None else sample_weight
    cost = weight * class_factors(y, class_weight)
    return np.asarray(cost / np.bincount(task_ids, weight)[task_ids])


def _dense(X: Any, n_tasks: int, with_constant: bool) -> NDArray[np.float64]:
    n, d = X.shape
    require_memory(
        24.0 * n * (d + 1) + 16.0 * n_tasks * min(n, d + 1) ** 2,
        f"the dense matrices of {n:,} examples of {d:,} features in {n_tasks} tasks",
        "take fewer features",
    )
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return np.column_stack([X, np.ones(n)]) if with_constant else X


def _split_intercept(solution: MinimaxSolution, d: int) -> MinimaxSolution:
    """Remove the row of the constant feature, if there is one, from the weights."""
    W = solution.W
    bias = W[d] if len(W) > d else np.zeros(W.shape[1])
    return replace(solution, W=W[:d], bias=bias)


def _trace_kernel(W: NDArray[np.float64], names: tuple[str, ...]) -> TaskKernel:
    """Return the K of trace 1 that minimises tr(W K^-1 W'): (W'W)^(1/2) over its trace."""
    _, values, right = np.linalg.svd(W, full_matrices=False)
    K = (right.T * (values / max(float(values.sum()), 1e-300))) @ right
    return TaskKernel(names, K + _LEAST * np.eye(len(names)), "learnt by the trace norm")
