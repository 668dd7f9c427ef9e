"""Training time on a numeric dataset with many tasks, with and without second-order steps.

    python benchmarks/bench_numeric.py FILE.npz [-C 1 ...] [--loss hinge ...] [--tol 1e-4 ...]

FILE.npz holds X of shape (n, d), y of shape (n,), and task of shape (n,). If y has two values,
the task graph is A = 11' + I, K = (I + L)^-1 with L = D - A, as in Widmer et al. (2012) for
Landmine (29 tasks, n = 14,820), where their solver took 197 s and SVMlight 97 s on one core of
2012. Otherwise y is the target of a regression with epsilon 0.1, and K the default, (11' + 3I) / 4.
Without FILE, simulates data of the shape of the School benchmark: 15,362 pupils of 139 schools, 28
columns of zeros and ones, targets between 1 and 70.

CPU seconds of one thread in float64, weights with intercept. "descent" is coordinate descent alone,
stopped after --limit seconds; "steps" is what the estimators use.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray

from seqmtl import TaskKernel, core
from seqmtl.core import dcd
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES, find_loss
from seqmtl.core.problem import Problem
from seqmtl.features.numeric import NumericRows

QUICK = {"tol": [1e-3]}
Arrays = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int16]]


class LimitReachedError(Exception):
    """The time limit of a run was reached."""


def load(path: str) -> Arrays:
    """Return examples, labels or targets, and tasks."""
    with np.load(path) as data:
        y, task = data["y"].astype(np.float64), np.unique(data["task"], return_inverse=True)[1]
        return data["X"].astype(np.float64), y, task.astype(np.int16)


def simulate(n: int) -> Arrays:
    """Return examples of the shape of School: every column is one of the values of a property."""
    rng = np.random.default_rng(0)
    task = np.sort(rng.integers(0, 139, n)).astype(np.int16)
    every, X = np.arange(n), np.zeros((n, 28))
    for first, n_values in ((0, 3), (3, 3), (6, 2), (8, 11)):
        X[every, first + rng.integers(0, n_values, n)] = 1.0
    X[every, 19 + rng.integers(0, 9, 139)[task]] = 1.0  # of the school
    mean = X @ rng.normal(0.0, 4.0, 28) + rng.normal(20.0, 3.0, 139)[task]
    return X, np.clip(np.round(mean + rng.normal(0.0, 9.0, n)), 1.0, 70.0), task


def make_problem(arrays: Arrays, loss: str, C: float) -> Problem:
    """Return the problem with its task kernel."""
    X, y, task = arrays
    T, rows, costs = int(task.max()) + 1, NumericRows(X), np.full(y.size, C)
    if loss in REGRESSION_LOSSES:
        K = (np.ones((T, T)) + 3.0 * np.eye(T)) / 4.0
        with_error = find_loss(loss, epsilon=0.1)
        return Problem(rows, np.ones(y.size), task, K, costs, with_error, targets=y)
    graph = TaskKernel.graph(np.ones((T, T)) + np.eye(T), [str(t) for t in range(T)])
    return Problem(rows, np.where(y > y.min(), 1.0, -1.0), task, graph.matrix, costs, loss)


def measure(
    solve: Callable[..., Solution], problem: Problem, tol: float, limit: float
) -> tuple[float, float, bool]:
    """Return CPU seconds, the gap reached, and whether it is the one asked for."""
    options: dict[str, Any] = {"tol": tol, "max_epochs": 10**9, "dtype": np.float64}
    started, reached = time.process_time(), np.inf

    def watch(start: WarmStart, progress: Progress) -> None:
        nonlocal reached
        reached = progress.gap
        if time.process_time() - started > limit:
            raise LimitReachedError

    with suppress(LimitReachedError):
        reached = solve(problem, on_epoch=watch, **options).gap
    return time.process_time() - started, reached, reached <= tol


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, lambda folder: {"file": _toy.numbers(folder)})
    parser.add_argument("file", nargs="?")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4, 1e-6, 1e-8])
    parser.add_argument("-C", type=float, nargs="+", default=[1.0])
    parser.add_argument("--loss", nargs="+", help="default: all")
    parser.add_argument("--n", type=int, default=15_362, help="simulated examples")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a run")
    arguments: argparse.Namespace = parser.parse_args()
    arrays = load(arguments.file) if arguments.file else simulate(arguments.n)
    X, y, task = arrays
    is_regression = np.unique(y).size > 2
    losses = arguments.loss or list(REGRESSION_LOSSES if is_regression else LOSSES)
    print(f"n = {y.size:,}, d = {X.shape[1]:,}, {task.max() + 1} tasks")
    small = tuple(part[:: max(1, y.size // 100)] for part in arrays)
    for loss in losses:  # compiles or loads the loops
        for solve in (dcd.solve, core.solve):
            solve(make_problem(small, loss, 1.0), tol=1e-6, dtype=np.float64)
    rows = []
    for loss in losses:
        for C in arguments.C:
            problem = make_problem(arrays, loss, C)
            for tol in arguments.tol:
                before, gap, is_done = measure(dcd.solve, problem, tol, arguments.limit)
                after, new_gap, _ = measure(core.solve, problem, tol, arguments.limit)
                rows.append(
                    {
                        "loss": loss,
                        "C": C,
                        "tol": tol,
                        "descent, CPU s": before,
                        "descent, gap": gap,
                        "steps, CPU s": after,
                        "steps, gap": new_gap,
                        "ratio": f"{'' if is_done else '>'}{before / after:.1f}",
                    }
                )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
