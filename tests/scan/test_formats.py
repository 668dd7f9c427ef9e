"""Every format of a scan, read by other programs, against scores of windows cut by hand."""

from __future__ import annotations

import csv
import gzip
import json
import math
import shutil
import subprocess
import warnings

import numpy as np
import pytest

from seqmtl import MultiTaskModel
from seqmtl.cli.main import main
from seqmtl.scan.hints import hint_lines
from seqmtl.scan.spsc import splice_scores
from seqmtl.sequences import Windows, encode
from seqmtl.simulate import simulate, write_simulation
from tests.scan.cases import SUFFIXES

TREE = "((ape:0.2,man:0.2):0.8,fly:1.0);"
TURNED = str.maketrans("ACGTN", "TGCAN")


def need(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def call(*command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=True, **arguments).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    for signal in ("donor", "acceptor"):
        simulation = simulate(
            TREE, seed=3, signal=signal, n_chromosomes=2, chromosome_length=40_000, n_windows=150
        )
        write_simulation(simulation, folder / signal)
        code = main(
            ["train", str(folder / signal / "windows.tsv.gz"), "--tree",
             str(folder / signal / "tree.nwk"), "--window", "41", "--features", "wd:3", "-o",
             str(folder / f"{signal}.seqmtl"), "-q"]
        )  # fmt: skip
        assert code == 0
    return folder


@pytest.fixture(scope="module")
def contigs():
    """Contigs with runs of N at the ends and inside, lower case, and one without a window."""
    rng = np.random.default_rng(5)

    def draw(n):
        return "".join(rng.choice(list("ACGT"), n, p=[0.3, 0.2, 0.2, 0.3]))

    return {
        "chr10": "NNNNN" + draw(9_000) + "N" * 300 + draw(5_000).lower() + draw(4_000) + "NN",
        "chr2": draw(41),
        "tiny": draw(40),
        "a|b;c=d": draw(3_000) + "RYK" + draw(1_000),
    }


@pytest.fixture(scope="module")
def genome(folder, contigs):
    path = folder / "genome.fa"
    path.write_text("".join(f">{name} words\n{text}\n" for name, text in contigs.items()))
    return path


def window_scores(model, contigs, places, organism="man"):
    """Scores of the windows around sites (contig, start, strand), from windows cut by hand."""
    offset, length, L = model.site.offset, model.site.length, model.length
    texts = []
    for contig, start, strand in places:
        text = contigs[contig].upper()
        if strand == "+":
            first = start - offset
            texts.append(text[first : first + L])
        else:
            first = start + length + offset - L
            texts.append(text[first : first + L][::-1].translate(TURNED))
        assert len(texts[-1]) == L
    codes = encode("".join(texts))
    return model.decision_function(Windows(codes, L * np.arange(len(texts)), L), organism)


def candidates(model, contigs, letters):
    """All sites (contig, start, strand) with these letters and a whole window, sorted."""
    offset, length, L = model.site.offset, model.site.length, model.length
    found = []
    for contig, text in contigs.items():
        upper = text.upper()
        for first in range(len(upper) - L + 1):
            plus = first + offset
            if letters is None or upper[plus : plus + length] in letters:
                found.append((contig, plus, "+"))
            minus = first + L - offset - length
            turned = upper[minus : minus + length][::-1].translate(TURNED)
            if letters is None or turned in letters:
                found.append((contig, minus, "-"))
    order = {name: i for i, name in enumerate(contigs)}
    return sorted(found, key=lambda site: (order[site[0]], site[1], site[2]))


def scan(folder, genome, out, *options, signal="donor", code=0):
    command = ["scan", str(folder / f"{signal}.seqmtl"), str(genome), "--organism", "man", "-q"]
    assert main([*command, "-o", str(out), *options]) == code
    return out


def bed_rows(path):
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def donor(folder):
    return MultiTaskModel.load(folder / "donor.seqmtl")


@pytest.fixture(scope="module")
def sites(donor, contigs):
    """Expected sites and their scores, candidates only."""
    places = candidates(donor, contigs, ["GT"])
    return places, window_scores(donor, contigs, places)


@pytest.fixture(scope="module")
def every(donor, contigs):
    """Expected sites and their scores, every position."""
    places = candidates(donor, contigs, None)
    return places, window_scores(donor, contigs, places)


def test_bed_has_the_letters_of_the_training_alone(folder, genome, sites, donor, tmp_path):
    assert donor.site.letters == "GT"
    rows = bed_rows(scan(folder, genome, tmp_path / "x.bed"))
    assert [(r[0], int(r[1]), r[5]) for r in rows] == sites[0]
    assert {r[3] for r in rows} == {"GT"}
    assert all(int(r[2]) == int(r[1]) + 2 for r in rows)
    np.testing.assert_allclose([float(r[6]) for r in rows], sites[1], atol=1e-4)
    p = donor.probability(sites[1], ["man"] * len(rows))
    np.testing.assert_allclose([float(r[7]) for r in rows], p, atol=1e-4)


def test_any_reports_every_position(folder, genome, every, tmp_path):
    rows = bed_rows(scan(folder, genome, tmp_path / "x.bed", "--consensus", "any"))
    assert [(r[0], int(r[1]), r[5]) for r in rows] == every[0]
    np.testing.assert_allclose([float(r[6]) for r in rows], every[1], atol=1e-4)


@pytest.mark.parametrize("consensus", ["any", None])
def test_bigwig_holds_a_strand_a_file(folder, genome, contigs, sites, every, tmp_path, consensus):
    pybigwig = pytest.importorskip("pyBigWig")
    options = [] if consensus is None else ["--consensus", consensus]
    scan(folder, genome, tmp_path / "x.bw", *options)
    assert {p.name for p in tmp_path.iterdir()} == {"x.plus.bw", "x.minus.bw"}
    places, scores = sites if consensus is None else every
    for strand, name in (("+", "x.plus.bw"), ("-", "x.minus.bw")):
        single = scan(folder, genome, tmp_path / "one.bigWig", "--strand", strand, *options)
        assert single.read_bytes() == (tmp_path / name).read_bytes()
        with pybigwig.open(str(single)) as file:
            assert file.chroms() == {contig: len(text) for contig, text in contigs.items()}
            for contig, text in contigs.items():
                expected = np.full(len(text), np.nan)
                for (where, start, side), score in zip(places, scores, strict=True):
                    if (where, side) == (contig, strand):
                        expected[start] = score
                found = file.values(contig, 0, len(text), numpy=True)
                np.testing.assert_allclose(found, expected, atol=7.5e-5)


def test_other_reader_sees_the_scores_at_1000_places(folder, genome, every, tmp_path):
    pybigtools = pytest.importorskip("pybigtools")
    scan(folder, genome, tmp_path / "x.bw", "--consensus", "any")
    places, scores = every
    chosen = np.random.default_rng(0).choice(len(places), 1000, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        files = {
            strand: pybigtools.open(str(tmp_path / f"x.{name}.bw"))
            for strand, name in (("+", "plus"), ("-", "minus"))
        }
        for i in chosen:
            contig, start, strand = places[i]
            ((_, _, value),) = files[strand].records(contig, start, start + 1)
            assert value == pytest.approx(scores[i], abs=1e-4)


def test_probabilities_as_values(folder, genome, donor, every, tmp_path):
    pybigwig = pytest.importorskip("pyBigWig")
    options = ["--consensus", "any", "--value", "probability", "--strand", "+"]
    wiggle = scan(folder, genome, tmp_path / "x.bw", *options)
    graph = scan(folder, genome, tmp_path / "x.bedgraph", *options)
    p = donor.probability(every[1], ["man"] * len(every[1]))
    expected = {
        (contig, start): one
        for (contig, start, strand), one in zip(every[0], p, strict=True)
        if strand == "+"
    }
    with pybigwig.open(str(wiggle)) as file:
        found = {(c, a): v for c in file.chroms() for a, _, v in file.intervals(c) or ()}
    assert found.keys() == expected.keys()
    assert max(abs(found[key] - expected[key]) for key in expected) <= 1e-4
    for contig, start, end, value in bed_rows(graph):
        for place in range(int(start), int(end)):
            assert float(value) == pytest.approx(found[contig, place], abs=1.1e-6)


def test_gff3_is_read_by_gffutils(folder, genome, contigs, sites, donor, tmp_path):
    gffutils = pytest.importorskip("gffutils")
    path = scan(folder, genome, tmp_path / "x.gff3")
    text = path.read_text()
    assert text.startswith("##gff-version 3\n##sequence-region chr10 1 ")
    assert "##sequence-region a|b%3Bc%3Dd 1 4003\n" in text
    database = gffutils.create_db(str(path), ":memory:", merge_strategy="error")
    features = {feature.id: feature for feature in database.all_features()}
    assert len(features) == len(sites[0])
    p = donor.probability(sites[1], ["man"] * len(sites[1]))
    for (contig, start, strand), score, probability in zip(*sites, p, strict=True):
        name = contig.replace(";", "%3B").replace("=", "%3D")
        row = (
            features.get(f"{contig}:{start + 1}:{strand}")
            or features[f"{name}:{start + 1}:{strand}"]
        )
        assert (row.start, row.end, row.strand) == (start + 1, start + 2, strand)
        assert row.featuretype == "five_prime_cis_splice_site"
        assert row.source == "seqmtl"
        assert float(row.attributes["score"][0]) == pytest.approx(score, abs=1e-4)
        assert float(row.score) == pytest.approx(probability, abs=1e-4)
        assert row.attributes["letters"] == ["GT"]


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
def test_splice_scores_are_at_the_junctions(folder, genome, contigs, tmp_path, signal):
    model = MultiTaskModel.load(folder / f"{signal}.seqmtl")
    text = scan(folder, genome, tmp_path / "x.spsc", signal=signal).read_text()
    header = [line for line in text.splitlines() if line.startswith("#")]
    assert all("\t" not in line for line in header)
    places = candidates(model, contigs, [model.site.letters])
    p = model.probability(window_scores(model, contigs, places), ["man"] * len(places))
    counts = model.training["tasks"]["man"]
    prior = counts["n_positive"] / counts["n"]
    expected = []
    for (contig, start, strand), one in zip(places, p, strict=True):
        exact = 2 * math.log2(one / prior)
        # a donor's junction is where the intron begins, an acceptor's where it ends
        begins_here = (strand == "+") == (signal == "donor")
        expected.append((contig, start if begins_here else start + 2, strand, exact))
    order = {name: i for i, name in enumerate(contigs)}
    expected.sort(key=lambda row: (order[row[0]], row[1], row[2]))
    rows = list(csv.reader((ln for ln in text.splitlines() if ln[0] != "#"), delimiter="\t"))
    found = {(r[0], int(r[1]), r[2]): int(r[4]) for r in rows}
    assert {r[3] for r in rows} == {signal[0].upper()}
    keys = [(r[0], int(r[1]), r[2]) for r in rows]
    assert keys == [row[:3] for row in expected if row[:3] in found]
    for contig, place, strand, exact in expected:
        score = found.get((contig, place, strand), -6)
        assert -6 <= score <= 13
        assert score == pytest.approx(min(max(exact, -6), 13), abs=0.51)


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
def test_hints_are_at_the_outermost_bases_of_introns(folder, genome, contigs, tmp_path, signal):
    model = MultiTaskModel.load(folder / f"{signal}.seqmtl")
    text = scan(folder, genome, tmp_path / "x.hints", signal=signal).read_text()
    places = candidates(model, contigs, [model.site.letters])
    p = model.probability(window_scores(model, contigs, places), ["man"] * len(places))
    counts = model.training["tasks"]["man"]
    prior = counts["n_positive"] / counts["n"]
    expected = {}
    for (contig, start, strand), one in zip(places, p, strict=True):
        if one > prior:
            # 1-based: the first base of the intron, or its last one, in reading direction
            first = (strand == "+") == (signal == "donor")
            expected[contig, start + 1 if first else start + 2, strand] = one
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    found = {(row[0], int(row[3]), row[6]): float(row[5]) for row in rows}
    assert len(found) == len(rows) > 50
    assert found.keys() == expected.keys()
    assert all(abs(found[key] - expected[key]) < 1e-5 for key in found)
    kind = {"donor": "dss", "acceptor": "ass"}[signal]
    constant = ("seqmtl", kind, ".", "src=S;pri=1")
    assert {(row[1], row[2], row[7], row[8]) for row in rows} == {constant}
    assert all(row[3] == row[4] for row in rows)


def test_hints_of_other_signals_are_intervals():
    lines = hint_lines("c", "start", np.array([[9, 12]]), np.array([True]), np.array([0.25]))
    assert lines == b"c\tseqmtl\tstart\t10\t12\t0.250000\t-\t.\tsrc=S;pri=1\n"


def test_splice_scores_by_hand():
    scores = splice_scores(np.array([0.2, 0.5, 0.8, 1.0, 0.0, 1 / 17]), 0.2)
    assert scores.tolist() == [0, 3, 4, 5, -7, -4]
    assert splice_scores(np.array([0.01, 0.7]), 0.01).tolist() == [0, 12]
    assert splice_scores(np.array([0.01, 1.0]), 0.0025).tolist() == [4, 13]


def test_splice_scores_need_a_splice_model(folder, genome, tmp_path, capsys):
    path = folder / "tss.seqmtl"
    write_simulation(
        simulate(TREE, seed=3, signal="tss", n_chromosomes=2, chromosome_length=40_000,
                 n_windows=50), folder / "tss"
    )  # fmt: skip
    assert main(["train", str(folder / "tss" / "windows.tsv.gz"), "--window", "41", "--features",
                 "wd:2", "-o", str(path), "-q"]) == 0  # fmt: skip
    scan(folder, genome, tmp_path / "x.spsc", signal="tss", code=1)
    assert "need a model of donors or acceptors" in capsys.readouterr().err
    rows = bed_rows(scan(folder, genome, tmp_path / "x.bed", signal="tss"))
    assert len({r[3] for r in rows}) == 5  # no letters in common: every position, N too


@pytest.mark.parametrize("suffix", ["bed", "gff3", "bedgraph"])
def test_tabix_and_bedtools_read_them(folder, genome, sites, tmp_path, suffix):
    pytest.importorskip("pysam")
    need("tabix")
    need("bedtools")
    path = scan(folder, genome, tmp_path / f"x.{suffix}.gz")
    assert (tmp_path / f"x.{suffix}.gz.tbi").exists()
    begin, end = 9_000, 15_000
    shift = suffix == "gff3"
    lines = call("tabix", str(path), f"chr10:{begin + 1}-{end}").splitlines()
    starts = {int(line.split("\t")[3 if shift else 1]) - shift for line in lines}
    length = 1 if suffix == "bedgraph" else 2
    expected = {s for c, s, _ in sites[0] if c == "chr10" and begin - length < s < end}
    assert starts == expected
    sizes = tmp_path / "sizes"
    sizes.write_text("chr10\t18307\nchr2\t41\ntiny\t40\na|b;c=d\t4003\na|b%3Bc%3Dd\t4003\n")
    ordered = call("bedtools", "sort", "-faidx", str(sizes), "-i", str(path))
    plain = [line for line in gzip.open(path, "rt").read().splitlines() if line[0] != "#"]
    assert ordered.splitlines() == plain


def test_bedtools_cuts_the_letters(folder, genome, tmp_path):
    need("bedtools")
    path = scan(folder, genome, tmp_path / "x.bed")
    copy = tmp_path / "genome.fa"
    shutil.copy(genome, copy)
    out = call("bedtools", "getfasta", "-s", "-tab", "-fi", str(copy), "-bed", str(path))
    letters = {line.split("\t")[1].upper() for line in out.splitlines()}
    assert letters == {"GT"}


def test_the_other_strand_of_the_genome_gives_the_other_strand(folder, contigs, tmp_path):
    path, turned = tmp_path / "a.fa", tmp_path / "b.fa"
    texts = {name: text.upper().replace("R", "N").replace("Y", "N").replace("K", "N")
             for name, text in contigs.items()}  # fmt: skip
    path.write_text("".join(f">{n}\n{t}\n" for n, t in texts.items()))
    turned.write_text("".join(f">{n}\n{t[::-1].translate(TURNED)}\n" for n, t in texts.items()))
    there = bed_rows(scan(folder, path, tmp_path / "a.bed"))
    back = bed_rows(scan(folder, turned, tmp_path / "b.bed"))
    flipped = {(r[0], len(texts[r[0]]) - int(r[2]), "+-"[r[5] == "+"], r[6], r[7]) for r in back}
    assert {(r[0], int(r[1]), r[5], r[6], r[7]) for r in there} == flipped


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("block", [250, 1_750])
def test_any_blocks_and_threads_give_the_same(
    folder, genome, contigs, tmp_path, monkeypatch, suffix, block
):
    from seqmtl.cli import _scan_single as command
    from seqmtl.scan import writers

    out = tmp_path / f"x.{suffix}"
    scan(folder, genome, out, "--strand", "both" if suffix != "bw" else "-", "--threads", "1")
    expected = out.read_bytes()
    monkeypatch.setattr(writers, "BLOCK", block)
    monkeypatch.setattr(command, "_PIECE", 999)
    scan(folder, genome, out, "--strand", "both" if suffix != "bw" else "-", "--threads", "3")
    if suffix != "bw":
        assert out.read_bytes() == expected
        return
    pybigwig = pytest.importorskip("pyBigWig")
    (tmp_path / "whole.bw").write_bytes(expected)  # sections are cut elsewhere, values are not
    with pybigwig.open(str(out)) as a, pybigwig.open(str(tmp_path / "whole.bw")) as b:
        for contig in contigs:
            assert a.intervals(contig) == b.intervals(contig)
            assert a.stats(contig) == b.stats(contig)


def test_a_wide_span_of_views_is_scored_at_candidates(folder, genome, contigs, tmp_path):
    path = folder / "views.seqmtl"
    assert main(["train", str(folder / "donor" / "windows.tsv.gz"), "--window", "41", "--features",
                 "wd:3", "-o", str(path), "-q"]) == 0  # fmt: skip
    model = MultiTaskModel.load(path)
    rows = bed_rows(scan(folder, genome, tmp_path / "x.bed", signal="views"))
    places = [(r[0], int(r[1]), r[5]) for r in rows]
    assert places == candidates(model, contigs, ["GT"])
    expected = window_scores(model, contigs, places)
    np.testing.assert_allclose([float(r[6]) for r in rows], expected, atol=1e-4)


def test_summary_as_json(folder, genome, contigs, sites, tmp_path):
    scan(
        folder, genome, tmp_path / "x.bed", "--threshold", "0.1", "--json", str(tmp_path / "s.json")
    )
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["schema_version"] == 1
    assert summary["options"]["threshold"] == 0.1
    assert summary["peak_memory_mib"] > 10
    (one,) = summary["scans"]
    assert one["organism"] == "man"
    assert one["short_contigs"] == ["tiny"]
    assert (one["n_contigs"], one["n_bases"]) == (4, sum(map(len, contigs.values())))
    assert one["n_candidates"] == len(sites[0])
    assert one["n_reported"] == int((sites[1] >= 0.1).sum())
    assert one["removed"] == {"threshold": int((sites[1] < 0.1).sum())}
    mixed = [text.upper()[i : i + 41] for text in contigs.values() for i in range(len(text) - 40)]
    assert one["n_mixed"] == 2 * sum(not set(window) <= set("ACGT") for window in mixed)
