"""Every format of a scan, read by other programs, against scores of windows cut by hand."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import subprocess
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import pytest

from seqmtl import use_threads
from seqmtl.io import read_contigs
from seqmtl.io.annotation import read_annotation
from seqmtl.scanning import TrackOptions, write_scan
from seqmtl.scanning.finder import finder_of
from seqmtl.scanning.writers.gff import hint_fields, in_gff
from seqmtl.scanning.writers.lines import format_lines
from seqmtl.scanning.writers.spsc import splice_scores
from seqmtl.sequences import Windows, encode
from tests.oracles.annotation import reverse_complement
from tests.scanning.cases import LENGTH, SUFFIXES, make_model, run_scan, text_rows

SIGNALS = {"donor": "GT", "acceptor": "AG", "tss": ""}
PRIOR = 0.1  # of the models of the tests


def need(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def contigs():
    """Contigs with runs of N at the ends and inside, lower case, and one without a window."""
    rng = np.random.default_rng(5)

    def draw(n):
        return "".join(rng.choice(list("ACGT"), n, p=[0.3, 0.2, 0.2, 0.3]))

    return {
        "chr10": "NNNNN" + draw(3_000) + "N" * 300 + draw(2_000).lower() + draw(1_000) + "NN",
        "chr2": draw(LENGTH),
        "tiny": draw(LENGTH - 1),
        "a|b;c=d": draw(800) + "RYK" + draw(300),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory, contigs):
    folder = tmp_path_factory.mktemp("formats")
    text = "".join(f">{name} words\n{letters}\n" for name, letters in contigs.items())
    (folder / "genome.fa").write_text(text)
    return folder


@pytest.fixture(scope="module")
def models(folder):
    return {
        signal: make_model(folder / f"{signal}.seqmtl", letters=letters, signal=signal, seed=seed)
        for seed, (signal, letters) in enumerate(SIGNALS.items())
    }


@pytest.fixture(scope="module")
def expected(models, contigs):
    """Return a function: {(contig, start, strand): score} of a signal, all positions or sites."""

    def sites(signal="donor", letters=None):
        model = models[signal]
        found = candidates(model.site, contigs, SIGNALS[signal] if letters is None else letters)
        codes = encode("".join(found.values()))
        windows = Windows(codes, LENGTH * np.arange(len(found)), LENGTH)
        return dict(zip(found, model.decision_function(windows, "man").tolist(), strict=True))

    return sites


def candidates(site, contigs, letters):
    """Windows of all sites (contig, start, strand) with these letters, in order."""
    found = []
    for number, (contig, text) in enumerate(contigs.items()):
        for first in range(len(text) - LENGTH + 1):
            window = text[first : first + LENGTH].upper()
            behind = LENGTH - site.offset - site.length
            turned = reverse_complement(window)
            for strand, start, own in (("+", site.offset, window), ("-", behind, turned)):
                if own[site.offset : site.offset + site.length] == letters or not letters:
                    found.append((number, first + start, strand, contig, own))
    return {(contig, start, strand): own for _, start, strand, contig, own in sorted(found)}


@pytest.fixture
def scan(folder, models, tmp_path):
    """Return a function that scans and returns the path of the output."""

    def scan_to(name, *options, signal="donor", letters=True, genome=None, code=0):
        model, out = folder / f"{signal}.seqmtl", tmp_path / name
        if not letters:
            without = replace(models[signal], site=replace(models[signal].site, letters=""))
            model = tmp_path.parent / f"{tmp_path.name}.seqmtl"
            without.save(model)
        fasta = folder / "genome.fa" if genome is None else genome
        return run_scan(folder, out, "-q", *options, model=model, genome=fasta, code=code)

    return scan_to


def probabilities(model, sites):
    return model.probability(np.array([*sites.values()]), ["man"] * len(sites))


def junctions(model, sites):
    """Yield splice sites, whether the intron begins there by position, and their probabilities."""
    for site, p in zip(sites, probabilities(model, sites), strict=True):
        yield site, (site[2] == "+") == (model.site.kind == "donor"), p


@pytest.mark.parametrize("letters", ["GT", ""])
def test_bed_has_the_sites_with_the_letters_of_the_training_alone(scan, models, expected, letters):
    rows = text_rows(scan("x.bed", letters=letters))
    sites = expected("donor", letters)
    assert [(r[0], int(r[1]), r[5]) for r in rows] == [*sites]
    assert all(int(r[2]) == int(r[1]) + 2 for r in rows)
    assert len({r[3] for r in rows}) == (1 if letters else 23)
    np.testing.assert_allclose([float(r[6]) for r in rows], [*sites.values()], atol=1e-4)
    p = probabilities(models["donor"], sites)
    np.testing.assert_allclose([float(r[7]) for r in rows], p, atol=1e-4)


@pytest.mark.parametrize("letters", ["GT", ""])
def test_bigwig_holds_a_strand_a_file(scan, contigs, expected, tmp_path, letters):
    pybigwig = pytest.importorskip("pyBigWig")
    scan("x.bw", letters=letters)
    assert {p.name for p in tmp_path.iterdir()} == {"x.plus.bw", "x.minus.bw"}
    for strand, name in (("+", "x.plus.bw"), ("-", "x.minus.bw")):
        with pybigwig.open(str(tmp_path / name)) as file:
            assert file.chroms() == {contig: len(text) for contig, text in contigs.items()}
            for contig, text in contigs.items():
                wanted = np.full(len(text), np.nan)
                for (where, start, side), score in expected("donor", letters).items():
                    if (where, side) == (contig, strand):
                        wanted[start] = score
                found = file.values(contig, 0, len(text), numpy=True)
                np.testing.assert_allclose(found, wanted, atol=7.5e-5)


def test_gff3_is_read_by_gffutils(scan, models, expected):
    gffutils = pytest.importorskip("gffutils")
    path = scan("x.gff3")
    text = path.read_text()
    assert text.startswith("##gff-version 3\n##sequence-region chr10 1 ")
    assert "##sequence-region a|b;c=d 1 1103\n" in text
    database = gffutils.create_db(str(path), ":memory:", merge_strategy="error")
    features = {feature.id: feature for feature in database.all_features()}
    sites = expected()
    assert len(features) == len(sites)
    p = probabilities(models["donor"], sites)
    for ((contig, start, strand), score), probability in zip(sites.items(), p, strict=True):
        name, place = contig.replace(";", "%3B").replace("=", "%3D"), f"{start + 1}:{strand}"
        row = features.get(f"{contig}:{place}") or features[f"{name}:{place}"]
        assert (row.start, row.end, row.strand) == (start + 1, start + 2, strand)
        assert (row.source, row.featuretype) == ("seqmtl", "five_prime_cis_splice_site")
        assert float(row.attributes["score"][0]) == pytest.approx(score, abs=1e-4)
        assert float(row.score) == pytest.approx(probability, abs=1e-4)
        assert row.attributes["letters"] == ["GT"]


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
def test_splice_scores_are_at_the_junctions(scan, models, contigs, expected, signal):
    out = scan("x.spsc", signal=signal)
    assert all("\t" not in line for line in out.read_text().splitlines() if line[0] == "#")
    order, wanted = list(contigs), {}
    for (contig, start, strand), begins, p in junctions(models[signal], expected(signal)):
        place = start if begins else start + 2
        wanted[order.index(contig), place, strand] = 2 * math.log2(p / PRIOR)
    rows = text_rows(out)
    found = {(order.index(r[0]), int(r[1]), r[2]): int(r[4]) for r in rows}
    assert {r[3] for r in rows} == {signal[0].upper()}
    assert [*found] == [key for key in sorted(wanted) if key in found]
    for key, exact in wanted.items():
        assert -6 <= found.get(key, -6) <= 13
        assert found.get(key, -6) == pytest.approx(min(max(exact, -6), 13), abs=0.51)


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
def test_hints_are_at_the_outermost_bases_of_introns(scan, models, expected, signal):
    rows, wanted = text_rows(scan("x.hints", signal=signal)), {}
    for (contig, start, strand), begins, p in junctions(models[signal], expected(signal)):
        if p > PRIOR:  # 1-based: the first base of the intron, or its last one
            wanted[contig, start + 1 if begins else start + 2, strand] = p
    found = {(row[0], int(row[3]), row[6]): float(row[5]) for row in rows}
    assert len(found) == len(rows) > 50
    assert found.keys() == wanted.keys()
    assert all(abs(found[key] - wanted[key]) < 1e-5 for key in found)
    constant = ("seqmtl", {"donor": "dss", "acceptor": "ass"}[signal], ".", "src=S;pri=1")
    assert {(row[1], row[2], row[7], row[8]) for row in rows} == {constant}
    assert all(row[3] == row[4] for row in rows)


def test_hints_of_other_signals_are_intervals():
    fields = hint_fields(b"c", "start", np.array([9]), 3, np.array([True]), np.array([0.25]))
    (text,) = format_lines(fields)
    assert text == b"c\tseqmtl\tstart\t10\t12\t0.250000\t-\t.\tsrc=S;pri=1\n"


def test_splice_scores_by_hand():
    scores = splice_scores(np.array([0.2, 0.5, 0.8, 1.0, 0.0, 1 / 17]), 0.2)
    assert scores.tolist() == [0, 3, 4, 5, -7, -4]
    assert splice_scores(np.array([0.01, 0.7]), 0.01).tolist() == [0, 12]
    assert splice_scores(np.array([0.01, 1.0]), 0.0025).tolist() == [4, 13]


def test_splice_scores_need_a_splice_model(scan, capsys):
    for name in ("x.spsc", "x.hints"):
        scan(name, signal="tss", code=int(name == "x.spsc"))
    assert "need a model of one of donor, acceptor, but" in capsys.readouterr().err
    rows = text_rows(scan("x.bed", signal="tss"))
    assert len({r[3] for r in rows}) == 23  # no letters in common: every position, N too


@pytest.mark.parametrize("suffix", ["bed", "gff3"])
def test_tabix_and_bedtools_read_them(scan, contigs, expected, tmp_path, suffix):
    pytest.importorskip("pysam")
    need("tabix")
    need("bedtools")
    path = scan(f"x.{suffix}.gz")
    assert (tmp_path / f"x.{suffix}.gz.tbi").exists()
    begin, end = 3_500, 5_000
    shift = suffix == "gff3"
    lines = call("tabix", str(path), f"chr10:{begin + 1}-{end}").splitlines()
    starts = {int(line.split("\t")[3 if shift else 1]) - shift for line in lines}
    assert starts == {s for c, s, _ in expected() if c == "chr10" and begin - 2 < s < end}
    text = "".join(f"{name}\t{len(letters)}\n" for name, letters in contigs.items())
    (tmp_path / "sizes").write_text(text)
    ordered = call("bedtools", "sort", "-faidx", str(tmp_path / "sizes"), "-i", str(path))
    plain = [line for line in gzip.open(path, "rt").read().splitlines() if line[0] != "#"]
    assert ordered.splitlines() == plain


@pytest.mark.parametrize("suffix", ["bed", "gff3"])
def test_bedtools_cuts_the_letters(folder, scan, tmp_path, expected, suffix):
    need("bedtools")
    copy = shutil.copy(folder / "genome.fa", tmp_path)
    sites = scan(f"x.{suffix}")
    out = call("bedtools", "getfasta", "-s", "-tab", "-fi", str(copy), "-bed", str(sites))
    assert [line.split("\t")[1].upper() for line in out.splitlines()] == ["GT"] * len(expected())


NAMES = ["HG#1#chr1", "lcl|a/b", "a=b,c;d&e", "50%", "(x)[y]{z}", "it's", "a>b", "chr1:1-10"]


def test_names_of_contigs_in_a_gff3_are_those_of_the_genome(scan, tmp_path):
    """A pangenome names contigs HG#1#chr1, and bedtools compares names without decoding them."""
    genome = tmp_path / "names.fa"
    genome.write_text("".join(f">{name}\n{'ACGGTTCAGC' * 10}\n" for name in NAMES))
    path = scan("names.gff3", genome=genome)
    names = [row[0] for row in text_rows(path)]
    assert list(dict.fromkeys(names)) == NAMES
    exons = "".join(f"{name}\tx\texon\t1\t9\t.\t+\t.\tParent=t\n" for name in names)
    (tmp_path / "exons.gff3").write_text(exons)
    assert read_annotation(tmp_path / "exons.gff3").contigs == NAMES
    need("bedtools")
    out = call("bedtools", "getfasta", "-fi", str(genome), "-bed", str(path))
    found = [line[1:].rpartition(":")[0] for line in out.splitlines() if line[0] == ">"]
    assert found == names


@pytest.mark.parametrize("name", ["%41", "a%2f", "#a", ">a", "a\x01b"])
def test_names_that_gff3_would_read_as_others_are_escaped(name):
    assert in_gff(name)[0] not in "#>"
    assert in_gff(name) != name
    assert unquote(in_gff(name)) == name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_blocks_and_threads_give_the_same(folder, models, contigs, tmp_path, suffix):
    lengths = {name: len(text) for name, text in contigs.items()}
    paths = []
    for block in (250_000, 250, 1_750):
        finder = finder_of(models["donor"], "man", block=block)
        out = tmp_path / f"{block}.{suffix}"
        paths.append(tmp_path / f"{block}.minus.bw" if suffix == "bw" else out)
        with use_threads(3):
            track = TrackOptions(lengths=lengths)
            write_scan(out, read_contigs(folder / "genome.fa"), finder, track=track)
    if suffix != "bw":
        assert len({path.read_bytes() for path in paths}) == 1
        return
    pybigwig = pytest.importorskip("pyBigWig")  # sections are cut elsewhere, values are not
    whole, *others = (pybigwig.open(str(path)) for path in paths)
    for contig in contigs:
        for other in others:
            assert other.intervals(contig) == whole.intervals(contig)
            assert other.stats(contig) == whole.stats(contig)


def test_summary_as_json(scan, contigs, expected, tmp_path):
    scan("x.bed", "--threshold", "0.1", "--json", str(tmp_path / "s.json"))
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["schema_version"] == 1
    assert summary["options"]["threshold"] == 0.1
    assert summary["peak_memory_mib"] > 10
    (one,) = summary["scans"]
    assert one["organism"] == "man"
    assert one["short_contigs"] == ["tiny"]
    assert (one["n_contigs"], one["n_bases"]) == (4, sum(map(len, contigs.values())))
    scores = np.array([*expected().values()])
    assert one["n_candidates"] == scores.size
    assert one["n_reported"] == int((scores >= 0.1).sum())
    assert one["removed"] == {"threshold": int((scores < 0.1).sum())}


@pytest.mark.parametrize("letters", ["N" * 300, "*", "n" * LENGTH, "ACGT"])
@pytest.mark.parametrize("suffix", [*SUFFIXES, "bed.gz", "gff3.gz"])
def test_a_genome_without_a_candidate_has_valid_empty_files(
    scan, tmp_path, capsys, letters, suffix
):
    """A chromosome of gaps, as in assemblies in pieces: a warning, and files that can be read."""
    genome = tmp_path / "gaps.fa"
    genome.write_text(f">gap\n{letters}\n")
    path = scan(f"x.{suffix}", genome=genome)
    path = tmp_path / "x.plus.bw" if suffix == "bw" else path
    told = capsys.readouterr().err
    assert ("only 0 % of the letters are A, C, G or T" in told) == (letters != "ACGT")
    assert ("1 of 1 contigs not scanned" in told) == (len(letters) < LENGTH)
    if suffix == "bw":
        with pytest.importorskip("pyBigWig").open(str(path)) as file:
            assert file.chroms() == {"gap": len(letters)}
            assert file.intervals("gap") is None
        return
    data = path.read_bytes()
    lines = (gzip.decompress(data) if suffix.endswith("gz") else data).decode().splitlines()
    assert all(line.startswith("#") for line in lines)
    assert len(lines) > 1
