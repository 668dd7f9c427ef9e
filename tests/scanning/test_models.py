"""Scanners of whole models against their features, counted word by word in strings."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from seqmtl import JointFeatures, PositionalKmers
from seqmtl.exceptions import MemoryLimitError
from seqmtl.features.joint import parse_features
from seqmtl.linear_model.site import Site
from seqmtl.scanning import finder
from seqmtl.scanning.finder import finder_of, scanner_of
from seqmtl.scanning.score_tables import PRECISION
from seqmtl.sequences import Windows, encode
from tests.oracles.annotation import reverse_complement
from tests.scanning.cases import make_contig, random_model

LENGTH, ANCHOR = 23, 10
FEATURES = {
    "weighted degree": PositionalKmers("wd:3"),
    "spectrum": PositionalKmers("kmers:3/inf", anchor=0),
    "region": PositionalKmers("kmers:2/inf@0..10", anchor=4),
    "default": PositionalKmers(anchor=ANCHOR),
    "bins": PositionalKmers("wd:4,kmers:2-4/4=0.1,kmers:3/inf", anchor=ANCHOR),
    "hashed bins": PositionalKmers("wd:3,kmers:3/8", anchor=3, hash_bits=7),
    "hashed": PositionalKmers("wd:5", hash_bits=5),
    "partly without positions": parse_features("wd:2,gapped:4/3,spectrum:1-2:stranded"),
    "without positions": parse_features("spectrum:1-3,gapped:4/3"),
    "joint": JointFeatures(
        [
            PositionalKmers("wd:2"),
            PositionalKmers("kmers:3/inf@0..9", anchor=4),
            PositionalKmers("wd:4", hash_bits=6),
        ]
    ),
}


def make_model(features):
    return random_model(features, LENGTH, Site(ANCHOR, 2, "GT", "donor"))


def windows_of(text, strand):
    windows = [text[i : i + LENGTH] for i in range(len(text) - LENGTH + 1)]
    return windows if strand == "+" else [reverse_complement(window) for window in windows]


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("strand", ["+", "-"])
def test_scores_equal_the_features_times_the_weights(features, strand):
    model = make_model(features)
    text = make_contig(np.random.default_rng(6), 200, 0.03)
    text = text[:60] + "NNACGTN" + text[67:]
    rows = features.transform(windows_of(text, strand))
    expected = rows @ model.weights(["fly"])[0][:, 0].astype(np.float64) - 0.1
    scores = scanner_of(model, "fly").scan_contig(encode(text), strand)
    assert np.abs(scores - expected).max() <= PRECISION + 1e-6


def with_words(model):
    """Return the model with two words of the consensus, of which one scores more."""
    model.site = Site(ANCHOR, 2, "GT,GC", "donor")
    model.consensus_bias = np.array([[0, 1.5], [-1, 0]])
    return model


@pytest.mark.parametrize("strand", ["+", "-"])
@pytest.mark.parametrize("name", [*FEATURES, "words"])
def test_windows_scored_without_tables(monkeypatch, name, strand):
    model = make_model(FEATURES["joint" if name == "words" else name])
    model = with_words(model) if name == "words" else model
    codes = encode(make_contig(np.random.default_rng(3), 300, 0.2))
    tables = scanner_of(model, "fly")
    monkeypatch.setattr(finder, "MAX_TABLE_BYTES", 0)
    scanner = scanner_of(model, "fly")
    scores = scanner.scan_contig(codes, strand)
    np.testing.assert_allclose(scores, tables.scan_contig(codes, strand), atol=2 * PRECISION)
    np.testing.assert_array_equal(scanner.scan_contig(codes, strand, 37), scores)
    wanted = np.array([3, 40, 41, 200])
    found, other = (
        own.score_range(codes, 2, 250, strand == "-", wanted) for own in (scanner, tables)
    )
    np.testing.assert_array_equal(found, scores[wanted])
    np.testing.assert_allclose(other, found, atol=2 * PRECISION)
    assert scanner.n_mixed(codes, 2, 250) == tables.n_mixed(codes, 2, 250) > 0
    assert scanner.score_range(codes, 5, 9, False, np.zeros(0, np.int64)).size == 0
    with pytest.raises(ValueError, match="the site must lie in the window of 23 bases"):
        scanner_of(model, "fly", site=Site(22, 2, ""))


def test_long_kmers_are_scanned_in_little_memory(monkeypatch):
    model = make_model(PositionalKmers("wd:12", hash_bits=10))
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 1 << 28)
    with pytest.raises(MemoryLimitError, match="12-mers at 23 positions would take"):
        model.position_weights("fly")
    text = make_contig(np.random.default_rng(4), 100)
    scores = scanner_of(model, "fly").scan_contig(encode(text), "-")
    windows = Windows.from_strings(windows_of(text, "-"))
    expected = model.decision_function(windows, tasks="fly")
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_the_tables_of_a_finder_are_freed_at_once():
    gc.collect()
    gc.disable()  # organisms follow each other faster than garbage is collected
    try:
        finder = finder_of(make_model(FEATURES["hashed"]), "fly")
        assert finder.finders == (finder,)
        scanner = weakref.ref(finder.scanner)
        del finder
        assert scanner() is None
    finally:
        gc.enable()
