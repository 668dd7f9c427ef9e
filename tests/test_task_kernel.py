"""Task kernels against their definitions, and the refusal of what is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import TaskKernel
from seqmtl.exceptions import InputFormatError, UnknownTaskError

TREE = "((ape:1,man:1)primates:2,(fly:2.5,bee:2)insects:0.5)root;"


def test_tree_similarity_by_hand():
    K = TaskKernel.from_newick(TREE, base=0.2)
    assert K.names == ("ape", "man", "fly", "bee")
    shared = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 3, 0.5], [0, 0, 0.5, 2.5]])
    height = np.sqrt(np.diag(shared))
    assert_allclose(K.matrix, 0.2 + 0.8 * shared / np.outer(height, height))


def test_tree_similarity_equals_bio_phylo_distances(tmp_path):
    from io import StringIO

    from Bio import Phylo

    tree = Phylo.read(StringIO(TREE), "newick")
    path = tmp_path / "tree.nwk"
    path.write_text(TREE)
    K = TaskKernel.from_newick(path, ["bee", "ape", "fly"], base=0.0)
    height = {name: tree.distance(name) for name in K.names}
    for s, a in enumerate(K.names):
        for t, b in enumerate(K.names):
            shared = (height[a] + height[b] - tree.distance(a, b)) / 2
            expected = shared / np.sqrt(height[a] * height[b])
            assert K.matrix[s, t] == pytest.approx(expected)


@st.composite
def _newick(draw, depth=4):
    count = [0]

    def clade(level):
        length = draw(st.floats(0.01, 5))
        if level == 0 or draw(st.booleans()):
            count[0] += 1
            return f"t{count[0]}:{length}"
        children = [clade(level - 1) for _ in range(draw(st.integers(1, 3)))]
        return f"({','.join(children)}):{length}"

    return f"({clade(depth)},{clade(depth)});"


@settings(max_examples=50, deadline=None)
@given(_newick(), st.floats(0, 1))
def test_every_tree_gives_a_kernel(tree, base):
    K = TaskKernel.from_newick(tree, base=base).matrix
    assert_allclose(K, K.T)
    assert_allclose(np.diagonal(K), 1)
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_special_kernels():
    names = ["a", "b", "c"]
    assert_allclose(TaskKernel.independent(names).matrix, np.eye(3))
    assert_allclose(TaskKernel.union(names).matrix, 1)
    assert_allclose(2 * TaskKernel.easy(names).matrix, np.ones((3, 3)) + np.eye(3))
    assert_allclose(4 * TaskKernel.easy(names, 0.25).matrix, np.ones((3, 3)) + 3 * np.eye(3))
    A = np.array([[0, 1, 0.5], [1, 0, 0], [0.5, 0, 0]])
    L = np.diag(A.sum(axis=1)) - A
    assert_allclose(TaskKernel.graph(A, names).matrix @ (np.eye(3) + L), np.eye(3), atol=1e-12)


def test_names_match_without_case_blanks_and_underscores():
    K = TaskKernel(["Homo_sapiens", "Mus musculus"], [[1, 0.5], [0.5, 2]])
    cut = K.restrict(["mus_musculus"])
    assert cut.names == ("mus_musculus",)
    assert cut.matrix[0, 0] == 2


def test_a_missing_name_lists_its_neighbours():
    with pytest.raises(UnknownTaskError, match=r"'homo_sapien' is not in .*mean 'homo_sapiens'"):
        TaskKernel.union(["homo_sapiens", "mus"]).restrict(["homo_sapien"])


def test_table_round_trip(tmp_path):
    K = TaskKernel.from_newick(TREE)
    path = tmp_path / "K.tsv"
    path.write_text(K.to_tsv())
    assert TaskKernel.from_tsv(path) == K


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(3), "must be square with one row per task"),
        ([[1, 0.5], [0.4, 1]], r"must be symmetric, got 0.5 for \(a, b\) and 0.4"),
        ([[1, 2], [2, 1]], "positive semi-definite, got the eigenvalue -1"),
        ([[1, np.nan], [np.nan, 1]], "must be finite"),
        ([[0, 0], [0, 1]], "positive diagonal"),
    ],
)
def test_what_is_no_kernel_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        TaskKernel(["a", "b"], matrix)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a table"),
        ("\ta\tb\na\t1\t0\n", "similarity must be square"),
        ("\ta\tb\nb\t1\t0\na\t0\t1\n", "row must start with 'a'"),
        ("\ta\tb\na\t1\tx\nb\t0\t1\n", "K.tsv:2: not a number"),
        ("\ta\tb\na\t1\t3\nb\t3\t1\n", "positive semi-definite"),
    ],
)
def test_bad_tables_name_the_place(tmp_path, text, message):
    path = tmp_path / "K.tsv"
    path.write_text(text)
    with pytest.raises(InputFormatError, match=message):
        TaskKernel.from_tsv(path)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("((a,b);", "not a Newick tree"),
        ("(a,a);", "leaf 'a' twice"),
        ("(a,);", "leaf without a name"),
        ("(a:-1,b);", "must be numbers from 0, got -1"),
        ("(a:0,b:1);", "'a' has no distance from the root"),
        ("(a,b);\n(c,d);", "must hold one Newick tree, got 2"),
    ],
)
def test_bad_trees_are_refused(tree, message):
    with pytest.raises(InputFormatError, match=message):
        TaskKernel.from_newick(tree)


def test_a_missing_file_is_named():
    with pytest.raises(InputFormatError, match=r"absent.nwk: cannot be read"):
        TaskKernel.from_newick("absent.nwk")


def test_kernels_are_immutable():
    K = TaskKernel.independent(["a"])
    with pytest.raises(AttributeError, match="immutable"):
        K.names = ("b",)
    with pytest.raises(ValueError, match="read-only"):
        K.matrix[0, 0] = 2


def test_real_trees_are_read(shared_data):
    K = TaskKernel.from_newick(
        shared_data / "phylo/trees/ensembl_vertebrates.branch_len.nw",
        ["homo_sapiens", "mus_musculus", "Danio rerio"],
    ).matrix
    assert K[0, 1] > K[0, 2] > 0.25
