"""Training with learnt similarity from the command line: sources, views, selection, wrong input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import MultiTaskMKLClassifier, MultiTaskModel, MultiTaskSVC, PositionalKmers, TaskKernel
from seqmtl.io import read_windows
from seqmtl.training import checkpoint as checkpoints
from seqmtl.training import fit, selection
from tests.adaptation.test_adaptation import windows_of
from tests.invocation import write_windows

TREE = "((ape:0.2,man:0.2)primates:0.8,(fly:1.0,bee:0.5):0.1)animals;"
NAMES = ("ape", "man", "fly")
SEVERAL = TaskKernel.join(
    [TaskKernel.individual(NAMES), TaskKernel.union(NAMES)], "both", ["individual", "union"]
)
FILES = {
    "several.tsv": SEVERAL.to_tsv(),
    "tree.nwk": TREE,
    "kernel.tsv": "name\tfly\tape\tman\nfly\t1\t.2\t.3\nape\t.2\t1\t.7\nman\t.3\t.7\t1\n",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with labelled windows around AG at 8, and sources of similarity."""
    folder = tmp_path_factory.mktemp("data")
    parts = [windows_of(name, 60, seed) for seed, name in enumerate(NAMES)]
    write_windows(folder / "windows.tsv", *parts)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def train(data, tmp_path, seqmtl):
    """Return a function that trains with more options, and returns model and messages."""

    def run(more="", code=0, table="windows.tsv"):
        path = tmp_path / "m.seqmtl"
        options = f"--features wd:2 -o {path} {more.format(data=data, tree=TREE)}"
        told = " ".join(seqmtl(f"train {data / table} {options}", code).err.split())
        return MultiTaskModel.load(path) if path.exists() else None, told

    return run


def _no_constant(name):
    raise AssertionError(f"{name} is no JSON")


class TestLearntSimilarity:
    def test_views_times_similarities(self, train, data):
        """Widmer 2015, Problem 1: every view of the features times every task kernel."""
        model, _ = train(
            "--features 'wd:2 + kmers:3/inf' --tree {data}/tree.nwk --mkl hierarchical -C 0.5"
        )
        windows = read_windows(data / "windows.tsv")
        anchor = model.site.offset
        views = [PositionalKmers("wd:2", anchor), PositionalKmers("kmers:3/inf", anchor)]
        clades = TaskKernel.hierarchical(TREE, NAMES)
        mkl = MultiTaskMKLClassifier(views, clades, norm=2.0, C=0.5).fit(windows)
        assert_allclose(model.decision_function(windows), mkl.decision_function(windows), atol=1e-6)
        weights = [entry["weight"] for entry in model.training["mkl"]]
        assert_allclose(weights, mkl.theta_, rtol=1e-6)
        found = [(entry["view"], entry["label"]) for entry in model.training["mkl"]]
        names = ("wd:2", "kmers:3/inf")
        assert found == [(view, label) for view in names for label in ("animals", "primates")]
        assert model.kernel.labels == names
        assert [entry["tasks"] for entry in model.training["mkl"][1::2]] == [["ape", "man"]] * 2
        assert model.training["settings"]["norm"] == 2.0

    @pytest.mark.parametrize(
        ("options", "names", "matrix"),
        [
            (
                "--similarity {data}/kernel.tsv",
                NAMES,
                [[1, 0.7, 0.2], [0.7, 1, 0.3], [0.2, 0.3, 1]],
            ),
            ("--similarity {data}/several.tsv", NAMES, 0.5 * np.ones((3, 3)) + 0.5 * np.eye(3)),
            ("", NAMES, (np.ones((3, 3)) + 3 * np.eye(3)) / 4),
            ("--tree {data}/tree.nwk", (*NAMES, "bee"), None),
        ],
    )
    def test_a_fixed_kernel_of_a_tree_or_a_table(self, train, data, options, names, matrix):
        model, _ = train(f"{options} --selection none")
        assert "mkl" not in model.training
        assert model.kernel.names == names
        if matrix is None:
            K = model.kernel.matrix
            assert K[0, 1] > K[0, 2] > 0
        else:
            assert_allclose(model.kernel.matrix, matrix, atol=1e-12)
        windows = read_windows(data / "windows.tsv")
        svc = MultiTaskSVC(PositionalKmers("wd:2"), model.kernel).fit(windows)
        assert model.training["primal"] == pytest.approx(svc.model_.training["primal"], rel=3e-3)

    def test_info_lists_the_weights(self, train, tmp_path, seqmtl):
        model, _ = train("--tree {data}/tree.nwk --mkl hierarchical")
        text = seqmtl(f"info {tmp_path}/m.seqmtl").out
        assert re.findall("kernel weights of (.*)", text) == ["wd:2"]
        listed = re.findall(r"^ +([0-9.]+)  (animals|primates),", text, re.MULTILINE)
        assert [label for _, label in listed] == ["animals", "primates"]
        weights = [entry["weight"] for entry in model.training["mkl"]]
        assert_allclose([float(weight) for weight, _ in listed], weights, atol=6e-5)
        told = seqmtl(f"info {tmp_path}/m.seqmtl --json -").out
        found = json.loads(told, parse_constant=_no_constant)
        assert found["training"]["mkl"] == model.training["mkl"]


class TestSelection:
    def test_the_default_chooses_and_info_says_what(self, train, tmp_path, seqmtl):
        model, told = train("--tree '{tree}'")
        chosen = model.training["selection"]
        assert set(chosen["tasks"]) == set(NAMES)
        for key, form, before in (
            ("C", ".3g", "k-mers at their positions, cost "),
            ("trust", ".0%", "trust in the other organisms "),
            ("auroc", ".3f", f"cross-validated on {chosen['n']} windows: AUROC "),
        ):
            values = [task[key] for task in chosen["tasks"].values()]
            mean, low, high = (f"{x:{form}}" for x in (np.mean(values), min(values), max(values)))
            assert before + (mean if low == high else f"{mean} ({low} to {high})") in told
        assert "0%: alone, 100%: as the tree or table says" in told
        assert f"next: seqmtl evaluate {tmp_path}/m.seqmtl FILE, on windows that it was" in told
        assert set(chosen["relations"]) == {"tree(text)", "all alike"}
        assert not (tmp_path / "m.seqmtl.checkpoint").exists()
        output = seqmtl(f"info {tmp_path}/m.seqmtl").out
        assert "hyperparameters, selected on held-out labels" in output
        for name, task in chosen["tasks"].items():
            assert re.search(rf"{name} +{task['trust']:.2f} +{task['C']:.2g} ", output), output

    def test_what_is_given_stays(self, train):
        model, _ = train("--selection none --tree '{tree}' -C 0.5")
        assert "selection" not in model.training
        assert model.training["settings"]["C"] == 0.5
        chosen = train("-C 2")[0].training
        assert chosen["settings"]["C"] == pytest.approx(2.0)
        assert {task["C"] for task in chosen["selection"]["tasks"].values()} == {2.0}
        model, _ = train("--similarity union -C 2")
        assert_allclose(model.kernel.matrix, 1.0)

    def test_an_interrupted_selection_goes_on(self, train, tmp_path, monkeypatch):
        whole, told = train("--tree '{tree}' --resume")
        assert "no unfinished training" in told
        (tmp_path / "m.seqmtl").unlink()
        save, n = checkpoints.Checkpoint.save_scores, []

        def interrupted(self):
            save(self)
            n.append(len(self.scores))
            if len(self.scores) == 4:
                raise KeyboardInterrupt

        monkeypatch.setattr(checkpoints.Checkpoint, "save_scores", interrupted)
        none, told = train("--tree '{tree}'", 130)
        assert none is None
        assert "--resume to continue" in told
        _, told = train("--tree '{tree}' -C 1 --resume", 1)
        assert "belongs to other data or options" in told
        n.clear()
        resumed, _ = train("--tree '{tree}' --resume")
        assert n[0] == 5
        assert resumed.training["selection"] == whole.training["selection"]
        assert_array_equal(resumed.W, whole.W)

    def test_a_table_of_held_out_windows_is_not_trained_on_unless_asked(
        self, data, tmp_path, seqmtl
    ):
        lines = (data / "windows.tsv").read_text().splitlines()
        table, path = tmp_path / "t.tsv", tmp_path / "m"
        table.write_text("\n".join([f"{lines[0]}\tsplit", *(f"{x}\ttest" for x in lines[1:])]))
        train = f"train {table} --selection none --memory 1G -o {path}"
        told = seqmtl(train, 1).err
        assert "split must be one of those in the file, test (180 rows), got 'train'" in told
        assert not path.exists()
        seqmtl(f"{train} --split test")
        assert MultiTaskModel.load(path).training["split"] == "test"


@pytest.mark.parametrize("more", ["", "--mkl hierarchical"])
def test_bad_windows_are_refused_before_training(train, data, tmp_path, monkeypatch, more):
    monkeypatch.setattr(fit, "problem_of", pytest.fail)
    monkeypatch.setattr(selection, "CrossValidation", pytest.fail)
    text = (data / "windows.tsv").read_text()
    (data / "one_class.tsv").write_text(text.replace("fly\t1\t", "fly\t-1\t"))
    (data / "typo.tsv").write_text(text.replace("fly\t", "flie\t"))
    options = f"--tree {data}/tree.nwk {more}"
    _, error = train(options, 1, table="one_class.tsv")
    assert re.search("task 'fly' has 0 (positive and 60 negative|of label 1)", error), error
    _, error = train(options, 1, table="typo.tsv")
    assert re.search(r"task 'flie' is not in the .*tree.nwk\)?; did you mean 'fly'", error)
    assert list(tmp_path.iterdir()) == []
