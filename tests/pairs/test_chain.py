"""The chain against all parses one by one, a plain quadratic reference, and its symmetries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.models.paired import PairLayer
from seqmtl.pairs.chain import Sites, reading_places, run_chain, to_log_odds
from tests.oracles.parses import posteriors_by_enumeration, posteriors_by_pairs


def _layer(rng, shortest=3, n_lengths=12, n_exons=9, **options):
    values = {
        "scale": 1.3, "shift": -0.4, "exon_scale": 0.7, "shortest": shortest,
        "introns": np.log(rng.dirichlet(np.ones(n_lengths))), "least_exon": 2,
        "exons": rng.normal(size=n_exons),
    }  # fmt: skip
    return PairLayer(**(values | options))


def _sites(rng, length, n, spread=1.5):
    places = np.sort(rng.choice(length, n, replace=False))
    return Sites(places.astype(np.int64), rng.normal(0.5, spread, n))


def _weights(donors, acceptors, layer):
    """The weights of an intron and of an exon, written out."""

    def weigh(i, j):
        length = acceptors.places[j] - donors.places[i]
        if not layer.shortest <= length <= layer.longest:
            return -np.inf
        scores = layer.scale * (donors.log_odds[i] + acceptors.log_odds[j]) + layer.shift
        return scores + layer.introns[length - layer.shortest]

    def gap(j, i):
        length = donors.places[i] - acceptors.places[j]
        if length < layer.least_exon:
            return -np.inf
        return layer.exon_scale * layer.exons[length] if length < layer.exons.size else 0.0

    return weigh, gap


@pytest.mark.parametrize("seed", range(12))
def test_posteriors_are_the_shares_of_all_parses(seed):
    rng = np.random.default_rng(seed)
    layer = _layer(rng, n_exons=(0, 9)[seed % 2])
    donors, acceptors = _sites(rng, 60, 7), _sites(rng, 60, 8)
    weigh, gap = _weights(donors, acceptors, layer)
    expected = posteriors_by_enumeration(
        donors.places, acceptors.places,
        lambda i, j: float(np.exp(weigh(i, j))), lambda j, i: float(np.exp(gap(j, i))),
    )  # fmt: skip
    found = run_chain(donors, acceptors, layer, min_probability=1e-9)
    for key, log_p in (("d", found.donors), ("a", found.acceptors)):
        shares = [expected.get((key, k), 0.0) for k in range(log_p.size)]
        assert_allclose(np.exp(log_p), shares, rtol=1e-9, atol=1e-12)
    introns = {key: p for key, p in expected.items() if key[0] not in ("d", "a") and p > 1e-9}
    assert {tuple(row) for row in found.introns.tolist()} == introns.keys()
    for row, value in zip(found.introns.tolist(), found.intron_values, strict=True):
        assert np.exp(value) == pytest.approx(introns[tuple(row)], rel=1e-9)
    assert len(introns) > 2


def test_a_long_strand_equals_the_quadratic_reference():
    rng = np.random.default_rng(5)
    layer = _layer(rng, n_lengths=80, n_exons=50)
    donors, acceptors = _sites(rng, 2000, 150), _sites(rng, 2000, 160)
    expected = posteriors_by_pairs(
        donors.places.tolist(), acceptors.places.tolist(), *_weights(donors, acceptors, layer)
    )
    found = run_chain(donors, acceptors, layer)
    assert_allclose(found.donors, np.maximum(expected[0], -700), rtol=1e-9, atol=1e-9)
    assert_allclose(found.acceptors, np.maximum(expected[1], -700), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("least", [0.9, 0.2, 0.01])
def test_all_introns_of_the_minimum_probability_are_listed(least):
    rng = np.random.default_rng(4)
    layer = _layer(rng, n_lengths=80, n_exons=50)
    donors, acceptors = _sites(rng, 20_000, 1500, 3.0), _sites(rng, 20_000, 1600, 3.0)
    every = run_chain(donors, acceptors, layer, min_probability=1e-12)
    found = run_chain(donors, acceptors, layer, min_probability=least)
    kept = every.intron_values >= np.log(least)
    assert 10 < kept.sum() < kept.size
    assert found.introns.tolist() == every.introns[kept].tolist()
    assert_allclose(found.intron_values, every.intron_values[kept], rtol=0, atol=0)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 0), (0, 1), (0, 5), (5, 0)])
def test_sites_without_partners_have_no_chance(n, m):
    rng = np.random.default_rng(1)
    found = run_chain(_sites(rng, 50, n), _sites(rng, 50, m), _layer(rng), min_probability=0.1)
    assert_allclose(found.donors, np.full(n, -700.0))
    assert_allclose(found.acceptors, np.full(m, -700.0))
    assert found.introns.shape == (0, 2)


def test_one_intron_by_hand():
    layer = _layer(np.random.default_rng(0), introns=np.log(np.full(4, 0.25)), scale=2.0, shift=1.0)
    donors = Sites(np.array([10]), np.array([0.5]))
    odds = np.exp(2 * (0.5 - 0.3) + 1.0) / 4
    for place in (13, 16):  # shortest and longest
        found = run_chain(donors, Sites(np.array([place]), np.array([-0.3])), layer)
        assert np.exp(found.donors[0]) == pytest.approx(odds / (1 + odds))
        assert to_log_odds(found.acceptors)[0] == pytest.approx(np.log(odds))
    for place in (9, 10, 12, 17):
        found = run_chain(donors, Sites(np.array([place]), np.array([-0.3])), layer)
        assert found.donors[0] == found.acceptors[0] == -700.0


def test_coordinates_may_shift_and_partners_outside_change_nothing():
    rng = np.random.default_rng(8)
    layer, donors, acceptors = _layer(rng), _sites(rng, 300, 40), _sites(rng, 300, 40)
    found = run_chain(donors, acceptors, layer)
    moved = [sites._replace(places=sites.places - 12_345) for sites in (donors, acceptors)]
    for a, b in zip(run_chain(*moved, layer)[:2], found[:2], strict=True):
        assert_allclose(a, b, rtol=0, atol=0)
    # two copies far apart: the same posteriors twice
    two = [
        Sites(np.concatenate([s.places, s.places + 5000]), np.tile(s.log_odds, 2))
        for s in (donors, acceptors)
    ]
    for a, b in zip(run_chain(*two, layer)[:2], found[:2], strict=True):
        assert_allclose(a, np.tile(b, 2), rtol=1e-9, atol=1e-9)


def test_both_strands_read_the_same():
    """The reverse complement of a contig has the same introns, on the other strand."""
    rng = np.random.default_rng(3)
    size, starts = 400, np.sort(rng.choice(398, 80, replace=False))
    is_donor, log_odds = rng.random(80) < 0.5, rng.normal(size=80)
    layer = _layer(rng)

    def both(starts, is_reverse):
        found = []
        for donor in (True, False):
            own = is_donor == donor
            places = reading_places(starts[own], 2, is_reverse, donor)
            order = np.argsort(places)
            result = np.empty(order.size)
            found.append((Sites(places[order], log_odds[own][order]), order, result))
        posteriors = run_chain(found[0][0], found[1][0], layer)
        for (_, order, result), log_p in zip(found, posteriors[:2], strict=True):
            result[order] = log_p
        return [result for *_, result in found]

    for a, b in zip(both(starts, False), both(size - 2 - starts, True), strict=True):
        assert_allclose(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("level", [-30.0, 0.0, 60.0, 1e6])
def test_a_chromosome_of_candidates_stays_finite(level):
    rng = np.random.default_rng(2)
    n = 500_000
    layer = _layer(rng, n_lengths=40, n_exons=20)
    sites = [
        Sites(np.sort(rng.choice(8 * n, n, replace=False)), rng.normal(level, 3.0, n))
        for _ in range(2)
    ]
    found = run_chain(*sites, layer)
    for log_p in found[:2]:
        assert np.isfinite(log_p).all()
        assert np.isfinite(to_log_odds(log_p)).all()
        assert log_p.max() <= 0
    # each intron has one donor and one acceptor
    assert np.exp(found.donors).sum() == pytest.approx(np.exp(found.acceptors).sum(), rel=1e-6)
