"""Tasks of sequences with published splits: one model of each alone, and one of all jointly.

    python benchmarks/bench_sequences.py DATA.tsv.gz --json OUT.json

DATA has the columns task (or organism), label, sequence, and split: train, test and maybe valid.
Models are trained as `seqmtl train` does by default. The Matthews correlation (MCC) is that of two
cut-offs: the best one on valid (0 without such rows), and a score of 0, which is how GUE evaluates.
Differences from the model of the task alone are paired: both are computed on the same bootstrap
samples of the test rows. CPU seconds and peak memory are those of the whole processes of the
training, selection included.

`--distinct K` leaves out test rows that share a K-mer, on either strand, with a training row of
the task. `--lsgkm FOLDER` also runs gkmtrain and gkmpredict, which are in this folder (github.com/
Dongwon-Lee/lsgkm), with the kernels of `--kernels`, such as "2" or "3 -c 10 -g 2". `--kebabs` runs
KeBABS (R) on both strands, which chooses among kernels, such as "spectrumKernel(k=4:6)", and costs
by its own cross-validation; its CPU seconds include scoring. Models and scores stay in `--folder`,
and are not made again.

`--planted N ...` first writes DATA: random sequences of 200 bases, N for the training of each task.
Half are positives; half of the positives have TGACTCA, on either strand.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import _toy
import numpy as np
from _common import Options, measure, seqmtl, write_result
from numpy.typing import NDArray

from seqmtl.evaluation.metrics import RankedScores

QUICK = {"samples": 3, "distinct": 15}
FIGURES = ("MCC", "MCC at 0", "AUROC")
MIRROR = str.maketrans("ACGT", "TGCA")
Array = NDArray[np.float64]
Figures = tuple[float, float, float]  # CPU seconds, wall seconds and peak memory in MB


class Row(NamedTuple):
    """A row of the data."""

    label: int
    split: str
    sequence: str


class Scored(NamedTuple):
    """Scores of the rows of a task by a program, as they stand in the data."""

    scores: Array
    figures: Figures


def simulate(folder: Path) -> dict[str, Any]:
    """Return simulated windows, and a folder of results."""
    return {"data": _toy.windows(folder)["data"], "folder": folder / "runs"}


def plant(sizes: list[int], path: Path) -> None:
    """Write random tasks with this many training sequences, and 1,000 for the test."""
    rng, letters = np.random.default_rng(0), np.frombuffer(b"ACGT", np.uint8)
    data: dict[str, list[Row]] = {}
    for size in sizes:
        rows = data.setdefault(f"{size} sequences", [])
        for i, codes in enumerate(rng.integers(4, size=(size + 1000, 200))):
            sequence = letters[codes].tobytes().decode("ascii")
            if i % 4 == 0:
                at, motif = rng.integers(194), ("TGACTCA", "TGAGTCA")[i // 4 % 2]
                sequence = sequence[:at] + motif + sequence[at + 7 :]
            rows.append(Row(-1 if i % 2 else 1, "train" if i < size else "test", sequence))
    write_table(data, path)


def read(path: str, tasks: list[str] | None) -> dict[str, list[Row]]:
    """Return the rows of every task."""
    rows: dict[str, list[Row]] = {}
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            task = row.get("task") or row["organism"]
            if not tasks or task in tasks:
                sequence = Row(int(row["label"]), row["split"], row["sequence"])
                rows.setdefault(task, []).append(sequence)
    return rows


def write_table(data: dict[str, list[Row]], path: Path) -> None:
    """Write rows as a table that seqmtl reads."""
    lines = [
        "\t".join([task, str(row.label), row.split, row.sequence])
        for task, rows in data.items()
        for row in rows
    ]
    path.write_text("\n".join(["organism\tlabel\tsplit\tsequence", *lines]) + "\n")


def stored(path: Path, run: Callable[[], Figures]) -> Figures:
    """Return the figures of a run, which are written to a file, and read where it exists."""
    if not path.exists():
        path.write_text(json.dumps(run()))
    cpu, wall, peak = json.loads(path.read_text())
    return cpu, wall, peak


def score_by_seqmtl(
    data: dict[str, list[Row]], stem: Path, options: list[str]
) -> dict[str, Scored]:
    """Train a model of tasks, and score all of their rows."""
    table, model, scores = (stem.with_suffix(end) for end in (".tsv", ".seqmtl", ".scores"))

    def run() -> Figures:
        write_table(data, table)
        return seqmtl("train", table, "-o", model, "--threads", 1, *options)

    figures = stored(stem.with_suffix(".json"), run)
    if not scores.exists():
        seqmtl("predict", model, table, "--split", "all", "-o", scores, "--threads", 1)
    with scores.open() as stream:
        columns = list(csv.DictReader(stream, delimiter="\t"))
    values = np.array([float(row["score"]) for row in columns])
    ends = np.cumsum([len(rows) for rows in data.values()])
    return {
        task: Scored(part, figures)
        for task, part in zip(data, np.split(values, ends[:-1]), strict=True)
    }


def score_by_lsgkm(rows: list[Row], stem: Path, programs: Path, kernel: str) -> Scored:
    """Train LS-GKM on a task, and score its rows but those of the training."""
    chosen = {
        "pos": [i for i, row in enumerate(rows) if row.split == "train" and row.label > 0],
        "neg": [i for i, row in enumerate(rows) if row.split == "train" and row.label < 0],
        "new": [i for i, row in enumerate(rows) if row.split != "train"],
    }
    paths = {name: stem.with_suffix(f".{name}.fa") for name in chosen}
    for name, indices in chosen.items():
        paths[name].write_text("".join(f">{i}\n{rows[i].sequence}\n" for i in indices))
    train = [programs / "gkmtrain", "-t", *kernel.split(), paths["pos"], paths["neg"], stem]
    figures = stored(stem.with_suffix(".json"), lambda: measure([*map(str, train)]))
    scores = stem.with_suffix(".scores")
    if not scores.exists():
        words = [paths["new"], f"{stem}.model.txt", scores]
        measure([str(programs / "gkmpredict"), *map(str, words)])
    values = np.zeros(len(rows))
    for line in scores.read_text().splitlines():
        name, value = line.split("\t")
        values[int(name)] = float(value)
    return Scored(values, figures)


def score_by_kebabs(rows: list[Row], stem: Path, kernels: str) -> Scored:
    """Train KeBABS on a task, and score its rows but those of the training."""
    table, scores = stem.with_suffix(".tsv"), stem.with_suffix(".scores")
    write_table({"": rows}, table)
    script = Path(__file__).with_name("kebabs.R")
    words = ["Rscript", str(script), str(table), kernels, str(scores)]
    figures = stored(stem.with_suffix(".json"), lambda: measure(words))
    return Scored(np.loadtxt(scores), figures)


def is_distinct(rows: list[Row], k: int) -> NDArray[np.bool_]:
    """Return whether a row shares no k-mer, on either strand, with the training rows."""

    def kmers(sequence: str) -> Iterator[str]:
        return (sequence[i : i + k] for i in range(len(sequence) - k + 1))

    trained = {
        kmer
        for row in rows
        if row.split == "train"
        for strand in (row.sequence, row.sequence.translate(MIRROR)[::-1])
        for kmer in kmers(strand)
    }
    return np.array([trained.isdisjoint(kmers(row.sequence)) for row in rows])


def correlation(labels: NDArray[np.bool_], calls: NDArray[np.bool_], weights: Array) -> float:
    """Return the Matthews correlation of calls."""
    both, called, true = (weights[rows].sum() for rows in (labels & calls, calls, labels))
    n = weights.sum()
    scale = called * true * (n - called) * (n - true)
    return float((both * n - called * true) / scale**0.5) if scale else 0.0


def best_cut_off(labels: NDArray[np.bool_], scores: Array) -> float:
    """Return the cut-off with the best Matthews correlation, midway between scores."""
    if not labels.size:
        return 0.0
    order = np.argsort(-scores)
    called = np.arange(1, labels.size)
    both, true, n = np.cumsum(labels[order])[:-1], labels.sum(), labels.size
    values = (both * n - called * true) / (called * true * (n - called) * (n - true)) ** 0.5
    values[np.diff(scores[order]) == 0] = -1.0
    best = int(np.argmax(values))
    return float(scores[order][best : best + 2].mean())


def figures_of(labels: NDArray[np.bool_], scores: Array, cut_off: float, n: int) -> Array:
    """Return FIGURES of all rows, then of n bootstrap samples, each stratified by class."""
    rng, weights, samples = np.random.default_rng(0), np.ones(labels.size), []
    calls = [scores > value for value in (cut_off, 0)]
    for i in range(n + 1):
        for of_class in (labels, ~labels) if i else ():
            size = int(of_class.sum())
            weights[of_class] = rng.multinomial(size, np.full(size, 1 / size))
        auroc = RankedScores(labels, scores, weights).metrics()[0]
        samples.append([*(correlation(labels, called, weights) for called in calls), auroc])
    return np.array(samples)


def evaluate(rows: list[Row], scores: Array, tested: NDArray[np.bool_], n: int) -> Array:
    """Return the figures of :func:`figures_of` of a task."""
    labels = np.array([row.label > 0 for row in rows])
    valid = np.array([row.split == "valid" for row in rows])
    cut_off = best_cut_off(labels[valid], scores[valid])
    return figures_of(labels[tested], scores[tested], cut_off, n)


def describe(differences: Array) -> str:
    """Format the difference of all rows, and the 95 % interval of the samples."""
    low, high = np.quantile(differences[1:], (0.025, 0.975))
    return f"{differences[0]:+.3f} ({low:+.3f} to {high:+.3f})"


def as_row(
    task: str, program: str, mine: Array, alone: Array, figures: Sequence[Figures | None], **n: int
) -> dict[str, Any]:
    """Return a row of the result: all figures, and the differences from a model of the task alone.

    CPU seconds of several models are added up; of the joint model they are those of all tasks.
    """
    known = [part for part in figures if part is not None]
    columns: dict[str, float | str] = {}
    for name, my, of_alone in zip(FIGURES, mine.T, alone.T, strict=True):
        columns[name] = float(my[0])
        columns[f"{name} difference"] = describe(my - of_alone) if program != "alone" else ""
    return {
        "task": task,
        "program": program,
        **n,
        **columns,
        "CPU s": sum(part[0] for part in known) if known else "",
        "MB": max(part[2] for part in known) if known else "",
    }


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("data")
    parser.add_argument("--planted", type=int, nargs="+", metavar="N")
    parser.add_argument("--tasks", nargs="+", help="default: all")
    parser.add_argument("--train", default="", help="options of seqmtl train, in one word")
    parser.add_argument("--distinct", type=int, metavar="K")
    parser.add_argument("--lsgkm", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--kernels", nargs="+", default=["2", "4"], help="-t of gkmtrain, with options"
    )
    parser.add_argument("--kebabs", nargs="+", metavar="KERNELS", default=())
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--folder", type=Path, default=Path("runs"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    if arguments.planted:
        plant(arguments.planted, Path(arguments.data))
    data, options = read(arguments.data, arguments.tasks), arguments.train.split()
    programs: dict[str, dict[str, Scored]] = {"alone": {}}
    for task, rows in data.items():
        stem = arguments.folder / f"alone-{task.replace('.', '_')}"
        programs["alone"] |= score_by_seqmtl({task: rows}, stem, options)
    if len(data) > 1:
        programs["joint"] = score_by_seqmtl(data, arguments.folder / "joint", options)
    for kernel in arguments.kernels if arguments.lsgkm else ():
        programs[f"LS-GKM -t {kernel}"] = {
            task: score_by_lsgkm(
                rows,
                arguments.folder / f"lsgkm{kernel.replace(' ', '')}-{task.replace('.', '_')}",
                arguments.lsgkm,
                kernel,
            )
            for task, rows in data.items()
        }
    for kernels in arguments.kebabs:
        name = f"KeBABS {kernels.split('(')[0]}"
        programs[name] = {
            task: score_by_kebabs(
                rows, arguments.folder / f"{name}-{task}".replace(".", "_"), kernels
            )
            for task, rows in data.items()
        }
    samples: dict[str, list[Array]] = {program: [] for program in programs}
    table: list[dict[str, Any]] = []
    for task, rows in data.items():
        is_train, is_tested = (
            np.array([row.split == split for row in rows]) for split in ("train", "test")
        )
        if arguments.distinct:
            is_tested &= is_distinct(rows, arguments.distinct)
        n = {"train": int(is_train.sum()), "test": int(is_tested.sum())}
        for program, scored in programs.items():
            mine = evaluate(rows, scored[task].scores, is_tested, arguments.samples)
            samples[program].append(mine)
            cost = [None if program == "joint" else scored[task].figures]
            table.append(as_row(task, program, mine, samples["alone"][-1], cost, **n))
    total = {name: sum(row[name] for row in table[:: len(programs)]) for name in ("train", "test")}
    for program, scored in programs.items():
        mine, alone = (np.mean(samples[name], axis=0) for name in (program, "alone"))
        figures = [part.figures for part in scored.values()][: 1 if program == "joint" else None]
        table.append(as_row("mean", program, mine, alone, figures, **total))
    write_result(arguments, table)


if __name__ == "__main__":
    main()
