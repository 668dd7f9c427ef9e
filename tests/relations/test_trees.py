"""Trees: reading, cutting and measuring, against walks along the parents and Bio.Phylo."""

import gzip
import io
import logging
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.exceptions import InputFormatError, MemoryLimitError, UnknownTaskError
from seqmtl.files import catalogue
from seqmtl.relations import Tree, read_tree

TREE = "((ape:1,man:2)primates:3,(fly:4,bee:5,ant:6)insects,yeast:0.5)root;"


def _path(tree, i):
    """Edges from the root down to node i, as {node below: length}."""
    edges = {}
    while tree.parents[i] >= 0:
        edges[i] = 1.0 if math.isnan(tree.lengths[i]) else float(tree.lengths[i])
        i = int(tree.parents[i])
    edges[i] = 0.0 if math.isnan(tree.lengths[i]) else float(tree.lengths[i])
    return edges


def _walked(tree):
    """Shared root paths and distances of the leaves, edge by edge."""
    paths = [_path(tree, i) for i in tree.leaves]
    shared = [[sum(p[e] for e in p if e in q) for q in paths] for p in paths]
    own = [[sum(p[e] for e in p if e not in q) for q in paths] for p in paths]
    return np.array(shared), np.array(own) + np.transpose(own)


@st.composite
def random_trees(draw, min_nodes=1):
    n = draw(st.integers(min_nodes, 25))
    parents = [-1, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
    length = st.one_of(st.just(math.nan), st.just(0.0), st.floats(0.001, 100))
    lengths = [draw(length) for _ in range(n)]
    return Tree(parents, lengths, [f"n{i}" for i in range(n)])


def assert_same(tree, other):
    assert tree.labels == other.labels
    assert_array_equal(tree.parents, other.parents)
    assert_array_equal(tree.lengths, other.lengths)


class TestMeasures:
    @settings(max_examples=50)
    @given(random_trees())
    def test_as_walked(self, tree):
        shared, distances = _walked(tree)
        assert_allclose(tree.shared(), shared, rtol=1e-12, atol=1e-9)
        assert_allclose(tree.distances(), distances, rtol=1e-12, atol=1e-9)
        assert_array_equal(tree.distances(), tree.distances().T)
        assert (tree.distances() >= 0).all()
        for leaf, is_above in zip(tree.leaves, tree.membership().T, strict=True):
            assert set(np.flatnonzero(is_above)) == set(_path(tree, leaf))

    def test_what_cannot_fit_is_refused(self, monkeypatch):
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 100)
        for measure in (Tree.shared, Tree.distances):
            with pytest.raises(MemoryLimitError, match=r"6 leaves would take .* prune the tree"):
                measure(read_tree(TREE))
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10)
        with pytest.raises(MemoryLimitError, match="the clades of Tree of 6 leaves"):
            read_tree(TREE).membership()


class TestPrune:
    @settings(max_examples=50)
    @given(st.data())
    def test_distances_stay(self, data):
        tree = data.draw(random_trees())
        names = data.draw(st.lists(st.sampled_from(tree.leaf_names), min_size=1, unique=True))
        pruned = tree.prune(names)
        assert sorted(pruned.leaf_names) == sorted(names)
        assert [n for n in tree.leaf_names if n in names] == list(pruned.leaf_names)
        kept = [tree.leaf_names.index(name) for name in pruned.leaf_names]
        cut = np.ix_(kept, kept)
        assert_allclose(pruned.distances(), tree.distances()[cut], atol=1e-9)
        assert_allclose(pruned.shared(), tree.shared()[cut], atol=1e-9)
        n_children = np.bincount(pruned.parents[1:], minlength=len(pruned))
        assert 1 not in n_children

    def test_by_hand(self):
        tree = read_tree(TREE)
        pruned = tree.prune(["Ant", "MAN", "bee"])
        assert pruned.leaf_names == ("MAN", "bee", "Ant")
        assert pruned.labels == ("root", "MAN", "insects", "bee", "Ant")
        assert pruned.to_newick() == "(MAN:5.0,(bee:5.0,Ant:6.0)insects)root;"
        above = tree.prune(["man", "ape"])  # what is above the last common ancestor stays
        assert above.lengths[0] == 3
        assert above.to_newick() == "((ape:1.0,man:2.0)primates:3.0);"
        assert_array_equal(read_tree(above.to_newick()).shared(), [[4, 3], [3, 5]])
        single = tree.prune(["bee"])
        assert (len(single), single.leaf_names) == (1, ("bee",))
        assert (single.shared().tolist(), single.distances().tolist()) == ([[6]], [[0]])
        assert read_tree(single.to_newick()).shared().tolist() == [[6]]

    def test_a_missing_leaf(self):
        with pytest.raises(UnknownTaskError, match="'wasp' is not in the tree text; did you mean"):
            read_tree(TREE).prune(["ape", "wasp"])
        with pytest.raises(ValueError, match="must be at least one leaf"):
            read_tree(TREE).prune([])


class TestNewick:
    @settings(max_examples=50)
    @given(st.data())
    def test_round_trip(self, data):
        tree = data.draw(random_trees(min_nodes=2))
        odd = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=6)
        labels = data.draw(st.lists(odd, min_size=len(tree), max_size=len(tree), unique=True))
        lengths = np.array(tree.lengths)
        lengths[0] = math.nan
        ordered = Tree(tree.parents.tolist(), lengths, labels)
        assert_same(read_tree(ordered.to_newick() + "\n"), ordered)

    @pytest.mark.parametrize(
        ("text", "labels"),
        [
            ("('Homo sapiens','it''s; (a:1,b)[x]',c_d);", "|Homo sapiens|it's; (a:1,b)[x]|c_d"),
            ("(a,(b,c)0.95,(d,e)100/97.5)'33208';", "33208|a||b|c||d|e"),
            ("((a,b)'x y'95:1,(c,d)'z' 0.9/87[90],e)'5'1;", "5|x y|a|b|z|c|d|e"),
            ("(a[it's],[&&NHX:S=x]b:1e-3[90])[%]r\n;", "r|a|b"),
            (" ( 9606 : 0.1 ,\n 10090 : +2E-1 )\nroot ", "root|9606|10090"),
            (
                '("Homo sapiens":1,"Burton\'s (x)":2,"a ""b""");',
                '|Homo sapiens|Burton\'s (x)|a "b"',
            ),
            ("((a,b)nan,(c,d)¹,(e,f)1e5)inf;", "inf|nan|a|b|¹|c|d||e|f"),
            ("((a,b)c,(d,e)b)c;", "c|c|a|b|b|d|e"),
            (
                "((Burton's_fish:1,mbuna:1):2,(David's_l'ape,'Thomas'' langur')O'Brien's95:1);",
                "||Burton's_fish|mbuna|O'Brien's95|David's_l'ape|Thomas' langur",
            ),
            ("(('first':1,'second':1)'third'1:0.5,c:1);", "|third|first|second|c"),
        ],
    )
    def test_labels(self, text, labels):
        assert "|".join(read_tree(text).labels) == labels

    def test_repeated_labels_of_inner_nodes_have_their_leaves(self):
        tree = read_tree("(((a,b)x,c)x,(d,(e,f)a)x)x;")
        assert tree.parents.tolist() == [-1, 0, 1, 2, 2, 1, 0, 6, 6, 8, 8]
        assert [
            tree.node_names[i] for i in (0, 1, 2, 6, 8)
        ] == "x|x (a..c)|x (a..b)|x (d..f)|a (e..f)".split("|")

    def test_a_tree_of_bio_phylo(self):
        from Bio import Phylo

        text = "((ape:1,man:2)primates:3,(fly,bee:6)insects);"
        assert_same(read_tree(Phylo.read(io.StringIO(text), "newick")), read_tree(text))
        with pytest.raises(InputFormatError, match=r"Bio\.Phylo tree: .* leaf 'a' twice"):
            read_tree(Phylo.read(io.StringIO("(a,a);"), "newick"))
        with pytest.raises(TypeError, match=r"a Tree or one of .*, got int"):
            read_tree(5)

    @settings(max_examples=100)
    @given(st.text("(),:;'[] ab19.e/\t", max_size=14), st.sampled_from([")", "a,b);", ")'c'9;"]))
    def test_any_text_is_read_or_refused(self, text, end):
        try:
            tree = read_tree("(" + text + end)
        except InputFormatError:
            return
        assert_same(read_tree(tree.to_newick()), tree)

    def test_lengths_are_numbers_as_programs_write_them(self):
        tree = read_tree("((sp.1:5.,sp.:1.5E0)n. : 2. ,c:5.e+1,d:4E-4,e:.5,f:0):7;")
        lengths = dict(zip(tree.labels, tree.lengths.tolist(), strict=True))
        names = {"sp.1": 5, "sp.": 1.5, "n.": 2, "c": 50, "d": 4e-4, "e": 0.5, "f": 0}
        assert {name: lengths[name] for name in names} == names
        assert math.isnan(lengths[""])  # above the root

    def test_absent_lengths_are_warned_of_where_others_are_there(self, caplog):
        with caplog.at_level(logging.WARNING):
            read_tree("((a,b),c);")
            assert not caplog.records
            read_tree("((a:1,b),c);")
        assert "text: branches without a length, counted as 1: 3" in caplog.text

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("((a,b);", "not a Newick tree: 2 opening and 1 closing brackets"),
            ("(Homo sapiens,b);", "'Homo sapiens'; put names with blanks"),
            ("(a,b)),(c;", "not a Newick tree"),
            ("(a,b)(c,d);", "put names with blanks or brackets between single quotes"),
            ("(a,'b);", "' without its partner"),
            ("(a,b[x);", r"\[ without its partner"),
            ("(a,b\0);", "zero bytes"),
            ("(a,'a');", "leaf 'a' twice"),
            ("(a,);", "leaf without a name"),
            ("((a,x#H1),(b,(c)x#H1));", "'x#H1' both as a leaf and as an inner node"),
            ("('apapane:1,b);", "names that begin or end with an apostrophe between single"),
            ("(a,b\1);", "control characters"),
            ("(a:-1,b);", "must be numbers from 0, got -1 above 'a'"),
            ("(a:1e999,b);", "must be numbers from 0, got inf"),
            ("(a:1:2,b);", "must be numbers, got '1:2'"),
            ("(a,b);(c,d);", "must hold one Newick tree, got 2"),
            (";", "must hold one Newick tree, got 0; give a file with one tree, and"),
            ("(a,b) and other words without end", ": 'and other'; put names"),
            ("(a:1,(c;c:1,d:1)e:1);", "got 1 and other text; .* put names with semicolons betw"),
            ("('a' 'b',c);", "not a Newick tree: \"'a' 'b'\"; put names"),
            ("((a:1,b:1)100'X':0.5,c:1);", "is not a Newick tree"),  # two names in a row
            ("((a:1,b:1)X'100':0.5,c:1);", "is not a Newick tree"),
            ("#NEXUS\nbegin data; matrix; end;", "one tree in its trees block, got 0"),
            (
                "#NEXUS\nbegin trees; translate 1 Homo sapiens; tree a=(1,b); end;",
                "translate must give pairs of key and name, got '1 Homo sapiens'",
            ),
            ("#NEXUS\nbegin trees tree a=(a,b); tree b=(c,d); end;", "trees block, got 0"),
            ("#NEXUS\nbegin trees; tree a (a,b); end;", "one Newick tree, got 0"),
            ("#NEXUS\nbegin trees; tree a=((a,b); end;", "opening and 1 closing"),
        ],
    )
    def test_bad_trees_are_refused(self, write, text, message):
        with pytest.raises(InputFormatError, match=message):
            read_tree(text)
        path = write(text, "bad.nwk")
        with pytest.raises(InputFormatError, match=f"^bad.nwk: .*{message}"):
            read_tree(path)


NEXUS = """#NEXUS
[! written by hand; with a semicolon]
Begin taxa; Dimensions ntax=3; Taxlabels 'Homo sapiens' Mus fly; End;
BEGIN TREES;
    Translate 1 'Homo sapiens', 2 Mus_musculus,
              3 'fly;''s';
    [a comment] Tree * 'my = tree' = [&R] [&W 1/2] ((1:0.5,2[&x=1]:1)99:2,3);
ENDBLOCK;
Begin notes; tree x = (a,b); end;
"""


def test_a_nexus_file_is_translated(write):
    tree = read_tree(write(NEXUS))
    assert tree.labels == ("", "", "Homo sapiens", "Mus_musculus", "fly;'s")
    assert_array_equal(tree.lengths, [math.nan, 2, 0.5, 1, math.nan])


class TestSources:
    def test_plain_and_gzip_files(self, write):
        plain = write(TREE, "tree (1).nwk")
        packed = write(gzip.compress(b"\xef\xbb\xbf" + TREE.encode()), "tree.nwk.gz")
        for source in (plain, str(plain), packed):
            tree = read_tree(source)
            assert tree.labels == read_tree(TREE).labels
            assert tree.source == ("tree.nwk.gz" if source is packed else "tree (1).nwk")
        assert read_tree(tree) is tree

    def test_shipped(self, monkeypatch):
        monkeypatch.setattr(catalogue, "names", lambda: ("metazoa", "plants"))
        monkeypatch.setattr(catalogue, "find", {"metazoa": TREE}.get)
        assert read_tree("metazoa").leaf_names == read_tree(TREE).leaf_names
        assert read_tree("metazoa").source == "metazoa"
        for name, message in (
            ("metazo", "^metazo: cannot be read .* did you mean metazoa.* are metazoa, plants$"),
            ("animals", "; shipped are metazoa, plants$"),
        ):
            with pytest.raises(InputFormatError, match=message):
                read_tree(name)

    def test_what_cannot_be_read(self, write, tmp_path, monkeypatch):
        cut = write(gzip.compress(TREE.encode())[:-12], "cut.gz")
        binary = write(b"\xff\xfe\x80", "binary")
        for path in (cut, binary, tmp_path):
            with pytest.raises(InputFormatError, match=f"{path.name}: cannot be read as a tree"):
                read_tree(path)
        monkeypatch.setattr(catalogue, "names", lambda: ())
        with pytest.raises(InputFormatError, match=r"absent.nwk: cannot be read as a tree"):
            read_tree("absent.nwk")


class TestNodes:
    def test_any_order_of_nodes(self):
        tree = Tree([2, 2, 2, 1, 1], [1, 2, 3, 4, 5], ["a", "x", "root", "b", "c"])
        assert tree.labels == ("root", "a", "x", "b", "c")
        assert_array_equal(tree.parents, [-1, 0, 0, 2, 2])
        assert_array_equal(tree.lengths, [3, 1, 2, 4, 5])

    @pytest.mark.parametrize(
        ("parents", "lengths", "message"),
        [
            ([-1, 2, 1, 0], [0] * 4, "table.tsv: must be a tree, got a cycle of parents above b"),
            ([1, 2, 0, 0], [0] * 4, "got a cycle of parents above a"),
            ([-1, -1, 0, 0], [0] * 4, "must have one root, got 2: 'a', 'b'"),
            ([-1, 9, 0, 0], [0] * 4, "must be numbers of nodes, got 9 for 'b'"),
            ([], [], "must have one root, got 0"),
            ([-1, 0], [0.0], "must have one parent, length and label per node"),
            ([-1, 0, 0], [0, math.inf, 0], "must be numbers from 0, got inf above 'b'"),
        ],
    )
    def test_nodes_that_are_no_tree(self, parents, lengths, message):
        with pytest.raises(InputFormatError, match=message):
            Tree(parents, lengths, list("abcd")[: len(parents)], "table.tsv")

    @settings(max_examples=50)
    @given(random_trees(), st.lists(st.sampled_from(["", "x", "y"]), min_size=25, max_size=25))
    def test_every_node_has_a_name_of_its_own(self, tree, labels):
        is_leaf = np.isin(np.arange(len(tree)), tree.leaves)
        labels = np.where(is_leaf, tree.labels, labels[: len(tree)])
        try:
            tree = Tree(tree.parents, tree.lengths, labels)
        except InputFormatError:
            return
        assert len({*tree.node_names}) == len(tree)

    def test_trees_are_immutable_and_pickled(self):
        tree = read_tree(TREE)
        with pytest.raises(ValueError, match="read-only"):
            tree.lengths[0] = 1
        assert_same(pickle.loads(pickle.dumps(tree)), tree)


def test_deep_trees():
    n = 3000
    deep = "(" * (n - 1) + "t0:1" + "".join(f",t{i}:1):1" for i in range(1, n)) + ";"
    tree = read_tree(deep)
    # leaf i > 0 hangs i edges from the parents of the first one
    assert tree.distances()[[0, 0, 5], [1, n - 1, 10]].tolist() == [2, n, 7]
    assert len(tree.prune([f"t{i}" for i in range(0, n, 3)]).leaves) == n // 3
    assert read_tree(tree.to_newick()).labels == tree.labels
