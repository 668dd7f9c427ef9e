"""Solve the training problem given by examples and settings, for estimators and commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl._blas import threadpool_limits
from seqmtl._memory import require_memory
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import find_loss
from seqmtl.core.mkl import KernelSet
from seqmtl.core.problem import Problem
from seqmtl.core.rows import Rows
from seqmtl.features._base import REMEDY
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings

#: The number of threads of matrix products changes their rounding, and so the result.
ONE_THREAD = threadpool_limits.wrap(limits=1, user_api="blas")


def solve_examples(
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
    require_memory(
        rows.n_features * fixed.widths.sum() * dtype.itemsize + rows.scoring_bytes,
        f"training the weights of {rows.n_features:,} features for {len(fixed.group)} tasks",
        REMEDY,
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


def check_classes(examples: Examples) -> None:
    """Check that every task has examples of both classes.

    Raises
    ------
    ValueError
        If one lacks a class.
    """
    for name, n, n_positive in zip(examples.names, *examples.counts(), strict=True):
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
        "converged": solution.converged,
        "stopped_by": solution.stopped_by,
        "n_epochs": solution.n_epochs,
        "work": solution.work,
        "n_support": int((solution.alpha != 0).sum()),
        "history": [
            {"epoch": h.epoch, "work": h.work, "gap": h.gap, "n_active": h.n_active}
            for h in solution.history
        ],
    }
