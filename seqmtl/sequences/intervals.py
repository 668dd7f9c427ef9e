"""Half-open intervals: merge them, and find which positions are in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def merge_intervals(intervals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort intervals of shape (n, 2), and merge those that overlap or touch."""
    if not len(intervals):
        return np.zeros((0, 2), dtype=np.int64)
    starts, ends = intervals[np.argsort(intervals[:, 0], kind="stable")].T
    furthest = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.append(True, starts[1:] > furthest[:-1]))
    last = np.append(first[1:], starts.size) - 1
    return np.stack([starts[first], furthest[last]], axis=1)


def is_inside(positions: NDArray[np.int64], intervals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which positions are in disjoint, increasing intervals of shape (n, 2)."""
    return np.searchsorted(intervals.ravel(), positions, side="right") % 2 == 1


def overlap(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], intervals: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which stretches overlap one of disjoint, increasing intervals of shape (n, 2)."""
    first = np.searchsorted(intervals[:, 1], starts, side="right")
    begins = np.append(intervals[:, 0], np.iinfo(np.int64).max)
    return np.asarray(begins[first] < starts + lengths)


def interval_mask(intervals: NDArray[np.int64], begin: int, n: int) -> NDArray[np.bool_]:
    """Return for begin..begin+n-1 which positions are in disjoint, increasing intervals."""
    ones = np.ones(len(intervals), dtype=np.int8)
    return interval_values(intervals, ones, begin, n) >= 0


def interval_values(
    intervals: NDArray[np.int64], values: NDArray[np.int8], begin: int, n: int
) -> NDArray[np.int8]:
    """Return for begin..begin+n-1 the value of the interval at each position, or -1."""
    values_at = np.full(n, -1, dtype=np.int8)
    low = np.searchsorted(intervals[:, 1], begin, side="right")
    high = np.searchsorted(intervals[:, 0], begin + n)
    rows = zip((intervals[low:high] - begin).tolist(), values[low:high].tolist(), strict=True)
    for (start, end), value in rows:
        values_at[max(0, start) : max(0, end)] = value
    return values_at
