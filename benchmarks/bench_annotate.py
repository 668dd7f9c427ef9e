"""Time and memory of ``seqmtl annotate``, from a genome without labels to its introns.

    python benchmarks/bench_annotate.py genome.fa --like "Arabidopsis lyrata" [--threads 2]

Prints the megabases of the genome, the rounds of self-training, the introns predicted, CPU and wall
seconds, and the peak memory of the process.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import _toy
from _common import Options, seqmtl, write_result

from seqmtl.io.genome import contig_lengths

QUICK = {"like": "c_elegans", "threads": 1}


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome."""
    _toy.datasets(folder, ("new", "c_elegans"), 25)
    return {"genome": folder / "genomes" / "new.fa"}


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("genome")
    parser.add_argument("--like", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "annotated"
        options = "--like", args.like, "--organism", "new", "--threads", args.threads
        cpu, wall, peak = seqmtl("annotate", args.genome, *options, "-o", output)
        summary = json.loads((output / "summary.json").read_text())
    row = {
        "Mb": sum(contig_lengths(args.genome).values()) / 1e6,
        "threads": args.threads,
        "rounds": len(summary["rounds"]) - 1,
        "introns": summary["introns"],
        "CPU s": cpu,
        "s": wall,
        "peak MiB": peak,
    }
    write_result(args, [row])


if __name__ == "__main__":
    main()
