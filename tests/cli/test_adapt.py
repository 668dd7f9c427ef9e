"""``seqmtl adapt``: from files to a model that other commands take."""

import json

import numpy as np
import pytest

from seqmtl import MultiTaskModel, TaskKernel, WeightedDegree
from seqmtl.cli.main import main
from seqmtl.models.fit import train_windows
from seqmtl.sequences import concatenate
from tests.models.test_adaptation import TREE, windows_of

OTHERS = ("ape", "fly", "bee")


def write_table(path, *parts, organism=True):
    lines = [("organism\t" if organism else "") + "label\tsequence\tsplit"]
    for part in parts:
        for name, label, text in zip(part.tasks, part.labels, part.sequences(), strict=True):
            lines.append((f"{name}\t" if organism else "") + f"{label}\t{text}\ttrain")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, labelled windows of man and others, and a tree."""
    folder = tmp_path_factory.mktemp("adapt")
    windows = concatenate([windows_of(name, 120, i) for i, name in enumerate(OTHERS)])
    kernel = TaskKernel.from_newick(TREE, OTHERS)
    model, _ = train_windows(windows, features=WeightedDegree(3), task_kernel=kernel)
    model.save(folder / "old.seqmtl")
    write_table(folder / "few.tsv", windows_of("man", 60, 5), windows_of("fly", 30, 6))
    write_table(folder / "plain.tsv", windows_of("man", 60, 5), organism=False)
    (folder / "tree.nwk").write_text(TREE)
    return folder


@pytest.fixture
def adapt(folder, tmp_path):
    """Return a function that runs the command, and returns its exit code and the model."""

    def run(*arguments, organism="man", data="few.tsv"):
        out = tmp_path / "new.seqmtl"
        place = [str(folder / data)] if data else []
        command = ["adapt", str(folder / "old.seqmtl"), *place, "--organism", organism]
        code = main([*command, "-o", str(out), *map(str, arguments)])
        return code, MultiTaskModel.load(out) if code == 0 else None

    return run


def test_the_model_is_that_of_the_function(adapt, folder, capsys, tmp_path):
    code, found = adapt("--tree", folder / "tree.nwk", "--json", tmp_path / "summary.json")
    assert code == 0
    old = MultiTaskModel.load(folder / "old.seqmtl")
    expected = old.adapt("man", windows_of("man", 60, 5), tree=TREE)
    test = windows_of("man", 50, 3)
    np.testing.assert_array_equal(found.decision_function(test), expected.decision_function(test))
    assert found.training["tasks"]["man"]["n"] == 60  # not the fly's
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["organism"] == "man"
    assert summary["relatives"] == found.training["adapted"]["man"]["relatives"]
    assert main(["info", str(tmp_path / "new.seqmtl")]) == 0
    shown = capsys.readouterr().out
    assert "man: placed by man in the tree tree.nwk, 2 from ape, the nearest" in shown
    assert "weights of the relatives 0." in shown


def test_a_table_without_organisms_is_of_the_one_named(adapt):
    code, found = adapt(data="plain.tsv")
    assert code == 0
    assert found.training["tasks"]["man"]["n"] == 60


def test_probabilities_hold_at_the_prevalence(adapt):
    _, found = adapt("--prevalence", 0.01)
    assert found.prevalence("man") == 0.01
    assert "man" in found.curves


def test_without_labels_the_relatives_score(adapt, folder, tmp_path, capsys):
    code, found = adapt("--like", "ape", data=None)
    assert code == 0
    assert "score it with --from-relatives" in capsys.readouterr().err
    assert found.tasks == OTHERS
    new, table = str(tmp_path / "new.seqmtl"), str(folder / "plain.tsv")
    command = ["predict", new, table, "--organism", "man", "--split", "all"]
    assert main(command) == 1
    assert "--from-relatives" in capsys.readouterr().err
    assert main([*command, "--from-relatives"]) == 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([], {"organism": "fly"}, "organism 'fly' is in the model already"),
        (["--like", "appe"], {}, "'appe' is neither .*did you mean 'ape'"),
        ([], {"organism": "woman"}, "task 'woman' is not in .*few.tsv; did you mean 'man'"),
        (["--tree", "(a:1,b:1);"], {}, "'man' is neither an organism of the model nor one"),
        (["--prevalence", "2"], {}, "must be between 0 and 1, got 2"),
    ],
)
def test_bad_input(adapt, capsys, tmp_path, arguments, options, message):
    import re

    try:
        code, _ = adapt(*arguments, **options)
    except SystemExit as error:
        code = error.code
    assert code != 0
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "new.seqmtl").exists()


def test_one_class_and_short_windows(adapt, folder, capsys):
    windows = windows_of("man", 60, 5)
    write_table(folder / "ones.tsv", windows[np.flatnonzero(windows.labels > 0)])
    assert adapt(data="ones.tsv")[0] == 1
    assert "at least 2 of each class, got 20 positive and 0 negative" in capsys.readouterr().err
    write_table(folder / "short.tsv", windows.center(18))
    assert adapt(data="short.tsv")[0] == 1
    assert "18" in capsys.readouterr().err
    write_table(folder / "wide.tsv", windows_of("man", 60, 5, length=40))  # AG at 8, not at 18
    assert adapt(data="wide.tsv")[0] == 1
    assert "windows must have AG at base 8 as in training" in capsys.readouterr().err


def test_a_dataset_tells_the_prevalence_and_has_the_models_site(tmp_path, capsys):
    tree = "((bee:0.1,ant:0.1):0.1,cat:0.2);"
    simulated = ["simulate", "--tree", tree, "--chromosome-length", "50000", "--no-windows", "-q"]
    assert main([*simulated, "-o", str(tmp_path)]) == 0
    for signal, organisms in (("donor", "ant bee"), ("donor", "cat"), ("acceptor", "cat")):
        lines = [f'signal = "{signal}"\nwindow = 60\nsplit.by = "contigs"']
        lines += [
            f'[organisms.{name}]\ngenome = "genomes/{name}.fa"\n'
            f'annotation = "annotation/{name}.gff3"'
            for name in organisms.split()
        ]
        (tmp_path / "d.toml").write_text("\n".join(lines) + "\n")
        folder = tmp_path / f"{signal}.{organisms.split()[0]}"
        assert main(["dataset", str(tmp_path / "d.toml"), "-o", str(folder), "-q"]) == 0
    old, new = str(tmp_path / "old.seqmtl"), str(tmp_path / "new.seqmtl")
    train = ["train", str(tmp_path / "donor.ant"), "--selection", "none", "--features", "wd:3"]
    assert main([*train, "-q", "-o", old]) == 0
    options = ["--organism", "cat", "-o", new]
    capsys.readouterr()
    assert main(["adapt", old, str(tmp_path / "acceptor.cat"), *options]) == 1
    assert "the model has donor sites" in capsys.readouterr().err
    assert main(["adapt", old, str(tmp_path / "donor.cat"), *options]) == 0
    found = MultiTaskModel.load(new)
    facts = json.loads((tmp_path / "donor.cat" / "summary.json").read_text())["organisms"]["cat"]
    share = facts["sites"] / (facts["sites"] + facts["candidates"])
    assert found.prevalence("cat") == pytest.approx(share)
    scan = ["scan", new, str(tmp_path / "genomes" / "cat.fa"), "--organism", "cat"]
    assert main([*scan, "--top", "20", "-q", "-o", str(tmp_path / "cat.bed")]) == 0
    assert (tmp_path / "cat.bed").read_text().count("\n") > 0
