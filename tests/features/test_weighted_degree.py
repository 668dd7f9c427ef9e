"""Weighted degrees against a kernel written with loops, spectra against counts of a dictionary."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import PositionalKmers
from seqmtl.features.joint import features_from_dict
from seqmtl.sequences import Windows
from tests.oracles import wd
from tests.oracles.annotation import reverse_complement

LETTERS = "ACGTacgtNR"


@st.composite
def _windows(draw, max_length=14):
    length = draw(st.integers(1, max_length))
    return draw(
        st.lists(st.text(LETTERS, min_size=length, max_size=length), min_size=1, max_size=5)
    )


@settings(max_examples=40)
@given(_windows(), st.integers(1, 6), st.sampled_from(["wd", "flat"]))
def test_exact_features_give_the_kernel(strings, degree, weighting):
    """Widmer 2012, 4: features of weighted degrees give the string kernel, counted by hand."""
    features = PositionalKmers(f"wd:{degree}" if weighting == "wd" else f"kmers:1-{degree}")
    X = features.transform(Windows.from_strings(strings)).astype(float)
    expected = wd.gram(strings, strings, degree, weighting)
    assert_allclose((X @ X.T).toarray(), expected, atol=1e-6)


@settings(max_examples=40)
@given(
    st.lists(st.text("ACGTn", min_size=12, max_size=12), min_size=1, max_size=4), st.integers(1, 4)
)
def test_counts_equal_a_dictionary(strings, k):
    X = PositionalKmers(f"kmers:{k}/inf@0..{9 - k + 1}", anchor=2).transform(strings).toarray()
    n = 9 - k + 1
    norm = np.sqrt(n + n * (n - 1) / 4**k)  # expected of random letters
    kmers = ["".join(letters) for letters in product("ACGT", repeat=k)]
    for row, string in zip(X, strings, strict=True):
        region = string[2:11].upper()
        counts = Counter(region[i : i + k] for i in range(len(region) - k + 1))
        assert_allclose(row * norm, [counts[kmer] for kmer in kmers], atol=1e-5)


def test_exact_index_is_the_documented_one():
    features = PositionalKmers("wd:2")
    X = features.transform(["ACG"])
    assert X.shape == (1, 3 * (4 + 16))
    expected = {0 * 4 + 0, 1 * 4 + 1, 2 * 4 + 2, 12 + 0 * 16 + 1, 12 + 1 * 16 + 6}
    assert set(X.indices) == expected
    norm = 3 * 2 / 3 + 2 * 1 / 3  # of three letters and two pairs
    weights = sorted(set(np.round(X.data**2, 6)))
    assert_allclose(weights, np.round([1 / 3 / norm, 2 / 3 / norm], 6), atol=2e-6)


@pytest.mark.parametrize("bits", [3, 12, 22, 30])
def test_hash_equals_its_second_implementation(bits):
    string = "ACGTTGCAAC"
    with np.errstate(over="ignore"):  # wraps around by design; seen only without compilation
        X = PositionalKmers("wd:5", hash_bits=bits).transform([string])
    expected = np.zeros(1 << bits) if bits < 20 else {}
    norm = wd.kernel(string, string, 5)
    for d, beta in enumerate(np.array(wd.betas(5)) / norm, 1):
        for start in range(len(string) - d + 1):
            index = wd.hash_index(start, d, string[start : start + d], bits)
            expected[index] = (expected[index] if bits < 20 else expected.get(index, 0)) + beta**0.5
    pairs = dict(zip(X.indices.tolist(), X.data.tolist(), strict=True))
    if bits < 20:
        expected = {int(i): expected[i] for i in np.flatnonzero(expected)}
    assert pairs.keys() == expected.keys()
    assert_allclose([pairs[i] for i in expected], list(expected.values()), rtol=1e-6)


def test_reverse_windows_are_reverse_complements():
    codes = Windows.from_strings(["ACGTTGCANTTACG"]).codes
    forward = Windows(codes, [2], 8)
    reverse = Windows(codes, [2], 8, is_reverse=[True])
    complement = reverse_complement(forward.sequences()[0])
    features = PositionalKmers("wd:4")
    assert (features.transform(reverse) != features.transform([complement])).nnz == 0


def test_saved_maps_are_the_same_and_long_windows_of_high_degree_are_hashed():
    features = PositionalKmers("wd:20")
    assert features.n_features(141) == 1 << 22
    again = features_from_dict(features.to_dict(141))
    assert again.n_features(141) == 1 << 22
    exact = features_from_dict(PositionalKmers("wd:8").to_dict(141))
    assert exact.n_features(141) == 12_320_580
    spectrum = PositionalKmers("kmers:4/inf@0..", anchor=1)
    again, strings = features_from_dict(spectrum.to_dict(10)), ["ACGTTACGNA", "CCCCCCCCCC"]
    assert (again.transform(strings) != spectrum.transform(strings)).nnz == 0
