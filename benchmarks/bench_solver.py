"""Time and work of the solver: to each gap, per epoch against a bare gather, and scaling.

    python benchmarks/bench_solver.py [DATA.tsv.gz] [--window 141] [--degree 8]

Without DATA, uses simulated acceptor windows; with DATA, all rows of the table whose split is not
"na". Tasks are random groups of windows with a complete graph between them, K = (I + L)^-1. This is
the hardest case, because nothing distinguishes the tasks. Hinge loss, C = 1. All times are CPU
seconds of one thread; all loops are compiled before timing.

1. Time and work (visits of windows and scoring passes, in full passes) to relative gaps of 1e-1 to
   1e-6 with float32 weights, each from scratch with that tolerance; and to 1e-8 with float64.
2. One epoch over all windows, best of three after the first, for one and for four tasks, compared
   with bare loops over the same windows in random order that only add up weights at precomputed
   indices, with or without prefetch, whichever is faster: one weight per position and degree
   ("plain"), or what the epoch itself reads ("same").
3. Seconds to a gap of 1e-3 against the number of windows, tasks, bases and degrees.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np
from _common import Options, simulate_windows, write_result
from numpy.typing import NDArray

from seqmtl import PositionalKmers, TaskKernel, Windows, core, read_windows
from seqmtl._jit import njit, prefetch
from seqmtl.core.dcd import Descent, Solution
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.problem import Problem
from seqmtl.core.rows import rows_per_block
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings
from seqmtl.training.solver import problem_of

SEED = 3
LONGEST = 200  # length of the simulated windows in bases
QUICK = {"n": 1000, "window": 30, "degree": 3}
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
FIGURES = ("tol", "gap", "work", "CPU s", "plain gather, CPU s", "same gather, CPU s")


@njit
def gather_rows(indices, row_size, n_rows, columns, T, flat):  # type: ignore[no-untyped-def]
    """Sum the weights at given indices, row by row."""
    total = 0.0
    for r in range(n_rows):
        t = columns[r]
        base = r * row_size
        a = b = c = d = flat.dtype.type(0)
        p = base
        while p + 3 < base + row_size:
            a += flat[np.int64(indices[p]) * T + t]
            b += flat[np.int64(indices[p + 1]) * T + t]
            c += flat[np.int64(indices[p + 2]) * T + t]
            d += flat[np.int64(indices[p + 3]) * T + t]
            p += 4
        while p < base + row_size:
            a += flat[np.int64(indices[p]) * T + t]
            p += 1
        total += a + b + c + d
    return total


@njit
def gather_ahead(indices, row_size, n_rows, columns, T, flat):  # type: ignore[no-untyped-def]
    """Sum the weights at given indices, row by row, prefetching those of the next row."""
    total = 0.0
    end = n_rows * row_size - 1
    for r in range(n_rows):
        t = columns[r]
        base = r * row_size
        a = flat.dtype.type(0)
        for p in range(base, base + row_size):
            a += flat[np.int64(indices[p]) * T + t]
            prefetch(flat, np.int64(indices[min(p + row_size, end)]) * T)
        total += a
    return total


def simulated_windows(n: int) -> Windows:
    """Return n acceptor windows of four made-up organisms, with nine decoys per true site."""
    windows = simulate_windows(
        "(a:0.1,b:0.2,c:0.3,d:0.4);",
        seed=SEED,
        chromosome_length=500_000,
        n_windows=n // 4 + 100,  # a few hold N
        window=LONGEST,
        decoys_per_site=9,
    )
    return windows[np.random.default_rng(SEED).permutation(len(windows))[:n]]


def table_windows(path: str) -> Windows:
    """Return the usable rows of a table, at full length."""
    windows = read_windows(path)
    split = windows.split
    return windows if split is None else windows[np.flatnonzero(split != "na")]


class Task:
    """Some windows as a problem of T random tasks."""

    def __init__(self, windows: Windows, n: int, T: int, length: int, degree: int) -> None:
        self.T, self.degree, rng = T, degree, np.random.default_rng(SEED)
        chosen = rng.permutation(len(windows))[:n]
        self.windows = windows[chosen].center(length)
        self.y = self.windows.labels.astype(np.float64)
        self.tasks = rng.integers(0, T, self.y.size).astype(np.int16)
        kernel = TaskKernel.graph(np.ones((T, T)), [str(t) for t in range(T)])
        self.K = GroupedKernel.of(kernel.matrix)
        self.features = PositionalKmers(f"wd:{degree}")

    def solve(self, tol: float, dtype: str = "float32") -> tuple[float, Solution]:
        """Return CPU seconds, with features bound afresh, and the solution."""
        started = time.process_time()
        rows = self.features.bind(self.windows)
        examples = Examples(self.windows, self.y, self.tasks, self.windows.task_names)
        settings = Settings(tol=tol, dtype=dtype)
        solution = core.solve(problem_of(rows, examples, self.K, settings), **settings.limits)
        return time.process_time() - started, solution


def row(part: str, task: Task, **figures: float) -> dict[str, Any]:
    """Return a row of the result; what does not belong to the part is empty."""
    sizes = {"windows": len(task.windows), "tasks": task.T, "length": task.windows.length}
    degree = {"degree": task.degree}
    return {"part": part, **sizes, **degree, **dict.fromkeys(FIGURES, ""), **figures}


def solved(part: str, task: Task, tol: float, dtype: str = "float32") -> dict[str, Any]:
    """Return the row of seconds and work to a gap."""
    seconds, solution = task.solve(tol, dtype)
    figures = {"tol": tol, "gap": solution.gap, "work": solution.work}
    return row(part, task, **figures, **{"CPU s": seconds})


def gaps(windows: Windows, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield seconds and work to each gap."""
    size, n = (arguments.window, arguments.degree), len(windows)
    for tol, T in product(GAPS, (1, 4)):
        yield solved("to a gap", Task(windows, n, T, *size), tol)
    for T in (1, 4):
        task = Task(windows, min(n, 10_000), T, *size)
        yield solved("to a gap, float64", task, 1e-8, "float64")


def epoch_seconds(task: Task) -> tuple[float, Problem]:
    """Return the seconds of as many steps as there are windows, and the problem."""
    rows = task.features.bind(task.windows)
    problem = Problem(rows, task.y, task.tasks, task.K, np.ones(task.y.size))
    descent = Descent(problem)
    descent.record(*descent.objectives())
    times = []
    for _ in range(4):
        descent._active = np.arange(task.y.size)
        descent._stays[:] = True
        work, started = descent.work, time.process_time()
        descent.run_epochs(np.inf)
        times.append((time.process_time() - started) / (descent.work - work))
    return min(times[1:]), problem


def gather_seconds(task: Task, rows: Any, weights: NDArray[Any]) -> float:
    """Return the seconds to sum the weights that windows read, in random order."""
    weights += 1e-3  # written to, so that every page is really allocated
    stride, flat = weights.shape[1], weights.reshape(-1)
    order = np.random.default_rng(SEED).permutation(task.y.size)
    step, totals = rows_per_block(rows.row_size), []
    for gather in (gather_rows, gather_ahead) * 3:
        total = 0.0
        for first in range(0, order.size, step):
            part = order[first : first + step]
            block = rows.block(part, np.float32)
            indices = (block.slots if block.slots.size else block.indices).reshape(-1)
            columns = task.tasks[part].astype(np.int64)
            started = time.process_time()
            gather(indices, rows.row_size, part.size, columns, stride, flat)
            total += time.process_time() - started
        totals.append(total)
    return min(totals[2:])


def epochs(windows: Windows, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield seconds of one epoch and of the bare loops."""
    for T in (1, 4):
        task = Task(windows, len(windows), T, arguments.window, arguments.degree)
        epoch, problem = epoch_seconds(task)
        rows: Any = problem.rows
        plain = gather_seconds(task, rows, np.zeros((rows.n_features, T), dtype=np.float32))
        tree = rows.pair_sums()
        same = plain
        if tree is not None:  # windows without N
            n_columns = 1 if T == 1 else -(-T // 4) * 4  # as the solver pads them
            same = gather_seconds(task, tree, np.zeros((tree.n_features, n_columns), np.float32))
        seconds = {"CPU s": epoch, "plain gather, CPU s": plain, "same gather, CPU s": same}
        yield row("one epoch", task, **seconds)


def growth(windows: Windows, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield seconds to a gap of 1e-3 while one size grows at a time."""
    usual = {
        "n": min(len(windows), 20_000),
        "T": 4,
        "length": arguments.window,
        "degree": arguments.degree,
    }
    sweeps = {
        "n": [n for n in (5_000, 10_000, 20_000, 40_000, 80_000) if n <= len(windows)],
        "T": [1, 2, 4, 8],
        "length": [length for length in (50, 100, 200) if length <= windows.length],
        "degree": [4, 6, 8],
    }
    for name, sizes in sweeps.items():
        for size in sizes:
            yield solved(f"growth with {name}", Task(windows, **(usual | {name: size})), 1e-3)


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("data", nargs="?", help="table of labelled windows")
    parser.add_argument("--n", type=int, default=40_000, help="simulated windows")
    parser.add_argument("--window", type=int, default=141)
    parser.add_argument("--degree", type=int, default=8)
    arguments = parser.parse_args()
    windows = table_windows(arguments.data) if arguments.data else simulated_windows(arguments.n)
    small = Task(windows, 2_000, 4, arguments.window, arguments.degree)
    for dtype in ("float32", "float64"):
        small.solve(1e-3, dtype)
    parts = (epochs, gaps, growth)
    write_result(arguments, [row for part in parts for row in part(windows, arguments)])


if __name__ == "__main__":
    main()
