"""Commands with ``--dask`` write what they write without."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from seqmtl import load_model
from seqmtl.cli.main import main
from tests.scan.cases import make_genome, make_model

TREE = "((ape:0.2,man:0.2):0.8,fly:1.0);"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    sizes = ["--chromosomes", "4", "--chromosome-length", "20000", "--windows", "60"]
    seqmtl("simulate", "-o", folder, "--tree", TREE, "--window", "30", *sizes)
    return folder


def seqmtl(*arguments, code=0):
    assert main([*map(str, arguments), "-q"]) == code


def test_compare(folder, tmp_path, scheduler):
    rng, rows = np.random.default_rng(0), ["organism\tlabel\tsequence"]
    for n in range(360):
        bases, label = rng.choice(list("ACGT"), size=16), 1 if n % 3 == 0 else -1
        bases[8:10] = list("AG") if label > 0 or n % 5 == 0 else bases[8:10]
        rows.append(f"{('ape', 'man', 'fly')[n // 3 % 3]}\t{label}\t{''.join(bases)}")
    (tmp_path / "windows.tsv").write_text("\n".join(rows) + "\n")
    fixed = ["--tree", TREE, "--methods", "individual,mtl", "--splits", 2, "-C", "1"]
    found = {}
    for name, options in {"here": ["--threads", 1], "there": ["--dask", scheduler]}.items():
        command = ["compare", tmp_path / "windows.tsv", *fixed, *options]
        seqmtl(*command, "--json", tmp_path / f"{name}.json", "--table", tmp_path / f"{name}.tsv")
        found[name] = json.loads((tmp_path / f"{name}.json").read_text())
    assert found["there"] == found["here"]
    assert (tmp_path / "here.tsv").read_bytes() == (tmp_path / "there.tsv").read_bytes()


def test_dataset(folder, tmp_path, scheduler, capsys, monkeypatch):
    monkeypatch.chdir(folder)  # the workers are elsewhere
    found = {}
    for name, options in {"here": [], "there": ["--dask", scheduler]}.items():
        command = ["dataset", "dataset.toml", "-o", str(tmp_path / name), *options]
        assert main(command) == 0
        found[name] = {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
        summary = json.loads(found[name].pop("summary.json"))
        found[name]["summary"] = {**summary, "command": "", "folder": ""}
        told = capsys.readouterr().err
        notes = re.findall(r"(\w+): \d+ true sites and \d+ decoys", told)
        assert set(notes) == {"ape", "man", "fly"}  # those of the workers too
    assert len(found["here"]) == 5
    assert found["there"] == found["here"]


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("vcf", ["--like", "man"]),
        ("vcf.gz", ["--organism", "man"]),
        ("vcf", ["--like", "ape", "--tree", "t.nwk"]),
    ],
)
def test_variants(tmp_path, scheduler, suffix, options, monkeypatch):
    make_model(tmp_path / "m.seqmtl")
    contigs = make_genome(tmp_path / "g.fa", {"c1": 9_000, "c2": 4_000})
    rng = np.random.default_rng(1)
    rows = ["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    for contig, letters in contigs.items():
        for place in sorted(rng.choice(len(letters) - 3, 2_500)):
            ref = letters[place : place + 2].upper()
            rows.append(f"{contig}\t{place + 1}\t.\t{ref}\t{ref[0]}\t.\t.\t.")
    (tmp_path / "in.vcf").write_text("\n".join(rows) + "\n")
    files = ["variants", "m.seqmtl", "--vcf", "in.vcf", "--fasta", "g.fa", *options]
    (tmp_path / "t.nwk").write_text("((ape:1,man:1):1,fly:2);")
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    found = {}
    for name, where in {"here": [], "there": ["--dask", scheduler]}.items():
        (tmp_path / name).mkdir()
        out = [f"{name}/out.{suffix}", "--tsv", f"{name}/out.tsv", "--json", f"{name}/out.json"]
        seqmtl(*files, "-o", *out, *where)
        found[name] = {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
    assert found["there"]["out.tsv"] == found["here"]["out.tsv"]
    assert found["there"]["out.json"] == found["here"]["out.json"]
    texts = [text(tmp_path / name / f"out.{suffix}") for name in found]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 5_000


@pytest.mark.parametrize(
    ("out", "options"),
    [
        ("x.bed", ["--organism", "man"]),
        ("x.bw", ["--organism", "man", "--min-probability", "0.3"]),
        ("x.spsc", ["--organism", "man", "--consensus", "any"]),
        ("x.bed", ["--organism", "all", "--softmask", "skip", "--contigs", "c1,c3"]),
    ],
)
def test_scan_of_one_genome(tmp_path, scheduler, out, options, monkeypatch):
    monkeypatch.setattr("seqmtl.scan.SiteFinder.block", 1_000)
    monkeypatch.setattr("seqmtl.verbs._scan_one.WORKER_BASES", 3_000)
    make_model(tmp_path / "m.seqmtl")
    make_genome(tmp_path / "g.fa", {"c1": 12_500, "c2": 20, "c3": 7_000, "c4": 900})
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    found = {}
    for name, where in {"here": [], "there": ["--dask", scheduler]}.items():
        (tmp_path / name).mkdir()
        files = ["-o", f"{name}/{out}", "--json", f"{name}/x.json"]
        seqmtl("scan", "m.seqmtl", "g.fa", *options, *files, *where)
        found[name] = {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
        summary = json.loads(found[name].pop("x.json"))
        found[name]["n"] = [[s["n_reported"], s["n_candidates"]] for s in summary["scans"]]
    assert found["there"] == found["here"]
    assert found["here"]["n"][0][0] > 100


def test_train(tmp_path, scheduler, monkeypatch):
    rng = np.random.default_rng(3)
    rows = ["organism\tlabel\tsequence"]
    for n in range(900):
        label, bases = 1 if n % 3 == 0 else -1, rng.choice(list("ACGT"), 30)
        bases[14:16] = ["A", "G"] if label > 0 or n % 2 else ["G", "T"]
        rows.append(f"{('ape', 'man')[n % 2]}\t{label}\t{''.join(bases)}")
    (tmp_path / "w.tsv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    for name, options in {"here": [], "there": ["--dask", scheduler]}.items():
        seqmtl("train", "w.tsv", "-o", f"{name}.seqmtl", "--memory", "2G", *options)
    here, there = (load_model(tmp_path / f"{name}.seqmtl") for name in ("here", "there"))
    np.testing.assert_array_equal(np.asarray(here.W), np.asarray(there.W))
    assert here.training["selection"] == there.training["selection"]
    assert sorted(p.name for p in tmp_path.glob("*.windows")) == []


def text(path):
    """Lines of a VCF file but that which holds the command."""
    import gzip

    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [line for line in data.decode().splitlines() if not line.startswith("##seqmtl=")]


def test_an_error_on_a_worker_is_that_of_the_command(folder, tmp_path, scheduler, capsys):
    text = (folder / "dataset.toml").read_text()
    (folder / "bad.toml").write_text(text)
    path = folder / "annotation" / "man.gff3"
    before = path.read_text()
    path.write_text("chr1\tx\tgene\tnot a number\t5\t.\t+\t.\tID=g\n")
    try:
        errors = []
        for options in ([], ["--dask", scheduler]):
            seqmtl("dataset", folder / "bad.toml", "-o", tmp_path / "x", *options, code=1)
            *_, error = capsys.readouterr().err.splitlines()  # after warnings of others
            errors.append(error)
    finally:
        path.write_text(before)
    assert "man.gff3:1: " in errors[0]
    assert errors[0] == errors[1]
    assert not (tmp_path / "x").exists()
