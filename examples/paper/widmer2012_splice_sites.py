"""Training time by the number of splice sites: Widmer, Kloft, Goernitz, Raetsch (2012), Figure 3.

    python examples/paper/widmer2012_splice_sites.py acceptors.tsv.gz --out results [--quick]

Trains on nested random samples of real windows, and on simulated ones where those end: as in the
paper, 200 bases, four organisms, about ten decoys to a site (see `benchmarks/bench_large.py`).
Tasks are coupled by A = 11' + I, K = (I + L)^-1; hinge loss, C = 1, no intercept, one thread.

- DCD, wd:8 hashed: dual coordinate descent on weighted degrees of degree 8, hashed to 2^22 weights
  for each organism, as the paper has it (which hashed to 2^12 for each position and degree).
- DCD, default: the same on the default features.
- MTK: libsvm on the multi-task kernel, K[s, t] times the weighted-degree kernel of degree 8, which
  is not hashed (the paper used SVMLight). Two further examples hold its intercept at 0; see
  `widmer2012_solver_times.py`.

All stop at the same point: a relative duality gap of --tol, (primal - dual) / primal, certified on
all examples. libsvm cannot look at it, so it is run at falling tolerances of its own until its
solution has this gap; only the kernel matrix and this last run count. The MTK ends where the matrix
and libsvm's cache of it (12 n^2 bytes) exceed --memory, or the process takes --limit seconds.

Times are CPU seconds of one thread, from the windows in memory to the solution; each process has
loaded its compiled loops before. Resumes: what OUT/results.json has is not measured again. Also
writes OUT/figure.png and .svg, and prints the table. The default takes up to 13 GiB.

The published seconds are those of `results/learning_curve_splicing.pickle` in the authors' code
(github.com/cwidmer/mtl_dcd_ecml), for DCD to eps 1e-3 on their splice sites of fly, mouse, human
and cow. The times of their MTK are not in that file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _shared import Options
from widmer2012_solver_times import fit_libsvm

from seqmtl import PositionalKmers, TaskKernel, Windows, read_windows
from seqmtl._style import GREY, PALETTE, figure_style, new_figure, save_figure
from seqmtl.files.write import write_json
from seqmtl.kernels import WeightedDegreeKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from seqmtl.training.settings import Settings

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _toy
from _common import peak_mib, run_alone
from bench_large import PAPER_SECONDS, simulate_windows

FEATURES = {"hashed": "wd:8,hash:22", "default": None}
METHODS = {"hashed": "DCD, wd:8 hashed", "default": "DCD, default features", "mtk": "MTK, wd:8"}
REAL = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 63_920, 125_000, 250_000]
QUICK = {"real": [60], "simulated": [80], "tol": 0.01}
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # of libsvm
WINDOW = 200  # bases of simulated windows, as in the paper
GIB = 2.0**30


def sample(windows: Windows, n: int) -> Windows:
    """Return about n random windows, in the shares of tasks and classes, but two of each."""
    order = np.random.default_rng(0).permutation(len(windows))
    groups = 2 * windows.task_ids[order] + (windows.labels[order] > 0)
    rows = []
    for group in np.unique(groups):
        own = order[groups == group]
        rows.append(own[: max(round(n * own.size / order.size), 2)])
    return windows[np.sort(np.concatenate(rows))]


def windows_of(source: str, n: int) -> Windows:
    """Return n simulated windows, or a sample of the training rows of a table."""
    if source == "simulated":
        return simulate_windows(n, 4, WINDOW)
    return sample(read_windows(source, split="train"), n)


def task_kernel(windows: Windows) -> TaskKernel:
    """Return the task kernel of a complete graph."""
    T = len(windows.task_names)
    return TaskKernel.graph(np.ones((T, T)), windows.task_names)


def descend(windows: Windows, views: str | None, tol: float) -> dict[str, float]:
    """Train by dual coordinate descent."""
    started = time.process_time()
    _, found = fit(
        Examples.of(windows),
        features=PositionalKmers(views),
        task_kernel=task_kernel(windows),
        settings=Settings(C=1.0, tol=tol, fit_intercept=False),
    )
    seconds = time.process_time() - started
    return {"seconds": seconds, "gap": found.gap, "primal": found.primal}


def multitask_matrix(windows: Windows) -> np.ndarray:
    """Return K[s, t] k(x, z) of all windows, which hold no N, with two anchors last."""
    n, K = len(windows), task_kernel(windows).matrix
    rows, tasks = np.append(np.arange(n), [0, 0]), windows.task_ids
    G = WeightedDegreeKernel(8, normalize=False)(windows[rows])
    norm = G[0, 0]
    for row, task in zip(G, tasks, strict=False):
        row[:n] *= K[task, tasks] / norm
    G[n:], G[:, n:] = 0.0, 0.0
    G[n:, n:] = np.array([[1.0, -1.0], [-1.0, 1.0]]) / n
    return G


def fit_kernel(windows: Windows, tol: float) -> dict[str, float]:
    """Train libsvm on the multi-task kernel at falling tolerances until the gap is reached."""
    y, started = windows.labels.astype(np.float64), time.process_time()
    G = multitask_matrix(windows)
    kernel = time.process_time() - started
    for own in TOLERANCES:
        started = time.process_time()
        alpha, _ = fit_libsvm(G, y, own)
        seconds = kernel + time.process_time() - started
        margins = y * (G[:-2] @ np.append(alpha * y, [0.0, 0.0]))
        primal = 0.5 * alpha @ margins + np.maximum(0.0, 1.0 - margins).sum()
        gap = (primal - alpha.sum() + 0.5 * alpha @ margins) / primal
        if gap <= tol:
            break
    found = {"seconds": seconds, "kernel": kernel, "libsvm_tol": own}
    return found | {"gap": float(gap), "primal": float(primal)}


def train_once(source: str, method: str, n: int, tol: float) -> dict[str, Any]:
    """Train one method at one size, once its compiled loops are loaded; return what it took."""
    windows = windows_of(source, n)
    for part in (sample(windows, 300), windows):
        if method == "mtk":
            found = fit_kernel(part, tol)
        else:
            found = descend(part, FEATURES[method], tol)
    return {"n": len(windows), "tasks": len(windows.task_names), "mib": peak_mib(), **found}


def measure(source: str, method: str, n: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train in a process of its own, within the limits; return what it took, or why it ended."""
    needed = 12.0 * (n + 2.0) ** 2 / GIB
    if method == "mtk" and needed > arguments.memory:
        return {"ended": f"memory: {needed:.0f} GiB"}
    try:
        return run_alone(
            __file__, "--once", source, method, n, arguments.tol, limit=arguments.limit
        )
    except subprocess.TimeoutExpired:
        return {"ended": f"time: {arguments.limit:.0f} s"}


def run(arguments: argparse.Namespace) -> dict[str, dict[str, dict[int, dict[str, Any]]]]:
    """Measure what the results lack; return them by source, method and size."""
    path = arguments.out / "results.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sizes = {"real": arguments.real, "simulated": arguments.simulated}
    found: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for source, numbers in sizes.items():
        methods = [method for method in METHODS if (source, method) != ("simulated", "mtk")]
        curves = found[source] = {method: {} for method in methods}
        for n, method in itertools.product(numbers, methods):
            done = known.setdefault(f"{source} {method}", {})
            if any("ended" in own for own in curves[method].values()):
                continue
            if str(n) not in done:
                print(f"{METHODS[method]}: {n:,} {source} windows", flush=True)
                here = arguments.data if source == "real" else source
                done[str(n)] = measure(here, method, n, arguments)
                write_json(path, known)
            curves[method][n] = done[str(n)]
    return found


def report(found: dict[str, dict[str, dict[int, dict[str, Any]]]]) -> str:
    """Return the table of CPU seconds and memory."""
    names = " | ".join(f"{name}: CPU s | MiB" for name in METHODS.values())
    lines = [f"| windows | | {names} | published DCD, s |", "|---" * 9 + "|"]
    for source, methods in found.items():
        for n in methods["hashed"]:
            cells = []
            for method in METHODS:
                own = methods.get(method, {}).get(n, {})
                if "seconds" in own:
                    cells += [f"{own['seconds']:.3g}", f"{own['mib']:,.0f}"]
                else:
                    cells += [own.get("ended", ""), ""]
            paper = PAPER_SECONDS.get(n) if source == "simulated" else None
            cells.append(f"{paper:,}" if paper else "")
            lines.append(f"| {n:,} | {source} | {' | '.join(cells)} |")
    hashed, exact = (found["real"].get(method, {}) for method in ("hashed", "mtk"))
    both = [n for n, own in exact.items() if "primal" in own and "primal" in hashed.get(n, {})]
    if both:
        change = hashed[both[-1]]["primal"] / exact[both[-1]]["primal"] - 1.0
        lines += ["", f"Objective of DCD, hashed, over that of MTK at {both[-1]:,}: {change:+.1e}"]
    return "\n".join(lines)


def draw(found: dict[str, dict[str, dict[int, dict[str, Any]]]], folder: Path) -> None:
    """Draw CPU seconds by the number of windows: real solid, simulated dashed."""
    with figure_style():
        figure = new_figure(7.2, 5.0)
        axes = figure.subplots()
        for (method, name), colour in zip(METHODS.items(), PALETTE, strict=False):
            for source, line in (("real", "o-"), ("simulated", "s--")):
                own = found.get(source, {}).get(method, {})
                points = [(n, r["seconds"]) for n, r in own.items() if "seconds" in r]
                if not points:
                    continue
                label = f"{name}, {source} windows"
                axes.loglog(*zip(*points, strict=True), line, color=colour, label=label, ms=4)
                for why in (r["ended"] for r in own.values() if "ended" in r):
                    axes.annotate(f"ends ({why})", points[-1], (4, 6), textcoords="offset points")
        axes.loglog(
            *zip(*PAPER_SECONDS.items(), strict=True),
            "D:",
            color=GREY,
            ms=4,
            label="DCD as published (one core of 2012)",
        )
        axes.set(xlabel="Training windows", ylabel="CPU seconds")
        axes.legend(loc="upper left", fontsize=8)
        for suffix in ("png", "svg"):
            save_figure(figure, folder / f"figure.{suffix}")


def main() -> None:
    """Run the experiment."""
    if sys.argv[1:2] == ["--once"]:
        source, method, n, tol = sys.argv[2:]
        print(json.dumps(train_once(source, method, int(n), float(tol))))
        return
    parser = Options(__doc__, QUICK, _toy.windows, fixed=("data", "tol"))
    parser.add_argument("data", help="table of windows with a split column")
    sizes = {"type": int, "nargs": "*"}
    parser.add_argument("--real", **sizes, default=REAL, help="numbers of real windows")
    parser.add_argument("--simulated", **sizes, default=[*PAPER_SECONDS], help="and of simulated")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative duality gap (1e-3)")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds of a process (1800)")
    parser.add_argument("--memory", type=float, default=13.0, help="GiB of the MTK (13)")
    arguments = parser.start(lambda given: [Path(given.data)])
    found = run(arguments)
    print(report(found))
    draw(found, arguments.out)


if __name__ == "__main__":
    main()
