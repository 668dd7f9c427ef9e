"""Training on windows that stay on disk: time per window and peak memory, beside in memory.

    python benchmarks/bench_out_of_core.py [--n 1377151 6392176] [--memory 4] [--threads 1]

Four organisms as in ``bench_large.py``, simulated and stored in batches. Every size runs in a
separate process, so that its peak memory is its own; what trains in memory does so up to --in-core
windows. CPU seconds are those of training alone: the simulation is not counted, nor in the peak if
it stays below, and writing the windows to disk is.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from _common import Options, peak_mib, run_alone, write_result
from bench_large import simulate_windows

from seqmtl.features.grammar import DEFAULT_VIEWS

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

TASKS, WINDOW = 4, 100
QUICK = {"n": [2000], "batch": 1200, "memory": 2.0}


def batches(n: int, size: int) -> Iterator[Windows]:
    """Yield n windows, of other genomes in each batch."""
    for k, first in enumerate(range(0, n, size)):
        yield simulate_windows(min(size, n - first), TASKS, WINDOW, seed=12 + k)


def train_once(arguments: argparse.Namespace) -> None:
    """Train on one size, and print the measurements as JSON."""
    from seqmtl import PositionalKmers, TaskKernel, use_threads
    from seqmtl.cluster import connect
    from seqmtl.io.window_store import store_windows
    from seqmtl.sequences import concatenate
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.fit import fit
    from seqmtl.training.out_of_core import OutOfCoreTrainer, fit_from_disk
    from seqmtl.training.parts import score_part
    from seqmtl.training.settings import Settings
    from seqmtl.training.site_detection import find_site

    n, simulated = arguments.n[0], 0.0
    options = {"features": PositionalKmers(DEFAULT_VIEWS), "settings": Settings(tol=arguments.tol)}
    adjacency = [[1.0 + (s == t) for s in range(TASKS)] for t in range(TASKS)]

    def timed() -> Iterator[Windows]:
        nonlocal simulated
        source = batches(n, arguments.batch)
        while True:
            started = time.process_time()
            windows = next(source, None)
            simulated += time.process_time() - started
            if windows is None:
                return
            yield windows

    moved = {"to a worker": 0, "back": 0, "most back": 0}

    def score_parts(task: Any, jobs: Any) -> Iterator[Any]:
        if workers is None:
            yield from (score_part(task, *job) for job in jobs)
            return
        back = 0
        moved["to a worker"] += len(pickle.dumps(task))
        for result in workers.map(score_part, jobs, task):
            back += len(pickle.dumps(result))
            yield result
        moved["back"] += back
        moved["most back"] = max(moved["most back"], back)

    begun, wall = time.process_time(), time.perf_counter()
    with (
        use_threads(arguments.threads),
        tempfile.TemporaryDirectory() as folder,
        connect(arguments.dask) if arguments.dask else nullcontext() as workers,
    ):
        if arguments.memory:
            store = store_windows(timed(), folder)
            kernel = TaskKernel.graph(adjacency, store.task_names)
            trained, wall = time.process_time(), time.perf_counter()
            disk = OutOfCoreTrainer(int(arguments.memory * 2**30), score_parts)
            _, solution = fit_from_disk(
                Examples(store, store.labels, store.task_ids, store.task_names),
                disk,
                kernel,
                **options,
                on_epoch=lambda _, now: print(vars(now), flush=True) if arguments.verbose else None,
            )
            stored = trained - begun - simulated
        else:
            windows = concatenate(list(timed()))
            kernel = TaskKernel.graph(adjacency, windows.task_names)
            trained, wall, stored = time.process_time(), time.perf_counter(), 0.0
            site = find_site(windows)
            _, solution = fit(Examples.of(windows), kernel, site=site, **options)
    result = {
        "train": time.process_time() - trained,
        "wall": time.perf_counter() - wall,
        "store": stored,
        "simulate": simulated,
        "peak": peak_mib(),
        "gap": solution.gap,
        "looks": len(solution.history),
        "primal": solution.primal,
        "moved": moved,
        "support": int((solution.alpha > 0).sum()),
    }
    print(json.dumps(result))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--n", type=int, nargs="+", default=[1_377_151, 6_392_176])
    parser.add_argument("--memory", type=float, default=4.0, help="GiB (default: 4)")
    parser.add_argument("--in-core", type=int, default=1_377_151, metavar="N")
    parser.add_argument("--batch", type=int, default=1_377_151, metavar="N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dask", metavar="ADDRESS", help="score on workers, and print bytes moved")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    parser.add_argument("--verbose", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        train_once(arguments)
        return
    rows = []
    names = ("batch", "threads", "tol")
    common = [f"--{name}={getattr(arguments, name)}" for name in names]
    common += [f"--dask={arguments.dask}"] if arguments.dask else []
    for n in arguments.n:
        for place, memory in (("memory", 0), ("disk", arguments.memory)):
            if place == "memory" and (n > arguments.in_core or arguments.dask):
                continue
            r = run_alone(__file__, "--once", "--n", n, f"--memory={memory}", *common)
            moved = {f"MiB {name}": size / 2**20 for name, size in r["moved"].items()}
            rows.append(
                {
                    "windows": n,
                    "place": place,
                    "store, CPU s": r["store"],
                    "train, CPU s": r["train"],
                    "wall s": r["wall"],
                    "us a window": 1e6 * (r["store"] + r["train"]) / n,
                    "rounds": r["looks"],
                    "gap": r["gap"],
                    "support vectors": r["support"],
                    "peak MiB": r["peak"],
                    "objective": r["primal"],
                    **(moved if arguments.dask else {}),
                }
            )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
