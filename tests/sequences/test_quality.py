"""Warnings about labelled windows that are probably not what was meant."""

import numpy as np
import pytest

from seqmtl.sequences import Windows
from seqmtl.sequences.quality import (
    WindowChecker,
    count_copies,
    length_warnings,
    window_warnings,
)
from tests.oracles.annotation import reverse_complement


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
    assert _faults(good + good[1:9:3], [*labels, -1, -1, -1]) == []  # 3 of 203 negatives
    (found,) = _faults([*good[:7], "N" * 21, *good[8:29], "N" * 20 + "A"], [1, -1] * 15)
    assert found == (
        "1 of 30 windows hold no A, C, G or T (first: 7) and are used all the same; leave them out"
    )
    (found,) = _faults(good[:20] + good[:1] * 30, [1, -1] * 10 + [1] * 30)
    assert found == (
        "windows that are copies of others: 30 of 40 positives of yeast; was a file given twice? "
        "Leave one of each"
    )
    labels = [1, 1, *[-1] * 200, *[1, -1] * 101]
    (found,) = _faults(texts, labels, ["worm"] * 202 + ["fly"] * 202)
    assert found.startswith("organisms with 100 times as many windows of one class as of the other")
    assert "worm (2 to 200)" in found
    assert "fly" not in found


@pytest.mark.parametrize("length", [1, 8, 9, 141])
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
    for part, what in zip(copies.split("about ")[1:], ("positives", "negatives"), strict=True):
        assert abs(int(part.split()[0]) - 4_000) < 1_000
        assert f" of 6000 {what} of yeast" in part


def test_copies_of_a_class_are_told_from_a_small_share_on():
    texts, labels = _random(200), [1] * 100 + [-1] * 100
    few, many = texts + texts[:9], texts + texts[100:112]
    assert _faults(few, labels + [1] * 9) == []
    (found,) = _faults(many, labels + [-1] * 12)
    assert "copies of others: 12 of 112 negatives of yeast;" in found
    short = [text[:9] for text in many]  # of which many are alike by chance
    assert _faults(short, labels + [-1] * 12) == []
    (found,) = _faults([text[:9] for text in texts[:100]] * 2, [1] * 200)
    assert "copies of others: 100 of 200 positives" in found


def test_an_organism_under_two_names_is_told():
    texts, labels = _random(90), [1, -1] * 45
    names = ["fly"] * 30 + ["worm"] * 30 + ["plant"] * 30
    assert _faults(texts, labels, names) == []
    (found,) = _faults(texts[:60] + texts[:28] + texts[60:62], labels, names)
    assert found.startswith("organisms whose windows are also those of others: fly, plant; was a")
    assert _faults(texts[:60] + texts[:20] + texts[60:70], labels, names) == []
    other = [-label for label in labels[:30]]  # the same peaks, the other label
    assert _faults(texts[:60] + texts[:30], labels[:60] + other, names) == []


@pytest.mark.parametrize("is_stranded", [True, False])
def test_copies_in_training_are_counted(is_stranded):
    texts = [text[: 12 + i] for i, text in enumerate(_random(9))]
    turned = [reverse_complement(str(text)) for text in texts]
    train = Windows.from_strings([*texts[:3], *turned[3:5], "ACGTA" * 9], pad=True)
    test = Windows.from_strings([*texts, texts[0]], pad=True)
    assert count_copies(test, train, is_stranded=is_stranded) == (4 if is_stranded else 6)


def test_a_test_split_that_copies_training_rows_is_told(write, tmp_path, seqmtl):
    texts = _random(60, 30)
    turned = [reverse_complement(str(text)) for text in texts]
    new = _random(60, 30, seed=1)
    for held, told in ((texts, "60 of 60"), (turned[:30] + new[30:], "30 of 60"), (new, "")):
        rows = [
            f"yeast\t{split}\t{1 - 2 * (i % 2)}\t{text}"
            for split, of_split in (("train", texts + _random(2, 30, seed=2)), ("test", held))
            for i, text in enumerate(of_split)
        ]
        data = write("organism\tsplit\tlabel\tsequence\n" + "\n".join(rows) + "\n", "w.tsv")
        model = tmp_path / "m.seqmtl"
        seqmtl(f"train {data} --selection none --features spectrum:2 -q -o {model}")
        shown = seqmtl(f"evaluate {model} {data} --bootstrap 0").err
        assert shown.count("w.tsv: kept") == 1
        assert ("windows of the split test are also in the split train" in shown) == bool(told)
        assert told in shown


def test_training_warns_of_faults_and_goes_on(write, tmp_path, seqmtl):
    rows = [
        f"yeast\t{label}\t{t[:-3]}{'NNN' if label < 0 else 'ACG'}"
        for label, t in zip([1, -1] * 30, _random(60), strict=True)
    ]
    data = write("organism\tlabel\tsequence\n" + "\n".join(rows) + "\n", "w.tsv")
    shown = seqmtl(f"train {data} --selection none --site 10 -q -o {tmp_path}/m.seqmtl").err
    assert "w.tsv: positives and negatives are told apart by their number of bases alone" in shown


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


@pytest.mark.parametrize("n_share", [1.0, 0.5])
def test_classes_of_different_numbers_of_n(n_share):
    texts = _random(40)
    masked = [text[:5] + "NNNNNN" + text[11:] for text in texts[20 : 20 + int(20 * n_share)]]
    texts[20 : 20 + len(masked)] = masked
    windows = Windows.from_strings(texts, labels=[1] * 20 + [-1] * 20)
    found = length_warnings(windows)  # 100 or 75 of 100 pairs, ties count half
    assert ["number of bases alone, without N: task (medians 21 and 15)" in f for f in found] == (
        [True] if n_share == 1 else []
    )
