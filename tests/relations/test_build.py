"""Task kernels by kind and source, against their definitions and hand-made inputs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import average, cophenet
from scipy.spatial.distance import squareform

from seqmtl import TaskKernel
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.relations import Distances
from seqmtl.relations.build import KernelRequest
from seqmtl.relations.distances import linkage_tree

TREE = "((ape:1,man:1)primates:2,(fly:2,bee:2,ant:2)insects:1)root;"
NAMES = ("ape", "man", "fly", "bee", "ant")
T = {"tree": "t"}
ROWS = {"ape": "AAAAAAAAAA", "man": "AAAAAAAAAC", "fly": "CCCCCCAAAA", "bee": "CCCCCCAATT"}


def build(kind, organisms=None, **source):
    return KernelRequest(kind, **source).build(organisms)


@pytest.fixture
def alignment(write):
    return write("".join(f">{name}\n{row}\n" for name, row in ROWS.items()), "rrna.fasta")


@pytest.fixture
def distances(write):
    lines = []
    for (a, s), (b, t) in itertools.combinations(ROWS.items(), 2):
        distance = sum(x != y for x, y in zip(s, t, strict=True)) / 10
        lines.append(f"{a}\t{b}\t{distance}\n")
    return write("".join(lines), "distances.tsv")


def _inverse(A):
    return np.linalg.inv(np.eye(len(A)) + np.diag(A.sum(axis=0)) - A)


class TestLinkage:
    def test_by_hand(self):
        D = [[0, 2, 8, 8], [2, 0, 6, 6], [8, 6, 0, 4], [8, 6, 4, 0]]
        tree = linkage_tree(Distances(("a", "b", "c", "d"), np.array(D), "rrna"))
        assert tree.to_newick() == "((a:1.0,b:1.0):2.5,(c:2.0,d:2.0):1.5);"
        assert tree.source == "rrna by average linkage"
        for matrix, newick in (  # ties are one node
            (np.zeros((1, 1)), "a;"),
            (2.0 * (1 - np.eye(4)), "(a:1.0,b:1.0,c:1.0,d:1.0);"),
            (np.array([[0, 0, 4], [0, 0, 4], [4, 4, 0]]), "(c:2.0,(a:0.0,b:0.0):2.0);"),
        ):
            names = tuple("abcd"[: len(matrix)])
            assert linkage_tree(Distances(names, matrix)).to_newick() == newick

    @given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
    @settings(max_examples=40)
    def test_paths_are_the_cophenetic_distances(self, T, seed, tied):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 4, T * (T - 1) // 2) if tied else rng.random(T * (T - 1) // 2)
        D = squareform(values.astype(float))
        tree = linkage_tree(Distances(tuple(f"t{i}" for i in range(T)), D))
        order = [tree.leaf_names.index(f"t{i}") for i in range(T)]
        expected = squareform(cophenet(average(squareform(D, checks=False))))
        assert_allclose(tree.distances()[np.ix_(order, order)], expected, atol=1e-12)


class TestTrees:
    @pytest.mark.parametrize("wanted", [None, ("bee", "Ape", "man")])
    def test_kinds_with_methods_of_their_own(self, wanted):
        assert build("tree", wanted, tree=TREE) == TaskKernel.from_tree(TREE, wanted)
        assert build("hierarchical", wanted, tree=TREE) == TaskKernel.hierarchical(TREE, wanted)
        smooth = TaskKernel.smooth(Distances.from_tree(TREE, wanted), [1, 2])
        assert build("smooth:1,2", wanted, tree=TREE) == smooth

    def test_graph_joins_a_leaf_to_all_below_its_parent(self):
        A = np.zeros((5, 5))
        A[:2, :2] = A[2:, 2:] = 1
        np.fill_diagonal(A, 0)
        K = build("graph", tree=TREE).matrix
        assert_allclose(K, _inverse(A))
        scale = np.sqrt(np.diagonal(K))
        assert_allclose(build("graphical", tree=TREE).matrix, K / np.outer(scale, scale))
        joined = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])  # fly is below the root: with all
        assert_allclose(build("graph", tree="((ape,man)x,fly)root;").matrix, _inverse(joined))
        cut = build("graph", ["ant", "ape", "fly"], tree=TREE)  # ape is below the root when cut
        assert_allclose(cut.matrix, _inverse(joined))

    def test_multigraph_has_a_complete_graph_per_clade(self):
        kernel = build("multigraph", ["fly", "man", "ape", "bee"], tree=TREE)
        assert kernel.names == ("fly", "man", "ape", "bee")
        assert kernel.labels == ("root", "primates", "insects")
        clades = [[1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1]]
        for K, z in zip(kernel.matrices, np.array(clades, dtype=float), strict=True):
            A = np.outer(z, z)
            np.fill_diagonal(A, 0)
            assert_allclose(K, _inverse(A))

    def test_a_single_organism_has_no_relatives(self):
        for kind in ("graph", "graphical", "multigraph", "clustering"):
            message = f"{kind} must have at least two organisms, got 1"
            with pytest.raises(InputFormatError, match=message):
                build(kind, ["ape"], tree=TREE)

    def test_taxonomy(self, write, tmp_path):
        nodes = ((1, 1), (2, 1), (3, 2), (4, 2), (5, 1))
        write("".join(f"{i}\t|\t{parent}\t|\tx\t|\n" for i, parent in nodes), "nodes.dmp")
        form = "{}\t|\tname {}\t|\t\t|\tscientific name\t|\n"
        names = enumerate(["root", "two", "c", "d", "e"], 1)
        write("".join(form.format(*pair) for pair in names), "names.dmp")
        wanted = ["name e", "name c", "name d"]
        kernel = build("hierarchical", wanted, taxonomy=tmp_path)
        assert kernel.names == build("union", wanted, taxonomy=tmp_path).names == tuple(wanted)
        assert kernel.labels == ("name root", "name two")
        assert kernel.matrices[1].tolist() == [[0, 0, 0], [0, 2, 1], [0, 1, 2]]
        with pytest.raises(ValueError, match="organisms must be given with a taxonomy"):
            KernelRequest("tree", taxonomy=tmp_path).read_tree()


def test_an_alignment_equals_its_table(alignment, distances):
    for kind in ("smooth", "hierarchical", "tree", "multigraph", "graph", "clustering"):
        a, b = build(kind, alignment=alignment), build(kind, distances=distances)
        assert (a.names, a.labels) == (b.names, b.labels)
        assert_allclose(a.matrices, b.matrices)
    smooth = build("smooth", alignment=alignment)
    assert (build(None, alignment=alignment), smooth.n_kernels) == (smooth, 3)
    with pytest.raises(UnknownTaskError, match="'wolf' is not in the distances from rrna"):
        build("smooth", ["wolf"], alignment=alignment)


class TestGraphs:
    def test_one_graph(self, write):
        path, wanted = write("ape\tman\t2\nfly\n", "a.tsv"), ["fly", "man", "ape"]
        A = np.array([[0, 0, 0], [0, 0, 2], [0, 2, 0.0]])
        assert build(None, wanted, graph=[path]) == TaskKernel.graph(A, wanted)
        expected = TaskKernel.graphical(A, wanted, 1.0)
        assert build("graphical", wanted, graph=[path]) == expected

    def test_tasks_that_a_graph_lacks_are_alone_in_it(self, write):
        paths = [write("ape\tman\nfly\n", "a.tsv"), write("fly\tbee\t3\n", "b.tsv")]
        kernel = build(None, graph=paths)
        assert kernel.names == ("ape", "man", "fly", "bee")
        assert kernel.labels == ("a.tsv", "b.tsv")
        A = np.zeros((2, 4, 4))
        A[0, 0, 1] = A[0, 1, 0] = 1
        A[1, 2, 3] = A[1, 3, 2] = 3
        assert_allclose(kernel.matrices, [_inverse(A[0]), _inverse(A[1])])

    def test_files_of_one_name_are_numbered(self, write, tmp_path):
        (tmp_path / "sub").mkdir()
        paths = [write("a\tb\n", "g.tsv"), write("a\tb\n", "sub/g.tsv")]
        assert build(None, graph=paths).labels == ("graph 1", "graph 2")

    def test_names_that_do_not_fit(self, write):
        paths = [write("ape\tfruit_fly\n", "a.tsv"), write("ape\tFruit fly\n", "b.tsv")]
        with pytest.raises(UnknownTaskError, match="'Fruit fly' is given twice"):
            build(None, graph=paths)
        with pytest.raises(UnknownTaskError, match="'appe' is not in the graphs; did you mean 'ap"):
            build(None, ["appe"], graph=paths[:1])

    def test_weights_of_no_common_size(self, write):
        path = str(write("ape\tman\t1e17\nman\tfly\t.5", "g.tsv"))
        with pytest.raises(InputFormatError, match="edge weights must be of similar size") as info:
            build("graph", graph=[path])
        assert info.value.path == path


class TestOthers:
    def test_groups(self, write):
        path = write("ape\tprimates\nman\tprimates\t2\nfly\tinsects\n")
        groups = {"primates": {"ape": 1.0, "man": 2.0}, "insects": {"fly": 1.0}}
        assert build(None, groups=path) == TaskKernel.clustering(groups)
        cut = TaskKernel.clustering(groups, ["fly", "ape"])
        assert build("clustering", ["fly", "ape"], groups=path) == cut

    def test_table(self, write):
        kernel = TaskKernel.hierarchical(TREE)
        path = write(kernel.to_tsv())
        assert build(None, table=[path]) == kernel
        assert build(None, ["fly", "ape"], table=[path]) == kernel.restrict(["fly", "ape"])

    def test_product_of_tables(self, write):
        species = write("\tman\tape\nman\t4\t3\nape\t3\t9\n", "species.tsv")
        factors = write("\tAP1\tCTCF\nAP1\t1\t-.5\nCTCF\t-.5\t2\n", "factors.tsv")
        tasks = ["ape_CTCF", "man_AP1", "man_CTCF"]
        kernel = build(None, tasks, table=[species, factors])
        assert kernel.matrix.tolist() == [[18, -1.5, 6], [-1.5, 4, -2], [6, -2, 8]]
        with pytest.raises(UnknownTaskError, match="'fly_AP1' is not in the task kernel from prod"):
            build(None, ["fly_AP1"], table=[species, factors])

    @pytest.mark.parametrize("kind", ["individual", "union", "easy"])
    def test_plain_kinds_take_names_from_anywhere(self, kind, write):
        make, path = getattr(TaskKernel, kind), write("a\tb\n")
        assert build(kind, ["x", "y"]) == make(["x", "y"])
        assert build(kind, tree=TREE) == make(NAMES)
        assert build(kind, ["bee", "man"], tree=TREE) == make(["bee", "man"])
        assert build(kind, graph=[path]) == make(["a", "b"])
        assert build(kind, groups=path) == make(["a"])
        with pytest.raises(UnknownTaskError, match="task 'c' is not in the source"):
            build(kind, ["c"], graph=[path])
        with pytest.raises(ValueError, match="organisms must be given if no source lists them"):
            build(kind)


class TestChoice:
    def test_default_follows_the_source(self):
        assert KernelRequest("union").needs_organisms
        assert KernelRequest("tree", taxonomy="d").needs_organisms
        assert not KernelRequest("union", groups="g").needs_organisms
        kinds = {"tree": "tree", "taxonomy": "tree", "alignment": "smooth", "distances": "smooth"}
        for source, kind in (kinds | {"groups": "clustering", "table": "table"}).items():
            assert KernelRequest(None, **{source: "file"}).kind == kind
        assert KernelRequest(None, graph=["a"]).kind == "graph"
        assert KernelRequest(None, graph=["a", "b"]).kind == "multigraph"

    @pytest.mark.parametrize(
        ("kind", "sources", "message"),
        [
            ("cousins", {"tree": "t"}, "kind must be one of tree, hierarchical, .*, got 'cousins'"),
            ("graph", {}, "graph must have one source of graph, tree, .* got none; give graph$"),
            ("clustering", {"graph": ["g"]}, "of groups, tree, .* got graph; give groups"),
            ("tree", {"tree": "t", "alignment": "a"}, "got tree and alignment; give tree alone"),
            ("union", {"table": "t"}, "union must have at most one source of tree"),
            ("tree", {"table": "t"}, "one source of tree.* got table; give tree"),
            ("graphical:0", T, "kind must be a finite number above 0, got 0.0 in 'graphical:0'"),
            ("graph:1,x", T, "kind must have numbers after graph:, got 'graph:1,x'"),
            ("union:1", T, "kind must be union without a number, got 'union:1'"),
        ],
    )
    def test_wrong_combinations(self, kind, sources, message):
        with pytest.raises(ValueError, match=message):
            KernelRequest(kind, **sources)

    def test_a_number_after_the_kind(self, write):
        A, names = np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0.0]]), ("ape", "man", "fly")
        graph = [write("ape\tman\t2\nfly\n", "a.tsv")]
        assert build("graphical:0.25", graph=graph) == TaskKernel.graphical(A, names, 0.25)
        assert build("graph:3", graph=graph) == TaskKernel.graph(A, names, 3.0)
        assert build("easy:0.25", names) == TaskKernel.easy(names, 0.25)
        assert build("tree:0", tree=TREE) == TaskKernel.from_tree(TREE, base=0)
        distances = Distances.from_tree(TREE)
        assert build("smooth:3,0.1", tree=TREE) == TaskKernel.smooth(distances, [3, 0.1])
        clades = {"all": NAMES, "primates": NAMES[:2], "insects": NAMES[2:]}
        of_clades = TaskKernel.clustering(clades, NAMES, lam=0.5)
        assert build("clustering:0.5", tree=TREE) == of_clades
        several = build("multigraph:0,2", graph=[*graph, write("man\tfly\n", "b.tsv")])
        kernel = build("tree:0,0.5", tree=TREE)
        assert kernel.labels == ("base=0", "base=0.5")
        for base, K in zip([0, 0.5], kernel.matrices, strict=True):
            assert_allclose(K, TaskKernel.from_tree(TREE, base=base).matrix)
        labels = [f"{name}, a={a}" for a in (0, 2) for name in ("a.tsv", "b.tsv")]
        assert several.labels == tuple(labels)
        assert_allclose(several.matrices[2], TaskKernel.graph(A, names, 2.0).matrix)
