"""Splice sites of held-out contigs: seqmtl against minisplice, same genome, same candidates.

    python benchmarks/bench_against_minisplice.py minisplice DONOR_DIR DONOR_MODEL \
        ACCEPTOR_DIR ACCEPTOR_MODEL --organism p_falciparum [--paired SPLICE_MODEL]

The folders come from ``seqmtl dataset``, split by contigs; the models were trained on them.
minisplice (github.com/lh3/minisplice, installed separately) is trained with its defaults on the
annotation of all contigs except the test contigs, and predicts on these. Prints, for each signal,
AUROC, AUPRC and genome-wide precision of both programs on every candidate of the test contigs, the
difference in AUPRC with the 95 % interval of a paired bootstrap, and the seconds of both from FASTA
to splice scores, on one thread, including start-up.
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

import _toy
import numpy as np
from _common import Options, describe, has_program, resample, seqmtl, write_result

from seqmtl import load, read_annotation
from seqmtl.evaluation import evaluate
from seqmtl.io.dataset import read_split_genome
from seqmtl.scanning.candidate_scores import find_candidates
from seqmtl.scanning.finder import finder_of

QUICK = {
    "minisplice": "",
    "donor_model": "starter:donor",
    "acceptor_model": "starter:acceptor",
    "organism": "c_elegans",
    "paired": "starter:splice",
}


def simulate(folder: Path) -> dict[str, Path]:
    """Return the datasets of simulated genomes."""
    donors, acceptors = _toy.datasets(folder)
    return {"donor_dir": donors, "acceptor_dir": acceptors}


def main() -> None:
    """Run the comparison."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("minisplice")
    for signal in ("donor", "acceptor"):
        parser.add_argument(f"{signal}_dir", type=Path)
        parser.add_argument(f"{signal}_model")
    parser.add_argument("--organism", required=True)
    parser.add_argument("--paired", help="model of seqmtl pair, to be compared as well")
    args = parser.parse_args()
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cut(args.donor_dir, args.organism, folder)
        raw = {}
        if has_program(args.minisplice):
            raw = run_minisplice(args.minisplice, folder, seconds)
        started = time.perf_counter()
        for model in (args.donor_model, args.acceptor_model):
            scan(model, args.organism, folder / "test.fa", folder / "scan.spsc")
        seconds["seqmtl"] = time.perf_counter() - started
        paired = scan_paired(args.paired, args.organism, folder, seconds) if args.paired else {}
    rows = []
    for signal in ("donor", "acceptor"):
        paths = getattr(args, f"{signal}_dir"), getattr(args, f"{signal}_model")
        for row in compare(*paths, args.organism, raw, signal[0].upper(), paired):
            taken = seconds[row["program"]]
            rows.append({"signal": signal, **row, "scan of both signals, s": taken})
    write_result(args, rows)


def scan(model: str, organism: str, genome: Path, output: Path) -> None:
    """Scan a genome on one thread."""
    seqmtl("scan", model, genome, "--organism", organism, "--threads", 1, "-o", output)


def cut(dataset: Path, organism: str, folder: Path) -> None:
    """Write genome and annotation of the test contigs, and of all others."""
    summary = json.loads((dataset / "summary.json").read_text())
    if summary["organisms"][organism]["split_by"] == "blocks":
        sys.exit(f"{dataset}: {organism} is split by blocks; minisplice needs whole contigs")
    rows = [line.split("\t") for line in (dataset / "regions.tsv").read_text().splitlines()]
    test = {row[0] for row in rows if row[3:] == ["test", organism]}
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


def run_minisplice(
    program: str, folder: Path, seconds: dict[str, float]
) -> dict[tuple[str, str, int, str], float]:
    """Train and predict; return the probability by letter, contig, start of the site, strand."""
    for name, command in (
        ("windows.txt", ["gentrain", "train.bed", "train.fa"]),
        ("log.txt", ["train", "-t1", "-o", "model.kan", "windows.txt"]),
        ("raw.tsv", ["predict", "-t1", "model.kan", "test.fa"]),
    ):
        started = time.perf_counter()
        with open(folder / name, "w") as stream:
            subprocess.run(
                [os.path.abspath(program), *command],
                cwd=folder,
                stdout=stream,
                stderr=subprocess.DEVNULL,
                check=True,
            )
    seconds["minisplice"] = time.perf_counter() - started  # of the prediction
    found = {}
    with open(folder / "raw.tsv") as stream:
        for line in stream:
            contig, offset, strand, letter, value = line.split("\t")
            first = int(offset) - (0 if (letter == "D") == (strand == "+") else 2)
            found[letter, contig, first, strand] = float(value)
    return found


def scan_paired(
    model: str, organism: str, folder: Path, seconds: dict[str, float]
) -> dict[tuple[str, str, int, str], float]:
    """Return the log-odds of the posterior by letter, contig, start of the site, strand."""
    started = time.perf_counter()
    scan(model, organism, folder / "test.fa", folder / "pair.spsc")
    seconds["paired"] = time.perf_counter() - started
    scan(model, organism, folder / "test.fa", folder / "pair.bed")
    found = {}
    for letter, signal in (("D", "donor"), ("A", "acceptor")):
        for line in (folder / f"pair.{signal}.bed").read_text().splitlines():
            if not line.startswith("#"):
                row = line.split("\t")
                found[letter, row[0], int(row[1]), row[5]] = float(row[6])
    return found


def compare(
    dataset: Path,
    path: str,
    organism: str,
    raw: dict[tuple[str, str, int, str], float],
    letter: str,
    pairs: dict[tuple[str, str, int, str], float],
) -> list[dict[str, Any]]:
    """Return the accuracy of all programs on all candidates of the test contigs."""
    finder = finder_of(load(path), organism)
    held = read_split_genome(dataset, organism, "test")
    names, begins = held.genome.names, held.genome.starts
    labels, own, other, paired = [], [], [], []
    for block in find_candidates(finder, held):
        block = block.take(block["is_clean"] & (block["labels"] != 0))
        contig = held.genome.contigs.contig_of(block.starts)
        for row in range(len(block)):
            first = int(block.starts[row] - begins[contig[row]])
            key = letter, names[contig[row]], first, "+-"[int(block.is_reverse[row])]
            other.append(raw[key] if raw else 0.0)
            paired.append(pairs.get(key, 0.0))
        labels.append(block["labels"])
        own.append(block["scores"])
    y = np.concatenate(labels)
    methods = {"minisplice": np.array(other)} if raw else {}
    methods["seqmtl"] = np.concatenate(own)
    if pairs:
        methods["paired"] = np.array(paired)
    rows: list[dict[str, Any]] = []
    theirs = resample(y, methods["minisplice"], 200) if raw else None
    for label, scores in methods.items():
        counts = np.ones(y.size, dtype=np.int64)
        result = evaluate(y, scores, np.full(y.size, organism), counts=counts)
        task = result["tasks"][organism]
        low, high = task["auprc_interval"]
        above = ""
        if theirs is not None and label != "minisplice":
            above = describe(resample(y, scores, 200) - theirs)
        rows.append(
            {
                "program": label,
                "AUROC": task["auroc"],
                "AUPRC": task["auprc"],
                "interval": f"{low:.3f} to {high:.3f}",
                "precision at 80 %": task["genome"]["precision_at_recall"]["0.8"],
                "minus minisplice": above,
            }
        )
    return rows


if __name__ == "__main__":
    main()
