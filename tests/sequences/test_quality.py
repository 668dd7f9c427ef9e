"""Warnings about labelled windows that are probably not what was meant."""

import numpy as np
import pytest

from seqmtl.sequences import Windows
from seqmtl.sequences.quality import WindowChecker, length_warnings, window_warnings


def _random(n, length=21, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]


def _faults(texts, labels, tasks=None):
    tasks = ["yeast"] * len(texts) if tasks is None else tasks
    return window_warnings([Windows.from_strings(texts, labels=labels, tasks=tasks)])


def test_each_fault_by_itself():
    texts = _random(404)
    good, labels = texts[:300], [1, -1, -1] * 100
    assert _faults(good, labels) == []
    few_copies = good[:200] + good[:100:3] * 3
    assert _faults(few_copies, [1 if good.index(t) % 3 == 0 else -1 for t in few_copies]) == []
    (found,) = _faults([*good[:7], "N" * 21, *good[8:29], "N" * 20 + "A"], [1, -1] * 15)
    assert found == (
        "1 of 30 windows hold no A, C, G or T (first: 7) and are used all the same; leave them out"
    )
    (found,) = _faults(good[:20] + good[:1] * 30, [1, -1] * 10 + [1] * 30)
    assert found.startswith("windows that are copies of others: 30 of 50 of yeast; a window of a")
    labels = [1, 1, *[-1] * 200, *[1, -1] * 101]
    (found,) = _faults(texts, labels, ["worm"] * 202 + ["fly"] * 202)
    assert found.startswith("organisms with 100 times as many windows of one class as of the other")
    assert "worm (2 to 200)" in found
    assert "fly" not in found


@pytest.mark.parametrize("length", [1, 7, 8, 9, 141])
def test_both_labels_count_within_an_organism(length):
    texts = [*_random(4, length), "A" * length, "A" * length]
    labels = [1, 1, 1, 1, 1, -1]
    if length > 1:
        found = _faults(texts, labels)
        assert found == ["windows that occur with both labels: 1 of yeast; check the labels"]
    assert _faults(texts[4:], labels[4:], ["fly", "worm"]) == []
    changed = ["A" * length, "A" * (length - 1) + "C"]
    assert _faults(changed, [1, -1]) == []


def test_copies_among_many_are_counted_in_a_sample():
    texts, checker = _random(4_000), WindowChecker(max_hashes=500)
    for part in (texts[:2_000] * 2, texts[2_000:], texts[1_000:] * 2):
        labels, tasks = [1, -1] * (len(part) // 2), ["yeast"] * len(part)
        checker.add(Windows.from_strings(part, labels=labels, tasks=tasks))
    (copies,) = checker.faults()
    assert abs(int(copies.partition("about ")[2].split()[0]) - 8_000) < 2_000
    assert " of 12000 of yeast" in copies


def test_training_says_so_and_goes_on(write, tmp_path, seqmtl):
    rows = [f"yeast\t{1 - 2 * (i % 2)}\t{t}" for i, t in enumerate(_random(60))]
    rows += [f"yeast\t-1\t{rows[0].split()[2]}"]
    data = write("organism\tlabel\tsequence\n" + "\n".join(rows) + "\n", "w.tsv")
    shown = seqmtl(f"train {data} --selection none -C 0.1 --site 10 -q -o {tmp_path}/m.seqmtl").err
    assert "w.tsv: windows that occur with both labels: 1 of yeast" in shown


@pytest.mark.parametrize(
    ("positive", "negative", "is_told_apart"),
    [
        ([30, 31, 32], [60, 60, 60], True),
        ([60] * 9 + [20], [20] * 9 + [20], True),  # 95 of 100 pairs, ties count half
        ([60] * 7 + [20] * 3, [20] * 10, False),  # 85 of 100
        ([30, 60], [60, 30], False),
    ],
)
def test_classes_of_different_lengths(positive, negative, is_told_apart):
    text, lengths = _random(1, 60)[0], positive + negative
    labels = [1] * len(positive) + [-1] * len(negative)
    windows = Windows.from_strings([text[:n] for n in lengths], labels=labels, pad=True)
    medians = f"medians {np.median(positive):g} and {np.median(negative):g}"
    found = length_warnings(windows)
    assert [medians in fault for fault in found] == [True] * is_told_apart
