"""Time of the readers and writers of files, against plain libraries and an earlier version.

    python benchmarks/bench_files.py [--rows 300000] [--megabases 60] [--before FOLDER]

The files are simulated: a table of windows of 140 bases, BED of sites, VCF, GFF3, and a genome as
plain, indexed and gzip FASTA. The libraries do less: csv and Biopython do not check what they read.
Prints the least CPU seconds of three runs, those of the library and of the checkout in FOLDER
(`git worktree add FOLDER COMMIT`), and how many times as long this version takes.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _common import Options, write_result

QUICK = {"rows": 300, "megabases": 0.02}
_WINDOW, _LINE = 140, 60


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--rows", type=int, default=300_000, help="of each table")
    parser.add_argument("--megabases", type=float, default=60, help="of the genome")
    parser.add_argument("--before", metavar="FOLDER", help="checkout of an earlier version")
    parser.add_argument("--files", metavar="FOLDER", help="only print the times of these, as JSON")
    arguments = parser.parse_args()
    if arguments.files:
        print(json.dumps({name: least(run) for name, run in readers(arguments.files).items()}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, arguments.rows, int(1e6 * arguments.megabases))
        times = {name: least(run) for name, run in readers(folder).items()}
        earlier = times_of(arguments.before, folder) if arguments.before else {}
        rows = []
        for file, (library, run) in libraries(folder).items():
            row: dict[str, Any] = {"file": file, "CPU s": times[file], "library": library}
            row["library CPU s"] = least(run)
            row["times library"] = times[file] / row["library CPU s"]
            if earlier:
                row["times before"] = times[file] / earlier[file]
            rows.append(row)
    write_result(arguments, rows)


def least(run: Callable[[], Any]) -> float:
    """Return the least CPU seconds of three runs."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return max(min(seconds), 1e-6)


def times_of(checkout: str, folder: Path) -> dict[str, float]:
    """Return the times of another version."""
    answer = subprocess.run(
        [sys.executable, __file__, "--files", folder],
        env={**os.environ, "PYTHONPATH": checkout},
        stdout=subprocess.PIPE,
        check=True,
    )
    times: dict[str, float] = json.loads(answer.stdout)
    return times


def write_files(folder: Path, n: int, n_bases: int) -> None:
    """Simulate the files."""
    generator = random.Random(0)
    lines = ["".join(generator.choices("ACGT", k=_LINE)) for _ in range(n_bases // _LINE + 4)]
    genome = folder / "genome.fa"
    genome.write_text("\n".join([">chr1", *lines, ""]))
    (folder / "genome.fa.gz").write_bytes(gzip.compress(genome.read_bytes(), 6))
    indexed = folder / "indexed.fa"
    indexed.write_bytes(genome.read_bytes())
    row = f"chr1\t{_LINE * len(lines)}\t6\t{_LINE}\t{_LINE + 1}\n"
    (folder / "indexed.fa.fai").write_text(row)
    positions = sorted(generator.choices(range(_WINDOW, n_bases), k=n))
    signs = generator.choices("+-", k=n)
    letters = "".join(generator.choices("ACGT", k=n + _WINDOW))
    tables = {
        "windows.tsv": (
            f"worm\t{-1 if i % 4 else 1}\t{letters[i : i + _WINDOW]}\ttrain" for i in range(n)
        ),
        "sites.bed": (
            f"chr1\t{start}\t{start + 2}\tsite\t1\t{sign}"
            for start, sign in zip(positions, signs, strict=True)
        ),
        "variants.vcf": (f"chr1\t{start}\t.\tA\tC\t50\tPASS\tAC=1" for start in positions),
        "genes.gff3": (
            f"chr1\t.\texon\t{start}\t{start + 9}\t.\t+\t.\tParent=gene{i // 5}"
            for i, start in enumerate(positions)
        ),
    }
    heads = {
        "windows.tsv": "organism\tlabel\tsequence\tsplit\n",
        "variants.vcf": "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n",
    }
    for name, rows in tables.items():
        (folder / name).write_text(heads.get(name, "") + "\n".join(rows) + "\n")


def readers(folder: str | Path) -> dict[str, Callable[[], Any]]:
    """Return what this version does with each file."""
    from seqmtl.files.bgzip import bgzip
    from seqmtl.io import load_genome, read_annotation, read_windows
    from seqmtl.io.vcf import VcfReader

    folder = Path(folder)
    text = (folder / "sites.bed").read_bytes()
    return {
        "windows.tsv": lambda: read_windows(folder / "windows.tsv"),
        "variants.vcf": lambda: [*VcfReader(folder / "variants.vcf").batches(1000)],
        "genes.gff3": lambda: read_annotation(folder / "genes.gff3"),
        "genome.fa": lambda: load_genome(folder / "genome.fa", padding=1),
        "indexed.fa": lambda: load_genome(folder / "indexed.fa", padding=1, only={"chr1"}),
        "genome.fa.gz": lambda: load_genome(folder / "genome.fa.gz", padding=1),
        "sites.bed.gz (written)": lambda: bgzip(text),
    }


def libraries(folder: Path) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return what a plain library does with each file."""
    from Bio.SeqIO.FastaIO import SimpleFastaParser
    from pyfaidx import Faidx

    def rows(name: str) -> list[list[str]]:
        with open(folder / name, encoding="utf-8", newline="") as stream:
            return [*csv.reader(stream, delimiter="\t")]

    def records(name: str) -> list[tuple[str, str]]:
        open_file: Any = gzip.open if name.endswith(".gz") else open
        with open_file(folder / name, "rt") as stream:
            return [*SimpleFastaParser(stream)]

    def fetch() -> str:
        with Faidx(folder / "indexed.fa", as_raw=True) as file:
            letters: str = file.fetch("chr1", 1, file.index["chr1"].rlen)
        return letters

    text = (folder / "sites.bed").read_bytes()
    tables = ("windows.tsv", "variants.vcf", "genes.gff3")
    genomes = ("genome.fa", "genome.fa.gz")
    return {
        **{name: ("csv", lambda name=name: rows(name)) for name in tables},
        **{name: ("Biopython", lambda name=name: records(name)) for name in genomes},
        "indexed.fa": ("pyfaidx", fetch),
        "sites.bed.gz (written)": ("gzip", lambda: gzip.compress(text, 6)),
    }


if __name__ == "__main__":
    main()
