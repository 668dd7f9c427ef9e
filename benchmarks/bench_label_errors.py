"""Wrong labels among the true sites: what they cost, and what helps.

    python benchmarks/bench_label_errors.py joint_splice6_acc.tsv.gz

DATA is a table of windows with a split. Of each organism's true sites in training, a share is
replaced by decoys, as false splice junctions of reads would be. Prints the mean AUPRC over the
organisms on test rows, whose labels are all right, for every loss, each with its standard error
over the draws; for the default loss also with weights from read counts, drawn as
reads / (reads + 10) of log-normal numbers of reads with a median of 50 for true junctions and 5 for
false ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from seqmtl import MultiTaskClassifierCV, Windows, read_windows
from seqmtl.core.losses import LOSSES

QUICK = {"sites": 10, "errors": [0.2], "draws": 2}
MEDIANS, SPREAD, HALF = (5.0, 50.0), 1.2, 10.0


def main() -> None:
    """Run the comparison."""
    parser = Options(__doc__, QUICK, _toy.windows)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--sites", type=int, default=300, help="per organism, and thrice the decoys"
    )
    parser.add_argument("--errors", nargs="+", type=float, default=[0, 0.05, 0.1, 0.2])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--window", type=int, help="bases")
    args = parser.parse_args()
    windows = read_windows(args.data, window=args.window)
    is_test = windows.splits == windows.split_names.index("test")
    test = windows[np.flatnonzero(is_test)]
    table: list[dict[str, Any]] = []
    for share in args.errors:
        rows = []
        for draw in range(args.draws):
            rng = np.random.default_rng(draw)
            chosen, y, is_wrong = spoil(windows, ~is_test, args.sites, share, rng)
            weight = weigh(y, is_wrong, rng)
            ways = [(loss, None) for loss in LOSSES] + [("hinge", weight)]
            rows.append([score(windows[chosen], y, loss, w, test) for loss, w in ways])
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0) / max(1, args.draws - 1) ** 0.5
        names = [*LOSSES, "hinge, weights"]
        errors = dict(zip((f"{name}, error" for name in names), error.tolist(), strict=True))
        table.append({"wrong": share, **dict(zip(names, mean.tolist(), strict=True)), **errors})
    write_result(args, table)


def spoil(
    windows: Windows, usable: NDArray[Any], n: int, share: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows, labels of which a share is wrong, and which rows are labelled wrongly."""
    rows, labels, wrong = [], [], []
    for task in range(len(windows.task_names)):
        mine = usable & (windows.task_ids == task)
        true = rng.permutation(np.flatnonzero(mine & (windows.labels > 0)))[:n]
        decoys = rng.permutation(np.flatnonzero(mine & (windows.labels < 0)))[: 4 * n]
        n_wrong = round(share * true.size)
        rows += [true[n_wrong:], decoys[: n_wrong + 3 * n]]
        labels += [np.ones(true.size), -np.ones(rows[-1].size - n_wrong)]
        wrong += [np.zeros(true.size - n_wrong), np.ones(n_wrong), np.zeros(labels[-1].size)]
    return np.concatenate(rows), np.concatenate(labels), np.concatenate(wrong) > 0


def weigh(y: NDArray[Any], is_wrong: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return weights of true sites from simulated numbers of reads; decoys have 1."""
    reads = np.where(is_wrong, *MEDIANS) * np.exp(SPREAD * rng.normal(size=y.size))
    return np.where(y > 0, reads / (reads + HALF), 1.0)


def score(train: Windows, y: NDArray[Any], loss: str, weight: Any, test: Windows) -> float:
    """Return the mean AUPRC over the organisms of the test rows."""
    model = MultiTaskClassifierCV(loss=loss)
    model.fit(train, y, tasks=train.tasks, sample_weight=weight)
    found = model.decision_function(test)
    own = [test.task_ids == task for task in np.unique(test.task_ids)]
    return float(np.mean([average_precision_score(test.labels[o] > 0, found[o]) for o in own]))


if __name__ == "__main__":
    main()
