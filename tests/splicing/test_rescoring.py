"""Second log-odds of sites: numbers of their surroundings, networks, files, commands, variants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io import load_genome
from seqmtl.io.genome import ContigPiece
from seqmtl.loading import load_model
from seqmtl.sequences import encode
from seqmtl.sequences.sites import Sites
from seqmtl.splicing import PairedFinder, fit_layer, join_ends
from seqmtl.splicing.layer import N_NUMBERS, PairLayer
from seqmtl.splicing.rescoring import rescored, surroundings, train_network
from seqmtl.variant_effects.neighbourhoods import Neighbourhood
from tests.invocation import run

SIGNALS = ("donor", "acceptor")
COMPLEMENT = str.maketrans("ACGT", "TGCA")
LEAST = (-3.0, -2.0)


@pytest.fixture(scope="module")
def layer():
    rng = np.random.default_rng(1)
    exons = np.append(np.zeros(20), rng.dirichlet(np.ones(580))) * 0.8
    introns = np.log(rng.dirichlet(np.ones(900)) * 0.9)
    tails = np.array([[np.log(0.1 * 0.001), 0.001]])
    coding = rng.normal(0, 0.3, (3, 4096)).astype(np.float32)
    return PairLayer(1, 0, 0, 0, 0, 40, introns, coding, tails=tails, exons=exons)


@pytest.fixture(scope="module")
def stretch():
    """Return letters, and donors and acceptors with log-odds, on both strands."""
    rng = np.random.default_rng(2)
    letters = "".join(rng.choice(list("ACGT"), 4_000, p=(0.2, 0.3, 0.3, 0.2)))
    ends = {}
    for signal, words in zip(SIGNALS, (("GT", "AC"), ("AG", "CT")), strict=True):
        rows = [
            (k, t)
            for t, word in enumerate(words)
            for k in range(3_999)
            if letters[k : k + 2] == word
        ]
        starts, strands = np.array(rows).T
        ends[signal] = Sites(
            starts, strands > 0, {"log_odds": rng.normal(-4, 3, starts.size).round(3)}
        )
    return letters, ends


def _as_read(stretch, t):
    """Return letters of a strand, and (place, log-odds, row) of the candidates, by signal."""
    letters, ends = stretch
    n = len(letters)
    sites = {
        signal: [
            (n - s - 2 if t else s, x)
            for s, r, x in zip(
                of.starts.tolist(), of.is_reverse.tolist(), of["log_odds"].tolist(), strict=True
            )
            if r == bool(t) and x >= least
        ]
        for (signal, of), least in zip(ends.items(), LEAST, strict=True)
    }
    sites["acceptor"] = [(s + 2, x) for s, x in sites["acceptor"]]
    return letters.translate(COMPLEMENT)[::-1] if t else letters, sites


def _numbers(stretch, layer, t, signal, place, log_odds):
    """Return the numbers of a candidate by their definition, by name."""
    text, sites = _as_read(stretch, t)
    n, side = len(text), -1 if signal == "donor" else 1
    other = "acceptor" if signal == "donor" else "donor"

    def part(begin, end):
        low, high = sorted((begin, end))
        return text[max(0, place + low) : max(0, place + high)]

    def share(letters, begin, end):
        of = part(begin, end)
        return sum(of.count(letter) for letter in letters) / max(1, len(of))

    def coded(low, high):
        words = [(p, text[p - 5 : p + 1]) for p in range(max(5, low), min(n, high))]
        codes = [(p, int(encode(word) @ 4 ** np.arange(5, -1, -1))) for p, word in words]
        return [sum(float(layer.coding[(p - r) % 3, k]) for p, k in codes) for r in range(3)]

    introns = np.append(0.0, layer.density(20_001)[:-1])
    partners = [
        (
            x + np.log(max(layer.exons[d] if d >= 20 else 0.0, 1e-6)),
            x,
            d,
            coded(*sorted((place, p))),
        )
        for p, x in sites[other]
        for d in [side * (p - place)]
        if 0 <= d < 600
    ]
    across = [
        (x + np.log(max(introns[d], 1e-12)), x, d)
        for p, x in sites[other]
        for d in [-side * (p - place)]
        if 0 <= d <= 20_000
    ]
    rivals = [(abs(p - place), x) for p, x in sites[signal] if p != place]
    _, on_other = _as_read(stretch, 1 - t)
    anti = [
        [x for p, x in on_other[name] if abs((n - p) - place) <= 300] for name in (signal, other)
    ]
    best = max(partners, default=(-30, -20, 0, None))
    gap = sorted(coded(*sorted((place, place + side * 100))))
    return {
        0: log_odds,
        1: share("GC", 0, side * 50),
        4: share("GC", 0, -side * 150),
        7: share("GC", -3_000, 3_000),
        9: part(-500, 501)[:1001].count("CG") / max(1, len(part(-500, 500))),
        10: share("T", 0, side * 100),
        13: share("C", 0, -side * 100),
        15: max(coded(*sorted((place, place + side * 80)))),
        21: max(coded(*sorted((place, place - side * 200)))),
        22: gap[2] - gap[1],
        23: max(-14, best[0]),
        24: max(-14, best[1]),
        25: np.log1p(best[2]),
        26: max(-14, np.log(sum(np.exp(w) for w, *_ in partners) + 1e-13)),
        27: max([-14, *(w + 0.2 * max(c) for w, _, _, c in partners)]),
        28: max(-14, np.log(sum(np.exp(w) for w, *_ in across) + 1e-13)),
        29: max(-14, np.log(sum(np.exp(w) for w, _, d in across if d < 1_000) + 1e-13)),
        30: max([-14, *(x for _, x, _ in across)]),
        31: max([-14, *(x for d, x in rivals if d <= 40)]),
        32: max([-14, *(x for d, x in rivals if d <= 300)]),
        33: np.log1p(sum(d <= 1_000 and x > log_odds for d, x in rivals)),
        34: max([-14, *anti[0]]),
        35: max([-14, *anti[1]]),
    }


def test_numbers_are_those_of_their_definitions_on_both_strands(stretch, layer):
    letters, ends = stretch
    sites = join_ends(ends, encode(letters), layer.coding)
    described = surroundings(sites, encode(letters), layer, LEAST)
    rng = np.random.default_rng(3)
    for signal, least, (rows, numbers) in zip(SIGNALS, LEAST, described, strict=True):
        assert numbers.shape == (rows.size, N_NUMBERS)
        assert_array_equal(
            np.sort(rows),
            np.flatnonzero(
                (sites["signals"] == SIGNALS.index(signal)) & (sites["log_odds"] >= least)
            ),
        )
        for k in rng.choice(rows.size, 12, replace=False).tolist():
            row, t = rows[k], int(sites.is_reverse[rows[k]])
            place = int(sites["places"][row])
            place = len(letters) - place if t else place
            expected = _numbers(stretch, layer, t, signal, place, sites["log_odds"][row])
            assert_allclose(
                numbers[k, list(expected)], list(expected.values()), rtol=1e-4, atol=1e-3
            )


def test_stretches_do_not_see_each_other(stretch, layer):
    letters, ends = stretch
    codes = encode(letters)
    both = np.concatenate([codes, codes])
    twice = {
        signal: Sites.join([of, Sites(of.starts + codes.size, of.is_reverse, of.columns)])
        for signal, of in ends.items()
    }
    bounds = np.array([[0, codes.size], [codes.size, both.size]])
    once = surroundings(join_ends(ends, codes, layer.coding), codes, layer, LEAST)
    joined = join_ends(twice, both, layer.coding, 0, bounds)
    for one, two in zip(once, surroundings(joined, both, layer, LEAST, bounds), strict=True):
        assert_array_equal(two.numbers, np.concatenate([one.numbers, one.numbers]))


def test_networks_learn_what_is_not_additive():
    rng = np.random.default_rng(0)
    numbers = rng.normal(3, 2, (40_000, N_NUMBERS)).astype(np.float32)
    is_true = (numbers[:, 4] > 3) == (numbers[:, 20] > 3)
    network = train_network(numbers[:30_000], is_true[:30_000], -2.0)
    right = (network.log_odds(numbers[30_000:]) > 0) == is_true[30_000:]
    assert right.mean() > 0.9
    again = train_network(numbers[:30_000], is_true[:30_000], -2.0)
    assert_array_equal(again.hidden, network.hidden)


def test_log_odds_of_networks_are_calibrated():
    rng = np.random.default_rng(0)
    numbers = rng.normal(0, 1, (60_000, N_NUMBERS)).astype(np.float32)
    truth = 1 / (1 + np.exp(4 - 2 * numbers[:, 0]))
    network = train_network(numbers, rng.random(60_000) < truth, -2.0)
    p = 1 / (1 + np.exp(-network.log_odds(numbers)))
    assert abs(p.sum() / truth.sum() - 1) < 0.05


def test_sites_that_were_not_described_have_no_chance(stretch, layer):
    letters, ends = stretch
    network = train_network(
        np.random.default_rng(0).normal(size=(2_000, N_NUMBERS)).astype(np.float32),
        np.arange(2_000) < 100,
        LEAST[0],
    )
    with_networks = layer._replace(networks=(network, network._replace(least=LEAST[1])))
    codes = encode(letters)
    sites = join_ends(ends, codes, layer.coding)
    assert rescored(sites, codes, layer) is sites
    log_odds = rescored(sites, codes, with_networks)["log_odds"]
    assert_array_equal(log_odds == -30, sites["log_odds"] < np.take(LEAST, sites["signals"]))


@pytest.fixture(scope="module")
def second(case, tmp_path_factory):
    """Return the file of the paired model with networks of organism a."""
    path = tmp_path_factory.mktemp("second") / "second"
    data = f"{case}/donor {case}/acceptor {case}/donors {case}/acceptors"
    run(f"pair {data} --rescore a -o {path} -q")
    return path


def test_networks_are_of_the_organisms_asked_for_and_survive_a_file(second, case, tmp_path):
    model, plain = load_model(second), load_model(case / "splice")
    assert [len(model.layer[name].networks) for name in "ab"] == [2, 0]
    assert not any(layer.networks for layer in plain.layer.values())
    model.save(tmp_path / "again")
    for network, again in zip(
        model.layer["a"].networks, load_model(tmp_path / "again").layer["a"].networks, strict=True
    ):
        for part, other in zip(network, again, strict=True):
            assert_array_equal(part, other)
    donor, acceptor = model.donor, model.acceptor
    with pytest.raises(UnknownTaskError, match="nobody"):
        fit_layer(donor, acceptor, case / "donors", case / "acceptors", rescored=["nobody"])


def test_damaged_networks_are_refused(second, tmp_path):
    header, arrays = read_arrays(second)
    write_arrays(tmp_path / "short", header, arrays | {"networks": arrays["networks"][:1]})
    header["layer"]["a"]["networks"] = [0.0]
    write_arrays(tmp_path / "one", header, arrays)
    for name in ("short", "one"):
        with pytest.raises(ModelFileError, match="networks"):
            load_model(tmp_path / name)


def _keys(sites):
    return list(zip(sites["places"], sites["signals"], sites.is_reverse, strict=True))


def test_variants_are_scored_as_a_genome_with_the_allele(second, case):
    finder = PairedFinder(load_model(second), "a")
    genome = load_genome(case / "sim/genomes/a.fa", padding=1)
    contig = genome.contig(genome.names[0])[:6_000].copy()
    place, letters = 3_000, encode("GTAAG")
    changed = np.concatenate([contig[:place], letters, contig[place + 2 :]])
    alternative = Neighbourhood(finder, contig, 0, contig.size).alternative(
        place, place + 2, letters
    )
    sites, posteriors = finder.posteriors(ContigPiece("", 0, changed), 0, changed.size)
    log_p = dict(zip(_keys(sites), posteriors.sites, strict=True))
    expected = [log_p[key] for key in _keys(alternative.sites)]
    assert_allclose(alternative.posteriors.sites, expected, atol=1e-6)
