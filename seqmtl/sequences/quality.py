"""Find what is probably wrong with labelled windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.windows import Windows

#: Copies among the windows of an organism, and decoys per true site or the reverse, to warn from.
MOST_COPIES, MOST_PER_SITE = 0.5, 100

_ROWS = 1 << 16


def find_faults(windows: Windows) -> list[str]:
    """Describe what is probably wrong with labelled windows, a sentence for each kind of fault.

    These are windows without any of A, C, G and T; windows of an organism that occur with both
    labels; organisms of whose windows more than half are copies of others; and organisms with 100
    times as many windows of one class as of the other.
    """
    hashes, is_empty = _hash(windows)
    copies, both, uneven = [], [], []
    for t, name in enumerate(windows.task_names):
        rows = np.flatnonzero(windows.task_ids == t)
        values, labels = hashes[rows], windows.labels[rows]
        n_distinct = np.unique(values).size
        classes = [np.unique(values[side]) for side in (labels > 0, labels < 0)]
        n_both = int(np.isin(classes[0], classes[1]).sum())
        few, many = sorted([int((labels > 0).sum()), int((labels < 0).sum())])
        if rows.size - n_distinct > MOST_COPIES * rows.size:
            copies.append(f"{rows.size - n_distinct} of {rows.size} of {name}")
        if n_both:
            both.append(f"{n_both} of {name}")
        if few and many >= MOST_PER_SITE * few:
            uneven.append(f"{name} ({(labels > 0).sum()} to {(labels < 0).sum()})")
    faults = []
    if is_empty.any():
        first = windows[np.flatnonzero(is_empty)[:1]].names[0]
        faults.append(
            f"{is_empty.sum()} of {len(windows)} windows hold no A, C, G or T (first: {first}); "
            "leave them out"
        )
    if both:
        faults.append(f"windows that occur with both labels: {', '.join(both)}; check the labels")
    if copies:
        faults.append(
            f"windows that are copies of others: {', '.join(copies)}; a window of a test set may "
            "also be in the training set"
        )
    if uneven:
        faults.append(
            f"organisms with {MOST_PER_SITE} times as many windows of one class as of the other "
            f"(true sites to decoys): {', '.join(uneven)}; consider --balanced"
        )
    return faults


def _hash(windows: Windows) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a hash of the letters of every window, and which of them have only other letters."""
    n_words = -(-windows.length // 8)
    random = np.random.default_rng(0).integers(0, 2**63, n_words, dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(windows), dtype=np.uint64)
    is_empty = np.empty(len(windows), dtype=np.bool_)
    for first in range(0, len(windows), _ROWS):
        part = slice(first, first + _ROWS)
        letters = windows[part].matrix()
        padded = np.zeros((len(letters), 8 * n_words), dtype=np.uint8)
        padded[:, : windows.length] = letters
        words = padded.view(np.uint64)
        hashes[part] = (words ^ (words >> 29)) @ random
        is_empty[part] = letters.min(axis=1) == OTHER
    return hashes, is_empty
