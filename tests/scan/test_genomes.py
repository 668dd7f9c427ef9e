"""Many genomes and models in one call: the files of single scans, whatever is done where."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import ExitStack

import pytest

from seqmtl.files import resumable
from seqmtl.files.atomic import claimed
from seqmtl.scan import SiteFinder, run
from tests.scan.cases import make_genome, make_model

GENOMES = {"a": "man", "b": "fly", "c": "man"}
KINDS = {"bed": ".bed.gz", "bigwig": ".bw", "spsc": ".spsc"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("genomes")
    make_model(folder / "m1.seqmtl")
    make_model(folder / "m2.seqmtl", letters="AG", signal="acceptor", seed=3)
    (folder / "fasta").mkdir()
    for number, name in enumerate(GENOMES):
        make_genome(folder / "fasta" / f"{name}.fa", {"c1": 4_000, "c2": 900}, seed=number)
    rows = [f"fasta/{name}.fa\t{organism}\n" for name, organism in GENOMES.items()]
    (folder / "genomes.tsv").write_text("genome\torganism\n" + "".join(rows))
    return folder


@pytest.fixture
def scan(folder, tmp_path, seqmtl):
    """Return a function that scans to a folder, and returns it and the messages."""

    def run(options="", out="out", code=0, *, of=folder, table="genomes.tsv", models=("m1",)):
        first, *more = (f"{of}/{model}.seqmtl" for model in models)
        files = f"{first} --genomes {of}/{table} {' '.join(more)} -o {tmp_path / out}"
        return tmp_path / out, seqmtl(f"scan {files} {options}", code).err

    return run


def contents(out):
    """Return the files but summaries, and of these what does not tell of time or place."""
    found = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".json"}
    for path in out.glob("*.json"):
        summary = json.loads(path.read_text())
        (entry,) = summary["scans"]
        entry["files"] = [os.path.basename(name) for name in entry["files"]]
        left_out = ("seconds", "megabases_per_second")
        entry = {key: value for key, value in entry.items() if key not in left_out}
        found[path.name] = entry, summary["options"], summary.get("fingerprint")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_those_of_single_scans(folder, tmp_path, scan, seqmtl, kind):
    options = f"--format {kind} --top 400"
    found = contents(scan(options, models=("m1", "m2"))[0])
    (tmp_path / "single").mkdir()
    for model in ("m1", "m2"):
        for name, organism in GENOMES.items():
            stem = tmp_path / "single" / f"{name}.{model}"
            files = f"{folder}/{model}.seqmtl {folder}/fasta/{name}.fa --organism {organism}"
            seqmtl(f"scan {files} -o {stem}{KINDS[kind]} --json {stem}.json {options}")
    expected = contents(tmp_path / "single")
    assert set(found) == set(expected)
    assert len(expected) == 6 * (2 if kind == "spsc" else 3)
    for name, content in expected.items():
        assert found[name][:2] == content[:2] if name.endswith(".json") else found[name] == content


def test_workers_write_the_same(scan):
    here, _ = scan("--threads 1", "here", models=("m1", "m2"))
    there, told = scan("--log-json --dask local:2", "there", models=("m1", "m2"))
    assert contents(there) == contents(here)
    lines = [json.loads(line) for line in told.splitlines()]
    done = [line for line in lines if "n_done" in line]
    assert [line["n_done"] for line in done] == list(range(1, 7))
    assert {line["worker"] for line in done} <= {"0", "1"}
    assert {os.path.basename(*line["files"]) for line in done} == {
        path.name for path in here.glob("*.bed.gz")
    }
    assert all(" done, about " in line["message"] for line in done)


def test_rows_name_organism_place_name_and_model(folder, tmp_path, scan, seqmtl):
    text = (
        "# comment\n"
        "genome\tname\tlike\torganism\tmodel\n\n"
        "fasta/a.fa\tnew\tman\t\t\n"
        f"{folder}/fasta/a.fa\t\t\t\tm2.seqmtl\n"
    )
    (folder / "named.tsv").write_text(text)
    out, _ = scan("--organism fly", table="named.tsv")
    fly, man = out / "a.json", out / "new.json"
    assert json.loads(fly.read_text())["model"] == str(folder / "m2.seqmtl")
    assert json.loads(fly.read_text())["scans"][0]["organism"] == "fly"
    seqmtl(f"scan {folder}/m1.seqmtl {folder}/fasta/a.fa --like man -o {tmp_path}/x.bed.gz")
    assert json.loads(man.read_text())["options"]["like"] == "man"
    assert (out / "new.bed.gz").read_bytes() == (tmp_path / "x.bed.gz").read_bytes()


def test_all_faults_are_named_before_anything_is_scanned(folder, scan):
    rows = [
        ("fasta/a.fa", "man", "", ""),
        ("gone.fa", "man", "", ""),
        ("fasta/b.fa", "woman", "", ""),
        ("fasta/a.fa", "fly", "", ""),
        ("fasta/c.fa", "", "", ""),
        ("fasta/c.fa", "man", "x/y", ""),
        ("fasta/c.fa", "man", "z", "gone.seqmtl"),
        ("fasta/c.fa", "all", "every", ""),
    ]
    lines = ["genome\torganism\tname\tmodel", *("\t".join(row) for row in rows)]
    (folder / "bad.tsv").write_text("\n".join(lines) + "\n")
    out, error = scan(table="bad.tsv", code=1)
    for part in (
        "bad.tsv: line 3: ",
        "gone.fa is not there",
        "line 4: task 'woman' is not in this model",
        "line 5: a.json is also written for line 2 with ",
        "line 6: the model has 2 organisms; name one in the column organism or like",
        "line 7: 'x/y' is no name of a file",
        "line 8: ",
        "gone.seqmtl",
        "line 9: give every organism a row of its own",
    ):
        assert part in error
    assert "line 2: " not in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "must name its columns, genome and any of organism, like, name, model"),
        ("genome\torgan\nx\ty\n", "got genome, organ"),
        ("organism\nman\n", "separated by tabs, got organism"),
        ("genome\tname\tname\na\tb\tc\n", "must name its columns"),
        ("genome\n", "must have a row for every genome, got none"),
        ("genome\tname\nx\n", "2: a row must have 2 fields like the header, got 1"),
    ],
)
def test_a_table_that_is_none(folder, scan, text, error):
    (folder / "none.tsv").write_text(text)
    _, message = scan(table="none.tsv", code=1)
    assert "none.tsv" in message
    assert error in message


def test_what_is_complete_is_not_done_again(scan):
    out, _ = scan()
    times = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert "3 of 3 scans are complete" in scan()[1]
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == times
    (out / "b.bed.gz").unlink()
    (out / "c.json").write_text("{")
    assert "1 of 3 scans are complete" in scan()[1]
    assert (out / "a.bed.gz").stat().st_mtime_ns == times["a.bed.gz"]
    whole = (out / "a.bed.gz").read_bytes()
    (out / "a.bed.gz").write_bytes(whole[:100])  # as a copy that was broken off
    assert "2 of 3 scans are complete" in scan()[1]
    assert (out / "a.bed.gz").read_bytes() == whole
    assert "are complete" not in scan("--threshold 0")[1]
    assert contents(out) == contents(scan("--threshold 0", "new")[0])


def test_another_genome_or_model_is_scanned_again(folder, tmp_path, scan):
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    out, _ = scan(of=mine)
    make_genome(mine / "fasta" / "b.fa", {"c1": 4_000, "c2": 900}, seed=9)
    assert "2 of 3 scans are complete" in scan(of=mine)[1]
    make_model(mine / "m1.seqmtl", seed=5)
    assert "are complete" not in scan(of=mine)[1]
    assert contents(out) == contents(scan(out="new", of=mine)[0])


def test_an_interrupted_scan_goes_on(scan, monkeypatch):
    monkeypatch.setattr(run, "JOURNAL_SECONDS", 0.0)
    monkeypatch.setattr(SiteFinder, "block", 750)
    expected = contents(scan("--threads 1", "whole")[0])
    write, restore, lines, restored = resumable.Journal.write, run.Run._restore, [], []

    def interrupted(self, line):
        write(self, line)
        lines.append(line)
        if len(lines) == 15:
            raise KeyboardInterrupt

    monkeypatch.setattr(resumable.Journal, "write", interrupted)
    monkeypatch.setattr(
        run.Run, "_restore", lambda self, step: (restored.append(step), restore(self, step))
    )
    out, told = scan("--threads 1", code=130)
    assert "interrupted; repeat the command to go on" in told
    assert len(list(out.glob("*.json"))) == 1
    assert len(list(out.glob("*.partial.journal"))) == 1
    scan("--threads 1")
    assert len(restored) == 1
    assert contents(out) == expected


def test_another_tree_makes_another_scan(folder, tmp_path, scan):
    tree = tmp_path / "tree.nwk"
    table = "genome\tlike\n" + "fasta/a.fa\tcat\n"
    (folder / "like.tsv").write_text(table)
    found = []
    for near, far in (("man", "fly"), ("fly", "man")):
        tree.write_text(f"((cat:0.1,{near}:0.1):0.9,{far}:1);\n")
        out, told = scan(f"--tree {tree}", table="like.tsv")
        assert "are complete" not in told
        found.append(contents(out)["a.bed.gz"])
    assert found[0] != found[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_scan_waits_for_another_that_writes_the_same(tmp_path, monkeypatch, kind, scan):
    out = tmp_path / "out"
    out.mkdir()
    name = {"bigwig": "a.plus.bw"}.get(kind, f"a{KINDS[kind]}")
    with ExitStack() as other:
        other.enter_context(claimed(out / name))
        monkeypatch.setattr(time, "sleep", lambda _: other.close())
        _, told = scan(f"--format {kind}")
    assert told.count("is being written by another run") == 1
    assert len(list(out.glob("*.json"))) == 3


def test_a_faulty_genome_does_not_keep_the_others_from_being_scanned(folder, tmp_path, scan):
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    (mine / "fasta" / "b.fa").write_text("no FASTA\n")
    out, error = scan(code=1, of=mine)
    assert "b failed: " in error
    assert "1 of 3 scans failed, the first with: " in error
    assert {path.stem for path in out.glob("*.json")} == {"a", "c"}
    shutil.copy(folder / "fasta" / "b.fa", mine / "fasta" / "b.fa")
    assert "2 of 3 scans are complete" in scan(of=mine)[1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--contigs c1", "--contigs is for one genome"),
        ("--regions x.bed", "--regions is for one genome"),
        ("--json x.json", "which writes a summary of every scan"),
        ("--resume", "goes on where it was stopped; leave it out"),
        ("--format introns", "introns need a model of seqmtl pair"),
    ],
)
def test_options_that_are_not_for_many(scan, options, error):
    code = 1 if "--format" in options else 2  # the table's lines may name other models
    out, told = scan(options, code=code)
    assert error in told
    assert not out.exists()


def test_one_genome_needs_a_fasta_and_takes_one_model(folder, tmp_path, seqmtl):
    model, fasta, out = f"{folder}/m1.seqmtl", f"{folder}/fasta/a.fa", f"-o {tmp_path}/x.bed"
    told = seqmtl(f"scan {model} {out}", 2).err
    assert "the following arguments are required: FASTA" in told
    seqmtl(f"scan {model} --organism man {fasta} {out}")
    told = seqmtl(f"scan {model} {fasta} {fasta} {out}", 2).err
    assert "several models are for many genomes; give --genomes" in told
