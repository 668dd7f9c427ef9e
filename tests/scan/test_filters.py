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

from seqmtl import TaskKernel
from seqmtl.cli.main import main
from seqmtl.exceptions import InputFormatError
from seqmtl.io.genome import contig_lengths
from seqmtl.io.rows import read_regions
from seqmtl.scan import Scanner, SiteFilters, SiteFinder, filters, writers
from seqmtl.scan.writers import FORMATS
from seqmtl.sequences.sites import Sites
from tests.scan.cases import (
    SUFFIXES,
    TEXT_SUFFIXES,
    TURNED,
    bed_rows,
    make_genome,
    make_model,
    read_json,
    run_scan,
)

SIZES = {"c1": 30_000, "c2": 12_000, "c3": 500}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    make_model(folder / "model.seqmtl")
    make_genome(folder / "genome.fa", SIZES)
    return folder


@pytest.fixture(scope="module")
def contigs(folder):
    lines = (folder / "genome.fa").read_text().split()
    return dict(zip((name[1:] for name in lines[::2]), lines[1::2], strict=True))


@pytest.fixture(scope="module")
def every(folder, tmp_path_factory):
    """All candidates (contig, start, strand, score)."""
    return bed_rows(run_scan(folder, tmp_path_factory.mktemp("all") / "x.bed", "-q"))


def filtered(folder, tmp_path, *options):
    """Records and summary of a scan with filters."""
    json_path = tmp_path / "s.json"
    out = run_scan(folder, tmp_path / "x.bed", "-q", "--json", str(json_path), *options)
    return bed_rows(out), read_json(json_path)


def test_threshold_and_probability(folder, every, tmp_path):
    rows, summary = filtered(folder, tmp_path, "--threshold", "-0.5", "--min-probability", "0.2")
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


def test_softmask_skips_sites_that_touch_lower_case(folder, contigs, every, tmp_path):
    rows, summary = filtered(folder, tmp_path, "--softmask", "skip")
    expected = [row for row in every if contigs[row[0]][row[1] : row[1] + 2].isupper()]
    assert rows == expected
    assert summary["removed"] == {"softmask": len(every) - len(expected)}
    half = [contigs[r[0]][r[1] : r[1] + 2] for r in every]
    assert any(text[0].isupper() != text[1].isupper() for text in half)


@pytest.mark.parametrize("is_packed", [False, True])
def test_regions(folder, every, tmp_path, is_packed):
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
    path = tmp_path / "regions.bed"
    path.write_bytes(gzip.compress(text) if is_packed else text)
    rows, summary = filtered(folder, tmp_path, "--regions", str(path))
    expected = [row for row in every if inside[row[0]][row[1]]]
    assert rows == expected
    n_candidates = sum(row[0] != "c3" for row in every)  # which has no region
    assert n_candidates < len(every)
    assert summary["n_contigs_left_out"] == 1
    assert summary["removed"] == {"regions": n_candidates - len(expected)}
    assert summary["n_candidates"] == n_candidates
    assert summary["n_scored"] < 2 * sum(SIZES.values())


def test_no_contig_that_is_asked_for_has_a_region(folder, tmp_path):
    (tmp_path / "r.bed").write_text("c1\t1000\t29000\n")
    rows, summary = filtered(
        folder, tmp_path, "--regions", str(tmp_path / "r.bed"), "--contigs", "c2"
    )
    assert rows == []
    assert (summary["n_contigs"], summary["n_contigs_left_out"]) == (0, 3)


def test_an_index_saves_reading_other_contigs_and_changes_nothing(folder, every, tmp_path):
    from pyfaidx import Faidx

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    options = ("--contigs", "c2", "--softmask", "skip")
    rows, summary = filtered(copy, tmp_path, *options)
    Faidx(str(copy / "genome.fa")).close()
    text = (copy / "genome.fa").read_bytes()
    assert text.startswith(b">c1\n")
    (copy / "genome.fa").write_bytes(text[:4] + b"#" + text[5:])  # a letter that none can read
    os.utime(copy / "genome.fa", (0, 0))
    again, same = filtered(copy, tmp_path, *options)
    assert again == rows
    for counts in (summary, same):
        assert counts["n_contigs_left_out"] == 2
    assert {k: v for k, v in same.items() if k in ("n_bases", "removed", "n_scored")} == {
        k: v for k, v in summary.items() if k in ("n_bases", "removed", "n_scored")
    }


@pytest.mark.parametrize("from_file", [False, True])
def test_contigs(folder, every, tmp_path, from_file):
    names = "c3,c1"
    if from_file:
        (tmp_path / "names").write_text("c3\n\nc1\n")
        names = f"@{tmp_path / 'names'}"
    rows, summary = filtered(folder, tmp_path, "--contigs", names)
    assert rows == [row for row in every if row[0] != "c2"]
    assert (summary["n_contigs"], summary["n_contigs_left_out"]) == (2, 1)
    assert summary["n_bases"] == 30_500


@pytest.mark.parametrize("top", [1, 7, 10_000])
@pytest.mark.parametrize("strand", ["both", "-"])
def test_top_of_every_bin(folder, every, tmp_path, monkeypatch, top, strand):
    monkeypatch.setattr(filters, "TOP_BASES", 5_000)
    monkeypatch.setattr("seqmtl.scan.finder.TOP_BASES", 5_000)
    rows, summary = filtered(folder, tmp_path, "--top", str(top), "--strand", strand)
    bins: dict[tuple[str, int], list] = {}
    for row in every:
        if strand in ("both", row[2]):
            bins.setdefault((row[0], row[1] // 5_000), []).append(row)
    best = [sorted(found, key=lambda r: (-r[3], r[1], r[2]))[:top] for found in bins.values()]
    expected = {row for rows in best for row in rows}
    assert set(rows) == expected
    assert rows == [row for row in every if row in expected]
    assert summary["removed"]["top"] == summary["n_candidates"] - len(expected)


def test_ties_of_the_best_go_by_position():
    scores = np.array([1, 3, 3, 2, 3], dtype=np.float32)
    starts, is_reverse = np.array([1, 5, 9, 20, 1_000_003, 5, 8]), np.arange(7) > 4
    sites = Sites(starts, is_reverse, {"scores": np.append(scores, [3, 3])})
    assert starts[filters.is_among_best(sites, 3)].tolist() == [5, 1_000_003, 5, 8]


def test_all_filters_at_once(folder, contigs, every, tmp_path):
    (tmp_path / "r.bed").write_text("c1\t1000\t29000\n")
    rows, summary = filtered(
        folder, tmp_path, "--regions", str(tmp_path / "r.bed"), "--softmask", "skip", "--threshold",
        "0", "--top", "40", "--contigs", "c1,c2", "--strand", "+",
    )  # fmt: skip
    expected = [
        r for r in every
        if r[0] == "c1" and r[2] == "+" and 1000 <= r[1] < 29000 and r[3] >= 0
        and contigs["c1"][r[1] : r[1] + 2].isupper()
    ]  # fmt: skip
    best = sorted(expected, key=lambda r: (-r[3], r[1]))[:40]
    assert len(expected) > 40
    assert sorted(rows) == sorted(best)
    assert list(summary["removed"]) == ["regions", "softmask", "threshold", "top"]
    assert summary["n_candidates"] - sum(summary["removed"].values()) == summary["n_reported"] == 40
    header = (tmp_path / "x.bed").read_text().splitlines()[0]
    assert "sites that start in given regions, no soft-masked sites, raw score >= 0" in header
    assert "the best 40 in every megabase" in header


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c1\t5\t4\n", r"regions.bed:1: an interval must lie inside c1 .*30000 bases.*got 5-4"),
        ("c1\t1\t2\nc2\t1\t12001\n", r"regions.bed:2: .*got 1-12001"),
        ("c1\t-1\t4\n", r"regions.bed:1: .* up to 18 digits, got .-1.; correct it"),
        ("#x\nchrc1\t1\t4\n", r"regions.bed:2: contig must be one of the genome's \(c1, c2, c3\)"),
        ("c1\t1\n", r"regions.bed:1: a line must have contig, start and end"),
        ("c1\t1_000\t2000\n", r"regions.bed:1: .* up to 18 digits, got .1_000.; correct it"),
        ("# nothing\n", r"regions.bed: there must be intervals"),
        ("", r"regions.bed: there must be intervals"),
    ],
)
def test_bad_regions_are_refused(tmp_path, text, message):
    path = tmp_path / "regions.bed"
    path.write_text(text)
    with pytest.raises(InputFormatError, match=message):
        read_regions(path, SIZES)


def test_regions_are_sorted_and_merged(tmp_path):
    path = tmp_path / "regions.bed"
    path.write_text("c1\t10\t20\nc1\t5\t6\nc1\t20\t22\nc1\t12\t14\nc1\t30\t31")
    starts, ends = read_regions(path, SIZES)["c1"]
    assert starts.tolist() == [5, 10, 30]
    assert ends.tolist() == [6, 22, 31]


def test_filters_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        SiteFilters(top=0)
    with pytest.raises(ValueError, match="min_probability needs log_odds"):
        SiteFinder(Scanner([np.zeros((4, 4))]), filters=SiteFilters(min_probability=0.5))
    with pytest.raises(ValueError, match="between 0 and 1, got"):
        SiteFilters(min_probability=1.5)


def test_lower_case_must_be_known(folder):
    from seqmtl.io.genome import open_pieces

    finder = SiteFinder(Scanner([np.zeros((4, 4))]), filters=SiteFilters(skip_lower=True))
    piece = next(open_pieces(folder / "genome.fa", size=1 << 20))
    with pytest.raises(ValueError, match="read them with keep_case=True"):
        finder.find(piece, 0, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--contigs", "c9"], "contig must be one of the genome's (c1, c2, c3), got 'c9'"),
        (["--contigs", ","], "--contigs must name the contigs to scan, got none"),
        (["--min-probability", "2"], "min_probability must be between 0 and 1, got 2.0"),
        (["--consensus", "AGG"], None),
        (["--consensus", "xy"], "consensus must be 2 of the letters"),
        (["--format", "bigwig", "-o", "-"], "bigWig cannot be written to standard output"),
        (["--format", "bigwig", "-o", "{tmp}/x.bw.gz"], "name it without .gz"),
        (["-o", "-", "--json", "-"], "cannot both go to standard output"),
        (["-o", "{tmp}/none/x.bw"], "create it first"),
        (["--json", "{tmp}/none/s.json"], "create it first"),
    ],
)
def test_wrong_options_are_refused_before_the_scan(folder, tmp_path, capsys, options, message):
    options = [option.format(tmp=tmp_path) for option in options]
    run_scan(folder, tmp_path / "x.bed", *options, code=1 if message else 0)
    if message:
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "asking"),
    [("x.bw", [], "bigwig"), ("x.bed", ["--contigs", "c1"], "--contigs"),
     ("x.bed", ["--regions", "r.bed"], "--regions"), ("x.bed", ["--resume"], "--resume")],
)  # fmt: skip
def test_standard_input_is_read_once(folder, tmp_path, capsys, name, options, asking):
    command = ["scan", str(folder / "model.seqmtl"), "-", "--organism", "man", "-o"]
    assert main([*command, str(tmp_path / name), *options]) == 1
    assert f"{asking} reads the genome twice" in capsys.readouterr().err


def test_from_standard_input_to_standard_output(folder, every, tmp_path):
    command = [sys.executable, "-m", "seqmtl", "scan", str(folder / "model.seqmtl"), "-",
               "--organism", "man", "-o", "-", "-q"]  # fmt: skip
    with open(folder / "genome.fa", "rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, check=True)
    (tmp_path / "x.bed").write_bytes(done.stdout)
    assert bed_rows(tmp_path / "x.bed") == every


def test_a_bgzip_genome_without_index(folder, every, tmp_path):
    from seqmtl.files.bgzip import BGZIP_END, bgzip

    shutil.copy(folder / "model.seqmtl", tmp_path)
    packed = tmp_path / "genome.fa.gz"
    packed.write_bytes(bgzip((folder / "genome.fa").read_bytes()) + BGZIP_END)
    out = run_scan(tmp_path, tmp_path / "x.bed", "-q", genome="genome.fa.gz")
    assert bed_rows(out) == every
    run_scan(tmp_path, tmp_path / "x.bw", "-q", genome="genome.fa.gz")
    assert contig_lengths(packed) == SIZES


@pytest.mark.parametrize("suffix", ["bed", "bw"])
def test_a_truncated_genome_leaves_nothing(folder, tmp_path, capsys, suffix):
    shutil.copy(folder / "model.seqmtl", tmp_path)
    data = gzip.compress((folder / "genome.fa").read_bytes())
    (tmp_path / "genome.fa.gz").write_bytes(data[: len(data) // 2])
    (tmp_path / "out").mkdir()
    run_scan(tmp_path, tmp_path / "out" / f"x.{suffix}", genome="genome.fa.gz", code=1)
    assert "the gzip data end early: the file is truncated" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_lengths_come_from_a_current_index_alone(folder, tmp_path, capsys):
    genome = tmp_path / "genome.fa"
    make_genome(genome, {"a": 100, "b": 50})
    index = tmp_path / "genome.fa.fai"
    index.write_text("a\t100\t3\t100\t101\nb\t50\t107\t50\t51\n")
    assert contig_lengths(genome) == {"a": 100, "b": 50}
    genome.write_text(genome.read_text() + ">c\nACGTAC\nGT\n")
    os.utime(index, ns=(0, 0))
    shutil.copy(folder / "model.seqmtl", tmp_path)
    assert contig_lengths(genome) == {"a": 100, "b": 50, "c": 8}
    run_scan(tmp_path, tmp_path / "x.bw")
    message = capsys.readouterr().err
    assert "does not match" in message
    assert "is not used" in message
    assert "1 of 3 contigs are shorter than a window of 21 bases and were not scanned: c" in message


def test_a_genome_of_short_contigs_makes_empty_files(folder, tmp_path):
    pybigwig = pytest.importorskip("pyBigWig")
    shutil.copy(folder / "model.seqmtl", tmp_path)
    make_genome(tmp_path / "genome.fa", {"a": 20, "b": 5})
    for suffix in (*TEXT_SUFFIXES, "bedgraph.gz"):
        out = run_scan(tmp_path, tmp_path / f"x.{suffix}", "-q")
        text = gzip.open(out, "rt").read() if suffix.endswith("gz") else out.read_text()
        assert all(line.startswith("#") for line in text.splitlines())
    run_scan(tmp_path, tmp_path / "x.bw", "-q", "--strand", "+")
    with pybigwig.open(str(tmp_path / "x.bw")) as file:
        assert file.chroms() == {"a": 20, "b": 5}
        assert file.intervals("a") is None


def test_without_pysam_there_is_no_index(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pysam", None)
    run_scan(folder, tmp_path / "x.bed.gz")
    assert "pip install 'seqmtl[genome]'" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["x.bed.gz"]


def test_a_stale_index_goes_with_the_old_file(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysam", None)
    (tmp_path / "x.bed.gz.tbi").write_bytes(b"old")
    run_scan(folder, tmp_path / "x.bed.gz", "-q")
    assert [p.name for p in tmp_path.iterdir()] == ["x.bed.gz"]


def test_what_is_reported_is_told(folder, tmp_path, capsys):
    out = run_scan(folder, tmp_path / "x.bed")
    message = capsys.readouterr().err
    assert "reporting only sites with the letters GT" in message
    assert "use --consensus any to report every position" in message
    assert "consensus GT" in out.read_text().splitlines()[0]
    run_scan(folder, out, "--consensus", "GT,GC")
    assert "have GT at the site, but --consensus is GT,GC" in capsys.readouterr().err
    run_scan(folder, out, "--consensus", "ANY")
    assert "consensus" not in out.read_text().splitlines()[0]


def test_low_splice_scores_are_counted(folder, every, tmp_path, capsys):
    out = run_scan(folder, tmp_path / "x.spsc")
    n_lines = sum(line[0] != "#" for line in out.read_text().splitlines())
    assert 0 < n_lines < len(every)
    message = capsys.readouterr().err
    assert f"{len(every) - n_lines} at -6 or below left to the aligner's penalty" in message
    assert f", {n_lines} written in" in message


def test_several_words_of_letters_are_the_default(folder, contigs, tmp_path):
    shutil.copy(folder / "genome.fa", tmp_path)
    make_model(tmp_path / "model.seqmtl", letters="GT,GC")
    rows = bed_rows(run_scan(tmp_path, tmp_path / "x.bed", "-q"))
    cut = [(contigs[c][s : s + 2].upper(), strand) for c, s, strand, _ in rows]
    found = {text if strand == "+" else text[::-1].translate(TURNED) for text, strand in cut}
    assert found == {"GT", "GC"}


UNCALIBRATED = "man is not calibrated: probabilities assume the 10 % true sites of the training"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_probabilities_of_an_uncalibrated_model_are_told_of_once(folder, tmp_path, capsys, suffix):
    out = tmp_path / f"x.{suffix}"
    run_scan(folder, out)
    has_probabilities = suffix not in ("bw", "bedgraph")
    assert capsys.readouterr().err.count(UNCALIBRATED) == has_probabilities
    for options in (["--value", "probability"], ["--min-probability", "0.5"]):
        run_scan(folder, out, *options)
        assert capsys.readouterr().err.count(UNCALIBRATED) == 1


def test_probabilities_of_a_calibrated_model_need_no_warning(folder, tmp_path, capsys):
    model = make_model(tmp_path / "model.seqmtl")
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 50)
    model.calibrate("man", rng.normal(size=100) + y, y)
    model.save(tmp_path / "model.seqmtl")
    shutil.copy(folder / "genome.fa", tmp_path)
    run_scan(tmp_path, tmp_path / "x.bed", "--min-probability", "0.5")
    assert "not calibrated" not in capsys.readouterr().err
    run_scan(tmp_path, tmp_path / "x.bed", "--organism", "fly")
    assert "fly is not calibrated" in capsys.readouterr().err


def test_tracks_hold_probabilities_if_the_organism_is_calibrated(folder, tmp_path):
    model = make_model(tmp_path / "model.seqmtl")
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 50)
    model.calibrate("man", rng.normal(size=100) + y, y)
    model.save(tmp_path / "model.seqmtl")
    shutil.copy(folder / "genome.fa", tmp_path)
    values = {}
    for name, options in {
        "default": [], "asked": ["--value", "probability"], "raw": ["--value", "score"],
        "fly": ["--organism", "fly"], "raw_fly": ["--organism", "fly", "--value", "score"],
    }.items():  # fmt: skip
        path = tmp_path / f"{name}.bedgraph"
        run_scan(tmp_path, path, *options)
        values[name] = path.read_text().splitlines()
    assert values["default"] == values["asked"] != values["raw"]
    assert values["fly"] == values["raw_fly"]
    sites = [row.split("\t") for row in values["raw"] if row[0] != "#"]
    shown = [row.split("\t") for row in values["default"] if row[0] != "#"]
    p = model.probability(np.array([float(row[3]) for row in sites]), ["man"] * len(sites))
    np.testing.assert_allclose([float(row[3]) for row in shown], p, atol=5e-6)


def test_lines_are_in_the_order_of_the_scores(folder, tmp_path):
    model = make_model(tmp_path / "model.seqmtl")
    y = np.repeat([1, -1], [20, 100])
    model.calibrate("man", np.where(y > 0, 1.0, -1.0), y, method="isotonic", prevalence=1e-4)
    model.save(tmp_path / "model.seqmtl")
    shutil.copy(folder / "genome.fa", tmp_path)
    lines = run_scan(tmp_path, tmp_path / "x.bed").read_text().splitlines()
    rows = sorted(tuple(map(float, line.split("\t")[6:])) for line in lines if line[0] != "#")
    assert len(rows) > 50
    for (low, p_low), (high, p_high) in pairwise(rows):
        assert p_low < p_high or high - low < 0.002 * (1 + abs(high))


def test_probabilities_from_relatives_are_for_ranking(folder, tmp_path, capsys):
    model = make_model(tmp_path / "model.seqmtl")
    names, K = (*model.tasks, "moth"), np.eye(3)
    K[1, 2] = K[2, 1] = 0.5
    model.kernel = TaskKernel(names, K)
    model.save(tmp_path / "model.seqmtl")
    shutil.copy(folder / "genome.fa", tmp_path)
    for suffix, n in (("bed", 1), ("bedgraph", 0)):
        run_scan(tmp_path, tmp_path / f"x.{suffix}", "--organism", "moth", "--from-relatives")
        message = capsys.readouterr().err
        assert message.count("moth: probabilities are the weighted mean log-odds of its") == n
        assert message.count("use them to rank sites (--top), not as precision") == n
        assert "not calibrated" not in message


def test_an_unknown_format_names_the_formats(folder, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        run_scan(folder, tmp_path / "x.bed", "--format", "gff")
    message = capsys.readouterr().err
    assert f"--format: must be one of {', '.join(FORMATS)}, got 'gff'; did you mean" in message


def test_the_help_names_every_format_and_suffix(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["scan", "--help"])
    shown = capsys.readouterr().out
    for name, suffixes in writers.SUFFIXES.items():
        assert name in shown
        assert suffixes[0] in shown
