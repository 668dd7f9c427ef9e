"""Train organisms on their own, all as one, and jointly; AUROC and AUPRC per organism.

    python benchmarks/bench_joint.py windows.tsv.gz --tree tree.nwk --per-organism 1000 --seeds 5

Per seed: `--per-organism` training windows of each organism (nested: fewer are a part of more; 0
for all), and up to 1,000 others (a fifth, at most 5,000, where all are used) to choose C by the
mean AUPRC. Figures are means over the seeds on the whole test split.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl import TaskKernel, read_windows
from seqmtl.models.fit import train_windows
from seqmtl.models.training import Settings


def split(windows, per_organism: int, seed: int):
    """Return training and validation windows."""
    rng = np.random.default_rng(seed)
    train, valid = [], []
    for t in range(len(windows.task_names)):
        rows = rng.permutation(np.flatnonzero(windows.task_ids == t))
        size = min(5000, rows.size // 5) if not per_organism else 1000
        cut = rows.size - size if not per_organism else per_organism
        train.append(rows[:cut])
        valid.append(rows[cut : cut + size])
    return windows[np.concatenate(train)], windows[np.concatenate(valid)]


def score(model, windows) -> np.ndarray:
    """Return AUROC and AUPRC of every organism, shape (2, T)."""
    scores, tasks = model.decision_function(windows), windows.tasks
    parts = [(windows.labels[tasks == name], scores[tasks == name]) for name in model.tasks]
    return np.array(
        [
            [roc_auc_score(y, f) for y, f in parts],
            [average_precision_score(y, f) for y, f in parts],
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--tree")
    parser.add_argument("--window", type=int)
    parser.add_argument("--per-organism", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("-C", type=float, nargs="+", default=[0.5, 2.0])
    args = parser.parse_args()
    everything = read_windows(args.data, window=args.window, split="train")
    test = read_windows(args.data, window=args.window, split="test")
    names = everything.task_names
    kernels = {
        "individual": TaskKernel.independent(names),
        "union": TaskKernel.union(names),
        "(11' + 3I)/4": TaskKernel.easy(names, 0.25),
    }
    if args.tree:
        kernels["tree"] = TaskKernel.from_newick(args.tree, names)
    print("per seed: positives", [name for name in names])
    figures = {name: [] for name in kernels}
    seconds = dict.fromkeys(kernels, 0.0)
    for seed in range(args.seeds):
        train, valid = split(everything, args.per_organism, seed)
        print(seed, [int((train.labels[train.tasks == n] > 0).sum()) for n in names], flush=True)
        for name, kernel in kernels.items():
            best = None
            for C in args.C:
                started = time.process_time()
                model, _ = train_windows(train, task_kernel=kernel, settings=Settings(C=C))
                seconds[name] += time.process_time() - started
                quality = score(model, valid)[1].mean()
                if best is None or quality > best[0]:
                    best = quality, model
            figures[name].append(score(best[1], test))
    for k, metric in enumerate(("AUROC", "AUPRC")):
        print(f"{metric:14}" + "".join(f"{name[:12]:>14}" for name in names) + f"{'mean':>8}")
        for name, found in figures.items():
            mean = np.mean(found, axis=0)[k]
            print(f"{name:14}" + "".join(f"{v:14.3f}" for v in mean) + f"{mean.mean():8.4f}")
    print("training CPU s:", {name: round(s, 1) for name, s in seconds.items()})


if __name__ == "__main__":
    main()
