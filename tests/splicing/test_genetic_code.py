"""Reading frames against strings, and genomes in which stop codons code."""

from itertools import pairwise, product

import numpy as np
import pytest

from seqmtl.sequences import encode
from seqmtl.splicing.genetic_code import open_frames, stops_of, stops_that_code

STOPS = ("TAA", "TAG", "TGA")
LETTERS = np.array(list("ACGT"))


def _random(rng, n):
    return "".join(LETTERS[rng.integers(0, 4, n)])


def test_open_frames_are_those_between_stops():
    rng = np.random.default_rng(0)
    letters = _random(rng, 3000)
    expected = set()
    for frame in range(3):
        stops = [k for k in range(frame, 2998, 3) if letters[k : k + 3] in STOPS]
        expected |= {(a + 3, b) for a, b in pairwise(stops) if b - a - 3 >= 120}
    frames = open_frames(encode(letters), 120)
    assert set(frames) == expected
    assert len(frames) > 5
    assert open_frames(encode("TA"), 3) == []


def test_a_gap_is_no_reading_frame():
    rng = np.random.default_rng(5)
    letters = _random(rng, 2000) + "N" * 3000 + _random(rng, 2000)
    frames = open_frames(encode(letters), 3)
    assert len(frames) > 20
    assert not any("N" in letters[start:end] for start, end in frames)
    assert not open_frames(encode(letters), 500)


@pytest.mark.parametrize(
    ("organism", "like", "stops"),
    [
        ("Tetrahymena thermophila (strain SB210)", None, "TGA"),
        ("t_thermophila", "auto", "TGA"),
        ("new", "ciliates", "TGA"),
        ("Euplotes crassus", None, "TAA TAG"),  # within the ciliates
        ("Stentor coeruleus", None, "TAA TAG TGA"),
        ("Stentor coeruleus", "Paramecium", "TGA"),  # the name of the relative counts
        ("Acetabularia acetabulum", None, "TGA"),
        ("Giardia lamblia", None, "TAA TAG TGA"),
        ("human", None, "TAA TAG TGA"),
        ("nobody knows", None, "TAA TAG TGA"),
    ],
)
def test_stop_codons_by_taxon(organism, like, stops):
    assert " ".join(stops_of(organism, like)) == stops


@pytest.mark.parametrize("code", [(), ("TGA",), ("TAA", "TAG")])
def test_stop_codons_that_code_are_seen_in_long_frames(code):
    rng = np.random.default_rng(9)
    codons = ["".join(letters) for letters in product("ACGT", repeat=3)]
    codons = [codon for codon in codons if codon not in STOPS or codon in code]
    end = next(stop for stop in STOPS if stop not in code)
    genes = ["".join(rng.choice(codons, 900)) + end + _random(rng, 500) for _ in range(60)]
    assert stops_that_code([encode("".join(genes))]) == list(code)
    assert stops_that_code([encode("".join(genes[k::4])) for k in range(4)]) == list(code)
    assert stops_that_code([encode(_random(rng, 100_000))]) == []
    assert stops_that_code([encode("N" * 500)]) == []
    assert stops_that_code([]) == []


def test_a_stretch_rich_in_gc_is_no_other_code():
    rng = np.random.default_rng(2)
    parts = (
        rng.choice(4, n, p=p)
        for n, p in ((260_000, [0.38, 0.12, 0.12, 0.38]), (140_000, [0.16, 0.34, 0.34, 0.16]))
    )
    assert stops_that_code([np.concatenate([*parts]).astype(np.uint8)]) == []
