"""The Windows container, its names, genomes and decoys."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from Bio.Seq import Seq
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.sequences import (
    ContigTable,
    Genome,
    Windows,
    concatenate,
    decode,
    encode,
)
from seqmtl.sequences.windows import name_table, row_names


def genome_of(contigs: dict[str, str], padding: int = 5) -> Genome:
    gap = "N" * padding
    starts, text = [], gap
    for sequence in contigs.values():
        starts.append(len(text))
        text += sequence + gap
    lengths = np.array([len(sequence) for sequence in contigs.values()])
    return Genome(encode(text), ContigTable(tuple(contigs), np.array(starts), lengths))


@st.composite
def containers(draw):
    text = draw(st.text(alphabet="ACGTN", min_size=8, max_size=60))
    length = draw(st.integers(1, len(text)))
    starts = draw(st.lists(st.integers(0, len(text) - length), max_size=12))
    n = len(starts)
    column = lambda values: st.lists(st.sampled_from(values), min_size=n, max_size=n)  # noqa: E731
    return text, Windows(
        encode(text),
        starts,
        length,
        is_reverse=draw(column([False, True])),
        labels=draw(column([-1, 1])),
        task_ids=draw(column([0, 1, 2])),
        task_names=("a", "b", "c"),
        splits=draw(column([0, 1])),
        split_names=("train", "test"),
        names=[f"w{i}" for i in range(n)],
    )


def rows(windows: Windows) -> list[tuple]:
    return list(
        zip(
            windows.sequences(),
            windows.labels.tolist(),
            windows.tasks,
            windows.split,
            windows.names,
            strict=True,
        )
    )


@given(containers())
def test_letters_agree_with_biopython_on_both_strands(case):
    text, windows = case
    cuts = [Seq(text[start : start + windows.length]) for start in windows.starts]
    turned = zip(cuts, windows.is_reverse, strict=True)
    assert windows.sequences() == [str(s.reverse_complement() if r else s) for s, r in turned]
    assert windows.matrix().shape == windows.shape == (len(windows), windows.length)


@settings(max_examples=40)
@given(containers(), st.data())
def test_slices_masks_and_indices_carry_all_columns(case, data):
    _, windows = case
    everything, n = rows(windows), len(windows)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    chosen = data.draw(st.lists(st.integers(-n, n - 1), max_size=9) if n else st.just([]))
    cut = data.draw(st.slices(n))
    assert rows(windows[mask]) == [row for row, keep in zip(everything, mask, strict=True) if keep]
    assert rows(windows[chosen]) == [everything[i] for i in chosen]
    assert rows(windows[cut]) == rows(windows[cut, ...]) == everything[cut]
    assert rows(windows[::-1][chosen]) == [everything[::-1][i] for i in chosen]
    for i in range(n):
        assert rows(windows[i]) == rows(windows[i - n]) == [everything[i]]
    assert [rows(one)[0] for one in windows] == everything
    joined = concatenate([windows[::2], windows[1::2]])
    assert joined.codes is windows.codes is windows[mask].codes
    assert sorted(rows(joined)) == sorted(everything)


@given(containers(), st.data())
def test_center_cuts_in_reading_direction(case, data):
    _, windows = case
    length = data.draw(st.integers(1, windows.length))
    left = (windows.length - length) // 2
    expected = [letters[left : left + length] for letters in windows.sequences()]
    assert windows.center(length).sequences() == expected


@given(containers(), containers())
def test_concatenate_appends_rows(one, other):
    length = min(one[1].length, other[1].length)
    first, second = one[1].center(length), other[1].center(length)
    assert rows(concatenate([first, second, first])) == rows(first) + rows(second) + rows(first)


def test_what_windows_refuse():
    one, two = Windows.from_strings(["ACGT"]), Windows.from_strings(["ACGT", "CCCC"])
    codes = encode("ACGT")
    split = Windows(codes, [0], 4, splits=[0], split_names=("train",))
    for call, message in (
        (lambda: two[2], "row must be below the number of windows 2, got 2"),
        (lambda: two[-3], "got -3"),
        (lambda: Windows(codes, [0], 4, names=["a", "b"]), "must have 1 entries"),
        (lambda: two[0, 1], "rows only"),
        (lambda: Windows.from_strings(["AC", "ACG"]), "equal length, got lengths 2 to 3"),
        *(
            (lambda labels=labels: Windows.from_strings(["AC"] * len(labels), labels), "labels mus")
            for labels in ([1, 2], [1, 0, -1], [0.5, 1])
        ),
        (lambda: Windows(codes, [0], 4, labels=[1, -1]), "must have 1 entries"),
        (lambda: Windows(codes, [1], 4), "inside the encoded buffer"),
        (lambda: one.center(5), "between 1 and the sequence length 4, got 5"),
        (lambda: concatenate([one, Windows.from_strings(["ACG"])]), "one length"),
        (lambda: concatenate([one, split]), "all have splits or none"),
        (lambda: split.select_split("valid"), "one of train, got 'valid'"),
        (lambda: two.with_tasks(["x"]), r"one entry per window \(2\), got 1"),
        (lambda: name_table(range(40_000)), "at most 32,767"),
    ):
        with pytest.raises((ValueError, IndexError), match=message):
            call()
    assert len(one[[]]) == 0
    for labels in ([1, -1], [1, 0], [True, False]):
        assert Windows.from_strings(["AC", "GT"], labels).labels.tolist() == [1, -1]


def test_columns_of_windows_can_be_chosen_and_named_otherwise():
    windows = Windows(encode("ACGT"), [0, 1], 2, splits=[0, 1], split_names=("train", "test"))
    assert windows.select_split("test").starts.tolist() == [1]
    columns = [value for value in vars(windows).values() if isinstance(value, np.ndarray)]
    assert sum(column.nbytes for column in columns) - 4 <= 2 * 16
    unsplit = Windows.from_strings(["AC"])
    assert unsplit.select_split("train") is unsplit
    assert unsplit.split is None
    assert windows.with_tasks(["x", "y"]).tasks.tolist() == ["x", "y"]
    windows = pickle.loads(pickle.dumps(Windows.from_strings(["AAAA", "CCCC", "GGGG", "TTTT"])))
    assert windows[[3, 1]].center(2).names.tolist() == ["3", "1"]
    numbers = partial(row_names, 4, np.array([5, 7, 9, 11], np.int32))
    kept = Windows(windows.codes, windows.starts, 4, locator=numbers)
    assert kept[1:3].names.tolist() == ["7", "9"]


def test_names_of_joined_containers_come_from_each():
    one, other = Windows.from_strings(["AAAA", "CCCC"]), Windows.from_strings(["GGGG"])
    genome = genome_of({"x": "ACGTACGT"})
    locator = genome.contigs.window_names
    virtual = Windows(genome.codes, [5, 7], 4, is_reverse=[False, True], locator=locator)
    joined = concatenate([virtual, one, other])
    assert joined.names.tolist() == ["x:0-4(+)", "x:2-6(-)", "0", "1", "0"]
    assert joined[::-1].names.tolist() == joined.names.tolist()[::-1]
    assert concatenate([virtual, virtual[:1]]).locator == virtual.locator
    named = Windows(encode("TTTT"), [0], 4, names=["mine"])
    assert concatenate([virtual, named]).names.tolist() == ["x:0-4(+)", "x:2-6(-)", "mine"]


@given(
    st.lists(st.text(alphabet="ACGTN", min_size=1, max_size=12), min_size=1, max_size=5),
    st.integers(1, 8),
    st.data(),
)
def test_names_of_virtual_windows_lead_back_to_the_sequence(sequences, length, data):
    contigs = {f"c{i}": sequence for i, sequence in enumerate(sequences)}
    genome = genome_of(contigs, padding=length)
    name = data.draw(st.sampled_from(sorted(contigs)))
    center = data.draw(st.integers(0, len(contigs[name]) - 1))
    start = center - length // 2
    locator = genome.contigs.window_names
    windows = Windows(
        genome.codes, [genome.starts[genome.index(name)] + start], length, locator=locator
    )
    assert windows.names.tolist() == [f"{name}:{start}-{start + length}(+)"]
    padded = "N" * length + contigs[name] + "N" * length
    assert windows.sequences() == [padded[start + length : start + 2 * length]]


def test_contigs_by_name():
    genome = genome_of({"I": "ACGTT", "II": "GG"})
    assert (len(genome), genome.names, genome.n_bases) == (2, ("I", "II"), 7)
    assert ("I" in genome, "X" in genome) == (True, False)
    assert decode(genome.contig("I")) == "ACGTT"
    assert decode(genome.codes[slice(*genome.span)]) == "ACGTTNNNNNGG"
    assert "n_contigs=2" in repr(genome)
    for have, asked, message in (
        (["chrI", "chrII"], "I", r"\(chrI, chrII\), got 'I'.*match when 'chr' is added"),
        (["I", "II"], "chrI", r"match when 'chr' is removed"),
        (["I", "II"], "scaffold_9", r"rename the contigs"),
        ([f"c{i}" for i in range(9)], "x", r"c0, c1, c2, c3, c4, ... 9 in all"),
    ):
        with pytest.raises(ValueError, match=message):
            genome_of(dict.fromkeys(have, "ACGT")).contig(asked)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"task_ids": [0, 40_000]}, "task_ids must be whole .* to 32,767, got 40000"),
        ({"task_ids": [0, -1]}, "task_ids must be numbers from 0 below 2, got -1"),
        ({"task_ids": [0, 2]}, "task_ids must be numbers from 0 below 2, got 2"),
        ({"task_ids": [0, 0.5]}, r"task_ids must be whole numbers .*, got 0\.5"),
        ({"labels": np.array([1, 255])}, "labels must be whole numbers from -128 to 127, got 255"),
        ({"labels": [1, np.nan]}, "labels must be whole numbers from -128 to 127, got nan"),
        ({"splits": [0, 1]}, "splits must be numbers from 0 below 1, got 1"),
    ],
)
def test_numbers_do_not_wrap_to_those_of_others(columns, message):
    codes = np.zeros(20, dtype=np.uint8)
    with pytest.raises(ValueError, match=message):
        Windows(codes, [0, 5], 4, task_names=("a", "b"), split_names=("train",), **columns)
    good = Windows(codes, [0, 5], 4, task_ids=np.array([1.0, 0.0]), task_names=("a", "b"))
    assert good.tasks.tolist() == ["b", "a"]
