"""Shared by several benchmarks: separate processes, their peak memory, simulated windows."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imports stay light: a child's peak memory is at least its parent's
    import numpy as np
    from numpy.typing import NDArray

    from seqmtl.sequences import Windows


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help shows a module's docstring unchanged."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_result_option(parser: argparse.ArgumentParser) -> None:
    """Add the option of :func:`write_result`."""
    parser.add_argument("--json", metavar="FILE", help="also write rows and conditions as JSON")


def write_result(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Print rows of equal keys as a table, and write them with their conditions if asked.

    `docs/benchmarks.md` and the README show what was written, see `benchmarks/tables.py`.
    """
    print(as_table(rows))
    if arguments.json is None:
        return
    from seqmtl import __version__

    result = {
        "command": shlex.join(map(os.path.basename, sys.argv)),  # of no machine's paths
        "date": time.strftime("%Y-%m-%d"),
        "seqmtl": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": [round(value, 1) for value in os.getloadavg()],
        "rows": rows,
    }
    with open(arguments.json, "w", encoding="utf-8") as stream:
        json.dump(result, stream, indent=1)
        stream.write("\n")


def as_table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table, numbers with four significant digits."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [
        [f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in rows
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def run_alone(script: str, *arguments: object, limit: float | None = None) -> dict[str, Any]:
    """Run a script in a separate process, on one thread; return the JSON it prints.

    Raises TimeoutExpired after `limit` seconds.
    """
    one_thread = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    )
    answer = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=limit,
        env={**os.environ, **one_thread},
    )
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def measure(command: list[str]) -> tuple[float, float, float]:
    """Run a command; return CPU seconds, wall seconds and peak memory in MB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command[:4])} ...")
    wall = time.perf_counter() - started
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def peak_mib() -> float:
    """Return the peak memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def simulate_windows(tree: str, **settings: Any) -> Windows:
    """Return simulated training windows without N.

    Parameters
    ----------
    tree : str
        Newick tree of the organisms.
    **settings
        Arguments of :func:`seqmtl.simulate`.
    """
    import numpy as np

    from seqmtl import Windows
    from seqmtl.sequences.windows import concatenate
    from seqmtl.simulate import simulate

    made, parts = simulate(tree, **settings), []
    for genome in made.genomes:
        training = np.flatnonzero(~genome.is_test())
        parts.append(
            Windows.from_strings(
                [row.tobytes().decode("ascii") for row in made.windows(genome)[training]],
                labels=genome.sites["labels"][training],
                tasks=[genome.organism] * training.size,
            )
        )
    windows = concatenate(parts)
    return windows[np.flatnonzero((windows.matrix() < 4).all(axis=1))]


def resample(labels: NDArray[Any], scores: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Return the AUPRC of all rows, then of `n` fixed resamples, stratified by class.

    The difference between two such arrays is thus a paired bootstrap.
    """
    import numpy as np

    from seqmtl.evaluation.metrics import RankedScores

    rng = np.random.default_rng(0)
    weights = np.ones(labels.size)
    samples = [RankedScores(labels > 0, scores, weights).metrics()[1]]
    for _ in range(n):
        for own in (labels > 0, labels < 0):
            weights[own] = rng.multinomial(own.sum(), np.full(own.sum(), 1 / own.sum()))
        samples.append(RankedScores(labels > 0, scores, weights).metrics()[1])
    return np.array(samples)


def describe(samples: NDArray[np.float64]) -> str:
    """Format the value of all rows and the 95 % interval of the resamples."""
    import numpy as np

    low, high = np.quantile(samples[1:], (0.025, 0.975))
    return f"{samples[0]:+.4f} ({low:+.3f}..{high:+.3f})"
