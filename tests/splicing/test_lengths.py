"""Lengths between annotated sites, and their distributions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from seqmtl.splicing.coding import CODING_SHAPE
from seqmtl.splicing.layer import PairLayer
from seqmtl.splicing.lengths import (
    annotated_lengths,
    exon_densities,
    length_tables,
    mixed_table,
    relatives_density,
)
from seqmtl.splicing.regions import KnownSites

ONE = np.ones((1, 1))


def _tails(table):
    """Shares of the introns that are longer than the table, by tail."""
    return np.exp(table.tails[:, 0]) / -np.expm1(-table.tails[:, 1])


def _sums_to_one(table):
    return np.exp(table.introns).sum() + _tails(table).sum() == pytest.approx(1.0)


def _layer_of(table):
    return PairLayer(1, 0, 0, 0, 1, *table[:2], np.zeros(CODING_SHAPE), tails=table.tails)


def _lengths(introns):
    return np.asarray(introns, dtype=np.int64)


def test_lengths_are_those_between_neighbouring_true_sites():
    # D10 A60  D100 A180(excluded) D300 D310 A400 A420 D425
    places = np.array([10, 60, 100, 180, 300, 310, 400, 420, 425])
    is_donor = np.array([1, 0, 1, 0, 1, 1, 0, 0, 1], dtype=bool)
    is_true = np.array([1, 1, 1, 0, 1, 1, 1, 1, 1], dtype=bool)
    found = annotated_lengths([KnownSites(places, is_donor, is_true)] * 2)
    assert found.tolist() == [50, 90] * 2
    assert not annotated_lengths([]).size


def test_intron_lengths_are_smoothed_and_every_length_is_possible():
    rng = np.random.default_rng(0)
    introns = np.rint(np.exp(rng.normal(5.0, 0.5, 4000))).astype(np.int64)
    table = length_tables({"x": introns}, ONE)["x"]
    lengths = np.arange(table.shortest, table.shortest + table.introns.size)
    p = np.exp(table.introns)
    assert _sums_to_one(table)
    median = lengths[np.searchsorted(np.cumsum(p), 0.5)]
    assert median == pytest.approx(np.median(introns), rel=0.05)
    assert lengths[-1] == pytest.approx(1.5 * np.quantile(introns, 0.99), rel=0.1)
    p /= p.sum()
    # the log-normal density that they were drawn from, where there are many
    true = norm.pdf(np.log(lengths), 5.0, 0.5) / lengths
    common = true > 0.5 * true.max()
    assert_allclose(p[common], true[common], rtol=0.15)
    assert p.min() > 0.01 / lengths[-1] / np.log(lengths[-1])


def test_no_intron_is_shorter_than_the_shortest_that_is_annotated():
    rng = np.random.default_rng(4)
    own = {"a": rng.integers(60, 90, 400), "b": rng.integers(45, 70, 50), "c": _lengths([30])}
    own["a"][0], own["b"][0] = 52, 41
    tables = length_tables(own, np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    assert [tables[name].shortest for name in own] == [52, 41, 41]  # one intron is no rule
    assert all(map(_sums_to_one, tables.values()))
    assert length_tables({"c": own["c"]}, ONE)["c"].shortest < 30


def test_few_introns_borrow_from_relatives():
    rng = np.random.default_rng(1)
    own = {
        "near": _lengths(rng.integers(90, 110, 2000)),
        "far": _lengths(rng.integers(700, 760, 2000)),
        "few": _lengths([95]),
        "none": _lengths([]),
    }
    K = np.array([[1, 0, 0.9, 0], [0, 1, 0, 0.8], [0.9, 0, 1, 0], [0, 0.8, 0, 1.0]])
    tables = length_tables(own, K)

    def share(name, low, high):
        table = tables[name]
        return np.exp(table.introns[max(0, low - table.shortest) : high - table.shortest]).sum()

    assert share("few", 80, 120) > 0.85
    assert share("none", 650, 810) > 0.85
    assert tables["few"].shortest + tables["few"].introns.size < 300
    # without relatives: all organisms
    lonely = length_tables(own, np.eye(4))["none"]
    around = np.exp(lonely.introns[650 - lonely.shortest : 810 - lonely.shortest]).sum()
    assert 0.3 < around < 0.6


def test_one_intron_is_enough_and_no_intron_is_refused():
    table = length_tables({"x": _lengths([200])}, ONE)["x"]
    assert table.shortest < 200 < table.shortest + table.introns.size
    assert np.isfinite(table.introns).all()
    assert np.argmax(table.introns) + table.shortest == pytest.approx(200, rel=0.7)
    with pytest.raises(ValueError, match="the annotation has no introns: no annotated donor"):
        length_tables({"x": _lengths([])}, ONE)


def test_long_introns_have_tails_of_their_scales():
    rng = np.random.default_rng(3)
    far = 1000 + rng.geometric(np.repeat([1 / 2000, 1 / 32e3], 1000))
    table = length_tables({"x": np.concatenate([rng.integers(100, 900, 8000), far])}, ONE)["x"]
    assert table.shortest + table.introns.size - 1 == 1000
    masses = _tails(table)
    scales = 1 / table.tails[:, 1]
    assert_allclose(scales, [500, 2_000, 8_000, 32_000, 128_000])
    assert masses.sum() == pytest.approx(0.2, abs=0.01)
    assert masses @ scales == pytest.approx(far.mean() * 0.2, rel=0.2)
    for n in (3_000, 20_000, 60_000):  # as many are longer as among those given
        longer = masses @ np.exp((1000 - n) * table.tails[:, 1])
        assert longer == pytest.approx((far > n).mean() * 0.2, abs=0.01)
    # the density of the lengths 1 to n; longer ones count as n
    layer = _layer_of(table)
    density = layer.density(200_000)
    assert density.sum() == pytest.approx(1.0)
    assert density[layer.shortest - 2] == 0 < density[layer.shortest - 1]
    assert layer.density(3000)[-1] == pytest.approx(density[2999:].sum())
    # the shortest length that 99.5 % of the introns do not exceed
    assert density[: layer.span].sum() == pytest.approx(0.995, abs=1e-5)
    assert density[: layer.span - 1].sum() < 0.995


def test_far_introns_alone_are_no_error():
    for lengths in ([70_000, 80_000], [200_000], [3_000_000]):
        table = length_tables({"x": np.array(lengths)}, ONE)["x"]
        assert np.isfinite(table.introns).all()
        assert _tails(table)[-2:].sum() > 0.9


def _layer(shortest, density, n_introns):
    coding = np.zeros(CODING_SHAPE, dtype=np.float32)
    introns = np.log(np.asarray(density))
    return PairLayer(1, 0, 0, 0, 1, shortest, introns, coding, n_introns)


def test_relatives_count_by_weight_and_by_their_introns():
    # with 50 introns a relative counts half; of the lengths 2 to 5
    layers = [_layer(3, [0.5, 0.5], 50), _layer(4, [0.25, 0.75], 150), _layer(2, [1.0], 0)]
    found = relatives_density(layers, np.array([0.6, 0.2, 0.2]))
    shares = 0.6 * 0.5, 0.2 * 0.75
    expected = np.array([0, 0, 0.5, 0.5, 0]) * shares[0]
    expected += np.array([0, 0, 0, 0.25, 0.75]) * shares[1]
    assert_allclose(found, expected / sum(shares))


def test_a_genome_of_its_own_replaces_the_prior_by_its_number_of_introns():
    prior = np.zeros(2000)
    prior[999:1100] = 1 / 101
    rng = np.random.default_rng(0)

    def share(n):  # of introns of up to 500 bases
        table = mixed_table(rng.integers(90, 110, n), np.full(n, 0.5), prior)
        assert _sums_to_one(table)
        p = np.exp(table.introns)
        return p[: 501 - table.shortest].sum()

    assert share(0) < 0.1
    for n in (50, 100, 1900):  # introns of posterior 0.5 count half; the prior counts 50
        trust = 0.5 * n / (0.5 * n + 50)
        assert share(n) == pytest.approx(share(0) + (1 - share(0)) * trust, abs=0.05)


def test_without_labels_introns_may_be_far_longer_than_those_of_relatives():
    prior = np.zeros(200)
    prior[79:120] = 1 / 41
    none = mixed_table(_lengths([]), np.zeros(0), prior)
    far = _tails(none)
    # a fifth, uniform in the logarithm from 80 to 100,000 bases, beyond the table
    end = none.shortest + none.introns.size - 1
    assert far.sum() == pytest.approx(0.2 * np.log(1e5 / end) / np.log(1e5 / 80), abs=0.01)
    assert far @ np.exp(-none.tails[:, 1] * 20_000) > 0.02
    # and with 400 introns of 5 to 40 kb, all but a few are as long
    long = np.random.default_rng(0).integers(5_000, 40_000, 400)
    table = mixed_table(long, np.ones(400), prior)
    density = _layer_of(table).density(200_000)
    assert density[:1_000].sum() < 0.15
    assert density[3_000:60_000].sum() > 0.7


def test_exons_add_up_to_the_share_of_introns_that_they_follow():
    of_a = _lengths([19, 100, 120, 599, 600, 9000])
    exons = {"a": of_a, "b": _lengths([50] * 40), "c": _lengths([])}
    introns = {"a": _lengths([80] * 10), "b": _lengths([80] * 50), "c": _lengths([])}
    alike = np.ones((3, 3))
    found = exon_densities(exons, introns, alike)
    # relatives count n / (n + 50): b and c for a, a and c for b, a and b for c
    of_c = (10 / 60 * 0.3 + 50 / 100 * 0.8) / (10 / 60 + 50 / 100)
    expected = {"a": (3 + 5 * 0.8) / 15, "b": (40 + 5 * 0.3) / 55, "c": of_c}
    for name, own in found.items():
        assert own.shape == (600,)
        assert not own[:20].any()
        assert own.sum() == pytest.approx(expected[name])
    alone = exon_densities({"x": of_a}, {"x": introns["a"]}, ONE)["x"]
    assert alone.sum() == pytest.approx(0.3)
    assert not exon_densities({"x": _lengths([7, 600])}, {"x": introns["a"]}, ONE)["x"].size


def test_no_intron_that_is_learnt_is_below_15_bases():
    prior = np.ones(1_000) / 1_000
    table = mixed_table(np.full(2_000, 5), np.ones(2_000), prior)
    assert table.shortest == 15
    assert _sums_to_one(table)
