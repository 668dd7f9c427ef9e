r"""Multi-task MKL on transcription starts, beside fixed similarities, individual and union models.

Section 4.3 and Figure 4 of Widmer, Kloft, Sreedharan, Raetsch (2015), on your windows, at several
training sizes:

    python examples/paper/widmer2015_learning_curves.py tss.tsv.gz --alignment rrna.fasta \
        --out curves

All organisms with a sequence in the alignment are used. As published: task kernels
exp(-distance / scale) of Hamming distances of ribosomal RNA at scales 0.1, 7.55 and 15, p = 2,
weighted-degree features, cost tuned on training windows, AUROC on test windows, ten splits. The
paper gives no unit of the distances; here they are percent of the columns, so that the smallest
scale makes organisms independent. It gives no p and no degree either.

=================  ===========================================================
individual, union  an SVM per organism, and one for all
fixed              the kernel of the middle scale ("MTL" of the paper)
MKL                learnt weights of all scales ("MT-MKL")
tree               similarity by the tree of average linkage of the distances
hierarchical       learnt weights of the clades of this tree
=================  ===========================================================

Writes OUT/auroc.tsv (by organism), OUT/differences.tsv (MKL minus each other method, paired by
split), OUT/curves.png and the finished runs, from which the same command resumes.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _shared import Options, kept

from seqmtl import PositionalKmers, TaskKernel, Windows, read_windows, use_threads
from seqmtl._names import match_names
from seqmtl._style import DASHES, PALETTE, figure_style, new_figure, save_figure
from seqmtl.comparison import Comparison
from seqmtl.exceptions import UnknownTaskError
from seqmtl.relations import Distances
from seqmtl.relations.distances import linkage_tree, read_alignment_distances
from seqmtl.training.settings import Settings

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _toy

MKL, MEAN = "MKL", "mean"
PUBLISHED = ("individual", "union", "fixed", MKL)  # the methods of the paper
METHODS = (*PUBLISHED, "tree", "hierarchical")
QUICK = {"sizes": [20], "splits": 2, "features": "wd:3", "C": "1"}

#: AUROC of every split, by size, organism (or "mean") and method.
Table = dict[int, dict[str, dict[str, list[float]]]]


def runs(
    distances: Distances, scales: Sequence[float]
) -> list[tuple[TaskKernel, TaskKernel | None, dict[str, str]]]:
    """Return the kernels of "mtl" and "mkl" in every comparison, and what its methods are here."""
    tree, middle = linkage_tree(distances), sorted(scales)[len(scales) // 2]
    fixed = TaskKernel.smooth(distances, [middle / 100])
    smooth = TaskKernel.smooth(distances, [scale / 100 for scale in scales])
    clades = TaskKernel.hierarchical(tree, distances.names)
    by_tree = TaskKernel.from_tree(tree, distances.names)
    return [
        (fixed, None, {"individual": "individual", "union": "union", "mtl": "fixed"}),
        (fixed, smooth, {"mkl": MKL}),
        (by_tree, clades, {"mtl": "tree", "mkl": "hierarchical"}),
    ]


def aligned(windows: Windows, distances: Distances) -> Windows:
    """Return the windows of the organisms that have a sequence in the alignment."""
    found = []
    for t, name in enumerate(windows.task_names):
        try:
            match_names([name], distances.names, distances.source)
        except UnknownTaskError:
            print(f"{name} is not in {distances.source}: left out", flush=True)
        else:
            found.append(t)
    if len(found) < 2:
        sys.exit(f"{distances.source} must have at least two organisms, got {len(found)}")
    windows = windows[np.isin(windows.task_ids, found)]
    return windows.with_tasks(windows.tasks)


def compare(windows: Windows, distances: Distances, args: argparse.Namespace) -> Table:
    """Run every method at every size."""
    found: Table = {}
    names = windows.task_names
    for size in args.sizes:
        table: dict[str, dict[str, list[float]]] = {name: {} for name in [*names, MEAN]}
        for kernel, kernels, called in runs(distances, args.scales):
            comparison = Comparison(
                windows,
                PositionalKmers(args.features),
                Settings(seed=args.seed),
                tuple(map(float, args.C.split(","))),
                kernel,
                kernels,
                train_size=size,
            )
            for method, name in called.items():
                splits = [
                    kept(
                        args.out / f"{size}.{name}.{split}.json",
                        partial(test, comparison, split, method),
                    )
                    for split in range(args.splits)
                ]
                for task in names:
                    table[task][name] = [tasks[task]["auroc"] for tasks in splits]
                table[MEAN][name] = averages(table[task][name] for task in names)
        found[size] = table
    return found


def test(comparison: Comparison, split: int, method: str) -> Any:
    """Return what a method reaches for every organism on a split."""
    return comparison.run(split, method).tasks


def averages(rows: Iterable[Sequence[float]]) -> list[float]:
    """Return the mean of every column."""
    return [statistics.fmean(column) for column in zip(*rows, strict=True)]


def shown(values: Sequence[float], sign: str = "") -> tuple[str, str]:
    """Return the mean, and the standard deviation over the splits, NA for a single one."""
    spread = f"{statistics.stdev(values):.4f}" if len(values) > 1 else "NA"
    return f"{statistics.fmean(values):{sign}.4f}", spread


def differences(row: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return MKL minus every other method, split by split."""
    return {m: [a - b for a, b in zip(row[MKL], row[m], strict=True)] for m in METHODS if m != MKL}


def best(table: dict[str, dict[str, list[float]]], methods: Sequence[str]) -> list[str]:
    """Return the organisms in which MKL has the highest mean of these methods."""
    means = {n: {m: statistics.fmean(row[m]) for m in methods} for n, row in table.items()}
    return [n for n, own in means.items() if n != MEAN and own[MKL] >= max(own.values())]


def report(found: Table) -> str:
    """Return the tables and verdicts as text."""
    lines = []
    for size, table in found.items():
        lines.append(f"\n{size} windows per organism, AUROC: mean and standard deviation of splits")
        lines.append(f"{'':<18}" + "".join(f"{m:>16}" for m in METHODS))
        for name, row in table.items():
            cells = [" ".join(shown(row[m])) for m in METHODS]
            lines.append(f"{name:<18}" + "".join(f"{cell:>16}" for cell in cells))
        gains = [" ".join(shown(own, "+")) for own in differences(table[MEAN]).values()]
        others = [m for m in METHODS if m != MKL]
        pairs = [f"{m} {gain}" for m, gain in zip(others, gains, strict=True)]
        lines.append("MKL minus, paired: " + ", ".join(pairs))
        for what, methods in (("the paper's methods", PUBLISHED), ("all methods", METHODS)):
            own = best(table, methods)
            lines.append(f"MKL is the best of {what} in {len(own)} of {len(table) - 1} organisms")
    return "\n".join(lines)


def write_tables(found: Table, folder: Path) -> None:
    """Write auroc.tsv and differences.tsv."""
    for path, what, tables in (
        ("auroc.tsv", "method", lambda row: row),
        ("differences.tsv", "MKL_minus", differences),
    ):
        with open(folder / path, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerow(["windows", "organism", what, "splits", "mean", "sd"])
            for size, table in found.items():
                for name, row in table.items():
                    for method, values in tables(row).items():
                        writer.writerow([size, name, method, len(values), *shown(values)])


def draw(found: Table, path: Path) -> None:
    """Draw the mean and deviation of every method against the size, a panel per organism."""
    names, sizes = list(next(iter(found.values()))), list(found)
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    with figure_style():
        figure = new_figure(3.0 * n_columns, 2.5 * n_rows + 0.5)
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for panel, name in zip(panels[: len(names)], names, strict=True):
            for m, method in enumerate(METHODS):
                values = [found[size][name][method] for size in sizes]
                spread = [statistics.stdev(own) if len(own) > 1 else 0.0 for own in values]
                beside = [size * 1.03 ** (m - len(METHODS) // 2) for size in sizes]
                panel.errorbar(
                    beside,
                    [statistics.fmean(own) for own in values],
                    spread,
                    label=method,
                    marker="o",
                    markersize=3,
                    linewidth=1.3,
                    capsize=2,
                    color=PALETTE[m],
                    linestyle=DASHES[m % 4],
                )
            limits = (min(sizes) / 1.4, max(sizes) * 1.4)
            panel.set(title=name.replace("_", " "), xscale="log", xlim=limits)
            panel.set_xticks(sizes, [str(size) for size in sizes])
            panel.minorticks_off()
            panel.grid(alpha=0.3)
        for panel in panels[len(names) :]:
            panel.set_visible(False)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(METHODS))
        figure.supxlabel("training windows per organism")
        figure.supylabel("AUROC")
        save_figure(figure, path)


def simulate(folder: Path) -> dict[str, str]:
    """Return simulated windows, and an alignment in which the third organism is the farthest."""
    rng, bases = np.random.default_rng(0), np.array(list("ACGT"))
    first, records = rng.choice(bases, 60), []
    for k, name in enumerate(_toy.ORGANISMS):
        sequence = np.concatenate([rng.choice(bases, 6 * k), first[6 * k :]])
        records.append(f">{name}\n{''.join(sequence)}\n")
    (folder / "rrna.fa").write_text("".join(records))
    return {"data": _toy.windows(folder)["data"], "alignment": str(folder / "rrna.fa")}


def main() -> None:
    """Run the experiment."""
    fixed = ("scales", "features", "C", "seed")
    parser = Options(__doc__, QUICK, simulate, fixed=fixed)
    parser.add_argument("data", help="labelled windows")
    parser.add_argument("--alignment", required=True, help="aligned ribosomal RNA, FASTA")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument(
        "--scales", type=float, nargs="+", default=[0.1, 7.55, 15.0], help="percent (0.1 7.55 15)"
    )
    parser.add_argument("--features", default="wd:6", help="wd:6")
    parser.add_argument("-C", default="0.1,1,10", help="costs (0.1,1,10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.start(lambda given: [Path(given.data), Path(given.alignment)])
    distances = read_alignment_distances(args.alignment)
    windows = aligned(read_windows(args.data), distances)
    with use_threads(args.threads):
        found = compare(windows, distances.restrict(windows.task_names), args)
    write_tables(found, args.out)
    draw(found, args.out / "curves.png")
    print(report(found))


if __name__ == "__main__":
    main()
