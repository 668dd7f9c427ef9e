"""Speed and memory of a scan for both ends of introns, beside those of each signal alone.

    python benchmarks/bench_paired.py splice.seqmtl donor.seqmtl acceptor.seqmtl genome.fa
        [--organism ...] [--megabases 100] [--threads 1 2]

The models are those of docs/howto/introns.md. The genome is repeated up to the given size. Every
scan writes splice scores of both strands in a process of its own. Prints its CPU and wall seconds,
megabases per CPU and wall second, and peak memory. The first run of each, with a compiling call, is
not counted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import _toy
import numpy as np
from _common import Options, seqmtl, write_result

from seqmtl.io import load_genome

QUICK = {
    "models": ["starter:splice", "starter:donor", "starter:acceptor"],
    "organism": _toy.GENOMES[0],
    "megabases": 0.05,
    "threads": [1],
}


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome."""
    _toy.genomes(folder)
    return {"genome": folder / "genomes" / f"{_toy.GENOMES[0]}.fa"}


def repeat_genome(path: Path, target: Path, megabases: float) -> float:
    """Write the contigs again and again; return the megabases written."""
    letters = np.frombuffer(b"ACGTN", dtype=np.uint8)
    genome = load_genome(path, padding=1)
    contigs = [(name, letters[genome.contig(name)].tobytes()) for name in genome.names]
    written, copy = 0, 0
    with open(target, "wb") as stream:
        while written < megabases * 1e6:
            for name, text in contigs:
                stream.write(b">%s_%d\n" % (name.encode(), copy))
                for k in range(0, len(text), 60):
                    stream.write(text[k : k + 60] + b"\n")
                written += len(text)
            copy += 1
    return written / 1e6


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("models", nargs=3, help="paired model, model of donors, of acceptors")
    parser.add_argument("genome", type=Path, help="FASTA")
    parser.add_argument("--organism", help="organism of the models, if there are several")
    parser.add_argument("--megabases", type=float, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    organism, rows = ["--organism", arguments.organism] if arguments.organism else [], []
    with tempfile.TemporaryDirectory() as name:
        genome, out = Path(name) / "genome.fa", Path(name) / "x.spsc"
        size = repeat_genome(arguments.genome, genome, arguments.megabases)

        def scan(model: str, path: Path, threads: int) -> tuple[float, float, float]:
            return seqmtl("scan", model, path, "--threads", threads, *organism, "-o", out)

        for threads in arguments.threads:
            names = ("paired", "donors", "acceptors")
            for what, model in zip(names, arguments.models, strict=True):
                if threads == arguments.threads[0]:
                    scan(model, arguments.genome, threads)
                cpu, wall, peak = scan(model, genome, threads)
                rows.append(
                    {
                        "threads": threads,
                        "scan": what,
                        "Mb": size,
                        "CPU s": cpu,
                        "wall s": wall,
                        "Mb per CPU s": size / cpu,
                        "Mb per wall s": size / wall,
                        "peak MiB": peak,
                    }
                )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
