"""U12-type introns: a second class in the chain, in files, and in what is written."""

import csv
import gzip
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import MultiTaskSVC, PositionalKmers, Windows
from seqmtl.io.genome import ContigPiece
from seqmtl.io.intron_chains import read_intron_chains
from seqmtl.linear_model.site import Site
from seqmtl.loading import load
from seqmtl.sequences import reverse_complement as turned
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.chain import either_class, is_first_at_site, run_chain
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.layer import U12Introns
from seqmtl.splicing.self_training import SelfTraining
from seqmtl.variant_effects.neighbourhoods import Neighbourhood
from tests.invocation import rows_of
from tests.oracles.annotation import read_fasta, reverse_complement
from tests.oracles.pairs import open_contigs, places_of
from tests.oracles.parses import all_parses
from tests.splicing.test_chain import TAILS, _case, _exons, _layer, _sites, with_signals


def _of_classes(rng, length, n, n_both):
    """Random sites, each of a class at random, and some of both classes."""
    sites = _sites(rng, length, n)
    is_reverse = rng.random(n) < 0.2
    signals = (np.arange(n) % 2) ^ is_reverse  # what begins introns, and what ends them, in turn
    sites = with_signals(replace(sites, is_reverse=is_reverse), signals)
    rows = np.sort(np.concatenate([np.arange(n), rng.choice(n, n_both, replace=False)]))
    is_copy = np.append([False], rows[1:] == rows[:-1])
    is_u12 = np.where(is_copy, True, rng.random(n)[rows] < 0.4)
    is_u12[np.append(is_copy[1:], False)] = False
    log_odds = sites["log_odds"][rows] + is_copy * rng.normal(0, 0.5, rows.size)
    zeros = np.zeros(rows.size, dtype=int)
    return sites.take(rows).adding(
        is_u12=is_u12, log_odds=log_odds, stretches=zeros, letters=zeros.astype(np.int8)
    )


@pytest.mark.parametrize("seed", range(6))
def test_introns_of_each_class_are_the_shares_of_all_parses(seed):
    """Parses by brute force, without those in which an intron has ends of two classes."""
    rng = np.random.default_rng(seed)
    sites = _of_classes(rng, 25, 9, 3)
    options = _exons(rng, 12) if seed % 2 else {}
    layer = _layer(rng, shortest=1, n_lengths=5, tails=TAILS, **options)
    layer = layer._replace(u12=U12Introns(0.7, (-50.0, -50.0)))
    is_u12, case = sites["is_u12"], _case(sites, layer)
    columns = case["weights"], is_u12, sites["signals"], sites["log_odds"]
    case["weights"] = [
        np.exp(value + 0.7 * (signal == 0)) if u12 else weight
        for weight, u12, signal, value in zip(*columns, strict=True)
    ]
    total, shares, introns = 0.0, np.zeros(len(sites)), {}
    for weight, parse in all_parses(case):
        pairs = [own for own in parse if len(own) == 2]
        if any(is_u12[i] != is_u12[j] for i, j in pairs):
            continue
        total += weight
        for own in pairs:
            shares[list(own)] += weight
            introns[own] = introns.get(own, 0.0) + weight
    found = run_chain(sites, layer, min_probability=1e-6)
    assert_allclose(np.exp(found.sites), shares / total, rtol=1e-9, atol=1e-12)
    listed = dict(zip(map(tuple, found.introns.tolist()), found.intron_values, strict=True))
    expected = {own: np.log(w / total) for own, w in introns.items() if w / total > 1e-6}
    assert listed == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert {bool(is_u12[i]) for i, _ in introns} == {False, True}


def test_a_place_has_the_probability_of_both_classes():
    rng = np.random.default_rng(2)
    sites = _of_classes(rng, 300, 60, 25)
    log_p = np.log(rng.random(len(sites)) / 2)
    keys = [*zip(sites["places"], sites["kinds"], sites.is_reverse, strict=True)]
    sums = {key: 0.0 for key in keys}
    for key, value in zip(keys, np.exp(log_p), strict=True):
        sums[key] += value
    assert_allclose(np.exp(either_class(sites, log_p)), [sums[key] for key in keys])
    firsts = [k == keys.index(key) for k, key in enumerate(keys)]
    assert_array_equal(is_first_at_site(sites), firsts)
    assert 0 < sum(firsts) < len(keys)


LETTERS = {"donor": ("GT,AT", 3, 20), "acceptor": ("AG,AC", 30, 36)}
CONSENSUS = {"donor": "ATATCCTTT", "acceptor": "TTCCTTAACTTGTGTTTAC"}  # from, and to the site


def _u12_models():
    """Models of donors and acceptors with the consensus, which tell them from random windows."""
    rng, models = np.random.default_rng(5), []
    for end, (letters, before, length) in LETTERS.items():
        rows = rng.choice(list("ACGT"), (800, length))
        at = before if end == "donor" else before + 2 - len(CONSENSUS[end])
        rows[:400, at : at + len(CONSENSUS[end])] = [*CONSENSUS[end]]
        rows[400:, before : before + 2] = [[*word] for word in letters.split(",")] * 200
        windows, y = Windows.from_strings([*map("".join, rows)]), np.repeat([1, -1], 400)
        features = PositionalKmers("wd:3", anchor=before)
        model = MultiTaskSVC(features=features).fit(windows, y).model_
        model.site = Site(before, 2, letters, end)
        scores = model.decision_function(windows, model.tasks[0])
        model.calibrate(model.tasks[0], scores, y, method="sigmoid", prevalence=0.5)
        models.append(model)
    return tuple(models)


@pytest.fixture(scope="module")
def minor(new, tmp_path_factory):
    """A paired model in which a and b have U12-type introns, a genome with some, and these."""
    model, folder = load(new / "pair.seqmtl"), tmp_path_factory.mktemp("u12")
    u12 = U12Introns(-9.0, (0.0, 0.0))
    layer = {name: of_name._replace(u12=u12) for name, of_name in model.layer.items()}
    paired = replace(model, layer=layer, u12=_u12_models())
    fasta, annotation = (new / f"sim/{file}" for file in ("genomes/a.fa", "annotation/a.gff3"))
    genome = {name: [*letters] for name, letters in read_fasta(fasta).items()}
    chains = read_intron_chains(annotation)[0]
    introns = sorted({(own.contig, *pair, own.strand) for own in chains for pair in own.introns})
    introns = introns[::5]
    for contig, begin, end, strand in introns:
        text, (donor, acceptor) = genome[contig], CONSENSUS.values()
        if strand == "-":
            donor, acceptor = reverse_complement(acceptor), reverse_complement(donor)
        text[begin : begin + len(donor)], text[end - len(acceptor) : end] = donor, acceptor
    text = "".join(f">{name}\n{''.join(letters)}\n" for name, letters in genome.items())
    (folder / "a.fa").write_text(text)
    paired.save(folder / "u12.seqmtl")
    return folder, introns


def test_introns_of_both_classes_are_written(minor, seqmtl):
    folder, introns = minor
    words = f"scan {folder}/u12.seqmtl {folder}/a.fa --organism a --format introns"
    seqmtl(f"{words} -o {folder}/i.gff3")
    seqmtl(f"{words} -o {folder}/i.bed")
    of_gff = {
        (row[0], int(row[3]) - 1, int(row[4]), row[6]): (float(row[5]), row[8][-9:])
        for row in rows_of(folder / "i.gff3")
    }
    of_bed = {
        (row[0], int(row[1]), int(row[2]), row[5]): (float(row[12]), row[3])
        for row in rows_of(folder / "i.bed")
    }
    assert of_gff.keys() == of_bed.keys()
    for own, (p, name) in of_bed.items():
        assert of_gff[own][0] == p
        assert (of_gff[own][1] == ";type=U12") == (name == "U12_intron")
        assert name in ("intron", "U12_intron")
    likely = {own for own, (p, name) in of_bed.items() if p > 0.5 and name == "U12_intron"}
    assert len(likely & {*introns}) > 0.8 * len(introns)
    assert len(likely - {*introns}) < 0.1 * len(introns)
    # their sites are in the files of sites, with their letters
    seqmtl(f"scan {folder}/u12.seqmtl {folder}/a.fa --organism a --format all -o {folder}/s")
    with gzip.open(folder / "s.donor.bed.gz", "rt") as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t") if row[0][0] != "#"]
    places = [(row[0], int(row[1]), row[5]) for row in rows]
    assert len(places) == len({*places})
    starts = {(c, a if s == "+" else b - 2, s) for c, a, b, s in likely}
    assert {row[3] for row, place in zip(rows, places, strict=True) if place in starts} == {"AT"}


def test_blocks_equal_one_chain_over_the_contig(minor):
    """Candidates of U12-type sites are all windows with their letters, by brute force."""
    folder, _ = minor
    model = load(folder / "u12.seqmtl")
    finder = PairedFinder(model, "a", introns=0.01)
    for name, codes in open_contigs(folder / "a.fa")[:1]:
        sites, _ = finder.posteriors(ContigPiece(name, 0, codes), 0, codes.size)
        for number, (end, own) in enumerate(zip(LETTERS, model.u12, strict=True)):
            letters, before, length = LETTERS[end]
            expected = {}
            for strand, read in (("+", codes), ("-", turned(codes))):
                text = "".join("ACGTN"[code] for code in read)
                places = range(before, len(text) - length + before + 1)
                starts = [at for at in places if text[at : at + 2] in letters.split(",")]
                windows = [text[at - before : at - before + length] for at in starts]
                scores = own.decision_function(Windows.from_strings(windows), own.tasks[0])
                for at, value in zip(starts, own.log_odds_of(own.tasks[0])(scores), strict=True):
                    if value >= 0.0:
                        expected[at if strand == "+" else len(text) - 2 - at, strand] = value
            is_own = sites["is_u12"].astype(bool) & (sites["signals"] == number)
            own_sites = sites.take(is_own)
            found = dict(zip(places_of(own_sites), own_sites["log_odds"].tolist(), strict=True))
            assert found == pytest.approx(expected, abs=1e-3)
            assert len(found) > 10


def test_rounds_learn_their_share_if_the_relatives_have_any(minor, new):
    folder, _ = minor
    model = load(folder / "u12.seqmtl")
    sample = sample_genome(folder / "a.fa", 61)
    own = SelfTraining(model, "c", sample, max_rounds=1)
    own.train(lambda told: None)
    n_u12, n_others = 0.0, 0.0
    for sites, chain in own.posteriors:
        p, is_u12 = np.exp(chain.sites), sites["is_u12"].astype(bool)
        n_u12 += p[is_u12].sum() / 2
        n_others += p[(sites["signals"] == 0) & ~is_u12].sum()
    share = (n_u12 + 3) / (n_others + 1000)
    assert own.state.ratios.u12.shift == pytest.approx(np.log(share), abs=0.02)
    assert n_u12 > 5
    layer, state = own.paired().layer["c"], own.state
    # other introns weigh exp(scale * log-odds), of which the logits of the shares are a part
    change = layer.scale * sum(state.assumed)
    assert layer.u12.shift == pytest.approx(np.log(share) + change, abs=0.02)
    names = {name: of_name._replace(u12=None) for name, of_name in model.layer.items()}
    without = SelfTraining(replace(model, layer=names), "c", sample, max_rounds=1)
    assert without.state.ratios.u12 is None
    assert without.paired().layer["c"].u12 is None


def test_files_hold_them(minor, refused):
    folder, _ = minor
    model = load(folder / "u12.seqmtl")
    assert model.layer["a"].u12 == U12Introns(-9.0, (0.0, 0.0))
    assert [own.site.letters for own in model.u12] == ["GT,AT", "AG,AC"]
    path = folder / "u12.seqmtl"
    refused(path, lambda h, _: h["layer"]["a"]["u12"].update(shift="x"), "u12.shift")
    refused(path, lambda h, _: h.pop("u12_acceptor"), "u12")
    with pytest.raises(ValueError, match=r"layer.a.u12 must be none without models of u12"):
        replace(model, u12=())


def test_an_allele_inserted_is_as_if_it_were_in_the_contig(minor):
    folder, introns = minor
    finder = PairedFinder(load(folder / "u12.seqmtl"), "a")
    contig, begin, end, _ = next(own for own in introns if own[3] == "+" and own[1] > 5_000)
    codes = dict(open_contigs(folder / "a.fa"))[contig]
    first, last = begin - 4_000, end + 4_000
    around = Neighbourhood(finder, codes, first, last)
    for at, letters in ((begin + 4, [0, 0, 0]), (begin + 40, [1, 2, 0, 3])):
        zone = at - around.start
        found = around.alternative(zone, zone + 1, np.array(letters, np.uint8))
        mutated = np.concatenate([codes[:at], np.array(letters, np.uint8), codes[at + 1 :]])
        expected = Neighbourhood(finder, mutated, first, last + len(letters) - 1).reference
        for name in ("places", "signals", "is_u12"):
            assert_array_equal(found[0][name], expected[0][name])
        p, q = (np.exp(either_class(own, chain.sites)) for own, chain in (found, expected))
        assert_allclose(p, q, atol=1e-5)
        assert found[0]["is_u12"].any()
