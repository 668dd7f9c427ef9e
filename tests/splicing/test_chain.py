"""The chain against all parses one by one, a plain quadratic recursion, and its symmetries."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.sequences import reverse_complement
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.chain import run_chain, to_log_odds
from seqmtl.splicing.coding import CODING_SHAPE
from seqmtl.splicing.layer import EDGES, Edge, PairLayer
from tests.oracles.pairs import ends, posteriors_of
from tests.oracles.parses import KINDS, all_parses, total_weight

#: Log density of the first length beyond the table, and its fall, of two tails.
TAILS = np.array([[-3.0, 0.2], [-4.5, 0.01]])


def _layer(rng, shortest=3, n_lengths=12, **options):
    values = {
        "scale": 1.3,
        "shift": 0.4,
        "coding_shift": 1.9,
        "switch": -2.0,
        "coding_scale": 0.7,
        "shortest": shortest,
        "introns": np.log(rng.dirichlet(np.ones(n_lengths))),
        "coding": rng.normal(-0.1, 0.4, CODING_SHAPE).astype(np.float32),
    }
    return PairLayer(**(values | options))


def _exons(rng, n):
    """Weights of exons of 0 to n - 1 bases, some of them 0."""
    return {"exons": rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.7), "exon_shift": 2.5}


def _sites(rng, length, n, spread=1.5):
    """Random sites of both strands; some at the same place."""
    places = np.sort(rng.integers(0, length, n))
    is_reverse, is_end = rng.random(n) < 0.5, rng.random(n) < 0.5
    order = np.lexsort([is_end, places])
    content = rng.normal(-0.2, 0.8, (n, 6))
    content[1:][np.diff(places) == 0] = 0.0
    log_odds = rng.normal(0.5, spread, n)
    return joined(places, is_reverse[order], is_end[order], log_odds, content)


def joined(places, is_reverse, is_end, log_odds, content):
    """Candidates as the chain takes them; `content` is that since the site before."""
    signals = (is_end != is_reverse).astype(int)
    columns = {"places": places, "log_odds": log_odds, "content": content.cumsum(axis=0)}
    return with_signals(Sites(places, is_reverse, columns), signals)


def with_signals(sites, signals):
    """Sites of other signals: donor, acceptor, start, stop from 0."""
    # what a signal begins on the plus strand, its partner begins on the minus strand, backwards
    return sites.adding(
        signals=signals,
        kinds=np.where(sites.is_reverse, signals ^ 1, signals),
        is_tandem=np.zeros(len(sites), dtype=bool),
    )


def _with_edges(rng, sites):
    """Some of the sites as edges of genes, and what a layer needs for them."""
    signals = np.where(
        rng.random(len(sites)) < 0.5, sites["signals"], rng.integers(2, 4, len(sites))
    )
    sites = with_signals(sites, signals)
    begins = np.isin(sites["kinds"], [1, 2])
    rows = np.lexsort([begins, sites["places"]])
    others = {name: sites[name] for name in ("places", "content")}  # these do not move
    edges = tuple(Edge(signal, 0.7 * k, 1.0 - k / 2, -1e9) for k, signal in enumerate(EDGES))
    return sites.take(rows).adding(**others), edges


def _case(sites, layer):
    """What the oracles take: weights, not their logarithms."""
    n = layer.introns.size

    def intron(length):
        k = length - layer.shortest
        if k >= n:
            return sum(float(np.exp(first - decay * (k - n))) for first, decay in layer.tails)
        return float(np.exp(layer.introns[k])) if k >= 0 else 0.0

    def exon(length):
        known = length < layer.exons.size
        return float(layer.exons[length] * np.exp(layer.exon_shift)) if known else 0.0

    scales = [layer.scale] * 2 + [edge.scale or 1.0 for edge in layer.edges]  # 0: no model
    shifts = [0.0] * 2 + [edge.shift for edge in layer.edges]
    return {
        "exon": exon,
        "places": sites["places"].tolist(),
        "strands": sites.is_reverse.astype(int).tolist(),
        "kinds": [KINDS[kind] for kind in sites["kinds"]],
        "weights": [
            float(np.exp(scales[signal] * value + shifts[signal]))
            for signal, value in zip(sites["signals"], sites["log_odds"], strict=True)
        ],
        "content": np.exp(
            layer.coding_scale * np.diff(sites["content"], axis=0, prepend=0.0)
        ).tolist(),
        "intron": intron,
        "enter": float(np.exp(layer.switch)),
        "leave": float(np.exp(layer.switch)),
        "shifts": (float(np.exp(layer.shift)), float(np.exp(layer.coding_shift))),
    }


def _check_parses(sites, layer):
    """Compare sites, introns and exons with all parses; return those of introns and of exons."""
    total, shares, introns, exons = 0.0, np.zeros(len(sites)), Counter(), Counter()
    for weight, parse in all_parses(_case(sites, layer)):
        total += weight
        for own in parse:
            shares[list(own)] += weight
        parse = [own for own in parse if len(own) == 2]
        for pair in parse:
            introns[pair] += weight
        for (_, end), (start, _) in itertools.pairwise(parse):
            if sites.is_reverse[end] == sites.is_reverse[start]:
                exons[end, start] += weight
    found = run_chain(sites, layer, min_probability=1e-6, least_exon=1e-6)
    assert_allclose(np.exp(found.sites), shares / total, rtol=1e-9, atol=1e-12)
    for weights, rows, values in (
        (introns, found.introns, found.intron_values),
        (exons, found.exons, found.exon_values),
    ):
        listed = dict(zip(map(tuple, rows.tolist()), np.exp(values).tolist(), strict=True))
        assert listed == {
            pair: pytest.approx(weight / total, rel=1e-9)
            for pair, weight in weights.items()
            if weight / total > 1e-6
        }
    return introns, exons


@pytest.mark.parametrize("seed", range(6))
def test_posteriors_are_the_shares_of_all_parses(seed):
    rng = np.random.default_rng(seed)
    options = {"n_lengths": 5, "tails": TAILS[: seed % 3]} if seed % 3 else {}
    options |= _exons(rng, 12) if seed % 4 else {}
    introns, _ = _check_parses(_sites(rng, (14, 25)[seed % 2], 8), _layer(rng, **options))
    assert introns or seed not in (0, 2, 5, 10)
    # sites farther apart than the falls of tails that are in a table
    rng = np.random.default_rng(seed)
    _check_parses(_sites(rng, 3_000, 6), _layer(rng, n_lengths=9, tails=TAILS))
    # sites that begin introns and that end them in turn, with exons between
    rng = np.random.default_rng(seed)
    sites, is_reverse = _sites(rng, 40, 8), rng.random(8) < seed / 12
    sites = with_signals(replace(sites, is_reverse=is_reverse), (np.arange(8) % 2) ^ is_reverse)
    options = _exons(rng, 12) if seed % 3 else {}
    _, exons = _check_parses(sites, _layer(rng, shortest=1, n_lengths=9, tails=TAILS, **options))
    assert exons


@pytest.mark.parametrize("seed", range(8))
def test_genes_have_edges(seed):
    """Coding sequence begins and ends there, in the frame of the codon."""
    rng = np.random.default_rng(seed)
    sites, edges = _with_edges(rng, _sites(rng, 25, 8, spread=0.8))
    _check_parses(sites, _layer(rng, shortest=1, **_exons(rng, 12), edges=edges))
    # without these edges in the layer, they are as if they were no sites
    plain = _layer(np.random.default_rng(seed))
    rows = np.flatnonzero(sites["signals"] < 2)
    found = run_chain(sites, plain).sites
    assert_allclose(found[rows], run_chain(sites.take(rows), plain).sites, rtol=1e-9)
    assert (np.delete(found, rows) == -700.0).all()


@pytest.mark.parametrize("has_edges", [False, True])
def test_a_longer_contig_equals_the_quadratic_recursion(has_edges):
    """A site's posterior is the derivative of the log of the sum by the log of its weight."""
    rng = np.random.default_rng(5)
    sites, layer = _sites(rng, 600, 60), _layer(rng, n_lengths=30, tails=TAILS)
    layer = layer._replace(**_exons(rng, 40))
    if has_edges:
        sites, edges = _with_edges(rng, sites)
        layer = layer._replace(edges=edges)
    found = np.exp(run_chain(sites, layer).sites)
    step, case = 1e-4, _case(sites, layer)
    for k in range(60):
        values = []
        for sign in (1, -1):
            weights = list(case["weights"])
            weights[k] *= np.exp(sign * step)
            values.append(np.log(total_weight(case | {"weights": weights})))
        assert found[k] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7)
    assert (found > 0.1).sum() >= 5


@pytest.mark.parametrize("is_end", [[], [False], [True], [True] * 5, [False] * 5])
def test_sites_without_partners_have_no_chance(is_end):
    rng = np.random.default_rng(1)
    sites = _sites(rng, 50, len(is_end))
    sites = with_signals(sites, (np.array(is_end, dtype=np.bool_) ^ sites.is_reverse).astype(int))
    found = run_chain(sites, _layer(rng), min_probability=0.1)
    assert_allclose(found.sites, np.full(len(is_end), -700.0))
    assert found.introns.shape == (0, 2)


def test_an_intron_in_coding_sequence_keeps_its_frame():
    """Two candidate acceptors, one in frame with the coding sequence that follows."""
    rng = np.random.default_rng(4)
    codon = np.array([0, 3, 3], dtype=np.uint8)
    exon, intron = np.tile(codon, 60), rng.integers(0, 4, 50).astype(np.uint8)
    codes = np.concatenate([exon, intron, exon])
    table = np.full(CODING_SHAPE, -1.0, dtype=np.float32)
    digits = 4 ** np.arange(4, -1, -1)
    for j in range(3):  # each base is expected at its own position of the codon
        window = np.tile(codon, 4)[j + 2 : j + 7]
        table[:, j, int((window * digits).sum())] = 1.0
    numbers = {"coding_scale": 1.0, "switch": -8.0, "scale": 1.0, "shift": -5.0}
    introns = np.log(np.full(20, 0.05))
    layer = _layer(rng, shortest=40, introns=introns, coding=table, coding_shift=3.0, **numbers)
    size, donors = codes.size, np.array([6, 180, 400])  # the last one shows that the exon goes on
    acceptors = np.array([227, 228, 229])  # introns of 49, 50 and 51 bases from the second donor

    def find(codes, starts, is_reverse):
        given = [ends(own, np.full(3, is_reverse), np.zeros(3)) for own in starts]
        return np.exp(posteriors_of(given, codes, layer))

    found = find(codes, (donors, acceptors), False)
    assert found[1] == pytest.approx(found[4], abs=0.01)
    assert found[1] > 0.9
    assert found[[3, 5]].max() < 0.01
    turned = find(
        reverse_complement(codes), (size - 2 - donors[::-1], size - 2 - acceptors[::-1]), True
    )
    assert_allclose(turned[::-1], found[[3, 4, 5, 0, 1, 2]], rtol=1e-6)


def test_both_strands_read_the_same():
    """The reverse complement of a contig has the same introns, on the other strand."""
    rng = np.random.default_rng(3)
    size = 402
    codes = rng.integers(0, 5, size).astype(np.uint8)
    codons = tuple(Edge(signal, 0.0, 1.0, -1e9) for signal in EDGES)  # also at ends of introns
    layer = _layer(rng, edges=codons)
    given = []
    for _ in range(2):
        starts = np.sort(rng.choice(size - 2, 60, replace=False))
        given.append(ends(starts, rng.random(60) < 0.5, rng.normal(size=60)))
    turned = [ends(size - 2 - own.starts, ~own.is_reverse, own["log_odds"]) for own in given]
    found = posteriors_of(given, codes, layer)
    other = posteriors_of(turned, reverse_complement(codes), layer)
    assert_allclose(found, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("level", [-30.0, 0.0, 60.0, 1e6])
@pytest.mark.parametrize("content", [-40.0, 0.0, 40.0])
def test_a_chromosome_of_candidates_stays_finite(level, content):
    rng = np.random.default_rng(2)
    n = 50_000
    layer = _layer(rng, n_lengths=40, tails=TAILS, **_exons(rng, 40))
    places = np.sort(rng.choice(4 * n, n, replace=False))
    is_reverse, is_end = rng.random(n) < 0.5, rng.random(n) < 0.5
    log_odds, of_coding = rng.normal(level, 3.0, n), rng.normal(content, 20.0, (n, 6))
    sites = joined(places, is_reverse, is_end, log_odds, of_coding)
    log_p = run_chain(sites, layer).sites
    assert np.isfinite(log_p).all()
    assert np.isfinite(to_log_odds(log_p)).all()
    assert log_p.max() <= 0
    # each intron has one start and one end
    is_end = sites["kinds"] == 1
    assert np.exp(log_p[~is_end]).sum() == pytest.approx(np.exp(log_p[is_end]).sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_the_ceiling_multiplies_every_posterior(seed):
    rng = np.random.default_rng(seed)
    layer, sites = _layer(rng), _sites(rng, 60, 16, spread=3)
    free = run_chain(sites, layer, 0.01)
    capped = run_chain(sites, layer._replace(ceiling=0.8), 0.8 * 0.01)
    assert_allclose(np.exp(capped.sites), 0.8 * np.exp(free.sites), atol=1e-300)
    assert_array_equal(capped.introns, free.introns)
    assert_allclose(np.exp(capped.intron_values), 0.8 * np.exp(free.intron_values))
    p = np.exp(run_chain(sites, layer._replace(ceiling=0.8), 0.3).intron_values)
    assert p.size == (0.8 * np.exp(free.intron_values) >= 0.3).sum()


def test_what_is_left_out_is_as_if_it_were_no_candidate():
    rng = np.random.default_rng(11)
    sites, layer = _sites(rng, 200, 60), _layer(rng, tails=TAILS)
    kept = sites["log_odds"] >= np.where(sites["signals"] == 0, -0.2, 0.4)
    rows = np.flatnonzero(kept)
    expected = run_chain(sites.take(rows), layer, 0.01)
    found = run_chain(sites, layer._replace(least=(-0.2, 0.4)), 0.01)
    assert_allclose(found.sites[rows], expected.sites, rtol=1e-9)
    assert_array_equal(found.sites[~kept], np.full((~kept).sum(), -700.0))
    assert_array_equal(found.introns, rows[expected.introns])
    assert 0 < rows.size < 60
