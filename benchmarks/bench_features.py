"""Feature maps that differ in kind, beside the default that chooses among them.

    python benchmarks/bench_features.py DATA [--crop BEGIN END] [--sizes 100 1000] [--draws 3]

DATA is a table of windows with a split column, or the folder of a dataset, whose validation and
test windows are the test. Every map is trained with everything else as `seqmtl train` does without
a tree, on the given number of train windows per organism:

    default     the default views
    near        exact positions within 20 bases, bins (the default of earlier versions)
    exact       wd:6, exact positions everywhere
    bins        bins only: composition
    both        exact positions everywhere, and bins

Prints the mean over organisms of AUROC, AUPRC and Matthews' correlation (threshold 0), the mean
difference of the AUPRC from the first map, paired by draw, with its standard error over draws, and
CPU seconds of one thread. --crop keeps the bases BEGIN to END of the windows, 0-based, half-open.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from sklearn.metrics import matthews_corrcoef

from seqmtl import PositionalKmers, Windows, read_dataset, read_windows
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.evaluation.metrics import RankedScores
from seqmtl.io import is_dataset, read_summary
from seqmtl.linear_model.site import Site
from seqmtl.sequences.examples import Examples
from seqmtl.training.selection import SearchSpace

BINS = "kmers:3-5/7@-80..80=0.05,kmers:3-6/25@-80..80=0.05,kmers:3-6/80=0.05"
QUICK = {"sizes": [20], "draws": 1, "maps": ["default", "exact"], "crop": [2, 18]}
MAPS = {
    "default": None,
    "near": f"wd:5@-20..20,{BINS}",
    "exact": "wd:6",
    "bins": BINS,
    "both": f"wd:6,{BINS}",
}


def read(arguments: argparse.Namespace) -> tuple[Windows, Windows, Site | None]:
    """Return training and test windows, and the site if it is known."""
    if is_dataset(arguments.data):
        both = read_dataset(arguments.data, split=None)
        splits = np.array(both.split_names)[both.splits]
        parts = [both[np.flatnonzero((splits == "train") == own)] for own in (True, False)]
        return parts[0], parts[1], Site(**read_summary(arguments.data)["site"])
    train, test = (read_windows(arguments.data, split=split) for split in ("train", "test"))
    return crop(train, arguments.crop), crop(test, arguments.crop), None


def crop(windows: Windows, ends: list[int] | None) -> Windows:
    """Keep some bases of all windows."""
    begin, end = ends or (0, windows.length)
    letters = np.frombuffer(b"ACGTN", dtype=np.uint8)[windows.matrix()[:, begin:end]]
    return Windows.from_strings(
        [row.tobytes().decode("ascii") for row in letters],
        labels=windows.labels,
        tasks=list(windows.tasks),
    )


def draw(windows: Windows, n: int, seed: int) -> NDArray[np.int64]:
    """Draw n rows of every organism, or all; at least a fifth are true sites, if there are."""
    rng, rows = np.random.default_rng(seed), []
    for t in range(len(windows.task_names)):
        own = windows.task_ids == t
        positive, negative = (
            rng.permutation(np.flatnonzero(own & (windows.labels == label))) for label in (1, -1)
        )
        k = max(round(n * positive.size / max(own.sum(), 1)), n // 5, 2)
        rows += [positive[:k], negative[: max(n - k, 2)]]
    return np.sort(np.concatenate(rows))


def train_and_test(
    views: str | None, train: Windows, test: Windows, site: Site | None
) -> tuple[float, ...]:
    """Return AUROC, AUPRC, Matthews' correlation, and the CPU time of training."""
    names, started = train.task_names, time.process_time()
    space, features = SearchSpace.of_sharing(names), PositionalKmers(views)
    model, _ = train_with_few(Examples.of(train), task_kernel=space, features=features, site=site)
    seconds, found = time.process_time() - started, []
    for t, name in enumerate(test.task_names):
        own = test[np.flatnonzero(test.task_ids == t)]
        scores = model.decision_function(own, name)
        auroc, auprc = RankedScores(own.labels > 0, scores).metrics()
        found.append([auroc, auprc, matthews_corrcoef(own.labels > 0, scores > 0)])
    return (*np.mean(found, axis=0).tolist(), seconds)


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, _toy.windows)
    parser.add_argument("data")
    parser.add_argument("--crop", type=int, nargs=2, metavar=("BEGIN", "END"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--test", type=int, default=2000, help="test windows per organism")
    parser.add_argument("--maps", nargs="+", default=[*MAPS], choices=MAPS)
    arguments = parser.parse_args()
    train, test, site = read(arguments)
    test = test[draw(test, arguments.test, 7)]
    rows = []
    for n in arguments.sizes:
        draws = [train[draw(train, n, seed)] for seed in range(arguments.draws)]
        results = {
            name: np.array([train_and_test(MAPS[name], own, test, site) for own in draws])
            for name in arguments.maps
        }
        for name, found in results.items():
            change = found[:, 1] - results[arguments.maps[0]][:, 1]
            error = change.std(ddof=1) / change.size**0.5 if change.size > 1 else 0.0
            auroc, auprc, mcc, seconds = found.mean(axis=0)
            rows.append(
                {
                    "windows": n,
                    "features": name,
                    "AUROC": float(auroc),
                    "AUPRC": float(auprc),
                    "MCC": float(mcc),
                    "difference": float(change.mean()),
                    "error": float(error),
                    "CPU s": float(seconds),
                }
            )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
