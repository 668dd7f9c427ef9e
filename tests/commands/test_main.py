"""The commands, run in-process as a user would."""

from __future__ import annotations

import html
import json
import shlex
import subprocess

import numpy as np
import pytest

from seqmtl import MultiTaskModel, read_dataset
from seqmtl.commands.main import main
from seqmtl.io.annotation import read_annotation
from seqmtl.linear_model.site import Site
from tests.invocation import run, write_windows
from tests.linear_model.cases import motif_windows

QUICK = "--window 61 --features wd:3"


@pytest.fixture(scope="module")
def table(world):
    return world.simulation / "windows.tsv.gz"


@pytest.fixture(scope="module")
def model(world, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("main") / "model.seqmtl"
    options = f"--tree {world.simulation}/tree.nwk --window 61 --features wd:4 --selection none"
    run(f"train {table} {options} -o {path}")
    return path


def test_predict_tells_which_windows_have_lost_their_site(model, tmp_path, write, seqmtl):
    trained = MultiTaskModel.load(model)
    site, length = trained.site, trained.length
    assert site.letters
    whole = "A" * site.offset + site.letters + "C" * (length - site.offset - 2)
    lost = whole[: site.offset] + "N" + whole[site.offset + 1 :]
    path = write(f"name\torganism\tsequence\nkept\ta\t{whole}\nlost\ta\t{lost}\n", "two.tsv")
    shown = seqmtl(f"predict {model} {path} -q")
    assert [line.split("\t")[4] for line in shown.out.splitlines()[1:]] == ["yes", "no"]
    assert "1 of 2 windows lack the letters of the model's sites" in shown.err


def test_a_bed_of_sites_is_made_into_a_dataset_trained_and_evaluated(world, tmp_path, seqmtl):
    text = 'signal = "acceptor"\nwindow = 61\n[decoys]\nratio = 5\n[split]\nblock = 3000\n'
    sites = {}
    for name in "ab":
        bed, rows = tmp_path / f"{name}.bed", {("chr1", 300, 302, "decoy", 0, "+")}
        for transcript in read_annotation(f"{world.simulation}/annotation/{name}.gff3").transcripts:
            for start, end in transcript.introns:
                first, strand = (start, "-") if transcript.is_reverse else (end - 2, "+")
                rows.add((transcript.contig, first, first + 2, ".", 1, strand))
        bed.write_text("".join("\t".join(map(str, row)) + "\n" for row in sorted(rows)))
        sites[name] = len(rows) - 1
        genome = world.simulation / "genomes" / f"{name}.fa"
        text += f'[organisms.{name}]\ngenome = "{genome}"\nsites = "{bed}"\n'
    (tmp_path / "sites.toml").write_text(text)
    told = seqmtl(f"dataset {tmp_path}/sites.toml -o {tmp_path}/ds").err
    assert told.count("records with score 0 are decoys, not sites") == 2
    windows = read_dataset(tmp_path / "ds")
    for name, n in sites.items():
        labels = windows.labels[np.array(windows.tasks) == name]
        assert 0.8 * n <= (labels > 0).sum() <= n
        assert (labels < 0).sum() == 5 * (labels > 0).sum()
    seqmtl(f"train {tmp_path}/ds --features wd:3 --selection none -o {tmp_path}/m -q")
    trained = MultiTaskModel.load(tmp_path / "m")
    assert trained.site == Site(29, 2, "AG", "acceptor")
    assert trained.training["dataset"]["signal"] == "acceptor"
    seqmtl(f"evaluate {tmp_path}/m {tmp_path}/ds --json {tmp_path}/metrics.json -q")
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert set(found["tasks"]) == {"a", "b"}
    assert found["mean"]["auroc"] > 0.7
    assert "auprc_genome" in found["mean"]


def test_info_tells_how_far_training_came(model, tmp_path, seqmtl):
    shown = seqmtl(f"info {model} --json {tmp_path}/x.json").out
    assert shown.startswith("model ")
    text = (tmp_path / "x.json").read_text()
    assert text == seqmtl(f"info {model} --json -").out
    assert "would overwrite the input" in seqmtl(f"info {model} --json {model}", 1).err
    summary = json.loads(text)
    assert summary["duality_gap"] <= 1e-3
    assert summary["epochs"] >= 1
    assert "duality gap" in shown
    assert not (model.parent / "model.seqmtl.checkpoint").exists()


def test_a_split_and_a_shifted_window_are_remembered(table, tmp_path, seqmtl):
    seqmtl(f"train {table} --window 41 --shift 7 --features wd:2 -o {tmp_path}/m -q")
    trained = MultiTaskModel.load(tmp_path / "m")
    assert trained.shift == 7
    assert trained.site.offset == 99 - ((200 - 41) // 2 + 7)
    seqmtl(f"evaluate {tmp_path}/m {table} -q")
    seqmtl(f"train {table} --split all {QUICK} --selection none -o {tmp_path}/all -q")
    assert MultiTaskModel.load(tmp_path / "all").training["tasks"]["a"]["n"] > 200
    assert "the model was trained on" in seqmtl(f"evaluate {tmp_path}/all {table} -q").err


def test_stopping_early_is_exit_code_3(tmp_path, seqmtl):
    table = write_windows(tmp_path / "w.tsv", motif_windows(300, ("a", "b"), length=20, at=8))
    command = f"train {table} --site 8 --features wd:1 --selection none -o {tmp_path}/m"
    shown = seqmtl(f"{command} -C 1e9", 3).err
    assert "not converged to the tolerance 0.001; lower the cost -C" in shown
    assert "no option --log-json; messages are lines" in seqmtl(f"{command} --log-json", 2).err


def test_features_say_how_they_are_hashed(table, tmp_path, seqmtl):
    options = f"--window 60 --features wd:2,hash:9+wd:3 --selection none -q -o {tmp_path}/m"
    seqmtl(f"train {table} {options}")
    line = "features       wd:2,hash:9 + wd:3, 5,552 weights"
    assert line in seqmtl(f"info {tmp_path}/m").out.splitlines()


def test_the_help_of_train_fits_one_screen(seqmtl, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = seqmtl("train --help").out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    grammar = "the K1-mers to K2-mers in bins of W positions"
    assert grammar in seqmtl("train --features help -o m").out
    assert grammar in seqmtl("train d --features wd -o m", 2).err


def introns_of(path):
    """Return the introns of a GFF3 file: contig, first and last base, 1-based."""
    found, before = set(), {}
    rows = (line.split("\t") for line in path.read_text().splitlines() if line[0] != "#")
    for row in sorted((row for row in rows if row[2] == "exon"), key=lambda row: int(row[3])):
        parent = row[8].partition("Parent=")[2]
        if parent in before:
            found.add((row[0], before[parent] + 1, int(row[3]) - 1))
        before[parent] = int(row[4])
    return found


def test_demo_runs_commands_that_can_be_copied(tmp_path, seqmtl):
    folder = tmp_path / "my demo"
    lines = seqmtl(f"demo -o '{folder}'").out.splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("seqmtl ")]
    assert [words[1] for words in commands] == [
        "simulate",
        *["dataset", "train", "calibrate"] * 2,
        "pair",
        "annotate",
        "evaluate",
        "report",
    ]
    comments = [line for line in lines if line.startswith("# ")]
    assert comments[2] == "# the new genome, without labels"
    true = introns_of(folder / "annotation/brunia_parva.gff3")
    rows = (folder / "brunia_parva/sites.introns.gff3").read_text().splitlines()
    rows = [row.split("\t") for row in rows if row[0] != "#"]
    found = {(row[0], int(row[3]), int(row[4])) for row in rows if float(row[5]) >= 0.5}
    n = len(found & true)
    assert min(n / len(found), n / len(true)) > 0.75
    called = f"brunia_parva: {len(found)} introns predicted (p >= 0.5); {n} of the {len(true)} "
    called += "introns in brunia_parva.gff3 are among them."
    assert called in lines
    signals = json.loads((folder / "pair.json").read_text())["signals"]
    for signal, own in signals.items():
        (line,) = (line for line in lines if line.startswith(f"Splice {signal}s "))
        alone, paired = (own[way]["mean"]["auprc_genome"] for way in ("alone", "paired"))
        assert f"(genome) {paired:.3f} (" in line
        assert f" paired, {alone:.3f} (" in line
        assert paired > alone
    assert lines[-2].startswith(f"{folder}/brunia_parva/report.html: ")
    assert lines[-1].startswith(f"{folder}/report.html: ")
    assert "brunia_parva" not in (folder / "relatives.toml").read_text()
    assert "brunia_parva" not in json.loads((folder / "donors/summary.json").read_text())["genomes"]
    page = (folder / "report.html").read_text()
    assert called in html.unescape(page)
    for name in ("paired", "Rounds of self-training"):
        assert name in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    # a command as it was shown does what the demo did
    (edit,) = (line for line in lines if line.startswith("(sed"))
    text = (folder / "relatives.toml").read_text()
    subprocess.run(["sh", "-c", edit], check=True)
    assert (folder / "relatives.toml").read_text() == text
    (folder / "report.html").unlink()
    assert main(commands[-1][1:]) == 0
    assert (folder / "report.html").exists()


def test_a_quiet_demo_stops_at_the_first_command_that_fails(tmp_path, seqmtl):
    (tmp_path / "genomes").mkdir()
    (tmp_path / "genomes" / "stranger.fa").write_text(">a\nACGT\n")
    shown = seqmtl(f"demo -o {tmp_path} -q", 1)
    assert shown.out == ""
    assert shown.err.count("error") == 1
    assert "stranger.fa" in shown.err
    assert not (tmp_path / "donors").exists()


def test_a_checkpoint_outlives_a_model_that_cannot_be_written(table, tmp_path, seqmtl, monkeypatch):
    path, command = tmp_path / "m.seqmtl", f"train {table} {QUICK} -o {tmp_path}/m.seqmtl"

    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MultiTaskModel, "save", full)
    assert "No space left" in seqmtl(command, 1).err
    assert [p.name for p in tmp_path.iterdir()] == ["m.seqmtl.checkpoint"]
    monkeypatch.undo()
    seqmtl(f"{command} --resume")
    trained = MultiTaskModel.load(path)
    assert [h["epoch"] for h in trained.training["history"]][-1] == trained.training["n_epochs"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.seqmtl"]


def test_an_error_of_the_data_names_its_file(model, write, tmp_path, seqmtl):
    wolf = write("organism\tsequence\n" + "wolf\t" + "A" * 61 + "\n", "wolves.tsv")
    shown = seqmtl(f"predict {model} {wolf} -o {tmp_path}/s.tsv -q", 1).err
    assert shown.startswith(f"seqmtl: error: {wolf}: task 'wolf' ")
    short = write("organism\tsequence\na\tACGT\n", "short.tsv")
    shown = seqmtl(f"predict {model} {short} -o {tmp_path}/s.tsv -q", 1).err
    assert shown.count("short.tsv") == 1


def test_the_functions_of_python_do_what_the_commands_do(model, table, tmp_path, seqmtl):
    import seqmtl as package

    shown = seqmtl(f"predict {model} {table} -q").out.splitlines()
    columns = package.predict(model, table)
    assert list(columns) == shown[0].split("\t")
    assert [f"{value:.6g}" for value in columns["score"]] == [
        line.split("\t")[2] for line in shown[1:]
    ]
    trained = package.train(
        table, output=tmp_path / "m", window=31, features="wd:2", C=1, selection="none"
    )
    assert trained.training["command"].startswith(f"seqmtl.train(data='{table}', window=31, ")
    with pytest.raises(ValueError, match="C must be a finite number above 0, got 0"):
        package.train(table, output=tmp_path / "m", C=0)
