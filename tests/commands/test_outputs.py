"""No command writes over what it reads, wherever that lies and however it is named."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys

import pytest

from seqmtl import MultiTaskModel
from seqmtl.commands.main import main
from seqmtl.simulation import simulate, write_simulation

COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
TRAIN = "--window 21 --selection none -C 1"
FILES = {
    "few.tsv": "organism\tlabel\tsequence\n"
    + "".join(
        f"bee\t{label}\t{'ACGT'[i % 4] * 8}{'CG'[label > 0]}AG{'AT'[i // 4] * 10}\n"
        for i in range(8)
        for label in (1, -1)
    ),
    "in.vcf": f"##fileformat=VCFv4.2\n{COLUMNS}\nchr1\t90\t.\tN\tA\t.\t.\t.\n",
    "dump/nodes.dmp": "1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tspecies\t|\n3\t|\t1\t|\tspecies\t|\n",
    "dump/names.dmp": "".join(
        f"{taxid}\t|\t{name}\t|\t\t|\tscientific name\t|\n"
        for taxid, name in ((1, "root"), (2, "ape"), (3, "man"))
    ),
    "tree.json": "(ape:1,man:1);",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    simulation = simulate("(ape:0.2,man:0.2);", seed=2, chromosome_length=20_000, n_windows=60)
    write_simulation(simulation, folder)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "genomes" / "tree.fa").write_text(FILES["tree.json"])
    (folder / "explained").mkdir()
    (folder / "explained" / "poim_ape.tsv").write_text(FILES["few.tsv"])
    (folder / "few.tsv").rename(folder / "few.tsv.checkpoint")
    (folder / "few.tsv").write_text(FILES["few.tsv"])
    genome = folder / "genomes" / "ape.fa"
    (folder / "link.fa").symlink_to(genome)
    with contextlib.chdir(folder):
        for signal, out, model in (("acceptor", "don", "m"), ("donor", "donors", "d")):
            for command in (
                f"dataset dataset.toml --signal {signal} -o {out} -q",
                f"train {out} {TRAIN} -o {model}.seqmtl -q",
            ):
                assert main(shlex.split(command)) == 0
    (folder / "of_itself.toml").write_text(
        'signal = "tss"\n[organisms.ape]\ngenome = "genomes/ape.fa"\nsites = "don/sites.tsv"\n'
    )
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_input_is_no_output_wherever_it_lies(made, seqmtl, monkeypatch):
    monkeypatch.chdir(made)
    before = contents(made)
    for command, name in (
        ("dataset of_itself.toml -o don", "don/sites.tsv"),
        ("train don -o {}", "don/excluded.tsv"),
        ("train don -o {}", "genomes/man.fa"),
        ("train windows.tsv.gz --tree tree.nwk -o {}", "tree.nwk"),
        ("calibrate m.seqmtl don -o new.seqmtl --json {}", "don/regions.tsv"),
        ("calibrate m.seqmtl don -o new.seqmtl --json {}", "m.seqmtl"),
        ("evaluate m.seqmtl don --json {}", "genomes/man.fa"),
        ("pair d.seqmtl m.seqmtl donors don -o {}", "donors/windows.tsv"),
        ("pair d.seqmtl m.seqmtl donors don -o {}", "don/windows.tsv"),
        ("scan m.seqmtl genomes/ape.fa --organism ape --format bed -o {}", "link.fa"),
        ("scan m.seqmtl link.fa --organism ape --format bed -o {}", "genomes/ape.fa"),
        ("scan m.seqmtl genomes/ape.fa --organism ape -o x.bed --json {}", "m.seqmtl"),
        (
            "variants m.seqmtl --vcf in.vcf --fasta genomes/ape.fa --organism ape -o new.vcf "
            "--tsv {}",
            "in.vcf",
        ),
        ("adapt m.seqmtl few.tsv --organism bee --like ape -o {}", "few.tsv"),
        ("predict m.seqmtl windows.tsv.gz -o {}", "windows.tsv.gz"),
        ("similarity --source taxonomy=dump --organisms ape,man -o {}", "dump/names.dmp"),
        ("compare windows.tsv.gz --methods union --json {}", "windows.tsv.gz"),
        # what is written beside an output, and what is in an output folder
        ("train few.tsv.checkpoint -o {}", "few.tsv"),
        ("explain m.seqmtl {} --organism ape -o explained", "explained/poim_ape.tsv"),
        ("simulate --tree genomes/tree.fa -o . --windows {}", "60"),
        ("simulate --tree tree.json -o . --windows 60 --chromosome-length 20000", "summary.json"),
    ):
        if name == "summary.json":
            (made / "tree.json").rename(made / name)
            before = contents(made)
            command = command.replace("tree.json", name)
        assert "would overwrite the input " in seqmtl(f"{command.format(name)} -q", 1).err, command
        assert contents(made) == before, command


def test_standard_input_is_an_input(made, tmp_path):
    genome = tmp_path / "g.fa"
    genome.write_bytes((made / "genomes" / "ape.fa").read_bytes())
    command = [sys.executable, "-m", "seqmtl", "scan", made / "m.seqmtl", "-", "--organism", "ape"]
    with genome.open("rb") as stream:
        done = subprocess.run(
            [*command, "--format", "bed", "-o", genome],
            stdin=stream,
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    assert f"{genome} would overwrite the input standard input; choose another" in done.stderr
    assert genome.read_bytes() == (made / "genomes" / "ape.fa").read_bytes()


def test_a_model_may_be_calibrated_in_place_and_an_organism_may_be_called_as_a_file(
    made, seqmtl, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.seqmtl").write_bytes((made / "m.seqmtl").read_bytes())
    for _ in range(2):
        seqmtl(f"calibrate m.seqmtl {made}/don -o m.seqmtl")
        seqmtl(f"adapt m.seqmtl {made}/few.tsv --organism bee --like ape -o m.seqmtl")
        seqmtl(f"scan m.seqmtl {made}/genomes/ape.fa --organism ape -o ape --json ape.json")
        assert MultiTaskModel.load("m.seqmtl").tasks == ("ape", "man", "bee")
        (scan,) = json.loads((tmp_path / "ape.json").read_text())["scans"]
        assert scan["organism"] == "ape"
    assert (made / "m.seqmtl").read_bytes() != (tmp_path / "m.seqmtl").read_bytes()


def test_names_that_are_not_utf8_are_refused_before_the_work(made, seqmtl):
    name = os.fsdecode(b"m\xff.seqmtl")
    told = seqmtl(f"train {made}/don -o {name}", code=2).err
    assert r"'m\udcff.seqmtl' is not UTF-8" in told


def test_an_organism_called_all_is_that_one(made, seqmtl, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (made / "few.tsv").read_text()
    for name in ("all", "mean"):
        (tmp_path / f"{name}.tsv").write_text(text + text.split("\n", 1)[1].replace("bee", name))
    seqmtl(f"train all.tsv {TRAIN} -o m.seqmtl -q")
    seqmtl(f"scan m.seqmtl {made}/genomes/ape.fa --organism all -o x.bed -q")
    assert (tmp_path / "x.bed").exists()
    told = seqmtl("compare mean.tsv --methods union --json c.json -q", code=1).err
    assert "no organism may be called 'mean'" in told
