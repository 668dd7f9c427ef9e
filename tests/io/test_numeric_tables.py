"""Tables of numbers and sequences, from text."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.io import read_numeric_table

TABLE = "task,label,a,b\nliver,1,0.5,2\nbrain,-1,-1e3,+.25\nliver,1,7,0\n"
X = [[0.5, 2.0], [-1000.0, 0.25], [7.0, 0.0]]


def check(table):
    assert table.X.dtype == np.float64
    assert table.X.tolist() == X
    assert table.y.dtype == np.int64
    assert table.y.tolist() == [1, -1, 1]
    assert table.tasks.tolist() == ["liver", "brain", "liver"]
    assert table.feature_names == ("a", "b")
    assert table.names.tolist() == ["0", "1", "2"]
    assert table.splits is None
    assert len(table) == 3


def refused(path, line=None, **options):
    """Return the message with which a file is refused, after a look at what it names."""
    with pytest.raises(InputFormatError) as caught:
        read_numeric_table(path, **options)
    assert caught.value.path == str(path)
    assert caught.value.line == line
    assert "; " in caught.value.message  # a remedy
    return caught.value.message


# ---- text: what is accepted


def test_the_name_or_the_first_line_tells_the_separator(write):
    tabs = TABLE.replace(",", "\t")
    for name, text in (
        ("T.CSV", TABLE),
        ("t.csv.gz", TABLE),
        ("t.csv", TABLE.replace(",", " , ")),
        ("t.csv", "\n \n" + TABLE.replace("\n", "\n\n") + ",,\n"),
        ("t.dat", TABLE),
        ("t.tsv", tabs),
        ("t.txt", tabs),
        ("t.tsv.gz", tabs),
        ("t", tabs),
        ("t.gz", tabs),
    ):
        pack = gzip.compress if name.endswith(".gz") else bytes
        path = write(pack(text.encode()), name)
        table = read_numeric_table(path)
        check(table)
        assert table.source == str(path)


SPLIT = "split,label,x\n0,1,5\n1,0,6\n"
NAMED = "name,label,id,x,split\nr1,1,7,0.5,train\nr2,0,8,0.6,test\n"
PEPTIDES = "allele,peptide,label,affinity\nA1,SYFPEITHI,1,?\nB7, KV,-1,5\n"
CHOICE = "task,label,a,name,note,split,b\nx,1,0.5,one,?,3,2\ny,-1,7,two,,4,0\n"


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            "x2,organ,x1,outcome\n1,a,2,0\n3,b,4,1\n",
            {"label": "outcome", "task": "organ"},
            {
                "X": [[1, 2], [3, 4]],
                "feature_names": ("x2", "x1"),
                "y": [0, 1],
                "tasks": ["a", "b"],
            },
        ),
        ("label,x,task\n1,5,t\n2,6,t\n", {}, {"X": [[5], [6]], "y": [1, 2], "tasks": ["t", "t"]}),
        ("x\n5\n\n6\n", {"require_labels": False}, {"X": [[5], [6]], "y": None, "tasks": None}),
        ("0,1\n5,6\n", {"require_labels": False}, {"feature_names": ("0", "1")}),
        (NAMED, {}, {"feature_names": ("x",), "names": ["r1", "r2"], "splits": ["train", "test"]}),
        (
            NAMED.replace("name", "name2", 1),
            {"task": "name2"},
            {"names": ["7", "8"], "tasks": ["r1", "r2"]},
        ),
        (SPLIT, {}, {"feature_names": ("split", "x"), "X": [[0, 5], [1, 6]], "splits": None}),
        (SPLIT, {"task": "split"}, {"tasks": ["0", "1"]}),
        (
            PEPTIDES,
            {"task": "allele", "sequence": "peptide"},
            {"X": ["SYFPEITHI", "KV"], "feature_names": ("peptide",), "tasks": ["A1", "B7"]},
        ),
        (
            CHOICE,
            {"features": ["b", "a"]},
            {
                "X": [[2.0, 0.5], [0.0, 7.0]],
                "feature_names": ("b", "a"),
                "names": ["one", "two"],
                "splits": ["3", "4"],
            },
        ),
        (CHOICE, {"features": ["split"]}, {"X": [[3.0], [4.0]], "splits": None}),
        ("Task,label,Alpha\nx,1,0.5\n", {"features": ["Alpha"]}, {"tasks": None}),
    ],
)
def test_what_the_columns_are(write, caplog, text, options, expected):
    with caplog.at_level("INFO", logger="seqmtl"):
        table = read_numeric_table(write(text, "t.csv"), **options)
    for name, value in expected.items():
        found = getattr(table, name)
        assert (found.tolist() if isinstance(found, np.ndarray) else found) == value
    left_out = {PEPTIDES: "'affinity'", CHOICE: "'note'"}.get(text, "")
    assert left_out in caplog.text.partition("columns left out: ")[2]


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["1.0", "-1.0", "2e1"], np.int64, [1, -1, 20]),
        (["9007199254740993", "0", "+1"], np.int64, [9007199254740993, 0, 1]),
        (["99999999999999999999", "0", "1"], np.float64, [1e20, 0, 1]),
        (["0.5", "1", "2"], np.float64, [0.5, 1, 2]),
        (["donor", " acceptor", "none"], np.str_, ["donor", "acceptor", "none"]),
        (["1", "1_0", "2"], np.str_, ["1", "1_0", "2"]),
    ],
)
def test_labels_as_they_stand(write, cells, kind, expected):
    text = "label,x\n" + "".join(f"{cell},1\n" for cell in cells)
    y = read_numeric_table(write(text, "t.csv")).y
    assert np.issubdtype(y.dtype, kind)
    assert y.tolist() == expected


def test_standard_input(monkeypatch):
    for content in (TABLE.encode(), gzip.compress(TABLE.encode())):
        raw = io.BufferedReader(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        table = read_numeric_table("-")
        check(table)
        assert table.source == "standard input"


@pytest.mark.parametrize("quote", ["", '"'])
def test_cells_of_any_length(write, quote):
    text = "ACDE" * 60_000
    path = write(f"label,s\n1,{quote}{text}{quote}\n", "t.csv")
    assert read_numeric_table(path, sequence="s").X.tolist() == [text]


def test_quotes_hold_separators_quotes_and_line_ends(write):
    text = 'task,label,"x, in mm"\na,1,1\n"say ""hi"", b",0,2\n"two\nlines",1,3\nc,1,bad\n'
    message = refused(write(text, "t.csv"), line=6)
    assert "column 'x, in mm' must hold finite numbers, got 'bad'" in message
    table = read_numeric_table(write(text.replace("bad", "4"), "t.csv"))
    assert table.tasks.tolist() == ["a", 'say "hi", b', "two\nlines", "c"]
    assert table.feature_names == ("x, in mm",)


def test_select_by_numbers_masks_and_slices(write):
    text = "name,task,label,x,split\nr,a,1,5,u\ns,b,0,6,v\nt,c,1,7,w\n"
    table = read_numeric_table(write(text, "t.csv"))
    for rows in ([2, 0], np.array([2, 0])):
        part = table.select(rows)
        assert part.X.tolist() == [[7], [5]]
        assert part.y.tolist() == [1, 1]
        assert part.tasks.tolist() == ["c", "a"]
        assert part.names.tolist() == ["t", "r"]
        assert part.splits.tolist() == ["w", "u"]
        assert part.feature_names == ("x",)
    assert table.select(table.tasks == "b").names.tolist() == ["s"]
    assert table.select(slice(0, 2)).names.tolist() == ["r", "s"]


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=6).map(
    lambda text: "t" + text.strip()
)
_NUMBER = st.floats(allow_nan=False, allow_infinity=False)


@given(
    rows=st.lists(st.tuples(_TEXT, st.integers(-5, 5), _NUMBER, _NUMBER), min_size=1, max_size=80),
    delimiter=st.sampled_from([",", "\t"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read_bit_for_bit(tmp_path, rows, delimiter, quoting, end):
    target = io.StringIO(newline="")
    writer = csv.writer(target, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([("task", "label", "u", "v"), *rows])
    path = tmp_path / ("t.csv" if delimiter == "," else "t.tsv")
    path.write_bytes(target.getvalue().encode())
    table = read_numeric_table(path)
    assert table.tasks.tolist() == [row[0].strip() for row in rows]
    assert table.y.tolist() == [row[1] for row in rows]
    np.testing.assert_array_equal(table.X, [row[2:] for row in rows])


@pytest.mark.parametrize("first_quoted", [None, 0, 700, 4999])
def test_many_rows_over_many_blocks(write, monkeypatch, first_quoted):
    from seqmtl.files import streams as _stream

    monkeypatch.setattr(_stream, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(_stream, "RAW_BYTES", 700)
    values = np.random.default_rng(0).normal(size=(5000, 3))
    lines = [
        f"{i % 2},{','.join(map(repr, row))},t{i % 7}" for i, row in enumerate(values.tolist())
    ]
    if first_quoted is not None:
        lines[first_quoted] = re.sub(r"(t\d)$", r'"\1"', lines[first_quoted])
    path = write(gzip.compress("\n".join(["label,a,b,c,task", *lines]).encode()), "t.csv.gz")
    table = read_numeric_table(path)
    np.testing.assert_array_equal(table.X, values)
    assert table.y.tolist() == [i % 2 for i in range(5000)]
    assert table.tasks.tolist() == [f"t{i % 7}" for i in range(5000)]
    lines[4998] = "1,2,x3,4,t"
    path = write("\n".join(["label,a,b,c,task", *lines]), "t.csv")
    assert "column 'b' must hold finite numbers, got 'x3'" in refused(path, line=5000)


# ---- text: what is refused


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file must hold a table, but it is empty"),
        ("\n \n", None, "the file must hold a table, but it is empty"),
        ("label,x\n", None, "must have rows, but it has only a header"),
        ("label,x\n\n,\n", 3, "column 'x' must hold finite numbers, got an empty cell"),
        (">seq1\nACGT\n", 1, "got '>seq1', which looks like FASTA"),
        ("label;x\n1;2\n", 1, "must be separated by commas, got the header 'label;x'"),
        ("label\tx\n1\t2\n", 1, "must be separated by commas"),
        ("1,0.5,0.7\n0,0.1,0.2\n", 1, "must name the columns, got the numbers 1, 0.5, 0.7"),
        ("lable,x\n1,2\n", 1, "name the column 'label', got 'lable', 'x'; did you mean 'lable'?"),
        ("q,x\n1,2\n", 1, "name the column 'label', got 'q', 'x'; add it, or give its actual name"),
        ("label,Tasks,x\n1,2,3\n", 1, "name the column 'task', .*; did you mean 'Tasks'?"),
        ("\nlabel,x,x\n1,2,3\n", 2, "must name a column once, got 'x' again"),
        (",label,x\n1,2,3\n", 1, "must name every column, got no name for column 1"),
        ("label,task,id\n1,a,3\n", 1, "must have a column of features, got only 'label', 'task'"),
        ("label,split\n1,a\n", 1, "must have a column of features"),
        ("label,x\n1,2\n1\n", 3, "must have 2 fields separated by commas like the header, got 1"),
        ("label,x\n\n1,2,3\n", 3, "must have 2 fields .*, got 3"),
        ("label,x,y\n1,2,3\n1,2,abc\n", 3, "column 'y' must hold finite numbers, got 'abc'"),
        ("label,x,y\n1,,3\n", 2, "column 'x' must hold finite numbers, got an empty cell"),
        ("label,x,y\n1,  ,3\n", 2, "column 'x' must hold finite numbers, got an empty cell"),
        ("label,x,y\n1,2,3\n\n1,NaN,3\n", 4, "column 'x' must hold finite numbers, got nan"),
        ("label,x,y\n1,2,-inf\n", 2, "column 'y' must hold finite numbers, got -inf"),
        ("label,x,y\n1,2,1e999\n", 2, "column 'y' must hold finite numbers, got inf"),
        ("label,x,y\n1,2,1_000\n", 2, "column 'y' must hold finite numbers, got '1_000'"),
        ("label,x\n1,2\n,3\n", 3, "column 'label' must hold a label in every row, got ''"),
        ("label,x\n1,2\nnan,3\n", 3, "column 'label' must hold a label in every row, got nan"),
        ("label,x\n1,2\nNA,3\n", 3, "column 'label' must hold a label in every row, got 'NA'"),
        ("label,x\n1,2\ninf,3\n", 3, "column 'label' must hold a label in every row, got inf"),
        ("label,x,task\n1,2,\n", 2, "column 'task' must hold the name or number of a task, got ''"),
        ('label,x\n1,2\n"1,2\n1,2\n', 3, "must be quoted as in CSV, .* cannot be read"),
        ('label,x\n1,2\n1,"2"2\n', 3, "must be quoted as in CSV, .* cannot be read"),
        ("label,x\r1,2\r", 1, "must be quoted as in CSV, .* correct its quotes and its end"),
        ("label,x\n1,\0\n", 2, "must have no NUL bytes.* binary or damaged"),
    ],
)
def test_bad_text(write, text, line, message):
    assert re.search(message, refused(write(text, "t.csv"), line))


def test_a_message_of_quotes_in_tsv_holds_no_tab(write):
    assert "'tab' expected after" in refused(write('label\tx\n1\t"2"2\n', "t.tsv"), 2)


def test_columns_that_are_asked_for_must_be_there(write):
    path = write("label,outcome,Organ,x,s\n1,2,3,4,AC\n1,2,3,4,\n", "t.csv")
    for line, options, message in (
        (1, {"label": "outcom"}, "column 'outcom', .*; did you mean 'outcome'?"),
        (1, {"task": "organ"}, "column 'organ', .*; did you mean 'Organ'?"),
        (1, {"sequence": "peptide"}, "column 'peptide'"),
        (1, {"features": ["X"]}, "the header must name the column 'X', .*; did you mean 'x'?"),
        (3, {"sequence": "s"}, "column 's' must hold a sequence in every row, got an empty cell"),
    ):
        assert re.search(message, refused(path, line=line, **options))
    message = "label, task and sequence must be different columns, got y, y; name each"
    with pytest.raises(ValueError, match=message):
        read_numeric_table(path, label="y", task="y")
    header = ",".join(f"gene{i}" for i in range(2000))
    message = refused(write(header + "\n" + ",".join("1" * 2000), "t.csv"), line=1)
    assert "'gene11', ... (2,000 in all)" in message
    assert len(message) < 300
