"""The layer of the relatives: means by hand, and posteriors that do not depend on shares."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.splicing.chain import run_chain
from seqmtl.splicing.coding import CODING_SHAPE
from seqmtl.splicing.estimates import Estimates, layer_of_relatives, with_numbers_of_genomes
from seqmtl.splicing.fit import START
from seqmtl.splicing.layer import Edge, PairLayer, U12Introns
from tests.splicing.test_chain import _sites

NAMES = ("scale", "shift", "coding_shift", "switch", "coding_scale")
VALUES = {"a": (0.5, -2.0, 3.0, -9.0, 0.2), "b": (2.0, 1.0, 4.0, -10.0, 0.6)}
VALUES["c"] = (1.0, 0.0, 0.0, -12.0, 1.0)
PREVALENCES = {"a": (0.5, 0.1), "b": (0.2, 0.25), "c": (0.01, 0.02)}
EDGES = {
    "a": (Edge("start", 0.0, -3.0, -1e9), Edge("stop", 0.7, 9.0, -2.0)),
    "b": (Edge("start", 0.0, -5.0, -1e9), Edge("stop", 0.0, -7.0, -1e9)),
    "c": (),
}


#: Similarity of a, b and c: a is more like c; the scales of the tasks do not count.
KERNEL = np.outer([1.0, 3.0, 2.0], [1.0, 3.0, 2.0]) * [[1, 0.1, 0.3], [0.1, 1, 0.2], [0.3, 0.2, 1]]


def _model(n_sites=(100, 100, 100)):
    """Three organisms: c has no exons and no edges, a model of stop codons is of a alone."""
    rng, layers = np.random.default_rng(0), {}
    for k, (name, values) in enumerate(VALUES.items()):
        layers[name] = PairLayer(
            *values,
            shortest=30 + k,
            introns=np.log(np.full(5, 0.2)),
            coding=rng.normal(size=CODING_SHAPE).astype(np.float32),
            n_sites=n_sites[k],
            exons=np.zeros(0) if name == "c" else rng.dirichlet(np.ones(600)),
            exon_shift=float(k),
            edges=EDGES[name],
        )
    donor, acceptor = (
        SimpleNamespace(
            tasks=tuple(VALUES),
            prevalence=lambda name, k=k: PREVALENCES[name][k],
            kernel=SimpleNamespace(matrix=KERNEL),
        )
        for k in range(2)
    )
    return SimpleNamespace(donor=donor, acceptor=acceptor, layer=layers)


def _logits(name):
    return sum(np.log(p / (1 - p)) for p in PREVALENCES[name])


def test_the_layer_of_relatives_is_their_mean():
    model, weights = _model(), np.array([0.5, 0.3, 0.2])
    layer = layer_of_relatives(model, weights)
    assert layer.scale == pytest.approx(0.5**0.5 * 2.0**0.3)  # a factor: geometric
    for k, name in ((1, "shift"), (2, "coding_shift")):
        # scale * (ratio + logits) + shift, with ratios of likelihoods in place of log-odds
        values = [own[k] + own[0] * _logits(name) for name, own in VALUES.items()]
        assert getattr(layer, name) == pytest.approx(weights @ values)
    assert layer.switch == pytest.approx(-0.5 * 9 - 0.3 * 10 - 0.2 * 12)
    assert layer.coding_scale == pytest.approx(0.5 * 0.2 + 0.3 * 0.6 + 0.2)
    assert layer.exon_shift == pytest.approx(0.3 * 1 + 0.2 * 2)
    tables = [model.layer[name].coding for name in "abc"]
    assert_allclose(layer.coding, sum(w * t for w, t in zip(weights, tables, strict=True)), 1e-5)
    assert layer.coding.dtype == np.float32
    # exons of those that have them
    a, b = (model.layer[name].exons for name in "ab")
    assert_allclose(layer.exons, (0.5 * a + 0.3 * b) / 0.8)
    # codons without a model: typical where the organism has one, or no edges
    start, stop = layer.edges
    assert (start.signal, stop.signal) == ("start", "stop")
    assert start.shift == pytest.approx(-0.5 * 3 - 0.3 * 5 + 0.2 * START["start"])
    assert stop.shift == pytest.approx(0.7 * START["stop"] - 0.3 * 7)
    for edge in layer.edges:
        assert not edge.has_model
        assert edge.least == -1e9
    assert layer.n_sites == 0


@pytest.mark.parametrize("k", range(3))
def test_one_relative_alone_is_the_layer(k):
    model, name = _model(), "abc"[k]
    layer, own = layer_of_relatives(model, np.eye(3)[k]), model.layer[name]
    assert layer.scale == pytest.approx(own.scale)
    assert_array_equal(layer.coding, own.coding)
    assert_allclose(layer.exons, own.exons)
    assert layer.exons.size == (0 if name == "c" else 600)
    again = layer.assuming(_logits(name))
    assert again.shift == pytest.approx(own.shift)
    assert again.coding_shift == pytest.approx(own.coding_shift)


def _numbers(layer):
    return [*layer[:5], layer.exon_shift, *(edge.shift for edge in layer.edges)]


def test_relatives_with_numbers_of_their_genome_have_those_of_the_organism_most_like_them():
    weights = np.array([0.5, 0.3, 0.2])
    all_fitted = layer_of_relatives(_model(), weights)
    for n_sites, numbers in (
        ((100, 0, 0), [0.0, 0.3, 0.7]),  # c for a
        ((100, 100, 0), [0.0, 0.0, 1.0]),
        ((0, 0, 100), [0.7, 0.3, 0.0]),  # a for c
        ((0, 0, 0), weights),
    ):
        layer = layer_of_relatives(_model(n_sites), weights)
        expected = layer_of_relatives(_model(), np.array(numbers))
        assert_allclose(_numbers(layer), _numbers(expected))
        assert_array_equal(layer.coding, all_fitted.coding)  # all else is the relatives' own
        assert_array_equal(layer.exons, all_fitted.exons)


def test_numbers_of_genomes_are_the_mean_of_those_fitted_to_one():
    model = _model((100, 0, 1))
    relatives = layer_of_relatives(model, np.array([0.0, 1.0, 0.0]))
    layer = with_numbers_of_genomes(model, relatives)
    expected = layer_of_relatives(_model(), np.array([0.5, 0.0, 0.5]))
    assert_allclose(_numbers(layer), _numbers(expected))
    assert not np.allclose(_numbers(layer), _numbers(relatives), atol=0.5)
    assert_array_equal(layer.coding, relatives.coding)
    assert_array_equal(layer.exons, relatives.exons)
    assert with_numbers_of_genomes(_model((0, 0, 0)), relatives) is relatives


def test_posteriors_do_not_depend_on_the_share_that_sites_assume():
    """Log-odds with another prior, and the layer that assumes it: U12-type sites have none."""
    rng = np.random.default_rng(2)
    sites = _sites(rng, 400, 120)
    sites = sites.adding(letters=np.zeros(120, dtype=int), is_u12=rng.random(120) < 0.3)
    relatives = layer_of_relatives(_model(), np.array([0.5, 0.3, 0.2]))
    estimates = Estimates(
        [],
        (None, None),
        (0.0, 0.0),
        relatives._replace(
            shift=-3.0,
            coding_shift=0.0,
            switch=-4.0,
            coding_scale=0.4,
            shortest=5,
            introns=np.log(np.full(60, 1 / 60)),
            tails=np.zeros((0, 2)),
            donors=(),
            u12=U12Introns(2.0, (-1e9, -1e9)),
        ),
        np.full(60, 1 / 60),
        relatives.coding,
    )
    first = run_chain(sites, estimates.layer())
    p = np.exp(first.sites)
    assert p.max() > 0.3
    assert p[sites["is_u12"]].sum() > 0.5
    for donors, acceptors in ((-4.0, -5.0), (2.0, -0.5)):
        moved = sites["log_odds"] + np.where(sites["signals"], acceptors, donors)
        other = sites.adding(log_odds=np.where(sites["is_u12"], sites["log_odds"], moved))
        layer = Estimates(**vars(estimates) | {"assumed": (donors, acceptors)}).layer()
        assert_allclose(run_chain(other, layer).sites, first.sites, atol=1e-6)
        layer = estimates.layer().assuming(donors + acceptors)
        assert_allclose(run_chain(other, layer).sites, first.sites, atol=1e-6)
    assert not np.allclose(run_chain(other, estimates.layer()).sites, first.sites, atol=0.01)
