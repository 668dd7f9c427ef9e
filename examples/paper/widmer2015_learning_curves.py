"""Learning curves of individual, union, multi-task and multi-kernel models, organism by organism.

The protocol of Widmer, Kloft, Sreedharan, Raetsch (2015), section 4.3, at several training sizes:

    python examples/paper/widmer2015_learning_curves.py tss.tsv.gz --tree epdnew_complete \
        --sizes 100 300 1000 --splits 10 --out curves

Each size is one run of `seqmtl compare` (nested samples, cost tuned by cross-validation,
resumable). Writes OUT/N.json for every size, OUT/curves.tsv and OUT/curves.png, and prints where
MT-MKL is worse than the better of individual and union. Further options of `seqmtl compare` may
follow `--`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from seqmtl.cli.main import main as seqmtl

COLOURS = {"individual": "#888888", "union": "#d95f02", "mtl": "#1b9e77", "mkl": "#7570b3"}


def run_sizes(args: argparse.Namespace) -> dict[int, dict]:
    """Compare the methods at every size."""
    args.out.mkdir(parents=True, exist_ok=True)
    found = {}
    for size in args.sizes:
        path = args.out / f"{size}.json"
        code = seqmtl(
            ["compare", args.data, "--tree", args.tree, "--splits", str(args.splits),
             "--per-organism", str(size), "--json", str(path), *args.options]
        )  # fmt: skip
        if code not in (0, 3):
            sys.exit(code)
        found[size] = json.loads(path.read_text())["methods"]
    return found


def collect(found: dict[int, dict], metric: str) -> dict[tuple[str, str], np.ndarray]:
    """Return the metric by method and organism (or "mean"), shape (sizes, splits)."""
    curves = {}
    first = next(iter(found.values()))
    for method, results in first.items():
        for name in results["tasks"]:
            curves[method, name] = np.array(
                [methods[method]["tasks"][name][metric] for methods in found.values()]
            )
        every = [curves[method, name] for name in results["tasks"]]
        curves[method, "mean"] = np.mean(every, axis=0)
    return curves


def draw(curves: dict[tuple[str, str], np.ndarray], sizes: list[int], metric: str, path: Path):
    """Draw one panel per organism."""
    names = list(dict.fromkeys(name for _, name in curves))
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    figure, panels = plt.subplots(
        n_rows, n_columns, figsize=(3.2 * n_columns, 2.7 * n_rows), squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    for panel, name in zip(panels.flat, names, strict=False):
        for method in dict.fromkeys(method for method, _ in curves):
            values = curves[method, name]
            panel.errorbar(
                sizes, values.mean(axis=1), values.std(axis=1), label=method, marker="o", ms=3,
                lw=1.3, capsize=2, color=COLOURS.get(method),
            )  # fmt: skip
        panel.set_xscale("log")
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.set_title(name.replace("_", " "), fontsize=10)
        panel.grid(alpha=0.3)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    panels[0, 0].legend(fontsize=8)
    figure.supxlabel("training windows per organism")
    figure.supylabel(metric.upper())
    figure.savefig(path, dpi=150)
    plt.close(figure)


def write_table(curves: dict[tuple[str, str], np.ndarray], sizes: list[int], path: Path) -> None:
    """Write mean and standard deviation over the splits."""
    lines = ["organism\tmethod\t" + "\t".join(f"{size}\t{size}_sd" for size in sizes)]
    for (method, name), values in curves.items():
        pairs = zip(values.mean(axis=1), values.std(axis=1), strict=True)
        lines.append(f"{name}\t{method}\t" + "\t".join(f"{m:.4f}\t{s:.4f}" for m, s in pairs))
    path.write_text("\n".join(lines) + "\n")


def judge(curves: dict[tuple[str, str], np.ndarray], sizes: list[int]) -> None:
    """Print where MT-MKL is worse than the better of individual and union, with errors."""
    for name in dict.fromkeys(name for _, name in curves):
        both = [curves[method, name].mean(axis=1) for method in ("individual", "union")]
        better = np.where(both[0] >= both[1], 0, 1)
        for s, size in enumerate(sizes):
            rival = ("individual", "union")[better[s]]
            gain = curves["mkl", name][s] - curves[rival, name][s]
            error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.nan
            verdict = "better" if gain.mean() > 0 else "WORSE"
            print(f"{name:20} {size:6}  {gain.mean():+.4f} +- {error:.4f} {verdict} than {rival}")


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--tree", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--metric", choices=("auroc", "auprc_windows"), default="auprc_windows")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("options", nargs="*", help="for seqmtl compare, after --")
    args = parser.parse_args()
    curves = collect(run_sizes(args), args.metric)
    write_table(curves, args.sizes, args.out / "curves.tsv")
    draw(curves, args.sizes, args.metric, args.out / "curves.png")
    judge(curves, args.sizes)


if __name__ == "__main__":
    main()
