"""Contributions and mutagenesis against sums written out k-mer by k-mer, and edited strings."""

from __future__ import annotations

import numpy as np
import pytest

from seqmtl import JointFeatures, PositionalKmers
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.explanation import contributions, mean_kmers, mutagenesis, poim
from seqmtl.features.numeric import Numeric
from seqmtl.sequences import Windows, reverse_complement
from tests.explanation.test_poim import make_model
from tests.oracles.wd import betas, hash_slot

TEXTS = ["ACGTTGCATG", "TTTTTTTTTT", "ACGNNGCATG", "NACGTACNTN", "NNNNNNNNNN", "GATTACAGAT"]
BINS = "wd:3,kmers:1-3/4=0.3,kmers:2/inf@-3..4=0.5,kmers:4@1..3"
FEATURES = {
    "exact": PositionalKmers("wd:3"),
    "one base": PositionalKmers("wd:1"),
    "longer than the window": PositionalKmers("wd:8", hash_bits=12),
    "hashed": PositionalKmers("wd:4", hash_bits=10),
    "spectrum": PositionalKmers("kmers:2/inf", anchor=0),
    "spectrum of a region": PositionalKmers("kmers:3/inf@0..5", anchor=2),
    "bins": PositionalKmers(BINS, anchor=4),
    "hashed bins": PositionalKmers(BINS, anchor=4, hash_bits=9),
    "joint": JointFeatures(
        [
            PositionalKmers("wd:3"),
            PositionalKmers("kmers:2/inf@0..4", anchor=0),
            PositionalKmers("kmers:3/inf@0..", anchor=4),
        ]
    ),
}

# The weight of every length, the width of the bins, the first and last base relative to the anchor.
EVERYWHERE = (-99, 99)
WD3 = (dict(enumerate(betas(3), 1)), 1, *EVERYWHERE)
WD4 = (dict(enumerate(betas(4), 1)), 1, *EVERYWHERE)
WRITTEN_OUT = {
    "exact": [([WD3], 0, 0)],
    "hashed": [([WD4], 0, 10)],
    "joint": [([WD3], 0, 0), ([({2: 1.0}, 99, 0, 4)], 0, 0), ([({3: 1.0}, 99, 0, 4)], 4, 0)],
}
for name, n_bits in (("bins", 0), ("hashed bins", 9)):
    views = [WD3, ({1: 0.3, 2: 0.3, 3: 0.3}, 4, *EVERYWHERE), ({2: 0.5}, 99, -3, 4)]
    WRITTEN_OUT[name] = [([*views, ({4: 1.0}, 1, 1, 3)], 4, n_bits)]


@pytest.fixture(params=FEATURES, ids=list(FEATURES))
def model(request):
    return make_model(FEATURES[request.param], 10)


def code(word):
    return int("".join(str("ACGT".index(letter)) for letter in word), 4)


def lay_out(views, anchor, L):
    """Bins {start: bin} of every view and length of k-mers: (k, weight, first index, bins)."""
    levels, offset = [], 0
    for weights, width, begin, end in views:
        bins = {l: (l - anchor) // width for l in range(L) if begin <= l - anchor < end}
        lowest, n_bins = min(bins.values()), len(set(bins.values()))
        for k, weight in weights.items():
            reach = k if width == 1 else max(weights)
            place = {l: b - lowest for l, b in bins.items() if l + reach <= L}
            levels.append((k, weight, offset, place))
            offset += n_bins * 4**k
    return levels, offset


def parts_of(text, w, views, anchor, bits):
    """Part of every position, k-mer by k-mer."""
    found = np.zeros(len(text))
    levels, _ = lay_out(views, anchor, len(text))
    square = 0.0  # expected, of a window of random letters
    for level, (k, weight, offset, bins) in enumerate(levels):
        for one in set(bins.values()):
            n = list(bins.values()).count(one)
            square += weight * (n + n * (n - 1) / 4**k)
        for l, place in bins.items():
            word = text[l : l + k]
            if set(word) <= set("ACGT"):
                index = offset + place * 4**k + code(word)
                if bits:
                    index = hash_slot(65536 * level + place, word, bits)
                found[l : l + k] += np.sqrt(weight) * w[index] / k
    return found / np.sqrt(square)


def test_contributions_sum_to_the_score_less_the_intercept(model):
    windows = Windows.from_strings(TEXTS)
    parts = contributions(model, windows, "b")
    assert parts.shape == (6, 10)
    scores = model.decision_function(windows, tasks="b")
    np.testing.assert_allclose(parts.sum(axis=1), scores - model.bias[1], atol=1e-12)
    is_other = windows.matrix() > 3
    assert np.all(parts[is_other] == 0)
    assert np.abs(parts[~is_other]).max() > 0.1


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_contributions_equal_the_sums_written_out(name):
    model = make_model(FEATURES[name], 10)
    expected, first = np.zeros((len(TEXTS), 10)), 0
    for views, anchor, bits in WRITTEN_OUT[name]:
        size = 2**bits if bits else lay_out(views, anchor, 10)[1]
        w = np.asarray(model.W)[first : first + size, 0]
        expected += [parts_of(text, w, views, anchor, bits) for text in TEXTS]
        first += size
    assert first == model.W.shape[0]
    found = contributions(model, Windows.from_strings(TEXTS), "a")
    np.testing.assert_allclose(found, expected, atol=1e-12)


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


def test_windows_on_the_minus_strand_are_read_as_their_complement(model):
    forward = Windows.from_strings(TEXTS)
    flipped = reverse_complement(forward.matrix())
    minus = Windows(flipped.ravel(), np.arange(6) * 10, 10, is_reverse=np.ones(6))
    for explain in (contributions, mutagenesis):
        np.testing.assert_array_equal(explain(model, minus, "a"), explain(model, forward, "a"))


def test_no_windows_and_no_letter_to_change():
    model = make_model(FEATURES["bins"], 10)
    windows = Windows.from_strings(TEXTS)
    assert contributions(model, windows[:0], "a").shape == (0, 10)
    assert mutagenesis(model, windows[:0], "a").shape == (0, 10, 4)
    changes, codes = mutagenesis(model, windows, "a"), windows.matrix()
    same = changes[np.arange(6)[:, None], np.arange(10), np.minimum(codes, 3)]
    assert (same[codes < 4] == 0).all()
    assert (changes[4] != 0).any()  # all N: a letter adds what it is worth alone


def test_float32_weights_are_summed_in_double_precision():
    model = make_model(PositionalKmers("wd:3"), 10, dtype=np.float32)
    double = make_model(PositionalKmers("wd:3"), 10)
    double.W = model.W.astype(np.float64)
    windows = Windows.from_strings(TEXTS)
    found, expected = (mutagenesis(m, windows, "a") for m in (model, double))
    np.testing.assert_array_equal(found, expected)


def test_mean_kmers_lie_on_one_side_of_the_site():
    model = make_model(PositionalKmers("wd:3"), 10, offset=4)
    importance = poim(model, "a", max_order=3)
    found = {(row[0], row[2]): row[1:] for row in mean_kmers(importance, 2, 16)}
    assert len(found) == 32
    end, _, weight, beyond = found[(-4, "CA")]
    assert end == 0
    assert weight == pytest.approx(importance.Q[1][:3, code("CA")].mean())
    assert beyond == pytest.approx(importance.beyond_letters(2)[:3, code("CA")].mean())
    end, _, weight, _ = found[(2, "CA")]
    assert end == 6
    assert weight == pytest.approx(importance.Q[1][6:9, code("CA")].mean())
    shortest = make_model(PositionalKmers("wd:3"), 6, offset=1)
    sides = mean_kmers(poim(shortest, "a", max_order=2), 2, 3)
    assert [begin for begin, *_ in sides] == [2, 2, 2]
    ranked = [abs(beyond) for *_, beyond in sides]
    assert ranked == sorted(ranked, reverse=True)


def test_kmers_of_counts_weigh_what_an_occurrence_adds():
    model = make_model(PositionalKmers("kmers:3/inf", anchor=0), 30, offset=14)
    Q = poim(model, "a", max_order=3)
    side = {kmer: weight for begin, _, kmer, weight, _ in mean_kmers(Q, 3, 64) if begin == 2}
    assert np.ptp(Q.Q[2][4:24, code("ATG")]) < 1e-12  # wherever it stands
    assert side["ATG"] == pytest.approx(np.mean(Q.Q[2][16:28, code("ATG")]))


def test_bad_input_is_refused():
    model = make_model(PositionalKmers("wd:3"), 10)
    for explain in (contributions, mutagenesis):
        with pytest.raises(ValueError, match="windows must have 10 bases as in training, got 4"):
            explain(model, Windows.from_strings(["ACGT"]), "a")
    with pytest.raises(SeqmtlError, match="must be one of windows of DNA"):
        contributions(make_model(Numeric(), 10), Windows.from_strings(TEXTS), "a")
    long = make_model(PositionalKmers("wd:20", hash_bits=8), 40)
    with pytest.raises(MemoryLimitError, match="train with shorter k-mers"):
        contributions(long, Windows.from_strings(["A" * 40]), "a")
