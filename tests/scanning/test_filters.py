"""Which sites a scan leaves out, against the same on the plain list of all sites; bad input."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from seqmtl import MultiTaskModel
from seqmtl.commands.main import main
from seqmtl.exceptions import InputFormatError
from seqmtl.files.bgzip import BGZIP_END, bgzip
from seqmtl.io.bed import read_regions
from seqmtl.io.genome import contig_lengths, read_contigs
from seqmtl.scanning import Scanner, SiteFilters, SiteFinder, filters, write_scan
from seqmtl.scanning.finder import finder_of
from seqmtl.scanning.writers import formats
from seqmtl.sequences.sites import Sites
from tests.scanning.cases import (
    SUFFIXES,
    TEXT_SUFFIXES,
    bed_rows,
    code_of,
    flip,
    make_genome,
    make_model,
    read_json,
    run_scan,
    text_rows,
)

SIZES = {"c1": 30_000, "c2": 12_000, "c3": 500}
UNCALIBRATED = "man is not calibrated: probabilities assume the 10 % true sites of the training"


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


def test_threshold_and_probability(every, filtered):
    rows, summary = filtered("--threshold", "-0.5", "--min-probability", "0.2")
    least = (np.log(0.2 / 0.8) + 2.0) / 1.5  # of the sigmoid of the test's model
    assert least > -0.5
    expected = [row for row in every if row[3] >= least]
    assert rows == expected
    n_low = sum(row[3] < -0.5 for row in every)
    assert 0 < n_low < len(every)
    n_improbable = len(every) - n_low - len(expected)
    assert summary["removed"] == {"threshold": n_low, "min_probability": n_improbable}
    assert summary["n_candidates"] == len(every)
    assert summary["n_reported"] == len(expected)


def test_softmask_skips_sites_that_touch_lower_case(contigs, every, filtered):
    rows, summary = filtered("--softmask", "skip")
    letters = [contigs[contig][start : start + 2] for contig, start, *_ in every]
    assert rows == [row for row, text in zip(every, letters, strict=True) if text.isupper()]
    assert summary["removed"] == {"softmask": len(every) - len(rows)}
    assert any(text[0].isupper() != text[1].isupper() for text in letters)


@pytest.mark.parametrize("is_packed", [False, True])
def test_regions(every, filtered, write, is_packed):
    rng = np.random.default_rng(0)
    inside = {name: np.zeros(n, dtype=bool) for name, n in SIZES.items()}
    lines = ["track name=x", "# comment", ""]
    for name in ("c2", "c1"):
        for _ in range(8):
            start = int(rng.integers(SIZES[name] - 1))
            end = min(SIZES[name], start + int(rng.integers(1, 2_000)))
            inside[name][start:end] = True
            lines.append(f"{name}\t{start}\t{end}\tname")
    text = ("\r\n" if is_packed else "\n").join(lines).encode()
    rows, summary = filtered("--regions", write(gzip.compress(text) if is_packed else text))
    assert rows == [row for row in every if inside[row[0]][row[1]]]
    n_candidates = sum(row[0] != "c3" for row in every)  # which has no region
    assert n_candidates < len(every)
    assert summary["n_contigs_left_out"] == 1
    assert summary["removed"] == {"regions": n_candidates - len(rows)}
    assert summary["n_candidates"] == n_candidates
    assert summary["n_scored"] < 2 * sum(SIZES.values())


def test_no_contig_that_is_asked_for_has_a_region(filtered, write):
    rows, summary = filtered("--regions", write("c1\t1000\t29000\n"), "--contigs", "c2")
    assert rows == []
    assert (summary["n_contigs"], summary["n_contigs_left_out"]) == (0, 3)


def test_an_index_saves_reading_other_contigs_and_changes_nothing(folder, filtered, tmp_path):
    from pyfaidx import Faidx

    genome = tmp_path / "genome.fa"
    shutil.copy(folder / "genome.fa", genome)
    options = ("--contigs", "c2", "--softmask", "skip")
    found = [filtered(*options, genome=genome)]
    Faidx(str(genome)).close()
    text = genome.read_bytes()
    assert text.startswith(b">c1\n")
    genome.write_bytes(text[:4] + b"#" + text[5:])  # a letter that none can read
    os.utime(genome, (0, 0))
    found.append(filtered(*options, genome=genome))
    (rows, summary), (again, same) = found
    assert again == rows
    assert summary["n_contigs_left_out"] == same["n_contigs_left_out"] == 2
    assert all(summary[name] == same[name] for name in ("n_bases", "removed", "n_scored"))


def test_contigs(every, filtered, write):
    for names in ("c3,c1", f"@{write('c3' + chr(10) * 2 + 'c1' + chr(10))}"):
        rows, summary = filtered("--contigs", names)
        assert rows == [row for row in every if row[0] != "c2"]
        assert (summary["n_contigs"], summary["n_contigs_left_out"]) == (2, 1)
        assert summary["n_bases"] == 30_500


@pytest.mark.parametrize("top", [1, 7, 10_000])
@pytest.mark.parametrize("strand", ["both", "-"])
def test_top_of_every_bin(folder, every, tmp_path, top, strand):
    model = MultiTaskModel.load(folder / "model.seqmtl")
    best = SiteFilters(top=top, top_bases=5_000)
    finder = finder_of(model, "man", filters=best, strands=strand)
    summary = write_scan(tmp_path / "x.bed", read_contigs(folder / "genome.fa"), finder)
    rows = bed_rows(tmp_path / "x.bed")
    bins: dict[tuple[str, int], list] = {}
    for row in every:
        if strand in ("both", row[2]):
            bins.setdefault((row[0], row[1] // 5_000), []).append(row)
    lists = [sorted(found, key=lambda r: (-r[3], r[1], r[2]))[:top] for found in bins.values()]
    expected = {row for rows in lists for row in rows}
    assert rows == [row for row in every if row in expected]
    assert summary.removed["top"] == summary.n_candidates - len(expected)


def test_ties_of_the_best_go_by_position():
    scores = np.array([1, 3, 3, 2, 3, 3, 3], dtype=np.float32)
    starts, is_reverse = np.array([1, 5, 9, 20, 1_000_003, 5, 8]), np.arange(7) > 4
    sites = Sites(starts, is_reverse, {"scores": scores})
    assert starts[filters.is_among_best(sites, 3)].tolist() == [5, 1_000_003, 5, 8]


def test_all_filters_at_once(contigs, every, filtered, write, tmp_path):
    rows, summary = filtered(
        "--regions",
        write("c1\t1000\t29000\n"),
        "--softmask",
        "skip",
        "--threshold",
        0,
        "--top",
        40,
        "--contigs",
        "c1,c2",
        "--strand",
        "+",
    )
    expected = [
        r
        for r in every
        if r[0] == "c1"
        and r[2] == "+"
        and 1000 <= r[1] < 29000
        and r[3] >= 0
        and contigs["c1"][r[1] : r[1] + 2].isupper()
    ]
    assert len(expected) > 40
    assert sorted(rows) == sorted(sorted(expected, key=lambda r: (-r[3], r[1]))[:40])
    assert list(summary["removed"]) == ["regions", "softmask", "threshold", "top"]
    assert summary["n_candidates"] - sum(summary["removed"].values()) == summary["n_reported"] == 40
    header = (tmp_path / "x.bed").read_text().splitlines()[0]
    assert "sites that start in given regions, no soft-masked sites, raw score >= 0" in header
    assert "the best 40 in every megabase" in header


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c1\t5\t4\n", r"data.txt:1: an interval must start before it ends, got 5-4"),
        ("c1\t1\t2\nc2\t1\t12001\n", r"data.txt:2: .*got 1-12001"),
        ("c1\t-1\t4\n", r"data.txt:1: .*got '?-1"),
        ("#x\nchrc1\t1\t4\n", r"data.txt:2: contig must be one of the genome's \(c1, c2, c3\)"),
        ("c1\t1\n", r"data.txt:1: a line must have contig, start and end"),
        ("c1\tone\t2\n", r"data.txt:1: start must be a whole number"),
        ("# nothing\n", r"data.txt: there must be intervals"),
        ("", r"data.txt: there must be intervals"),
    ],
)
def test_bad_regions_are_refused(write, text, message):
    with pytest.raises(InputFormatError, match=message):
        read_regions(write(text), SIZES)


def test_regions_are_sorted_and_merged(write):
    path = write("c1\t10\t20\nc1\t5\t6\nc1\t20\t22\nc1\t12\t14\nc1\t30\t31")
    starts, ends = read_regions(path, SIZES)["c1"]
    assert starts.tolist() == [5, 10, 30]
    assert ends.tolist() == [6, 22, 31]


def test_filters_that_cannot_be_are_refused(folder, contigs):
    scanner = Scanner([np.zeros((4, 4))])
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        SiteFilters(top=0)
    with pytest.raises(ValueError, match="min_probability needs log_odds"):
        SiteFinder(scanner, filters=SiteFilters(min_probability=0.5))
    with pytest.raises(ValueError, match="a number from 0 to 1, got"):
        SiteFilters(min_probability=1.5)
    piece = next(read_contigs(folder / "genome.fa"))
    with pytest.raises(ValueError, match="read them with keep_case=True"):
        SiteFinder(scanner, filters=SiteFilters(skip_lower=True)).find(piece, 0, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--contigs", "c9"], "contig must be one of the genome's (c1, c2, c3), got 'c9'"),
        (["--contigs", ","], "--contigs must name the contigs to scan, got none"),
        (["--min-probability", "2"], "--min-probability must be a number from 0 to 1, got 2.0"),
        (["--consensus", "AGG"], None),
        (["--consensus", "xy"], "--consensus must be 2 of the letters"),
        (["--consensus", ""], "--consensus must be letters such as AG, or any, got ''"),
        (["--regions", ""], "No such file"),
        (["--format", "bigwig", "-o", "-"], "bigWig cannot be written to standard output"),
        (["--format", "bigwig", "-o", "{tmp}/x.bw.gz"], "name it without .gz"),
        (["-o", "-", "--json", "-"], "cannot both go to standard output"),
        (["-o", "{tmp}/none/x.bw"], "create it first"),
        (["--json", "{tmp}/none/s.json"], "create it first"),
    ],
)
def test_wrong_options_are_refused_before_the_scan(scan, tmp_path, capsys, options, message):
    of_files = {"No such file", "create it first"}
    code = 0 if message is None else 1 if message in of_files else 2
    scan(*(option.format(tmp=tmp_path) for option in options), code=code)
    if message:
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "asking"),
    [
        ("x.bw", [], "bigwig"),
        ("x.bed", ["--contigs", "c1"], "--contigs"),
        ("x.bed", ["--regions", "r.bed"], "--regions"),
    ],
)
def test_standard_input_is_read_once(folder, tmp_path, capsys, name, options, asking):
    command = ["scan", str(folder / "model.seqmtl"), "-", "--organism", "man", "-o"]
    assert code_of([*command, str(tmp_path / name), *options]) == 2
    assert f"{asking} reads the genome twice" in capsys.readouterr().err


def test_from_standard_input_to_standard_output(folder, every, tmp_path):
    command = [
        sys.executable,
        "-m",
        "seqmtl",
        "scan",
        str(folder / "model.seqmtl"),
        "-",
        "--organism",
        "man",
        "-o",
        "-",
        "-q",
    ]
    with open(folder / "genome.fa", "rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, check=True)
    (tmp_path / "x.bed").write_bytes(done.stdout)
    assert bed_rows(tmp_path / "x.bed") == every


def test_a_bgzip_genome_without_index(folder, every, scan, write):
    packed = write(bgzip((folder / "genome.fa").read_bytes()) + BGZIP_END, "genome.fa.gz")
    assert bed_rows(scan("-q", genome=packed)) == every
    scan("-q", out="x.bw", genome=packed)
    assert contig_lengths(packed) == SIZES


def test_a_truncated_genome_leaves_nothing(folder, scan, write, tmp_path, capsys):
    data = gzip.compress((folder / "genome.fa").read_bytes())
    genome = write(data[: len(data) // 2], "genome.fa.gz")
    for out in ("x.bed", "x.bw"):
        scan(out=out, genome=genome, code=1)
        assert "the gzip data end early: the file is truncated" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == [genome]


def test_lengths_come_from_a_current_index_alone(scan, write, tmp_path, capsys):
    genome = tmp_path / "genome.fa"
    make_genome(genome, {"a": 100, "b": 50})
    index = write("a\t100\t3\t100\t101\nb\t50\t107\t50\t51\n", "genome.fa.fai")
    assert contig_lengths(genome) == {"a": 100, "b": 50}
    genome.write_text(genome.read_text() + ">c\nACGTAC\nGT\n")
    os.utime(index, ns=(0, 0))
    assert contig_lengths(genome) == {"a": 100, "b": 50, "c": 8}
    scan(out="x.bw", genome=genome)
    message = capsys.readouterr().err
    assert "does not match" in message
    assert "is not used" in message
    assert "1 of 3 contigs are shorter than a window of 21 bases and were not scanned: c" in message


def test_a_genome_of_short_contigs_makes_empty_files(scan, tmp_path):
    pybigwig = pytest.importorskip("pyBigWig")
    make_genome(tmp_path / "genome.fa", {"a": 20, "b": 5})
    files = {"genome": tmp_path / "genome.fa"}
    for suffix in (*TEXT_SUFFIXES, "bedgraph.gz"):
        assert text_rows(scan("-q", out=f"x.{suffix}", **files)) == []
    with pybigwig.open(str(scan("-q", "--strand", "+", out="x.bw", **files))) as file:
        assert file.chroms() == {"a": 20, "b": 5}
        assert file.intervals("a") is None


def test_without_pysam_there_is_no_index(scan, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pysam", None)
    (tmp_path / "x.bed.gz.tbi").write_bytes(b"old")  # a stale index goes with the old file
    scan(out="x.bed.gz")
    assert "pip install pysam" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["x.bed.gz"]


def test_what_is_reported_is_told(scan, capsys):
    out = scan()
    message = capsys.readouterr().err
    assert "reporting only sites with the letters GT" in message
    assert "use --consensus any to report every position" in message
    assert "consensus GT" in out.read_text().splitlines()[0]
    scan("--consensus", "GT,GC")
    assert "have GT at the site, but --consensus is GT,GC" in capsys.readouterr().err
    assert "consensus" not in scan("--consensus", "ANY").read_text().splitlines()[0]


def test_low_splice_scores_are_counted(every, scan, capsys):
    n_lines = len(text_rows(scan(out="x.spsc")))
    assert 0 < n_lines < len(every)
    message = capsys.readouterr().err
    assert f"{len(every) - n_lines} at -6 or below left to the aligner's penalty" in message
    assert f", {n_lines} sites written in" in message


def test_several_words_of_letters_are_the_default(contigs, scan, tmp_path):
    make_model(tmp_path / "model.seqmtl", letters="GT,GC")
    rows = bed_rows(scan("-q", model=tmp_path / "model.seqmtl"))
    cut = [(contigs[c][s : s + 2].upper(), strand) for c, s, strand, _ in rows]
    assert {text if strand == "+" else flip(text) for text, strand in cut} == {"GT", "GC"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_probabilities_of_an_uncalibrated_model_are_told_of_once(scan, capsys, suffix):
    has_probabilities = suffix not in ("bw", "bedgraph")
    for options, n in (
        ([], has_probabilities),
        (["--track-value", "probability"], 1),
        (["--min-probability", "0.5"], 1),
    ):
        scan(*options, out=f"x.{suffix}")
        assert capsys.readouterr().err.count(UNCALIBRATED) == n


def test_tracks_hold_probabilities_if_the_organism_is_calibrated(scan, tmp_path, capsys):
    y = np.repeat([1, -1], 50)
    path = tmp_path / "model.seqmtl"
    model = calibrated(path, np.random.default_rng(0).normal(size=100) + y, y)
    values = {}
    for name, options in {
        "default": [],
        "asked": ["--track-value", "probability"],
        "raw": ["--track-value", "score"],
        "fly": ["--organism", "fly"],
        "raw_fly": ["--organism", "fly", "--track-value", "score"],
    }.items():
        values[name] = text_rows(scan(*options, out=f"{name}.bedgraph", model=path))
    assert values["default"] == values["asked"] != values["raw"]
    assert values["fly"] == values["raw_fly"]
    scores = np.array([float(row[3]) for row in values["raw"]])
    p = model.probability(scores, ["man"] * scores.size)
    np.testing.assert_allclose([float(row[3]) for row in values["default"]], p, atol=5e-6)
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
    options = ("--organism", "moth")
    for suffix, n in (("bed", 1), ("bedgraph", 0)):
        scan(*options, out=f"x.{suffix}", model=tmp_path / "model.seqmtl")
        message = capsys.readouterr().err
        assert message.count("moth: probabilities are the weighted mean log-odds of its") == n
        assert message.count("use them to rank sites (--top), not as precision") == n
        assert "not calibrated" not in message


def test_an_unknown_format_names_the_formats(scan, capsys):
    scan("--format", "gff", code=2)
    known = ", ".join(formats.FORMATS)
    assert f"--format must be one of {known}, got 'gff'; did you mean" in capsys.readouterr().err
    assert scan("--format", "BED").read_bytes() == scan(out="y.bed").read_bytes()


def test_the_help_names_every_format_and_suffix(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["scan", "--help"])
    shown = capsys.readouterr().out
    for name, suffixes in formats.SUFFIXES.items():
        assert name in shown
        assert suffixes[0] in shown
