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
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np
from _common import make_parser, simulate_windows
from numpy.typing import NDArray

from seqmtl import TaskKernel, WeightedDegree, Windows, read_windows
from seqmtl._jit import njit, prefetch
from seqmtl.blocks import rows_per_block
from seqmtl.coupling import Coupling
from seqmtl.models.examples import Examples
from seqmtl.models.training import Settings, solve
from seqmtl.solvers.dcd import Descent, Solution
from seqmtl.solvers.problem import Problem

SEED = 3
LONGEST = 200  # length of the simulated windows in bases
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


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
        rng = np.random.default_rng(SEED)
        chosen = rng.permutation(len(windows))[:n]
        self.windows = windows[chosen].center(length)
        self.y = self.windows.labels.astype(np.float64)
        self.tasks = rng.integers(0, T, self.y.size).astype(np.int16)
        kernel = TaskKernel.graph(np.ones((T, T)), [str(t) for t in range(T)])
        self.K = Coupling.of(kernel.matrix)
        self.features = WeightedDegree(degree=degree)

    def solve(self, tol: float, dtype: str = "float32") -> tuple[float, Solution]:
        """Return CPU seconds, with features bound afresh, and the solution."""
        started = time.process_time()
        rows = self.features.bind(self.windows)
        examples = Examples(self.windows, self.y, self.tasks, self.windows.task_names)
        solution = solve(rows, examples, self.K, Settings(tol=tol, dtype=dtype))
        return time.process_time() - started, solution


def print_gaps(windows: Windows, arguments: argparse.Namespace) -> None:
    """Print seconds and work to each gap."""
    n = len(windows)
    print(f"\nTo a gap, {n:,} windows of {arguments.window}, degree {arguments.degree}, float32")
    print(f"{'gap':>8}" + f"{'  T':>6}{'CPU s':>8}{'work':>7}{'reached':>10}" * 2)
    for tol in GAPS:
        line = f"{tol:8.0e}"
        for T in (1, 4):
            task = Task(windows, n, T, arguments.window, arguments.degree)
            seconds, solution = task.solve(tol)
            line += f"{T:6}{seconds:8.2f}{solution.work:7.2f}{solution.gap:10.1e}"
        print(line, flush=True)
    n = min(n, 10_000)
    for T in (1, 4):
        task = Task(windows, n, T, arguments.window, arguments.degree)
        seconds, solution = task.solve(1e-8, "float64")
        print(
            f"float64, {n:,} windows, T = {T}, to 1e-8: {seconds:.2f} CPU s, "
            f"work {solution.work:.1f}, gap {solution.gap:.1e}"
        )


def epoch_seconds(task: Task) -> tuple[float, Problem]:
    """Return the seconds of one epoch over all windows, and the problem."""
    rows = task.features.bind(task.windows)
    problem = Problem(rows, task.y, task.tasks, task.K, np.ones(task.y.size))
    solver = Descent(problem, is_first_order=True)
    times = []
    for _ in range(4):
        solver._active = np.arange(task.y.size)
        solver._keep[:] = True
        started = time.process_time()
        solver._epoch()
        times.append(time.process_time() - started)
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


def print_epochs(windows: Windows, arguments: argparse.Namespace) -> None:
    """Print seconds of one epoch and of the bare loops."""
    n, found = len(windows), {}
    print(f"\nOne epoch over all {n:,} windows, microseconds per window")
    print(f"{'T':>3}{'epoch':>9}{'plain gather':>14}{'ratio':>7}{'same gather':>13}{'ratio':>7}")
    for T in (1, 4):
        task = Task(windows, n, T, arguments.window, arguments.degree)
        epoch, problem = epoch_seconds(task)
        rows: Any = problem.rows
        plain = gather_seconds(task, rows, np.zeros((rows.n_features, T), dtype=np.float32))
        tree = rows.tree()
        if tree is None:  # windows with N
            same = plain
        else:
            n_columns = 1 if T == 1 else -(-T // 4) * 4  # as the solver pads them
            same = gather_seconds(task, tree, np.zeros((tree.n_features, n_columns), np.float32))
        found[T] = epoch
        print(
            f"{T:3}{1e6 * epoch / n:9.2f}{1e6 * plain / n:14.2f}{epoch / plain:7.2f}"
            f"{1e6 * same / n:13.2f}{epoch / same:7.2f}",
            flush=True,
        )
    print(f"four tasks cost {found[4] / found[1]:.2f} times one task")


def print_growth(windows: Windows, arguments: argparse.Namespace) -> None:
    """Print seconds to a gap of 1e-3 while one size grows at a time."""
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
    print("\nTo a gap of 1e-3; otherwise " + ", ".join(f"{k} {v:,}" for k, v in usual.items()))
    print(f"{'':<8}{'':>8}{'CPU s':>8}{'ratio':>7}{'work':>7}{'s/work':>8}{'ratio':>7}")
    for name, sizes in sweeps.items():
        before: tuple[float, float] | None = None
        for size in sizes:
            task = Task(windows, **(usual | {name: size}))
            seconds, solution = task.solve(1e-3)
            each = seconds / solution.work
            growth = each_growth = ""
            if before is not None:
                growth, each_growth = f"{seconds / before[0]:.2f}", f"{each / before[1]:.2f}"
            print(
                f"{name:<8}{size:8,}{seconds:8.2f}{growth:>7}{solution.work:7.2f}{each:8.2f}"
                f"{each_growth:>7}",
                flush=True,
            )
            before = (seconds, each)


def main() -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="?", help="table of labelled windows")
    parser.add_argument("--n", type=int, default=40_000, help="simulated windows")
    parser.add_argument("--window", type=int, default=141)
    parser.add_argument("--degree", type=int, default=8)
    arguments = parser.parse_args()
    windows = table_windows(arguments.data) if arguments.data else simulated_windows(arguments.n)
    small = Task(windows, 2_000, 4, arguments.window, arguments.degree)
    for dtype in ("float32", "float64"):
        small.solve(1e-3, dtype)
    print_epochs(windows, arguments)
    print_gaps(windows, arguments)
    print_growth(windows, arguments)


if __name__ == "__main__":
    main()
