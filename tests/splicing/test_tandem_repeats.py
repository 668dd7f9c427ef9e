"""Sites in tandem repeats: against a search in strings, and an array of copies of a gene."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seqmtl
from seqmtl.io.genome import ContigPiece, read_contigs
from seqmtl.io.intron_chains import IntronChain, read_intron_chains
from seqmtl.sequences.alphabet import decode
from seqmtl.splicing.judging import judge_introns
from seqmtl.splicing.tandem_repeats import in_tandem_repeats
from seqmtl.variant_effects.neighbourhoods import Neighbourhood
from tests.invocation import run
from tests.splicing.test_scan import small_blocks

SPAN, FLANK = 5_000, 11


def _by_search(text, start):
    """Whether a site is one of three copies in a row that span 5,000 bases at most."""
    first, last = start - FLANK, start + 2 + FLANK
    word = text[first:last]
    if first < 0 or last > len(text) or "N" in word:
        return False
    copies = [at for at in range(len(text)) if text.startswith(word, at)]
    runs = zip(copies, copies[1:], copies[2:], strict=False)
    return any(first in run and run[2] - run[0] <= SPAN for run in runs)


@given(
    seed=st.integers(0, 10_000),
    unit=st.integers(1, 2_600),
    n_copies=st.integers(1, 5),
    changes=st.integers(0, 300),
)
def test_sites_in_tandem_repeats_are_those_of_a_search(seed, unit, n_copies, changes):
    rng = np.random.default_rng(seed)
    array = np.tile(rng.integers(0, 4, unit), n_copies)
    at = rng.integers(0, array.size, changes * array.size // 10_000)
    array[at] = rng.integers(0, 5, at.size)
    before, after = (rng.integers(0, 5, rng.integers(0, 60)) for _ in range(2))
    codes = np.concatenate([before, array, after]).astype(np.uint8)
    text = decode(codes)
    starts = np.flatnonzero([text[at : at + 2] in ("GT", "AC") for at in range(len(text))])
    starts = rng.permutation(starts)[:15]
    expected = [_by_search(text, int(start)) for start in starts]
    assert in_tandem_repeats(codes, starts).tolist() == expected


def test_three_copies_are_within_five_thousand_bases():
    rng = np.random.default_rng(0)
    for unit, expected in ((2_500, True), (2_501, False)):
        array = np.tile(rng.integers(0, 4, unit), 3).astype(np.uint8)
        starts = np.arange(unit + FLANK, 2 * unit - FLANK - 1)
        assert (in_tandem_repeats(array, starts) == expected).all()
        assert not in_tandem_repeats(array[: 2 * unit], starts).any()


@pytest.fixture(scope="module")
def array(case):
    """A gene of organism a with 300 bases on either side, once, and then 12 times in a row."""
    contig = next(iter(read_contigs(case / "sim/genomes/a.fa")))
    finder = seqmtl.load(case / "splice").predictor("a").finder(introns=0.5)
    calls = finder.find(contig, 0, contig.codes.size)["introns"]
    called = {*zip(calls.starts.tolist(), calls["ends"].tolist(), strict=True)}
    chains = [own for own in read_intron_chains(case / "sim/annotation/a.gff3")[0] if own.introns]
    fits = [
        own
        for own in chains
        if own.contig == contig.name
        and {*own.introns} <= called
        and own.introns[-1][1] - own.introns[0][0] < 1_400
    ]
    gene = max(fits, key=lambda own: len(own.introns))
    begin, end = gene.introns[0][0] - 300, gene.introns[-1][1] + 300
    unit = contig.codes[begin:end]
    spacer = np.random.default_rng(0).integers(0, 4, 8_000).astype(np.uint8)
    codes = np.concatenate([spacer, unit, spacer[::-1], np.tile(unit, 12), spacer])
    introns = [(a - begin, b - begin) for a, b in gene.introns]
    return codes, unit.size, introns, gene.strand


@pytest.mark.parametrize("block", [1_000_000, 5_000])
def test_no_introns_are_called_in_an_array_of_copies(case, array, tmp_path, monkeypatch, block):
    small_blocks(monkeypatch, block)
    codes, size, introns, _ = array
    (tmp_path / "x.fa").write_text(f">x\n{decode(codes)}\n")
    options = "--organism a --format introns --min-probability 0.01"
    run(f"scan {case}/splice {tmp_path}/x.fa {options} -o {tmp_path}/x.bed")
    rows = [line.split("\t") for line in (tmp_path / "x.bed").read_text().splitlines()]
    calls = [(int(row[1]), int(row[2]), float(row[12])) for row in rows if row[0] == "x"]
    once = {(begin, end): p for begin, end, p in calls}
    assert all(once[8_000 + a, 8_000 + b] > 0.5 for a, b in introns)
    first = 16_000 + size
    inside = [call for call in calls if first <= call[0] and call[1] <= first + 12 * size]
    assert not inside


def test_given_introns_in_an_array_are_judged_as_elsewhere(case, array):
    codes, size, introns, strand = array
    finder = seqmtl.load(case / "splice").predictor("a").finder()
    contig = ContigPiece("x", 0, codes)
    for begin in (8_000, 16_000 + size, 16_000 + 7 * size):
        chain = IntronChain("x", strand, tuple((begin + a, begin + b) for a, b in introns))
        (judged,) = judge_introns(finder, contig, [chain])
        assert (judged.probabilities > 0.5).all()


def test_alleles_are_compared_in_an_array_as_elsewhere(case, array):
    codes, size, introns, _ = array
    finder = seqmtl.load(case / "splice").predictor("a").finder()
    around = Neighbourhood(finder, codes, 0, codes.size)
    sites, posteriors = around.reference
    starts = {(start, end) for start, end in sites["places"][posteriors.introns].tolist()}
    first = 16_000 + size - around.start
    assert all((first + a + 5 * size, first + b + 5 * size) in starts for a, b in introns)
