"""One thread against several, with the same results: training, its selection, and a scan.

    python benchmarks/bench_threads.py [--n 1377151] [--threads 2] [--repeats 3] [--genome 100]

Training as in ``bench_large.py``, at the task kernel there; "default" selects the hyperparameters
first, as ``seqmtl train`` does; the scan writes a bigWig of both strands. Seconds are those of the
wall clock on a machine that does nothing else; the runs with one thread and with several take
turns, and the smallest of each is compared. From the ratio follow, by Amdahl's law, the share of
the time that is serial, and what more cores would bring: these columns are computed, not measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _common import Options, run_alone, write_result

QUICK = {"n": 300, "genome": 0.05, "repeats": 1}
CORES = (8, 16, 64)


def make_job(name: str, arguments: argparse.Namespace) -> Callable[[], bytes]:
    """Return what is to be timed, which returns its result."""
    import numpy as np

    if name == "scan":
        from bench_scan import SimulatedGenome, simulate_model

        from seqmtl.scanning import Scanner, SiteFinder, TrackOptions, write_scan

        finder = SiteFinder(Scanner(simulate_model(141, 6), site_offset=70, site_length=2))
        n = int(1e6 * arguments.genome)
        contigs = list(SimulatedGenome().contigs(n))
        lengths = {contig.name: contig.codes.size for contig in contigs}

        def scan() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path, track = Path(folder) / "sites.bw", TrackOptions(lengths=lengths)
                write_scan(path, iter(contigs), finder, track=track)
                return b"".join(file.read_bytes() for file in sorted(Path(folder).iterdir()))

        return scan
    from bench_large import simulate_windows

    from seqmtl import PositionalKmers, TaskKernel
    from seqmtl.adaptation.few_labels import train_with_few
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.selection import SearchSpace

    windows = simulate_windows(arguments.n, 4, 100)

    def train() -> bytes:
        if name == "default":
            space = SearchSpace.of_sharing(windows.task_names)
            model, solution = train_with_few(Examples.of(windows), task_kernel=space)
        else:
            kernel = TaskKernel.graph(np.ones((4, 4)) + np.eye(4), windows.task_names)
            model, solution = train_with_few(
                Examples.of(windows), features=PositionalKmers(), task_kernel=kernel
            )
        arrays = (np.asarray(model.W), model.bias, model.calibration, solution.alpha)
        return b"".join(array.tobytes() for array in arrays)

    return train


def time_once(arguments: argparse.Namespace) -> None:
    """Time one job with one thread and with several, and print the seconds as JSON."""
    from seqmtl import use_threads

    job = make_job(arguments.once, arguments)
    seconds: dict[int, list[float]] = {1: [], arguments.threads: []}
    results = set()
    job()  # loads the compiled loops
    for _ in range(arguments.repeats):
        for n, taken in seconds.items():
            started = time.perf_counter()
            with use_threads(n):
                result = job()
            taken.append(time.perf_counter() - started)
            results.add(hashlib.sha256(result).hexdigest())
    one, several = (min(taken) for taken in seconds.values())
    print(json.dumps({"one": one, "several": several, "results": len(results)}))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--n", type=int, default=1_377_151, help="windows")
    parser.add_argument("--genome", type=float, default=100, help="megabases")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        time_once(arguments)
        return
    names = ("n", "genome", "threads", "repeats")
    options = [f"--{name}={getattr(arguments, name)}" for name in names]
    rows = []
    for name in ("training", "default", "scan"):
        r: dict[str, Any] = run_alone(__file__, f"--once={name}", *options)
        ratio, N = r["one"] / r["several"], arguments.threads
        serial = max((N / ratio - 1) / (N - 1), 0.0) if N > 1 else 1.0
        rows.append(
            {
                "job": name,
                "1 thread, s": r["one"],
                f"{N} threads, s": r["several"],
                "ratio": ratio,
                "serial share": serial,
                **{f"{n} cores": 1 / (serial + (1 - serial) / n) for n in CORES},
                "results": "same" if r["results"] == 1 else "DIFFERENT",
            }
        )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
