"""A new organism from few labels: adapting a model of its relatives, and the alternatives.

    python benchmarks/bench_adapt.py DATA.tsv.gz --tree NAME [--sizes 10 30 ...] [--draws 5]

Leaves out every organism of DATA in turn. A model is trained on --per-relative train windows of
each of the others (the default of `seqmtl train`, with the tree). AUPRC on up to --test windows of
the test split of the organism:

    adapt       the model adapted by n labels, placed by the tree
    default     the same, placed by the task kernel of the model: what `seqmtl train` makes of these
                labels beside the windows of the relatives if they are few (a quarter of the median)
    tree        `seqmtl train --selection none -C 1` on the same windows, with the tree
    permuted    the same, with the leaves of the tree shifted by one
    own         the default of `seqmtl train` on the n labels alone
    joint       the default on the n labels and all windows of the relatives, in --joint-draws draws
    mean        the mean of the relatives; no labels
    nearest     the relative that is nearest in the tree; no labels
    single      the best relative, chosen on the test windows; no labels

The labels of a draw are nested; true sites are as frequent as in the train split, or a fifth if
they are rarer. Differences of adapt, and of default and tree, are paired by draw, with their
standard error over draws. CPU seconds of one thread, in this process.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
from typing import Any

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray

from seqmtl import MultiTaskModel, TaskKernel, Windows, read_windows
from seqmtl.adaptation import adapt
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.relations.trees import Tree, read_tree
from seqmtl.sequences import concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings
from seqmtl.training.task_kernels import resolve_kernel

SEED = 7
QUICK = {"sizes": [10], "draws": 1, "per_relative": 20, "test": 60}
#: Values by method, size and organism: one for each draw.
Results = dict[tuple[str, int, str], list[float]]


def train(windows: Windows, tree: Tree | None) -> MultiTaskModel:
    """Train as `seqmtl train` does."""
    windows = windows.with_tasks(windows.tasks)
    names = windows.task_names
    kernel = None if tree is None else resolve_kernel(TaskKernel.from_tree(tree), names)
    return train_with_few(Examples.of(windows), task_kernel=SearchSpace.of_sharing(names, kernel))[
        0
    ]


def permute(tree: Tree) -> Tree:
    """Return the tree with every leaf's name moved to the next leaf."""
    labels = list(tree.labels)
    for leaf, name in zip(tree.leaves, np.roll(tree.leaf_names, 1), strict=True):
        labels[leaf] = str(name)
    return Tree(tree.parents, tree.lengths, tuple(labels), f"{tree.source}, permuted")


def rows_of(windows: Windows, organism: str, n: int, seed: int) -> NDArray[np.int64]:
    """Draw rows of an organism."""
    rows = np.flatnonzero(windows.task_ids == windows.task_names.index(organism))
    return np.sort(np.random.default_rng(seed).permutation(rows)[:n])


def draw(windows: Windows, organism: str, n: int, seed: int) -> Windows:
    """Draw n labels of an organism; those of a smaller n with the same seed are among them."""
    every = rows_of(windows, organism, len(windows), SEED)
    y, rng = windows.labels[every], np.random.default_rng(seed)
    positive, negative = (rng.permutation(every[y == sign]) for sign in (1, -1))
    k = max(round(n * positive.size / every.size), n // 5, 2)
    return windows[np.sort(np.concatenate([positive[:k], negative[: n - k]]))]


class Study:
    """The study of one organism."""

    def __init__(self, data: dict[str, Windows], organism: str, a: argparse.Namespace) -> None:
        self.data, self.organism, self.arguments = data["train"], organism, a
        self.tree = read_tree(a.tree)
        others = [name for name in self.data.task_names if name != organism]
        rows = [rows_of(self.data, name, a.per_relative, SEED) for name in others]
        self.relatives = np.sort(np.concatenate(rows))
        self.model = train(self.data[self.relatives], self.tree)
        self.test = data["test"][rows_of(data["test"], organism, a.test, SEED)]
        self.seconds: dict[str, list[float]] = {}

    def auprc(self, model: MultiTaskModel, task: str | None = None) -> float:
        """Return the AUPRC of a model's scores."""
        scores = model.decision_function(self.test, task or self.organism)
        return RankedScores(self.test.labels > 0, scores).metrics()[1]

    def timed(self, method: str, n: int, work: object) -> float:
        """Return the AUPRC of the model that `work` makes, and keep the CPU time that it takes."""
        started = time.process_time()
        model = work()  # type: ignore[operator]
        self.seconds.setdefault(f"{method} {n}", []).append(time.process_time() - started)
        return self.auprc(model)

    def without_labels(self) -> dict[str, float]:
        """Return the AUPRC of the methods that use no labels."""
        model, name = self.model, self.organism
        single = {task: self.auprc(model, task) for task in model.tasks}
        K = TaskKernel.from_tree(self.tree, [*model.tasks, name]).matrix
        return {
            "adapt": self.auprc(adapt(model, name, tree=self.tree)),
            "permuted": self.auprc(adapt(model, name, tree=permute(self.tree))),
            "mean": self.auprc(adapt(model, "unknown"), "unknown"),
            "nearest": single[model.tasks[int(K[-1, :-1].argmax())]],
            "single": max(single.values()),
        }

    def with_labels(self, n: int, seed: int) -> dict[str, float]:
        """Return the AUPRC of the methods that use labels."""
        own = draw(self.data, self.organism, n, seed)
        both = concatenate([self.data[self.relatives], own])
        both = both.with_tasks(both.tasks)
        model, name = self.model, self.organism
        kernel = resolve_kernel(TaskKernel.from_tree(self.tree), both.task_names)
        plain = {"task_kernel": kernel, "settings": Settings(C=1.0)}
        found = {
            "adapt": self.timed("adapt", n, lambda: adapt(model, name, own, tree=self.tree)),
            "default": self.auprc(adapt(model, name, own)),
            "tree": self.timed("tree", n, lambda: train_with_few(Examples.of(both), **plain)[0]),
            "permuted": self.auprc(adapt(model, name, own, tree=permute(self.tree))),
            "own": self.timed("own", n, lambda: train(own, None)),
        }
        if seed < self.arguments.joint_draws and n in self.arguments.joint_sizes:
            found["joint"] = self.timed("joint", n, lambda: train(both, self.tree))
        return found


def summarize(
    results: Results, sizes: list[int], organisms: list[str], seconds: dict[str, list[float]]
) -> list[dict[str, Any]]:
    """Return every method's mean over draws, and another's difference from it, paired by draw."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        methods = dict.fromkeys(method for method, size, _ in results if size == n)
        for method in methods:
            values = [np.array(results[method, n, o]) for o in organisms]
            first, taken = "default" if method == "tree" else "adapt", seconds.get(f"{method} {n}")
            change = [
                np.array(results[first, n, o])[: value.size] - value
                for o, value in zip(organisms, values, strict=True)
            ]
            gain = np.mean(change, axis=0)
            is_first = method == "adapt"
            rows.append(
                {
                    "labels": n,
                    "method": method,
                    "mean": float(np.mean([value.mean() for value in values])),
                    "another": "" if is_first else first,
                    "difference": "" if is_first else float(gain.mean()),
                    "error": "" if is_first else error(gain),
                    **{o: float(v.mean()) for o, v in zip(organisms, values, strict=True)},
                    "CPU s": float(np.median(taken)) if taken else "",
                }
            )
    return rows


def error(values: NDArray[np.float64]) -> float | str:
    """Return the standard error of a mean, nothing for a single value."""
    return float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else ""


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, _toy.windows)
    parser.add_argument("data")
    parser.add_argument("--tree", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--joint-draws", type=int, default=1)
    parser.add_argument("--joint-sizes", type=int, nargs="*", help="default: all sizes")
    parser.add_argument("--per-relative", type=int, default=2000)
    parser.add_argument("--test", type=int, default=3000)
    arguments = parser.parse_args()
    if arguments.joint_sizes is None:
        arguments.joint_sizes = arguments.sizes
    data = {split: read_windows(arguments.data, split=split) for split in ("train", "test")}
    results: Results = {}
    seconds: dict[str, list[float]] = {}
    organisms = list(data["train"].task_names)
    for organism in organisms:
        study = Study(data, organism, arguments)
        for method, value in study.without_labels().items():
            results[method, 0, organism] = [value]
        for n in arguments.sizes:
            for seed in range(arguments.draws):
                for method, value in study.with_labels(n, seed).items():
                    results.setdefault((method, n, organism), []).append(value)
        for key, values in study.seconds.items():
            seconds.setdefault(key, []).extend(values)
    write_result(arguments, summarize(results, [0, *arguments.sizes], organisms, seconds))


if __name__ == "__main__":
    main()
