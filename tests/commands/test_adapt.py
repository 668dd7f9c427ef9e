"""``seqmtl adapt``: from files to a model that other commands take."""

import json
import re

import numpy as np
import pytest

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel, adaptation
from seqmtl.sequences import concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from tests.adaptation.test_adaptation import TREE, windows_of
from tests.invocation import write_windows

OTHERS = ("ape", "fly", "bee")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, labelled windows of man and others, and a tree."""
    folder = tmp_path_factory.mktemp("adapt")
    windows = concatenate([windows_of(name, 120, i) for i, name in enumerate(OTHERS)])
    kernel = TaskKernel.from_tree(TREE, OTHERS)
    model, _ = fit(Examples.of(windows), features=PositionalKmers("wd:3"), task_kernel=kernel)
    model.save(folder / "old.seqmtl")
    write_windows(folder / "few.tsv", windows_of("man", 60, 5), windows_of("fly", 30, 6))
    write_windows(folder / "plain.tsv", windows_of("man", 60, 5), has_organisms=False)
    (folder / "tree.nwk").write_text(TREE)
    return folder


@pytest.fixture
def adapt(folder, tmp_path, seqmtl):
    """Return a function that runs the command, and returns its messages."""

    def run(options="", organism="man", data="few.tsv", code=0):
        place = folder / data if data else ""
        command = f"adapt {folder}/old.seqmtl {place} --organism {organism} {options}"
        return seqmtl(f"{command} -o {tmp_path}/new.seqmtl", code).err

    return run


@pytest.fixture
def found(tmp_path):
    """Return a function that loads the new model."""
    return lambda: MultiTaskModel.load(tmp_path / "new.seqmtl")


def test_the_model_is_that_of_the_function(adapt, found, folder, tmp_path, seqmtl):
    told = adapt(f"--tree {folder}/tree.nwk").splitlines()[-1]
    old, new = MultiTaskModel.load(folder / "old.seqmtl"), found()
    expected = adaptation.adapt(old, "man", windows_of("man", 60, 5), tree=TREE)
    test = windows_of("man", 50, 3)
    np.testing.assert_array_equal(new.decision_function(test), expected.decision_function(test))
    assert new.training["tasks"]["man"]["n"] == 60  # not the fly's
    entry = new.training["adapted"]["man"]
    trust = sum(float(x) * weight for x, weight in entry["trust"].items())
    first, weight = max(entry["relatives"].items(), key=lambda item: item[1])
    assert "man, 60 windows with 20 true sites; placed by man in the tree tree.nwk" in told
    assert f"; {first} counts most ({weight:.2f}), trust {trust:.2f}; " in told
    shown = seqmtl(f"info {tmp_path}/new.seqmtl").out
    assert "man: placed by man in the tree tree.nwk, a path of 2 from ape, the nearest" in shown
    assert "weights of the relatives 0." in shown


def test_a_table_without_organisms_is_of_the_one_named_and_prevalences_hold(adapt, found):
    adapt("--prevalence 0.01", data="plain.tsv")
    assert found().training["tasks"]["man"]["n"] == 60
    assert found().prevalence("man") == 0.01
    assert "man" in found().curves


def test_without_labels_the_relatives_score(adapt, found, folder, tmp_path, seqmtl):
    assert "man, no labels; it is scored from its relatives" in adapt("--like ape", data=None)
    assert found().tasks == OTHERS
    command = f"predict {tmp_path}/new.seqmtl {folder}/plain.tsv --organism man --split all"
    line = "man: no training data, scored from its relatives, of which ape counts most"
    assert seqmtl(command).err.count(line) == 1


@pytest.mark.parametrize(
    ("options", "organism", "code", "message"),
    [
        ("--like appe", "man", 2, "'appe' is neither .*did you mean 'ape'"),
        ("", "woman", 2, "task 'woman' is not in .*few.tsv; did you mean 'man'"),
        ("--tree '(a:1,b:1);'", "man", 2, "'man' is neither an organism of the model nor one"),
    ],
)
def test_bad_input(adapt, tmp_path, options, organism, code, message):
    assert re.search(message, adapt(options, organism, code=code))
    assert not (tmp_path / "new.seqmtl").exists()


def test_a_dataset_tells_the_prevalence_and_has_the_models_site(world, tmp_path, seqmtl):
    old, new, genome = tmp_path / "old", tmp_path / "new", world.simulation / "genomes" / "b.fa"
    options = "--window 41 --selection none --features wd:3"
    seqmtl(f"train a={world.dataset('donor')} {options} -q -o {old}")
    command = f"adapt {old} {{}} --organism b --like auto -o {new}"
    assert "the model has donor sites" in seqmtl(command.format(world.dataset("acceptor")), 1).err
    seqmtl(command.format(world.dataset("donor")))
    summary = json.loads((world.dataset("donor") / "summary.json").read_text())
    facts = summary["organisms"]["b"]
    share = facts["sites"] / (facts["sites"] + facts["candidates"])
    assert MultiTaskModel.load(new).prevalence("b") == pytest.approx(share)
    seqmtl(f"scan {new} {genome} --organism b --top 20 -q -o {tmp_path}/b.bed")
    assert (tmp_path / "b.bed").read_text().count("\n") > 0
