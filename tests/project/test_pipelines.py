"""The Snakemake workflow runs: it trains, scans, reports, and repeats what was interrupted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqmtl

SNAKEFILE = Path(__file__).resolve().parents[2] / "examples/pipelines/snakemake/workflow/Snakefile"
PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module", autouse=True)
def _snakemake():
    pytest.importorskip("snakemake")


def _as_from_a_terminal():
    """Heed Ctrl-C, which programs that a shell has put into the background ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _start(folder, **settings):
    """Start the workflow in a folder, as the leader of a group of processes."""
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.Popen(
        [PROGRAMS / "snakemake", "--snakefile", SNAKEFILE, "--cores", "2"]
        + ["--rerun-incomplete", "--config"]
        + [f"{name}={value}" for name, value in settings.items()],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_as_from_a_terminal,
    )


def _run(folder, **settings):
    """Run the workflow to its end; return its messages, and the logs of the steps."""
    workflow = _start(folder, **settings)
    printed, _ = workflow.communicate()
    logs = [path.read_text() for path in folder.glob("*/logs/*.log")]
    return workflow.returncode, "\n".join([printed, *logs])


def test_annotated_genomes_become_models_tracks_introns_and_a_report(tmp_path):
    seqmtl.simulate(
        tree="('A. bee':0.1,b:0.1);",
        chromosome_length=60_000,
        output=tmp_path / "sim",
    )
    config = tmp_path / "sim" / "dataset.toml"
    few = "\nwindow = 81\n[decoys]\nratio = 3\n\n"
    config.write_text(config.read_text().replace("\n\n", few, 1))
    genome = tmp_path / "more" / "c.fa"
    genome.parent.mkdir()
    genome.write_bytes((tmp_path / "sim" / "genomes" / "b.fa").read_bytes())
    (tmp_path / "genomes.txt").write_text("more/c.fa\t--organism b\n")
    code, messages = _run(
        tmp_path,
        dataset="sim/dataset.toml",
        tree="sim/tree.nwk",
        train="--features wd:3 -C 1 --selection none",
        genomes="genomes.txt",
        model="results/paired/splice.seqmtl",
        scan="--format introns",
        suffix="gff3",
    )
    assert code == 0, messages
    results = tmp_path / "results"
    page = (results / "report.html").read_text()
    assert "splice donors" in page
    assert "ROC and precision-recall curves of donor" in page
    metrics = json.loads((results / "acceptor" / "metrics.json").read_text())
    assert set(metrics["tasks"]) == {"A. bee", "b"}
    assert min(task["auroc"] for task in metrics["tasks"].values()) > 0.9
    assert "paired" in (results / "paired" / "metrics.tsv").read_text()
    pyBigWig = pytest.importorskip("pyBigWig")
    with pyBigWig.open(str(results / "scan" / "acceptor.b.minus.bw")) as track:
        assert track.chroms() == {"chr1": 60_000, "chr2": 60_000, "chr3": 60_000}
        assert track.header()["nBasesCovered"] > 500
    lines = (results / "scan" / "A. bee.spsc").read_text().splitlines()
    assert {line.split("\t")[3] for line in lines if not line.startswith("#")} == {"A", "D"}
    introns = (results / "scan" / "b.introns.gff3").read_bytes()
    assert introns.count(b"\tintron\t") > 100
    assert (results / "genomes" / "c.gff3").read_bytes() == introns  # the same genome and model


def test_a_step_that_was_interrupted_is_repeated_and_no_other(tmp_path):
    rng = np.random.default_rng(0)
    a, b = (f">chr1\n{''.join(rng.choice(list('ACGT'), 5_000))}\n" for _ in "ab")
    (tmp_path / "a.fa").write_text(a)
    pipe = tmp_path / "b.fa"
    os.mkfifo(pipe)  # its scan waits for letters until it is interrupted
    (tmp_path / "genomes.txt").write_text("a.fa\nb.fa\t--threshold 0\n")
    settings = {
        "genomes": "genomes.txt",
        "model": "starter:donor",
        "scan": "--like Drosophila --top 200",
    }
    made = tmp_path / "results" / "genomes"
    workflow = _start(tmp_path, **settings)
    with open(pipe, "w") as letters:
        letters.write(b[:3_000])
        letters.flush()
        printed = ""
        while "1 of 3 steps" not in printed:  # that of the other genome
            line = workflow.stdout.readline()
            assert line, printed
            printed += line
        os.killpg(workflow.pid, signal.SIGINT)
        printed += workflow.communicate()[0]
    assert workflow.returncode == 1, printed
    assert [path.name for path in made.glob("*.bed")] == ["a.bed"]
    of_a = (made / "a.bed").stat()

    pipe.unlink()
    pipe.write_text(b)
    code, messages = _run(tmp_path, **settings)
    assert code == 0, messages
    assert sorted(path.name for path in made.iterdir()) == ["a.bed", "b.bed"]
    assert (made / "a.bed").stat() == of_a
    for name, options in {"a": {}, "b": {"threshold": 0}}.items():
        fasta, expected = tmp_path / f"{name}.fa", tmp_path / f"{name}.bed"
        seqmtl.scan("starter:donor", fasta, like="Drosophila", top=200, output=expected, **options)
        assert (made / f"{name}.bed").read_bytes() == expected.read_bytes()


def test_settings_that_miss_something_are_refused(tmp_path):
    (tmp_path / "genomes.txt").write_text("x/a.fa.gz\ny/a.fa\n")
    for settings, message in (
        ({}, "set dataset or genomes"),
        ({"genomes": "genomes.txt", "model": "starter:donor"}, "two genomes are named a; rename"),
    ):
        code, messages = _run(tmp_path, **settings)
        assert code == 1
        assert message in messages
