"""K-mers in bins of positions against counting with dictionaries."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import KmerView, MultiTaskSVC, PositionalKmers
from seqmtl.core import dcd
from seqmtl.core import rows as core_rows
from seqmtl.core.problem import Problem
from seqmtl.exceptions import MemoryLimitError
from seqmtl.features.joint import features_from_dict
from seqmtl.features.kmer_views import format_views, parse_views
from seqmtl.features.positional_rows import PositionalRows
from seqmtl.sequences import Windows
from tests.oracles import kmers, wd

SPECS = [
    "wd:4",
    "kmers:2-5/4",
    "kmers:3/inf",
    "wd:3@-4..6=2,kmers:1-4/3@-5..9=0.3,kmers:2-3/inf=0.1",
    "kmers:2-2,kmers:1-4/7@3..",
]


@st.composite
def _views(draw):
    low = draw(st.integers(1, 4))
    begin = draw(st.none() | st.integers(-12, 2))
    return KmerView(
        low,
        draw(st.integers(low, 5)),
        draw(st.none() | st.integers(1, 9)),
        begin,
        draw(st.none() | st.integers(3, 12)),
        draw(st.floats(0.01, 5.0)),
    )


def _strings(seed, n=6, length=17, letters="ACGTacgtN"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


def _fits(view, anchor, length=17):
    """Whether a k-mer of the view's shortest length can start in its region."""
    first = 0 if view.begin is None else max(0, anchor + view.begin)
    return first + (view.k_min if view.width == 1 else view.k_max) <= length


@settings(max_examples=40)
@given(st.lists(_views(), min_size=1, max_size=3), st.integers(4, 12), st.integers(0, 99))
def test_features_give_the_kernel(views, anchor, seed):
    assume(all(_fits(view, anchor) for view in views))
    strings = _strings(seed)
    features = PositionalKmers(views, anchor=anchor)
    X = features.transform(strings).toarray().astype(float)
    expected = kmers.gram(strings, views, anchor)
    assert_allclose(X @ X.T, expected, rtol=1e-5, atol=1e-6)
    rows = features.bind(Windows.from_strings(strings))
    assert_allclose(rows.squared_norms(), np.diag(expected), atol=1e-9)
    assert_allclose(rows.gram(np.arange(len(strings)), np.float64), expected, atol=1e-9)


def set_tables(rows, pay):
    """Tell whether tables pay."""
    rows.score_faster = rows.sum_faster = lambda n: pay


def _rows_both_ways(spec, letters, hash_bits=None):
    """Rows that are scored k-mer by k-mer, and rows that are scored by tables."""
    windows = Windows.from_strings(_strings(3, 40, 23, letters), tasks=["a", "b"] * 20)
    features = PositionalKmers(spec, anchor=9, hash_bits=hash_bits)
    few, many = features.bind(windows), features.bind(windows)
    set_tables(few, False)
    set_tables(many, True)
    with np.errstate(over="ignore"):
        return windows, few, many, features.transform(windows).toarray().astype(float)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("letters", "bits"), [("ACGT", None), ("ACGTN", None), ("ACGTN", 7)])
def test_scores_and_sums_equal_the_explicit_matrix(spec, letters, bits):
    windows, few, many, X = _rows_both_ways(spec, letters, bits)
    rng = np.random.default_rng(0)
    tasks, every = windows.task_ids.astype(int), np.arange(40)
    W, amount = rng.standard_normal((X.shape[1], 2)), rng.standard_normal(40)
    K = np.array([[1.0, 0.3], [0.3, 2.0]])
    sums = sum(amount[i] * np.outer(X[i], K[tasks[i]]) for i in every)
    for rows in (few, many):
        with np.errstate(over="ignore"):
            assert_allclose(rows.scores(W, tasks), (X @ W)[every, tasks], atol=1e-5)
            V = np.zeros_like(W)
            rows.accumulate(every, amount, tasks, K, V)
        assert_allclose(V, sums, atol=1e-5)
        assert_allclose(rows.products(V), sums.T @ sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("letters", ["ACGTN", "A" * 30 + "CGTN", "N"])
def test_tree_weights_score_as_plain_ones(spec, letters, monkeypatch):
    windows, few, many, X = _rows_both_ways(spec, letters)
    tasks, every = windows.task_ids.astype(int), np.arange(40)
    amount, K = np.random.default_rng(1).standard_normal(40), np.array([[1.0, 0.3], [0.3, 2.0]])
    W = sum(amount[i] * np.outer(X[i], K[tasks[i]]) for i in every)
    expected = (X @ W)[every, tasks]
    for rows, pay in ((few, False), (many, True)):
        tree = rows.pair_sums()
        set_tables(tree, pay)
        F = np.zeros((tree.n_features, 4))
        tree.accumulate(every, amount, tasks, K, F)
        assert_allclose(tree.scores(F, tasks), expected, atol=1e-5)
        assert tree.row_size <= few.row_size
        assert_allclose(tree.products(F[:, :2]), W.T @ W, rtol=1e-5, atol=1e-5)
        for step in (4, 64):  # weights at a time
            monkeypatch.setattr(core_rows, "_ROWS_AT_A_TIME", step)
            assert_allclose(tree.products(F[:, :2]), W.T @ W, rtol=1e-5, atol=1e-5)


def test_a_tree_is_descended_to_the_weights_that_plain_descent_finds(monkeypatch):
    letters = "A" * 60 + "CGTN"
    windows = Windows.from_strings(_strings(4, 90, 23, letters), tasks=["a", "b", "c"] * 30)
    rng, K = np.random.default_rng(0), np.full((3, 3), 0.4) + np.eye(3)
    y = np.where(rng.random(90) < 0.5, 1.0, -1.0)
    found = []
    for has_tree in (True, False):
        rows = PositionalKmers("wd:4@-5..6,kmers:3-6/7=0.3", anchor=9).bind(windows)
        if not has_tree:
            monkeypatch.setattr(PositionalRows, "pair_sums", lambda rows: None)
        problem = Problem(rows, y, windows.task_ids, K, np.ones(90))
        found.append(dcd.solve(problem, tol=1e-8, dtype=np.float64))
    tree, plain = found
    assert tree.converged
    assert plain.converged
    assert tree.n_epochs > 5
    assert_allclose(tree.margins, plain.margins, atol=1e-5)
    assert_allclose(tree.W, plain.W, atol=1e-5)


def test_hashed_indices_are_the_documented_ones():
    with np.errstate(over="ignore"):
        X = PositionalKmers("wd:2,kmers:2/3", anchor=1, hash_bits=20).transform(["ACGTA"])
    views, found = parse_views("wd:2,kmers:2/3"), set()
    levels = [(0, 1), (0, 2), (1, 2)]
    for level, (v, k) in enumerate(levels):
        places = kmers.starts(views[v], k, 5, 1)
        lowest = kmers.bin_of(views[v], 0, 1)
        for l in places:
            slot = 65536 * level + kmers.bin_of(views[v], l, 1) - lowest
            found.add(wd.hash_slot(slot, "ACGTA"[l : l + k], 20))
    assert set(X.indices) == found


def test_training_anchors_the_bins_at_the_site():
    rng = np.random.default_rng(0)
    strings = _strings(0, 60, 30, "ACGT")
    strings = [s[:11] + "AG" + s[13:] for s in strings]
    windows = Windows.from_strings(strings, labels=rng.choice([-1, 1], 60), site=11)
    model = MultiTaskSVC(features=PositionalKmers("wd:2,kmers:3/5")).fit(windows).model_
    assert model.features.anchor == 11
    assert model.site.letters == "AG"


@pytest.mark.parametrize("spec", [*SPECS, "kmers:1-8=0.125", "wd:20", "kmers:2/9@..-1=1e-05"])
def test_specs_survive_a_round_trip(spec):
    views = parse_views(spec)
    assert parse_views(format_views(views)) == views
    if "20" not in spec:
        features = PositionalKmers(spec, anchor=20)
        again = features_from_dict(features.to_dict(40))
        strings = _strings(1, length=40)
        assert (again.transform(strings) != features.transform(strings)).nnz == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wd:6,kmer:3/4", r"at character 6: a view must be like .* got 'kmer:3/4'"),
        ("", "at character 1: a view must be like"),
        ("wd:3-6", "wd takes one degree and no bins"),
        ("kmers:6-3/4", "at character 1: k must be from 1 to 20, the shortest first, got 6 to 3"),
        ("wd:6/4", "wd takes one degree and no bins"),
        ("kmers:21/4", "k must be from 1 to 20"),
        ("kmers:12/4", "must hold a k-mer of 12 bases of the view kmers:12/4"),
        ("wd:0", "k must be from 1 to 20, the shortest first, got 1 to 0"),
        ("kmers:3/0", "width must be at least 1 position, got 0"),
        ("kmers:3/4=0", "weight must be from 1e-12 to 1e\\+12, got 0"),
        ("kmers:3/4=1e", "could not convert string to float"),
        ("kmers:3/4@5..5", "a region must begin before it ends, got 5..5"),
        ("wd:2,kmers:3@20..40", r"must hold a k-mer of 3 bases of the view kmers:3@20..40"),
        ("kmers:3/2@-9..-5", "whose site begins at base 5"),
    ],
)
def test_bad_specs_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        PositionalKmers(spec).transform(["ACGTACGTAC"])
    for anchor in (-1, 10):
        with pytest.raises(ValueError, match=f"lie in the window of 10 bases, got {anchor}"):
            PositionalKmers(anchor=anchor).transform(["ACGTACGTAC"])


def test_positions_that_do_not_fit_into_memory_are_refused_before(monkeypatch):
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10**9)
    with pytest.raises(MemoryLimitError, match="8 k-mer lengths in windows of 10,000,000"):
        PositionalKmers("wd:8").layout(10_000_000)
    with pytest.raises(MemoryLimitError, match="all 20-mers"):
        PositionalKmers("wd:20").position_weights(np.zeros(1 << 22), 100)


def test_hashed_bins_of_two_levels_are_never_the_same():
    """A level has room for 65,536 numbers of bins; more would be those of the next level."""
    windows = Windows.from_strings(["ACGT" * 16_384, "TTGA" * 16_384])
    slots = PositionalKmers("kmers:1-2,hash:4").layout(windows.length).slots(is_hashed=True)
    assert np.unique(slots.base).size == slots.base.size == 2 * 65_536 - 1
    longer = Windows.from_strings(["ACGT" * 16_385])
    with pytest.raises(
        ValueError, match=r"must have at most 65,536 bins, got 65,540; use a shorter"
    ):
        PositionalKmers("kmers:1-2,hash:4").bind(longer)
    assert PositionalKmers("kmers:1-2/2,hash:4").bind(longer).n_features == 16
    assert PositionalKmers("kmers:1-2").bind(longer).n_features == 20 * 65_540


@pytest.mark.parametrize(
    ("text", "views"), [("wd:4, hash:7,kmers:2/3", "wd:4,kmers:2/3"), (" hash:7", None)]
)
def test_text_gives_the_hash_bits(text, views):
    plain = PositionalKmers() if views is None else PositionalKmers(views)
    named, given = PositionalKmers(text), PositionalKmers(plain.views, hash_bits=7)
    for length in (5, 20):
        assert named.to_dict(length) == given.to_dict(length)
        assert named.to_dict(length) == {**plain.to_dict(length), "hash_bits": 7}
    assert str(named) == str(given) == str(PositionalKmers(str(named))) == f"{plain},hash:7"


@pytest.mark.parametrize(
    ("text", "bits", "message"),
    [
        ("wd:4,hash:7,hash:8", None, "one item like hash:18"),
        ("wd:4,hash:0", None, "one item like hash:18, of 1 to 30 bits"),
        ("wd:4,hash:31", None, "one item like hash:18, of 1 to 30 bits"),
        ("wd:4", 31, "hash_bits must be from 1 to 30, got 31"),
        ("wd:4,hash:7", 8, "give the hash bits once, got 7 and 8"),
    ],
)
def test_hash_bits_that_cannot_be(text, bits, message):
    with pytest.raises(ValueError, match=message):
        PositionalKmers(text, hash_bits=bits).n_features(20)


def test_exact_indices_need_memory_for_all_tasks():
    # 4**10 * 4/3 weights at 141 positions, near enough, of 4 bytes: .75 GB per task.
    def bits(text, n_tasks):
        return PositionalKmers(text).anchored(60, n_tasks).to_dict(141)["hash_bits"]

    assert (bits("wd:10", 1), bits("wd:10", 2)) == (0, 22)
    assert bits("wd:7", 1000) == 0  # fewer weights than if they were hashed


@pytest.mark.parametrize(
    ("text", "n", "cost"), [("wd:6", 30_000, 0.1), ("wd:8", 30_000, 0.3), ("wd:8", 3_000, 0.5)]
)
def test_looks_cost_what_their_tables_cost(text, n, cost):
    """Tables of 8-mers are so large that seven letters are read again every three positions."""
    windows = Windows(np.zeros(141, np.uint8), np.zeros(n, np.int64), 141)
    for bits in (None, 12):
        assert PositionalKmers(text, 60, bits).bind(windows).scoring_cost == pytest.approx(cost)
