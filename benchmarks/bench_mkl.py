"""Cost of learning the weights of ten task kernels, compared with one fixed task kernel.

    python benchmarks/bench_mkl.py [DATA.tsv.gz] [--per-task 10000] [--degree 8] [--repeats 3]

Without DATA, uses simulated acceptor windows of six organisms; with DATA, up to --per-task windows
per organism, drawn from the train split. The ten kernels are K_m = exp(-Dist / sigma_m), sigma_m
from 0.1 to 10, with random points as tasks; all share the features. "mkl" learns their weights,
p = 2; "fixed" trains with the sum that mkl starts from, theta_m = M^(-1/2). Hinge loss, C = 1.

Every run is a separate process on one thread. "CPU s" is the solver alone, with compiled loops
already loaded. An epoch is a pass over the active windows or a joint move on their kernel matrix,
with its share of full passes ("looks") and theta steps; "work" counts visits of windows, in full
passes. "peak" is the peak memory of the whole process, "read" that before training. Ratios are of
medians over the repeats, which alternate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import TYPE_CHECKING

from _common import make_parser, peak_mib, run_alone, simulate_windows

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

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

    from seqmtl import TaskKernel, WeightedDegree
    from seqmtl.models.examples import Examples
    from seqmtl.models.kernels import couple
    from seqmtl.models.training import Settings, solve

    windows = read(arguments)
    T = len(windows.task_names)
    points = np.random.default_rng(SEED).random((T, 3))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    kernel = TaskKernel.smooth(distances, np.geomspace(0.1, 10.0, M), windows.task_names)
    is_mkl = arguments.case == "mkl"
    K = couple(kernel, T, 1, 2.0)
    norm = 2.0 if is_mkl else None
    rows = WeightedDegree(degree=arguments.degree).bind(windows)
    examples, peak_read = Examples.of(windows), peak_mib()
    for max_epochs in (2, 1000):  # the first run loads the compiled loops
        settings = Settings(norm=norm, tol=arguments.tol, max_epochs=max_epochs)
        started = time.process_time()
        solution = solve(rows, examples, K if is_mkl else K.couple(K.start()), settings)
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
    options += [arguments.data] if arguments.data else []
    result = run_alone(__file__, *options)
    result["per epoch"] = result["seconds"] / result["epochs"]
    result["per work"] = result["seconds"] / result["work"]
    return result


def main() -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
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
    print(
        f"{'case':<7}{'n':>8}{'CPU s':>8}{'epochs':>8}{'looks':>7}{'work':>7}{'gap':>9}"
        f"{'support':>9}{'s/epoch':>9}{'s/work':>8}{'read MiB':>10}{'peak MiB':>10}"
    )
    runs: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for _ in range(arguments.repeats):
        for case in CASES:
            r = measure(case, arguments)
            runs[case].append(r)
            print(
                f"{case:<7}{r['n']:8,}{r['seconds']:8.2f}{r['epochs']:8}{r['looks']:7}"
                f"{r['work']:7.2f}{r['gap']:9.1e}{r['support']:9,}{r['per epoch']:9.3f}"
                f"{r['per work']:8.3f}{r['read']:10,.0f}{r['peak']:10,.0f}",
                flush=True,
            )
    for name, key in (
        ("peak memory", "peak"),
        ("CPU s per epoch", "per epoch"),
        ("CPU s per work", "per work"),
        ("CPU s in all", "seconds"),
    ):
        mkl, fixed = (statistics.median(r[key] for r in runs[case]) for case in ("mkl", "fixed"))
        print(f"{name + ', mkl / fixed':<30}{mkl / fixed:6.2f}")


if __name__ == "__main__":
    main()
