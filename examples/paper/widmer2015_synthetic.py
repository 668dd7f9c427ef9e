"""The controlled experiment of Widmer et al. (2015), section 4.2 and Figure 3.

    python examples/paper/widmer2015_synthetic.py --seeds 20 --out results

Tasks are the leaves of a binary tree. Every task has two Gaussian classes in 100 dimensions with
standard deviation 20 and means +-mu_d / 2. At the root, mu_d is all ones; on every edge, the sign
of 5 random dimensions flips. There are 10 training and 1,000 test points per class and task.

Choices made here where the paper is unclear:

- It states depth 4 and 32 leaves, but 2^4 is 16. Here there are 32 leaves, at depth 5.
- C is not given. Here, for every seed, each method uses the C from 1e-5, 1e-4 .. 1e-1 with the best
  mean AUROC on a validation set, drawn like the test set and of the same size. Test points are then
  scored once per seed and method.
- rho_m^t and rho of the groups (2.6.2) are not given; here both are 1.
- Points are divided by sigma, which only rescales C. There is no intercept, because the classes are
  symmetric.

Prints mean AUROC over tasks with 95 % confidence intervals over seeds (Student's t), paired
differences between methods, and the learned weights. Writes into --out: auroc.tsv (one row per seed
and method), figure.png, and seed0.json and so on, from which a run is resumed. Results:
docs/papers.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _shared import Options, kept, with_spread
from numpy.typing import NDArray
from sklearn.base import clone

from seqmtl import MultiTaskMKLClassifier, MultiTaskSVC, TaskKernel
from seqmtl._style import DASHES, GREY, PALETTE, figure_style, new_figure, save_figure

QUICK = {"seeds": 2, "depth": 2, "train": 4, "test": 30}
DIMENSIONS = 100
COSTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
NORMS = (1, 2, 3)

Array = NDArray[np.float64]


def grow_means(depth: int, flips: int, rng: np.random.Generator) -> Array:
    """Return mu_d of every leaf, shape (2^depth, DIMENSIONS), siblings next to each other."""
    means = np.ones((1, DIMENSIONS))
    for _ in range(depth):
        means = np.repeat(means, 2, axis=0)
        for mean in means:
            mean[rng.choice(DIMENSIONS, flips, replace=False)] *= -1.0
    return means


def draw_points(means: Array, n: int, sigma: float, rng: np.random.Generator) -> Array:
    """Return points / sigma, shape (T, 2, n, DIMENSIONS), positives first."""
    centres = 0.5 * np.stack([means, -means], axis=1)
    noise = rng.standard_normal((*centres.shape[:2], n, DIMENSIONS))
    return centres[:, :, None] / sigma + noise


def roc(scores: Array) -> Array:
    """Return the ROC curve of every task from scores of shape (T, 2, n), positives first.

    Entry j of a curve is the recall at the threshold of the (j + 1)-th highest negative, so its
    mean is the AUROC.
    """
    positive, negative = np.sort(scores[:, 0]), np.sort(scores[:, 1])[:, ::-1]
    below = [np.searchsorted(p, q, side="right") for p, q in zip(positive, negative, strict=True)]
    return 1.0 - np.array(below) / positive.shape[1]


def newick(names: Sequence[str]) -> str:
    """Return the binary tree over names, without the semicolon."""
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"({newick(names[:half])},{newick(names[half:])})"


def methods(names: Sequence[str], has_unit_trace: bool) -> dict[str, Any]:
    """Return the estimators to compare, by name."""
    groups = TaskKernel.hierarchical(f"{newick(names)};", names)
    if has_unit_trace:
        traces = np.trace(groups.matrices, axis1=1, axis2=2)
        K = groups.matrices * (len(names) / traces)[:, None, None]
        groups = TaskKernel(names, K, groups.source, labels=groups.labels)
    common = {"fit_intercept": False, "tol": 1e-4, "max_epochs": 5000}
    found: dict[str, Any] = {
        "individual": MultiTaskSVC(task_kernel="individual", **common),
        "union": MultiTaskSVC(task_kernel="union", **common),
        "vanilla MTL": MultiTaskSVC(task_kernel=groups, **common),
    }
    for p in NORMS:
        mkl = MultiTaskMKLClassifier(task_kernel=groups, norm=p, **common)
        found[f"MT-MKL p={p}"] = mkl
    return found


def flatten(points: Array, names: Sequence[str]) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """Return X, labels and tasks of points of shape (T, 2, n, DIMENSIONS)."""
    T, _, n, _ = points.shape
    labels = np.tile(np.repeat([1, -1], n), T)
    return points.reshape(-1, DIMENSIONS), labels, np.repeat(names, 2 * n)


def score(model: Any, points: Array, names: Sequence[str]) -> Array:
    """Return the ROC curve of every task."""
    X, _, tasks = flatten(points, names)
    return roc(model.decision_function(X, tasks).reshape(points.shape[:3]))


def run_seed(seed: int, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Train, tune C and test every method, on fresh data."""
    rng = np.random.default_rng(seed)
    means = grow_means(arguments.depth, arguments.flips, rng)
    names = [f"task{t + 1:02d}" for t in range(len(means))]
    sizes = arguments.train, arguments.test, arguments.test
    costs = COSTS[3:4] if arguments.quick else COSTS
    train, valid, test = (draw_points(means, n, arguments.sigma, rng) for n in sizes)
    X, labels, tasks = flatten(train, names)
    results = {}
    for name, model in methods(names, arguments.unit_trace).items():
        fits = [clone(model).set_params(C=C).fit(X, labels, tasks) for C in costs]
        best = fits[int(np.argmax([score(fit, valid, names).mean() for fit in fits]))]
        curves = score(best, test, names)
        results[name] = {
            "C": best.C,
            "auroc": float(curves.mean()),
            "curve": curves.mean(axis=0).tolist(),
            "weights": getattr(best, "kernel_weights_", []),
        }
    return results


def report(runs: list[dict[str, dict[str, Any]]]) -> str:
    """Format the tables of AUROC, paired differences and weights."""
    auroc = {name: np.array([run[name]["auroc"] for run in runs]) for name in runs[0]}
    lines = [f"{'method':14}{'AUROC':>17}{'  median C':>12}"]
    for name, values in auroc.items():
        C = np.median([run[name]["C"] for run in runs])
        lines.append(f"{name:14}{with_spread(values, '8.4f', 0.95):>17}{C:12.0e}")
    lines += ["", f"{'difference':28}{'AUROC':>17}{'  seeds > 0':>12}"]
    names = list(auroc)
    pairs = [("union", "individual"), ("vanilla MTL", "union")]
    pairs += [(name, other) for name in names[3:] for other in ("vanilla MTL", "union")]
    for name, other in pairs:
        change = auroc[name] - auroc[other]
        text = f"{name} - {other}"
        lines.append(
            f"{text:28}{with_spread(change, '8.4f', 0.95):>17}{(change > 0).sum():9}/{len(runs)}"
        )
    sizes = sorted({len(k["tasks"]) for k in runs[0][names[-1]]["weights"]}, reverse=True)
    heads = "".join(f"{size:>8}" for size in sizes)
    lines += ["", f"{'mean weight of groups of':28}{heads} tasks, in % of all"]
    for name in names[3:]:
        share = np.zeros(len(sizes))
        for run in runs:
            found = run[name]["weights"]
            total = sum(k["weight"] for k in found)
            parts = [[k["weight"] for k in found if len(k["tasks"]) == size] for size in sizes]
            share += [100.0 * np.mean(part) / total / len(runs) for part in parts]
        lines.append(f"{name:28}" + "".join(f"{value:8.2f}" for value in share))
    return "\n".join(lines)


def draw(means: Array, runs: list[dict[str, dict[str, Any]]], path: Path) -> None:
    """Draw Figure 3: the true task similarity of the first seed, and the mean ROC curves."""
    with figure_style():
        figure = new_figure(12.6, 4.4)
        left, right = figure.subplots(1, 2)
        image = left.imshow(means @ means.T, cmap="viridis", vmin=0, vmax=DIMENSIONS)
        left.set(title="(a) True task similarity", xlabel="Task", ylabel="Task")
        figure.colorbar(image, ax=left, label="Dot product of the difference vectors")
        right.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        middle = right.inset_axes((0.54, 0.08, 0.43, 0.43))
        for index, name in enumerate(runs[0]):
            curve = np.mean([run[name]["curve"] for run in runs], axis=0)
            where = (np.arange(curve.size) + 0.5) / curve.size
            look = {"color": PALETTE[index], "linestyle": DASHES[index % 4], "linewidth": 1.3}
            right.plot(where, curve, label=f"{curve.mean():.4f}  {name}", **look)
            inside = (where >= 0.25) & (where <= 0.35)
            middle.plot(where[inside], curve[inside], **look)
        middle.tick_params(labelsize=6.5)
        middle.margins(0.0, 0.02)
        right.indicate_inset_zoom(middle)
        right.set(title="(b) ROC, mean over tasks and seeds", xlim=(0, 1), ylim=(0, 1))
        right.set(xlabel="False positive rate", ylabel="True positive rate")
        figure.legend(loc="outside right upper", title="AUROC", alignment="left")
        save_figure(figure, path)


def main() -> None:
    """Run the experiment."""
    fixed = ("sigma", "unit_trace", "depth", "flips", "train", "test")
    options = Options(__doc__, QUICK, fixed=fixed)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--sigma", type=float, default=20.0, help="standard deviation (20)")
    options.add_argument("--unit-trace", action="store_true", help="scale every K_m to trace T")
    options.add_argument("--depth", type=int, default=5, help="2^depth tasks (5)")
    options.add_argument("--flips", type=int, default=5, help="dimensions per edge (5)")
    options.add_argument("--train", type=int, default=10, help="points per class and task (10)")
    options.add_argument(
        "--test", type=int, default=1000, help="test points per class and task (1000)"
    )
    arguments = options.start()
    runs = []
    for seed in range(arguments.seeds):
        path = arguments.out / f"seed{seed}.json"
        runs.append(kept(path, lambda seed=seed: run_seed(seed, arguments)))
        found = "  ".join(f"{name} {r['auroc']:.4f}" for name, r in runs[-1].items())
        print(f"seed {seed}: {found}", flush=True)
    print(f"\n{report(runs)}")
    with open(arguments.out / "auroc.tsv", "w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream, delimiter="\t", lineterminator="\n")
        table.writerow(["seed", "method", "C", "auroc"])
        for seed, run in enumerate(runs):
            for name, r in run.items():
                table.writerow([seed, name, f"{r['C']:g}", f"{r['auroc']:.6f}"])
    means = grow_means(arguments.depth, arguments.flips, np.random.default_rng(0))
    draw(means, runs, arguments.out / "figure.png")


if __name__ == "__main__":
    main()
