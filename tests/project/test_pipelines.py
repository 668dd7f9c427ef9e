"""The pipelines under examples: Snakemake runs, the others are checked against the commands."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seqmtl.cli.main import build_parser, parsers_of

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"


def _environment():
    """The tests' own seqmtl first on the path, as a command."""
    place = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def _options(command):
    """Long and short options of a command."""
    actions = parsers_of(build_parser())[command]._actions
    return {option for action in actions for option in action.option_strings}


def test_snakemake_makes_tracks_and_a_report(tmp_path, seqmtl):
    snakemake = shutil.which("snakemake", path=_environment()["PATH"])
    if snakemake is None:
        pytest.skip("no snakemake here")
    tree = "\"('A. bee':0.1,b:0.1);\""
    seqmtl(f"simulate --tree {tree} --chromosome-length 60000 --no-windows -q -o {tmp_path}/sim")
    command = [
        snakemake, "--snakefile", PIPELINES / "snakemake" / "Snakefile", "--cores", "2",
        "--config", "dataset=sim/dataset.toml",
        "train=--features wd:3 -C 1 --selection none --tree sim/tree.nwk",
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), cwd=tmp_path, env=_environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    logs = "\n".join(p.read_text() for p in (tmp_path / "results" / "logs").glob("*.log"))
    assert done.returncode == 0, f"{done.stderr}\n{logs}"
    results = tmp_path / "results"
    page = (results / "report.html").read_text()
    assert "Genome scans" in page
    assert "splice donors" in page
    metrics = json.loads((results / "acceptor" / "metrics.json").read_text())
    assert set(metrics["tasks"]) == {"A. bee", "b"}
    assert "ROC and precision-recall curves of donor" in page
    pyBigWig = pytest.importorskip("pyBigWig")
    with pyBigWig.open(str(results / "scan" / "acceptor.b.minus.bw")) as track:
        assert track.chroms() == {"chr1": 60_000, "chr2": 60_000, "chr3": 60_000}
        assert track.header()["nBasesCovered"] > 500
    lines = (results / "scan" / "A. bee.spsc").read_text().splitlines()
    assert {line.split("\t")[3] for line in lines if not line.startswith("#")} == {"A", "D"}


@pytest.mark.parametrize("name", ["train", "scan"])
def test_galaxy_wrappers_use_options_that_exist(name):
    tool = ElementTree.parse(PIPELINES / "galaxy" / f"seqmtl_{name}.xml").getroot()
    command = tool.findtext("command")
    assert f"seqmtl {name}" in command
    part = command.split("&&")[0]
    assert set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", part)) <= _options(name)
    inputs = {p.get("name") or p.get("argument").lstrip("-").replace("-", "_")
              for p in tool.find("inputs").iter("param")}  # fmt: skip
    used = set(re.findall(r"\$\{?(\w+)", command)) - {"GALAXY_SLOTS"}
    outputs = {data.get("name") for data in tool.find("outputs")}
    assert used <= inputs | outputs | {"organism"}  # the organism comes from the macros


def test_galaxy_wrappers_have_the_test_data_that_they_name(tmp_path, seqmtl):
    data = PIPELINES / "galaxy" / "test-data"
    model, windows, out = tmp_path / "model", data / "windows.tsv", tmp_path / "sites.bed"
    seqmtl(f"train {windows} -C 1 -q -o {model}")
    shown = seqmtl(f"evaluate {model} {windows} --split all -q").out
    assert re.match(r"organism\tn\tpositive\tauroc.*\n", shown)
    options = "--organism velia_alba --format bed -q"
    seqmtl(f"scan {data}/acceptor.seqmtl {data}/genome.fa {options} -o {out}")
    rows = [line.split("\t") for line in out.read_text().splitlines() if line[0] != "#"]
    assert rows
    assert {len(row) for row in rows} == {8}


@pytest.mark.parametrize("command", ["dataset", "train", "calibrate", "scan", "variants"])
def test_nextflow_processes_use_options_that_exist(command):
    text = (PIPELINES / "nextflow" / "seqmtl.nf").read_text()
    calls = re.findall(rf"seqmtl {command} ((?:[^\n\\]|\\\n)*)", text)
    assert calls
    for call in calls:
        assert set(re.findall(r"(?<=\s)--?[a-z][\w-]*", f" {call}")) <= _options(command)
    assert text.count("{") == text.count("}")
    assert len(re.findall(r"^process SEQMTL_", text, re.M)) == 5
