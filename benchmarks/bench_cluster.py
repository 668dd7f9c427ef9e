"""Scans on two workers against two threads, and what remains of a run when processes are killed.

    python benchmarks/bench_cluster.py [--genomes 20] [--megabases 20] [--kills 20]

Scans random genomes with both starter models: in one process with two threads, and with two workers
of one thread (``--dask local:2``), in turn, and prints the seconds of each and the ratios of the
medians. Then kills, by SIGKILL, at random moments,

- a worker: the command goes on (scan and train),
- the command itself, or the scheduler it is connected to: the command is repeated (scan),

and prints how many of the runs ended with the files of one that was not disturbed (of a model, the
weights), byte for byte and with nothing beside them, how often pieces were begun again, and how
many scans were found complete when the command was repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
from _common import make_parser

from seqmtl import load_model

SEED = 16
TREE = "((a:0.2,b:0.2):0.8,c:1.0);"
DONE = " done, about "  # in the message of every piece
KILLED = ("train", "command", "scheduler")
COMMAND = [sys.executable, "-m", "seqmtl"]


class Running:
    """A command whose messages are read as they come."""

    def __init__(self, *arguments: object) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.cpu = self.wall = 0.0
        self.is_connected = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if "pieces at a time" in line:
                self.is_connected.set()
        self.is_connected.set()

    def wait(self) -> None:
        """Wait for the end, and note the seconds, and the CPU seconds of all its processes."""
        self._reader.join()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.perf_counter() - self.started
        self.cpu = usage.ru_utime + usage.ru_stime

    def count(self, text: str) -> int:
        """Return the number of lines that contain a text."""
        return sum(text in line for line in self.lines)

    def wait_until(self, n_done: int, seconds: float) -> None:
        """Wait until so many pieces are done, and then some seconds."""
        while self.count(DONE) < n_done and self._reader.is_alive():
            time.sleep(0.01)
        time.sleep(seconds)

    def succeed(self) -> Running:
        """Wait for the end, which must not be an error."""
        self.wait()
        if self.process.returncode:
            raise SystemExit("".join(self.lines))
        return self

    def kill_worker(self, rng: np.random.Generator) -> bool:
        """Kill one of the processes that do the work; return whether there is one."""
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
            workers = [c for c in children if "spawn_main" in " ".join(c.cmdline())]
            workers[rng.integers(len(workers))].kill()
        except (psutil.Error, ValueError):
            return False
        return True


class Dask:
    """A scheduler and two workers that are processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        while not self.file.exists():
            time.sleep(0.05)
        self.workers = [self._start("worker", "--nthreads", "1") for _ in range(2)]

    def _start(self, role: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", "--no-dashboard"]
        return subprocess.Popen(
            [*command, "--scheduler-file", str(self.file), *options],
            cwd=self.file.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        """End all processes; workers end with the nanny that started them."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def make_genomes(folder: Path, n: int, megabases: float) -> Path:
    """Write random genomes of a third to five thirds of a size, and their table."""
    rng = np.random.default_rng(SEED)
    rows = ["genome\torganism"]
    for number, share in enumerate(np.linspace(1 / 3, 5 / 3, n)):
        letters = rng.choice(np.frombuffer(b"ACGT", np.uint8), int(share * megabases * 1e6))
        (folder / f"g{number}.fa").write_bytes(b">chr\n" + letters.tobytes() + b"\n")
        rows.append(f"g{number}.fa\tc_elegans")
    table = folder / "genomes.tsv"
    table.write_text("\n".join(rows) + "\n")
    return table


def contents(folder: Path) -> dict[str, bytes | list[int]]:
    """Return the files of a folder; of a summary the counts, of a model the weights."""
    found: dict[str, bytes | list[int]] = {}
    for path in folder.iterdir():
        found[path.name] = path.read_bytes()
        if path.suffix == ".json":
            scans = json.loads(path.read_text()).get("scans", [])
            found[path.name] = [scan["n_reported"] for scan in scans] or found[path.name]
        elif path.suffix == ".seqmtl":
            model = load_model(path)
            found[path.name] = np.asarray(model.W).tobytes() + model.calibration.tobytes()
    return found


def measure_speed(scan: list[object], folder: Path, repeats: int) -> None:
    """Print the seconds of both ways, and their ratios."""
    ways = {
        "one process, two threads": ["--threads", 2],
        "two workers, one thread": ["--dask", "local:2"],
    }
    runs: dict[str, list[Running]] = {name: [] for name in ways}
    for turn in range(repeats):
        for name, options in ways.items():
            out = folder / f"{name[:3]}{turn}"
            runs[name].append(Running(*scan, *options, "-o", out).succeed())
    for what in ("wall", "cpu"):
        taken = {name: [getattr(run, what) for run in own] for name, own in runs.items()}
        for name, seconds in taken.items():
            print(f"{name:<26}{what}{' '.join(f'{s:7.1f}' for s in seconds)} s")
        threads, workers = map(statistics.median, taken.values())
        print(f"workers / threads, {what} {workers / threads:.3f}")
    if contents(folder / "one0") != contents(folder / "two0"):
        raise SystemExit("the files of the workers are others")


def kill_workers(
    name: str, command: list[object], make_out: Callable[[Path], list[object]], n: int, folder: Path
) -> None:
    """Kill a worker of a command at random moments, and print what became of the runs."""
    rng = np.random.default_rng(SEED)
    whole = folder / f"{name}-whole"
    whole.mkdir()
    run = Running(*command, *make_out(whole), "--dask", "local:2")
    run.is_connected.wait()
    begun = time.perf_counter()
    run.succeed()
    seconds = time.perf_counter() - begun
    expected, n_equal, n_killed, n_again = contents(whole), 0, 0, 0
    for number in range(n):
        out = folder / f"{name}-{number}"
        out.mkdir()
        run = Running(*command, *make_out(out), "--dask", "local:2")
        run.is_connected.wait()
        time.sleep(rng.uniform(0, seconds))
        n_killed += run.kill_worker(rng)
        run.wait()
        n_equal += not run.process.returncode and contents(out) == expected
        n_again += run.count("is done again")
    print(
        f"{name}, a worker killed: {n_equal} of {n} runs as undisturbed; {n_killed} killed, "
        f"{n_again} pieces begun again"
    )


def kill_commands(what: str, scan: list[object], whole: Path, n: int, folder: Path) -> None:
    """Kill the command or the scheduler at random moments, and repeat the command."""
    rng = np.random.default_rng(SEED)
    expected, n_equal, n_kept, n_told = contents(whole), 0, 0, 0
    n_pieces, seconds = len(list(whole.glob("*.json"))), 0.0
    for number in range(-1, n):  # the first is not disturbed, nor repeated
        out = folder / f"{what}-{number}"
        dask = Dask(folder) if what == "scheduler" else None
        address = dask.file if dask else "local:2"
        run = Running(*scan, "--dask", address, "-o", out)
        run.is_connected.wait()
        begun = time.perf_counter()
        if number < 0:
            run.succeed()
            seconds = (time.perf_counter() - begun) / n_pieces
        else:
            run.wait_until(rng.integers(n_pieces), rng.uniform(0, seconds))
            os.kill((dask.scheduler if dask else run.process).pid, signal.SIGKILL)
            run.wait()
            n_told += run.count("start it again, and repeat the command")
        if dask:
            dask.stop()
        if number < 0:
            continue
        dask = Dask(folder) if dask else None
        again = Running(*scan, "--dask", dask.file if dask else "local:2", "-o", out).succeed()
        n_equal += contents(out) == expected
        n_kept += sum(
            int(found[1])
            for line in again.lines
            if (found := re.search(r"(\d+) of \d+ scans are complete", line))
        )
        if dask:
            dask.stop()
    print(
        f"scan, the {what} killed and the command repeated: {n_equal} of {n} as undisturbed; "
        f"{n_kept} of {n_pieces * n} scans were complete"
        + (f"; told {n_told} times" if what == "scheduler" else "")
    )


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Print all figures."""
    table = make_genomes(folder, arguments.genomes, arguments.megabases)
    scan: list[object] = ["scan", "starter:donor", "starter:acceptor", "--genomes", table]
    Running(*scan, "-o", folder / "compiled", "--threads", 2).succeed()
    print(f"{arguments.genomes} genomes, {arguments.genomes * arguments.megabases:g} Mb, 2 models")
    measure_speed(scan, folder, arguments.repeats)
    few = make_few(folder, arguments)
    scan = [*scan[:3], "--genomes", few]
    out = folder / "simulated"
    Running("simulate", "--tree", TREE, "-o", out, "--windows", arguments.windows).succeed()
    windows = next(out.glob("windows*"))
    train: list[object] = ["train", windows, "--tree", TREE]
    commands: dict[str, tuple[list[object], Callable[[Path], list[object]]]] = {
        "scan": (scan, lambda out: ["-o", out]),
        "train": (train, lambda out: ["-o", out / "m.seqmtl"]),
    }
    for name in ("scan", *(["train"] if "train" in arguments.killed else [])):
        kill_workers(name, *commands[name], arguments.kills, folder)
    for what in ("command", "scheduler"):
        if what in arguments.killed:
            kill_commands(what, scan, folder / "scan-whole", arguments.kills, folder)


def make_few(folder: Path, arguments: argparse.Namespace) -> Path:
    """Write the table of the genomes that are scanned again and again."""
    lines = (folder / "genomes.tsv").read_text().splitlines()
    few = folder / "few.tsv"
    few.write_text("\n".join(lines[: 1 + arguments.few]) + "\n")
    return few


def main() -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--genomes", type=int, default=20)
    parser.add_argument("--megabases", type=float, default=20, help="mean size of a genome")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kills", type=int, default=20, help="runs of each kind")
    parser.add_argument(
        "--killed",
        nargs="+",
        default=KILLED,
        choices=KILLED,
        help="a worker of train, besides one of scan; the command; the scheduler",
    )
    parser.add_argument("--few", type=int, default=4, help="genomes of runs that are killed")
    parser.add_argument("--windows", type=int, default=1000, help="per organism, for train")
    with tempfile.TemporaryDirectory() as folder:
        measure(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
