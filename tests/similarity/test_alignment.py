"""Distances from aligned sequences."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.similarity.alignment import read_alignment_distances

SMALL = """>Homo_sapiens the first word is the name
ACGTU-
nA
>Mus_musculus
aCCtt-
-A

>Danio_rerio
A-GAAA
AC
"""


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


def test_by_hand(write):
    D = read_alignment_distances(write(SMALL, "rna.fa"))
    assert D.names == ("Homo_sapiens", "Mus_musculus", "Danio_rerio")
    assert D.source == "rna.fa"
    # columns with a base in both: 1-5, 8 | 1, 3-5, 8 | 1, 3-5, 8
    np.testing.assert_array_equal(
        D.matrix, [[0, 1 / 6, 3 / 5], [1 / 6, 0, 4 / 5], [3 / 5, 4 / 5, 0]]
    )


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(SMALL.encode()),
        SMALL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + SMALL.encode(),
    ],
    ids=["gzip", "crlf", "bom"],
)
def test_encodings(write, content):
    plain = read_alignment_distances(write(SMALL))
    other = read_alignment_distances(write(content))
    assert other.names == plain.names
    np.testing.assert_array_equal(other.matrix, plain.matrix)


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


def test_ribosomal_rna_of_38_organisms(shared_data):
    folder = shared_data / "phylo" / "ssu"
    D = read_alignment_distances(folder / "ssu_18s.mafft.fasta")
    lines = (folder / "hamming_pairwise.tsv").read_text(encoding="utf-8").splitlines()
    assert list(D.names) == lines[0].split("\t")[1:]
    expected = [[float(value) for value in line.split("\t")[1:]] for line in lines[1:]]
    np.testing.assert_allclose(D.matrix, expected, rtol=0, atol=5.0001e-6)  # 5 decimals


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (">a\nACG\n>b\nAC\n", 3, "must have one length, got 2 after 3 of 'a'; align"),
        (">a\nACG\n", None, "at least 2 sequences, got 1"),
        ("", None, "at least 2 sequences, got 0"),
        (">a\nAC--\n>b\n--GT\n", None, "must share a column .* got none for 'a' and 'b'"),
        (">a\n\n>b\n\n", None, "must share a column"),
        (">a\nAC\n\n>a x\nAC\n", 4, "names must differ, got 'a' twice"),
        (">a\nAC\n> \nAC\n", 3, "has no name; write >Genus_species"),
        ("ACGT\n>a\nAC\n", 1, "must start with a > line"),
        (b">a\nA\xff\n", None, "cannot be read as a FASTA file"),
    ],
)
def test_refusals(write, content, line, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read_alignment_distances(path)
    assert (info.value.path, info.value.line) == (str(path), line)


def test_letters_outside_ascii_are_no_bases(write):
    D = read_alignment_distances(write(">a\nACé\n>b\nATA\n"))
    assert D.matrix[0, 1] == 0.5
