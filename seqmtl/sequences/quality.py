"""Find what is probably wrong with labelled windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER, reverse_complement
from seqmtl.sequences.windows import Windows

#: Share of copies among the windows of a class of an organism from which to warn; that of short
#: windows, of which many are alike by chance; that of the windows of an organism that another one
#: has; and that of the windows of a test set. In nine published files a class has 2 % or less, but
#: for one with 40 %, in a genome's sites 5 %; 0.8 % or less of a test set are among the training
#: rows.
MAX_COPIES, MAX_COPIES_OF_SHORT, MAX_SHARED, MAX_IN_TRAINING = 0.1, 0.5, 0.9, 0.01
_SHORT = 20
#: Decoys per true site or the reverse from which to warn; a plain choice.
MAX_PER_SITE = 100
#: AUROC of the number of bases alone from which to warn; a plain choice.
MAX_BY_LENGTH = 0.9

_BASES = 1 << 24  # that are read at a time


def window_warnings(parts: Iterable[Windows]) -> list[str]:
    """Describe what is probably wrong with labelled windows, a sentence for each kind of fault.

    These are windows without any of A, C, G and T; windows of an organism that occur with both
    labels; classes of which 10 % of the windows are copies of others; organisms with the windows of
    another; and organisms with 100 times as many windows of one class as of the other. Copies among
    millions of windows are counted in a sample.
    """
    checker = WindowChecker()
    for windows in parts:
        checker.add(windows)
    return checker.faults()


class WindowChecker:
    """Counts and hashes of windows that are added part by part.

    Parameters
    ----------
    max_hashes : int
        Number of windows that are compared with each other; the default takes 32 MiB of memory.
    """

    def __init__(self, max_hashes: int = 1 << 22) -> None:
        self._max_hashes = max_hashes
        self._n = self._n_empty = self._length = 0
        self._first_empty = ""
        self._counts: dict[str, NDArray[np.int64]] = {}  # of decoys and of true sites
        self._hashes: dict[str, list[NDArray[np.uint64]]] = {}  # the last bit is the label
        self._n_hashes, self._shift = 0, 0

    def add(self, windows: Windows) -> None:
        """Add windows."""
        hashes, is_empty = _hash(windows)
        self._n += len(windows)
        self._length = windows.length
        if is_empty.any() and not self._n_empty:
            self._first_empty = windows[np.flatnonzero(is_empty)[:1]].names[0]
        self._n_empty += int(is_empty.sum())
        is_true = windows.labels > 0
        marked = (hashes & ~np.uint64(1)) | is_true
        for t, name in enumerate(windows.task_names):
            is_of_task = windows.task_ids == t
            counts = self._counts.setdefault(name, np.zeros(2, dtype=np.int64))
            counts += np.bincount(is_true[is_of_task], minlength=2)
            sample = self._sampled(marked[is_of_task])
            self._hashes.setdefault(name, []).append(sample)
            self._n_hashes += sample.size
        while self._n_hashes > self._max_hashes:  # halve the sample: the same windows in all parts
            self._shift += 1
            self._hashes = {
                name: [self._sampled(np.concatenate(parts))] for name, parts in self._hashes.items()
            }
            self._n_hashes = sum(sample.size for (sample,) in self._hashes.values())

    def _sampled(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return hashes[hashes < np.uint64(2 ** (64 - self._shift) - 1)]

    def faults(self) -> list[str]:
        """Return the description of :func:`window_warnings`."""
        copies = []
        both_labels = []
        uneven = []
        scale = 2**self._shift
        about = "about " if self._shift else ""
        limit = MAX_COPIES_OF_SHORT if self._length < _SHORT else MAX_COPIES
        for name, parts in self._hashes.items():
            marked = np.concatenate(parts)
            values = marked >> 1
            is_true = (marked & 1) > 0
            n_decoys, n_true = (int(count) for count in self._counts[name])
            n_both = np.intersect1d(values[is_true], values[~is_true]).size
            copies += [
                f"{about}{scale * n_copies} of {n} {what} of {name}"
                for n_copies, n, what in (
                    (_count_repeated(values[is_true]), n_true, "positives"),
                    (_count_repeated(values[~is_true]), n_decoys, "negatives"),
                )
                if n_copies and scale * n_copies >= limit * n
            ]
            if n_both:
                both_labels.append(f"{about}{scale * n_both} of {name}")
            n_fewer, many = sorted([n_true, n_decoys])
            if n_fewer and many >= MAX_PER_SITE * n_fewer:
                uneven.append(f"{name} ({n_true} to {n_decoys})")
        faults = []
        if self._n_empty:
            faults.append(
                f"{self._n_empty} of {self._n} windows hold no A, C, G or T (first: "
                f"{self._first_empty}) and are used all the same; leave them out"
            )
        if both_labels:
            faults.append(
                f"windows that occur with both labels: {', '.join(both_labels)}; check the labels"
            )
        if copies:
            faults.append(
                f"windows that are copies of others: {', '.join(copies)}; was a file given twice? "
                "Leave one of each"
            )
        if alike := self._alike():
            faults.append(
                f"organisms whose windows are also those of others: {', '.join(alike)}; was a file "
                "given under two names?"
            )
        if uneven:
            faults.append(
                f"organisms with {MAX_PER_SITE} times as many windows of one class as of the "
                f"other (true sites to decoys): {', '.join(uneven)}; consider "
                "class_weight='balanced' in Python"
            )
        return faults

    def _alike(self) -> list[str]:
        """Return the organisms of which nearly all windows are also those of another one."""
        if self._length < _SHORT or len(self._hashes) < 2:
            return []
        distinct = [np.unique(np.concatenate(parts)) for parts in self._hashes.values()]
        values, counts = np.unique(np.concatenate(distinct), return_counts=True)
        shared = values[counts > 1]
        return [
            name
            for name, hashes in zip(self._hashes, distinct, strict=True)
            if hashes.size and np.isin(hashes, shared).mean() >= MAX_SHARED
        ]


def _count_repeated(values: NDArray[Any]) -> int:
    return values.size - np.unique(values).size


def count_copies(windows: Windows, others: Windows, *, is_stranded: bool) -> int:
    """Return the number of windows that are among others, not counting N at their ends.

    Parameters
    ----------
    windows, others : Windows
        Windows, which may differ in length.
    is_stranded : bool
        Whether reverse complements are no copies.
    """
    n_blocks = -(-max(windows.length, others.length) // 8)
    hashes, in_others = (
        _hash(part, n_blocks, is_stranded=is_stranded)[0] for part in (windows, others)
    )
    return int(np.isin(hashes, in_others).sum())


def short_windows(windows: Windows, k: int) -> list[str]:
    """Return the names of windows of fewer than k bases, not counting N at their end.

    Parameters
    ----------
    windows : Windows
        Windows, padded with N at their end.
    k : int
        Bases, 1 or more.
    """
    is_short = lengths_of(windows) < k
    return windows[np.flatnonzero(is_short)].names.tolist() if is_short.any() else []


def length_warnings(windows: Windows) -> list[str]:
    """Describe organisms whose positives and negatives are told apart by how many bases they have.

    Parameters
    ----------
    windows : Windows
        Labelled windows; N, also those at the end of shorter sequences, are no bases.
    """
    n_bases, uneven = _n_bases(windows), []
    for t, name in enumerate(windows.task_names):
        positive, negative = (
            n_bases[(windows.task_ids == t) & (windows.labels * sign > 0)] for sign in (1, -1)
        )
        if not positive.size or not negative.size:
            continue
        negative.sort()
        n_shorter = np.searchsorted(negative, positive)
        n_not_longer = np.searchsorted(negative, positive, "right")
        auroc = float((n_shorter + n_not_longer).mean()) / (2 * negative.size)
        if max(auroc, 1.0 - auroc) >= MAX_BY_LENGTH:
            uneven.append(f"{name} (medians {np.median(positive):g} and {np.median(negative):g})")
    if not uneven:
        return []
    return [
        "positives and negatives are told apart by their number of bases alone, without N: "
        f"{', '.join(uneven)}; cut them to one length, or take negatives with as many bases and N "
        "as the positives"
    ]


def _n_bases(windows: Windows) -> NDArray[np.int64]:
    """Return how many of A, C, G and T every window has, shape (n,)."""
    counts = [(windows[part].matrix() != OTHER).sum(axis=1) for part in _parts(windows)]
    return np.concatenate([np.empty(0, dtype=np.int64), *counts])


def lengths_of(windows: Windows) -> NDArray[np.int64]:
    """Return the bases of every window, shape (n,), not counting N at its end."""
    lengths = np.zeros(len(windows), dtype=np.int64)
    for part in _parts(windows):
        is_base = windows[part].matrix()[:, ::-1] != OTHER
        n_bases = windows.length - is_base.argmax(axis=1)
        lengths[part] = np.where(is_base.any(axis=1), n_bases, 0)
    return lengths


def _parts(windows: Windows) -> Iterator[slice]:
    """Yield the rows that are read at a time."""
    n = max(1, _BASES // max(1, windows.length))
    return (slice(first, first + n) for first in range(0, len(windows), n))


def _hash(
    windows: Windows, n_blocks: int = 0, *, is_stranded: bool = True
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a hash of the letters of every window, and which of them have only other letters.

    Windows are padded with N to `n_blocks` times 8 letters, if these are more. If not stranded, a
    window and its reverse complement have the same hash.
    """
    n_blocks = max(n_blocks, -(-windows.length // 8))
    random = np.random.default_rng(0).integers(0, 2**63, n_blocks, dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(windows), dtype=np.uint64)
    is_empty = np.empty(len(windows), dtype=np.bool_)

    def hash_of(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
        padded = np.full((len(letters), 8 * n_blocks), OTHER, dtype=np.uint8)
        padded[:, : windows.length] = letters
        blocks = padded.view(np.uint64)  # of 8 letters
        return np.asarray((blocks ^ (blocks >> 29)) @ random)

    for part in _parts(windows):
        letters = windows[part].matrix()
        hashes[part] = hash_of(letters)
        is_empty[part] = letters.min(axis=1) == OTHER
        if not is_stranded:
            reverse = reverse_complement(letters)
            starts = (reverse != OTHER).argmax(axis=1)  # N at the end comes first
            columns = np.arange(windows.length) + starts[:, None]
            columns[columns >= windows.length] = 0  # such an N, or a base if there are none
            hashes[part] += hash_of(np.take_along_axis(reverse, columns, axis=1))
    return hashes, is_empty
