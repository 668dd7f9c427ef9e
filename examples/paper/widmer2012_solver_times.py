"""Solver times of Widmer, Kloft, Goernitz, Raetsch (2012), section 4, Figures 1 and 2.

    python examples/paper/widmer2012_solver_times.py DATA --out results

DATA holds gauss2d/gauss2d.npz, mnist_mtl/mnist_mtl.npz and landmine/landmine.npz, each with X of
shape (n, d), y of -1 and +1, and task of 0..T-1. MNIST is divided by 255, and landmine standardized
by column. Tasks are coupled by a complete graph of weight 1, K = (I + L)^-1. The kernel is linear,
the loss is the hinge, C = 1 (the paper does not give its value), and there is no intercept.

Both solvers get the same problem on one thread:

- dual coordinate descent (DCD): `seqmtl.core.dcd`, without the second-order steps that the
  estimators take, in float64, with the primal objective after epochs at least 5 % of time apart.
  Times start with the matrix X, are taken at the
  end of the epoch, and exclude the evaluation of the objective.
- libsvm: `SVC(kernel="precomputed")` on K[s, t] <x, z>, the multi-task kernel of the paper (which
  used SVMLight), with a cache that holds all of it; dual objective at tolerances from 1.9 to 1e-9.
  Each tolerance is run from scratch, with and without shrinking; the faster run counts, or a run at
  a smaller tolerance if that was faster still. (Stopping runs by max_iter is worse: shrunk examples
  return only near the tolerance.) Times include the kernel matrix, whose time is also shown
  separately.

libsvm has an unregularized intercept b. Two additional examples, the anchors, remove it without
changing the problem: labels +1 and -1, kernel s^2 with themselves, -s^2 with each other, 0 with all
others, s^2 = 1 / (n C), and a cost too large to pay. Their own weight u must satisfy s u >= 1 +
|b|, so the objective grows by n C (1 + |b|)^2 / 2, of which the part n C |b| is more than any b can
save elsewhere. At the optimum b = 0, and the dual variables of the examples are those of the
problem without b. Before the optimum they are feasible for it, so their dual objective counts.
(Mirrored examples, (x, y) and (-x, -y), would have the same effect but take three to four times as
long.)

The function difference is |obj* - obj|, with both objectives recomputed from the dual variables in
extended precision. obj* is the best dual objective reached by DCD, a certified lower bound. Hence
the difference of DCD is not underestimated and that of libsvm not overestimated, and neither is
known more precisely than the duality gap, which is printed. Times to a given difference are
interpolated between points on logarithmic axes.

Every time is the median of --repeats runs (libsvm: a single run above 2 s). The default takes about
8 minutes and 3 GiB. Sizes of datasets that have a file in OUT are not measured again. Also writes
OUT/figure.png. Results: docs/papers.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from _shared import Options, kept
from numpy.typing import NDArray
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from seqmtl import TaskKernel
from seqmtl._style import GREY, PALETTE, figure_style, new_figure, save_figure
from seqmtl.core import dcd
from seqmtl.core.dcd import Progress, Solution, WarmStart
from seqmtl.core.problem import Problem
from seqmtl.features.numeric import NumericRows

TITLES = {"gauss2d": "Gauss2D", "mnist_mtl": "MNIST-MTL", "landmine": "Landmine"}
PAPER = {
    "gauss2d": "n = 1e5, DCD up to 3 magnitudes faster (Fig. 1), up to 2.5 (Fig. 2)",
    "mnist_mtl": "DCD reaches 1e-7 .. 1e-10, MTK stalls at 1e-2 .. 1e-4 on 2 of 4 datasets",
    "landmine": "DCD reaches 1e-7 .. 1e-10; MTK is faster in Fig. 2d",
}
C = 1.0
LEVELS = (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)  # function differences of the table
ENOUGH = 5e-11  # duality gap to stop coordinate descent at
PRECISION = 1e-4  # of Figure 2, relative to obj*
TOLERANCES = (
    1.9,
    1.6,
    1.3,
    *(10.0 ** (-k / 2) for k in range(19)),
)  # libsvm tolerances; the violation at alpha = 0 is 2
SLOW = 2.0  # seconds above which a libsvm run is not repeated

Array = NDArray[np.float64]
Points = list[tuple[float, float]]  # seconds and function difference


@dataclass(frozen=True)
class Sample:
    """Examples of all tasks, and the task kernel."""

    X: Array
    y: Array
    tasks: NDArray[np.intp]
    K: Array

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.y.size

    def take(self, n: int) -> Sample:
        """Return n random examples; smaller samples are subsets of larger ones."""
        rows = np.sort(np.random.default_rng(0).permutation(self.n)[:n])
        return Sample(self.X[rows], self.y[rows], self.tasks[rows], self.K)

    @cached_property
    def signed(self) -> list[tuple[NDArray[np.intp], NDArray[np.longdouble]]]:
        """Examples of every task, and y x in extended precision."""
        parts = [np.flatnonzero(self.tasks == t) for t in range(len(self.K))]
        yX = self.y[:, None] * self.X
        return [(rows, yX[rows].astype(np.longdouble)) for rows in parts]

    def objectives(self, alpha: Array) -> tuple[np.longdouble, np.longdouble]:
        """Return the primal objective of the weights V K, and the dual one, both recomputed."""
        V = np.stack([alpha[rows].astype(np.longdouble) @ part for rows, part in self.signed])
        W = self.K.astype(np.longdouble) @ V
        margins = np.zeros(self.n, dtype=np.longdouble)
        for (rows, part), w in zip(self.signed, W, strict=True):
            margins[rows] = part @ w
        half_q = 0.5 * (alpha * margins).sum()
        loss = np.maximum(0.0, 1.0 - margins).sum()
        return half_q + C * loss, alpha.astype(np.longdouble).sum() - half_q


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a dataset."""
    return folder / name / f"{name}.npz"


def load(folder: Path, name: str) -> Sample:
    """Read a dataset and scale its columns."""
    with np.load(file_of(folder, name), allow_pickle=False) as file:
        X, y, tasks = file["X"].astype(np.float64), file["y"].astype(np.float64), file["task"]
    if name == "mnist_mtl":
        X /= 255.0
    elif name == "landmine":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = [str(t) for t in range(int(tasks.max()) + 1)]
    graph = TaskKernel.graph(np.ones((len(names), len(names))), names)
    return Sample(X, y, tasks.astype(np.intp), graph.matrix)


# ---------------------------------------------------------------- coordinate descent


class LimitReachedError(Exception):
    """The time limit of a run was reached."""


class Watch:
    """Clock of a run, with snapshots of the dual variables; excludes its own time."""

    def __init__(self, tol: float, limit: float) -> None:
        self.tol, self.limit = tol, limit
        self.seconds: list[float] = []
        self.alphas: dict[int, Array] = {}
        self._kept = 0.0
        self._start = time.perf_counter()

    def __call__(self, now: WarmStart, progress: Progress) -> None:
        """Record the time of an epoch, and a snapshot if the last one is old enough."""
        begin = time.perf_counter()
        self.seconds.append(begin - self._start)
        if self.seconds[-1] > 1.05 * self._kept or progress.gap <= self.tol:
            self._kept = self.seconds[-1]
            self.alphas[len(self.seconds) - 1] = now.alpha.copy()
        if self.seconds[-1] > self.limit:
            raise LimitReachedError
        self._start += time.perf_counter() - begin


def descend(sample: Sample, tol: float, on_epoch: Watch | None = None) -> Solution:
    """Run coordinate descent to a relative duality gap."""
    rows = NumericRows(sample.X)
    tasks = sample.tasks.astype(np.int16)
    problem = Problem(rows, sample.y, tasks, sample.K, np.full(sample.n, C), bias_scale=0.0)
    options: dict[str, Any] = {"tol": tol, "max_epochs": 1_000_000, "dtype": np.float64}
    return dcd.solve(problem, on_epoch=on_epoch, **options)


def follow(sample: Sample, tol: float, limit: float) -> Watch:
    """Record one run of coordinate descent."""
    watch = Watch(tol, limit)
    with suppress(LimitReachedError):
        descend(sample, tol, watch)
    return watch


def measure_descent(
    sample: Sample, limit: float, repeats: int
) -> tuple[dict[str, Any], np.longdouble]:
    """Return the results of coordinate descent, and obj*."""
    certified = [time_of(lambda: descend(sample, PRECISION)) for _ in range(repeats)]
    tol = ENOUGH / descend(sample, 1e-6).primal
    runs = [follow(sample, tol, limit) for _ in range(repeats)]
    n_epochs = min(len(run.seconds) for run in runs)  # they differ if the limit was reached
    seconds = np.median([run.seconds[:n_epochs] for run in runs], axis=0)
    objectives = {epoch: sample.objectives(alpha) for epoch, alpha in runs[0].alphas.items()}
    best = max(dual for _, dual in objectives.values())
    points = [
        (float(seconds[epoch]), float(primal - best))
        for epoch, (primal, _) in objectives.items()
        if epoch < n_epochs
    ]
    results = {
        "optimum": float(best),
        "gap": float(min(primal for primal, _ in objectives.values()) - best),
        "epochs": n_epochs,
        "certified": float(np.median(certified)),
        "points": points,
    }
    return results, best


# ---------------------------------------------------------------- libsvm


def kernel_matrix(sample: Sample) -> Array:
    """Return K[s, t] <x, z> of all examples, with the two anchors last."""
    n = sample.n
    G = np.zeros((n + 2, n + 2))
    np.matmul(sample.X, sample.X.T, out=G[:n, :n])
    columns = sample.K[:, sample.tasks]
    for row, task in zip(G, sample.tasks, strict=False):
        row[:n] *= columns[task]
    G[n:, n:] = np.array([[1.0, -1.0], [-1.0, 1.0]]) / (n * C)
    return G


def fit_libsvm(
    G: Array, y: Array, tol: float, *, shrinking: bool = True, has_anchors: bool = True
) -> tuple[Array, float]:
    """Return the dual variables of the examples and the seconds of one run."""
    cost = np.append(np.ones(y.size), np.full(2, 2.0 * y.size * has_anchors))
    model = SVC(
        C=C, kernel="precomputed", tol=tol, shrinking=shrinking, cache_size=64 + G.size / 2**18
    )
    with sklearn.config_context(assume_finite=True):
        seconds = time_of(lambda: model.fit(G, np.append(y, [1.0, -1.0]), sample_weight=cost))
    alpha = np.zeros(cost.size)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha[: y.size], seconds


def time_libsvm(
    G: Array, sample: Sample, tol: float, shrinking: bool, repeats: int
) -> tuple[float, Array]:
    """Return the seconds of a run, repeated unless it is slow, and its dual variables."""
    alpha, first = fit_libsvm(G, sample.y, tol, shrinking=shrinking)
    again = repeats - 1 if first <= SLOW else 0
    more = [fit_libsvm(G, sample.y, tol, shrinking=shrinking)[1] for _ in range(again)]
    return float(np.median([first, *more])), alpha


def measure_libsvm(
    sample: Sample, best: np.longdouble, limit: float, repeats: int
) -> dict[str, Any]:
    """Return the results of libsvm, given obj*."""
    kernel = float(np.median([time_of(lambda: kernel_matrix(sample)) for _ in range(repeats)]))
    G = kernel_matrix(sample)
    times, differences = [kernel], [float(best)]  # at alpha = 0, where the dual objective is 0
    for tol in TOLERANCES:
        both = [time_libsvm(G, sample, tol, shrinking, repeats) for shrinking in (True, False)]
        seconds, alpha = min(both, key=itemgetter(0))
        times.append(kernel + seconds)
        differences.append(float(best - sample.objectives(alpha)[1]))
        if seconds > limit:
            break
    fastest = np.minimum.accumulate(times[::-1])[::-1]
    free = min(
        fit_libsvm(G, sample.y, 1e-3, shrinking=shrinking, has_anchors=False)[1]
        for shrinking in (True, False)
    )
    return {
        "kernel": kernel,
        "with_intercept": kernel + free,
        "points": list(zip(fastest.tolist(), differences, strict=True)),
    }


# ---------------------------------------------------------------- both


def time_of(work: Callable[[], object]) -> float:
    """Return the duration of a call in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def time_to(points: Points, difference: float) -> float:
    """Return when a function difference is first reached, or NaN if never.

    Logarithms are interpolated between points.
    """
    for (before, high), (after, low) in zip([points[0], *points], points, strict=False):
        if low <= difference:
            if high <= difference or low <= 0.0:
                return after
            share = np.log(high / difference) / np.log(high / low)
            return float(before ** (1.0 - share) * after**share)
    return float("nan")


def measure(sample: Sample, limit: float, repeats: int) -> dict[str, Any]:
    """Return the results of both solvers on the same problem."""
    descent, best = measure_descent(sample, limit, repeats)
    return {"dcd": descent, "libsvm": measure_libsvm(sample, best, limit, repeats)}


def run(arguments: argparse.Namespace) -> dict[str, dict[int, dict[str, Any]]]:
    """Measure what the results lack; return them by dataset and size."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    limits = arguments.limit, arguments.repeats
    for name in arguments.data_sets:
        whole, found[name] = load(arguments.data, name), {}
        descend(whole.take(min(whole.n, 500)), 1e-9)  # compile, or load from the cache
        for n in (whole.n >> halving for halving in range(arguments.halvings, -1, -1)):
            path = arguments.out / f"{name}_{n}.json"
            if not path.exists():
                print(f"{TITLES[name]}: {n:,} examples", flush=True)
            found[name][n] = kept(path, lambda w=whole, n=n: measure(w.take(n), *limits))
    return found


def seconds_text(values: Sequence[float]) -> str:
    """Format times as columns; a dash means never."""
    return "".join(f"{'-':>10}" if np.isnan(value) else f"{value:10.3g}" for value in values)


def report(found: dict[str, dict[int, dict[str, Any]]]) -> str:
    """Return the tables of both figures as text."""
    lines = ["Figure 1: seconds to a function difference |obj* - obj|; ratio = libsvm / DCD", ""]
    for name, sizes in found.items():
        n, last = list(sizes.items())[-1]
        dcd, svm = last["dcd"], last["libsvm"]
        reached = [min(low for _, low in part["points"]) for part in (dcd, svm)]
        times = {
            label: [time_to(part["points"], level) for level in LEVELS]
            for label, part in (("DCD", dcd), ("libsvm", svm))
        }
        times["ratio"] = list(np.array(times["libsvm"]) / np.array(times["DCD"]))
        lines += [
            f"{TITLES[name]}, n = {n:,}: obj* = {dcd['optimum']:.12g}, duality gap "
            f"{dcd['gap']:.1e} ({dcd['gap'] / dcd['optimum']:.1e} of obj*), {dcd['epochs']} epochs",
            f"{'':12}" + "".join(f"{level:10.0e}" for level in LEVELS) + "  smallest reached",
            *(
                f"  {label:10}{seconds_text(row)}" + (f"{low:12.1e}" if low else "")
                for (label, row), low in zip(times.items(), [*reached, None], strict=True)
            ),
            f"  kernel matrix of libsvm {svm['kernel']:.3g} s; libsvm with its intercept, which is "
            f"another problem, at tol 1e-3 {svm['with_intercept']:.3g} s in all",
            f"  paper: {PAPER[name]}",
            "",
        ]
    lines += [
        f"Figure 2: seconds to a difference of {PRECISION:g} obj*; DCD stops = has certified it",
        "",
        f"{'':12}{'n':>8}{'DCD':>10}{'DCD stops':>10}{'libsvm':>10}{'ratio':>10}{'to stop':>10}",
    ]
    for name, sizes in found.items():
        for n, both in sizes.items():
            a, b, c = precise_times(both)
            values = seconds_text([a, b, c, c / a, c / b])
            lines.append(f"{TITLES[name]:12}{n:8,}{values}")
    return "\n".join(lines)


def precise_times(both: dict[str, Any]) -> tuple[float, float, float]:
    """Return when DCD reaches PRECISION, when it certifies it, and when libsvm reaches it."""
    goal = PRECISION * both["dcd"]["optimum"]
    first, other = (time_to(both[part]["points"], goal) for part in ("dcd", "libsvm"))
    return first, both["dcd"]["certified"], other


def draw(found: dict[str, dict[int, dict[str, Any]]], path: Path) -> None:
    """Draw Figure 1 in the upper row and Figure 2 in the lower row, a column per dataset."""
    ours, theirs, mark = {"color": PALETTE[0]}, {"color": PALETTE[1]}, {"markersize": 3.5}
    with figure_style():
        figure = new_figure(max(9.0, 3.9 * len(found)), 7.4)  # the width of the legend
        panels = figure.subplots(2, len(found), squeeze=False, sharex="row", sharey="row")
        for (name, sizes), (upper, lower) in zip(found.items(), panels.T, strict=True):
            n, last = list(sizes.items())[-1]
            kernel = last["libsvm"]["kernel"]
            upper.loglog(*shown(last["dcd"]["points"]), **ours, label="DCD, primal objective")
            upper.loglog(
                *shown(last["libsvm"]["points"]),
                "o-",
                **theirs,
                **mark,
                label="libsvm on the multi-task kernel, dual objective",
            )
            upper.axvline(kernel, color=GREY, linestyle=":", label="its kernel matrix is computed")
            upper.set(title=f"{TITLES[name]}, n = {n:,}", xlabel="Seconds")
            first, certified, other = zip(*map(precise_times, sizes.values()), strict=True)
            lower.loglog(list(sizes), certified, "s-", **ours, **mark, label="DCD, certified")
            lower.loglog(list(sizes), first, ":", **ours, label="DCD, reached")
            lower.loglog(list(sizes), other, "o-", **theirs, **mark, label="libsvm, reached")
            lower.set(title=TITLES[name], xlabel="Training examples")
        panels[0, 0].set_ylabel("Function difference |obj* - obj|")
        panels[1, 0].set_ylabel(f"Seconds to a difference of {PRECISION:g} obj*")
        labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside upper center", ncols=3)
        panels[1, 0].legend(loc="upper left")
        figure.supxlabel(
            "The same problem for both: anchors hold libsvm's intercept at 0. One thread; "
            "the time of libsvm includes the kernel matrix.",
            fontsize=8.5,
        )
        save_figure(figure, path)


def shown(points: Points) -> Array:
    """Return seconds and differences, shape (2, n_points), clipped to the axes."""
    return np.maximum(np.array(points).T, 1e-13)


def simulate(folder: Path) -> dict[str, Path]:
    """Write 120 examples of two Gaussian classes of three tasks."""
    rng, tasks = np.random.default_rng(0), np.arange(120) % 3
    y = np.where(rng.random(tasks.size) < 0.3, 1, -1)
    X = rng.standard_normal((y.size, 2)) + 0.4 * y[:, None]
    (folder / "gauss2d").mkdir()
    np.savez(file_of(folder, "gauss2d"), X=X, y=y, task=tasks)
    return {"data": folder}


def main() -> None:
    """Run the experiment."""
    quick = {"data_sets": ["gauss2d"], "halvings": 1, "repeats": 1, "limit": 5.0}
    options = Options(__doc__, quick, simulate, fixed=("repeats", "limit"))
    options.add_argument("data", type=Path, help="folder of the datasets")
    options.add_argument("--data-sets", nargs="+", choices=TITLES, default=list(TITLES))
    options.add_argument(
        "--halvings", type=int, default=5, help="smallest size: n / 2^halvings (5)"
    )
    options.add_argument("--repeats", type=int, default=3, help="runs per measurement (3)")
    options.add_argument(
        "--limit", type=float, default=60.0, help="time limit of one run in seconds (60)"
    )
    arguments = options.start(lambda given: [file_of(given.data, name) for name in given.data_sets])
    with threadpool_limits(1):
        found = run(arguments)
    print(report(found))
    draw(found, arguments.out / "figure.png")


if __name__ == "__main__":
    main()
