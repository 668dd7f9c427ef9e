"""Tables of distances and of groups."""

import gzip

import numpy as np
import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.similarity.relation_tables import read_distances, read_groups
from seqmtl.similarity.task_kernel import TaskKernel

SQUARE = "x\ta\tb\tc\na\t0\t1\t2.5\nb\t1\t0\t3\nc\t2.5\t3\t0\n"
PAIRS = "# made by hand\na\tb\t1\nc\ta\t2.5\n\nb\tc\t3\n"
EXPECTED = [[0, 1, 2.5], [1, 0, 3], [2.5, 3, 0]]


@pytest.mark.parametrize("form", [SQUARE, PAIRS, "one\tother\tdistance\n" + PAIRS])
@pytest.mark.parametrize(
    "store",
    [
        str.encode,
        lambda text: gzip.compress(text.encode()),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    ],
    ids=["plain", "gzip", "bom-crlf"],
)
def test_both_forms_of_distances(write, form, store):
    D = read_distances(write(store(form), "d.tsv"))
    assert D.names == ("a", "b", "c")
    assert D.source == "d.tsv"
    np.testing.assert_array_equal(D.matrix, EXPECTED)


def test_small_tables(write):
    np.testing.assert_array_equal(
        read_distances(write("\ta\tb\na\t0\t4\nb\t4\t0\n")).matrix, [[0, 4], [4, 0]]
    )
    np.testing.assert_array_equal(read_distances(write("a\tb\t4\n")).matrix, [[0, 4], [4, 0]])
    both = read_distances(write("a\tb\t4\nb\ta\t4\na\ta\t0\n"))
    np.testing.assert_array_equal(both.matrix, [[0, 4], [4, 0]])
    assert read_distances(write("\ta\na\t0\n")).names == ("a",)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "is not a table of distances"),
        ("# only\n", None, "is not a table of distances"),
        ("\ta\tb\na\t0\t1\n", 1, "a line must be a, b, distance"),  # three columns: a list
        ("x\ta\tb\na\t0\t1\n", 1, "distance must be a finite number from 0, got 'b'"),
        ("a\tb\tfar\na\tc\t1\n", 1, "distance must be a finite number from 0, got 'far'"),
        ("\ta\tb\tc\na\t0\t1\t2\n", None, "must be square, got 1 rows and 3 columns"),
        ("\ta\tb\nb\t0\t1\na\t1\t0\n", 2, "row must start with 'a'"),
        ("\ta\tb\tc\nb\t0\t1\t1\na\t1\t0\t1\nc\t1\t1\t0\n", 2, "row must start with 'a'"),
        ("\ta\tb\tc\na\t0\t1\nb\t1\t0\t1\nc\t1\t1\t0\n", 2, "have 3 numbers, got 'a' and 2"),
        ("\ta\tb\na\t0\tx\nb\tx\t0\n", 2, "must be a finite number from 0, got 'x'"),
        ("\ta\tb\na\t0\tnan\nb\tnan\t0\n", 2, "must be a finite number from 0, got 'nan'"),
        ("\ta\tb\na\t0\t-1\nb\t-1\t0\n", 2, "must be a finite number from 0, got '-1'"),
        ("\ta\tb\na\t0\t1\nb\t2\t0\n", None, "distances must be symmetric"),
        ("\ta\tb\na\t1\t1\nb\t1\t1\n", None, "must be 0 on the diagonal"),
        ("\ta\ta\na\t0\t1\na\t1\t0\n", None, "names must differ, got 'a' twice"),
        ("a\tb\t1,5\n", 1, "must be a finite number from 0, got '1,5'"),
        ("a\tb\tinf\n", 1, "must be a finite number from 0, got 'inf'"),
        ("a\tb\t1\nb\ta\t2\n", 2, "one value per pair, got 2 for .b, a. after 1"),
        ("a\tb\t1\nb\tc\t2\n", None, r"must have a distance, got none for \(a, c\) and 0 others"),
        ("a\tb\t1\na\tb\n", 2, "a line must be a, b, distance, got 2 fields"),
        ("a\tb\t1\na\t\t2\n", 2, "a line must be a, b, distance"),
        ("a\tb\t1\na\ta\t2\n", None, "must be 0 on the diagonal"),
        ("one\tother\tdistance\n", None, "is not a table of distances"),
    ],
)
def test_refused_distances(write, content, line, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read_distances(path)
    assert (info.value.path, info.value.line) == (str(path), line)


@pytest.mark.parametrize("header", ["", "organism\tgroup\n", "Organism\tGroup\tWeight\n"])
def test_groups(write, header):
    content = f"{header}# c\nfly\tinsects\nbee\tinsects\t0.5\n\nfly\tanimals\nworm\tanimals\n"
    for stored in (content.encode(), gzip.compress(content.encode())):
        groups = read_groups(write(stored))
        assert groups == {"insects": {"fly": 1.0, "bee": 0.5}, "animals": {"fly": 1.0, "worm": 1.0}}
        assert list(groups) == ["insects", "animals"]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "is not a table of groups"),
        ("organism\tgroup\n", None, "is not a table of groups"),
        ("fly insects\n", 1, "must be organism, group and optionally a weight, got 1 fields"),
        ("fly\t\n", 1, "must be organism, group"),
        ("a\tb\t1\tc\n", 1, "got 4 fields"),
        ("fly\tx\nbee\tx\nfly\tx\n", 3, "'fly' is in the group 'x' twice"),
        ("fly\tx\t0\n", 1, "weight must be positive, got 0"),
        ("fly\tx\tmany\n", 1, "weight must be a finite number from 0, got 'many'"),
        ("fly\tx\t-2\n", 1, "weight must be a finite number from 0, got '-2'"),
    ],
)
def test_refused_groups(write, content, line, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read_groups(path)
    assert (info.value.path, info.value.line) == (str(path), line)


def test_groups_make_a_task_kernel_with_their_weights(write):
    groups = read_groups(write("fly\tx\t2\nbee\tx\nbee\ty\t0.5\nworm\ty\n"))
    K = TaskKernel.clustering(groups, ["bee", "fly", "worm"])
    weights = TaskKernel.clustering([[1, 2, 0], [0.5, 0, 1]], ["bee", "fly", "worm"])
    np.testing.assert_array_equal(K.matrix, weights.matrix)
    with pytest.raises(ValueError, match="groups must not be negative, got -1"):
        TaskKernel.clustering({"x": {"fly": -1.0, "bee": 1.0}})
