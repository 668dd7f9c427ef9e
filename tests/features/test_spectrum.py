"""Spectrum features against counting with a dictionary."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import Spectrum
from seqmtl.features.joint import features_from_dict


@settings(max_examples=40)
@given(
    st.lists(st.text("ACGTn", min_size=12, max_size=12), min_size=1, max_size=4), st.integers(1, 4)
)
def test_counts_equal_a_dictionary(strings, k):
    X = Spectrum(k=k, begin=2, end=11).transform(strings).toarray()
    n = 9 - k + 1
    norm = np.sqrt(n + n * (n - 1) / 4**k)  # expected of random letters
    kmers = ["".join(letters) for letters in product("ACGT", repeat=k)]
    for row, string in zip(X, strings, strict=True):
        region = string[2:11].upper()
        counts = Counter(region[i : i + k] for i in range(len(region) - k + 1))
        assert_allclose(row * norm, [counts[kmer] for kmer in kmers], atol=1e-5)


def test_description_round_trip():
    features = Spectrum(k=4, begin=1)
    again, strings = features_from_dict(features.to_dict(10)), ["ACGTTACGNA", "CCCCCCCCCC"]
    assert (again.transform(strings) != features.transform(strings)).nnz == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"k": 13}, "k must be an integer from 1 to 12"), ({"end": 9}, "the region must lie in")],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Spectrum(**parameters).transform(["ACGT"])
