"""Splits of a comparison: stratified, disjoint, nested, and refused where there is too little."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from seqmtl.comparison.protocol import check_windows, count_split, draw_split
from seqmtl.sequences import Windows, concatenate


def _windows(counts, splits=None, seed=0):
    """Windows of organisms with (positives, negatives) each, in mixed order."""
    labels, tasks = [], []
    for task, (n_positive, n_negative) in enumerate(counts.values()):
        labels += [1] * n_positive + [-1] * n_negative
        tasks += [task] * (n_positive + n_negative)
    n = len(labels)
    order = np.random.default_rng(seed).permutation(n)
    columns = {"labels": np.array(labels)[order], "task_ids": np.array(tasks)[order]}
    if splits is not None:
        columns |= {"splits": splits(n), "split_names": ("train", "test", "other")}
    codes = np.zeros(n * 4, dtype=np.uint8)
    return Windows(codes, np.arange(n) * 4, 4, task_names=tuple(counts), **columns)


def _thirds(n):
    return np.arange(n) % 3


@settings(max_examples=60)
@given(
    st.tuples(st.integers(4, 60), st.integers(4, 200)),
    st.one_of(st.none(), st.integers(4, 12)),
    st.integers(0, 5),
)
def test_parts_are_disjoint_and_stratified(count, train_size, number):
    counts = {"ape": count, "fly": (40, 60)}
    windows = _windows(counts)
    least = sum(count) - max(sum(count) // 5, 2)
    if train_size is not None and least < train_size:
        with pytest.raises(ValueError, match=rf"ape has {sum(count)} \({count[0]} positive\)"):
            draw_split(windows, number, train_size, seed=3)
        return
    split = draw_split(windows, number, train_size, seed=3)
    every = np.concatenate(split)
    assert np.unique(every).size == every.size
    for name, parts in count_split(windows, split).items():
        n_positive, n = counts[name][0], sum(counts[name])
        for part, least in (("train", 2), ("test", 1)):
            found = parts[part]
            assert least <= found["n_positive"] <= found["n"] - least
            share = found["n"] * n_positive / n
            assert abs(found["n_positive"] - share) <= 3
        assert parts["test"]["n"] == max(n // 5, 2)
        left = n - parts["test"]["n"]
        expected = left if train_size is None else train_size
        assert parts["train"]["n"] == expected


def test_the_split_column_is_respected():
    windows = _windows({"ape": (90, 150), "fly": (120, 300)}, _thirds)
    first, second = (draw_split(windows, i, 20) for i in (0, 1))
    assert_array_equal(first[1], np.flatnonzero(windows.split == "test"))
    assert_array_equal(second[1], first[1])
    for train, _ in (first, second):
        assert set(windows.split[train]) == {"train"}
    assert set(first[0]) != set(second[0])
    assert count_split(windows, first) == count_split(windows, second)
    windows.split_names = ("learn", "test", "other")
    message = "must have the values train and test, got learn, other, test; rename"
    with pytest.raises(ValueError, match=message):
        check_windows(windows)


@pytest.mark.parametrize("splits", [None, _thirds])
def test_smaller_training_sets_are_parts_of_larger_ones(splits):
    windows = _windows({"ape": (30, 270), "fly": (200, 200)}, splits)
    sets = [set(draw_split(windows, 2, n)[0]) for n in (4, 10, 11, 25, 40)]
    for smaller, larger in pairwise(sets):
        assert smaller < larger


def test_draws_depend_on_seed_split_and_organism_only():
    windows = _windows({"ape": (60, 60), "fly": (50, 70)})
    base = draw_split(windows, 0, 20, seed=1)
    for part, same in zip(base, draw_split(windows, 0, 20, seed=1), strict=True):
        assert_array_equal(part, same)
    for split, seed in ((1, 1), (0, 2)):
        other = draw_split(windows, split, 20, seed=seed)
        assert set(other[0]) != set(base[0])
    rows = np.flatnonzero(windows.task_ids == 0)
    apes = windows[rows].with_tasks(["ape"] * rows.size)
    mixed = draw_split(concatenate([apes, _windows({"bee": (50, 70)})]), 0, 20, seed=1)
    assert set(rows[mixed[0][mixed[0] < rows.size]]) == set(base[0]) & set(rows)


APE, PAIR = {"ape": (9, 9)}, {"ape": (90, 90), "fly": (90, 90)}
UNEVEN = APE | {"fly": (2, 50), "bee": (50, 2)}
REFUSED = [
    (APE, None, None, "needs at least two organisms, got ape; add"),
    (
        UNEVEN,
        None,
        None,
        "at least 3 windows of either class, but fly has 2 positive and 50 negative, bee has 50 "
        "positive and 2 negative; add windows",
    ),
    (PAIR, np.ones, None, "at least 2 windows of either class in the split 'train', but ape has 0"),
    (PAIR, np.zeros, None, "in the split 'test', but ape has 0 positive and 0 negative"),
    (
        {"ape": (50, 50), "fly": (10, 50)},
        None,
        60,
        r"for the test, got 60, but fly has 60 \(10 positive\); choose at most 48, add",
    ),
    (PAIR, None, 3, "train_size must be at least 4, two of either class"),
]


@pytest.mark.parametrize(("counts", "splits", "train_size", "message"), REFUSED)
def test_what_is_refused(counts, splits, train_size, message):
    with pytest.raises(ValueError, match=message):
        check_windows(_windows(counts, splits), train_size)
