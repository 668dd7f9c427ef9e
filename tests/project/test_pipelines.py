"""The Snakemake workflow is clean and runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"


def _environment():
    """The tests' own seqmtl first on the path, as a command."""
    place = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def _run(command, folder):
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_snakemake_makes_tracks_and_a_report(tmp_path, seqmtl):
    snakemake = shutil.which("snakemake", path=_environment()["PATH"])
    if snakemake is None:
        pytest.skip("no snakemake here")
    tree = "\"('A. bee':0.1,b:0.1);\""
    seqmtl(f"simulate --tree {tree} --chromosome-length 60000 --no-windows -q -o {tmp_path}/sim")
    command = [
        snakemake,
        "--snakefile",
        PIPELINES / "snakemake" / "workflow" / "Snakefile",
        "--cores",
        "2",
        "--config",
        "dataset=sim/dataset.toml",
        "tree=sim/tree.nwk",
        "train=--features wd:3 -C 1 --selection none",
    ]
    lint = _run([*command, "--lint"], tmp_path)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    done = _run(command, tmp_path)
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
    assert (results / "scan" / "A. bee.introns.gff3").read_text().startswith("##gff-version 3")
    assert "paired" in (results / "paired" / "metrics.tsv").read_text()
