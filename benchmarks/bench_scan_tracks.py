"""Whole-genome tracks through the command line: time, speed and peak memory of ``seqmtl scan``.

    python benchmarks/bench_scan_tracks.py [--genome 100] [--threads 2] [--formats bigwig,spsc]

Simulates a genome (its first contig has 60 % of the bases), and trains a donor and an acceptor
model for two organisms. Scans both strands for both organisms with both models, once at candidates
(GT, AG) and once at every position (``--consensus any``). Prints for each scan the seconds of the
whole process, megabases per second, strand and signal (including output), the output size and the
peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _common import make_parser
from bench_scan import SimulatedGenome

TREE = "(near:0.1,far:0.1);"
SHARES = {"c1": 0.6, "c2": 0.25, "c3": 0.1, "c4": 0.05}
LINE, PART = 60, 6_000_000
SUFFIXES = {
    "bigwig": "bw",
    "bedgraph": "bedgraph.gz",
    "bed": "bed.gz",
    "gff3": "gff3.gz",
    "spsc": "spsc",
}


def run(*command: object) -> tuple[float, int]:
    """Run seqmtl; return its seconds and its peak memory in MiB (the largest child so far)."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "seqmtl", *map(str, command), "-q"], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return time.perf_counter() - begin, peak


def write_genome(path: Path, megabases: float) -> None:
    """Write a simulated genome in parts, with some N in each."""
    genome = SimulatedGenome()
    with open(path, "wb") as stream:
        for name, share in SHARES.items():
            stream.write(f">{name}\n".encode())
            n = int(megabases * 1e6 * share) // LINE * LINE
            for first in range(0, n, PART):
                codes = genome.draw(min(PART, n - first))
                codes[:5_000] = 4
                lines = np.frombuffer(b"ACGTN", dtype=np.uint8)[codes].reshape(-1, LINE)
                ends = np.full((lines.shape[0], 1), ord("\n"), dtype=np.uint8)
                stream.write(np.hstack([lines, ends]).tobytes())


def train(folder: Path, signal: str, arguments: argparse.Namespace) -> Path:
    """Train a model of two organisms on simulated windows."""
    data, model = folder / signal, folder / f"{signal}.seqmtl"
    run("simulate", "-o", data, "--tree", TREE, "--signal", signal, "--windows", 400)
    run(
        "train",
        data / "windows.tsv.gz",
        "--tree",
        data / "tree.nwk",
        "--window",
        arguments.window,
        "-o",
        model,
    )
    return model


def measure(folder: Path, model: Path, arguments: argparse.Namespace) -> None:
    """Run all scans with one model, and print a line for each."""
    megabases = (folder / "genome.fa").stat().st_size / 1e6 * LINE / (LINE + 1)
    for file_format in arguments.formats.split(","):
        for options in ([], ["--consensus", "any"]):
            if options and file_format not in ("bigwig", "bedgraph"):
                continue
            for organism in ("near", "far"):
                out = folder / f"out.{SUFFIXES[file_format]}"
                seconds, peak = run(
                    "scan",
                    model,
                    folder / "genome.fa",
                    "--organism",
                    organism,
                    "-o",
                    out,
                    "--threads",
                    arguments.threads,
                    "--json",
                    folder / "s.json",
                    *options,
                )
                summary = json.loads((folder / "s.json").read_text())
                (scan,) = summary["scans"]
                size = sum(os.path.getsize(name) for name in scan["files"]) / 2**20
                which = "any" if options else "letters"
                print(
                    f"{model.stem:<9}{organism:<6}{file_format:<9}{which:<8}"
                    f"{seconds:8.1f} s  {2 * megabases / seconds:6.2f} Mb/s per strand  "
                    f"{scan['n_reported']:>12,} sites  {size:8.0f} MiB  "
                    f"peak {summary['peak_memory_mib']:.0f} MiB (of all so far {peak})",
                    flush=True,
                )
                for name in scan["files"]:
                    os.unlink(name)


def main() -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--genome", type=float, default=100, help="megabases")
    parser.add_argument("--window", type=int, default=140)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--formats", default="bigwig", help="comma-separated")
    parser.add_argument("--signals", default="donor,acceptor", help="comma-separated")
    parser.add_argument("--folder", help="folder to write (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        write_genome(folder / "genome.fa", arguments.genome)
        load = os.getloadavg()[0]
        print(f"{arguments.genome:g} Mb, {arguments.threads} threads, load before {load:.1f}")
        for signal in arguments.signals.split(","):
            measure(folder, train(folder, signal, arguments), arguments)


if __name__ == "__main__":
    main()
