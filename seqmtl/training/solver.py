"""The training problem that examples and settings give, and what is noted of its solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from seqmtl._memory import require_memory
from seqmtl.core.dcd import Solution
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import find_loss
from seqmtl.core.problem import Problem
from seqmtl.core.rows import Rows
from seqmtl.features._base import REMEDY
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings

#: The number of threads of matrix products changes their rounding, and so the result.
ONE_THREAD = threadpool_limits.wrap(limits=1, user_api="blas")


def problem_of(
    rows: Rows,
    examples: Examples,
    kernel: GroupedKernel,
    settings: Settings,
    *,
    given: NDArray[np.float64] | None = None,
    constant: float = 0.0,
) -> Problem:
    """Return a multi-task problem.

    Parameters
    ----------
    rows : Rows
        Examples bound to their features, n of them.
    examples : Examples
        Their labels, tasks and weights; the tasks are rows of K.
    kernel : GroupedKernel
        Task kernel of every view of the rows.
    settings : Settings
        Training settings.
    given : ndarray of float64, shape (n,), optional
        Classification: part of the scores that is given. The solution is that of the remainder.
    constant : float, default=0.0
        Added to both objectives.

    Raises
    ------
    MemoryLimitError
        If the weights do not fit into memory.
    """
    require_memory(
        rows.n_features * kernel.widths.sum() * np.dtype(settings.dtype).itemsize
        + rows.scoring_bytes,
        f"training the weights of {rows.n_features:,} features for {len(kernel.group)} tasks",
        REMEDY,
    )
    y, ids = examples.y, np.ascontiguousarray(examples.ids, dtype=np.int16)
    loss = find_loss(settings.loss, settings.epsilon)
    problem = Problem(rows, y, ids, kernel, settings.costs(examples), loss, settings.bias_scale)
    if given is not None:
        problem = replace(problem, targets=-y * given, constant=constant)
    if settings.kind == "regression":
        problem = replace(problem, y=np.ones(y.size), targets=y)
    return problem


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
