"""Oligomer importance against the enumeration of all sequences, and against sampling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from seqmtl import JointFeatures, MultiTaskModel, PositionalKmers, TaskKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import MemoryLimitError, SeqmtlError, UnknownTaskError
from seqmtl.explanation import contributions, oligomer, poim
from seqmtl.features.numeric import Numeric
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows
from tests.summaries import training_summary


def make_model(features, length, tasks=("a", "b"), seed=0, dtype=np.float64, offset=2):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(features.n_features(length), len(tasks))).astype(dtype)
    T = len(tasks)
    return MultiTaskModel(
        features,
        length,
        tasks,
        TaskKernel(tasks, np.eye(T), "test"),
        TaskWeights.of(W, features.view_columns(length)),
        rng.normal(size=T),
        np.tile([1.0, 0.0], (T, 1)),
        Site(offset, 2, "AG"),
        training_summary(tasks, np.dtype(dtype).name),
    )


def all_windows(length):
    return ["".join(letters) for letters in itertools.product("ACGT", repeat=length)]


def enumerate_importance(model, organism, k):
    """E[f | X[j:j+k] = z] - E[f], averaged over all sequences of the window's length."""
    L = model.length
    windows = Windows.from_strings(all_windows(L))
    scores = model.decision_function(windows, tasks=organism).reshape((4,) * L)

    def mean(positions):
        left = scores
        for l in sorted(positions, reverse=True):
            left = left.mean(axis=l)
        return left

    inside = [range(j, j + k) for j in range(L - k + 1)]
    given = [mean(set(range(L)) - set(places)) for places in inside]
    return np.array(given).reshape(len(inside), -1) - mean(range(L))


BINS = "wd:2,kmers:1-3/2=0.3,kmers:2/inf@-2..2=0.5"


@pytest.mark.parametrize(
    ("length", "features"),
    [
        (5, PositionalKmers("wd:1")),
        (5, PositionalKmers("kmers:1-2")),
        (6, PositionalKmers("wd:4")),
        (5, PositionalKmers("wd:5")),
        (4, PositionalKmers("wd:7")),
        (5, PositionalKmers("wd:3", hash_bits=9)),
        (6, PositionalKmers("kmers:2/inf", anchor=0)),
        (7, PositionalKmers("kmers:3/inf@0..3", anchor=1)),
        (7, PositionalKmers(BINS, anchor=3)),
        (7, PositionalKmers(BINS, anchor=2, hash_bits=6)),
        (7, PositionalKmers("kmers:2-4/3", anchor=0)),
        (8, PositionalKmers(anchor=4)),
        (
            6,
            JointFeatures(
                [
                    PositionalKmers("wd:3"),
                    PositionalKmers("kmers:2/inf@0..3", anchor=0),
                    PositionalKmers(BINS),
                ]
            ),
        ),
    ],
    ids=str,
)
def test_equals_the_enumeration_of_all_sequences(length, features):
    model = make_model(features, length)
    K = min(5, length)
    found = poim(model, "b", max_order=K)
    for k in range(1, K + 1):
        expected = enumerate_importance(model, "b", k)
        assert found.Q[k - 1].shape == expected.shape
        np.testing.assert_allclose(found.Q[k - 1], expected, rtol=0, atol=1e-10)


def test_one_motif_is_found_where_it_is():
    model = make_model(PositionalKmers("wd:4"), 20, offset=12)
    W = np.zeros(model.W.shape)
    model.W = TaskWeights.of(W, model.W.columns)
    position, word = 7, "TACT"
    sizes = [20 * 4**d for d in (1, 2, 3)]
    code = int("".join(str("ACGT".index(letter)) for letter in word), 4)
    W[sum(sizes) + position * 256 + code, 0] = 2.0
    found = poim(model, "a", max_order=5)
    best = found.top(4, 3)[0]
    assert best[:3] == (4, 7 - 12, "TACT")
    betas = [0.4, 0.3, 0.2, 0.1]
    alone = 2 * np.sqrt(0.1 / sum(b * (20 - d) for d, b in enumerate(betas)))
    assert best.Q == pytest.approx(alone * (1 - 1 / 256))
    # a longer oligomer around it is worth as much, a single letter a sixty-fourth
    importance = found.importance()
    assert importance[4, 6] == pytest.approx(best.Q)
    assert found.Q[0][7, 3] == pytest.approx(alone * (1 / 64 - 1 / 256))
    assert importance.shape == (5, 20)
    assert np.isnan(importance[4, 16:]).all()
    assert not np.isnan(importance[4, :16]).any()
    gain = found.gain()
    np.testing.assert_array_equal(gain[0], importance[0])
    assert gain[3, 7] == pytest.approx(importance[3, 7] - importance[2, 7:9].max())
    assert gain[4, 6] == pytest.approx(0)
    assert found.positions[[0, -1]].tolist() == [-12, 7]


def test_top_oligomers_are_ordered_and_complete():
    found = poim(make_model(PositionalKmers("wd:2"), 6), "a", max_order=2)
    listed = found.top(2, 10_000)
    assert len(listed) == 5 * 16
    sizes = [abs(one.Q) for one in listed]
    assert sizes == sorted(sizes, reverse=True)
    best = listed[0]
    row, code = best.position + 2, int("".join(str("ACGT".index(c)) for c in best.letters), 4)
    assert best.Q == found.Q[1][row, code]
    assert np.abs(found.Q[1]).max() == abs(best.Q)
    assert found.top(2, 7) == listed[:7]
    assert oligomer(0b00_01_10_11, 4) == "ACGT"


def test_what_single_letters_do_not_explain():
    additive = poim(make_model(PositionalKmers("wd:1"), 7), "a", max_order=3)
    assert np.abs(additive.Q[2]).max() > 0.1
    np.testing.assert_allclose(additive.beyond_letters(3), 0, atol=1e-12)

    found = poim(make_model(PositionalKmers("wd:3"), 7), "a", max_order=3)
    rest = found.beyond_letters(3)
    for j, word in [(0, "GAT"), (4, "CCA"), (2, "TTT")]:
        codes = ["ACGT".index(letter) for letter in word]
        alone = sum(found.Q[0][j + i, code] for i, code in enumerate(codes))
        number = int("".join(map(str, codes)), 4)
        assert rest[j, number] == pytest.approx(found.Q[2][j, number] - alone, abs=1e-12)
    best = found.top(3, 1)[0]
    number = int("".join(str("ACGT".index(letter)) for letter in best.letters), 4)
    assert best.beyond_letters == rest[best.position + 2, number]


SMALL = make_model(PositionalKmers("wd:2"), 6)
LONG = make_model(PositionalKmers("wd:20", hash_bits=8), 40)


@pytest.mark.parametrize(
    ("model", "organism", "order", "error", "message"),
    [
        (SMALL, "zebra", 6, UnknownTaskError, "'zebra' is not in the model's task kernel"),
        (SMALL, "a", 0, ValueError, "max_order must be from 1 to 6, got 0"),
        (SMALL, "a", 7, ValueError, "max_order must be from 1 to 6, got 7"),
        (LONG, "a", 11, ValueError, "from 1 to 10, got 11"),
        (LONG, "a", 6, MemoryLimitError, "train with shorter k-mers"),
        (make_model(Numeric(), 6), "a", 6, SeqmtlError, "must be one of windows of DNA"),
    ],
)
def test_what_cannot_be_had_is_said(model, organism, order, error, message):
    with pytest.raises(error, match=message):
        poim(model, organism, max_order=order)


def test_long_kmers_are_taken_a_position_at_a_time(monkeypatch):
    model = make_model(PositionalKmers("wd:9", hash_bits=12), 30)
    expected = poim(model, "a", max_order=2).Q
    part = model.position_weights("a")
    windows = Windows.from_strings(["ACGTTNGCAT" * 3])
    by_base = contributions(model, windows, "a")
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10_000_000)
    with pytest.raises(MemoryLimitError, match="9-mers at 30 positions would take"):
        model.position_weights("a")
    found = poim(model, "a", max_order=2).Q
    for q, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(q, other)
    np.testing.assert_array_equal(contributions(model, windows, "a"), by_base)
    assert sum(level.nbytes for level in part) > 80_000_000


def test_more_than_fits_into_memory_is_refused(monkeypatch):
    model = make_model(PositionalKmers("wd:2"), 40)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 2**30)
    assert poim(model, "a", max_order=6).max_order == 6
    with pytest.raises(MemoryLimitError, match=r"POIM of order 10 would take .* lower --max-order"):
        poim(model, "a", max_order=10)
