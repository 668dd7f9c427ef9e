"""Splice sites of held-out contigs: seqmtl against minisplice, same genome, same candidates.

    python benchmarks/bench_against_minisplice.py minisplice DONOR_DIR DONOR_MODEL \
        ACCEPTOR_DIR ACCEPTOR_MODEL --organism p_falciparum

The folders are of ``seqmtl dataset`` with ``[decoys] test = "all"``, split by contigs; the models
were trained on them. minisplice (github.com/lh3/minisplice, a program of its own) is trained with
its defaults on the annotation of all contigs but those of test, and predicts these. Prints, for
each signal, AUROC, AUPRC and the precision over the genome of both on every candidate of the test
contigs, and the seconds of both from FASTA to splice scores, one thread, start-up included.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import make_parser

from seqmtl import MultiTaskModel, read_annotation, read_dataset
from seqmtl.evaluation import evaluate


def main() -> None:
    """Run the comparison."""
    parser = make_parser(__doc__)
    parser.add_argument("minisplice")
    for signal in ("donor", "acceptor"):
        parser.add_argument(f"{signal}_dir", type=Path)
        parser.add_argument(f"{signal}_model")
    parser.add_argument("--organism", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cut(args.donor_dir, args.organism, folder)
        raw = run_minisplice(args.minisplice, folder)
        started = time.perf_counter()
        for model in (args.donor_model, args.acceptor_model):
            _call(
                [sys.executable, "-m", "seqmtl", "scan", model, folder / "test.fa", "--organism",
                 args.organism, "--threads", 1, "-q", "-o", folder / "scan.spsc"]
            )  # fmt: skip
        print(f"seqmtl scan, two models: {time.perf_counter() - started:.1f} s")
    for signal, letter in (("donor", "D"), ("acceptor", "A")):
        compare(
            getattr(args, f"{signal}_dir"), getattr(args, f"{signal}_model"), args.organism, raw,
            letter,
        )  # fmt: skip


def cut(dataset: Path, organism: str, folder: Path) -> None:
    """Write genome and annotation of the contigs of test, and of all others."""
    summary = json.loads((dataset / "summary.json").read_text())
    if summary["organisms"][organism]["split_by"] == "blocks":
        sys.exit(f"{dataset}: {organism} is split by blocks; minisplice needs whole contigs")
    test = {name.rsplit(":", 1)[0] for name in _windows(dataset, organism, "test").names}
    path = dataset / summary["genomes"][organism]["path"]
    opened: Any = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as stream:
        records = stream.read().split(">")[1:]
    for name, wanted in (("test", True), ("train", False)):
        own = [r for r in records if (r.split(None, 1)[0] in test) == wanted]
        (folder / f"{name}.fa").write_text("".join(f">{record}" for record in own))
    annotation = summary["config"]["organisms"][organism]["annotation"]
    rows = []
    for transcript in read_annotation(annotation).transcripts:
        sizes = ",".join(str(end - start) for start, end in transcript.exons)
        starts = ",".join(str(start - transcript.start) for start, _ in transcript.exons)
        place = f"{transcript.contig}\t{transcript.start}\t{transcript.end}"
        strand = "-" if transcript.is_reverse else "+"
        thick = f"{transcript.start}\t{transcript.end}"
        if transcript.contig not in test:
            rows.append(
                f"{place}\t{transcript.name}\t0\t{strand}\t{thick}\t0\t{len(transcript.exons)}\t"
                f"{sizes},\t{starts},\n"
            )
    (folder / "train.bed").write_text("".join(rows))


def run_minisplice(program: str, folder: Path) -> dict[tuple[str, str, int, str], float]:
    """Train and predict; return the probability by letter, contig, start of the site, strand."""
    for name, command in (
        ("windows.txt", ["gentrain", "train.bed", "train.fa"]),
        ("log.txt", ["train", "-t1", "-o", "model.kan", "windows.txt"]),
        ("raw.tsv", ["predict", "-t1", "model.kan", "test.fa"]),
    ):
        started = time.perf_counter()
        with open(folder / name, "w") as stream:
            _call([os.path.abspath(program), *command], cwd=folder, stdout=stream)
        print(f"minisplice {command[0]}: {time.perf_counter() - started:.1f} s")
    found = {}
    with open(folder / "raw.tsv") as stream:
        for line in stream:
            contig, offset, strand, letter, value = line.split("\t")
            first = int(offset) - (0 if (letter == "D") == (strand == "+") else 2)
            found[letter, contig, first, strand] = float(value)
    return found


def compare(
    dataset: Path,
    path: str,
    organism: str,
    raw: dict[tuple[str, str, int, str], float],
    letter: str,
) -> None:
    """Print how good both are on all candidates of the test contigs."""
    windows = _windows(dataset, organism, "test")
    offset = json.loads((dataset / "summary.json").read_text())["site"]["offset"]
    other = np.empty(len(windows))
    for row, name in enumerate(windows.names):
        contig, rest = name.rsplit(":", 1)
        start, end = map(int, rest[:-3].split("-"))
        first = start + offset if rest[-2] == "+" else end - offset - 2
        other[row] = raw[letter, contig, first, rest[-2]]
    own = MultiTaskModel.load(path).decision_function(windows)
    for label, scores in (("minisplice", other), ("seqmtl", own)):
        result = evaluate(windows.labels, scores, windows.tasks, weights=windows.weights)
        task = result["tasks"][organism]
        low, high = task["auprc_interval"]
        precision = " ".join(f"{p:.3f}" for p in task["genome"]["precision_at_recall"].values())
        print(
            f"{letter} {label:<10} AUROC {task['auroc']:.4f}  AUPRC {task['auprc']:.4f} "
            f"({low:.4f}-{high:.4f})  precision at 50, 80, 95 %: {precision}"
        )


def _windows(dataset: Path, organism: str, split: str) -> Any:
    return read_dataset(dataset, split=split, organism=organism).windows


def _call(command: list[Any], **options: Any) -> None:
    subprocess.run(
        [str(word) for word in command], check=True, stderr=subprocess.DEVNULL, **options
    )


if __name__ == "__main__":
    main()
