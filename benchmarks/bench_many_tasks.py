"""Hundreds of organisms in one model: training, size of the file, use of one organism.

    python benchmarks/bench_many_tasks.py [--tasks 4 8 16 64 300 1000] [--windows 5000]
        [--methods tree matrix default ...]

Genomes are simulated along a balanced tree; true sites and nine decoys each, windows of 200 bases,
default features, hinge loss, C = 1. Methods are task kernels, and two that tune or learn them:

tree         that of the tree
matrix       the same as a matrix, of which no tree is known
individual   nothing shared
union        one SVM for all organisms
clade        one SVM for each clade of at most eight organisms
default      that of seqmtl train: tuned trust in the tree, tuned costs and features
mkl          a learnt weight for every clade, norm 2

"visit" is the training time divided by the number of examples visited (work times n). "load" is
what a separate process takes to load the model and the weights of one organism, "scan" what it then
takes to scan --scan megabases for this organism, and the MiB are those of both. Every size runs in
a separate process, on one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
import time
from typing import TYPE_CHECKING, Any

from _common import Options, peak_mib, run_alone, write_result

if TYPE_CHECKING:
    from seqmtl import TaskKernel
    from seqmtl.sequences import Windows

METHODS = ("tree", "matrix", "individual", "union", "clade", "default", "mkl")
QUICK = {"tasks": [9], "windows": 30, "tol": 1e-2, "scan": 0.01, "methods": ["matrix", "clade"]}
SEED = 12
DECOYS_PER_SITE = 9
WINDOW = 200
#: Genes per training window of an organism, and bases per gene; half of them are for tests.
GENES_PER_WINDOW = 0.06
BASES_PER_GENE = 2400
#: Length of the path from the root to every organism.
HEIGHT = 0.8


def balanced_tree(tasks: int) -> str:
    """Return a balanced tree in Newick format, all its leaves at the same distance."""
    depth = max(1, (tasks - 1).bit_length())

    def text(first: int, last: int, above: int) -> str:
        if last - first == 1:
            return f"o{first}:{HEIGHT * (depth - above) / depth:g}"
        middle = (first + last) // 2
        parts = f"{text(first, middle, above + 1)},{text(middle, last, above + 1)}"
        return f"({parts}):{HEIGHT / depth * (above > 0):g}"

    return text(0, tasks, 0).rpartition(":")[0] + ";"


def simulate_windows(tasks: int, n: int) -> tuple[Windows, Windows]:
    """Return labelled virtual windows, n per organism for training, and those for tests."""
    import numpy as np

    from seqmtl.sequences import Windows
    from seqmtl.sequences.alphabet import encode
    from seqmtl.simulation import simulate

    n_genes = 10 + round(GENES_PER_WINDOW * n)
    made = simulate(
        balanced_tree(tasks),
        seed=SEED,
        n_chromosomes=2,
        n_windows=n,
        window=WINDOW,
        n_genes=n_genes,
        chromosome_length=BASES_PER_GENE * (n_genes // 2 + 5),
        decoys_per_site=DECOYS_PER_SITE,
    )
    codes = [encode(genome.letters.tobytes()) for genome in made.genomes]
    bases = np.cumsum([0, *(own.size for own in codes)])
    found = []
    for is_test in (False, True):
        sites = [genome.sites.take(genome.is_test() == is_test) for genome in made.genomes]
        starts = [base + made.window_starts(own) for base, own in zip(bases, sites, strict=False)]
        found.append(
            Windows(
                np.concatenate(codes),
                np.concatenate(starts),
                WINDOW,
                is_reverse=np.concatenate([own.is_reverse for own in sites]),
                labels=np.concatenate([own["labels"] for own in sites]),
                task_ids=np.repeat(np.arange(tasks), [len(own) for own in sites]),
                task_names=[genome.organism for genome in made.genomes],
            )
        )
    return found[0], found[1]


def mean_auprc(scores: Any, windows: Windows) -> float:
    """Return the mean AUPRC over the organisms."""
    import numpy as np

    from seqmtl.evaluation.metrics import RankedScores

    found = []
    for t in range(len(windows.task_names)):
        own = windows.task_ids == t
        found.append(RankedScores(windows.labels[own] > 0, scores[own]).metrics()[1])
    return float(np.mean(found))


def kernel_of(method: str, tasks: int, names: tuple[str, ...]) -> TaskKernel:
    """Return the task kernel of a method."""
    import numpy as np

    from seqmtl import TaskKernel
    from seqmtl.core.kernel_stack import KernelStack

    if method in ("individual", "union"):
        return getattr(TaskKernel, method)(names)
    if method == "mkl":
        return TaskKernel.hierarchical(balanced_tree(tasks), names)
    if method == "clade":
        n_halvings = max(0, (tasks - 1).bit_length() - 3)
        own = (np.arange(tasks) << n_halvings) // tasks  # as the tree is halved, but for rounding
        N = (own[:, None] == np.arange(1 << n_halvings)).astype(float)
        return TaskKernel(names, KernelStack.of_nodes(N, np.ones((1, N.shape[1]))), "clades")
    kernel = TaskKernel.from_tree(balanced_tree(tasks), names)
    return TaskKernel(names, kernel.matrix) if method == "matrix" else kernel


def train(method: str, windows: Windows, tol: float) -> tuple[Any, Any]:
    """Train by a method; return the model and the solution."""
    from seqmtl.adaptation.few_labels import train_with_few
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.selection import SearchSpace
    from seqmtl.training.settings import Settings

    names = windows.task_names
    kernel = kernel_of(method, len(names), names)
    if method == "default":
        space = SearchSpace.of_sharing(names, kernel)
        return train_with_few(Examples.of(windows), task_kernel=space, settings=Settings(tol=tol))
    settings = Settings(C=1.0, tol=tol, norm=2.0 if method == "mkl" else None)
    return train_with_few(Examples.of(windows), task_kernel=kernel, settings=settings)


def train_once(arguments: argparse.Namespace) -> None:
    """Simulate, train, save and measure one size, and print the measurements as JSON."""
    started = time.process_time()
    windows, test = simulate_windows(arguments.tasks[0], arguments.windows)
    simulated, peak_before = time.process_time(), peak_mib()
    model, solution = train(arguments.methods[0], windows, arguments.tol)
    trained, peak = time.process_time(), peak_mib()
    model.save(arguments.model)
    result = {
        "n": len(windows),
        "simulate": simulated - started,
        "train": trained - simulated,
        "work": solution.work,
        "gap": solution.gap,
        "peak_before": peak_before,
        "peak": peak,
        "save": time.process_time() - trained,
        "file": os.path.getsize(arguments.model) / 2**20,
        "auprc": mean_auprc(model.decision_function(test), test),
    }
    print(json.dumps(result))


def load_once(arguments: argparse.Namespace) -> None:
    """Load a model for one organism, and scan; print the measurements as JSON."""
    from bench_scan import SimulatedGenome

    from seqmtl.loading import load
    from seqmtl.scanning import SiteFilters, SiteFinder, write_scan
    from seqmtl.scanning.finder import scanner_of

    genomes = [list(SimulatedGenome().contigs(n)) for n in (10_000, round(1e6 * arguments.scan))]
    started, before = time.process_time(), peak_mib()
    model = load(arguments.model)
    scanner = scanner_of(model, model.tasks[-1])
    result = {"load": time.process_time() - started}
    for genome in genomes:  # the first time compiles
        started = time.process_time()
        finder = SiteFinder(scanner, filters=SiteFilters(threshold=0.0))
        write_scan(os.devnull, iter(genome), finder, file_format="bed")
        result["scan"] = time.process_time() - started
    print(json.dumps({**result, "peak": peak_mib() - before}))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--tasks", type=int, nargs="+", default=[4, 8, 16, 64, 300, 1000])
    parser.add_argument("--windows", type=int, default=5000, help="per organism")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    parser.add_argument("--scan", type=float, default=20, help="megabases")
    parser.add_argument("--methods", nargs="+", default=["tree"], choices=METHODS, metavar="METHOD")
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.model:
        (load_once if arguments.load else train_once)(arguments)
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.seqmtl")
        for tasks, method in itertools.product(arguments.tasks, arguments.methods):
            options = [f"--windows={arguments.windows}", f"--tol={arguments.tol}", "--model", path]
            r = run_alone(__file__, "--tasks", tasks, "--methods", method, *options)
            one = run_alone(__file__, "--load", "--model", path, f"--scan={arguments.scan}")
            rows.append(
                {
                    "method": method,
                    "tasks": tasks,
                    "windows": r["n"],
                    "simulate, CPU s": r["simulate"],
                    "train, CPU s": r["train"],
                    "visits a window": r["work"],
                    "us a visit": 1e6 * r["train"] / r["n"] / r["work"],
                    "gap": r["gap"],
                    "peak MiB": r["peak"],
                    "peak MiB, simulation": r["peak_before"],
                    "file MiB": r["file"],
                    "save, CPU s": r["save"],
                    "load, CPU s": one["load"],
                    "scan, CPU s": one["scan"],
                    "load and scan, MiB": one["peak"],
                    "AUPRC": r["auprc"],
                }
            )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
