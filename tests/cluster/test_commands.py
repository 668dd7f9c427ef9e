"""Commands with ``--dask`` write what they write without."""

from __future__ import annotations

import gzip
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
    sizes = "--chromosomes 4 --chromosome-length 20000 --windows 60 --window 30 -q"
    assert main(["simulate", "-o", str(folder), "--tree", TREE, *sizes.split()]) == 0
    return folder


@pytest.fixture
def both(tmp_path, scheduler, seqmtl, monkeypatch):
    """Run a command here and on the workers, which are elsewhere; return its files and messages.

    In the command, {} is the folder of its files.
    """
    monkeypatch.chdir(tmp_path)

    def run(command):
        found = []
        for name, where in {"here": "", "there": f"--dask {scheduler}"}.items():
            out = tmp_path / name
            out.mkdir()
            told = seqmtl(f"{command.format(out)} {where}").err
            files = (path for path in out.rglob("*") if path.is_file())
            found.append(({path.name: path.read_bytes() for path in files}, told))
        return found

    return run


def test_dataset(folder, both, monkeypatch):
    monkeypatch.chdir(folder)
    (here, told), (there, told_there) = both("dataset dataset.toml -o {}/made")
    for text in (told, told_there):
        notes = re.findall(r"(\w+): \d+ true sites and \d+ decoys", text)
        assert set(notes) == {"ape", "man", "fly"}  # those of the workers too
    for found in (here, there):
        found["summary.json"] = json.loads(found["summary.json"]) | {"command": "", "folder": ""}
    assert len(here) == 5
    assert there == here


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("vcf", "--like man"),
        ("vcf.gz", "--organism man"),
        ("vcf", "--like ape --tree t.nwk"),
    ],
)
def test_variants(tmp_path, both, suffix, options):
    make_model(tmp_path / "m.seqmtl")
    contigs = make_genome(tmp_path / "g.fa", {"c1": 9_000, "c2": 4_000})
    rng = np.random.default_rng(1)
    rows = ["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    for contig, letters in contigs.items():
        for place in sorted(rng.choice(len(letters) - 3, 2_500)):
            ref = letters[place : place + 2].upper()
            rows.append(f"{contig}\t{place + 1}\t.\t{ref}\t{ref[0]}\t.\t.\t.")
    (tmp_path / "in.vcf").write_text("\n".join(rows) + "\n")
    (tmp_path / "t.nwk").write_text("((ape:1,man:1):1,fly:2);")
    outputs = f"-o {{0}}/out.{suffix} --tsv {{0}}/out.tsv --json {{0}}/out.json"
    (here, _), (there, _) = both(f"variants m.seqmtl --vcf in.vcf --fasta g.fa {options} {outputs}")
    assert there["out.tsv"] == here["out.tsv"]
    assert there["out.json"] == here["out.json"]
    texts = [lines_of(found[f"out.{suffix}"]) for found in (here, there)]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 5_000


def test_train(tmp_path, both):
    rng = np.random.default_rng(3)
    rows = ["organism\tlabel\tsequence"]
    for n in range(900):
        label, bases = 1 if n % 3 == 0 else -1, rng.choice(list("ACGT"), 30)
        bases[14:16] = ["A", "G"] if label > 0 or n % 2 else ["G", "T"]
        rows.append(f"{('ape', 'man')[n % 2]}\t{label}\t{''.join(bases)}")
    (tmp_path / "w.tsv").write_text("\n".join(rows) + "\n")
    found = both("train w.tsv -o {}/m.seqmtl --memory 2G")
    assert [[*files] for files, _ in found] == [["m.seqmtl"]] * 2  # and no stored windows
    here, there = (load_model(tmp_path / name / "m.seqmtl") for name in ("here", "there"))
    np.testing.assert_array_equal(np.asarray(here.W), np.asarray(there.W))
    assert here.training["selection"] == there.training["selection"]


def lines_of(data):
    """Lines of a VCF file but that which holds the command."""
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return [line for line in data.decode().splitlines() if not line.startswith("##seqmtl=")]


def test_an_error_on_a_worker_is_that_of_the_command(folder, tmp_path, scheduler, seqmtl):
    text = (folder / "dataset.toml").read_text()
    (folder / "bad.toml").write_text(text)
    path = folder / "annotation" / "man.gff3"
    before = path.read_text()
    path.write_text("chr1\tx\tgene\tnot a number\t5\t.\t+\t.\tID=g\n")
    try:
        errors = []
        for where in ("", f"--dask {scheduler}"):
            command = f"dataset {folder / 'bad.toml'} -o {tmp_path / 'x'} {where} -q"
            errors.append(seqmtl(command, code=1).err.splitlines()[-1])  # after those of others
    finally:
        path.write_text(before)
    assert "man.gff3:1: " in errors[0]
    assert errors[0] == errors[1]
    assert not (tmp_path / "x").exists()
