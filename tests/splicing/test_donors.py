"""Donors with other letters than those of their model, such as GC."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import Windows
from seqmtl.files.model_file import read_arrays
from seqmtl.io.genome import ContigPiece
from seqmtl.loading import load
from seqmtl.scanning.finder import scanner_of
from seqmtl.sequences import encode
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.chain import run_chain
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.layer import DonorLetters
from seqmtl.splicing.self_training import SelfTraining
from tests.invocation import run
from tests.oracles.annotation import read_fasta, reverse_complement, sites_of
from tests.oracles.pairs import open_contigs, places_of
from tests.splicing.test_chain import _layer, _sites


@pytest.fixture(scope="module")
def mutated(new, tmp_path_factory):
    """Genomes of a, b and c in which every sixth donor is GC, and the starts of these donors."""
    folder, changed = tmp_path_factory.mktemp("mutated"), {}
    for name in "abc":
        fasta = read_fasta(new / f"sim/genomes/{name}.fa")
        donors = sites_of(new / f"sim/annotation/{name}.gff3", fasta, "donor")
        texts = {contig: [*text] for contig, text in fasta.items()}
        changed[name] = sorted(donors)[::6]
        for contig, start, strand in changed[name]:
            text, at = texts[contig], start + (strand == "+")
            assert text[at] == ("T" if strand == "+" else "A")
            text[at] = "C" if strand == "+" else "G"
        text = "".join(f">{head}\n{''.join(letters)}\n" for head, letters in texts.items())
        (folder / f"{name}.fa").write_text(text)
    return folder, changed


def _found(model, organism, path, least):
    """Return the donors of probability `least` or more by (contig, start, strand)."""
    finder, found = PairedFinder(model, organism), set()
    for name, codes in open_contigs(path):
        sites, _ = finder.posteriors(ContigPiece("", 0, codes), 0, codes.size)
        is_call = (sites["signals"] == 0) & (np.exp(sites["log_p"]) >= least)
        found |= {(name, *place) for place in places_of(sites.take(is_call))}
    return found


@pytest.mark.parametrize("letters", ["GC", "GA", "AT", "CC"])
def test_other_letters_score_as_those_of_the_model(letters):
    """By tables, and by windows, on either strand."""
    model, rng = load("starter:donor"), np.random.default_rng(0)
    site = replace(model.site, letters=f"GT,{letters}")
    scanner = scanner_of(model, "c_elegans", site=site)
    rows = ["".join(row) for row in rng.choice(list("ACGT"), (40, model.length))]
    at = site.offset
    others, plain = ([f"{row[:at]}{two}{row[at + 2 :]}" for row in rows] for two in (letters, "GT"))
    expected = model.decision_function(Windows.from_strings(plain), "c_elegans")
    by_reading = model.decision_function(
        model.site.reading(Windows.from_strings(others)), "c_elegans"
    )
    assert_allclose(by_reading, expected)
    for strand in "+-":
        texts = others if strand == "+" else map(reverse_complement, others)
        by_tables = [scanner.scan_contig(encode(text), strand)[0] for text in texts]
        assert_allclose(by_tables, expected, atol=1e-4)


def test_their_rarity_is_a_factor_of_their_introns():
    rng = np.random.default_rng(3)
    sites, layer = _sites(rng, 300, 40), _layer(rng, n_lengths=40)
    letters = np.where(sites["signals"] == 0, rng.integers(0, 3, len(sites)), 0)
    donors = (DonorLetters("GC", -1.7), DonorLetters("GA", 0.6))
    shifts = np.array([0.0, -1.7, 0.6])[letters]
    moved = sites.adding(log_odds=sites["log_odds"] + shifts / layer.scale)
    found = run_chain(sites.adding(letters=letters), layer._replace(donors=donors)).sites
    assert_allclose(found, run_chain(moved, layer).sites, atol=1e-9)


def test_rounds_learn_how_rare_they_are(mutated, new):
    folder, changed = mutated
    path, model = folder / "c.fa", load(new / "pair.seqmtl")
    sample = sample_genome(path, 61)
    own = SelfTraining(model, "c", sample, max_rounds=2, donors=("GC", "GA"))
    own.train(lambda told: None)
    paired = own.paired()
    gc, ga = paired.layer["c"].donors
    assert (gc.letters, ga.letters) == ("GC", "GA")
    assert np.log(1 / 5) - 1.2 < gc.shift < np.log(1 / 5) + 0.7
    assert ga.shift < gc.shift - 1.0  # there are none
    found = _found(paired, "c", path, 0.5)
    assert len(found & {*changed["c"]}) > 0.6 * len(changed["c"])
    alone = SelfTraining(model, "c", sample, max_rounds=2, donors=()).paired()
    assert not _found(alone, "c", path, 0.5) & {*changed["c"]}


def test_pair_fits_their_rarity_to_a_dataset_that_has_them(mutated, new, tmp_path, refused):
    folder, changed = mutated
    text = (new / "sim/ab.toml").read_text().replace('"genomes/', f'"{folder}/')
    text = text.replace('"annotation/', f'"{new}/sim/annotation/')
    for signal, words in (("donor", '["GT", "GC"]'), ("acceptor", '["AG"]')):
        path = tmp_path / f"{signal}.toml"
        path.write_text(f"{text}\n[sites]\nconsensus = {words}\n")
        run(f"dataset {path} --signal {signal} -o {tmp_path}/{signal}s")
    data = f"{tmp_path}/donors {tmp_path}/acceptors"
    run(f"pair {new}/donor {new}/acceptor {data} -o {tmp_path}/gc.seqmtl")
    model = load(tmp_path / "gc.seqmtl")
    for name in "ab":
        (gc,) = model.layer[name].donors
        assert gc.letters == "GC"
        assert -4.0 < gc.shift < 0.0
    found = _found(model, "a", folder / "a.fa", 0.5)
    assert len(found & {*changed["a"]}) > 0.6 * len(changed["a"])
    _, arrays = read_arrays(tmp_path / "gc.seqmtl")
    again = load(tmp_path / "gc.seqmtl").contents()[1]
    assert_array_equal(again["introns"], arrays["introns"])
    for wrong in ("G", "GN", 3):

        def change(header, _, wrong=wrong):
            header["layer"]["a"]["donors"][0]["letters"] = wrong

        refused(tmp_path / "gc.seqmtl", change, "two of the letters A, C, G, T, such as GC")


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        ("G", "--consensus must be words of two of the letters A, C, G, T, such as GT,GC, got 'G'"),
        ("GT,GX", "must be words of two of the letters A, C, G, T"),
        ("GC", "--consensus must have the letters of the model's donors, GT, got GC"),
    ],
)
def test_letters_that_do_not_fit_are_refused(new, tmp_path, seqmtl, letters, message):
    words = f"adapt {new}/pair.seqmtl --genome c={new}/sim/genomes/c.fa --organism c --like a"
    assert message in seqmtl(f"{words} --consensus {letters} -o {tmp_path}/out", 2).err
