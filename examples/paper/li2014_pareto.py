"""Tables 1 to 4 and Figures 1 to 3 of Li, Georgiopoulos, Anagnostopoulos (2014).

    python examples/paper/li2014_pareto.py DATA --out li2014 --jobs 2          # reduced
    python examples/paper/li2014_pareto.py DATA --out li2014 --jobs 2 --full   # as in the paper

DATA is a folder with `uci_robot/uci_robot.npz` and so on (X and class labels y; `ovo_pairs` is not
needed), `letter_ocr/letter_ocr_200.npz` and `landmine/landmine.npz` (X, y of -1 and +1, task).
Every split of every dataset at every size is a file in OUT, so an interrupted run can be resumed.
Writes OUT/tables.txt, OUT/cells.json and OUT/pareto.png; li2014_tables.py writes them anew.

Choices made here where the paper gives no details: kernels are scaled to k(x, x) = 1; the Gaussians
have a spread of 2^-7 ... 2^7; the classes of Steel and Shuttle are the three largest; "10 %" refers
to examples balanced to the size of the smallest class. Robot has 24 sensors here; "Robot-4" uses
the smallest readings in four arcs of 60 degrees, which the archive also offers.

Reduced run: 5 splits instead of 20, at most 650 examples per class (Shuttle has more), and the cost
and parameters of each method are tuned once per dataset and size, on a third of the first split's
training examples, instead of by cross-validation in every split.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the jobs use the cores

import numpy as np
from _kernel_weights import PartiallySharedMKLClassifier, SparseMKLClassifier
from _minimax import MinimaxClassifier
from _shared import Options, kept
from joblib import Parallel, delayed
from li2014_tables import DATASETS, FRACTIONS, METHODS, draw, write_tables
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from seqmtl import (
    IndividualMKLClassifier,
    ParetoMKLClassifier,
    pareto_path,
)
from seqmtl.kernel_mkl.one_vs_one import split_pairs, vote
from seqmtl.kernels import RBF, BaseKernel, Linear, Polynomial


@dataclass(frozen=True)
class Normalized(BaseKernel):
    """Another kernel of numbers scaled to k(x, x) = 1."""

    kernel: BaseKernel

    def __call__(self, X, Z=None):
        """Return the kernel matrix."""
        row, column = (
            np.array([self.kernel(x[None])[0, 0] for x in data]) ** -0.5
            for data in (X, X if Z is None else Z)
        )
        return self.kernel(X, Z) * np.outer(row, column)


TRADE_OFFS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 2.0, 10.0, np.inf)
SPREADS = [2.0**k for k in (-7, -5, -3, -1, 0, 1, 3, 5, 7)]
KERNELS = [Normalized(Linear()), Normalized(Polynomial(2))] + [
    RBF(1.0 / (2.0 * spread**2)) for spread in SPREADS
]
COSTS = (1.0, 10.0, 100.0)
NORMS = (None, 2.0, 1.0)  # norm of the losses in minimax learning; None: the maximum
MINIMAX_COSTS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7)
LARGEST = {"steel": 3, "shuttle": 3}  # classes, if the paper uses fewer than the data have


class Problem(NamedTuple):
    """Examples; `tasks` is None if classes are trained one-vs-one."""

    X: np.ndarray
    y: np.ndarray
    tasks: np.ndarray | None

    def part(self, rows: np.ndarray) -> Problem:
        """Return a subset of the examples."""
        return Problem(self.X[rows], self.y[rows], None if self.tasks is None else self.tasks[rows])

    @property
    def strata(self) -> np.ndarray:
        """Class, and task if there are tasks."""
        groups = self.y if self.tasks is None else np.char.add(self.tasks, self.y.astype(str))
        return np.unique(groups, return_inverse=True)[1]


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a dataset."""
    stem = f"uci_{name.removesuffix('-4')}"
    stem = {"letter": "letter_ocr", "landmine": "landmine"}.get(name, stem)
    return folder / stem / f"{'letter_ocr_200' if name == 'letter' else stem}.npz"


def read_problem(folder: Path, name: str, most: int, rng: np.random.Generator) -> Problem:
    """Read a dataset and draw the same number of examples of every class."""
    data = np.load(file_of(folder, name), allow_pickle=False)
    if name in FRACTIONS:
        tasks = np.char.add("t", np.char.zfill(data["task"].astype(str), 2))
        problem = Problem(data["X"].astype(float), data["y"].astype(int), tasks)
        groups = [(tasks == task, problem.y) for task in np.unique(tasks)]
    else:
        X = data["X"].astype(float)
        X = four_arcs(X) if name.endswith("-4") else X
        problem = Problem(X, data["y"].astype(int), None)
        groups = [(np.ones(len(X), dtype=bool), problem.y)]
    rows = []
    for members, y in groups:
        classes, counts = np.unique(y[members], return_counts=True)
        kept = classes[np.argsort(-counts, kind="stable")[: LARGEST.get(name, counts.size)]]
        pools = [np.flatnonzero(members & (y == c)) for c in kept]
        n = min(most, *(pool.size for pool in pools))
        rows += [rng.permutation(pool)[:n] for pool in pools]
    return problem.part(np.concatenate(rows))


def four_arcs(X: np.ndarray) -> np.ndarray:
    """Return the smallest of five neighbouring readings (60 degrees) on each side of the robot."""
    return np.column_stack([X[:, np.arange(c - 2, c + 3) % 24].min(axis=1) for c in (0, 6, 12, 18)])


def split(problem: Problem, fraction: float, seed: int) -> tuple[Problem, Problem]:
    """Return a stratified split (by class and task), with features scaled to [0, 1]."""
    rng = np.random.default_rng(seed)
    strata, chosen = problem.strata, []
    for group in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == group))
        chosen.append(members[: max(2, round(fraction * members.size))])
    train = np.zeros(len(problem.X), dtype=bool)
    train[np.concatenate(chosen)] = True
    low, high = problem.X[train].min(axis=0), problem.X[train].max(axis=0)
    scaled = problem._replace(X=(problem.X - low) / np.where(high > low, high - low, 1.0))
    return scaled.part(np.flatnonzero(train)), scaled.part(np.flatnonzero(~train))


class OneVsOne:
    """A binary multi-task classifier on the pairs of classes."""

    def __init__(self, model: MinimaxClassifier) -> None:
        self.model = model

    def fit(self, X: np.ndarray, y: np.ndarray, tasks: np.ndarray | None) -> OneVsOne:
        """Train; on pairs of classes if there are no tasks."""
        self.classes = np.unique(y)
        if tasks is not None:
            self.model.fit(X, y, tasks=tasks)
            return self
        self.names, rows, signs, ids = split_pairs(y, self.classes)
        self.model.fit(X[rows], signs, tasks=np.array(self.names)[ids])
        return self

    def predict(self, X: np.ndarray, tasks: np.ndarray | None) -> np.ndarray:
        """Predict classes."""
        if tasks is not None:
            return self.model.predict(X, tasks=tasks)
        scores = [self.model.decision_function(X, tasks=name) for name in self.names]
        return self.classes[vote(np.column_stack(scores), self.classes.size).argmax(axis=1)]


def candidates(method: str) -> list[tuple]:
    """Return the grid of settings of a method; the cost comes first."""
    if method in ("pareto", "baseline"):
        return [(C,) for C in COSTS]
    if method == "partial":
        return list(product(COSTS, (0.25, 0.5, 0.75, 1.0)))
    if method == "sparse":
        return list(product(COSTS, (0.5, 1.0), (1.0, 1.5, 2.0)))
    shares = (0.5,) if method == "mm-aep" else (0.02, 0.1, 0.5)
    return list(product(MINIMAX_COSTS, shares, NORMS))


def build(method: str, setting: tuple, tol: float):
    """Return a classifier."""
    C = setting[0]
    if method == "pareto":
        return ParetoMKLClassifier(KERNELS, p=1.0, C=C, tol=tol)
    if method == "baseline":
        return IndividualMKLClassifier(KERNELS, C=C, tol=tol)
    if method == "partial":
        return PartiallySharedMKLClassifier(KERNELS, share=setting[1], C=C, tol=tol)
    if method == "sparse":
        return SparseMKLClassifier(KERNELS, p=setting[1], q=setting[2], C=C, tol=tol)
    kind = "trace" if method == "mm-aep" else "mean"
    norm = np.inf if setting[2] is None else setting[2]
    return OneVsOne(MinimaxClassifier(kind, C=C, share=setting[1], norm=norm, tol=tol))


def accuracy(model, data: Problem) -> float:
    """Return the accuracy in percent (the mean over tasks, if any)."""
    right = 100.0 * (model.predict(data.X, data.tasks) == data.y)
    if data.tasks is None:
        return float(right.mean())
    return float(np.mean([right[data.tasks == task].mean() for task in np.unique(data.tasks)]))


def task_accuracies(model, data: Problem) -> list[float]:
    """Return the accuracy of each task or pair of classes, in percent."""
    found = []
    for number, name in enumerate(model.tasks_):
        if data.tasks is not None:
            rows = data.tasks == name
            found.append(100.0 * np.mean(model.predict(data.X[rows], name) == data.y[rows]))
            continue
        k = model.classes_.size
        a, b = [(a, b) for a in range(k) for b in range(a + 1, k)][number]
        rows = np.isin(data.y, model.classes_[[a, b]])
        signs = model.decision_function(data.X[rows], name) > 0
        found.append(100.0 * np.mean(signs == (data.y[rows] == model.classes_[b])))
    return [float(value) for value in found]


def choose(method: str, train: Problem, args: argparse.Namespace, C: float | None) -> tuple:
    """Tune the settings of a method within the training examples."""
    settings = candidates(method)[:: args.every]
    if not args.full and C is not None:  # the cost of the first method
        settings = [setting for setting in settings if setting[0] == C]
    if len(settings) == 1:
        return settings[0]
    folds = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)
    if args.full and np.bincount(train.strata).min() >= 3:
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
    means = []
    for setting in settings:
        scores = []
        for fit, held in folds.split(train.X, train.strata):
            part, rest = train.part(fit), train.part(held)
            model = build(method, setting, args.tol).fit(*part[:2], tasks=part.tasks)
            scores.append(accuracy(model, rest))
        means.append(np.mean(scores))
    return settings[int(np.argmax(means))]


def run_unit(job: tuple) -> str:
    """Run all methods on one split unless its file exists; return a status line."""
    args, name, fraction, number = job
    path, started = args.out / f"{name}-{fraction:g}-{number}.json", time.perf_counter()
    warnings.simplefilter("ignore", ConvergenceWarning)

    def run() -> dict:
        most = 10**9 if args.full else args.most
        problem = read_problem(args.data, name, most, np.random.default_rng(number))
        train, test = split(problem, fraction, number)
        chosen = settings_for(args.out / f"{name}-{fraction:g}-settings.json", train, args)
        found = {"settings": chosen, "n_train": len(train.X), "n_test": len(test.X)}
        found["pareto"] = trace(train, test, chosen["pareto"][0], args.tol)
        for method in METHODS[1:]:
            grid = candidates(method)[:: args.every]
            tried = grid if method.startswith("mm") else [chosen[method]]
            models = [build(method, tuple(setting), args.tol) for setting in tried]
            found[method] = {
                json.dumps(setting): accuracy(model.fit(*train[:2], tasks=train.tasks), test)
                for setting, model in zip(tried, models, strict=True)
            }
        return found | {"seconds": round(time.perf_counter() - started, 1)}

    if path.exists():
        return f"{path.name}: already done"
    return f"{path.name}: {kept(path, run)['seconds']} s"


def trace(train: Problem, test: Problem, C: float, tol: float) -> dict[str, dict]:
    """Return the results for every trade-off."""
    path = pareto_path(*train, p=TRADE_OFFS, kernels=KERNELS, C=C, tol=tol)
    return {
        str(p): {
            "accuracy": accuracy(model, test),
            "tasks": task_accuracies(model, test),
            "objectives": model.objectives_.tolist(),
            "theta": model.theta_.tolist(),
        }
        for p, model in zip(path.p, path.estimators, strict=True)
    }


def settings_for(path: Path, train: Problem, args: argparse.Namespace) -> dict[str, list]:
    """Tune all methods; once for all splits unless the run is full."""

    def tuned() -> dict[str, list]:
        chosen: dict[str, list] = {}
        for method in ("pareto", "sparse", "partial", "baseline"):
            C = chosen["pareto"][0] if chosen and method != "baseline" else None
            chosen[method] = list(choose(method, train, args, C))
        return chosen

    return tuned() if args.full else kept(path, tuned)


def simulate(folder: Path) -> dict[str, Path]:
    """Write examples of three classes in a plane."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 50)
    X = rng.standard_normal((y.size, 2)) + 1.5 * np.column_stack([y == 1, y == 2])
    (folder / "uci_vehicle").mkdir()
    np.savez(file_of(folder, "vehicle"), X=X, y=y)
    return {"data": folder}


def main() -> None:
    """Run the missing splits, then write tables and figure."""
    quick = {"datasets": ["vehicle"], "fractions": [0.5], "splits": 2, "jobs": 1}
    quick |= {"most": 12, "every": 9, "tol": 0.1}
    options = Options(__doc__, quick, simulate, fixed=("full", "most", "every", "tol"))
    options.add_argument("data", type=Path)
    options.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    options.add_argument("--splits", type=int, help="default: 5, in full 20")
    options.add_argument("--fractions", type=float, nargs="+", help="default: as in the paper")
    options.add_argument("--most", type=int, default=650, help="examples of a class (650)")
    options.add_argument("--every", type=int, default=1, help="try each such setting of a grid (1)")
    options.add_argument("--tol", type=float, default=1e-3, help="relative duality gap (1e-3)")
    options.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options.add_argument("--full", action="store_true", help="as in the paper; a night")
    args = options.start(lambda given: [file_of(given.data, name) for name in given.datasets])
    n_splits = args.splits or (20 if args.full else 5)
    jobs = [
        (args, name, fraction, number)
        for number in range(n_splits)
        for name in args.datasets
        for fraction in args.fractions or FRACTIONS.get(name, (0.1, 0.2, 0.5))
    ]
    started = time.perf_counter()
    pool = Parallel(n_jobs=args.jobs, return_as="generator_unordered")
    for done, what in enumerate(pool(delayed(run_unit)(job) for job in jobs), 1):
        minutes = (time.perf_counter() - started) / 60
        print(f"{done}/{len(jobs)} {what} ({minutes:.1f} min)", file=sys.stderr, flush=True)
    print(write_tables(args.out), end="")
    shown = next(name for name in ("robot", *args.datasets) if name in args.datasets)
    draw(args.out, shown, (args.fractions or FRACTIONS.get(shown, (0.1,)))[0])


if __name__ == "__main__":
    main()
