"""Which sites a scan reports, against the plain list of all sites; wrong options; probabilities."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from seqmtl import MultiTaskModel
from seqmtl.io import read_contigs
from seqmtl.scanning import Scanner, SiteFilters, SiteFinder, filters, write_scan
from seqmtl.scanning.finder import finder_of
from seqmtl.sequences.sites import Sites
from tests.invocation import exit_code
from tests.scanning.cases import (
    SUFFIXES,
    bed_rows,
    make_genome,
    make_model,
    read_json,
    run_scan,
    text_rows,
)

SIZES = {"c1": 30_000, "c2": 12_000, "c3": 500}
UNCALIBRATED = "man is not calibrated: probabilities assume the 10 % true sites of the training"
REGIONS = {"c2": [(0, 3_000), (9_000, 9_900), (11_900, 12_000)], "c1": [(1_000, 29_000)]}
#: Score at the minimum probability of 0.2, by the sigmoid of the model of the tests.
AT_02 = (np.log(0.2 / 0.8) + 2.0) / 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    make_model(folder / "model.seqmtl")
    return folder


@pytest.fixture(scope="module")
def contigs(folder):
    return make_genome(folder / "genome.fa", SIZES)


@pytest.fixture(scope="module")
def every(folder, contigs, tmp_path_factory):
    """All candidates (contig, start, strand, score)."""
    return bed_rows(run_scan(folder, tmp_path_factory.mktemp("all") / "x.bed", "-q"))


@pytest.fixture
def scan(folder, contigs, tmp_path):
    """Return a function that scans to a file, x.bed by default; relative paths are of `folder`."""
    return lambda *options, out="x.bed", **files: run_scan(
        folder, tmp_path / out, *map(str, options), **files
    )


@pytest.fixture
def filtered(scan, tmp_path):
    """Return a function for the records and the summary of a scan with filters."""

    def records(*options, **files):
        out = scan("-q", "--json", tmp_path / "s.json", *options, **files)
        return bed_rows(out), read_json(tmp_path / "s.json")

    return records


def calibrated(path, scores, y, **options):
    """Write the model with its first organism calibrated, and return it."""
    model = make_model(path)
    model.calibrate("man", scores, y, **options)
    model.save(path)
    return model


@pytest.fixture
def steps(contigs, write):
    """By filter: its options, whether a site passes, and contigs that are scanned."""
    lines = [f"{c}\t{a}\t{b}\tx" for c, regions in REGIONS.items() for a, b in regions]
    text = "\r\n".join(["track name=x", "# comment", "", *lines]).encode()
    bed = write(gzip.compress(text), "regions.bed.gz")
    return {
        "regions": (
            ["--regions", bed],
            lambda r: any(a <= r[1] < b for a, b in REGIONS.get(r[0], ())),
            {"c1", "c2"},
        ),
        "threshold": (["--threshold", "-0.5"], lambda r: r[3] >= -0.5, {*SIZES}),
        "min_probability": (["--min-probability", "0.2"], lambda r: r[3] >= AT_02, {*SIZES}),
    }


@pytest.mark.parametrize(
    "names",
    [
        ["regions"],
        ["threshold", "min_probability"],
        ["regions", "threshold", "min_probability"],
    ],
)
def test_filters_in_their_order(contigs, every, filtered, steps, tmp_path, names):
    scanned = set.intersection(*(steps[name][2] for name in names))
    rows = [row for row in every if row[0] in scanned]
    options, removed = [], {}
    n_candidates = len(rows)
    for name in names:
        options += steps[name][0]
        passing = [row for row in rows if steps[name][1](row)]
        removed[name], rows = len(rows) - len(passing), passing
        assert 0 < removed[name] < n_candidates
    found, summary = filtered(*options)
    assert found == rows
    assert list(summary["removed"].items()) == list(removed.items())
    assert (summary["n_candidates"], summary["n_reported"]) == (n_candidates, len(rows))
    n_contigs = summary["n_contigs"], summary["n_contigs_excluded"]
    assert n_contigs == (len(scanned), 3 - len(scanned))
    assert summary["n_bases"] == sum(SIZES[name] for name in scanned)
    header = (tmp_path / "x.bed").read_text().splitlines()[0]
    assert ("sites that start in given regions" in header) == ("regions" in names)
    assert ("raw score >= -0.5" in header) == ("threshold" in names)
    assert ("probability >= 0.2" in header) == ("min_probability" in names)


@pytest.mark.parametrize("top", [1, 7, 10_000])
def test_top_of_every_bin(folder, every, tmp_path, top, monkeypatch):
    for module in ("filters", "finder"):
        monkeypatch.setattr(f"seqmtl.scanning.{module}.TOP_BASES", 5_000)
    model = MultiTaskModel.load(folder / "model.seqmtl")
    finder = finder_of(model, "man", filters=SiteFilters(top=top))
    summary = write_scan(tmp_path / "x.bed", read_contigs(folder / "genome.fa"), finder)
    rows = bed_rows(tmp_path / "x.bed")
    bins = defaultdict(list)
    for row in every:
        bins[row[0], row[1] // 5_000].append(row)
    lists = [sorted(found, key=lambda r: (-r[3], r[1], r[2]))[:top] for found in bins.values()]
    expected = {row for rows in lists for row in rows}
    assert rows == [row for row in every if row in expected]
    assert summary.removed["top"] == summary.n_candidates - len(expected)
    assert f"the best {top} in every megabase" in (tmp_path / "x.bed").read_text()


def test_ties_of_the_best_go_by_position():
    scores = np.array([1, 3, 3, 2, 3, 3, 3], dtype=np.float32)
    starts, is_reverse = np.array([1, 5, 9, 20, 1_000_003, 5, 8]), np.arange(7) > 4
    sites = Sites(starts, is_reverse, {"scores": scores})
    assert starts[filters.is_among_best(sites, 3)].tolist() == [5, 1_000_003, 5, 8]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"top": 0}, "top must be at least 1, got 0"),
        ({"min_probability": 0.5}, "min_probability needs log_odds"),
        ({"min_probability": 1.5}, "a number from 0 to 1, got"),
    ],
)
def test_filters_that_cannot_be_are_refused(filters, message):
    with pytest.raises(ValueError, match=message):
        SiteFinder(Scanner([np.zeros((4, 4))]), filters=SiteFilters(**filters))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--contigs", "c1"], "no option --contigs; samtools faidx GENOME NAME > part.fa"),
        (["--consensus", "any"], "no option --consensus; sites have the letters of training"),
        (["--format", "bedgraph"], "must be bigwig; bigWigToBedGraph makes bedGraph of its"),
        (["-o", "{tmp}/x.bg"], "bigWigToBedGraph makes bedGraph of .bw"),
        (["--min-probability", "2"], "--min-probability must be a number from 0 to 1, got 2.0"),
        (["--regions", ""], "--regions must have a value, got an empty text"),
        (["--format", "bigwig", "-o", "-"], "bigwig cannot be written to standard output"),
        (["--format", "bigwig", "-o", "{tmp}/x.bw.gz"], "name it without .gz"),
        (["--format", "gff"], "got 'gff'; did you mean"),
        (["-o", "-", "--json", "-"], "cannot both go to standard output"),
        (["-o", "{tmp}/none/x.bw"], "create it first"),
        (["--json", "{tmp}/none/s.json"], "create it first"),
    ],
)
def test_wrong_options_are_refused_before_the_scan(scan, tmp_path, capsys, options, message):
    code = 1 if message == "create it first" else 2
    scan(*(option.format(tmp=tmp_path) for option in options), code=code)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "asking"),
    [
        ("x.bw", [], "bigwig"),
        ("x.bed", ["--regions", "r.bed"], "--regions"),
    ],
)
def test_standard_input_is_read_once(folder, tmp_path, capsys, name, options, asking):
    command = ["scan", str(folder / "model.seqmtl"), "-", "--organism", "man", "-o"]
    assert exit_code([*command, str(tmp_path / name), *options]) == 2
    assert f"{asking} reads the genome twice" in capsys.readouterr().err


def test_from_standard_input_to_standard_output(folder, every, tmp_path):
    files = [str(folder / "model.seqmtl"), "-", "-o", "-"]
    command = [sys.executable, "-m", "seqmtl", "scan", *files, "--organism", "man", "-q"]
    with open(folder / "genome.fa", "rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, check=True)
    (tmp_path / "x.bed").write_bytes(done.stdout)
    assert bed_rows(tmp_path / "x.bed") == every


def test_without_pysam_there_is_no_index(scan, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pysam", None)
    (tmp_path / "x.bed.gz.tbi").write_bytes(b"old")  # a stale index goes with the old file
    scan(out="x.bed.gz")
    assert "pip install pysam" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["x.bed.gz"]


def test_an_index_that_cannot_be_made_is_a_warning(scan, monkeypatch, capsys):
    def refuse(*args, **options):
        raise OSError("contig too long")

    monkeypatch.setattr(pytest.importorskip("pysam"), "tabix_index", refuse)
    assert scan(out="x.bed.gz").exists()
    assert "x.bed.gz: no index can be made (contig too long)" in capsys.readouterr().err


def test_low_splice_scores_are_counted(every, scan, capsys):
    n_lines = len(text_rows(scan(out="x.spsc")))
    assert 0 < n_lines < len(every)
    message = capsys.readouterr().err
    assert f"{len(every) - n_lines} at -6 or below left to the aligner's penalty" in message
    assert f", {n_lines} sites written in" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_probabilities_of_an_uncalibrated_model_are_warned_of_once(scan, capsys, suffix):
    has_probabilities = suffix != "bw"
    for options, n in (([], has_probabilities), (["--min-probability", "0.5"], 1)):
        scan(*options, out=f"x.{suffix}")
        assert capsys.readouterr().err.count(UNCALIBRATED) == n


def test_tracks_hold_probabilities_if_the_organism_is_calibrated(scan, tmp_path, capsys):
    pybigwig = pytest.importorskip("pyBigWig")
    y = np.repeat([1, -1], 50)
    path = tmp_path / "model.seqmtl"
    model = calibrated(path, np.random.default_rng(0).normal(size=100) + y, y)
    values = {}
    for name, options in {"default": [], "fly": ["--organism", "fly"]}.items():
        scan(*options, out=f"{name}.bw", model=path)
        scan(*options, out=f"raw_{name}.bw")
        for track in (name, f"raw_{name}"):
            with pybigwig.open(str(tmp_path / f"{track}.plus.bw")) as file:
                values[track] = [v for c in file.chroms() for *_, v in file.intervals(c) or ()]
    assert values["fly"] == values["raw_fly"]
    p = model.probability(np.array(values["raw_default"]), ["man"] * len(values["default"]))
    np.testing.assert_allclose(values["default"], p, atol=1e-4)
    scan("--min-probability", "0.5", model=path)
    assert "not calibrated" not in capsys.readouterr().err
    scan("--organism", "fly", model=path)
    assert "fly is not calibrated" in capsys.readouterr().err


def test_lines_are_in_the_order_of_the_scores(scan, tmp_path):
    y = np.repeat([1, -1], [20, 100])
    options = {"method": "isotonic", "prevalence": 1e-4}
    calibrated(tmp_path / "model.seqmtl", np.where(y > 0, 1.0, -1.0), y, **options)
    lines = text_rows(scan(model=tmp_path / "model.seqmtl"))
    rows = sorted(tuple(map(float, line[6:])) for line in lines)
    assert len(rows) > 50
    for (low, p_low), (high, p_high) in pairwise(rows):
        assert p_low < p_high or high - low < 0.002 * (1 + abs(high))


def test_probabilities_from_relatives_are_for_ranking(scan, tmp_path, capsys):
    make_model(tmp_path / "model.seqmtl", relatives=("moth",))
    for suffix, n in (("bed", 1), ("bw", 0)):
        scan("--organism", "moth", out=f"x.{suffix}", model=tmp_path / "model.seqmtl")
        message = capsys.readouterr().err
        assert message.count("moth: probabilities are the weighted mean log-odds of its") == n
        assert message.count("use them to rank sites (--top), not as precision") == n
        assert "not calibrated" not in message
