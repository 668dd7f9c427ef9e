"""Training on many virtual windows of simulated genomes: time, work and memory.

    python benchmarks/bench_large.py [--n 63920 296697 1377151] [--tol 1e-3]

Four organisms (or --tasks) related by a tree, nine decoys per acceptor, virtual windows into the
encoded genomes; hinge loss, C = 1, task kernel K = (I + L)^-1 with L = D - A, A = 11' + I, as in
Widmer et al. (2012, Fig. 3) for the splice sites of four organisms. Their seconds on one core of
2012 (to eps 1e-3, with their own features) are printed next to ours: compare the growth, not the
machines.

Every size runs in a separate process, on one thread, so that its peak memory is its own. "train" is
the training alone, including the first loading of compiled loops.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from _common import Options, peak_mib, run_alone, write_result

from seqmtl.features.grammar import DEFAULT_VIEWS

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

PAPER_SECONDS = {63_920: 549, 296_697: 3_939, 1_377_151: 18_890, 6_392_176: 89_378}
QUICK = {"n": [200], "window": 30, "features": "wd:3"}
SEED = 12
DECOYS_PER_SITE = 9
#: Chromosome bases per training window of its organism; keeps the site density constant.
BASES_PER_WINDOW = 15


def simulate_windows(n: int, tasks: int, window: int, seed: int = SEED) -> Windows:
    """Return n labelled virtual windows of some organisms.

    Keeps encoded genomes and window positions, but not letters and genes.
    """
    import numpy as np

    from seqmtl.sequences import Windows
    from seqmtl.sequences.alphabet import encode
    from seqmtl.simulation import simulate

    names = [f"organism{t + 1}" for t in range(tasks)]
    tree = "(" + ",".join(f"{name}:{0.1 * (t + 1):.1f}" for t, name in enumerate(names)) + ");"
    sizes = {name: n // tasks + (t < n % tasks) for t, name in enumerate(names)}
    made = simulate(
        tree,
        seed=seed,
        n_chromosomes=5,
        chromosome_length=max(200_000, BASES_PER_WINDOW * max(sizes.values())),
        n_windows=sizes,
        window=window,
        decoys_per_site=DECOYS_PER_SITE,
    )
    codes, starts, reverse, labels, base = [], [], [], [], 0
    for genome in made.genomes:
        sites = genome.sites.take(~genome.is_test())
        codes.append(encode(genome.letters.tobytes()))
        starts.append(base + made.window_starts(sites))
        reverse.append(sites.is_reverse)
        labels.append(sites["labels"])
        base += genome.letters.size
    return Windows(
        np.concatenate(codes),
        np.concatenate(starts),
        window,
        is_reverse=np.concatenate(reverse),
        labels=np.concatenate(labels),
        task_ids=np.repeat(np.arange(tasks), [part.size for part in starts]),
        task_names=names,
    )


def train_once(arguments: argparse.Namespace) -> None:
    """Simulate and train at one size, and print the measurements as JSON."""
    import numpy as np

    from seqmtl import PositionalKmers, TaskKernel
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.fit import fit
    from seqmtl.training.settings import Settings

    started = time.process_time()
    windows = simulate_windows(arguments.n[0], arguments.tasks, arguments.window)
    simulated, peak_before = time.process_time(), peak_mib()
    adjacency = np.ones((arguments.tasks, arguments.tasks)) + np.eye(arguments.tasks)
    _, solution = fit(
        Examples.of(windows),
        features=PositionalKmers(arguments.features),
        task_kernel=TaskKernel.graph(adjacency, windows.task_names),
        settings=Settings(C=1.0, tol=arguments.tol),
    )
    result = {
        "n": len(windows),
        "bases": int(windows.codes.size),
        "simulate": simulated - started,
        "train": time.process_time() - simulated,
        "epochs": solution.n_epochs,
        "work": solution.work,
        "gap": solution.gap,
        "support": int((solution.alpha > 0).sum()),
        "peak_before": peak_before,
        "peak": peak_mib(),
    }
    print(json.dumps(result))


def measure(n: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run one size in a separate process, on one thread."""
    names = ("tasks", "window", "features", "tol")
    options = [f"--{name}={getattr(arguments, name)}" for name in names]
    return run_alone(__file__, "--once", "--n", n, *options)


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--n", type=int, nargs="+", default=list(PAPER_SECONDS)[:3])
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--features", default=DEFAULT_VIEWS, metavar="SPEC")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        train_once(arguments)
        return
    rows = []
    for n in arguments.n:
        r = measure(n, arguments)
        paper = PAPER_SECONDS.get(n)
        rows.append(
            {
                "windows": r["n"],
                "Mb": r["bases"] / 1e6,
                "CPU s": r["train"],
                "us a window": 1e6 * r["train"] / r["n"],
                "epochs": r["epochs"],
                "visits a window": r["work"],
                "gap": r["gap"],
                "support vectors": r["support"],
                "peak MiB": r["peak"],
                "peak MiB, simulation": r["peak_before"],
                "published s": paper or "",
                "ratio": paper / r["train"] if paper else "",
            }
        )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
