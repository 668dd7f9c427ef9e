"""Train on a table of windows: seqmtl against scikit-learn's LinearSVC on explicit features.

Measures whole processes, from the file to the model, including start-up: CPU seconds, peak memory
and the objective reached (computed in the same way from the weights). LinearSVC gets the same
weighted-degree features as a CSR matrix. Both alternate, once to warm up and then `--runs` times;
medians are printed.

    python benchmarks/bench_against_liblinear.py windows.tsv.gz --window 141 -C 2
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile

from _common import add_result_option, make_parser, measure, write_result

SEQMTL = """
import sys
from seqmtl import WeightedDegree, read_windows
from seqmtl.models.fit import train_windows
from seqmtl.models.training import Settings
path, window, degree, C, tol, out = sys.argv[1:]
windows = read_windows(path, window=int(window) or None, split="train", organism="all")
model, _ = train_windows(
    windows,
    features=WeightedDegree(degree=int(degree)),
    settings=Settings(C=float(C), tol=float(tol)),
)
model.save(out)
"""

LIBLINEAR = """
import sys
import numpy as np
from sklearn.svm import LinearSVC
from seqmtl import WeightedDegree, read_windows
path, window, degree, C, tol, out = sys.argv[1:]
windows = read_windows(path, window=int(window) or None, split="train", organism="all")
X = WeightedDegree(degree=int(degree)).transform(windows)
y = windows.labels.astype(float)
model = LinearSVC(loss="hinge", C=float(C), tol=float(tol), max_iter=10**5, random_state=0)
model.fit(X, y)
np.savez(out, w=model.coef_[0], b=model.intercept_)
"""

OBJECTIVE = """
import sys
import numpy as np
from seqmtl import MultiTaskModel, WeightedDegree, read_windows
path, window, degree, C, model = sys.argv[1:]
windows = read_windows(path, window=int(window) or None, split="train", organism="all")
if model.endswith(".npz"):
    parts = np.load(model)
    w, b = parts["w"], float(parts["b"][0])
else:
    loaded = MultiTaskModel.load(model)
    w, b = loaded.W[:, 0].astype(float), float(loaded.bias[0])
rows = WeightedDegree(degree=int(degree)).bind(windows)
scores = rows.scores(w[:, None], np.zeros(len(windows), dtype=int)) + b
loss = np.maximum(0.0, 1.0 - windows.labels * scores).sum()
print(float(0.5 * (w @ w + b * b) + float(C) * loss))
"""


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("data")
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("-C", type=float, default=2.0)
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-4, 1e-6])
    parser.add_argument("--liblinear-tol", type=float, nargs="+", default=[1e-1, 1e-2, 1e-4])
    parser.add_argument("--runs", type=int, default=3)
    add_result_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        common = [args.data, str(args.window), str(args.degree), str(args.C)]
        sides: dict[str, tuple[list[str], str]] = {}
        for tol in args.tol:
            out = f"{folder}/{tol}.seqmtl"
            sides[f"seqmtl, gap {tol:g}"] = (
                [sys.executable, "-c", SEQMTL, *common, str(tol), out],
                out,
            )
        for tol in args.liblinear_tol:
            out = f"{folder}/{tol}.npz"
            sides[f"LinearSVC, tol {tol:g}"] = (
                [sys.executable, "-c", LIBLINEAR, *common, str(tol), out],
                out,
            )
        figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sides}
        for run in range(args.runs + 1):
            for name, (command, _) in sides.items():
                if run == 0 and name.startswith("LinearSVC"):
                    continue
                found = measure(command)
                if run > 0:
                    figures[name].append(found)
        rows = []
        for name, (_, out) in sides.items():
            cpu, wall, memory = (statistics.median(c) for c in zip(*figures[name], strict=True))
            command = [sys.executable, "-c", OBJECTIVE, *common, out]
            value = float(
                subprocess.run(command, capture_output=True, text=True, check=True).stdout
            )
            rows.append(
                {
                    "program": name,
                    "CPU s": cpu,
                    "wall s": wall,
                    "MB": memory,
                    "objective": f"{value:.6f}",
                }
            )
        write_result(args, rows)


if __name__ == "__main__":
    main()
