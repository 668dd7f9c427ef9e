"""String kernels against their explicit features, and what every kernel must be."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import PositionalKmers
from seqmtl.kernels import (
    GappedKmerKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    check_psd,
)
from seqmtl.sequences import Windows
from tests.oracles import strings as oracle

KERNELS = [
    WeightedDegreeKernel(degree=3),
    WeightedDegreeKernel(degree=4, shift=3),
    SpectrumKernel(k=2),
    GappedKmerKernel(length=4, k=2),
]
FEATURES = {
    SpectrumKernel: lambda x, k, a: oracle.spectrum(x, k.k, a),
    GappedKmerKernel: lambda x, k, a: oracle.gapped(x, k.length, k.k, a),
}
some_dna = st.lists(st.text("ACGTacgtN", min_size=6, max_size=14), min_size=1, max_size=4)
equal_dna = st.integers(4, 12).flatmap(
    lambda n: st.lists(st.text("ACGTn", min_size=n, max_size=n), min_size=2, max_size=5)
)


def _brute(kernel, xs, zs, alphabet):
    def raw(a, b):
        if isinstance(kernel, WeightedDegreeKernel):
            options = kernel.degree, kernel.shift, oracle.LETTERS[alphabet]
            return np.array(
                [[oracle.shifted_weighted_degree(x, z, *options) for z in b] for x in a]
            )
        make = FEATURES[type(kernel)]
        return oracle.gram(*([make(x, kernel, alphabet) for x in own] for own in (a, b)))

    if not kernel.normalize:
        return raw(xs, zs)
    return oracle.normalized(raw(xs, zs), np.diag(raw(xs, xs)), np.diag(raw(zs, zs)))


@settings(max_examples=25)
@given(
    some_dna,
    some_dna,
    st.sampled_from(
        [
            SpectrumKernel(k=2),
            SpectrumKernel(k=4, normalize=False),
            GappedKmerKernel(length=4, k=4),
            GappedKmerKernel(length=5, k=2, normalize=False),
            GappedKmerKernel(length=6, k=3),
        ]
    ),
)
def test_kernels_of_words_equal_their_explicit_features(xs, zs, kernel):
    assert_allclose(kernel(xs, zs), _brute(kernel, xs, zs, "dna"), atol=1e-12)
    assert_allclose(kernel(xs), _brute(kernel, xs, xs, "dna"), atol=1e-12)


@settings(max_examples=40)
@given(equal_dna, st.integers(1, 6), st.integers(0, 14), st.booleans())
def test_weighted_degree_with_shifts_equals_the_published_sum(xs, degree, shift, normalize):
    kernel = WeightedDegreeKernel(degree, shift, normalize=normalize)
    assert_allclose(kernel(xs, xs[1:]), _brute(kernel, xs, xs[1:], "dna"), atol=1e-12)


@settings(max_examples=25)
@given(equal_dna, st.integers(1, 5))
def test_weighted_degree_equals_the_features(xs, degree):
    X = PositionalKmers(f"wd:{degree}").transform(xs).toarray().astype(float)
    raw, clean = WeightedDegreeKernel(degree, normalize=False), ["A" * len(xs[0])]
    assert_allclose(raw(xs) / raw(clean), X @ X.T, rtol=1e-5, atol=1e-6)  # features are float32


@pytest.mark.parametrize(
    "kernel",
    [
        WeightedDegreeKernel(3, alphabet="protein"),
        WeightedDegreeKernel(3, 2, alphabet="protein"),
        SpectrumKernel(2, alphabet="protein"),
        GappedKmerKernel(4, 2, alphabet="protein"),
    ],
)
def test_peptides(kernel):
    peptides = ["SIINFEKLW", "siinyeklw", "NLVPMVATV", "NNNAAACCC", "XIINFEKL*", "GILGFVFTL"]
    expected = _brute(kernel, peptides, peptides[:4], "protein")
    assert_allclose(kernel(peptides, peptides[:4]), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=15)
@given(xs=equal_dna, seed=st.integers(0, 99))
def test_what_a_kernel_is(kernel, xs, seed):
    K = kernel(xs)
    assert K.dtype == np.float64
    assert_array_equal(K, K.T)
    check_psd(K, "K")
    assert_allclose(np.diag(K), np.diag(K) > 0.5, atol=1e-12)
    order = np.random.default_rng(seed).permutation(len(xs))
    shuffled = [xs[i] for i in order]
    assert_allclose(kernel(shuffled), K[np.ix_(order, order)], atol=1e-12)
    assert_allclose(kernel(shuffled, xs[:2]), K[order, :2], atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_case_and_container_do_not_matter(kernel):
    strings = ["ACGTNACGTA", "ACCTAACGTT", "TTTTTTTTTT"]
    K = kernel(strings)
    for same in (
        tuple(strings),
        [s.lower() for s in strings],
        np.array(strings),
        np.array(strings, dtype=object)[:, None],
        [s.replace("T", "U") for s in strings],
        Windows.from_strings(strings),
    ):
        assert_array_equal(kernel(same), K)
        assert_array_equal(kernel(strings, same), K)


@pytest.mark.parametrize("kernel", KERNELS)
def test_reverse_windows_are_read_as_the_other_strand(kernel):
    codes = Windows.from_strings(["AACCGTNTCA"]).codes
    windows = Windows(codes, [0, 0, 2], 8, is_reverse=[False, True, True])
    assert_array_equal(kernel(windows), kernel(windows.sequences()))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_sequence_without_any_letter_is_at_a_right_angle_to_all(kernel):
    K = kernel(["ACGTACGT", "NNNNNNNN"])
    assert_allclose(K, [[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_sequences(kernel):
    strings = ["ACGTACGT", "ACGTACGA"]
    assert kernel([]).shape == (0, 0)
    assert kernel([], strings).shape == (0, 2)
    assert kernel(strings, []).shape == (2, 0)
    assert kernel(Windows.from_strings(strings)[:0]).shape == (0, 0)


def test_the_longest_words_that_fit():
    xs = ["ACGT" * 9, "ACGT" * 8 + "ACGA"]
    assert_array_equal(SpectrumKernel(32, normalize=False)(xs), [[7.0, 5.0], [5.0, 5.0]])
    raw = GappedKmerKernel(32, 32, normalize=False)(xs)
    assert_array_equal(raw, SpectrumKernel(32, normalize=False)(xs))
    peptides = ["ACDEFGHIKLMN", "YCDEFGHIKLMN"]
    gapped = GappedKmerKernel(12, 11, alphabet="protein", normalize=False)
    assert_array_equal(gapped(peptides), [[12.0, 1.0], [1.0, 12.0]])


@pytest.mark.parametrize("kernel", [*KERNELS, WeightedDegreeKernel(np.int64(5), np.int64(1))])
def test_kernels_are_values(kernel):
    assert hash(copy.deepcopy(kernel)) == hash(kernel)
    assert eval(repr(kernel)) == kernel
    assert kernel.resolve(["ACGT"]) is kernel
    assert kernel.is_psd


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightedDegreeKernel(0), "degree must be an integer of at least 1, got 0"),
        (lambda: WeightedDegreeKernel(2, -1), "shift must be an integer of at least 0, got -1"),
        (lambda: SpectrumKernel(33), "k must be an integer from 1 to 32, got 33"),
        (lambda: SpectrumKernel(13, alphabet="protein"), "k must be an integer from 1 to 12"),
        (lambda: GappedKmerKernel(4, 5), "k must be an integer from 1 to 4, got 5"),
        (lambda: GappedKmerKernel(True), "length must be an integer from 1 to 32, got True"),
        (lambda: SpectrumKernel(alphabet="rna"), "alphabet must be 'dna' or 'protein', got 'rna'"),
        (lambda: SpectrumKernel(normalize="no"), "normalize must be True or False, got 'no'"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (SpectrumKernel(2), ["ACGT", None], "sequences must be str, got None in row 1"),
        (SpectrumKernel(2), ["ACGT", "", "A"], "must not be empty, got '' in row 1"),
        (SpectrumKernel(2), np.array([["AC", "AC"]]), r"of shape \(n,\) or \(n, 1\), got \(1, 2\)"),
        (SpectrumKernel(3), ["ACGT", "AC"], "at least 3 letters, got 2 in row 1; leave the row"),
        (
            SpectrumKernel(2),
            ["ACGT", "SIINFEKL"],
            "of nucleotides, got the letter 'I' in row 1; .* alphabet='protein'",
        ),
        (SpectrumKernel(2, alphabet="protein"), ["A C"], "of amino acids, got the letter ' ' in"),
        (SpectrumKernel(2), ["ACGT", "AC\u00dfT"], "got the letter 'ß' in row 1"),
        (SpectrumKernel(), "ACGT", "must be a list or an array of str, got 'ACGT'"),
        (SpectrumKernel(alphabet="protein"), Windows.from_strings(["AC"]), "Windows hold DNA, got"),
        (
            WeightedDegreeKernel(2),
            ["ACG", "ACG", "AC"],
            "of equal length, got 2 in row 2 and 3 in row 0",
        ),
    ],
)
def test_sequences_that_cannot_be_read_are_refused(kernel, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(X)
    with pytest.raises(ValueError, match="X and Z must be of equal length, got 4 and 3"):
        WeightedDegreeKernel()(["ACGT"], ["ACG"])
