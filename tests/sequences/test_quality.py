"""Warnings about labelled windows that are probably not what was meant."""

import numpy as np
import pytest

from seqmtl.sequences import Windows, quality
from seqmtl.sequences.quality import window_warnings


def _random(n, length=21, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), length)) for _ in range(n)]


def _faults(texts, labels, tasks=None):
    tasks = ["yeast"] * len(texts) if tasks is None else tasks
    return window_warnings([Windows.from_strings(texts, labels=labels, tasks=tasks)])


def test_good_windows_have_none():
    texts = _random(300)
    assert _faults(texts, [1, -1, -1] * 100) == []
    few_copies = texts[:200] + texts[:100:3] * 3
    labels = [1 if few_copies.index(t) % 3 == 0 else -1 for t in few_copies]
    assert _faults(few_copies, labels) == []


def test_windows_without_letters():
    texts = _random(50)
    texts[7], texts[30] = "N" * 21, "N" * 20 + "A"
    found = _faults(texts, [1, -1] * 25)
    assert found == [
        "1 of 50 windows hold no A, C, G or T (first: 7) and are used all the same; leave them out"
    ]


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


def test_copies():
    texts = _random(20)
    (found,) = _faults(texts + [texts[0]] * 30, [1, -1] * 10 + [1] * 30)
    assert found.startswith("windows that are copies of others: 30 of 50 of yeast; a window of a")


def test_copies_among_many_are_counted_in_a_sample_of_the_letters(monkeypatch):
    monkeypatch.setattr(quality, "MAX_HASHES", 500)
    texts = _random(4_000)
    parts = [texts[:2_000] * 2, texts[2_000:], texts[1_000:] * 2]
    whole = [text for part in parts for text in part]
    parts = [
        Windows.from_strings(part, labels=[1, -1] * (len(part) // 2), tasks=["yeast"] * len(part))
        for part in parts
    ]
    (copies,) = window_warnings(parts)
    n_copies = int(copies.partition("about ")[2].split()[0])
    assert abs(n_copies - 8_000) < 2_000
    assert f" of {len(whole)} of yeast" in copies


def test_uneven_classes():
    texts = _random(404)
    labels = [1, 1, *[-1] * 200, *[1, -1] * 101]
    (found,) = _faults(texts, labels, ["worm"] * 202 + ["fly"] * 202)
    assert found.startswith("organisms with 100 times as many windows of one class as of the other")
    assert "worm (2 to 200)" in found
    assert "fly" not in found


def test_training_says_so_and_goes_on(write, tmp_path, seqmtl):
    rows = [f"yeast\t{1 - 2 * (i % 2)}\t{t}" for i, t in enumerate(_random(60))]
    rows += [f"yeast\t-1\t{rows[0].split()[2]}"]
    data = write("organism\tlabel\tsequence\n" + "\n".join(rows) + "\n", "w.tsv")
    shown = seqmtl(f"train {data} --selection none -C 0.1 --site 10 -q -o {tmp_path}/m.seqmtl").err
    assert "w.tsv: windows that occur with both labels: 1 of yeast" in shown
