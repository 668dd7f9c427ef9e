"""Compare our results with the tables of Li et al. (2014), from the output of li2014_pareto.py.

python examples/paper/li2014_tables.py li2014
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from seqmtl.files.atomic import atomic_write

FRACTIONS = {"letter": (0.1, 0.2, 0.5), "landmine": (0.2, 0.3, 0.5)}
METHODS = ("pareto", "sparse", "partial", "mm-aep", "mm-ep", "baseline")


# Table 1 and 3: p < 1, p = 1, large p; Table 2 and 4: METHODS. By fraction.
PAPER = {
    "robot": {0.1: ((90.11, 88.63, 87.01), (90.11, 87.59, 88.61, 92.78, 93.96, 87.93)),
              0.2: ((92.70, 92.36, 91.51), (92.70, 91.81, 92.13, 95.10, 96.59, 91.45)),
              0.5: ((96.12, 96.03, 95.64), (96.12, 95.77, 95.68, 97.71, 98.73, 95.09))},
    "satellite": {0.1: ((85.48, 83.79, 82.12), (85.48, 85.43, 85.27, 83.06, 80.94, 82.46)),
                  0.2: ((87.78, 85.43, 83.55), (87.78, 87.99, 87.40, 84.63, 82.08, 84.15)),
                  0.5: ((90.56, 87.53, 85.60), (90.56, 92.18, 90.52, 86.85, 85.49, 86.32))},
    "vehicle": {0.1: ((61.47, 60.61, 46.75), (61.47, 60.58, 60.50, 71.89, 68.31, 60.05)),
                0.2: ((66.97, 65.83, 50.80), (66.97, 67.58, 66.67, 75.07, 73.46, 65.61)),
                0.5: ((73.07, 70.05, 52.70), (73.07, 74.85, 74.04, 78.80, 75.57, 69.89))},
    "steel": {0.1: ((73.35, 73.33, 71.49), (73.35, 75.21, 73.03, 65.65, 69.45, 72.98)),
              0.2: ((76.33, 75.82, 72.74), (76.33, 76.44, 75.07, 66.83, 72.45, 75.17)),
              0.5: ((79.30, 76.78, 72.93), (79.30, 78.84, 78.64, 67.54, 75.26, 76.66))},
    "segment": {0.1: ((90.22, 88.56, 84.98), (90.22, 90.01, 88.65, 89.27, 85.57, 83.48)),
                0.2: ((92.86, 90.72, 87.71), (92.86, 92.77, 91.17, 91.30, 89.89, 85.30)),
                0.5: ((94.76, 92.66, 90.36), (94.76, 94.49, 94.59, 92.55, 93.15, 86.32))},
    "shuttle": {0.1: ((98.77, 97.78, 72.32), (98.77, 98.66, 98.06, 97.22, 97.43, 74.81)),
                0.2: ((99.20, 98.74, 76.03), (99.20, 99.08, 98.83, 97.56, 97.72, 78.94)),
                0.5: ((99.28, 98.71, 80.71), (99.28, 99.66, 99.43, 97.98, 98.37, 82.59))},
    "letter": {0.1: ((83.95, 81.45, 77.67), (83.95, 83.00, 80.86, 83.92, 81.73, 81.33)),
               0.2: ((87.51, 86.42, 85.60), (87.51, 87.09, 82.95, 86.77, 84.14, 86.39)),
               0.5: ((90.61, 90.01, 89.80), (90.61, 90.65, 84.87, 88.94, 86.43, 89.80))},
    "landmine": {0.2: ((69.59, 67.24, 65.01), (69.59, 58.89, 66.60, 59.27, 69.69, 66.64)),
                 0.3: ((74.15, 71.62, 69.00), (74.15, 65.83, 70.89, 61.06, 73.62, 71.14)),
                 0.5: ((77.42, 76.96, 74.06), (77.42, 75.82, 76.08, 67.34, 76.40, 76.29))},
}  # fmt: skip
DATASETS = ("vehicle", "steel", "shuttle", "letter", "landmine", "robot", "robot-4", "satellite",
            "segment")  # fmt: skip


# Why a cell is not within two standard deviations: by dataset, then by row, then by distance.
WHY_DATA = {
    "robot": "uses the 24 sensors, on which linear models cannot reach the paper's 93 to 99 %",
    "robot-4": "four readings derived from the 24 by a guess; the archive's files were unavailable",
    "landmine": "on balanced halves no model we tried, union or not, exceeds 70 % at 50 %",
}
WHY_ROW = {
    "p = inf": "all tasks are trained with the kernel found; the paper left out those of weight 0",
    "baseline": "the paper's baseline is worse than a plain SVM",
    "partial": "our settings include mu = 1, the shared kernel",
    "mm-aep": "the paper does not give norm and costs; the best of a grid on the test set is shown",
    "mm-ep": "the paper does not give norm and costs; the best of a grid on the test set is shown",
}
CLOSE = 3.0  # points
WHY_CLOSE = "within 3 points; the paper does not give kernel scale, cost grid and splits"
WHY_FAR = "not explained"


def explain(cell: dict) -> str:
    """Explain a difference from the paper, if there is one."""
    if cell["verdict"] == "within 2 sd":
        return ""
    if cell["data"] in WHY_DATA:
        return WHY_DATA[cell["data"]]
    if abs(cell["mean"] - cell["paper"]) <= CLOSE:
        return WHY_CLOSE
    return WHY_ROW.get(cell["row"], WHY_FAR)


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
    rows = {
        "p < 1": by_p[below],
        "p = 1": by_p["1.0"],
        "p = inf": by_p["inf"],
        "pareto": by_p[below],
    }
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
        lines += [title, f"{'data':<10} {'size':>5} {'row':<9} {'ours':>13} {'paper':>7}  verdict"]
        for name in DATASETS:
            for fraction in FRACTIONS.get(name, (0.1, 0.2, 0.5)):
                rows = collect(out, name, fraction)
                if rows is None:
                    continue
                paper = PAPER[name.removesuffix("-4")][fraction][part]
                for key, published in zip(keys, paper, strict=True):
                    cell = {"data": name, "fraction": fraction, "row": key} | judge(
                        rows[key], published
                    )
                    cell["why"] = explain(cell)
                    cells.append(cell)
                    line = (
                        f"{name:<10} {fraction:>5.0%} {key:<9} {cell['mean']:>6.2f} ± "
                        f"{cell['sd']:<4.2f} {published:>7.2f}  {cell['verdict']:<11} {cell['why']}"
                    )
                    lines.append(line.rstrip())
                if part == 0:
                    better, every = rows["better tasks"]
                    lines.append(
                        f"{'':<17}tasks better at p < 1 than at infinity: {better} of {every}"
                    )
        lines.append("")
    for verdict in ("within 2 sd", "above", "below"):
        lines.append(f"{sum(cell['verdict'] == verdict for cell in cells)} cells {verdict}")
    text = "\n".join(lines) + "\n"
    for name, content in (("tables.txt", text), ("cells.json", json.dumps(cells, indent=1))):
        with atomic_write(out / name) as stream:
            stream.write(content)
    return text


def judge(ours: np.ndarray, paper: float) -> dict:
    """Compare accuracies over the splits with a published one."""
    mean = float(ours.mean())
    sd = float(ours.std(ddof=1)) if ours.size > 1 else 0.0
    near = abs(mean - paper) <= 2.0 * sd
    verdict = "within 2 sd" if near else ("above" if mean > paper else "below")
    return {"mean": mean, "sd": sd, "splits": ours.size, "paper": paper, "verdict": verdict}


def draw(out: Path, name: str, fraction: float) -> None:
    """Draw Figures 1 to 3: objectives, change in task accuracy, and accuracy, against p."""
    import matplotlib.pyplot as plt

    runs = [run["pareto"] for run in read_runs(out, name, fraction)]
    if not runs:
        return
    p = [float(key) for key in runs[0]]
    x = [value if np.isfinite(value) else 100.0 for value in p]
    objectives, tasks, accuracy = (
        np.array([[run[str(q)][key] for q in p] for run in runs])
        for key in ("objectives", "tasks", "accuracy")
    )
    one, change, mean = p.index(1.0), tasks.mean(axis=0), accuracy.mean(axis=0)
    figure, panels = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    panels[0].plot(x, objectives.mean(axis=0), marker=".")
    panels[0].set(title="Objectives of the tasks (Fig. 1)", ylabel="$g_t$", yscale="log")
    lines = panels[1].plot(x, change - change[one], marker=".")
    panels[1].set(title="Accuracy of the tasks less that at p = 1 (Fig. 2)", ylabel="percent")
    names = [f"task {t + 1} ({rate:.1f} %)" for t, rate in enumerate(change[one])]
    panels[1].legend(lines, names, fontsize=7)
    panels[2].errorbar(x, mean, accuracy.std(axis=0), marker=".", capsize=3)
    panels[2].axhline(mean[one], color="red", linestyle="--", linewidth=1)
    panels[2].set(title="Accuracy over all classes (Fig. 3)", ylabel="percent")
    for panel in panels:
        panel.set(xscale="log", xlabel="p (100 stands for infinity)")
        panel.grid(alpha=0.3)
    figure.suptitle(f"{name}, {fraction:.0%} of the examples, {len(runs)} splits")
    figure.savefig(out / "pareto.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    print(write_tables(Path(sys.argv[1])))
