"""Task kernels against their definitions, and the refusal of what is none."""

import copy
import itertools
import pickle
from string import ascii_letters

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import TaskKernel
from seqmtl.exceptions import InputFormatError, MemoryLimitError, UnknownTaskError
from seqmtl.relations import Distances, read_tree
from seqmtl.training.task_kernels import resolve_kernels

TREE = "((ape:1,man:1)primates:2,(fly:2.5,bee:2)insects:0.5)root;"
HIERARCHY = "(((a,b)ab,c)abc,(d,(e,f))def,g)all;"
TWICE = [TaskKernel.union(["a", "a_b"]), TaskKernel.union(["b_c", "c"])]
D3 = np.array([[0, 1, 4], [1, 0, 2], [4, 2, 0.0]])


def names(T):
    return [f"t{i}" for i in range(T)]


@st.composite
def newick(draw, depth=4):
    count = [0]

    def clade(level):
        length = draw(st.floats(0.01, 5))
        if level == 0 or draw(st.booleans()):
            count[0] += 1
            return f"t{count[0]}:{length}"
        children = [clade(level - 1) for _ in range(draw(st.integers(1, 3)))]
        return f"({','.join(children)}):{length}"

    return f"({clade(depth)},{clade(depth)});"


def test_tree_similarity_by_hand():
    K = TaskKernel.from_tree(TREE, base=0.2)
    assert K.names == ("ape", "man", "fly", "bee")
    shared = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 3, 0.5], [0, 0, 0.5, 2.5]])
    height = np.sqrt(np.diag(shared))
    assert_allclose(K.matrix, 0.2 + 0.8 * shared / np.outer(height, height))


@settings(max_examples=20)
@given(newick(), st.floats(0, 1), st.randoms())
def test_kernels_of_any_tree(tree, base, random):
    """PSD without a warning, and the order of the names is no more than an order."""
    distances = Distances.from_tree(tree)
    every = list(distances.names)
    shuffled = random.sample(every, len(every))
    order = [every.index(name) for name in shuffled]
    median = np.median(distances.matrix[np.triu_indices(len(every), 1)])
    scales = [0.01 * median, median, 100 * median]
    for make in (
        lambda tree, names=None: TaskKernel.from_tree(tree, names, base),
        TaskKernel.hierarchical,
        lambda tree, names=None: TaskKernel.smooth(Distances.from_tree(tree, names), scales),
    ):
        K, permuted = make(tree), make(tree, shuffled)
        cut = K.matrices[:, order][:, :, order]
        assert permuted.names == tuple(shuffled)
        assert_allclose(permuted.matrices, cut, atol=1e-12)
        assert K.restrict(shuffled) == TaskKernel(shuffled, cut, labels=K.labels)
        for matrix in K.matrices:
            assert np.linalg.eigvalsh(matrix)[0] > -1e-10 * np.abs(matrix).max()
    assert_allclose(np.diagonal(TaskKernel.from_tree(tree, base=base).matrix), 1)


def test_special_kernels():
    """Widmer 2015, 2.5.3: Dirac, uniform and frustratingly easy task kernels."""
    assert_array_equal(TaskKernel.individual("abc").matrix, np.eye(3))
    assert_array_equal(TaskKernel.union("abc").matrix, np.ones((3, 3)))
    assert_array_equal(2 * TaskKernel.easy("abc").matrix, 1 + np.eye(3))
    assert_array_equal(4 * TaskKernel.easy("abc", 0.25).matrix, 1 + 3 * np.eye(3))


def test_the_nearest_kernel_takes_the_place_of_none():
    K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]])
    lowest = np.linalg.eigvalsh(K)[0]
    text = rf"similarity 'b' is not positive .* eigenvalue {lowest:.3g} clipped to 0"
    with pytest.warns(UserWarning, match=text):
        found = TaskKernel("xyz", [np.eye(3), K], labels=["a", "b"])
    assert_array_equal(found.matrices[0], np.eye(3))
    projected = found.matrices[1]
    assert np.linalg.eigvalsh(projected)[0] > -1e-12
    # the distance to the nearest one is the norm of what is negative; no other kernel is closer
    assert np.linalg.norm(projected - K) == pytest.approx(-lowest)
    TaskKernel("xyz", projected)  # without a warning
    almost = np.ones((3, 3)) - 1e-10 * np.eye(3)  # rounding is no reason to warn
    assert_allclose(TaskKernel("abc", 1e6 * almost).matrix, 1e6 * almost)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a table"),
        ("\ta\na\t1\n# kernel\tx\n\ta\na\t1\n", "K.tsv:1: the first line must be '# kernel'"),
        ("# kernel\tx\n\ta\na\t1\n# kernel\ty\n\tb\nb\t1\n", "those of 'y' differ from those of"),
        ("# kernel\tx\n\ta\na\t1\n# kernel\ty\n", "not a table"),
        ("# kernel\tx\n\ta\na\t1\n# kernel\tx\n\ta\na\t1\n", r"matrix \(2\) and differ"),
        ("\ta\tb\na\t1\tnan\nb\tnan\t1\n", "K.tsv:2: similarity must be a finite number"),
    ],
)
def test_bad_tables_name_the_place(write, text, message):
    with pytest.raises(InputFormatError, match=message):
        TaskKernel.from_tsv(write(text, "K.tsv"))


def laplacian(A):
    """Graph Laplacian, entry by entry."""
    T = len(A)
    L = np.zeros((T, T))
    for s, t in itertools.permutations(range(T), 2):
        L[s, s] += A[s][t]
        L[s, t] -= A[s][t]
    return L


@st.composite
def adjacencies(draw):
    T = draw(st.integers(1, 7))
    weight = st.one_of(st.just(0.0), st.floats(0.01, 10))
    upper = draw(arrays(np.float64, (T, T), elements=weight))
    return np.triu(upper) + np.triu(upper, 1).T


@settings(max_examples=50)
@given(adjacencies(), st.floats(2**-8, 10), st.randoms())
def test_graphs(A, a, random):
    """Widmer 2012, eq. 11; Widmer 2015, 2.6.1; Sheldon 2008, eq. 5: kernels of graphs by pinv."""
    T = len(A)
    inverse = np.linalg.pinv(np.eye(T) + laplacian(A))
    for given_as in (A, A.tolist(), scipy.sparse.csr_matrix(A), scipy.sparse.coo_array(A)):
        assert_allclose(TaskKernel.graph(given_as, names(T)).matrix, inverse, atol=1e-10)
    several = TaskKernel.multigraph([A, scipy.sparse.csr_array(np.eye(T))], names(T))
    assert several.labels == ("graph 1", "graph 2")
    assert_allclose(several.matrices, [inverse, np.eye(T)], atol=1e-10)
    for own in (a, [a * random.uniform(0.5, 2) for _ in range(T)]):
        K0 = np.linalg.pinv(laplacian(A) + np.diag(np.full(T, own)), hermitian=True)
        expected = [[K0[s, t] / np.sqrt(K0[s, s] * K0[t, t]) for t in range(T)] for s in range(T)]
        K = TaskKernel.graphical(scipy.sparse.csr_array(A), names(T), own).matrix
        assert_allclose(K, expected, atol=1e-8)
        assert_array_equal(np.diagonal(K), 1)


@settings(max_examples=50)
@given(adjacencies(), st.floats(0.01, 10))
def test_graphs_of_any_weight_of_the_norm(A, a):
    """Widmer 2015, eq. 19: the pseudo-inverse of L stands for its inverse."""
    alone, T = ~(A - np.diag(np.diag(A))).any(axis=0), len(A)
    K = TaskKernel.graph(A, names(T), a)
    assert_allclose(K.matrix, np.linalg.inv(a * np.eye(T) + laplacian(A)), atol=1e-8)
    if alone.any():
        with pytest.raises(ValueError, match="must have a positive diagonal, got 0 for"):
            TaskKernel.graph(A, names(T), 0)
    else:
        K = TaskKernel.graph(A, names(T), 0)
        assert K.source == "graph(a=0)"
        assert_allclose(K.matrix, np.linalg.pinv(laplacian(A), 1e-9), atol=1e-8)
    if not alone.all():
        several = TaskKernel.multigraph([A, np.ones((T, T))], names(T), a=0.0)
        assert_allclose(several.matrices[0], np.linalg.pinv(laplacian(A), 1e-9), atol=1e-8)


def test_graphical_between_union_and_independence():
    """Sheldon 2008, 2.3: graphical kernels tend to union and to individual tasks."""
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[1, 2] = A[2, 1] = A[3, 4] = A[4, 3] = 1
    union = np.kron(np.eye(2), np.ones((3, 3)))[:5, :5]
    assert_allclose(TaskKernel.graphical(A, "abcde", 1e-7).matrix, union, atol=1e-6)
    assert_allclose(TaskKernel.graphical(A, "abcde", 1e7).matrix, np.eye(5), atol=1e-6)
    assert TaskKernel.graphical(A, "abcde", 0.5).source == "graphical(a=0.5)"
    assert TaskKernel.graphical(A, "abcde", np.ones(5)).source == "graphical(a=per task)"


def cluster_q(R, lam, r):
    """Q = lam I + G of Widmer et al. 2015, eq. 13-15, entry by entry."""
    C, T = np.shape(R)
    Q = lam * np.eye(T)
    for s, t, c in np.ndindex(T, T, C):
        total = sum(R[c][u] for u in range(T))
        if total:
            Q[s, t] += R[c][s] * (s == t) - R[c][s] * R[c][t] / (r + total)
    return Q


@settings(max_examples=50)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 6)),
        elements=st.one_of(st.just(0.0), st.floats(0.1, 5)),
    ),
    st.floats(0.01, 5),
    st.one_of(st.just(0.0), st.floats(0.1, 5)),
)
def test_clustering(R, lam, r):
    """Widmer 2015, eq. 15: (lam I + G)^-1 with G entry by entry."""
    K = TaskKernel.clustering(R, names(R.shape[1]), lam=lam, rho_centre=r).matrix
    assert_allclose(K, np.linalg.pinv(cluster_q(R, lam, r)), rtol=1e-6, atol=1e-8)


def test_groups_by_name():
    """Widmer 2015, 2.5.3: one group with lam = 0 and rho = 1 is 11' + I."""
    groups = {"animals": ["human", "worm", "dog"], "plants": ["cress"]}
    groups["eukaryotes"] = ["Human", "cress", "WORM", "yeast"]
    wanted = ["cress", "worm", "human"]
    K = TaskKernel.clustering(groups, wanted, lam=0.5, rho_centre=2.0)
    R = [[0, 1, 1], [1, 0, 0], [1, 1, 1]]
    assert K == TaskKernel.clustering(R, wanted, lam=0.5, rho_centre=2.0)
    assert (K.names, K.source) == (tuple(wanted), "clustering(3 groups)")
    assert TaskKernel.clustering({"a": ["x", "y"], "b": ["y", "z"]}).names == ("x", "y", "z")
    easy = TaskKernel.clustering({"all": wanted}, lam=0, rho_centre=1)
    assert_allclose(easy.matrix, np.ones((3, 3)) + np.eye(3))


@pytest.mark.parametrize(("rho", "rho0"), [(1.0, 1.0), (0.3, 2.5)])
def test_hierarchical_is_the_pseudo_inverse_of_the_paper(rho, rho0):
    """Widmer 2015, 2.6.2: a kernel per clade, the pseudo-inverse of its G_m."""
    K = TaskKernel.hierarchical(HIERARCHY, rho_task=rho, rho_centre=rho0)
    assert K.names == tuple("abcdefg")
    assert K.labels == ("all", "abc", "ab", "def", "(e..f)")
    assert (K.source, K.n_kernels) == ("hierarchical(text)", 5)
    clades = dict(zip(K.labels, ["abcdefg", "abc", "ab", "def", "ef"], strict=True))
    for matrix, leaves in zip(K.matrices, clades.values(), strict=True):
        r = [rho if name in leaves else 0.0 for name in K.names]
        G = cluster_q([r], 0.0, rho0)
        assert_allclose(matrix, np.linalg.pinv(G, hermitian=True), atol=1e-12)
    of_groups = {label: list(members) for label, members in clades.items()}
    assert TaskKernel.hierarchical(of_groups, None, rho, rho0) == K
    assert_allclose(K.matrix, np.mean(list(K.matrices), axis=0))
    scaled, size = K.scaled(), np.sqrt(np.diag(K.matrix))
    assert_allclose(scaled.matrix, K.matrix / np.outer(size, size))
    # overlapping groups, with weights; what is alike or has none of the tasks has no kernel
    groups = {"x": {"a": 1.0, "b": 2.0}, "y": {"b": 0.5, "c": 1.0, "d": 1.0}, "z": {"d": 3.0}}
    same = groups | {"again": groups["x"], "none": {"e": 1.0}}
    K = TaskKernel.hierarchical(same, ["d", "a", "b", "c"], rho, rho0)
    assert (K.names, K.labels) == (tuple("dabc"), ("x", "y", "z"))
    for matrix, weights in zip(K.matrices, groups.values(), strict=True):
        G = cluster_q([[rho * weights.get(name, 0.0) for name in K.names]], 0.0, rho0)
        assert_allclose(matrix, np.linalg.pinv(G), atol=1e-12)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryLimitError, match="5 kernels of 7 tasks"):
        TaskKernel.hierarchical(HIERARCHY)
    with pytest.raises(MemoryLimitError, match="a kernel of 9 tasks"):
        TaskKernel.graph(np.eye(9), names(9))
    with pytest.raises(MemoryLimitError, match="1 kernels of 9 tasks"):
        TaskKernel.product([TaskKernel.union("abc")] * 2)


def test_product_of_the_parts_of_names():
    """Every entry is the product of those of the parts, for all pairs of matrices."""
    one = TaskKernel(["x", "y"], [[[2, 1], [1, 3]], [[1, 0], [0, 0]]], labels=["p", "q"])
    other = TaskKernel(["a", "b", "c"], [[4, 1, 0], [1, 1, 0], [0, 0, 1]])
    last = TaskKernel(["z"], [[[5]], [[7]]])
    product = TaskKernel.product([one, other, last])
    assert product.names == ("x_a_z", "x_b_z", "x_c_z", "y_a_z", "y_b_z", "y_c_z")
    assert product.labels == ("p, K, K1", "p, K, K2", "q, K, K1", "q, K, K2")
    assert product.source == "product(matrix, matrix, matrix)"
    pairs = itertools.product(one.matrices, (5, 7))
    for matrix, (first, third) in zip(product.matrices, pairs, strict=True):
        assert_array_equal(matrix, np.kron(first, other.matrix) * third)
    assert TaskKernel.product([other]).matrix.tolist() == other.matrix.tolist()


def test_smooth():
    """Widmer 2015, 2.6.3: exp(-Dist / sigma_m) for several sigma_m."""
    K = TaskKernel.smooth(D3, [0.5, 2], names="abc")
    assert K.labels == ("sigma=0.5", "sigma=2")
    for K_m, sigma in zip(K.matrices, [0.5, 2], strict=True):
        for s, t in np.ndindex(3, 3):
            assert K_m[s, t] == pytest.approx(np.exp(-D3[s, t] / sigma))
    distances = Distances("abc", D3, "a table")
    assert TaskKernel.smooth(distances).labels == ("sigma=0.5", "sigma=2", "sigma=8")
    some = TaskKernel.smooth(distances, names="ca")
    assert (some.names, some.source) == (("c", "a"), "smooth(a table)")
    assert some.labels == ("sigma=1", "sigma=4", "sigma=16")
    assert_allclose(some.matrices[:, 0, 1], np.exp([-4, -1, -0.25]))


@pytest.mark.parametrize(
    "make",
    [
        TaskKernel,
        lambda names, A: TaskKernel.graph(A, names),
        lambda names, A: TaskKernel.multigraph([A], names),
        lambda names, A: TaskKernel.smooth(A * (A < 2), [2.0], names),
    ],
)
def test_rows_and_columns_of_data_frames_are_found_by_their_labels(make):
    pandas = pytest.importorskip("pandas")
    A = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])
    frame = pandas.DataFrame(A, [*"cab"], [*"cab"]).loc[[*"bca"], [*"acb"]]
    assert_allclose(make("bac", frame).matrix, make("cab", A).restrict("bac").matrix)
    with pytest.raises(ValueError, match=r"must be the tasks, \['a', 'b', 'd'\], got \['b', 'c"):
        make("abd", frame)


def test_smooth_of_what_is_no_tree_is_projected():
    # all others are close to the first and far from each other: no kernel at large scales
    D = 2.0 * (1 - np.eye(5))
    D[0, 1:] = D[1:, 0] = 0.1
    with pytest.warns(UserWarning, match="'sigma=100' is not positive semi-definite"):
        K = TaskKernel.smooth(D, [100.0], names="abcde")
    assert np.linalg.eigvalsh(K.matrix)[0] > -1e-12


REFUSED = {
    lambda matrix: TaskKernel("ab", matrix, not_psd="refuse"): [
        ([[1, 0.5], [0.4, 1]], r"must be symmetric, got 0.5 for \(a, b\) and 0.4"),
        ([[1, 2], [2, 1]], "positive semi-definite, got the eigenvalue -1"),
        ([[1, np.nan], [np.nan, 1]], r"must be finite, got nan for \(a, b\)"),
        ([[0, 0], [0, 1]], "positive diagonal, got 0 for 'a'"),
        ([[1, 2], [2, -1]], "positive diagonal, got -1 for 'b'"),
        ([np.diag([1, 0]), np.diag([2, 0])], "similarity must have a positive diagonal, got 0 fo"),
        (np.zeros((0, 2, 2)), "at least one matrix, got none"),
        (np.ones(2), r"must be square with one row per task \(2\), got shape \(2,\)"),
    ],
    lambda tasks, options: TaskKernel(tasks, np.eye(2), **options): [
        (["a", "a"], {}, "must differ, got 'a' twice"),
        (["a", " "], {}, "must not be empty"),
        (["a", "b\tc"], {}, r"must not have tabs or line breaks, got 'b\\tc'"),
        ([], {}, "must be at least one, got none"),
        (["a", "b"], {"labels": ["x", "y"]}, r"one per matrix \(1\) and differ, got x, y"),
        (["a", "b"], {"labels": ["x\n"]}, "without tabs and line breaks, got"),
        (["a", "b"], {"not_psd": "clip"}, "not_psd must be project or refuse, got 'clip'"),
    ],
    lambda groups, options: TaskKernel.clustering(groups, **options): [
        ({"a": ["x", "y"]}, {"names": ["x", "why"]}, "'why' is not in any of the groups; did"),
        ({"a": "xy"}, {"names": ["x"]}, "must have lists of members, got 'xy' for 'a'"),
        ({"a": ["x"]}, {"lam": -1}, "lam must be a finite number of at least 0, got -1"),
        ({"a": ["x"]}, {"rho_centre": np.nan}, "rho_centre must be a finite number .*, got nan"),
        ({"a": ["x", "y"]}, {"lam": 0, "rho_centre": 0}, "lam must be positive if rho_centre is 0"),
        ([[1, 0]], {"names": "xy", "lam": 0}, "in no group, got lam = 0 and rho_centre = 1"),
        ([[1, -1]], {"names": "xy"}, "groups must not be negative, got -1"),
        ([[1, 0]], {}, "names must be given with an array"),
        ([[1, 0]], {"names": "xyz"}, r"one column per task \(3\), got shape \(1, 2\)"),
    ],
    lambda distances, options: TaskKernel.smooth(distances, **options): [
        (D3, {}, "names must be given with an array"),
        (D3, {"names": "abc", "scales": [1, 0]}, "scales must be a finite number above 0, got 0"),
        (np.zeros((1, 1)), {"names": "a"}, "scales must be given if the median distance is 0"),
        (np.zeros((2, 2)), {"names": "ab"}, "scales must be given if the median distance is 0"),
        (Distances("abc", D3), {"names": ["a", "x"]}, "'x' is not in the distances from distances"),
    ],
    lambda D: Distances("ab", D): [
        (np.eye(2), "distances must be 0 on the diagonal, got 1 for 'a'; similarities are no"),
        ([[0, -1], [-1, 0]], "distances must not be negative, got -1"),
        ([[0, 1], [2, 0]], "distances must be symmetric"),
    ],
    lambda A: TaskKernel.graph(A, "ab"): [
        ([[0, 1], [2, 0]], r"adjacency must be symmetric, got 1 for \(a, b\) and 2"),
        ([[0, -1], [-1, 0]], "adjacency must not be negative, got -1"),
        ([[0, np.inf], [np.inf, 0]], "adjacency must be finite, got inf"),
        (np.eye(3), r"adjacency must be square with one row per task \(2\)"),
    ],
    lambda make, arguments: make(*arguments): [
        (TaskKernel, ([[1, 0], [0, 1]], ["a", "b"]), "must hold numbers; names come first"),
        (TaskKernel.graphical, (np.ones((2, 2)), "xy", [1, 0]), "a must be a .*above 0, got 0"),
        (TaskKernel.graphical, (np.ones((2, 2)), "xy", [1, 1, 1]), r"per task \(2\), got shape"),
        (TaskKernel.easy, ("xy", 2), "share must be a number from 0 to 1, got 2"),
        (TaskKernel.from_tree, (TREE, None, -1), "base must be a number from 0 to 1, got -1"),
        (TaskKernel.product, ([],), "kernels must be at least one, got none"),
        (TaskKernel.product, (TWICE,), "names must .*a_b_c"),
        (TaskKernel.hierarchical, (HIERARCHY, "a"), r"two tasks, got 1 of .*; a single task"),
        (TaskKernel.hierarchical, (HIERARCHY, None, 0), "rho_task must be a finite number above"),
        (TaskKernel.hierarchical, (HIERARCHY, None, 1, np.inf), "rho_centre must .*, got inf"),
        (TaskKernel.hierarchical, (HIERARCHY, "az"), "'z' is not in the tree text"),
        (TaskKernel.from_tree, ("(a:0,b:1);",), "'a' has no distance from the root"),
    ],
}


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [(make, case[:-1], case[-1]) for make, cases in REFUSED.items() for case in cases],
)
def test_what_is_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(*arguments)


class TestSeveral:
    K = TaskKernel.hierarchical(HIERARCHY)

    def test_restrict_leaves_out_what_is_zero(self):
        K = self.K.restrict("Ac")
        assert (K.names, K.labels) == (("A", "c"), ("all", "abc", "ab"))
        assert_array_equal(K.matrices[2], [[2, 0], [0, 0]])

    def test_table_round_trip(self, write):
        scaled = TaskKernel(self.K.names, self.K.matrices / 3, labels=self.K.labels)
        one = TaskKernel("ab", np.eye(2), labels=["one node"])
        for K in (scaled, self.K, one, TaskKernel.from_tree(TREE)):
            assert TaskKernel.from_tsv(write(K.to_tsv(), "K.tsv")) == K
        assert TaskKernel("a", [[1]]).to_tsv() == "\ta\na\t1.0\n"
        assert TaskKernel("a", [[1]], labels=["x"]).to_tsv() == "# kernel\tx\n\ta\na\t1.0\n"

    def test_its_text(self):
        text = repr(self.K)
        assert text.startswith("TaskKernel of 7 tasks, mean of 5 kernels, from hierarchical(text)")
        assert "  a   1.200  0.600" in text
        assert text.endswith("kernels: all, abc, ab, def, (e..f)")
        assert repr(TaskKernel.union(names(40))) == "TaskKernel of 40 tasks from union"

    def test_they_are_immutable_and_copies_are_equal(self):
        for again in (pickle.loads(pickle.dumps(self.K)), copy.deepcopy(self.K)):
            assert again == self.K
            assert again.source == self.K.source
        assert self.K != TaskKernel(self.K.names, 2 * self.K.matrices, labels=self.K.labels)
        assert self.K != TaskKernel(self.K.names, self.K.matrices)
        assert self.K != "K"
        for array in (self.K.matrix, self.K.matrices, again.matrix, again.matrices):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 2
        with pytest.raises(AttributeError, match="cannot assign to field"):
            self.K.names = ("b",)


def test_distances_of_a_tree():
    D = Distances.from_tree(TREE, ["Fly", "ape"])
    assert (D.names, len(D), D.source) == (("Fly", "ape"), 2, "tree(text)")
    assert D.matrix.tolist() == [[0, 6], [6, 0]]
    assert D.restrict(["APE"]).names == ("APE",)
    with pytest.raises(UnknownTaskError, match="'wasp' is not in the tree text"):
        Distances.from_tree(TREE, ["wasp"])
    with pytest.raises(UnknownTaskError, match=r"'x' is not in the distances from tree\(text"):
        D.restrict(["x"])
    with pytest.raises(ValueError, match="read-only"):
        D.matrix[0, 1] = 1


def _newick(names):
    """Return a tree in which some nodes have three children, and some branches length 0."""
    if len(names) == 1:
        return f"{names[0]}:{len(names[0]) % 3}"
    n = 3 if len(names) % 4 == 0 else 2
    parts = [names[first::n] for first in range(n)]
    return f"({','.join(map(_newick, parts))}):{0.5 * (len(names) % 3)}"


@pytest.mark.parametrize(
    "make",
    [
        TaskKernel.individual,
        TaskKernel.union,
        lambda names: TaskKernel.easy(names, 0.3),
        lambda names: TaskKernel.from_tree(_newick(names) + ";"),
        lambda names: TaskKernel.from_tree(_newick(names) + ";", base=0.0),
        lambda names: TaskKernel.hierarchical(_newick(names) + ";", None, 2.0, 0.5),
    ],
)
def test_sums_over_nodes_are_the_same_kernels_as_their_matrices(make):
    """With more than 16 tasks."""
    tasks = [*ascii_letters[:24]]
    kernel = make([f"t{task * (1 + t % 4)}" for t, task in enumerate(tasks)])
    tasks = kernel.names
    plain = TaskKernel(tasks, kernel.matrices, "plain", labels=kernel.labels)
    assert kernel.stack.nodes is not None
    assert plain.stack.nodes is None
    for change in (
        lambda K: pickle.loads(pickle.dumps(K)),
        lambda K: K.restrict(tasks[20:1:-1]),
        lambda K: resolve_kernels([K, "union", K], tasks[7:3:-1]).scaled(),
        lambda K: resolve_kernels([K, "union", K], tasks),
        lambda K: resolve_kernels([K, np.eye(24)], tasks),
        lambda K: TaskKernel.product([K, TaskKernel.easy("xy")]),
    ):
        found, expected = change(kernel), change(plain)
        assert (found.names, found.n_kernels) == (expected.names, expected.n_kernels)
        assert_allclose(found.matrices, expected.matrices, atol=1e-14)
        assert_allclose(found.matrix, expected.matrix, atol=1e-14)


def test_a_tree_of_many_leaves_has_the_kernel_of_the_formula():
    tasks = [f"t{task * (1 + t % 4)}" for t, task in enumerate(ascii_letters[:24])]
    tree, base = read_tree(_newick(tasks) + ";"), 0.2
    K = TaskKernel.from_tree(tree, tasks[::-1], base)
    at = [[tree.labels[leaf] for leaf in tree.leaves].index(name) for name in K.names]
    shared = tree.shared()[np.ix_(at, at)]
    height = np.sqrt(np.diag(shared))
    expected = base + (1 - base) * shared / np.outer(height, height)
    assert_allclose(K.matrix, expected, rtol=1e-13)
