"""Measure leakage between the splits of a finished dataset."""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.dataset import read_dataset, read_summary
from seqmtl.sequences import Windows

_BLOCK = 1 << 16
_LETTERS_PER_WORD = 27  # 5^27 < 2^63


def measure_leakage(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a dataset and compare the sequences of its splits.

    The check is independent of how the dataset was made: the sequences are extracted again from
    the genomes, and compared letter by letter.

    Parameters
    ----------
    path : path-like
        Folder of the dataset.

    Returns
    -------
    dict
        ``duplicates_between_splits`` and ``overlapping_between_splits``: number of windows of
        the later split with an equal sequence, or an overlapping window in the same genome, in
        the earlier one, by pairs such as "train-test"; ``with_both_labels``: windows whose
        sequence is that of both a true site and a decoy; ``duplicates_inside_splits``: windows
        that repeat an earlier one of the same split and label.
    """
    keys, labels, splits = [], [], []
    names: tuple[str, ...] = ("train", "valid", "test")
    overlapping = {f"{a}-{b}": 0 for a, b in combinations(names, 2)}
    for organism in read_summary(path)["genomes"]:
        windows = read_dataset(path, organism=organism).windows
        split = np.array([names.index(name) for name in windows.split_names])[windows.splits]
        keys.append(_packed(windows))
        labels.append(windows.labels)
        splits.append(split)
        for a, b in combinations(range(3), 2):
            overlapping[f"{names[a]}-{names[b]}"] += _count_overlapping(
                windows.starts[split == b], windows.starts[split == a], windows.length
            )
    group = _groups(np.concatenate(keys))
    label, split = np.concatenate(labels) > 0, np.concatenate(splits)
    has = np.zeros((int(group.max(initial=-1)) + 1, 2, 3), dtype=np.int64)
    np.add.at(has, (group, label.astype(np.int64), split), 1)
    in_split = has.sum(axis=1)
    both = (has.sum(axis=2) > 0).all(axis=1)
    return {
        "duplicates_between_splits": {
            f"{names[a]}-{names[b]}": int(in_split[in_split[:, a] > 0, b].sum())
            for a, b in combinations(range(3), 2)
        },
        "with_both_labels": int(has[both].sum()),
        "overlapping_between_splits": overlapping,
        "duplicates_inside_splits": int(np.maximum(has - 1, 0).sum()),
    }


def _packed(windows: Windows) -> NDArray[np.uint64]:
    """Return the letters of windows as base-5 numbers, shape (n, n_words)."""
    n_words = -(-windows.length // _LETTERS_PER_WORD)
    packed = np.zeros((len(windows), n_words), dtype=np.uint64)
    for begin in range(0, len(windows), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        codes = windows[rows].matrix()
        for place in range(windows.length):
            word = place // _LETTERS_PER_WORD
            packed[rows, word] = packed[rows, word] * np.uint64(5) + codes[:, place]
    return packed


def _groups(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return a group index per row, the same for equal rows."""
    order = np.lexsort(keys.T)
    is_new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(is_new) - 1
    return group


def _count_overlapping(mine: NDArray[np.int64], others: NDArray[np.int64], length: int) -> int:
    """Count the windows that share a base with any of the others, on either strand."""
    ordered = np.sort(others)
    first = np.searchsorted(ordered, mine - length, side="right")
    last = np.searchsorted(ordered, mine + length, side="left")
    return int((last > first).sum())
