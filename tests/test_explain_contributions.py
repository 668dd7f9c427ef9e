"""Contributions and mutagenesis against sums and scores written out, k-mers against weights."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from seqmtl import JointFeatures, Spectrum, WeightedDegree
from seqmtl.exceptions import SeqmtlError
from seqmtl.explain import contributions, mean_kmers, mutagenesis, poim, spectrum_kmers
from seqmtl.features.numeric import Numeric
from seqmtl.sequences import Windows, reverse_complement
from tests.oracles.wd import betas, hash_index
from tests.test_explain_poim import make_model

TEXTS = ["ACGTTGCATG", "TTTTTTTTTT", "ACGNNGCATG", "NACGTACNTN", "NNNNNNNNNN", "GATTACAGAT"]
FEATURES = {
    "exact": WeightedDegree(3),
    "one base": WeightedDegree(1),
    "longer than the window": WeightedDegree(12, hash_bits=12),
    "hashed": WeightedDegree(4, hash_bits=10),
    "raw": WeightedDegree(3, normalize=False),
    "spectrum": Spectrum(2),
    "spectrum of a region": Spectrum(3, 2, 9),
    "raw spectrum": Spectrum(2, 1, 8, normalize=False),
    "joint": JointFeatures([WeightedDegree(3), Spectrum(2, 0, 5), Spectrum(3, 4)]),
}


@pytest.fixture(params=FEATURES, ids=list(FEATURES))
def model(request):
    return make_model(FEATURES[request.param], 10)


def code(word):
    return int("".join(str("ACGT".index(letter)) for letter in word), 4)


def clean(word):
    return set(word) <= set("ACGT")


def weighted_degree_parts(text, w, degree, normalize=True, bits=0):
    """Part of every position, d-mer by d-mer."""
    L, found, square = len(text), np.zeros(len(text)), 0.0
    offset = 0
    for d, beta in enumerate(betas(degree), 1):
        for l in range(L - d + 1):
            word = text[l : l + d]
            if clean(word):
                index = hash_index(l, d, word, bits) if bits else offset + l * 4**d + code(word)
                found[l : l + d] += math.sqrt(beta) * w[index] / d
                square += beta
        offset += L * 4**d
    return found / math.sqrt(square) if normalize and square else found


def spectrum_parts(text, w, k, begin, end, normalize=True):
    found, counts = np.zeros(len(text)), {}
    for l in range(begin, end - k + 1):
        word = text[l : l + k]
        if clean(word):
            counts[word] = counts.get(word, 0) + 1
            found[l : l + k] += w[code(word)] / k
    norm = math.sqrt(sum(c * c for c in counts.values()))
    return found / norm if normalize and norm else found


def test_contributions_sum_to_the_score_less_the_intercept(model):
    windows = Windows.from_strings(TEXTS)
    parts = contributions(model, windows, "b")
    assert parts.shape == (6, 10)
    scores = model.decision_function(windows, tasks="b")
    np.testing.assert_allclose(parts.sum(axis=1), scores - model.bias[1], atol=1e-12)
    is_other = windows.matrix() > 3
    assert np.all(parts[is_other] == 0)
    assert np.abs(parts[~is_other]).max() > 0.1


def test_contributions_equal_the_sums_written_out():
    windows = Windows.from_strings(TEXTS)
    for features, bits, normalize in [
        (WeightedDegree(3), 0, True),
        (WeightedDegree(4, hash_bits=10), 10, True),
        (WeightedDegree(3, normalize=False), 0, False),
    ]:
        model = make_model(features, 10)
        expected = [
            weighted_degree_parts(text, model.W[:, 0], features.degree, normalize, bits)
            for text in TEXTS
        ]
        np.testing.assert_allclose(contributions(model, windows, "a"), expected, atol=1e-12)

    model = make_model(FEATURES["joint"], 10)
    sizes = np.cumsum([view.n_features(10) for view in model.features.views])
    w = np.split(model.W[:, 0], sizes[:-1])
    expected = [
        weighted_degree_parts(text, w[0], 3)
        + spectrum_parts(text, w[1], 2, 0, 5)
        + spectrum_parts(text, w[2], 3, 4, 10)
        for text in TEXTS
    ]
    np.testing.assert_allclose(contributions(model, windows, "a"), expected, atol=1e-12)


def test_mutagenesis_equals_scores_of_edited_strings(model):
    windows = Windows.from_strings(TEXTS)
    changes = mutagenesis(model, windows, "b")
    assert changes.shape == (6, 10, 4)
    before = model.decision_function(windows, tasks="b")
    for l in range(10):
        for c, letter in enumerate("ACGT"):
            edited = Windows.from_strings([t[:l] + letter + t[l + 1 :] for t in TEXTS])
            after = model.decision_function(edited, tasks="b")
            np.testing.assert_allclose(changes[:, l, c], after - before, atol=1e-12)


def test_mutagenesis_of_normalised_features_follows_the_definition():
    features = WeightedDegree(3)
    model = make_model(features, 10)
    changes = mutagenesis(model, Windows.from_strings(TEXTS), "a")

    def score(text):
        return weighted_degree_parts(text, model.W[:, 0], 3).sum()

    for i, text in enumerate(TEXTS):
        for l in (0, 3, 9):
            for c, letter in enumerate("ACGT"):
                edited = text[:l] + letter + text[l + 1 :]
                assert changes[i, l, c] == pytest.approx(score(edited) - score(text), abs=1e-12)


def test_windows_on_the_minus_strand_are_read_as_their_complement(model):
    forward = Windows.from_strings(TEXTS)
    flipped = reverse_complement(forward.matrix())
    minus = Windows(flipped.ravel(), np.arange(6) * 10, 10, is_reverse=np.ones(6))
    for explain in (contributions, mutagenesis):
        np.testing.assert_array_equal(explain(model, minus, "a"), explain(model, forward, "a"))


def test_mutagenesis_does_not_depend_on_how_many_windows_there_are(monkeypatch):
    model = make_model(WeightedDegree(3), 10)
    windows = Windows.from_strings(TEXTS)
    whole = mutagenesis(model, windows, "a")
    module = importlib.import_module("seqmtl.explain.contributions")
    monkeypatch.setattr(module, "_MUTANT_BYTES", 2 * 4 * 10 * 10)
    np.testing.assert_allclose(mutagenesis(model, windows, "a"), whole, atol=1e-12)
    assert mutagenesis(model, windows[:0], "a").shape == (0, 10, 4)


def test_float32_weights_are_summed_in_double_precision():
    model = make_model(WeightedDegree(3), 10, dtype=np.float32)
    double = make_model(WeightedDegree(3), 10)
    double.W = model.W.astype(np.float64)
    windows = Windows.from_strings(TEXTS)
    found, expected = (mutagenesis(m, windows, "a") for m in (model, double))
    np.testing.assert_array_equal(found, expected)


def test_spectrum_kmers_are_the_largest_weights_of_each_view():
    model = make_model(FEATURES["joint"], 10)  # the site begins at 2
    found = spectrum_kmers(model, "b", 5)
    assert [one.view for one in found] == ["spectrum_1"] * 5 + ["spectrum_2"] * 5
    assert {one[1:3] for one in found} == {(-2, 3), (2, 8)}
    first = WeightedDegree(3).n_features(10)
    w = model.W[first : first + 16, 1]
    assert [one.weight for one in found[:5]] == sorted(w, key=abs, reverse=True)[:5]
    assert found[0].weight == w[code(found[0].kmer)]
    assert found[0].beyond_letters is None
    assert spectrum_kmers(make_model(WeightedDegree(2), 10), "a", 5) == []


def test_mean_kmers_lie_on_one_side_of_the_site():
    model = make_model(WeightedDegree(3), 10, offset=4)
    importance = poim(model, "a", max_order=3)
    found = {(one.begin, one.kmer): one for one in mean_kmers(importance, 2, 16)}
    assert len(found) == 32
    upstream = found[(-4, "CA")]
    assert upstream.end == 0
    assert upstream.weight == pytest.approx(importance.Q[1][:3, code("CA")].mean())
    assert upstream.beyond_letters == pytest.approx(
        importance.beyond_letters(2)[:3, code("CA")].mean()
    )
    downstream = found[(2, "CA")]
    assert downstream.end == 6
    assert downstream.weight == pytest.approx(importance.Q[1][6:9, code("CA")].mean())
    shortest = make_model(WeightedDegree(3), 6, offset=1)
    sides = mean_kmers(poim(shortest, "a", max_order=2), 2, 3)
    assert [one.begin for one in sides] == [2, 2, 2]
    ranked = [abs(one.beyond_letters) for one in sides]
    assert ranked == sorted(ranked, reverse=True)


def test_bad_input_is_refused():
    model = make_model(WeightedDegree(3), 10)
    for explain in (contributions, mutagenesis):
        with pytest.raises(ValueError, match="windows must have 10 bases as in training, got 4"):
            explain(model, Windows.from_strings(["ACGT"]), "a")
    with pytest.raises(SeqmtlError, match="only models of windows of DNA"):
        contributions(make_model(Numeric(), 10), Windows.from_strings(TEXTS), "a")
