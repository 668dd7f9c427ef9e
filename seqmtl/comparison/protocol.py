"""Draw the training and test windows of every split of a comparison."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import ParameterError
from seqmtl.sequences import Windows

PARTS = ("train", "test")
_LARGEST_TEST = 5000
_MIN_TRAIN = 4  # two of either class


#: Rows of one split for training and for the test, sorted and disjoint.
Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def draw_split(windows: Windows, split: int, train_size: int | None = None, seed: int = 0) -> Split:
    """Draw the windows of one split.

    If the windows have splits, their "test" rows are the test set of every split, and training
    rows are drawn from "train". Otherwise a fifth of every organism, at most 5,000, is drawn for
    the test. All draws are stratified by class, with at least two of either class in training and
    one in the test. Smaller training sets are subsets of larger ones.

    Parameters
    ----------
    windows : Windows
        Labelled windows of several organisms (tasks).
    split : int
        Index of the split, from 0.
    train_size : int, optional
        Number of labelled windows per organism for training, including selection. Default: all
        windows outside the test set.
    seed : int
        Seed of the draws, which also depend on the split and the organism, and nothing else.

    Raises
    ------
    ValueError
        See :func:`check_windows`.
    """
    check_windows(windows, train_size)
    parts: list[list[NDArray[np.int64]]] = [[], []]
    for task, name in enumerate(windows.task_names):
        rng = np.random.default_rng([seed, split, zlib.crc32(name.encode())])
        for part, rows in zip(parts, _draw_organism(windows, task, train_size, rng), strict=True):
            part.append(rows)
    train, test = (np.sort(np.concatenate(part)) for part in parts)
    return train, test


def drawn_parts(windows: Windows, train_size: int | None) -> tuple[str, ...]:
    """Return the parts that differ from split to split; none if all splits are the same."""
    if windows.splits is None:
        return PARTS
    sizes = [n for _, n, _ in _counts(windows, "train")]
    uses_all_windows = train_size is None or max(sizes) <= train_size
    return () if uses_all_windows else ("train",)


def count_split(windows: Windows, split: Split) -> dict[str, dict[str, dict[str, int]]]:
    """Count windows and positives by organism and part: counts[name][part]["n"]."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for task, name in enumerate(windows.task_names):
        counts[name] = {}
        for part, rows in zip(PARTS, split, strict=True):
            labels = windows.labels[rows][windows.task_ids[rows] == task]
            counts[name][part] = {"n": int(labels.size), "n_positive": int((labels > 0).sum())}
    return counts


def check_windows(windows: Windows, train_size: int | None = None) -> None:
    """Check that splits can be drawn of windows, see :func:`draw_split`.

    Raises
    ------
    ValueError
        If there is only one organism, one is called "mean", a split is missing, or organisms have
        too few windows of a class or for `train_size`; the message lists them with counts. If
        that is too small for both classes.
    """
    if train_size is not None and train_size < _MIN_TRAIN:
        raise ValueError(
            f"train_size must be at least {_MIN_TRAIN}, two of either class, got {train_size}; "
            "choose more"
        )
    if len(windows.task_names) < 2:
        raise ValueError(
            f"comparing methods needs at least two organisms, got "
            f"{', '.join(windows.task_names) or 'none'}; add the windows of its relatives"
        )
    if "mean" in windows.task_names:
        raise ValueError(
            "no organism may be called 'mean', as the tables have a row of this name for all of "
            "them; rename it"
        )
    if windows.splits is not None and not {"train", "test"} <= set(windows.split_names):
        raise ValueError(
            f"the column split must have the values train and test, got "
            f"{', '.join(sorted(windows.split_names))}; rename them, or remove the column to "
            "have a test set drawn"
        )
    n_train = 2 if windows.splits is not None else 3
    minima = [("train", n_train)] if windows.splits is None else [("train", n_train), ("test", 1)]
    for part, min_windows in minima:
        too_few = [
            f"{name} has {n_positive} positive and {n - n_positive} negative"
            for name, n, n_positive in _counts(windows, part)
            if min(n_positive, n - n_positive) < min_windows
        ]
        if too_few:
            where = "" if windows.splits is None else f" in the split {part!r}"
            raise ValueError(
                f"every organism must have at least {min_windows} windows of either class{where}, "
                f"but {', '.join(too_few)}; add windows, or leave the organism out"
            )
    if train_size is not None:
        _check_enough(windows, train_size)


def _check_enough(windows: Windows, train_size: int) -> None:
    """Check that all organisms have the requested number of windows."""
    too_few = []
    min_windows = train_size
    for name, n, n_positive in _counts(windows, "train"):
        free = n - (_n_test(n) if windows.splits is None else 0)
        min_windows = min(min_windows, free)
        if free < train_size:
            too_few.append(f"{name} has {n} ({n_positive} positive)")
    if too_few:
        test = ", which must leave some for the test," if windows.splits is None else ""
        raise ParameterError(
            f"must be at most what every organism has{test} got {train_size}, but "
            f"{', '.join(too_few)}; choose at most {min_windows}, add windows, or leave the "
            "organism out",
            "train_size",
        )


def _counts(windows: Windows, part: str) -> list[tuple[str, int, int]]:
    """Return name, windows and positives of every organism in one part of the data."""
    counts = []
    for task, name in enumerate(windows.task_names):
        positive = windows.labels[_rows(windows, task, part)] > 0
        counts.append((name, int(positive.size), int(positive.sum())))
    return counts


def _rows(windows: Windows, task: int, part: str) -> NDArray[np.int64]:
    """Return the rows of an organism in one split, or all if there are no splits."""
    chosen = windows.task_ids == task
    if windows.splits is not None:
        chosen &= windows.splits == windows.split_names.index(part)
    return np.flatnonzero(chosen)


def _n_test(n: int) -> int:
    return min(max(n // 5, 2), _LARGEST_TEST)


def _draw_organism(
    windows: Windows, task: int, train_size: int | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the rows of one organism for training and test."""
    rows = _rows(windows, task, "train")
    if windows.splits is None:
        order = _stratified_order(windows.labels, rows, rng)
        rows, test = np.split(order, [-_n_test(order.size)])
        rows = np.sort(rows)
    else:
        test = _rows(windows, task, "test")
    order = _stratified_order(windows.labels, rows, rng)
    return order[:train_size], test


def _stratified_order(
    labels: NDArray[Any], rows: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Shuffle rows so that every prefix and suffix is stratified by class, up to rounding.

    The first two of either class come first, and the last of either class come last.
    """
    shuffled = []
    ranks = []
    for positive in (True, False):
        members = rng.permutation(rows[(labels[rows] > 0) == positive])
        rank = (np.arange(members.size) + 0.5) / members.size
        rank[:2], rank[-1] = -1.0, 2.0
        shuffled.append(members)
        ranks.append(rank)
    order = np.argsort(np.concatenate(ranks), kind="stable")
    return np.asarray(np.concatenate(shuffled)[order])
