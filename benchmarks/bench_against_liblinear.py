"""Train on a table of windows: seqmtl against scikit-learn's LinearSVC on explicit features.

Measures whole processes, from the file to the model, including start-up: CPU seconds, peak memory
and the objective reached (computed in the same way from the weights). LinearSVC gets the same
weighted-degree features as a CSR matrix. Both alternate, once to warm up and then `--runs` times;
medians are printed.

    python benchmarks/bench_against_liblinear.py windows.tsv.gz --window 141 -C 2
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _toy
from _common import Options, peak_mib, run_alone, write_result

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

QUICK = {"degree": 3, "tol": [1e-5], "liblinear_tol": [1e-5], "runs": 1}


def train_seqmtl(windows: Windows, args: argparse.Namespace, folder: Path) -> tuple[Any, float]:
    """Return weights and intercept of one SVM, which is also written."""
    from seqmtl import PositionalKmers
    from seqmtl.sequences.examples import Examples
    from seqmtl.training.fit import fit
    from seqmtl.training.settings import Settings

    settings = Settings(C=args.C, tol=args.tol[0])
    model, _ = fit(
        Examples.of(windows), features=PositionalKmers(f"wd:{args.degree}"), settings=settings
    )
    model.save(folder / "model.seqmtl")
    return model.weights(model.tasks)[0][:, 0].astype(float), float(model.bias[0])


def train_linear_svc(windows: Windows, args: argparse.Namespace, folder: Path) -> tuple[Any, float]:
    """Return weights and intercept of LinearSVC, which are also written."""
    import numpy as np
    from sklearn.svm import LinearSVC

    from seqmtl import PositionalKmers

    model = LinearSVC(loss="hinge", C=args.C, tol=args.tol[0], max_iter=10**5, random_state=0)
    model.fit(PositionalKmers(f"wd:{args.degree}").transform(windows), windows.labels.astype(float))
    np.savez(folder / "model.npz", w=model.coef_[0], b=model.intercept_)
    return model.coef_[0], float(model.intercept_[0])


TRAINERS = {"seqmtl": train_seqmtl, "LinearSVC": train_linear_svc}


def train_once(args: argparse.Namespace) -> None:
    """Train one program, and print what it took and the objective as JSON."""
    import numpy as np

    from seqmtl import PositionalKmers, read_windows

    length = args.window or None
    windows = read_windows(args.data, window=length, split="train", organism="all")
    with tempfile.TemporaryDirectory() as folder:
        w, b = TRAINERS[args.once](windows, args, Path(folder))
    taken = {"CPU s": time.process_time(), "MB": peak_mib()}
    rows = PositionalKmers(f"wd:{args.degree}").bind(windows)
    scores = rows.scores(w[:, None], np.zeros(len(windows), dtype=int)) + b
    loss = np.maximum(0.0, 1.0 - windows.labels * scores).sum()
    print(json.dumps({**taken, "objective": float(0.5 * (w @ w + b * b) + args.C * loss)}))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, _toy.windows)
    parser.add_argument("data")
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("-C", type=float, default=2.0)
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-4, 1e-6])
    parser.add_argument("--liblinear-tol", type=float, nargs="+", default=[1e-1, 1e-2, 1e-4])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--once", choices=TRAINERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        train_once(args)
        return
    options = [f"--window={args.window}", f"--degree={args.degree}", f"-C={args.C}"]
    sides = [("seqmtl", f"seqmtl, gap {tol:g}", tol) for tol in args.tol]
    sides += [("LinearSVC", f"LinearSVC, tol {tol:g}", tol) for tol in args.liblinear_tol]
    runs: dict[str, list[dict[str, float]]] = {name: [] for _, name, _ in sides}
    for _, (program, name, tol) in itertools.product(range(args.runs + 1), sides):
        found = run_alone(__file__, args.data, f"--once={program}", f"--tol={tol}", *options)
        runs[name].append(found)
    rows = []
    for name, (_, *measured) in runs.items():  # the first one fills the caches
        row = {key: statistics.median(run[key] for run in measured) for key in ("CPU s", "MB")}
        rows.append({"program": name, **row, "objective": f"{measured[-1]['objective']:.6f}"})
    write_result(args, rows)


if __name__ == "__main__":
    main()
