"""Windows that need no site, against the scores of single windows and all pairs of windows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.features.joint import parse_features
from seqmtl.linear_model.site import Site
from seqmtl.scanning import SiteFinder
from seqmtl.scanning.finder import scanner_of
from seqmtl.scanning.scan_loops import find_maxima
from seqmtl.sequences import Windows, encode
from tests.oracles.annotation import reverse_complement
from tests.scanning.cases import make_contig, random_model, text_rows

LENGTH = 24
FEATURES = [
    "spectrum:1-4,gapped:6/4",
    "spectrum:2-3:stranded,gapped:5/3:stranded=0.5",
    "spectrum:3,spectrum:1-6=0.3,hash:6",
    "spectrum:4+gapped:5/3,spectrum:2",
    "spectrum:3-20,hash:8",
]


def make_model(text, seed=0, length=LENGTH):
    """Return a model of random weights; features and length are those of the windows."""
    values = {"bias": [0.3, -0.2], "calibration": [1.5, -0.5]}
    return random_model(parse_features(text), length, Site(0, 0, ""), seed, **values)


def scores_of(model, text, strand="+"):
    """Return the score of the window at every base, window by window; nan for mostly N."""
    windows = [text[i : i + LENGTH] for i in range(len(text) - LENGTH + 1)]
    if not windows:
        return np.zeros(0)
    read = [reverse_complement(window) if strand == "-" else window for window in windows]
    scores = model.decision_function(Windows.from_strings(read), "fly")
    return np.where([2 * w.count("N") > LENGTH for w in windows], np.nan, scores)


def best_of(scores, reach=LENGTH - 1):
    """Return which windows no overlapping one exceeds, of equal ones the first."""
    best = []
    for i, score in enumerate(scores):
        others = [(s, -j) for j, s in enumerate(scores) if abs(i - j) <= reach and s == s]
        if score == score and (score, -i) == max(others):
            best.append(i)
    return best


@pytest.mark.parametrize("text", [*FEATURES, "spectrum:1", "wd:3@-4..4,gapped:5/3"])
@pytest.mark.parametrize("length", [1, 5, LENGTH, 90])
@pytest.mark.parametrize("strand", ["+", "-"])
def test_scan_gives_the_scores_of_windows(text, length, strand):
    """Windows may be shorter than k-mers, and have N; the last bases have no whole k-mers."""
    if length < 8 and "wd" in text:
        return
    rng = np.random.default_rng(1)
    model = make_model(text, length=length)
    contig = make_contig(rng, 90, 0.1)
    contig = contig[:30] + "N" * 12 + contig[42:]
    windows = [contig[i : i + length] for i in range(90 - length + 1)]
    read = [reverse_complement(window) for window in windows] if strand == "-" else windows
    expected = model.decision_function(Windows.from_strings(read), "fly")
    scanner = scanner_of(model, "fly", site=Site(length // 2, 1, ""))
    found = scanner.scan_contig(encode(contig), strand)
    assert_allclose(found, expected, atol=2e-5)
    assert_array_equal(scanner.scan_contig(encode(contig[1:]), strand), found[1:])  # the same bits
    assert scanner.scan_contig(encode("ACGT"[: length - 1]), strand).shape == (0,)


@given(st.lists(st.integers(-3, 3), max_size=30), st.integers(1, 6))
def test_maxima(values, reach):
    scores = np.array([np.nan if v == 3 else v for v in values], dtype=np.float32)
    found = np.zeros(len(values), dtype=bool)
    find_maxima(scores, reach, found)
    assert np.flatnonzero(found).tolist() == best_of(scores, reach)


@pytest.fixture
def genome(tmp_path):
    """Return the contigs of a genome: short, long, with N, and one shorter than a window."""
    rng = np.random.default_rng(5)
    contigs = {f"c{i}": make_contig(rng, 30 + 9 * i, 0.3) for i in range(6)}
    long = make_contig(rng, 900)
    contigs |= {"long": long[:400] + "N" * 40 + long[440:], "short": "ACGT", "end": long[:LENGTH]}
    path = tmp_path / "g.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in contigs.items()))
    return contigs


@pytest.mark.parametrize("text", [*FEATURES[:2], "wd:2+gapped:5/3"])
def test_scan(seqmtl, tmp_path, monkeypatch, genome, text):
    """Records are the best windows, tracks have all; blocks are much shorter than contigs."""
    monkeypatch.setitem(SiteFinder.__init__.__kwdefaults__, "block", 100)
    model = make_model(text)
    model.save(tmp_path / "m.seqmtl")
    strands = "+-" if model.features.is_stranded else "+"
    scores = {
        (name, strand): scores_of(model, contig, strand)
        for name, contig in genome.items()
        if len(contig) >= LENGTH
        for strand in strands
    }
    run = f"scan {tmp_path}/m.seqmtl {tmp_path}/g.fa --organism fly -o {tmp_path}"
    seqmtl(f"{run}/o.bed.gz")
    rows = text_rows(tmp_path / "o.bed.gz")
    expected = [
        (name, i, strand, values[i])
        for (name, strand), values in scores.items()
        for i in best_of(values)
    ]
    key = {name: number for number, name in enumerate(genome)}
    expected.sort(key=lambda row: (key[row[0]], row[1], row[2]))
    assert [(r[0], int(r[1]), int(r[2]), r[3], r[5]) for r in rows] == [
        (name, i, i + LENGTH, ".", strand if strands == "+-" else ".")
        for name, i, strand, _ in expected
    ]
    assert_allclose([float(r[6]) for r in rows], [row[3] for row in expected], atol=2e-5)
    pybigwig = pytest.importorskip("pyBigWig")
    seqmtl(f"{run}/o.bw")
    both = {"+": "o.plus.bw", "-": "o.minus.bw"}
    files = both if len(strands) > 1 else {strands: "o.bw"}
    assert {path.name for path in tmp_path.glob("*.bw")} == {*files.values()}
    for (name, strand), of_strand in scores.items():
        wanted = np.full(len(of_strand) + LENGTH - 1, np.nan)
        wanted[LENGTH // 2 : LENGTH // 2 + len(of_strand)] = of_strand
        with pybigwig.open(str(tmp_path / files[strand])) as file:
            values = file.values(name, 0, len(wanted), numpy=True)
        assert_allclose(values, wanted, atol=1e-4)


def test_filters_apply_to_the_best_windows(seqmtl, tmp_path, genome):
    model = make_model(FEATURES[0])
    model.save(tmp_path / "m.seqmtl")
    best = best_of(scores_of(model, genome["long"]))
    (tmp_path / "r.bed").write_text("long\t200\t300\n")
    run = f"scan {tmp_path}/m.seqmtl {tmp_path}/g.fa --organism fly -o {tmp_path}/o.bed"
    out = seqmtl(f"{run} --regions {tmp_path}/r.bed --json -").out
    (entry,) = json.loads(out)["scans"]
    expected = [i for i in best if 200 <= i + LENGTH // 2 < 300]
    assert [int(row[1]) for row in text_rows(tmp_path / "o.bed")] == expected
    assert entry["n_reported"] == len(expected)
