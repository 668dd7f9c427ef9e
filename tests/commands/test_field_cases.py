"""Files and habits of public reports, in the folder `field_cases2` of the real data.

A test is named after its case, whose `expected.md` has the source, and what is right and why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from seqmtl import MultiTaskModel

PLAIN = "--selection none --features spectrum:1-4 --threads 1 -o m.seqmtl"


@pytest.fixture(autouse=True)
def folder(request, shared_data, tmp_path, monkeypatch):
    """Change to a copy of the folder of the case."""
    case = request.node.originalname.removeprefix("test_")
    monkeypatch.chdir(shutil.copytree(shared_data / "field_cases2" / case, tmp_path / "case"))
    os.chmod(".", 0o755)  # the data may be read-only
    return Path()


def trained() -> MultiTaskModel:
    return MultiTaskModel.load("m.seqmtl")


def labels_of(dataset: str) -> Counter:
    """Count the labels of a dataset."""
    lines = Path(dataset, "windows.tsv").read_text().splitlines()
    column = lines[0].split("\t").index("label")
    return Counter(line.split("\t")[column] for line in lines[1:])


def auroc(file: str) -> float:
    return json.loads(Path(file).read_text())["mean"]["auroc"]


def test_bed_strand_star(seqmtl):
    seqmtl(f"train p.bed --reference g.fa {PLAIN}")
    expected, text = trained().W, Path("p.bed").read_text()
    assert "\t*" in text
    Path("p.bed").write_text(text.replace("\t*", "\t."))
    seqmtl(f"train p.bed --reference g.fa {PLAIN}")
    np.testing.assert_array_equal(trained().W, expected)


def test_comment_and_header_lines(seqmtl):
    seqmtl(f"train w.csv {PLAIN}")
    error = seqmtl(f"train p.bed --reference g.fa {PLAIN}", 1).err
    assert re.search(r"p\.bed:1: .*header.*; remove the line, or begin it with #", error)


@pytest.mark.parametrize(
    ("file", "fault"),
    [("d.csv", "comma"), ("mash.tsv", "mash dist: cut -f1-3"), ("phylip.dist", "PHYLIP")],
)
def test_distances_csv_and_mash(seqmtl, file, fault):
    assert re.search(
        f"{file}.*{fault}", seqmtl(f"similarity --source distances={file} -o K.tsv", 1).err
    )


def test_fasta_organism_with_blank(seqmtl):
    seqmtl(f"train w.fa {PLAIN}")
    assert trained().tasks == ("Drosophila melanogaster", "Drosophila simulans")


def test_fasta_split_in_headers(seqmtl):
    seqmtl(f"train w.fa --split train {PLAIN}")
    assert trained().training["tasks"]["task"]["n"] == 30
    assert "nonsense" in seqmtl(f"train w.fa --split nonsense {PLAIN}", 2).err


def test_hints_of_coverage_1(seqmtl):
    assert "min_reads = 1" in seqmtl("dataset d.toml -o out --threads 1", 1).err


def test_label_float(seqmtl):
    seqmtl(f"train w.csv {PLAIN}")
    wrong = Path("w.csv").read_text().replace("1.0", "0.8")
    Path("w.csv").write_text(wrong)
    assert "0.8" in seqmtl(f"train w.csv {PLAIN}", 1).err


def test_macs_call_summits_repeats(seqmtl):
    rows = [line.split("\t")[:3] for line in Path("p.narrowPeak").read_text().splitlines()]
    n_repeated = len(rows) - len(set(map(tuple, rows)))
    log = seqmtl(f"train p.narrowPeak --reference g.fa {PLAIN}").err
    assert re.search(rf"warning.*\b{n_repeated} of {len(rows)} intervals", log)


def test_macs_summits_window(seqmtl):
    log = seqmtl(f"train summits.bed --reference g.fa --window 200 {PLAIN}").err
    assert "there are fewer negatives" in log  # than positives, which are the islands of GC
    environment = os.environ | {"NUMBA_NUM_THREADS": "1"}
    lines = subprocess.run(
        [sys.executable, "check.py"], capture_output=True, text=True, check=True, env=environment
    ).stdout.splitlines()
    positives, negatives = map(float, re.findall(r"0\.\d+", lines[0]))
    assert positives > negatives > 0.55  # 0.40 in the genome
    assert re.search("overlap a positive: 0 of [1-9]", lines[1])


def test_mpra_constant_adapters(seqmtl):
    log = seqmtl("train p.fa --negatives n.fa --threads 1 -o m.seqmtl").err
    assert "adapter" in log
    assert trained().features.is_position_free


def test_name_with_slash(seqmtl):
    data = "K562/CTCF=p.fa --negatives K562/CTCF=n.fa"
    assert "write K562_CTCF=p.fa" in seqmtl(f"train {data} {PLAIN}", 2).err


def test_ncbi_pseudogene_tss(seqmtl):
    for signal in ("tss", "polya"):
        log = seqmtl(f"dataset {signal}.toml -o {signal} --threads 1").err
        assert labels_of(signal)["1"] == 14
        assert re.search("warning.*pseudogene", log)


def test_negatives_over_held_out_peaks(seqmtl):
    evaluate = "evaluate m.seqmtl test.bed --reference g.fa --threads 1"
    seqmtl(f"train train.bed --reference g.fa {PLAIN}")
    assert re.search("warning: .*drawn negatives.*--exclude", seqmtl(evaluate).err)
    seqmtl(f"train train.bed --reference g.fa --exclude test.bed {PLAIN}")
    assert "drawn negatives" not in seqmtl(f"{evaluate} --exclude train.bed").err


def test_numba_cache_truncated(tmp_path):
    cache = tmp_path / "cache"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "seqmtl", "train", "w.csv", *PLAIN.split(), "-q"]
    subprocess.run(command, check=True, env=environment)
    expected = trained().W
    for file in cache.rglob("*.nbi"):
        os.truncate(file, 0)
    subprocess.run(command, check=True, env=environment)
    np.testing.assert_array_equal(trained().W, expected)


@pytest.mark.parametrize(("signal", "expected"), [("donor", 56), ("stop", 28)])
def test_ok_braker582_no_gene_rows(seqmtl, signal, expected):
    seqmtl(f"dataset {signal}.toml -o out --threads 1")
    assert labels_of("out")["1"] == expected - (signal == "donor")


def test_ok_contig_names_of_three_columns(seqmtl):
    assert re.search(r"chromAlias\.txt:2: .*two columns", seqmtl("dataset d.toml -o out", 1).err)


@pytest.mark.parametrize(("signal", "expected"), [("donor", 56), ("start", 28)])
def test_ok_gemoma_prediction(seqmtl, signal, expected):
    seqmtl(f"dataset {signal}.toml -o out --threads 1")
    assert labels_of("out")["1"] == expected - (signal == "donor")


@pytest.mark.parametrize("signal", ["tss", "start"])
def test_ok_tair10_protein_parent(seqmtl, signal):
    seqmtl(f"dataset {signal}.toml -o out --threads 1")
    assert labels_of("out")["1"] == 28


def test_protein_alignment(seqmtl):
    assert re.search(
        "prot.fa.*protein", seqmtl("similarity --source alignment=prot.fa -o K.tsv", 1).err
    )


def test_taskarray_frame_column_order():
    pytest.importorskip("pandas")
    output = subprocess.run([sys.executable, "run.py"], capture_output=True, text=True)
    assert "feature_names_in_ ['u' 'v' 'w']" in output.stdout
    assert "same order" not in output.stdout
    assert "must be in the same order as they were in fit" in output.stderr


def test_toml_byte_order_mark(seqmtl):
    seqmtl("dataset d.toml -o out --threads 1")
    Path("plain.toml").write_text(Path("d.toml").read_text(encoding="utf-8-sig"))
    seqmtl("dataset plain.toml -o plain --threads 1")
    assert labels_of("out") == labels_of("plain") != Counter()


@pytest.mark.parametrize("option", ["", "--organisms human,chicken"])
def test_tree_two_leaves_one_organism(seqmtl, option):
    error = seqmtl(f"similarity --tree t.nwk {option} -o K.tsv", 1).err
    assert "Homo_sapiens" in error
    assert "Human" in error


def test_window_of_training_is_not_used(seqmtl):
    options = "--selection none --features spectrum:1-6 --threads 1 -o m.seqmtl"
    seqmtl(f"train train.bed --reference g.fa --window 200 {options}")
    for file in ("test.bed", "test.narrowPeak", "test200.bed"):
        seqmtl(f"evaluate m.seqmtl {file} --reference g.fa --threads 1 --json {file}.json")
    assert auroc("test.bed.json") > 0.9
    assert auroc("test.narrowPeak.json") == auroc("test.bed.json")
    assert auroc("test200.bed.json") == auroc("test.bed.json")


@pytest.mark.parametrize(
    ("file", "kind"), [("r.fq", "FASTQ"), ("t.json", "JSON"), ("t.jsonl", "JSON")]
)
def test_windows_of_other_formats(seqmtl, file, kind):
    assert re.search(f"{file}.*{kind}", seqmtl(f"train {file} --threads 1 -o m.seqmtl", 1).err)
