"""Worm splice acceptors: seqmtl against the CNN minisplice, on the same rows.

    python benchmarks/bench_worm.py celegans_acceptor.tsv.gz --minisplice PATH

DATA has windows with the AG just before the middle, and columns label, sequence, train_rank (order
of the training rows), split (by chromosome) and split_random: train, test or other. All programs
train as whole processes, on the first rows of `split` and on all of `split_random`. Prints AUPRC on
the test rows, its difference from minisplice and from wd:8 in the same window (95 % intervals of a
paired bootstrap), CPU seconds of training, including start-up, and MB of the model file. minisplice
(github.com/lh3/minisplice, installed separately) uses its default windows of 202 bases and prints
probabilities with four digits. With few rows it is also trained longer, and the better of both
counts.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, describe, has_program, measure, resample, seqmtl, write_result
from numpy.typing import NDArray

Rows = list[dict[str, str]]
FEW = 1_000  # up to this many rows, minisplice needs more steps than its defaults
WIDTH = 202  # of minisplice
ONCE = ["--selection", "none", "-C", "2"]
BASELINE = "wd:8"
QUICK = {
    "splits": ["split"],
    "sizes": [100],
    "windows": [141],
    "resamples": 20,
}


def simulate(folder: Path) -> dict[str, Path]:
    """Return simulated windows; before the AG of true sites are letters of their own."""
    rng, rows = np.random.default_rng(0), ["label\ttrain_rank\tsplit\tsequence"]
    for n in range(240):
        bases, is_true = rng.choice(list("ACGT"), size=398), n % 4 == 0
        bases[197:199] = "A", "G"
        bases[190:195] = list("TTTTC" if is_true else "GCAGA")
        label, split = 1 if is_true else -1, "train" if n < 160 else "test"
        rows.append(f"{label}\t{n}\t{split}\t{''.join(bases)}")
    with gzip.open(folder / "windows.tsv.gz", "wt") as stream:
        stream.write("\n".join(rows) + "\n")
    return {"data": folder / "windows.tsv.gz"}


def main() -> None:
    """Run the comparison."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("data", type=Path)
    parser.add_argument("--minisplice", type=Path, metavar="PATH")
    parser.add_argument("--splits", nargs="+", default=["split", "split_random"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 50_000])
    parser.add_argument("--windows", nargs="+", type=int, default=[141, 202, 398])
    parser.add_argument("--features", nargs="*", default=[], help="try these as well, C = 2")
    parser.add_argument("--no-selection", action="store_true", help="skip the slowest runs")
    parser.add_argument("--resamples", type=int, default=1_000)
    args = parser.parse_args()
    with gzip.open(args.data, "rt", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    lines: list[dict[str, Any]] = []
    for split in args.splits:
        train = [row for row in rows if row[split] == "train"]
        test = [row for row in rows if row[split] == "test"]
        sizes = args.sizes if split == "split" else [len(train)]
        train.sort(key=lambda row: int(row["train_rank"]))
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                lines += compare(train[:size], test, split, Path(folder), args)
    write_result(args, lines)


def compare(train: Rows, test: Rows, split: str, folder: Path, args: Any) -> list[dict[str, Any]]:
    """Train all programs on the same rows; return a line for each."""
    labels = np.array([int(row["label"]) for row in test])
    ways: dict[str, list[str]] = {} if args.no_selection else {"default": []}
    ways["default features, C = 2"] = ONCE
    ways.update({spec: [*ONCE, "--features", spec] for spec in args.features})
    peer, lines = None, []

    def show(name: str, window: int, found: tuple[Any, float, float], *others: Any) -> Any:
        scores, cpu, size = found
        samples = resample(labels, scores, args.resamples)
        above = ["" if other is None else describe(samples - other) for other in others]
        lines.append(
            {
                "split": split,
                "windows": len(train),
                "length": window,
                "program": name,
                "AUPRC": float(samples[0]),
                **dict(zip(("above minisplice", "above wd:8"), [*above, "", ""], strict=False)),
                "CPU s": cpu,
                "MB": size,
            }
        )
        return samples

    if has_program(args.minisplice):
        tuned: list[list[str]] = [["-m16", "-e50"]] if len(train) <= FEW else []
        for options in ([], *tuned):
            found = run_minisplice(args.minisplice.resolve(), options, train, test, folder)
            samples = show(" ".join(["minisplice", *options]), WIDTH, found)
            peer = samples if peer is None or samples[0] > peer[0] else peer
    for window in args.windows:
        tables = [folder / name for name in ("train.tsv", "test.tsv")]
        for table, rows in zip(tables, (train, test), strict=True):
            text = "".join(f"worm\t{row['label']}\t{cut(row, window)}\n" for row in rows)
            table.write_text(f"organism\tlabel\tsequence\n{text}")
        found = run_seqmtl([*ONCE, "--features", BASELINE], *tables)
        baseline = show(BASELINE, window, found, peer)
        for name, options in ways.items():
            show(name, window, run_seqmtl(options, *tables), peer, baseline)
    return lines


def cut(row: dict[str, str], window: int) -> str:
    """Return the bases of a window whose first half ends with the AG."""
    sequence = row["sequence"]
    first = max(0, len(sequence) // 2 - 1 - window // 2)
    return sequence[first : first + window]


def run_seqmtl(options: list[str], train: Path, test: Path) -> tuple[NDArray[Any], float, float]:
    """Train and predict; return test scores, CPU seconds of training, MB of the model."""
    model, scores = train.with_name("worm.seqmtl"), train.with_name("scores.tsv")
    cpu = seqmtl("train", train, *options, "-o", model)[0]
    seqmtl("predict", model, test, "-o", scores)
    found = np.loadtxt(scores, delimiter="\t", skiprows=1, usecols=2)
    return found, cpu, model.stat().st_size / 1e6


def run_minisplice(
    program: Path, options: list[str], train: Rows, test: Rows, folder: Path
) -> tuple[NDArray[Any], float, float]:
    """Train and predict; return the same as `run_seqmtl`."""
    lines = [f"{int(row['label'] == '1')}\t{cut(row, WIDTH)}\n" for row in train]
    (folder / "train.txt").write_text("".join(lines))
    records = [f">{n}\n{cut(row, WIDTH)}\n" for n, row in enumerate(test)]
    (folder / "test.fa").write_text("".join(records))
    model = folder / "worm.kan"
    command = [program, "train", "-t1", *options, "-o", model, folder / "train.txt"]
    cpu = measure([str(word) for word in command])[0]
    command = [program, "predict", "-t1", "-a", model, folder / "test.fa"]
    printed = subprocess.run(
        command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout
    scores = np.full(len(test), np.nan)
    for line in printed.splitlines():
        record, offset, strand, letter, value = line.split("\t")
        if (int(offset), strand, letter) == (WIDTH // 2 + 1, "+", "A"):
            scores[int(record)] = float(value)
    return scores, cpu, model.stat().st_size / 1e6


if __name__ == "__main__":
    main()
