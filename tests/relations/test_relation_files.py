"""Files of relations: graphs, alignments, distances and groups, and the refusal of others."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.relations.distances import read_alignment_distances
from seqmtl.relations.relation_tables import read_distances, read_graph, read_groups

EDGES = "# three and one\na\tb\nb\tc\t0.5\nlonely\n"
ADJACENCY = np.array([[0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])
ALIGNED = """>Homo_sapiens the first word is the name
ACGTU-
nA
>Mus_musculus
aCCtt-
-A

>Danio_rerio
A-GAAA
AC
"""
SQUARE = "x\ta\tb\tc\na\t0\t1\t2.5\nb\t1\t0\t3\nc\t2.5\t3\t0\n"
PAIRS = "# made by hand\na\tb\t1\nc\ta\t2.5\n\nb\tc\t3\n"
DISTANCES = [[0, 1, 2.5], [1, 0, 3], [2.5, 3, 0]]
GROUPS = "# c\nfly\tinsects\nbee\tinsects\t0.5\n\nfly\tanimals\nworm\tanimals\n"
MEMBERS = {"insects": {"fly": 1.0, "bee": 0.5}, "animals": {"fly": 1.0, "worm": 1.0}}


# columns with a base in both: 1-5, 8 | 1, 3-5, 8 | 1, 3-5, 8
OF_ALIGNED = [[0, 1 / 6, 3 / 5], [1 / 6, 0, 4 / 5], [3 / 5, 4 / 5, 0]]


@pytest.mark.parametrize(
    ("read", "names", "matrix", "content"),
    [
        (read_graph, "a b c lonely", ADJACENCY, EDGES),
        (read_graph, "a b c lonely", ADJACENCY, "one\tother\tweight\n" + EDGES),
        (read_graph, "a b c lonely", ADJACENCY, EDGES + "c\tb\t0.5\na\tb\t1\n"),
        (read_alignment_distances, "Homo_sapiens Mus_musculus Danio_rerio", OF_ALIGNED, ALIGNED),
        (read_distances, "a b c", DISTANCES, SQUARE),
        (read_distances, "a b c", DISTANCES, PAIRS),
        (read_distances, "a b c", DISTANCES, "one\tother\tdistance\n" + PAIRS),
        (read_distances, "a b", [[0, 4], [4, 0]], "\ta\tb\na\t0\t4\nb\t4\t0\n"),
        (read_distances, "a b", [[0, 4], [4, 0]], "a\tb\t4\nb\ta\t4\na\ta\t0\n"),
        (read_distances, "a", [[0]], "\ta\na\t0\n"),
        (read_distances, "a b", [[0, 4], [4, 0]], "a\tb\t4\n"),
        (read_groups, "insects animals", MEMBERS, GROUPS),
        (read_groups, "insects animals", MEMBERS, "organism\tgroup\n" + GROUPS),
        (read_groups, "insects animals", MEMBERS, "Organism\tGroup\tWeight\n" + GROUPS),
    ],
)
def test_plain_packed_and_from_windows(write, read, names, matrix, content):
    crlf = b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode()
    for stored in (content, gzip.compress(content.encode()), crlf):
        found = read(path := write(stored, "file.x"))
        if read is read_groups:
            assert (" ".join(found), found) == (names, matrix)
            continue
        if read is not read_graph:
            assert found.source == path.name
            found = found.names, found.matrix
        assert " ".join(found[0]) == names
        np.testing.assert_array_equal(found[1], matrix)


def slow(rows):
    """Compare column by column."""
    base = {**dict(zip("ACGTacgt", "ACGTACGT", strict=True)), "U": "T", "u": "T"}
    D = np.zeros((len(rows), len(rows)))
    for s, one in enumerate(rows):
        for t, other in enumerate(rows):
            pairs = [
                (base[a], base[b]) for a, b in zip(one, other, strict=True) if {a, b} <= set(base)
            ]
            D[s, t] = sum(a != b for a, b in pairs) / len(pairs) if pairs else np.nan
    return D


@given(
    st.integers(1, 20).flatmap(
        lambda n: st.lists(
            st.text("ACGTUacgtuNn-.", min_size=n, max_size=n), min_size=2, max_size=5
        )
    )
)
def test_against_the_slow_way(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("alignment") / "a.fa"
    path.write_text("".join(f">r{i}\n{row}\n" for i, row in enumerate(rows)))
    expected = slow(rows)
    if np.isnan(expected).any():
        with pytest.raises(InputFormatError, match="must share a column"):
            read_alignment_distances(path)
    else:
        np.testing.assert_array_equal(read_alignment_distances(path).matrix, expected)


def test_lines_of_an_alignment_may_end_as_on_an_old_mac(write):
    D = read_alignment_distances(write(b">a\rACG\r>b\rA\rTG\r"))
    assert (D.names, D.matrix[0, 1]) == (("a", "b"), pytest.approx(1 / 3))


def test_letters_outside_ascii_are_no_bases(write):
    D = read_alignment_distances(write(">a\nACé\n>b\nATA\n"))
    assert D.matrix[0, 1] == 0.5


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_groups_in_groups(T, seed):
    """Widmer 2015, section 2.6.2: the tasks of a node of a DAG are all below it, here by powers."""
    rng = np.random.default_rng(seed)
    A = np.tril(rng.random((T, T)) < 0.4, -1)  # of parents (rows) by children (columns)
    A[1:][~A[1:].any(axis=1), 0] = True  # only the first is an organism
    organisms = ~A.any(axis=1)
    below = np.linalg.matrix_power(A.astype(int) + np.eye(T, dtype=int), T) > 0
    order = rng.permutation(np.argwhere(A))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dag.tsv")
        path.write_text("".join(f"n{child}\tn{parent}\n" for parent, child in order))
        groups = read_groups(path)
    assert set(groups) == {f"n{i}" for i in np.flatnonzero(A.any(axis=1))}
    for label, members in groups.items():
        expected = {f"n{i}" for i in np.flatnonzero(below[int(label[1:])] & organisms)}
        assert set(members) == expected
        assert set(members.values()) == {1.0}


def test_weights_of_groups_in_groups(write):
    path = write("fly\tx\t2\nbee\tx\nx\ty\t0.5\nfly\ty\t3\nx\tz\nant\tz\t4\ny\tz\n")
    groups = read_groups(path)
    assert groups["y"] == {"fly": 3.0, "bee": 0.5}
    assert groups["z"] == {"fly": 3.0, "bee": 1.0, "ant": 4.0}


REFUSED = {
    read_graph: [
        ("", None, "at least one task, got none"),
        ("a\ta\n", 1, "an edge must join two tasks, got 'a' with itself"),
        ("a\tb\na\tb\t-1\n", 2, "weight must be a finite number from 0, got '-1'"),
        ("a\tb\theavy\nb\tc\t1\n", 1, "weight must be a finite number from 0, got 'heavy'"),
        ("a\tb\t1\nb\ta\t2\n", 2, "edges must have one value per pair, got 2 for .b, a. after 1"),
        ("a\t\tb\n", 1, "got 3 fields of which 1 are empty"),
        ("a\tb\t1\tx\n", 1, "a line must be a, b and optionally a weight"),
        ("a b 0.5\nb c 1\n", 1, "must have tabs between a, b and weight, got 'a b 0.5'"),
        ('<?xml version="1.0"?>\n<graphml/>\n', None, "as a graph: the file is HTML or XML"),
    ],
    read_alignment_distances: [
        (">a\nACG\n>b\nAC\n", 3, "must have one length, got 2 after 3 of 'a'; align"),
        (">a\nACG\n", None, "at least 2 sequences, got 1"),
        (">a\nAC--\n>b\n--GT\n", None, "must share a column .* got none for 'a' and 'b'"),
        (">a\nAC\n\n>a x\nAC\n", 4, "names must differ, got 'a' twice"),
        (">a\nAC\n> \nAC\n", 3, "has no name; write >Genus_species"),
        ("ACGT\n>a\nAC\n", 1, "must start with a > line"),
        (b">a\nA\xff\n", None, "cannot be read as a FASTA file"),
        (">a\nMKTA\n>b\nMEFq\n", 3, "nucleotides, got E, F, Q, as in a protein; give nucl"),
        (">a\nMKHA\n>b\nMKRS\n", 1, "of nucleotides, got others, as in a protein"),
    ],
    read_distances: [
        ("", None, "is not a table of distances"),
        ("\ta\tb\na\t0\t1\n", 1, "a line must be a, b, distance"),  # three columns: a list
        ("x\ta\tb\na\t0\t1\n", 1, "distance must be a finite number from 0, got 'b'"),
        ("\ta\tb\tc\na\t0\t1\t2\n", None, "the table must be square, got 1 rows and 3 columns"),
        ("\ta\tb\tc\nb\t0\t1\t1\na\t1\t0\t1\nc\t1\t1\t0\n", 2, "row must start with 'a'"),
        ("\ta\tb\tc\na\t0\t1\nb\t1\t0\t1\nc\t1\t1\t0\n", 2, "have 3 numbers, got 'a' and 2"),
        ("\ta\tb\na\t0\tx\nb\tx\t0\n", 2, "must be a finite number from 0, got 'x'"),
        ("\ta\tb\na\t0\t1\nb\t2\t0\n", None, "distances must be symmetric"),
        ("\ta\tb\na\t1\t1\nb\t1\t1\n", None, "must be 0 on the diagonal"),
        ("\ta\ta\na\t0\t1\na\t1\t0\n", None, "names must differ, got 'a' twice"),
        ("a\tb\t1\nb\ta\t2\n", 2, "one value per pair, got 2 for .b, a. after 1"),
        ("a\tb\t1\nb\tc\t2\n", None, r"must have a distance, got none for \(a, c\) and 0 others"),
        ("a\tb\t1\na\tb\n", 2, "a line must be a, b, distance, got 2 fields"),
        ("a\tb\t1\na\t\t2\n", 2, "a line must be a, b, distance"),
        (",a,b\na,0,1\nb,1,0\n", None, "put tabs between the fields, not commas"),
        ("    2\na   0 1\nb   1 0\n", None, "this looks like PHYLIP: write names in the first"),
        ("\t3\na\nb\t0.1\nc\t0.1\t0.2\n", None, "this looks like PHYLIP"),
        ("a.fa\tb.fa\t0.1\t0\t50/1000\n" * 3, None, "mash dist: cut -f1-3 leaves"),
    ],
    read_groups: [
        ("", None, "is not a table of groups"),
        ("a\tx\nx\ty\ny\tz\nz\tx\n", None, "no group may be in itself, got (x|y|z) in .*; rem"),
        ("fly insects\n", 1, "must be organism, group and optionally a weight, got 1 fields"),
        ("fly\t\n", 1, "must be organism, group"),
        ("a\tb\t1\tc\n", 1, "got 4 fields"),
        ("fly\tx\nbee\tx\nfly\tx\n", 3, "'fly' is in the group 'x' twice"),
        ("fly\tx\t0\n", 1, "weight must be positive, got 0"),
    ],
}


@pytest.mark.parametrize(
    ("read", "content", "line", "message"),
    [(read, *case) for read, cases in REFUSED.items() for case in cases],
)
def test_refused_files(write, read, content, line, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read(path)
    assert (info.value.path, info.value.line) == (str(path), line)
