"""Solve the training problem given by examples and settings, for estimators and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl._blas import threadpool_limits
from seqmtl._checks import check_choice, check_integer, check_number
from seqmtl._memory import require_memory
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES, find_loss
from seqmtl.core.mkl import KernelSet
from seqmtl.core.problem import Problem
from seqmtl.core.rows import Rows
from seqmtl.models.calibration import CALIBRATION
from seqmtl.models.examples import Examples
from seqmtl.similarity import TaskKernel

#: The number of threads of matrix products changes their rounding, and so the result.
ONE_THREAD = threadpool_limits.wrap(limits=1, user_api="blas")


@dataclass(frozen=True)
class Settings:
    """Training settings.

    Attributes
    ----------
    C : float
        Cost of an example.
    loss : str
        "hinge", "squared_hinge" or "logistic"; in regression "epsilon_insensitive" or
        "squared_epsilon_insensitive".
    class_weight : dict, "balanced" or None
        Factor on C for the labels +1 and -1; "balanced" means n / (2 n_class).
    fit_intercept : bool
        Append a constant feature of value 1, coupled across tasks like any other.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of epochs.
    dtype : {"float32", "float64"}, or the NumPy type
        Type of the weights; the attribute is its name.
    seed : int
        Seed of the visiting order.
    kind : {"classification", "regression", "novelty"}
        Learning problem.
    epsilon : float
        Error without cost; regression only.
    norm : float, optional
        p of the p-norm on the kernel weights: 1 sparse, inf uniform. Default: weights are not
        learnt and K is the mean of the kernels.
    """

    C: float = 1.0
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_epochs: int = 1000
    dtype: str = "float32"
    seed: int = 0
    kind: str = "classification"
    epsilon: float = 0.0
    norm: float | None = None

    def __post_init__(self) -> None:
        """Replace a NumPy type by its name."""
        if not isinstance(self.dtype, str) and self.dtype is not None:
            with suppress(TypeError):
                object.__setattr__(self, "dtype", np.dtype(self.dtype).name)

    def check(self) -> None:
        """Raise ValueError for a setting out of range."""
        for name in ("C", "tol"):
            check_number(name, getattr(self, name))
        check_number("epsilon", self.epsilon, min_val=0)
        if self.norm is not None:
            check_norm(self.norm)
        check_choice("kind", self.kind, CALIBRATION)
        losses = REGRESSION_LOSSES if self.kind == "regression" else LOSSES
        check_choice("loss", self.loss, losses)
        check_integer("max_epochs", self.max_epochs, 1)
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', got {self.dtype!r}")

    @property
    def bias_scale(self) -> float:
        """Value of the constant feature."""
        return float(self.fit_intercept)

    def costs(self, examples: Examples) -> NDArray[np.float64]:
        """Return C_i of every example, shape (n,)."""
        return np.asarray(self.C * class_factors(examples.y, self.class_weight) * examples.weight)

    def upper(self, examples: Examples) -> NDArray[np.float64]:
        """Return the upper bound of every dual variable, shape (n,)."""
        costs = self.costs(examples)
        return np.full_like(costs, np.inf) if find_loss(self.loss).is_squared else costs

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values; those of regression only for regression."""
        settings = asdict(self)
        if self.kind != "regression":
            del settings["epsilon"]
        if self.kind == "classification":
            del settings["kind"]
        if self.norm is None:
            del settings["norm"]
        elif np.isinf(self.norm):
            settings["norm"] = "inf"  # JSON has no infinity
        if isinstance(self.class_weight, Mapping):
            settings["class_weight"] = {str(k): float(v) for k, v in self.class_weight.items()}
        return settings


class Plan(NamedTuple):
    """How to train: as given, or as selected.

    Attributes
    ----------
    features : FeatureDefinition
        Feature map, anchored at the site.
    kernel : TaskKernel
        Task kernel of the tasks with data, which come first, and of others.
    settings : Settings
        Training settings.
    report : dict
        Of a selection, {"selection": ...}, what was selected, as JSON values.
    """

    features: Any
    kernel: TaskKernel
    settings: Settings
    report: dict[str, Any] = {}  # noqa: RUF012


class Fitted(NamedTuple):
    """A solution with what a model has besides.

    Attributes
    ----------
    solution : Solution
        The solution.
    kernel : TaskKernel
        Task kernel of the model: that of the plan, or the one that was learnt.
    calibration : ndarray of float64, shape (T, k)
        Calibration of every task.
    facts : dict
        More entries of the training summary.
    """

    solution: Solution
    kernel: TaskKernel
    calibration: NDArray[np.float64]
    facts: dict[str, Any]


def check_norm(norm: Any) -> None:
    """Raise ValueError if p is below 1.

    Raises
    ------
    ValueError
        If it is.
    """
    remedy = "below 1 the problem is not convex"
    check_number("norm", norm, min_val=1, is_finite=False, remedy=remedy)


def solve(
    rows: Rows,
    examples: Examples,
    kernel: GroupedKernel | KernelSet,
    settings: Settings,
    *,
    given: NDArray[np.float64] | None = None,
    constant: float = 0.0,
    start: WarmStart | None = None,
    on_epoch: Callable[[WarmStart, Progress], None] | None = None,
) -> Solution:
    """Solve one multi-task problem.

    Parameters
    ----------
    rows : Rows
        Examples bound to their features, n of them.
    examples : Examples
        Their labels, tasks and weights; the tasks are rows of K.
    kernel : GroupedKernel or KernelSet
        Task kernel of every view of the rows; or the kernels to be weighted.
    settings : Settings
        Training settings.
    given : ndarray of float64, shape (n,), optional
        Classification: part of the scores that is given. The solution is that of the remainder.
    constant : float, default=0.0
        Added to both objectives.
    start, on_epoch : optional
        See :func:`seqmtl.core.solve`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    MemoryLimitError
        If the weights do not fit into memory.
    """
    settings.check()
    dtype = np.dtype(settings.dtype)
    kernels = kernel if isinstance(kernel, KernelSet) else None
    fixed = kernel.combine(kernel.start()) if isinstance(kernel, KernelSet) else kernel
    n_bytes = rows.n_features * fixed.widths.sum() * dtype.itemsize
    require_memory(
        n_bytes,
        f"weights of {rows.n_features:,} features for {len(fixed.group)} tasks",
        "lower the degree or the window, or hash to fewer bits",
    )
    y, ids = examples.y, np.ascontiguousarray(examples.ids, dtype=np.int16)
    loss = find_loss(settings.loss, settings.epsilon)
    problem = Problem(rows, y, ids, fixed, settings.costs(examples), loss, settings.bias_scale)
    if given is not None:
        problem = replace(problem, targets=-y * given, constant=constant)
    if settings.kind == "regression":
        problem = replace(problem, y=np.ones(y.size), targets=y)
    limits = {name: getattr(settings, name) for name in ("tol", "max_epochs", "seed")}
    return core.solve(problem, kernels, dtype=dtype, start=start, on_epoch=on_epoch, **limits)


def class_factors(y: NDArray[np.float64], class_weight: Any) -> NDArray[np.float64]:
    """Return the class weight of every example, shape (n,).

    Raises
    ------
    ValueError
        If `class_weight` is not None, "balanced", or a mapping of the labels to numbers.
    """
    if class_weight is None:
        return np.ones(y.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        n_positive = max(int((y > 0).sum()), 1)
        n_negative = max(y.size - n_positive, 1)
        return np.where(y > 0, y.size / (2 * n_positive), y.size / (2 * n_negative))
    if isinstance(class_weight, Mapping):
        try:
            positive = float(class_weight.get(1, class_weight.get("1", 1.0)))
            negative = float(class_weight.get(-1, class_weight.get(0, class_weight.get("-1", 1.0))))
        except (TypeError, ValueError) as error:
            raise ValueError(f"class_weight must hold numbers, got {class_weight!r}") from error
        return np.where(y > 0, positive, negative)
    raise ValueError(
        f"class_weight must be None, 'balanced' or a mapping of labels to factors, "
        f"got {class_weight!r}"
    )


def check_classes(y: NDArray[Any], task_ids: NDArray[Any], names: Sequence[str]) -> None:
    """Check that every task has examples of both classes.

    Raises
    ------
    ValueError
        If one lacks a class.
    """
    every = Examples(None, y, task_ids, tuple(names)).counts()
    for name, n, n_positive in zip(names, *every, strict=True):
        if not 0 < n_positive < n:
            raise ValueError(
                f"every task needs positive and negative examples for training, but task "
                f"{name!r} has {n_positive} positive and {n - n_positive} negative; "
                "add the missing class or leave the task out"
            )


def summarise(examples: Examples, settings: Settings, solution: Solution) -> dict[str, Any]:
    """Return settings, counts, objectives and history, as JSON values."""
    counts = {}
    for name, n, n_positive in zip(examples.names, *examples.counts(), strict=True):
        counts[name] = {"n": int(n)}
        if settings.kind == "classification":
            counts[name]["n_positive"] = int(n_positive)
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
