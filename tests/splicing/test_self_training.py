"""Rounds of self-training: they find what is there, and nothing where there is nothing."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.core.weights import TaskWeights
from seqmtl.datasets.known_introns import read_known_introns
from seqmtl.loading import load
from seqmtl.relations import TaskKernel
from seqmtl.splicing import self_training
from seqmtl.splicing.chain import with_letters
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.self_training import LOST_SHARE, SelfTraining, _drawn, _groups_of
from tests.oracles.annotation import read_fasta, sites_of
from tests.oracles.pairs import open_contigs, whole_contig

PADDING = 61


def _true_sites(new):
    """Return {(contig, start, strand)} of the donors and the acceptors of organism c."""
    fasta, genes = read_fasta(new / "sim/genomes/c.fa"), new / "sim/annotation/c.gff3"
    return sites_of(genes, fasta, "donor") | sites_of(genes, fasta, "acceptor")


def _calls(model, path, least):
    """Return the sites of probability `least` or more of organism c."""
    return {
        (name, *place)
        for name, codes in open_contigs(path)
        for (_, *place), p in whole_contig(model, "c", codes)[0].items()
        if p >= least
    }


@pytest.fixture(scope="module")
def untrained(new):
    """Organism c with the weights of its relatives."""
    sample = sample_genome(new / "sim/genomes/c.fa", PADDING)
    return SelfTraining(load(new / "pair.seqmtl"), "c", sample)


@pytest.fixture
def training(untrained):
    """The same, for a test to change."""
    return copy.deepcopy(untrained)


def test_rounds_stop_where_the_reversed_genome_has_too_many_sites(training, monkeypatch, caplog):
    own = training
    assert not own.shortage
    told, first = [], own.rounds[0]
    own.rounds[0] = first._replace(reversed_rate=0.5)
    assert not own.shortage
    own.rounds[0] = first._replace(reversed_rate=0.51)
    assert "where all introns are false, has 51% as many" in own.shortage
    assert "hardly any introns" not in own.shortage  # which is not what was measured
    own.rounds[0] = first
    monkeypatch.setattr(own, "_reversed_sites", lambda: 1e6)
    with caplog.at_level("INFO"):
        own.train(told.append)
    assert "would predict 100% as many introns in the reversed genome" in caplog.text
    assert told == []
    assert own.rounds == [first]


def _check_calls(own):
    """Compare what a model tells of its calls with the posteriors of the introns."""
    p = 0.97 * np.exp(np.concatenate([chain.intron_values for _, chain in own.posteriors]))
    calls = own.paired().training["unlabelled"]["c"]["calls"]
    sites = sum(np.exp(chain.sites).sum() for _, chain in own.posteriors)
    assert calls["expected"] == pytest.approx(0.97 * sites / 2)  # each intron has two
    assert calls["expected"] > p.sum()  # of those that are listed
    for name, least in (("p50", 0.5), ("p90", 0.9)):
        n, false = calls[name]
        assert n == (p >= least).sum()
        assert false == pytest.approx(1 - p[p >= least].mean() if n else 0)


def test_there_are_no_rounds_where_few_of_the_introns_expected_are_called(training, monkeypatch):
    monkeypatch.setattr(self_training, "MIN_CALLED_SHARE", 0.999)
    own = training
    p = np.concatenate([np.exp(chain.sites) for _, chain in own.posteriors])
    share = p[p >= 0.5].sum() / p.sum()
    assert f"only {share:.0%} of the introns expected have p >= 0.5" in own.shortage
    own.train(lambda one: None)
    assert len(own.rounds) == 1


def test_a_round_after_which_few_are_called_is_dropped(training, caplog, monkeypatch):
    own = training
    before, relatives = [np.exp(chain.sites) for _, chain in own.posteriors], own.state.whole
    share = property(lambda self: 1.0 if self.state.whole is relatives else 0.2)
    monkeypatch.setattr(SelfTraining, "_called_share", share)
    with caplog.at_level("INFO"):
        own.train(lambda one: None)
    assert "only 20% would have p >= 0.5" in caplog.text
    assert len(own.rounds) == 1
    after = [np.exp(chain.sites) for _, chain in own.posteriors]
    assert all(map(np.array_equal, before, after))


def test_rounds_find_more_true_sites_than_the_relatives_and_few_others(new, training):
    own, path, genes = training, new / "sim/genomes/c.fa", new / "sim/annotation/c.gff3"
    assert not own.shortage
    true, told = _true_sites(new), []
    placed = own.paired()
    _check_calls(own)
    before = _calls(placed, path, 0.9)
    # coding content is that of the relatives until a round learns it
    given = np.tensordot(own.weights, [layer.coding for layer in own.model.layer.values()], 1)
    assert_allclose(own.state.ratios.coding, given, atol=1e-5)
    assert own.state.ratios.n_coding == placed.layer_of("c").n_coding == 0
    own.train(told.append)
    trained = own.paired()
    _check_calls(own)
    after = _calls(trained, path, 0.9)
    assert len(after & true) > 1.05 * len(before & true) > 0.4 * len(true)
    assert len(after & true) > 0.9 * len(after)
    assert own.rounds[1:] == told != []
    assert own.rounds[-1].reversed_rate < 0.05
    assert abs(sum(own.rounds[-1].expected) / len(true) - 1) < 0.2
    exons = [row for row in map(str.split, genes.read_text().splitlines()) if row[2:3] == ["exon"]]
    n_bases = sum(int(row[4]) - int(row[3]) + 1 for row in exons)
    assert n_bases / 2 < trained.layer_of("c").n_coding < n_bases
    assert not np.allclose(own.state.ratios.coding, given, atol=0.1)


def test_a_round_takes_the_numbers_of_genomes_in_place_of_those_of_relatives(new):
    model, path = load(new / "pair.seqmtl"), new / "sim/genomes/c.fa"
    first, *others = model.tasks
    for name in others:  # all relatives have the numbers of these
        model.layer[name] = model.layer[first]._replace(n_sites=0, switch=-12.0)
    own = SelfTraining(model, "c", sample_genome(path, PADDING), max_rounds=1)
    assert own.paired().layer_of("c").switch == pytest.approx(-12.0)
    own.train(lambda one: None)
    assert len(own.rounds) == 2
    assert own.paired().layer_of("c").switch == pytest.approx(model.layer[first].switch)


def test_a_genome_teaches_the_content_that_its_relatives_lack(new, untrained):
    model, path = load(new / "pair.seqmtl"), new / "sim/genomes/c.fa"
    for name, layer in model.layer.items():
        model.layer[name] = layer._replace(coding=np.zeros_like(layer.coding))
    own = SelfTraining(model, "c", untrained.sample)
    assert not own.state.ratios.coding.any()
    true, before = _true_sites(new), _calls(own.paired(), path, 0.9)
    own.train(lambda one: None)
    after = _calls(own.paired(), path, 0.9)
    assert len(after & true) > 3 * len(before & true)
    assert len(after & true) > 0.9 * len(after)
    # c is simulated with the codons of its relatives; of few exons, it learns a part
    expected, table = untrained.state.ratios.coding, own.state.ratios.coding
    is_learnt = (np.abs(expected) > 1) & (np.abs(table) > 0.1)
    assert is_learnt.sum() > 300
    assert np.corrcoef(table[is_learnt], expected[is_learnt])[0, 1] > 0.5


def test_parses_do_without_candidates_of_so_low_log_odds_that_hardly_a_site_is_expected(
    untrained,
):
    own = untrained
    layer, lost = own.state.layer(), LOST_SHARE
    every = own._candidates.posteriors(layer._replace(least=(-1e9, -1e9)))
    fewer = own._candidates.posteriors(layer)
    p, q, signals, is_left_out = (
        np.concatenate(column)
        for column in zip(
            *(
                (
                    np.exp(all_.sites),
                    np.exp(some.sites),
                    sites["signals"],
                    with_letters(sites, layer) < np.take(layer.least, sites["signals"]),
                )
                for (sites, all_), (_, some) in zip(every, fewer, strict=True)
            ),
            strict=True,
        )
    )
    assert is_left_out.mean() > 0.2
    assert_array_equal(q[is_left_out], np.exp(-700.0))
    for signal in range(2):
        of_signal = signals == signal
        assert p[of_signal & is_left_out].sum() < 1.5 * lost * p[of_signal].sum()
        assert q[of_signal].sum() == pytest.approx(p[of_signal].sum(), rel=3 * lost)


def test_rows_are_drawn_by_their_weights():
    rng, weights = np.random.default_rng(0), np.array([1.0, 2.0, 4.0, 1e-300])
    log_weights = np.append(np.log(weights), -np.inf)
    pairs = [tuple(_drawn(log_weights, 2, rng).tolist()) for _ in range(20_000)]
    for first, second in itertools.permutations(range(3), 2):
        p = weights[first] / 7 * weights[second] / (7 - weights[first])
        assert pairs.count((first, second)) / 20_000 == pytest.approx(p, abs=0.012)
    assert sorted(_drawn(log_weights, 9, rng).tolist()) == [0, 1, 2, 3, 4]


def test_decoys_are_those_that_parses_take_for_sites_but_for_their_own_score(untrained):
    own = untrained
    layer, codes = own.state.layer(), own.sample.codes
    windows, _, weights, share = own._examples(own.model.donor, "donor")
    offset, odds = own.model.donor.site.offset, {}
    for sites, chain in own.posteriors:
        is_donor = (sites["signals"] == 0) & (sites["letters"] == 0) & ~sites["is_u12"]
        for row in np.flatnonzero(is_donor):
            p = np.exp(chain.sites[row])
            context = np.log(p / (1 - p)) - layer.scale * with_letters(sites, layer)[row]
            odds[int(sites.starts[row]), bool(sites.is_reverse[row])] = p, context
    length, begins = windows.length, windows.starts + offset
    reverse = windows.starts + length - offset - 2
    places = np.where(windows.is_reverse, reverse, begins).tolist()
    rows = list(zip(places, windows.is_reverse.tolist(), strict=True))
    of_rows, examples = [odds[key] for key in rows], set(rows)
    p, context = np.array(of_rows).T
    assert np.array_equal(windows.labels > 0, p >= 0.35)
    assert_allclose(weights, np.where(p >= 0.35, p, 1.0))
    others = [value for key, (q, value) in odds.items() if q < 0.35 and key not in examples]
    assert np.median(context[p < 0.35]) > np.median(others) + 1
    assert share == pytest.approx(sum(q for q, _ in odds.values() if q >= 0.35) / len(odds))
    assert codes.size


@pytest.mark.parametrize("seed", range(2))
def test_no_introns_are_made_up_in_a_genome_without_any(untrained, write, seed):
    letters = np.random.default_rng(seed).choice(list("ACGT"), 300_000, p=[0.3, 0.2, 0.2, 0.3])
    path = write(f">r\n{''.join(letters)}\n", "r.fa")
    own = SelfTraining(untrained.model, "c", sample_genome(path, PADDING))
    assert sum(own.rounds[0].n_p90) < 0.03 * sum(untrained.rounds[0].n_p90)  # of 240,000 bases
    assert own.shortage


@pytest.mark.parametrize(("n", "n_rounds"), [(29, 0), (30, 1)])
def test_a_genome_with_few_calls_learns_from_thirty_known_introns_alone(new, write, n, n_rounds):
    letters = np.random.default_rng(0).choice(list("ACGT"), 300_000)
    begins = np.arange(1_000, 1_000 + 1_000 * n, 1_000)
    for letter, place in zip("GTAG", (0, 1, 98, 99), strict=True):
        letters[begins + place] = letter
    path = write(f">r\n{''.join(letters)}\n", "r.fa")
    bed = write("".join(f"r\t{begin}\t{begin + 100}\ti\t1\t+\n" for begin in begins), "i.bed")
    model = load(new / "pair.seqmtl")
    known = read_known_introns(str(bed), "c", str(path), (model.donor, model.acceptor))
    own = SelfTraining(model, "c", sample_genome(path, PADDING), known_introns=known)
    assert own.shortage
    assert "acceptors with p >= 0.5 that are not known in one half of the" in own.shortage
    assert "the genome has hardly any introns, or is unlike the relatives" in own.shortage
    told = []
    own.train(told.append)
    assert len(told) == n_rounds
    assert own.paired().training["unlabelled"]["c"]["n_known"] == [n, n]
    _check_calls(own)


@pytest.mark.parametrize(
    ("name", "size", "expected"), [("a", 0.4, [17 / 27, 10 / 27]), ("b", 1.0, [1, 0])]
)
def test_others_count_beside_a_relative_if_its_weights_have_errors(new, name, size, expected):
    """Such are those of an organism of few introns; others like it are then of use."""
    rng, model = np.random.default_rng(0), load(new / "pair.seqmtl")
    kernel = TaskKernel(["a", "b"], [[1.0, 0.8], [0.8, 1.0]])

    def with_errors(end):
        W = np.array(end.W)
        W[:, end.tasks.index(name)] += rng.normal(0, size * np.abs(W).max(), W.shape[0])
        return replace(end, kernel=kernel, W=TaskWeights.of(W, end.W.columns))

    model = replace(model, donor=with_errors(model.donor), acceptor=with_errors(model.acceptor))
    sample, true = (
        sample_genome(new / "sim/genomes/c.fa", PADDING),
        _true_sites(new),
    )
    settled = SelfTraining(model, "c", sample, like="a")
    assert_allclose(settled.weights, expected)
    assert 0.6 * len(true) < len(_calls(settled.paired(), new / "sim/genomes/c.fa", 0.5) & true)


def test_groups_of_relatives_are_those_of_blocks_of_the_kernel():
    block = np.repeat([0, 1, 2], [8, 5, 7])[np.random.default_rng(0).permutation(20)]
    K = np.where(block[:, np.newaxis] == block, 0.6, 0.1) + 0.4 * np.eye(20)
    K *= np.outer(np.arange(1, 21), np.arange(1, 21))  # sizes do not matter
    groups = _groups_of(K, 3)
    assert {tuple(group) for group in groups} == {
        tuple(np.flatnonzero(block == k)) for k in range(3)
    }
    assert sorted(map(len, _groups_of(K, 100))) == [1] * 20
