"""Cost of learning the weights of ten task kernels, compared with one fixed task kernel.

    python benchmarks/bench_mkl.py [DATA.tsv.gz] [--per-task 10000] [--degree 8] [--repeats 3]

Without DATA, uses simulated acceptor windows of six organisms; with DATA, up to --per-task windows
per organism, drawn from the train split. The ten kernels are K_m = exp(-Dist / sigma_m), sigma_m
from 0.1 to 10, with random points as tasks; all share the features. "mkl" learns their weights,
p = 2; "fixed" trains with the sum that mkl starts from, theta_m = M^(-1/2). Hinge loss, C = 1.

Every run is a separate process on one thread. "CPU s" is the solver alone, with compiled loops
already loaded. An epoch is a pass over the active windows or a joint move on their kernel matrix,
with its share of full passes ("looks") and theta steps; "work" counts visits of windows, in full
passes. "peak" is the peak memory of the whole process, "read" that before training. Figures are
medians over the repeats, which alternate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import TYPE_CHECKING

from _common import Options, peak_mib, run_alone, simulate_windows, write_result

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

QUICK = {"per_task": 120, "degree": 3, "repeats": 1}  # more examples than are solved without epochs
SEED = 5
M = 10
CASES = ("fixed", "mkl")


def read(arguments: argparse.Namespace) -> Windows:
    """Return the windows to train on."""
    import numpy as np

    from seqmtl import read_windows

    n, rng = arguments.per_task, np.random.default_rng(SEED)
    if arguments.data:
        windows = read_windows(arguments.data, split="train")
        order = rng.permutation(len(windows))
    else:
        windows = simulate_windows(
            "(" + ",".join(f"organism{t + 1}:0.3" for t in range(6)) + ");",
            seed=SEED,
            n_windows=n * 5 // 4 + 100,  # the last chromosome is for tests, and a few hold N
            chromosome_length=max(200_000, 60 * n),
            window=140,
            decoys_per_site=3,
        )
        order = np.arange(len(windows))
    tasks = windows.task_ids[order]
    of_task = [order[tasks == t][:n] for t in range(len(windows.task_names))]
    return windows[np.concatenate(of_task)]


def train_once(arguments: argparse.Namespace) -> None:
    """Train one case, and print the measurements as JSON."""
    import numpy as np

    from seqmtl import PositionalKmers, TaskKernel, core
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.settings import Settings
    from seqmtl.training.solver import problem_of
    from seqmtl.training.task_kernels import kernel_for_solver

    windows = read(arguments)
    T = len(windows.task_names)
    points = np.random.default_rng(SEED).random((T, 3))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    kernel = TaskKernel.smooth(distances, np.geomspace(0.1, 10.0, M), windows.task_names)
    is_mkl = arguments.case == "mkl"
    K, kernels = kernel_for_solver(kernel, T, 1, 2.0)
    norm = 2.0 if is_mkl else None
    rows = PositionalKmers(f"wd:{arguments.degree}").bind(windows)
    examples, peak_read = Examples.of(windows), peak_mib()
    for max_epochs in (2, 1000):  # the first run loads the compiled loops
        settings = Settings(norm=norm, tol=arguments.tol, max_epochs=max_epochs)
        started = time.process_time()
        problem = problem_of(rows, examples, K, settings)
        solution = core.solve(problem, kernels if is_mkl else None, **settings.limits)
        seconds = time.process_time() - started
    result = {
        "n": len(windows),
        "seconds": seconds,
        "epochs": solution.n_epochs,
        "looks": len(solution.history),
        "work": solution.work,
        "gap": solution.gap,
        "support": int((solution.alpha > 0).sum()),
        "read": peak_read,
        "peak": peak_mib(),
    }
    print(json.dumps(result))


def measure(case: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Run one case in a separate process, on one thread."""
    options = [f"--degree={arguments.degree}", f"--tol={arguments.tol}"]
    options += [f"--per-task={arguments.per_task}", f"--case={case}"]
    return run_alone(__file__, *options, *([arguments.data] if arguments.data else []))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--per-task", type=int, default=10_000)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        train_once(arguments)
        return
    runs: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for _ in range(arguments.repeats):
        for case in CASES:
            runs[case].append(measure(case, arguments))
    rows = []
    for case, found in runs.items():
        r = {key: statistics.median(run[key] for run in found) for key in found[0]}
        rows.append(
            {
                "case": case,
                "windows": r["n"],
                "CPU s": r["seconds"],
                "epochs": r["epochs"],
                "looks": r["looks"],
                "work": r["work"],
                "CPU s an epoch": r["seconds"] / r["epochs"],
                "CPU s a pass": r["seconds"] / r["work"],
                "gap": r["gap"],
                "support vectors": r["support"],
                "read MiB": r["read"],
                "peak MiB": r["peak"],
            }
        )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
