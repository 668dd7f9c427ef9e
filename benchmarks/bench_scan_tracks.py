"""Whole-genome tracks through the command line: time, speed and peak memory of ``seqmtl scan``.

    python benchmarks/bench_scan_tracks.py [--genome 100] [--threads 2] [--formats bigwig,spsc]

Simulates a genome (its first contig has 60 % of the bases), and trains a donor and an acceptor
model for two organisms. Scans both strands for both organisms with both models at candidates (GT,
AG). Prints for each scan the seconds of the whole process, megabases per second and strand
(including output), the output size and the peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, seqmtl, write_result
from bench_scan import SimulatedGenome

from seqmtl.simulation import simulate, write_simulation

QUICK = {"genome": 0.05, "window": 30, "signals": "donor", "threads": 1, "formats": "bigwig,spsc"}
TREE = "(near:0.1,far:0.1);"
SHARES = {"c1": 0.6, "c2": 0.25, "c3": 0.1, "c4": 0.05}
LINE, PART = 60, 6_000_000
SUFFIXES = {
    "bigwig": "bw",
    "bed": "bed.gz",
    "gff3": "gff3.gz",
    "spsc": "spsc",
}


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
    write_simulation(simulate(TREE, signal=signal, n_windows=400), data)
    options = ["--tree", data / "tree.nwk", "--window", arguments.window]
    seqmtl("train", data / "windows.tsv.gz", *options, "-o", model)
    return model


def measure(folder: Path, model: Path, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run all scans with one model, and return the figures of each."""
    megabases = (folder / "genome.fa").stat().st_size / 1e6 * LINE / (LINE + 1)
    common = ["--threads", arguments.threads, "--json", folder / "s.json"]
    for file_format in arguments.formats.split(","):
        for organism in ("near", "far"):
            out = folder / f"out.{SUFFIXES[file_format]}"
            scan = ["scan", model, folder / "genome.fa", "--organism", organism, "-o", out]
            cpu, wall, peak = seqmtl(*scan, *common)
            (summary,) = json.loads((folder / "s.json").read_text())["scans"]
            size = sum(os.path.getsize(name) for name in summary["files"])
            yield {
                "signal": model.stem,
                "organism": organism,
                "format": file_format,
                "CPU s": cpu,
                "wall s": wall,
                "Mb a second and strand": 2 * megabases / wall,
                "sites": summary["n_reported"],
                "output MiB": size / 2**20,
                "peak MiB": peak,
            }
            for name in summary["files"]:
                os.unlink(name)


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
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
        rows: list[dict[str, Any]] = []
        for signal in arguments.signals.split(","):
            rows += measure(folder, train(folder, signal, arguments), arguments)
        write_result(arguments, rows)


if __name__ == "__main__":
    main()
