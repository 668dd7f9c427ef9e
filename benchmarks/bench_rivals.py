"""Multi-task learners in Python on the same splits: AUROC, certified gap and seconds.

    python benchmarks/bench_rivals.py landmine.npz --train 0.2 --splits 5

FILE.npz holds X of shape (n, d), y of two values, and task of shape (n,). A share of every task's
examples of either class trains, the others test; columns are scaled to unit variance on the
training examples. AUROC is within every task, and the mean over tasks. Settings are chosen by
3-fold cross-validation of it on the training examples, with equal folds for all. Seconds are of one
thread, and include the choice.

Rivals that are installed take part: MD-MTL (the methods of MALSAR; pip install MD-MTL) and mtlskl
(convex multi-task SVMs; github.com/carlosruizp/mtlskl). `ours` are the defaults, unless chosen.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import _toy
import numpy as np
from _common import Options, write_result
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from seqmtl import MultiTaskClassifierCV, MultiTaskKernelSVC, MultiTaskSVC, TaskKernel

QUICK = {"train": [0.5], "splits": 1, "methods": ["scikit", "MultiTaskSVC"]}
COSTS = (1e-3, 1e-2, 1e-1, 1.0)
SHARES = (0.0, 0.5, 0.8, 1.0)
Array = NDArray[np.float64]
Scores = tuple[Array, float]  # of new examples, and the gap


class Data(NamedTuple):
    """Examples of several tasks."""

    X: Array
    y: NDArray[np.int64]
    task: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Data:
        """Return some of the examples."""
        return Data(*(part[rows] for part in self))

    @property
    def strata(self) -> NDArray[np.int64]:
        """Number of the task and the class of every example."""
        return 2 * self.task + (self.y > 0)


def individual(train: Data, new: Data, C: float) -> Scores:
    """Logistic regression of every task, by scikit-learn."""
    scores = np.zeros(len(new.X))
    for t in np.unique(train.task):
        own, asked = train.task == t, new.task == t
        model = LogisticRegression(C=C, class_weight="balanced").fit(train.X[own], train.y[own])
        scores[asked] = model.decision_function(new.X[asked])
    return scores, np.nan


def union(train: Data, new: Data, C: float) -> Scores:
    """Logistic regression of all tasks together, by scikit-learn."""
    model = LogisticRegression(C=C, class_weight="balanced").fit(train.X, train.y)
    return model.decision_function(new.X), np.nan


def md_mtl(train: Data, new: Data, rho: float) -> Scores:
    """Logistic losses and an l_2,1 norm; its intercepts, which AUROC ignores, are not kept."""
    from MD_MTL.functions.MTL_Logistic_L21 import MTL_Logistic_L21

    tasks = np.unique(train.task)
    options = SimpleNamespace(init=2, maxIter=1000, tol=1e-6, pFlag=False)
    model = MTL_Logistic_L21(options, rho1=rho)
    with contextlib.redirect_stdout(io.StringIO()):
        parts = [train.take(np.flatnonzero(train.task == t)) for t in tasks]
        model.fit([part.X for part in parts], [part.y for part in parts])
    return np.einsum("id,di->i", new.X, model.W[:, np.searchsorted(tasks, new.task)]), np.nan


def mtlskl(train: Data, new: Data, C: float, share: float) -> Scores:
    """LIBSVM on share^2 11' + (1 - share)^2 I times a linear kernel."""
    from mtlskl.model.svm.convexmtl.ConvexMTLSVM import ConvexMTLSVC

    common = {"ckernel": "linear", "skernel": "linear", "class_weight": "balanced"}
    model = ConvexMTLSVC(C=C, lamb=share, **common)
    model.fit(np.column_stack([train.X, train.task]), train.y)
    Z = np.column_stack([new.X, new.task])
    return model.decision_function(model._mtl_kernel(Z, model.X_train, "linear", "linear")), np.nan


def ours(kind: type[Any], **options: Any) -> Callable[..., Scores]:
    """Return an estimator of this package as a method."""

    def method(
        train: Data, new: Data, C: float | None = None, share: float | None = None
    ) -> Scores:
        names, chosen = train.task.astype(str), {} if C is None else {"C": C}
        if share is not None:
            chosen["task_kernel"] = TaskKernel.easy(np.unique(names), share)
        model = kind(**options, **chosen).fit(train.X, train.y, tasks=names)
        return model.decision_function(new.X, tasks=new.task.astype(str)), model.dual_gap_

    return method


def methods() -> Iterator[tuple[str, Callable[..., Scores], list[tuple[float, ...]]]]:
    """Yield name, function and settings of every method that can run."""
    costs, both = [(C,) for C in COSTS], list(product(COSTS, SHARES))
    balanced = {"loss": "logistic", "class_weight": "balanced"}
    yield "scikit-learn, individual", individual, costs
    yield "scikit-learn, union", union, costs
    if importlib.util.find_spec("MD_MTL"):
        yield "MD-MTL, l_2,1", md_mtl, [(10.0**k,) for k in range(-5, -1)]
    if importlib.util.find_spec("mtlskl"):
        yield "mtlskl, convex", mtlskl, both
    yield "MultiTaskSVC", ours(MultiTaskSVC), [()]
    yield "MultiTaskClassifierCV", ours(MultiTaskClassifierCV), [()]
    yield "MultiTaskClassifierCV, logistic", ours(MultiTaskClassifierCV, **balanced), [()]
    yield "MultiTaskSVC, logistic, chosen", ours(MultiTaskSVC, **balanced), both
    yield "MultiTaskKernelSVC, rbf", ours(MultiTaskKernelSVC, class_weight="balanced"), [()]


def auroc(data: Data, scores: Array) -> float:
    """Return the mean over the tasks."""
    own = [data.task == t for t in np.unique(data.task)]
    return float(np.mean([roc_auc_score(data.y[rows], scores[rows]) for rows in own]))


def choose(
    train: Data, method: Callable[..., Scores], settings: list[tuple[float, ...]]
) -> tuple[float, ...]:
    """Return the setting of the best AUROC in cross-validation."""
    if len(settings) == 1:
        return settings[0]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(train.X, train.strata))
    parts = [(train.take(fit), train.take(held)) for fit, held in folds]
    means = [
        np.mean([auroc(held, method(fit, held, *s)[0]) for fit, held in parts]) for s in settings
    ]
    return settings[int(np.argmax(means))]


def main() -> None:
    """Measure and print."""
    parser = Options(__doc__, QUICK, lambda folder: {"data": _toy.numbers(folder)})
    parser.add_argument("data")
    parser.add_argument("--train", type=float, nargs="+", default=[0.2])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="+", help="only those that begin with one of these")
    args = parser.parse_args()
    with np.load(args.data) as file:
        task = np.unique(file["task"], return_inverse=True)[1]
        every = Data(file["X"].astype(float), np.where(file["y"] > file["y"].min(), 1, -1), task)
    warnings.simplefilter("ignore")
    results: list[dict[str, Any]] = []
    for share in args.train:
        splits = StratifiedShuffleSplit(args.splits, train_size=share, random_state=0)
        pairs = []
        for rows in splits.split(every.X, every.strata):
            train, test = (every.take(part) for part in rows)
            scaler = StandardScaler().fit(train.X)
            pairs.append([part._replace(X=scaler.transform(part.X)) for part in (train, test)])
        for name, method, settings in methods():
            if args.methods and not name.startswith(tuple(args.methods)):
                continue
            method(*pairs[0], *settings[0])  # compile
            started, found, gaps = time.process_time(), [], []
            for train, test in pairs:
                scores, gap = method(train, test, *choose(train, method, settings))
                found.append(auroc(test, scores))
                gaps.append(gap)
            seconds = (time.process_time() - started) / args.splits
            results.append(
                {
                    "train": share,
                    "method": name,
                    "AUROC": float(np.mean(found)),
                    "deviation": float(np.std(found, ddof=1)) if args.splits > 1 else "",
                    "largest gap": "" if np.isnan(gaps).any() else float(max(gaps)),
                    "CPU s": seconds,
                }
            )
    write_result(args, results)


if __name__ == "__main__":
    main()
