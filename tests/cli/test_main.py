"""The commands, run in-process as a user would."""

from __future__ import annotations

import gzip
import json
import shlex

import numpy as np
import pytest

from seqmtl import MultiTaskModel, TaskKernel, WeightedDegree
from seqmtl.cli.main import main
from seqmtl.io import read_windows
from seqmtl.sequences import reverse_complement
from seqmtl.simulate import simulate, write_simulation
from tests.oracles import wd

TREE = "((ape:0.2,man:0.2):0.8,fly:1.0);"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    simulation = simulate(TREE, seed=3, n_chromosomes=2, chromosome_length=60_000, n_windows=200)
    write_simulation(simulation, folder)
    return folder


@pytest.fixture(scope="module")
def model(data):
    path = data / "model.seqmtl"
    code = main(
        ["train", str(data / "windows.tsv.gz"), "--tree", str(data / "tree.nwk"), "--window", "61",
         "--features", "wd:4", "--selection", "none", "-o", str(path), "--json",
         str(data / "summary_train.json"), "-q"]
    )  # fmt: skip
    assert code == 0
    return path


def _stderr(capsys) -> str:
    return capsys.readouterr().err


def test_train_writes_a_model_and_no_checkpoint_stays(model, data):
    trained = MultiTaskModel.load(model)
    assert trained.tasks == ("ape", "man", "fly")
    assert trained.training["duality_gap"] <= 1e-3
    assert not (data / "model.seqmtl.checkpoint").exists()
    summary = json.loads((data / "summary_train.json").read_text())
    assert summary["tasks"]["ape"]["n"] == 200
    expected = TaskKernel.from_newick(TREE, ["ape", "man", "fly"]).matrix
    np.testing.assert_allclose(trained.kernel.matrix, expected)


def test_predict_scores_equal_explicit_features(model, data, tmp_path):
    out = tmp_path / "scores.tsv"
    assert main(["predict", str(model), str(data / "windows.tsv.gz"), "-o", str(out), "-q"]) == 0
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert lines[0] == ["name", "organism", "score", "probability", "has_site"]
    assert {line[4] for line in lines[1:]} == {"yes"}
    test = read_windows(data / "windows.tsv.gz", window=61, split="test")
    trained = MultiTaskModel.load(model)
    X = WeightedDegree(degree=4).transform(test)
    tasks = [trained.tasks.index(name) for name in test.tasks]
    expected = (X @ trained.W)[np.arange(len(test)), tasks] + trained.bias[tasks]
    np.testing.assert_allclose([float(line[2]) for line in lines[1:]], expected, atol=1e-5)
    assert [line[1] for line in lines[1:]] == list(test.tasks)
    assert all(0 <= float(line[3]) <= 1 for line in lines[1:])


def test_predict_tells_which_windows_have_lost_their_site(model, tmp_path, write, capsys):
    trained = MultiTaskModel.load(model)
    site, length = trained.site, trained.length
    assert site.letters
    whole = "A" * site.offset + site.letters + "C" * (length - site.offset - 2)
    lost = whole[: site.offset] + "N" + whole[site.offset + 1 :]
    path = write(f"name\torganism\tsequence\nkept\tape\t{whole}\nlost\tape\t{lost}\n", "two.tsv")
    assert main(["predict", str(model), str(path), "-o", str(tmp_path / "s.tsv"), "-q"]) == 0
    rows = [line.split("\t") for line in (tmp_path / "s.tsv").read_text().splitlines()]
    assert [row[4] for row in rows[1:]] == ["yes", "no"]
    assert "1 of 2 windows lack the letters of the model's sites" in _stderr(capsys)


def test_evaluate_gives_json_table_and_figure(model, data, tmp_path, capsys):
    metrics, plot = tmp_path / "metrics.json", tmp_path / "curves.png"
    code = main(
        ["evaluate", str(model), str(data / "windows.tsv.gz"), "--json", str(metrics), "--plot",
         str(plot), "-q"]
    )  # fmt: skip
    assert code == 0
    found = json.loads(metrics.read_text())
    assert set(found["tasks"]) == {"ape", "man", "fly"}
    assert {"auroc", "auprc_windows", "n", "n_positive"} <= set(found["tasks"]["fly"])
    assert found["mean"]["auroc"] > 0.7
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.startswith("organism\tn\tpositive")


def test_virtual_windows_equal_the_windows_of_the_table(data, tmp_path):
    arguments = ["train", "--window", "60", "--features", "wd:3", "--similarity", "union", "-q"]
    for name in ("ape", "man", "fly"):
        arguments += ["--genome", f"{name}={data}/genomes/{name}.fa"]
        arguments += ["--sites", f"{name}={data}/sites/{name}.bed"]
    virtual, table = tmp_path / "virtual.seqmtl", tmp_path / "table.seqmtl"
    assert main([*arguments, "--tol", "1e-7", "--dtype", "float64", "-o", str(virtual)]) == 0
    everything = tmp_path / "all.tsv"
    with gzip.open(data / "windows.tsv.gz", "rt") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    keep = [rows[0].index(name) for name in ("organism", "label", "sequence")]
    everything.write_text("\n".join("\t".join(row[i] for i in keep) for row in rows) + "\n")
    code = main(
        ["train", str(everything), "--window", "60", "--features", "wd:3", "--similarity", "union",
         "--tol", "1e-7", "--dtype", "float64", "-o", str(table), "-q"]
    )  # fmt: skip
    assert code == 0
    first, second = MultiTaskModel.load(virtual), MultiTaskModel.load(table)
    assert first.training["primal"] == pytest.approx(second.training["primal"], rel=1e-6)
    assert first.site == second.site
    assert first.site.letters == "AG"


def test_sites_without_decoys_get_some(data, tmp_path, capsys):
    bed = tmp_path / "true.bed"
    lines = (data / "sites" / "fly.bed").read_text().splitlines()
    bed.write_text("\n".join(line for line in lines if line.split("\t")[4] != "0") + "\n")
    code = main(
        ["train", "--genome", f"fly={data}/genomes/fly.fa", "--sites", f"fly={bed}", "--window",
         "61", "--features", "wd:3", "--decoys", "5", "-o", str(tmp_path / "m.seqmtl")]
    )  # fmt: skip
    assert code == 0
    trained = MultiTaskModel.load(tmp_path / "m.seqmtl")
    counts = trained.training["tasks"]["fly"]
    assert counts["n"] == 6 * counts["n_positive"]
    assert trained.site.letters == "AG"


def test_scan_equals_prediction_at_every_candidate(model, data, tmp_path):
    out = tmp_path / "ag.bed"
    genome = data / "genomes" / "man.fa"
    code = main(
        ["scan", str(model), str(genome), "--organism", "man", "--consensus", "AG", "-o", str(out),
         "-q"]
    )  # fmt: skip
    assert code == 0
    records = [line.split("\t") for line in out.read_text().splitlines() if line[0] != "#"]
    assert len(records) > 1000
    from seqmtl.io import open_contigs

    contigs = dict(open_contigs(genome))
    trained = MultiTaskModel.load(model)
    offset = 99 - (200 - 61) // 2  # the AG stands at 99 of the 200 bases of the table
    column, W = trained.tasks.index("man"), trained.W
    rng = np.random.default_rng(0)
    strings, found = [], []
    for i in rng.choice(len(records), 60, replace=False):
        contig, start, end, _, _, strand, raw = records[i][:7]
        start, end = int(start), int(end)
        assert end - start == 2
        first = start - offset if strand == "+" else end + offset - 61
        window = contigs[contig][first : first + 61]
        window = window if strand == "+" else reverse_complement(window)
        assert list(window[offset : offset + 2]) == [0, 2]
        strings.append("".join("ACGTN"[c] for c in window))
        found.append(float(raw))
    X = WeightedDegree(degree=4).transform(strings)
    expected = X @ W[:, column] + trained.bias[column]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_scan_for_all_organisms_writes_a_file_each(model, data, tmp_path):
    code = main(
        ["scan", str(model), str(data / "genomes" / "man.fa"), "--organism", "all", "--consensus",
         "AG", "--threshold", "0.5", "-o", str(tmp_path / "x.bedgraph"), "-q"]
    )  # fmt: skip
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        f"x.{name}.bedgraph" for name in ("ape", "man", "fly")
    }


def test_info_tells_gap_epochs_tasks_kernel_features(model, capsys):
    assert main(["info", str(model), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["tasks"] == ["ape", "man", "fly"]
    assert summary["features"]["views"] == "wd:4"
    assert summary["duality_gap"] <= 1e-3
    assert summary["task_kernel"]["names"] == ["ape", "man", "fly"]
    assert summary["epochs"] >= 1
    assert main(["info", str(model)]) == 0
    shown = capsys.readouterr().out
    assert "duality gap" in shown
    n = sum((61 - d + 1) * 4**d + (d - 1) * 4**d for d in range(1, 5))
    assert f"features       wd:4 of 61 bases, {n:,}\n" in shown


def test_a_relative_without_data_is_scored_from_the_tree(data, tmp_path, capsys):
    tree = tmp_path / "bigger.nwk"
    tree.write_text("(((ape:0.1,chimp:0.1):0.1,man:0.2):0.8,fly:1.0);")
    path = tmp_path / "m.seqmtl"
    code = main(
        ["train", str(data / "windows.tsv.gz"), "--tree", str(tree), "--window", "61", "--features",
         "wd:3", "-o", str(path), "-q"]
    )  # fmt: skip
    assert code == 0
    table = str(data / "windows.tsv.gz")
    assert main(["predict", str(path), table, "--organism", "chimp"]) == 1
    assert "'chimp' was not trained on" in _stderr(capsys)
    assert main(["predict", str(path), table, "--organism", "chimp", "--from-relatives"]) == 0
    assert "\tchimp\t" in capsys.readouterr().out


def test_a_split_and_a_shifted_window_are_remembered(data, tmp_path):
    path = tmp_path / "m.seqmtl"
    table = str(data / "windows.tsv.gz")
    assert main(["train", table, "--window", "41", "--shift", "7", "--features", "wd:2", "-o",
                 str(path), "-q"]) == 0  # fmt: skip
    trained = MultiTaskModel.load(path)
    assert trained.shift == 7
    assert trained.site.offset == 99 - ((200 - 41) // 2 + 7)
    assert main(["evaluate", str(path), table, "-q"]) == 0


def test_resume_continues_an_interrupted_run(data, tmp_path, capsys, monkeypatch):
    from seqmtl.models import checkpoint

    path = tmp_path / "m.seqmtl"
    arguments = ["train", str(data / "windows.tsv.gz"), "--window", "61", "--features", "wd:3",
                 "--tol", "1e-5", "-o", str(path)]  # fmt: skip
    save = checkpoint.Checkpoint.save_scores

    def interrupted(self):
        save(self)
        if len(self.scores) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoint, "save_scores", interrupted)
    assert main(arguments) == 130
    assert "--resume to continue" in _stderr(capsys)
    assert not path.exists()
    monkeypatch.undo()
    assert main([*arguments, "--resume"]) == 0
    assert MultiTaskModel.load(path).training["duality_gap"] <= 1e-5
    written = path.stat().st_mtime_ns
    assert main([*arguments, "--resume"]) == 0
    assert "no unfinished training" in _stderr(capsys)
    assert path.stat().st_mtime_ns > written


def test_stopping_early_is_exit_code_3(data, tmp_path, capsys):
    code = main(
        ["train", str(data / "windows.tsv.gz"), "--window", "61", "--tol", "1e-12", "--max-epochs",
         "1", "-o", str(tmp_path / "m.seqmtl")]
    )  # fmt: skip
    assert code == 3
    assert "not converged to the tolerance" in _stderr(capsys)


def test_json_log_lines_are_json(data, tmp_path, capsys):
    code = main(
        ["train", str(data / "windows.tsv.gz"), "--window", "31", "--features", "wd:2", "-o",
         str(tmp_path / "m.seqmtl"), "--log-json"]
    )  # fmt: skip
    assert code == 0
    lines = _stderr(capsys).splitlines()
    assert all("message" in json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "", "empty"),
        (lambda t: t.replace("fly\t1\t", "fly\t2\t"), "label"),
        (lambda t: "\n".join(line[:-1] if i == 5 else line for i, line in enumerate(t.split("\n"))),
         "unequal|length|bases"),
        (lambda t: t.replace("fly\t1\t", "fly\t-1\t"), "task 'fly' has 0 positive"),
        (lambda t: t.replace("organism", "species"), "organism"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_before_training(data, tmp_path, capsys, change, message):
    with gzip.open(data / "windows.tsv.gz", "rt") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    keep = [rows[0].index(name) for name in ("organism", "label", "sequence")]
    text = "\n".join("\t".join(row[i] for i in keep) for row in rows) + "\n"
    bad = tmp_path / "bad.tsv"
    bad.write_text(change(text))
    assert main(["train", str(bad), "-o", str(tmp_path / "m.seqmtl")]) == 1
    import re

    assert re.search(message, _stderr(capsys))
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tsv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "{data}/windows.tsv.gz", "--tree", "(ape:1,fly:1);", "-o", "{tmp}/m"], 1,
         "task 'man' is not in the tree text"),
        (["train", "{data}/windows.tsv.gz", "-o", "{tmp}/none/m"], 1, "create it first"),
        (["train", "{data}/windows.tsv.gz", "--window", "900", "-o", "{tmp}/m"], 1, "900"),
        (["train", "{data}/absent.tsv", "-o", "{tmp}/m"], 1, "absent.tsv: No such file"),
        (["train", "{data}", "-o", "{tmp}/m"], 1, "a folder must be a dataset"),
        (["train", "-o", "{tmp}/m"], 1, "no windows given"),
        (["train", "{data}/windows.tsv.gz", "--split", "dev", "-o", "{tmp}/m"], 1, "dev"),
        (["train", "--genome", "a={data}/genomes/ape.fa", "-o", "{tmp}/m"], 1,
         "--genome and --sites"),
        (["predict", "{data}/tree.nwk", "{data}/windows.tsv.gz"], 1, "not a seqmtl model"),
        (["predict", "{data}/model.seqmtl", "{data}/genomes/ape.fa"], 1,
         "do not name their organism; give one of ape, man, fly"),
        (["info", "{data}/absent"], 1, "cannot be opened"),
        (["scan", "{data}/model.seqmtl", "{data}/genomes/ape.fa", "-o", "{tmp}/x.bed"], 1,
         "has 3 organisms; name one"),
        (["scan", "{data}/model.seqmtl", "{data}/genomes/ape.fa", "--organism", "cat", "-o",
          "{tmp}/x.bed"], 1, "'cat' was not trained on"),
        (["scan", "{data}/model.seqmtl", "{data}/tree.nwk", "--organism", "ape", "-o",
          "{tmp}/x.bed"], 1, "tree.nwk"),
    ],
)  # fmt: skip
def test_errors_have_a_message_and_leave_nothing(
    model, data, tmp_path, capsys, arguments, code, message
):
    arguments = [a.format(data=data, tmp=tmp_path) for a in arguments]
    assert main(arguments) == code
    assert message in _stderr(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["train"], ["fly"], ["scan", "m", "-C", "x"],
        ["train", "d", "-o", "m", "--seed", "-1"],
        ["scan", "m", "g", "-o", "o.bed", "--threshold", "nan"],
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)


@pytest.mark.parametrize(
    "command", ["train", "predict", "evaluate", "scan", "info", "simulate", "demo"]
)
def test_every_help_has_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"seqmtl {command}" in capsys.readouterr().out


def test_a_model_of_one_task_needs_no_organism(data, tmp_path, capsys):
    path, fasta = tmp_path / "m.seqmtl", tmp_path / "x.fa"
    table = str(data / "windows.tsv.gz")
    assert main(["train", table, "--organism", "all", "--window", "61", "--features", "wd:3", "-o",
                 str(path), "-q"]) == 0  # fmt: skip
    string = read_windows(data / "windows.tsv.gz", split="test").sequences()[0]
    fasta.write_text(f">one\n{string}\n>two\n{string.lower()}")
    capsys.readouterr()
    assert main(["predict", str(path), str(fasta), "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("\t")[0] == "one"
    assert lines[1].split("\t")[1:] == lines[2].split("\t")[1:]


def test_demo_runs_commands_that_can_be_copied(tmp_path, capsys):
    folder = tmp_path / "my demo"
    assert main(["demo", "-o", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("seqmtl ")]
    assert [words[1] for words in commands] == [
        "simulate", "dataset", "train", "train", "train", "calibrate", "evaluate", "evaluate",
        "evaluate", "scan", "explain", "report",
    ]  # fmt: skip
    table = [line.split("\t") for line in lines[-9:-1]]
    assert table[0] == ["AUPRC (genome)", "individual", "union", "default"]
    assert lines[-1] == f"{folder}/report.html: open it in a browser"
    values = {}
    for column, name in enumerate(table[0][1:], start=1):
        found = json.loads((folder / f"{name}.json").read_text())
        for row in table[1:-1]:
            assert row[column] == f"{found['tasks'][row[0]]['auprc_genome']:.4f}"
        values[name] = found["mean"]["auprc_genome"]
        assert table[-1] == ["mean", *table[-1][1:]]
        assert table[-1][column] == f"{values[name]:.4f}"
    assert values["default"] > max(values["individual"], values["union"])
    for name in ("genomes", "dataset/summary.json", "explained/summary.json", "scan.json",
                 "velia_nigra.plus.bw", "velia_nigra.minus.bw"):  # fmt: skip
        assert (folder / name).exists()
    page = (folder / "report.html").read_text()
    assert '<div class="card main"><span class="number">' + f"{values['default']:.3f}" in page
    for name in ("individual", "union", "ROC and precision-recall", "Relative duality gap"):
        assert name in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    # a command as it was shown does what the demo did
    page_path = folder / "report.html"
    page_path.unlink()
    assert main(commands[-1][1:]) == 0
    assert page_path.exists()


def test_a_quiet_demo_stops_at_the_first_command_that_fails(tmp_path, capsys):
    (tmp_path / "genomes").mkdir()
    (tmp_path / "genomes" / "stranger.fa").write_text(">a\nACGT\n")
    assert main(["demo", "-o", str(tmp_path), "-q"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("error") == 1
    assert "stranger.fa" in shown.err
    assert not (tmp_path / "dataset").exists()


def test_the_oracle_knows_the_kernel():
    assert wd.kernel("ACG", "ACT", 2) == pytest.approx(2 * 2 / 3 + 1 / 3)


def test_a_checkpoint_outlives_a_model_that_cannot_be_written(data, tmp_path, capsys, monkeypatch):
    path = tmp_path / "m.seqmtl"
    arguments = ["train", str(data / "windows.tsv.gz"), "--window", "61", "--features", "wd:3",
                 "-o", str(path)]  # fmt: skip

    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MultiTaskModel, "save", full)
    assert main(arguments) == 1
    assert "No space left" in _stderr(capsys)
    assert [p.name for p in tmp_path.iterdir()] == ["m.seqmtl.checkpoint"]
    monkeypatch.undo()
    assert main([*arguments, "--resume"]) == 0
    trained = MultiTaskModel.load(path)
    assert [h["epoch"] for h in trained.training["history"]][-1] == trained.training["n_epochs"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.seqmtl"]


def test_an_error_of_the_data_names_its_file(model, write, tmp_path, capsys):
    table = write("organism\tsequence\n" + "wolf\t" + "A" * 61 + "\n", "wolves.tsv")
    options = ["-o", str(tmp_path / "s.tsv"), "-q"]
    assert main(["predict", str(model), str(table), *options]) == 1
    assert _stderr(capsys).startswith(f"seqmtl: error: {table}: task 'wolf' ")
    short = write("organism\tsequence\nape\tACGT\n", "short.tsv")
    assert main(["predict", str(model), str(short), *options]) == 1
    assert _stderr(capsys).count("short.tsv") == 1
