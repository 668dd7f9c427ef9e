"""Predictors in memory, beside the files that `seqmtl scan` writes of the same letters."""

import numpy as np
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from numpy.testing import assert_allclose, assert_array_equal

import seqmtl
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.io.genome import read_contigs
from seqmtl.sequences import encode
from tests.invocation import rows_of


@pytest.fixture(scope="module")
def contig(case):
    """The letters of chr1 of organism a."""
    text = (case / "sim/genomes/a.fa").read_text()
    return text.split(">")[1].partition("\n")[2].replace("\n", "")


def _scan(seqmtl, folder, model, letters, options, name):
    (folder / "x.fa").write_text(f">x\n{letters}\n")
    seqmtl(f"scan {model} {folder}/x.fa --organism a {options} -o {folder}/{name}")


def test_single_sites_are_those_of_a_scan(case, contig, tmp_path, seqmtl):
    _scan(seqmtl, tmp_path, case / "donor", contig, "", "x.bed")
    rows = rows_of(tmp_path / "x.bed")
    sites, introns = seqmtl_predictor(case / "donor")(contig)
    assert len(sites) == len(rows) > 1_000
    assert not introns.size
    assert_array_equal(sites["start"], [int(row[1]) for row in rows])
    assert_array_equal(sites["end"], [int(row[2]) for row in rows])
    assert_array_equal(sites["strand"], [row[5] for row in rows])
    assert_allclose(sites["probability"], [float(row[7]) for row in rows], atol=1e-5)
    assert {*sites["signal"]} == {"donor"}


def seqmtl_predictor(path, organism="a"):
    return seqmtl.load(path).predictor(organism)


def test_introns_are_those_of_a_scan(case, contig, tmp_path, seqmtl):
    _scan(seqmtl, tmp_path, case / "splice", contig, "--format introns", "x.bed")
    rows = rows_of(tmp_path / "x.bed")
    sites, introns = seqmtl_predictor(case / "splice")(contig)
    listed = introns[introns["probability"] >= 0.1]
    assert len(listed) == len(rows) > 10
    bounds = listed[["start", "end", "strand"]].tolist()
    assert bounds == [(int(row[1]), int(row[2]), row[5]) for row in rows]
    for k, name in enumerate(("probability", "donor", "acceptor"), 12):
        assert_allclose(listed[name], [float(row[k]) for row in rows], atol=2e-5)
    # the ends of an intron are sites, by their positions on either strand
    at = {(start, strand, signal): p for start, _, strand, signal, _, _, p in sites.tolist()}
    for start, end, strand, _, donor, acceptor, _ in listed.tolist():
        left, right = (start, strand), (end - 2, strand)
        first, last = (left, right) if strand == "+" else (right, left)
        assert_allclose([at[*first, "donor"], at[*last, "acceptor"]], [donor, acceptor], rtol=1e-5)


def test_a_predictor_tells_its_organism_and_once_that_it_is_not_calibrated(case, caplog):
    model = seqmtl.load(case / "donor")
    model.predictor("a")("ACGT" * 100)
    assert not caplog.text
    model.curves = {}
    predictor = model.predictor("a")
    assert repr(predictor) == "SitePredictor of a"
    for _ in range(2):
        predictor("ACGT" * 100)
    assert caplog.text.count("a is not calibrated: probabilities assume the ") == 1


def test_letters_come_in_any_form(case, contig):
    predictor, letters = seqmtl_predictor(case / "splice"), contig[:5_000]
    usual = predictor(letters)
    texts = letters.lower(), letters.encode(), Seq(letters), SeqRecord(Seq(letters), id="x")
    for form in (*texts, encode(letters)):
        for expected, table in zip(usual, predictor(form), strict=True):
            assert_array_equal(expected, table)
    assert not predictor("").sites.size
    assert not predictor("ACGT" * 3).introns.size
    with pytest.raises(ValueError, match="nucleotide"):
        predictor("MKLE" * 100)


def test_a_new_organism_is_the_mean_of_its_relatives(new):
    """At a relative, that organism alone counts; both share the simulated signals."""
    model = seqmtl.load(new / "pair.seqmtl")
    letters = next(iter(read_contigs(new / "sim/genomes/c.fa"))).codes
    relative = model.predictor("b")(letters).introns
    placed = model.predictor("c", like="b")(letters).introns
    likely = [
        {*table[table["probability"] >= 0.5][["start", "end", "strand"]].tolist()}
        for table in (relative, placed)
    ]
    assert len(likely[0] & likely[1]) > 0.8 * len(likely[0] | likely[1]) > 8
    assert "c" not in model.tasks


@pytest.mark.parametrize("name", ["splice", "donor"])
def test_a_relative_that_is_an_organism_of_the_model_counts_alone(name):
    """Its name is not that of the new organism, in whose place it would be."""
    model = seqmtl.load(f"starter:{name}")
    letters = "".join(np.random.default_rng(0).choice(list("ACGT"), 3_000))
    names = ((None, "zebrafish"), ("x", "d_rerio"), ("z_mays", None))
    sites = [model.predictor(name, like=like)(letters).sites for name, like in names]
    assert_array_equal(sites[0], sites[1])
    assert len(sites[0]) != len(sites[2]) or np.any(sites[0]["score"] != sites[2]["score"])
    own = seqmtl.load("starter:donor").predictor("d_rerio")(letters).sites
    if name == "donor":
        assert_allclose(sites[0]["score"], own["score"], atol=1e-4)


def test_letters_that_are_none_are_refused(case):
    predictor = seqmtl_predictor(case / "splice")
    for letters in (None, ["A", "C"], np.array(["A", "C"]), np.zeros((1, 9), np.uint8)):
        with pytest.raises(TypeError, match="must be text, bytes, or codes"):
            predictor(letters)
    with pytest.raises(ValueError, match="codes must be 0 to 4, got 84; give letters as bytes"):
        predictor(np.frombuffer(b"ACGT", dtype=np.uint8))


@pytest.mark.parametrize(
    ("organism", "options", "error", "message"),
    [
        (None, {}, UsageError, "organism must be one of a, b, the organisms of"),
        ("zzz", {}, SeqmtlError, "zzz"),
        (None, {"like": "nosuch"}, SeqmtlError, "nosuch"),
        ("a", {"like": "b"}, UsageError, "'a' is in the model already"),
    ],
)
def test_what_cannot_be_predicted_is_refused(new, organism, options, error, message):
    with pytest.raises(error, match=message):
        seqmtl.load(new / "pair.seqmtl").predictor(organism, **options)
