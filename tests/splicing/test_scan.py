"""A paired scan against the chain on whole contigs; formats, blocks, threads, interruptions."""

import gzip
import json
import re
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.calibration.curve import to_probability
from seqmtl.loading import load
from seqmtl.scanning import blocks
from seqmtl.splicing import finder
from seqmtl.splicing.chain import run_chain
from tests.invocation import rows_of, run, sites_in, write_pieces
from tests.oracles.pairs import open_contigs, whole_contig


def _scan(case, out, options=""):
    genome = case / "sim/genomes/a.fa"
    run(f"scan {case}/splice {genome} --organism a -o {out} --threads 1 {options}")


def small_blocks(monkeypatch, size):
    monkeypatch.setattr(finder, "_BLOCK", size)
    monkeypatch.setattr(finder, "_BLOCKS_PER_MARGIN", 0)


@pytest.fixture(scope="module")
def expected(case):
    """{(contig, start, strand): probability} of both signals, and of introns, by whole contigs."""
    model = load(case / "splice")
    sites, introns = {"donor": {}, "acceptor": {}}, {}
    for name, codes in open_contigs(case / "sim/genomes/a.fa"):
        own, listed = whole_contig(model, "a", codes)
        for (signal, *place), p in own.items():
            sites[signal][name, *place] = p
        introns |= {(name, *key): p for key, p in listed.items()}
    return sites, introns


@pytest.mark.parametrize("block", [250_000, 5_000])
def test_sites_and_introns_are_those_of_whole_contigs(case, expected, tmp_path, monkeypatch, block):
    small_blocks(monkeypatch, block)
    _scan(case, tmp_path / "x.bed")
    for signal, sites in expected[0].items():
        found = sites_in(tmp_path / f"x.{signal}.bed")
        assert found.keys() == sites.keys()
        assert_allclose([found[key] for key in sites], list(sites.values()), atol=1e-5)
        log_odds = sites_in(tmp_path / f"x.{signal}.bed", 6)
        p = to_probability(np.array([log_odds[key] for key in found]))
        assert_allclose(p, [*found.values()], atol=1e-5)
    for name in ("x.bed", "x.gff3"):
        _scan(case, tmp_path / name, "--format introns")
    rows = rows_of(tmp_path / "x.bed")
    assert rows == sorted(rows, key=lambda row: (row[0], int(row[1]), int(row[2])))
    found = _introns(rows)
    certain = {key: p for key, p in expected[1].items() if p > 0.1001}
    assert len(certain) > 50
    assert certain.keys() <= found.keys() <= expected[1].keys()
    assert_allclose([found[key][0] for key in certain], list(certain.values()), atol=1e-5)
    for (contig, start, end, strand), (p, *of_ends) in found.items():
        places = (start, end - 2) if strand == "+" else (end - 2, start)
        own = [
            sites[contig, place, strand]
            for sites, place in zip(expected[0].values(), places, strict=True)
        ]
        assert_allclose(of_ends, own, atol=2e-5)
        assert p <= min(of_ends) + 2e-5
    for row, other in zip(rows, rows_of(tmp_path / "x.gff3"), strict=True):
        assert [other[0], int(other[3]) - 1, *other[4:7:2]] == [row[0], int(row[1]), row[2], row[5]]
        shown = dict(item.split("=") for item in other[8].split(";"))
        assert [shown[key] for key in ("probability", "donor", "acceptor")] == row[12:]
        assert float(other[5]) == float(row[12])


@pytest.mark.parametrize("name", ["x.spsc", "x.introns.gff3.gz", "x.bw"])
def test_threads_change_nothing(case, tmp_path, monkeypatch, name):
    small_blocks(monkeypatch, 5_000)
    options = "--format introns" if "introns" in name else ""
    folders = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        folder.mkdir()
        _scan(case, folder / name, f"{options} --threads {threads}")
        folders.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    assert folders[0] == folders[1]
    assert len(folders[0]) == {"x.bw": 4, "x.introns.gff3.gz": 2}.get(name, 1)


def test_spsc_holds_both_signals(case, expected, tmp_path):
    _scan(case, tmp_path / "x.spsc")
    rows = rows_of(tmp_path / "x.spsc")
    model = load(case / "splice")
    for letter, signal in (("D", "donor"), ("A", "acceptor")):
        prior = getattr(model, signal).prevalence("a")
        wanted = set()
        for (contig, start, strand), p in expected[0][signal].items():
            score = 2 * np.log2(max(p, 1e-300) / prior)
            if score > -5.4:
                after = (strand == "-") == (letter == "D")
                wanted.add((contig, start + 2 * after, strand, min(13, round(score))))
        found = {(r[0], int(r[1]), r[2], int(r[4])) for r in rows if r[3] == letter}
        assert len(wanted & found) > 0.98 * len(wanted) > 50
        assert {row[:3] for row in wanted} <= {row[:3] for row in found}


def _introns(rows):
    """{(contig, start, end, strand): (intron, donor, acceptor)} of BED lines."""
    return {(r[0], int(r[1]), int(r[2]), r[5]): tuple(map(float, r[12:])) for r in rows}


@pytest.mark.parametrize("block", [1_000_000, 5_000])
def test_the_best_introns_come_first(case, tmp_path, monkeypatch, block):
    small_blocks(monkeypatch, block)
    text = (case / "sim/genomes/a.fa").read_text()
    (tmp_path / "twice.fa").write_text(text + text.replace(">chr", ">copy"))

    def scan(name, options=""):
        command = f"scan {case}/splice {tmp_path}/twice.fa --organism a --format introns"
        run(f"{command} -o {tmp_path / name} {options}")

    scan("all.bed")
    every = rows_of(tmp_path / "all.bed")
    ordered = sorted(every, key=lambda row: -float(row[12]))  # equal ones as in the genome
    assert len({row[12] for row in ordered}) <= len(ordered) / 2
    for threads in (1, 3):
        scan(f"top{threads}.bed", f"--top 41 --threads {threads}")
        assert rows_of(tmp_path / f"top{threads}.bed") == ordered[:41]
    scan("x.bed", "--top 1000000")
    assert rows_of(tmp_path / "x.bed") == ordered
    scan("x.gff3.gz", f"--top 5 --json {tmp_path}/x.json")
    lines = gzip.decompress((tmp_path / "x.gff3.gz").read_bytes()).decode().splitlines()
    assert "the best 5 first" in lines[1]
    assert [(r[0], int(r[3]) - 1) for r in (line.split("\t") for line in lines[2:])] == [
        (row[0], int(row[1])) for row in ordered[:5]
    ]
    assert not (tmp_path / "x.gff3.gz.tbi").exists()  # it is not sorted by position
    assert json.loads((tmp_path / "x.json").read_text())["scans"][0]["n_records"] == 5


def test_sites_and_introns_in_regions(case, expected, tmp_path):
    """The chain sees all candidates; what is left out changes no probability."""
    (tmp_path / "x.region.bed").write_text("chr1\t5000\t9000\nchr3\t100\t30000\n")
    options = f"--regions {tmp_path}/x.region.bed"
    inside = {"chr1": (5000, 9000), "chr3": (100, 30000)}

    def passes(contig, start):
        begin, end = inside.get(contig, (0, 0))
        return begin <= start < end

    _scan(case, tmp_path / "x.bed", f"{options} --json {tmp_path}/x.json")
    n_removed = 0
    for signal, sites in expected[0].items():
        found = sites_in(tmp_path / f"x.{signal}.bed")
        wanted = {key: p for key, p in sites.items() if passes(*key[:2])}
        assert found.keys() == wanted.keys()
        assert_allclose([found[key] for key in wanted], list(wanted.values()), atol=1e-5)
        n_removed += sum(key[0] in inside for key in sites) - len(wanted)
    summary = json.loads((tmp_path / "x.json").read_text())["scans"][0]
    assert summary["removed"] == {"regions": n_removed}
    assert summary["n_candidates"] == summary["n_reported"] + n_removed
    assert summary["n_contigs"] == 2
    assert n_removed > 0
    _scan(case, tmp_path / "i.bed", f"{options} --format introns")
    _scan(case, tmp_path / "all.bed", "--format introns")
    every = _introns(rows_of(tmp_path / "all.bed"))
    wanted = {key: p for key, p in every.items() if passes(*key[:2])}
    found = _introns(rows_of(tmp_path / "i.bed"))
    assert 3 < len(found) < len(every) - 20
    assert found.keys() == wanted.keys()
    assert_allclose([found[key] for key in wanted], list(wanted.values()), atol=2e-5)


def test_a_scan_tells_what_is_in_the_files_of_all_formats(case, tmp_path, seqmtl):
    """Tracks have all candidates, BED and GFF3 those of probability 0.1 or more."""
    pybigwig = pytest.importorskip("pyBigWig")
    command = f"scan {case}/splice {case}/sim/genomes/a.fa --organism a"
    shown = seqmtl(f"{command} --format all -o {tmp_path}/x --json {tmp_path}/x.json").err
    told = re.search(r"(\d+) introns, (\d+) sites, (\d+) values written", shown)
    introns, sites, values = map(int, told.groups())
    beds = [gzip.open(path, "rt") for path in tmp_path.glob("x.*.bed.gz")]
    assert sites == sum(line[0] != "#" for file in beds for line in file) > 0
    assert introns == len(rows_of(tmp_path / "x.introns.gff3")) > 0
    tracks = [pybigwig.open(str(path)) for path in tmp_path.glob("x.*.bw")]
    assert values == sum(
        len(track.intervals(name) or ()) for track in tracks for name in track.chroms()
    )
    assert values > 10 * sites
    entry = json.loads((tmp_path / "x.json").read_text())["scans"][0]
    assert entry["written"] == {"introns": introns, "sites": sites, "values": values}
    assert entry["n_records"] == introns + sites + values
    shown = seqmtl(f"{command} -o {tmp_path}/y.bw").err
    assert re.search(rf", {values} values written", shown)
    shown = seqmtl(f"{command} --format introns -o {tmp_path}/y.bed").err
    pattern = rf"(\d+) candidates, (\d+) removed by min_probability, {introns} introns written"
    candidates, removed = map(int, re.search(pattern, shown).groups())
    assert 0 < removed < candidates


@pytest.fixture(scope="module")
def small_contigs(case, tmp_path_factory):
    """The genome of a in small contigs, some of them without a window or lower case."""
    sizes = np.random.default_rng(0).integers(1, 2_500, 100)
    return write_pieces(case / "sim/genomes/a.fa", tmp_path_factory.mktemp("small") / "x.fa", sizes)


@pytest.mark.parametrize(
    "options",
    [
        "--format all",
        "--format introns --top 7",
        "--format bed --min-probability 0.01",
        "--format spsc",
        "--format gff3 --min-probability 0.1",
    ],
)
def test_small_contigs_are_scanned_together_as_each_alone(
    case, small_contigs, tmp_path, seqmtl, monkeypatch, options
):
    """An assembly in pieces takes the time of its bases, and no intron joins two contigs."""
    found = []
    command = f"scan {case}/splice {small_contigs} --organism a {options} --threads 1"
    own_run = Mock(wraps=run_chain)
    monkeypatch.setattr(finder, "run_chain", own_run)
    for name in ("together", "alone"):
        folder = tmp_path / name
        folder.mkdir()
        seqmtl(f"{command} -o {folder}/x --json {folder}/scan.json")
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".tbi"}
        summary = json.loads(files.pop("scan.json"))["scans"][0]
        for each in ("files", "seconds", "megabases_per_second"):
            summary.pop(each)
        texts = {
            name: gzip.decompress(own) if name.endswith(".gz") else own
            for name, own in files.items()
        }
        if "spsc" in options:  # of each block, donors come before acceptors
            texts = {name: b"".join(sorted(own.splitlines(True))) for name, own in texts.items()}
        found.append((texts, summary, own_run.call_count))
        own_run.reset_mock()
        monkeypatch.setattr(blocks, "join_contigs", lambda contigs, finder: contigs)
    (texts, summary, n_together), (alone, other, n_alone) = found
    assert summary == other
    assert texts == alone
    assert sum(text.count(b"\n") for text in texts.values()) > 7
    assert n_together <= 8
    assert n_alone >= 7
