"""Coding content against counts of strings, and what is taken for coding."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.sequences import encode, reverse_complement
from seqmtl.splicing.chain import join_ends
from seqmtl.splicing.coding import (
    Content,
    Frame,
    Stretch,
    coding_content,
    frames_at_sites,
    open_frames,
    shared_content,
    stops_that_code,
)
from tests.oracles.pairs import ends

NONE = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
STOPS = ("TAA", "TAG", "TGA")
LETTERS = np.array(list("ACGT"))


def _random(rng, n):
    return "".join(LETTERS[rng.integers(0, 4, n)])


def _gene(rng, n_codons):
    """An open reading frame that prefers some codons."""
    codons = ["".join(own) for own in product("ACGT", repeat=3) if "".join(own) not in STOPS]
    return "".join(codons[k] for k in (61 * rng.random(n_codons) ** 2).astype(int))


def _stretch(letters, plus=NONE, minus=NONE):
    return Stretch(encode(letters), (plus, minus))


def test_open_frames_are_those_between_stops():
    rng = np.random.default_rng(0)
    letters = _random(rng, 3000)
    expected = set()
    for frame in range(3):
        stops = [k for k in range(frame, 2998, 3) if letters[k : k + 3] in STOPS]
        expected |= {(a + 3, b) for a, b in pairwise(stops) if b - a - 3 >= 120}
    found = open_frames(encode(letters), 120)
    assert set(found) == expected
    assert len(found) > 5
    assert open_frames(encode("TA"), 3) == []


def test_the_frame_beside_a_site_is_the_open_one():
    before, after = "TAACTAATTAA" * 10, "TAGATAGTTAG" * 10  # stops in every frame
    exon = "C" + "GCA" * 60  # open in every frame: not clear
    letters = before + exon + "GT" + "TTTTATAA" * 10 + "AG" + exon + after
    donor = len(before) + len(exon)
    sites = np.array([donor, donor + 84]), np.array([True, False])
    assert list(frames_at_sites(encode(letters), *sites)) == []
    exon = "C" + "CTGACTAAC" * 20  # CTG ACT AAC; TGA, TAA; GAC TAA
    letters = before + exon + "GT" + "TTTTATAA" * 10 + "AG" + exon + after
    donor = len(before) + len(exon)
    acceptor = donor + 2 + 80 + 2
    found = list(
        frames_at_sites(encode(letters), np.array([donor, acceptor]), np.array([True, False]))
    )
    assert len(found) == 2
    for own, site in zip(found, (len(before) + 1, acceptor + 1), strict=True):
        assert (own.start - site) % 3 == 0
        inside = letters[own.start : own.end]
        assert not any(inside[k : k + 3] in STOPS for k in range(0, len(inside) - 2, 3))
        assert own.end - own.start >= 150
    assert found[0].end == donor
    assert Frame(acceptor + 1, found[1].end) == found[1]


def _conditional(counts, word):
    """Interpolated probability of the last letter, straight from counts of strings."""
    p = 0.25
    for k in range(1, 7):
        context, n = word[6 - k : 5], 30.0
        total = sum(counts[k][context + letter] for letter in "ACGT")
        p = (counts[k][word[6 - k :]] + n * p) / (total + n)
    return p


def test_content_is_the_ratio_of_interpolated_probabilities():
    rng = np.random.default_rng(1)
    gene = _gene(rng, 1500)
    letters = _random(rng, 4000) + "TAACTAACTAA" + gene + "TAACTAACTAA" + _random(rng, 4000)
    found = coding_content([_stretch(letters)])
    turned = letters.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    assert found.n_bases >= 4500
    # what is coding: the gene's frame, up to the stops around it
    start = letters.index(gene)
    while letters[start - 3 : start] not in STOPS:
        start -= 3
    end = letters.index(gene) + len(gene)
    while letters[end : end + 3] not in STOPS:
        end += 3
    assert found.n_bases == end - start
    for position in range(3):
        coding, anywhere = ({k: Counter() for k in range(1, 7)} for _ in range(2))
        for at in range(5, len(letters)):
            for k in range(1, 7):
                for text in (letters, turned):
                    anywhere[k][text[at - k + 1 : at + 1]] += 1
                if start <= at < end and (at - start) % 3 == position:
                    coding[k][letters[at - k + 1 : at + 1]] += 1
        for word in ("GCTGAA", "AAAAAA", "ACTTAA", gene[3:9], gene[301:307], gene[500:506]):
            expected = np.log(_conditional(coding, word) / _conditional(anywhere, word))
            index = int("".join(str("ACGT".index(letter)) for letter in word), 4)
            assert found.table[position, index] == pytest.approx(expected, abs=1e-5)


def test_shadows_on_the_other_strand_are_not_coding():
    """A gene whose other strand is open as well counts once."""
    rng = np.random.default_rng(2)
    codons = ["GCC", "GTG", "CAC", "GAC", "AAC"]  # no stop in any frame of the other strand
    gene = "".join(codons[k] for k in rng.integers(0, 5, 1000))
    letters = "TAACTAACTAA" + gene + "TAGATAGATAG"
    found = coding_content([_stretch(letters)])
    assert 3000 <= found.n_bases < 3030


def test_too_few_coding_bases_have_no_content():
    rng = np.random.default_rng(3)
    found = coding_content([_stretch(_random(rng, 20_000))])
    assert not found.table.any()
    assert not coding_content([]).table.any()
    assert not coding_content([_stretch("N" * 500)]).table.any()


def test_without_coding_bases_content_is_that_of_relatives():
    tables = np.random.default_rng(8).normal(size=(4, 3, 4096)).astype(np.float32)
    tables[2:] = 0  # too few bases to tell
    n = [20_000, 60_000, 0, 2_000]
    contents = [Content(table, own) for table, own in zip(tables, n, strict=True)]
    K = np.array([[1, 0.5, 0, 0.2], [0.5, 1, 0, 0.8], [0, 0, 1, 0], [0.2, 0.8, 0, 1.0]])
    found = shared_content(contents, K)
    assert [own.n_bases for own in found] == n
    assert found[:2] == contents[:2]
    near = (0.2 * 0.5 * tables[0] + 0.8 * 0.75 * tables[1]) / (0.1 + 0.6)
    assert_allclose(found[3].table, near, atol=1e-6)
    anyone = (0.5 * tables[0] + 0.75 * tables[1]) / 1.25
    assert_allclose(found[2].table, anyone, atol=1e-6)  # like none of the others
    assert not shared_content(contents[2:3], np.ones((1, 1)))[0].table.any()


@pytest.mark.parametrize("code", [(), ("TGA",), ("TAA", "TAG")])
def test_stop_codons_that_code_are_seen_in_long_frames(code):
    rng = np.random.default_rng(9)
    codons = ["".join(own) for own in product("ACGT", repeat=3)]
    codons = [own for own in codons if own not in STOPS or own in code]
    end = "".join(stop for stop in STOPS if stop not in code)[:3]
    genes = ["".join(rng.choice(codons, 900)) + end + _random(rng, 500) for _ in range(60)]
    assert stops_that_code([_stretch("".join(genes))]) == list(code)
    assert stops_that_code([_stretch(_random(rng, 100_000))]) == []
    assert stops_that_code([_stretch("N" * 500)]) == []


def test_content_between_sites_is_that_of_the_words_of_six_frames():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, 400).astype(np.uint8)
    codes[[120, 121, 300]] = 4
    table = rng.normal(size=(3, 4096)).astype(np.float32)
    starts = np.sort(rng.choice(390, 30, replace=False))
    given = [ends(own, np.full(15, k), np.zeros(15)) for k, own in enumerate(np.split(starts, 2))]
    sites = join_ends(dict(zip(("donor", "acceptor"), given, strict=True)), codes, table)
    per_base = np.zeros((6, 400))
    for turned, text in ((False, codes), (True, reverse_complement(codes))):
        for at in range(5, 400):
            word = text[at - 5 : at + 1]
            if word.max() > 3:
                continue
            value = table[:, int((word * 4 ** np.arange(5, -1, -1)).sum())]
            place = 399 - at if turned else at
            for frame in range(3):  # codons begin at places that are `frame` modulo 3
                # on the minus strand, a codon that begins at place p has p - 1 as its first base
                position = (frame - 1 - place) % 3 if turned else (place - frame) % 3
                per_base[3 * turned + frame, place] = value[position]
    first, *places = sites["places"]
    expected = [per_base[:, first:place].sum(axis=1) for place in places]
    assert_allclose(sites["content"][1:], expected, atol=1e-4)
    assert not sites["content"][0].any()


def test_a_gap_is_no_reading_frame():
    rng = np.random.default_rng(5)
    letters = _random(rng, 2000) + "N" * 3000 + _random(rng, 2000)
    for own in open_frames(encode(letters), 3):
        assert "N" not in letters[own.start : own.end]
    assert not open_frames(encode(letters), 500)
    gene = "TAACTAACTAA" + _gene(rng, 1200) + "TAACTAACTAA"
    assert coding_content([_stretch(gene + letters)]).n_bases == 3600


def test_foreign_stretches_teach_no_content():
    rng = np.random.default_rng(6)
    stops = "TAACTAACTAA"
    gene = stops + _gene(rng, 500) + stops
    own = [_stretch(_random(rng, 6000) + gene) for _ in range(4)]
    foreign = "".join(stops + _gene(rng, 500) + stops for _ in range(5))
    alone, mixed = coding_content(own), coding_content([*own, _stretch(foreign)])
    found = coding_content([*own, _stretch(foreign)], may_be_foreign=True)
    assert found.n_bases == alone.n_bases < mixed.n_bases
    assert_array_equal(found.table, alone.table)
    # a genome that is as dense everywhere is no stranger to itself
    dense = [_stretch(foreign)] * 3
    assert coding_content(dense, may_be_foreign=True).n_bases == coding_content(dense).n_bases > 0


def test_long_frames_of_random_sequence_rich_in_g_and_c_are_not_coding():
    rng = np.random.default_rng(0)
    shares = np.repeat([[0.3, 0.2, 0.2, 0.3], [0.14, 0.36, 0.36, 0.14]], 2, axis=0)
    parts = [rng.choice(4, 250_000, p=share) for share in shares]
    codes = np.concatenate(parts).astype(np.uint8)
    assert coding_content([Stretch(codes, (NONE, NONE))]).n_bases == 0
