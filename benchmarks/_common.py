"""Shared by the benchmarks: their options and results, separate processes, resamples.

Every benchmark has `--quick`, which shows in seconds that it works: toy sizes, simulated data in
the place of files that are not given, and no processes of their own. It measures nothing.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import io
import json
import os
import platform
import resource
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imports stay light: a child's peak memory is at least its parent's
    import numpy as np
    from numpy.typing import NDArray

    from seqmtl.sequences import Windows


class QuickParser(argparse.ArgumentParser):
    """The options of a script, with its docstring as the help, and `--quick`.

    Parameters
    ----------
    doc : str or None
        The docstring.
    quick : mapping of str to Any
        Values of options under `--quick`, unless they are given.
    simulate : callable, optional
        Writes data into a folder, which is removed at the end, and returns more such values.
    """

    def __init__(
        self,
        doc: str | None,
        quick: Mapping[str, Any],
        simulate: Callable[[Path], Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.quick, self.simulate = dict(quick), simulate
        self.add_argument("--quick", action="store_true", help="toy sizes and data, in seconds")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the options; under `--quick` nothing is required."""
        if is_quick():
            if self.simulate is not None:
                folder = Path(tempfile.mkdtemp())
                atexit.register(shutil.rmtree, folder)
                self.quick |= self.simulate(folder)
            for action in self._actions:
                if action.dest in self.quick:
                    action.default, action.required = self.quick[action.dest], False
                    if not action.option_strings:
                        action.nargs = "?" if action.nargs is None else "*"
        return super().parse_args(args, namespace)


class Options(QuickParser):
    """The options of a benchmark, with `--json` for :func:`write_result`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.add_argument("--json", metavar="FILE", help="also write rows and conditions as JSON")


def is_quick() -> bool:
    """Whether nothing is to be measured."""
    return "--quick" in sys.argv


def has_program(program: object) -> bool:
    """Whether a program of others is given; `--quick` goes on without it."""
    if not program:
        print("without the path of the other program, what needs it is left out")
    return bool(program)


def write_result(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Print rows of equal keys as a table, and write them with their conditions if asked.

    Documents show what was written, see `benchmarks/tables.py`.
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
    words = [script, *map(str, arguments)]
    if is_quick():
        result: dict[str, Any] = json.loads(_run_here(words))
        return result
    one_thread = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    )
    answer = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=limit,
        env={**os.environ, **one_thread},
    )
    result = json.loads(answer.stdout)
    return result


def _run_here(words: list[str]) -> str:
    """Run a script in this process; return what it prints."""
    before, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = before
    return printed.getvalue()


def seqmtl(*arguments: object) -> tuple[float, float, float]:
    """Run a command of seqmtl in a separate process; return the figures of :func:`measure`."""
    words = [*map(str, arguments), "-q"]
    if not is_quick():
        return measure([sys.executable, "-m", "seqmtl", *words])
    from seqmtl.commands.main import main

    cpu, wall = time.process_time(), time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        if main(words):
            raise SystemExit(f"failed: seqmtl {shlex.join(words)}")
    return time.process_time() - cpu, time.perf_counter() - wall, peak_mib()


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
    from seqmtl.simulation import simulate

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
