"""Small tasks of numbers and of windows, for all estimators on features."""

import numpy as np

from seqmtl import PositionalKmers, TaskKernel
from seqmtl.sequences import Windows

NAMES = np.array(["worm", "fly", "plant"])
TREE = "((worm:0.2,fly:0.3):0.4,(plant:0.5,yeast:0.6):0.1);"
KERNEL = TaskKernel.from_tree(TREE)
FEATURES = PositionalKmers("wd:3")
TIGHT = {"tol": 1e-8, "max_epochs": 5000, "dtype": "float64"}


def numbers(n=150, d=5, seed=0):
    """Return examples, targets around 0, and tasks; 1 and 0 for the signs of the targets."""
    rng = np.random.default_rng(seed)
    X, ids = rng.standard_normal((n, d)), rng.integers(0, 3, n)
    w = rng.standard_normal((d, 1)) + 0.5 * rng.standard_normal((d, 3))
    z = (X @ w)[np.arange(n), ids] + 0.4 * rng.standard_normal(n)
    return X, z, NAMES[ids]


def labelled(**options):
    """Return the examples of :func:`numbers` with two classes."""
    X, z, tasks = numbers(**options)
    return X, (z > 0).astype(int), tasks


def strings(n=240, length=20, seed=0, signal=0.8):
    """Return windows with a motif that differs a little by task; labels and tasks are carried."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels, tasks = np.where(rng.random(n) < 0.4, 1, -1), rng.integers(0, 3, n)
    for i in np.flatnonzero(labels > 0):
        letters[i, 8:12] = np.where(rng.random(4) < signal, [0, 2, 1, tasks[i]], letters[i, 8:12])
    return Windows(
        letters.ravel(),
        np.arange(n) * length,
        length,
        labels=labels,
        task_ids=tasks,
        task_names=tuple(NAMES),
    )
