"""K-mers wherever they are, against counts of a dictionary."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import JointFeatures, KmerCounts, MultiTaskSVC, PositionalKmers
from seqmtl._threads import use_threads
from seqmtl.exceptions import MemoryLimitError
from seqmtl.features import _base
from seqmtl.features.joint import features_from_dict, parse_features
from seqmtl.features.kmer_counts import CountRows
from seqmtl.sequences import Windows
from tests.oracles.annotation import reverse_complement


def _patterns(kind, first, last):
    """Return the letters that are read: all ways to place k letters in L bases, from base 0."""
    if kind == "spectrum":
        return {tuple(range(k)) for k in range(first, last + 1)}
    places = itertools.combinations(range(first), last)
    return {tuple(letter - letters[0] for letter in letters) for letters in places}


def _features(string, view, v):
    """Return the features of a view, by counting in the string: name -> value."""
    kind, first, last, is_stranded = view
    patterns, counts = _patterns(kind, first, last), Counter()
    for pattern in patterns:
        for start in range(len(string) - pattern[-1]):
            stretch = string[start : start + pattern[-1] + 1]
            if set(stretch) <= set("ACGT"):
                kmer = "".join(c if j in pattern else "." for j, c in enumerate(stretch))
                mirror = reverse_complement(kmer)
                counts[v, kmer if is_stranded else min(kmer, mirror)] += 1
    n_letters = sum(c in "ACGT" for c in string)
    n_shown = {kmer: len(kmer.replace(".", "")) for _, kmer in counts}
    return {
        key: n * (len(patterns) * (1 + 399 / 4 ** n_shown[key[1]]) * n_letters) ** -0.5
        for key, n in counts.items()
    }


@st.composite
def _views(draw):
    kind = draw(st.sampled_from(["spectrum", "gapped"]))
    if kind == "spectrum":
        first = draw(st.integers(1, 4))
        last = draw(st.integers(first, 5))
        text = f"spectrum:{first}-{last}"
    else:
        last = draw(st.integers(2, 4))
        first = draw(st.integers(last + 1, 6))
        text = f"gapped:{first}/{last}"
    is_stranded = draw(st.booleans())
    return text + ":stranded" * is_stranded, (kind, first, last, is_stranded)


@settings(max_examples=60)
@given(
    st.lists(_views(), min_size=1, max_size=3),
    st.integers(1, 25).flatmap(
        lambda n: st.lists(st.text("ACGTACGTN", min_size=n, max_size=n), min_size=1, max_size=4)
    ),
)
def test_features_give_the_kernel(views, strings):
    """Leslie 2002, Ghandi 2014: counts, here over the root of letters; weights 1, 1/2, 1/3."""
    text = ",".join(f"{view[0]}={1 / (v + 1)!r}" for v, view in enumerate(views))
    by_string = [
        {
            key: value / (v + 1) ** 0.5
            for v, (_, view) in enumerate(views)
            for key, value in _features(string, view, v).items()
        }
        for string in strings
    ]
    expected = [
        [sum(value * b.get(key, 0.0) for key, value in a.items()) for b in by_string]
        for a in by_string
    ]
    features = KmerCounts(text)
    X = features.transform(strings).astype(float)
    assert_allclose((X @ X.T).toarray(), expected, atol=1e-5)
    rows = features.bind(Windows.from_strings(strings))
    assert_allclose(rows.squared_norms(), np.diagonal(expected), atol=1e-5)
    every = np.arange(len(strings))
    assert_allclose(rows.gram(every, np.float64), expected, atol=1e-5)
    for j in every:  # the weights of a column are the features of a string
        scores = rows.scores(X.T.toarray(), np.full(every.size, j))
        assert_allclose(scores, [of_string[j] for of_string in expected], atol=1e-5)


def _strings(rng, n, length):
    return ["".join(row) for row in rng.choice(list("ACGTACGTACGTN"), (n, length))]


@pytest.mark.parametrize("words", ["", ":stranded"])
@pytest.mark.parametrize("bits", ["", ",hash:9"])
@pytest.mark.parametrize("with_tables", [True, False])
def test_scores_and_sums_are_those_of_the_features(monkeypatch, words, bits, with_tables):
    """By tables or row by row; N are anywhere, windows are of both strands."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(CountRows, "_tables_pay", lambda *_: with_tables)
    features = KmerCounts(f"spectrum:1-5{words},gapped:6/4{words}=0.3{bits}")
    strings = [*_strings(rng, 28, 40), "ACG" + "N" * 37, "N" * 40]
    windows = Windows.from_strings(strings)
    windows.is_reverse[::3] = True
    rows, read = features.bind(windows), windows.matrix()
    X = features.transform(["".join("ACGTN"[code] for code in row) for row in read]).astype(float)
    W, columns = rng.normal(size=(X.shape[1], 3)), rng.integers(3, size=30)
    chosen = np.arange(3, 30, 2)
    expected = np.zeros(30)
    expected[chosen] = (X @ W)[chosen, columns[chosen]]
    assert_allclose(rows.scores(W, columns, chosen), expected, atol=1e-5)
    amount, K = rng.normal(size=30), rng.normal(size=(3, 3))
    steps = amount[chosen, None] * K[columns[chosen]]
    expected = W + X[chosen].T @ steps
    rows.accumulate(chosen, amount, columns, K, W)
    assert_allclose(W, expected, atol=1e-5)


def test_a_wide_stretch_folds():
    """11 bases with 7 letters: 126 patterns of 4 million stretches; against the features."""
    rng = np.random.default_rng(1)
    features = KmerCounts("gapped:11/7")
    assert features.n_features() == 4**7 * 110  # of 210 patterns, 10 are their own mirror image
    w = rng.normal(size=features.n_features())
    windows = Windows.from_strings(_strings(rng, 2, 30))
    rows, levels = features.bind(windows), features.position_weights(w, 30)
    (scores,) = rows.scores(w[:, None], np.zeros(2, dtype=int))[None]
    codes = windows.matrix().astype(int)
    total = np.zeros(2)
    for i, l, d in itertools.product(range(2), range(30), range(7, 12)):
        stretch = codes[i, l : l + d]
        if stretch.size == d and stretch.max() < 4:
            total[i] += levels[d - 1][0, int("".join(map(str, stretch)), 4)]
    assert_allclose(total * (30 / (codes < 4).sum(axis=1)) ** 0.5, scores, rtol=1e-6)


def test_frequent_features_are_multiplied_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (20, 60))]
    features = KmerCounts("spectrum:1-3")
    X = features.transform(strings).astype(float)
    monkeypatch.setattr(_base, "_DENSE", 20 * 7)  # 7 of the 42 features at a time
    G = features.bind(Windows.from_strings(strings)).gram(np.arange(20), np.float64)
    assert_allclose(G, (X @ X.T).toarray(), atol=1e-6)


def test_exact_index_is_the_documented_one():
    X = KmerCounts("spectrum:1-2,gapped:3/2:stranded=4").transform(["ACC"]).toarray()[0]
    # 1-mers A, C (C stands for G); 2-mers AC, CC; behind 4 + 16, the pattern of two neighbours
    # with AC, CC, and behind 16 more that with a gap, A.C
    assert np.flatnonzero(X).tolist() == [0, 1, 4 + 1, 4 + 5, 20 + 1, 20 + 5, 36 + 1]
    # counts of the first view: one A, two C, one AC, one CC; two patterns a view, 3 letters
    of_letters, of_pairs = (2 * 3 * (1 + 399 / 4)) ** -0.5, (2 * 3 * (1 + 399 / 16)) ** -0.5
    expected = [of_letters, 2 * of_letters, of_pairs, of_pairs] + [2 * of_pairs] * 3
    assert_allclose(X[X > 0], expected, atol=1e-6)
    assert KmerCounts("spectrum:1-2,gapped:3/2:stranded").n_features() == 52


def test_hashed_features_are_nearly_the_exact_ones():
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (20, 60))]
    exact, hashed = (
        KmerCounts(text).transform(strings).astype(float)
        for text in ("spectrum:6,gapped:7/5", "spectrum:6,gapped:7/5,hash:20")
    )
    assert hashed.shape == (20, 2**20)
    # of about 55 k-mers a pattern, two windows rarely have more than two different ones of an index
    assert_allclose((hashed @ hashed.T).toarray(), (exact @ exact.T).toarray(), atol=2.01 / 54)


def test_maps_are_read_from_text_and_saved():
    features = parse_features("wd:3@-4..4,gapped:6/4:stranded=0.5,spectrum:2")
    assert isinstance(features, JointFeatures)
    assert not features.is_position_free
    assert str(features.views[1]) == "gapped:6/4:stranded=0.5,spectrum:2"
    assert parse_features("spectrum:1-3,hash:12").n_features(7) == 4096
    for one in (features, KmerCounts("gapped:6/4:stranded,spectrum:3=0.25", hash_bits=9)):
        again = features_from_dict(one.to_dict(20))
        assert again.to_dict(20) == one.to_dict(20)
    assert KmerCounts("spectrum:1-3").is_position_free
    assert not PositionalKmers("wd:3").is_position_free
    both = JointFeatures([KmerCounts("spectrum:1"), KmerCounts("spectrum:2")])
    assert both.is_position_free


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spectrum:0-3", "k must be from 1 to 20, the shortest first, got 0 to 3"),
        ("spectrum:6/3", "at character 1: a view must be like wd:6, kmers:3-6/16"),
        ("gapped:8-6", "a view must be like .* spectrum:1-6 or gapped:8/6:stranded=0.5"),
        ("spectrum:3@-4..4", "a view must be like"),
        ("gapped:6/8", "gapped k-mers must have 2 letters or more in at most 20 bases, got 8 in 6"),
        ("gapped:8/1", "2 letters or more"),
        ("spectrum:3=0", "weight must be from 1e-12 to 1e\\+12, got 0"),
        ("spectrum:3,hash:31", "of 1 to 30 bits"),
    ],
)
def test_errors_name_the_view(text, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        KmerCounts(text).n_features()


def test_what_does_not_fit_into_memory_is_refused_before(monkeypatch):
    """The largest arrays: weights, all k-mers of all windows, and a table of stretches."""
    windows = Windows.from_strings(["ACGTTGCATT" * 3, "TTGCATTACC" * 3] * 4, [1, -1] * 4)
    for views, n_bytes, what in (
        ("spectrum:4,hash:16", 12 << 16, "training the weights of 65,536 features for 1 tasks"),
        ("gapped:20/10", 17 << 22, "the kernel matrix of 8 windows with up to 1,.* k-mers each"),
    ):
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda n=n_bytes: n - 1)
        with use_threads(1), pytest.raises(MemoryLimitError, match=rf"{what} would.*--features"):
            MultiTaskSVC(features=KmerCounts(views)).fit(windows)
    features = KmerCounts("spectrum:10,hash:16")
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 8 * (4**11 // 3) - 16)
    with pytest.raises(MemoryLimitError, match="the weights of all 10-mers would"):
        features.position_weights(np.zeros(1 << 16), 30)


def test_views_of_the_other_map_and_other_data_are_refused():
    with pytest.raises(ValueError, match="such as spectrum:1-6, got wd:3"):
        KmerCounts("spectrum:2,wd:3").n_features()
    with pytest.raises(ValueError, match="such as wd:5, got gapped:4/3:stranded"):
        PositionalKmers("gapped:4/3:stranded").n_features(20)
    with pytest.raises(TypeError, match="KmerCounts needs Windows of DNA, got ndarray"):
        KmerCounts().bind(np.eye(3))
