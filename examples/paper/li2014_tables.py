"""Compare our results with the tables of Li et al. (2014), from the output of li2014_pareto.py.

    python examples/paper/li2014_tables.py li2014

Prints and writes tables.txt, and its cells as cells.json, into the folder of the results. A cell is
compared with the published one ("within 2 sd" of our splits), and with the best p below 1 by a
paired t-test over the splits at 5 %, as in the paper.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from seqmtl._style import DASHES, PALETTE, figure_style, new_figure, save_figure
from seqmtl.files.write import write_json, write_lines

FRACTIONS = {"letter": (0.1, 0.2, 0.5), "landmine": (0.2, 0.3, 0.5)}
METHODS = ("pareto", "sparse", "partial", "mm-aep", "mm-ep", "baseline")


# Table 1 and 3: p < 1, p = 1, large p; Table 2 and 4: METHODS. By fraction.
PAPER = {
    "robot": {
        0.1: ((90.11, 88.63, 87.01), (90.11, 87.59, 88.61, 92.78, 93.96, 87.93)),
        0.2: ((92.70, 92.36, 91.51), (92.70, 91.81, 92.13, 95.10, 96.59, 91.45)),
        0.5: ((96.12, 96.03, 95.64), (96.12, 95.77, 95.68, 97.71, 98.73, 95.09)),
    },
    "satellite": {
        0.1: ((85.48, 83.79, 82.12), (85.48, 85.43, 85.27, 83.06, 80.94, 82.46)),
        0.2: ((87.78, 85.43, 83.55), (87.78, 87.99, 87.40, 84.63, 82.08, 84.15)),
        0.5: ((90.56, 87.53, 85.60), (90.56, 92.18, 90.52, 86.85, 85.49, 86.32)),
    },
    "vehicle": {
        0.1: ((61.47, 60.61, 46.75), (61.47, 60.58, 60.50, 71.89, 68.31, 60.05)),
        0.2: ((66.97, 65.83, 50.80), (66.97, 67.58, 66.67, 75.07, 73.46, 65.61)),
        0.5: ((73.07, 70.05, 52.70), (73.07, 74.85, 74.04, 78.80, 75.57, 69.89)),
    },
    "steel": {
        0.1: ((73.35, 73.33, 71.49), (73.35, 75.21, 73.03, 65.65, 69.45, 72.98)),
        0.2: ((76.33, 75.82, 72.74), (76.33, 76.44, 75.07, 66.83, 72.45, 75.17)),
        0.5: ((79.30, 76.78, 72.93), (79.30, 78.84, 78.64, 67.54, 75.26, 76.66)),
    },
    "segment": {
        0.1: ((90.22, 88.56, 84.98), (90.22, 90.01, 88.65, 89.27, 85.57, 83.48)),
        0.2: ((92.86, 90.72, 87.71), (92.86, 92.77, 91.17, 91.30, 89.89, 85.30)),
        0.5: ((94.76, 92.66, 90.36), (94.76, 94.49, 94.59, 92.55, 93.15, 86.32)),
    },
    "shuttle": {
        0.1: ((98.77, 97.78, 72.32), (98.77, 98.66, 98.06, 97.22, 97.43, 74.81)),
        0.2: ((99.20, 98.74, 76.03), (99.20, 99.08, 98.83, 97.56, 97.72, 78.94)),
        0.5: ((99.28, 98.71, 80.71), (99.28, 99.66, 99.43, 97.98, 98.37, 82.59)),
    },
    "letter": {
        0.1: ((83.95, 81.45, 77.67), (83.95, 83.00, 80.86, 83.92, 81.73, 81.33)),
        0.2: ((87.51, 86.42, 85.60), (87.51, 87.09, 82.95, 86.77, 84.14, 86.39)),
        0.5: ((90.61, 90.01, 89.80), (90.61, 90.65, 84.87, 88.94, 86.43, 89.80)),
    },
    "landmine": {
        0.2: ((69.59, 67.24, 65.01), (69.59, 58.89, 66.60, 59.27, 69.69, 66.64)),
        0.3: ((74.15, 71.62, 69.00), (74.15, 65.83, 70.89, 61.06, 73.62, 71.14)),
        0.5: ((77.42, 76.96, 74.06), (77.42, 75.82, 76.08, 67.34, 76.40, 76.29)),
    },
}
DATASETS = (
    "vehicle",
    "steel",
    "shuttle",
    "letter",
    "landmine",
    "robot",
    "robot-4",
    "satellite",
    "segment",
)


def read_runs(out: Path, name: str, fraction: float) -> list[dict]:
    """Return the results of every split."""
    files = out.glob(f"{name}-{fraction:g}-*.json")
    return [json.loads(path.read_text()) for path in sorted(files) if path.stem[-1].isdigit()]


def collect(out: Path, name: str, fraction: float) -> dict[str, np.ndarray] | None:
    """Return accuracies over the splits, by table row."""
    runs = read_runs(out, name, fraction)
    if not runs:
        return None
    by_p = {p: np.array([run["pareto"][p]["accuracy"] for run in runs]) for p in runs[0]["pareto"]}
    below = max((p for p in by_p if float(p) < 1), key=lambda p: by_p[p].mean())
    rows = {"p < 1": by_p[below], "p = 1": by_p["1.0"], "p = inf": by_p["inf"]}
    rows["pareto"] = by_p[below]
    for method in METHODS[1:]:
        if method.startswith("mm"):  # the best setting, as in the paper
            every = [[run[method][setting] for run in runs] for setting in runs[0][method]]
            rows[method] = np.array(max(every, key=np.mean))
        else:
            rows[method] = np.array([next(iter(run[method].values())) for run in runs])
    tasks = {
        p: np.mean([run["pareto"][p]["tasks"] for run in runs], axis=0) for p in (below, "inf")
    }
    rows["better tasks"] = np.array([(tasks[below] > tasks["inf"]).sum(), tasks["inf"].size])
    return rows


def write_tables(out: Path) -> str:
    """Return and write Tables 1 to 4 with our figures next to the paper's; write their cells."""
    lines: list[str] = []
    cells: list[dict] = []
    for title, keys, part in (
        ("Tables 1 and 3: accuracy by p", ("p < 1", "p = 1", "p = inf"), 0),
        ("Tables 2 and 4: accuracy by method", METHODS, 1),
    ):
        lines += [
            f"{title}; against {keys[0]}: paired t-test, 5 %",
            f"{'data':<10} {'size':>5} {'row':<9} {'ours':>13} {'paper':>7}  verdict",
        ]
        for name in DATASETS:
            for fraction in FRACTIONS.get(name, (0.1, 0.2, 0.5)):
                rows = collect(out, name, fraction)
                if rows is None:
                    continue
                paper = PAPER[name.removesuffix("-4")][fraction][part]
                for key, published in zip(keys, paper, strict=True):
                    cell = {"data": name, "fraction": fraction, "row": key}
                    cell |= judge(rows[key], published, rows[keys[0]])
                    cells.append(cell)
                    spread = f"± {cell['sd']:<4.2f}" if cell["splits"] > 1 else ""
                    lines.append(
                        f"{name:<10} {fraction:>5.0%} {key:<9} {cell['mean']:>6.2f} {spread:<6} "
                        f"{published:>7.2f}  {cell['verdict']:<11} {cell['against']}".rstrip()
                    )
                if part == 0:
                    better, every = rows["better tasks"]
                    lines.append(
                        f"{'':<17}tasks better at p < 1 than at infinity: {better} of {every}"
                    )
        lines.append("")
    lines.append("mean over the cells; against the best p < 1: cells worse, equal, better")
    for row in dict.fromkeys(cell["row"] for cell in cells):
        mine = [cell for cell in cells if cell["row"] == row]
        ours, paper = (np.mean([cell[key] for cell in mine]) for key in ("mean", "paper"))
        words = [cell["against"] for cell in mine]
        counts = ", ".join(str(words.count(word)) for word in ("worse", "equal", "better"))
        lines.append(f"{row:<9} ours {ours:.2f}, paper {paper:.2f}; {counts}")
    text = "\n".join(lines) + "\n"
    write_lines(out / "tables.txt", [text])
    write_json(out / "cells.json", cells)
    return text


def judge(ours: np.ndarray, paper: float, best: np.ndarray) -> dict:
    """Compare accuracies over the splits with a published one, and with those of the best p < 1."""
    mean = float(ours.mean())
    sd = float(ours.std(ddof=1)) if ours.size > 1 else 0.0
    near = abs(mean - paper) <= 2.0 * sd
    verdict = "within 2 sd" if near else ("above" if mean > paper else "below")
    gain, against = ours - best, ""
    if ours.size > 1:
        least = student.ppf(0.975, ours.size - 1) * gain.std(ddof=1) / np.sqrt(ours.size)
        against = "better" if gain.mean() > least else "worse" if gain.mean() < -least else "equal"
    return {
        "mean": mean,
        "sd": sd,
        "splits": ours.size,
        "paper": paper,
        "verdict": verdict,
        "against": against,
    }


def draw(out: Path, name: str, fraction: float) -> None:
    """Draw Figures 1 to 3: objectives, change in task accuracy, and accuracy, against p."""
    runs = [run["pareto"] for run in read_runs(out, name, fraction)]
    p = [float(key) for key in runs[0]]
    x = [value if np.isfinite(value) else 100.0 for value in p]
    objectives, tasks, accuracy = (
        np.array([[run[str(q)][key] for q in p] for run in runs])
        for key in ("objectives", "tasks", "accuracy")
    )
    one, change, mean = p.index(1.0), tasks.mean(axis=0), accuracy.mean(axis=0)
    with figure_style():
        figure = new_figure(14.0, 4.0)
        panels = figure.subplots(1, 3)
        panels[0].plot(x, objectives.mean(axis=0), marker=".")
        panels[0].set(title="Objectives of the tasks (Fig. 1)", ylabel="$g_t$", yscale="log")
        lines = panels[1].plot(x, change - change[one], marker=".")
        panels[1].set(title="Accuracy of the tasks less that at p = 1 (Fig. 2)", ylabel="percent")
        names = [f"task {t + 1} ({rate:.1f} %)" for t, rate in enumerate(change[one])]
        panels[1].legend(lines, names)
        panels[2].errorbar(x, mean, accuracy.std(axis=0), marker=".", capsize=3)
        panels[2].axhline(mean[one], color=PALETTE[1], linestyle=DASHES[1], linewidth=1)
        panels[2].set(title="Accuracy over all classes (Fig. 3)", ylabel="percent")
        for panel in panels:
            panel.set(xscale="log", xlabel="p (100 stands for infinity)")
        figure.suptitle(f"{name}, {fraction:.0%} of the examples, {len(runs)} splits")
        save_figure(figure, out / "pareto.png")


def main() -> None:
    """Write the tables of a folder anew."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path, help="folder that li2014_pareto.py wrote")
    out = options.parse_args().out
    if not any(out.glob("*-*-0.json")):
        options.error(f"{out} has no results of li2014_pareto.py")
    print(write_tables(out), end="")


if __name__ == "__main__":
    main()
