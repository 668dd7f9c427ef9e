"""Rows and columns of tab-separated text, in blocks of any size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.io.tsv import (
    Columns,
    LabelColumn,
    NameColumn,
    as_number,
    is_row,
    pop_row,
    read_columns,
)

TEXT = b"#c\nI\t4\t6\t+\n\ntrack x\nII\t0\t2\t-\nI\t9\t10\t+\n \t\nI\t1\t2\t-"
LINES = TEXT.split(b"\n")
ROWS = [(2, "I", 4, 6, "+"), (5, "II", 0, 2, "-"), (6, "I", 9, 10, "+"), (8, "I", 1, 2, "-")]
LENGTHS = {"I": 10, "II": 3}


def in_blocks(lines, size):
    """Yield lines in blocks, with the number of the first."""
    return ((at + 1, lines[at : at + size]) for at in range(0, len(lines), size))


def columns_of(lines, size=100, n_columns=4):
    return read_columns(in_blocks(lines, size), "x.bed", n_columns, is_row)


@pytest.mark.parametrize("size", range(1, 9))
def test_rows_are_those_that_are_no_comments_in_blocks_of_any_size(size):
    found = []
    for rows in columns_of(LINES, size):
        contigs, starts, ends = rows.intervals(LENGTHS)
        signs = ["+-"[int(sign)] for sign in rows.is_reverse(3)]
        lines = [row.line for row in rows]
        found += zip(lines, contigs, starts.tolist(), ends.tolist(), signs, strict=True)
    assert found == ROWS
    first, after = pop_row(in_blocks(LINES, size), "x.bed", is_row)
    assert (first.line, first.fields) == (2, ["I", "4", "6", "+"])
    assert sum(len(rows) for rows in read_columns(after, "x.bed", 4, is_row)) == 3
    assert pop_row(in_blocks(LINES[:1], size), "x.bed", is_row)[0] is None


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), st.data())
def test_parts_of_columns(names, data):
    rows = Columns("x", range(1, len(names) + 1), [t for name in names for t in (name, name * 2)])
    mask = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    taken = rows.take(np.array(mask))
    assert taken.texts(1) == [name * 2 for name, kept in zip(names, mask, strict=True) if kept]
    assert [row.line for row in taken] == [i for i, kept in enumerate(mask, 1) if kept]
    n = data.draw(st.integers(1, 4))
    assert [text for part in rows.split(n) for text in part.texts(0)] == names
    assert max(map(len, rows.split(n))) <= n
    runs = [(text, part.texts(0)) for text, part in rows.runs(0)]
    assert [text for _, texts in runs for text in texts] == names
    assert all({text} == {*texts} for text, texts in runs)
    assert all(a[0] != b[0] for a, b in pairwise(runs))


def test_names_are_numbered_across_blocks():
    names = NameColumn("contig", 0)
    numbers = [n for rows in columns_of(LINES, 3) for n in names.numbers(rows).tolist()]
    assert numbers == [0, 1, 0, 0]
    assert (names.names, names.lines) == (["I", "II"], [2, 5])
    names = NameColumn("organism", 0)
    for first in (0, 20_000):
        rows = Columns("x", range(20_000), [str(first + i) for i in range(20_000)])
        if first:
            with pytest.raises(
                InputFormatError, match=r"^x:12767: there must be at most 32,767 di"
            ):
                names.numbers(rows)
        else:
            assert names.numbers(rows).tolist() == [*range(20_000)]


def test_labels_are_of_one_kind_across_blocks():
    labels = LabelColumn("x")
    assert labels.signs(Columns("x", [2, 3, 4], ["1", "0", "+1"]), 0).tolist() == [1, -1, 1]
    for text, message in (
        ("-1", "^x:7: labels must be 1 and -1, or 1 and 0, but .* 0 on line 3 and -1 on line 7; u"),
        ("-1.0", "^x:7: labels must be 1 and -1, or 1 and 0, but .* 0 on line 3 and -1 on line"),
        ("0.8", "^x:7: label must be 1, -1 or 0, got '0.8'"),
        ("1.5", "got '1.5'"),
        ("NA", "got 'NA'"),
        (" 1", "got ' 1'"),
    ):
        with pytest.raises(InputFormatError, match=message):
            labels.signs(Columns("x", [6, 7], ["1", text]), 0)


@pytest.mark.parametrize("negative", ["0.0", "-1.0"])
def test_labels_may_have_a_decimal_as_pandas_writes_them(negative):
    labels = LabelColumn("x")
    rows = Columns("x", [2, 3, 4], ["1.0", negative, negative.removesuffix(".0")])
    assert labels.signs(rows, 0).tolist() == [1, -1, -1]


BAD = [
    ("I\t9\t10\t+\tx", "a row must have 4 tab-separated fields like the first, got 5"),
    ("I\t9\t11\t+", r"it must lie inside I \(10 bases\), got 9-11; coordinates are 0-based"),
    ("I\t9\t9\t+", "it must start before it ends, got 9-9; swap or correct"),
    ("III\t1\t2\t+", r"contig must be one of the genome's \(I, II\), got 'III'"),
    ("I\t-1\t2\t+", "start must be a whole number of up to 18 digits, got '-1'"),
    ("I\t\t2\t+", "start must be a whole number .*, got ''"),
    ("I\t²\t2\t+", "start must be a whole number .*, got '²'"),
    (f"I\t1\t{'9' * 19}\t+", "end must be a whole number .*, got '9{19}'"),
    ("I\t1\t2\t.", "strand must be \\+ or -, got '.'; give that of the row"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
@pytest.mark.parametrize("size", [1, 9])
def test_a_bad_row_is_named_by_its_line(line, message, size):
    lines = [*LINES, line.encode(), b"I\tx\tx\tx\tx"]

    def read():
        for rows in columns_of(lines, size):
            rows.intervals(LENGTHS, "it")
            rows.is_reverse(3)

    with pytest.raises(InputFormatError, match=f"^x.bed:9: {message}"):
        read()


def test_numbers():
    rows = Columns("x", [1], ["9" * 18])
    assert [*rows.integers(0), rows.row(0).integer(0)] == [10**18 - 1] * 2
    assert [as_number(text) for text in ("1", " 1e3", "-.5")] == [1, 1000, -0.5]
    assert np.isnan([as_number(text) for text in ("", "x", "1_000", "nan")]).all()
