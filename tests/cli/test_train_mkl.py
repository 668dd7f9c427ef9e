"""Training with learnt similarity from the command line: sources, views, resuming, wrong input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import (
    MultiTaskMKLClassifier,
    MultiTaskModel,
    MultiTaskSVC,
    PositionalKmers,
    TaskKernel,
    WeightedDegree,
)
from seqmtl.cli.main import main
from seqmtl.features.positional_rows import PositionalRows
from seqmtl.io import read_windows
from seqmtl.models import checkpoint as checkpoints
from seqmtl.models import fit
from seqmtl.similarity import Distances
from seqmtl.solvers import dcd

TREE = "((ape:0.2,man:0.2)primates:0.8,(fly:1.0,bee:0.5):0.1)animals;"
NAMES = ("ape", "man", "fly")
DISTANCES = np.array([[0, 0.4, 2], [0.4, 0, 2], [2, 2, 0]])
FILES = {
    "tree.nwk": TREE,
    "distances.tsv": "name\tape\tman\tfly\nape\t0\t0.4\t2\nman\t0.4\t0\t2\nfly\t2\t2\t0\n",
    "alignment.fa": ">ape\nACGTACGTAC\n>man\nACGTACGTAG\n>fly\nTCGAACGTTT\n",
    "one.tsv": "ape\tman\t1\nman\tfly\t0.5\n",
    "two.tsv": "ape\tfly\t2\n",
    "groups.tsv": "ape\tprimates\nman\tprimates\nprimates\tall\nfly\tall\n",
    "kernel.tsv": "name\tfly\tape\tman\nfly\t1\t.2\t.3\nape\t.2\t1\t.7\nman\t.3\t.7\t1\n",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with labelled windows around AG at 8, and sources of similarity."""
    rng = np.random.default_rng(0)
    lines = ["organism\tlabel\tsequence"]
    for i in range(180):
        is_site = rng.random() < 0.4
        letters = rng.choice(list("ACGT"), 20)
        letters[8:10] = ["A", "G"]
        if is_site:
            letters[10:13] = np.where(rng.random(3) < 0.7, list("CCT"), letters[10:13])
        lines.append(f"{NAMES[i % 3]}\t{1 if is_site else -1}\t{''.join(letters)}")
    folder = tmp_path_factory.mktemp("data")
    (folder / "windows.tsv").write_text("\n".join(lines) + "\n")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def train(data, tmp_path):
    """Return a function that trains with more arguments, and returns exit code and model."""

    def run(*more, table="windows.tsv"):
        path = tmp_path / "m.seqmtl"
        arguments = [str(a).format(data=data) for a in more]
        code = main(["train", str(data / table), "--features", "wd:2", "-q", "-o", str(path),
                     *arguments])  # fmt: skip
        return code, MultiTaskModel.load(path) if path.exists() else None

    return run


def _no_constant(name):
    raise AssertionError(f"{name} is no JSON")


class TestLearntSimilarity:
    def test_it_is_the_classifier_with_these_kernels_and_views(self, train, data):
        code, model = train(
            "--tree", "{data}/tree.nwk", "--mkl", "hierarchical", "--norm", "1.5", "--tol",
            "1e-7", "--dtype", "float64", "-C", "0.5",
        )  # fmt: skip
        assert code == 0
        windows = read_windows(data / "windows.tsv")
        views = [WeightedDegree(degree=2)]
        mkl = MultiTaskMKLClassifier(
            views, TaskKernel.hierarchical(TREE, NAMES), norm=1.5, C=0.5, tol=1e-7, dtype="float64"
        ).fit(windows)
        assert_allclose(model.decision_function(windows), mkl.decision_function(windows), atol=2e-3)
        weights = {(e["view"], e["label"]): e["weight"] for e in mkl.kernel_weights_}
        found = model.training["mkl"]
        assert [entry["label"] for entry in found] == ["animals", "primates"]
        assert found[1]["tasks"] == ["ape", "man"]
        by_label = {label: weight for (_, label), weight in weights.items()}
        expected = [by_label[entry["label"]] for entry in found]
        theta = np.array([entry["weight"] for entry in found])
        assert_allclose(theta, expected, atol=1e-3)
        assert (theta**1.5).sum() == pytest.approx(1.0)
        assert model.training["settings"]["norm"] == 1.5

    def test_views_times_similarities(self, train, data):
        """Widmer 2015, Problem 1: every view of the features times every task kernel."""
        code, model = train(
            "--features", "wd:2 + kmers:3/inf", "--tree", "{data}/tree.nwk", "--mkl",
            "hierarchical", "--norm", "1.5", "--tol", "1e-7", "--dtype", "float64", "-C", "0.5",
        )  # fmt: skip
        assert code == 0
        windows = read_windows(data / "windows.tsv")
        views = [PositionalKmers("wd:2"), PositionalKmers("kmers:3/inf")]
        mkl = MultiTaskMKLClassifier(
            views, TaskKernel.hierarchical(TREE, NAMES), norm=1.5, C=0.5, tol=1e-7, dtype="float64"
        ).fit(windows)
        assert_allclose(model.decision_function(windows), mkl.decision_function(windows), atol=1e-6)
        weights = [entry["weight"] for entry in model.training["mkl"]]
        assert_allclose(weights, mkl.theta_, rtol=1e-6)
        found = [(entry["view"], entry["label"]) for entry in model.training["mkl"]]
        names = ("wd:2", "kmers:3/inf")
        assert found == [(view, label) for view in names for label in ("animals", "primates")]
        assert model.kernel.labels == names

    @pytest.mark.parametrize(
        ("arguments", "kernel"),
        [
            (["--mkl", "hierarchical", "--tree", "{data}/tree.nwk"],
             TaskKernel.hierarchical(TREE, NAMES)),
            (["--mkl", "smooth", "--distances", "{data}/distances.tsv", "--scales", "0.5,3"],
             TaskKernel.smooth(Distances(NAMES, DISTANCES), [0.5, 3.0])),
            (["--mkl", "smooth", "--tree", TREE],
             TaskKernel.smooth(np.array([[0, 0.4, 2.1], [0.4, 0, 2.1], [2.1, 2.1, 0]]),
                               names=NAMES)),
            (["--mkl", "smooth", "--alignment", "{data}/alignment.fa", "--scales", "1"],
             TaskKernel.smooth(np.array([[0, 0.1, 0.4], [0.1, 0, 0.4], [0.4, 0.4, 0]]), [1.0],
                               NAMES)),
            (["--mkl", "multigraph", "--graph", "{data}/one.tsv", "--graph", "{data}/two.tsv"],
             TaskKernel.multigraph([[[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]],
                                    [[0, 0, 2], [0, 0, 0], [2, 0, 0]]], NAMES)),
            (["--mkl", "graphical:0.5,2", "--graph", "{data}/one.tsv"],
             TaskKernel.join([TaskKernel.graphical([[0, 1, 0], [1, 0, .5], [0, .5, 0]], a, NAMES)
                              for a in (0.5, 2.0)], "graphical", "ab")),
            (["--mkl", "hierarchical", "--groups", "{data}/groups.tsv"],
             TaskKernel.hierarchical({"primates": NAMES[:2], "all": NAMES})),
            (["--mkl", "hierarchical", "--distances", "{data}/distances.tsv"],
             TaskKernel.hierarchical("((ape,man),fly);", NAMES)),
        ],
    )  # fmt: skip
    def test_sources(self, train, arguments, kernel):
        """At infinite norm all weights are 1, so that K tells what the kernels were."""
        code, model = train(*arguments, "--norm", "inf")
        assert code == 0
        assert model.kernel.names == NAMES
        assert_allclose(model.kernel.matrix, kernel.matrices.sum(axis=0))
        assert [entry["weight"] for entry in model.training["mkl"]] == [1.0] * kernel.n_kernels

    @pytest.mark.parametrize(
        ("arguments", "names", "matrix"),
        [
            (["--groups", "{data}/groups.tsv"], NAMES, None),
            (["--similarity", "{data}/kernel.tsv"], NAMES,
             [[1, 0.7, 0.2], [0.7, 1, 0.3], [0.2, 0.3, 1]]),
            (["--similarity", "union"], NAMES, np.ones((3, 3))),
            (["--similarity", "graph:0", "--graph", "{data}/one.tsv"], NAMES,
             np.linalg.pinv([[1, -1, 0], [-1, 1.5, -0.5], [0, -0.5, 0.5]])),
            ([], NAMES, (np.ones((3, 3)) + 3 * np.eye(3)) / 4),
            (["--tree", "{data}/tree.nwk"], (*NAMES, "bee"), None),
        ],
    )  # fmt: skip
    def test_a_fixed_kernel_of_every_source(self, train, data, arguments, names, matrix):
        code, model = train(*arguments, "--selection", "none")
        assert code == 0
        assert "mkl" not in model.training
        assert model.kernel.names == names
        if matrix is None:
            K = model.kernel.matrix
            assert K[0, 1] > K[0, 2] > 0
        else:
            assert_allclose(model.kernel.matrix, matrix, atol=1e-12)
        windows = read_windows(data / "windows.tsv")
        svc = MultiTaskSVC(WeightedDegree(degree=2), model.kernel).fit(windows)
        assert model.training["primal"] == pytest.approx(
            svc.model_.training["primal"], rel=3e-3
        )  # fmt: skip

    def test_an_organism_without_data_is_scored_from_its_relatives(self, train, data, tmp_path):
        train("--tree", "{data}/tree.nwk")
        rows = (data / "windows.tsv").read_text().splitlines()
        bees = tmp_path / "bees.tsv"
        bees.write_text("\n".join([rows[0], *(r.replace("fly", "bee") for r in rows[3:30:3])]))
        out = tmp_path / "scores.tsv"
        arguments = ["predict", str(tmp_path / "m.seqmtl"), str(bees), "-o", str(out), "-q"]
        assert main(arguments) == 1
        assert main([*arguments, "--from-relatives"]) == 0
        assert len(out.read_text().splitlines()) == 10

    def test_info_draws_the_weights(self, train, tmp_path, capsys):
        train("--tree", "{data}/tree.nwk", "--mkl", "hierarchical")
        capsys.readouterr()
        assert main(["info", str(tmp_path / "m.seqmtl")]) == 0
        text = capsys.readouterr().out
        model = MultiTaskModel.load(tmp_path / "m.seqmtl")
        assert re.findall("learnt weights of (.*)", text) == ["wd:2"]
        drawn = re.findall(r"^ +(animals|primates) +([0-9.]+)", text, re.MULTILINE)
        assert [label for label, _ in drawn] == ["animals", "primates"]
        weights = [entry["weight"] for entry in model.training["mkl"]]
        assert_allclose([float(weight) for _, weight in drawn], weights, atol=6e-4)
        assert main(["info", str(tmp_path / "m.seqmtl"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out, parse_constant=_no_constant)
        assert found["training"]["mkl"] == model.training["mkl"]
        summary = tmp_path / "summary.json"
        train("--tree", TREE, "--mkl", "smooth", "--norm", "inf", "--json", str(summary))
        found = json.loads(summary.read_text(), parse_constant=_no_constant)
        assert found["settings"]["norm"] == "inf"


class TestSelection:
    def test_the_default_chooses_and_info_says_what(self, train, tmp_path, capsys):
        code, model = train("--tree", TREE)
        assert code == 0
        chosen = model.training["selection"]
        assert set(chosen["tasks"]) == set(NAMES)
        assert set(chosen["relations"]) == {"tree(text)", "all alike"}
        assert not (tmp_path / "m.seqmtl.checkpoint").exists()
        assert main(["info", str(tmp_path / "m.seqmtl")]) == 0
        output = capsys.readouterr().out
        assert "chosen on held-out labels" in output
        for name, task in chosen["tasks"].items():
            assert re.search(rf"{name} +{task['trust']:.2f} +{task['C']:.2g} ", output), output

    def test_what_is_given_stays(self, train):
        _, model = train("--selection", "none", "--tree", TREE, "-C", "0.5")
        assert "selection" not in model.training
        assert model.training["settings"]["C"] == 0.5
        chosen = train("-C", "2")[1].training
        assert chosen["settings"]["C"] == pytest.approx(2.0)
        assert {task["C"] for task in chosen["selection"]["tasks"].values()} == {2.0}
        _, model = train("--similarity", "union", "-C", "2")
        assert_allclose(model.kernel.matrix, 1.0)

    def test_an_interrupted_selection_goes_on(self, train, tmp_path, capsys, monkeypatch):
        whole = train("--tree", TREE)[1]
        (tmp_path / "m.seqmtl").unlink()
        save, n = checkpoints.Checkpoint.save_scores, []

        def interrupted(self):
            save(self)
            n.append(len(self.scores))
            if len(self.scores) == 4:
                raise KeyboardInterrupt

        monkeypatch.setattr(checkpoints.Checkpoint, "save_scores", interrupted)
        assert train("--tree", TREE) == (130, None)
        assert "--resume to continue" in capsys.readouterr().err
        assert train("--tree", TREE, "-C", "1", "--resume") == (1, None)
        assert "belongs to other data or options" in capsys.readouterr().err
        n.clear()
        code, resumed = train("--tree", TREE, "--resume")
        assert code == 0
        assert n[0] == 5
        assert resumed.training["selection"] == whole.training["selection"]
        assert_array_equal(resumed.W, whole.W)

    def test_a_split_of_one_value_is_ignored(self, data, tmp_path, capsys):
        lines = (data / "windows.tsv").read_text().splitlines()
        table = tmp_path / "t.tsv"
        table.write_text("\n".join([f"{lines[0]}\tsplit", *(f"{x}\tall" for x in lines[1:])]))
        path = str(tmp_path / "m")
        assert main(["train", str(table), "--selection", "none", "-o", path]) == 0
        assert "the split column is 'all' in every row" in capsys.readouterr().err
        assert sum(t["n"] for t in MultiTaskModel.load(path).training["tasks"].values()) == 180


class TestResuming:
    def test_an_interrupted_run_reaches_the_same_model(self, train, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(dcd, "_SAVE_AFTER", 1)
        monkeypatch.setattr(PositionalRows, "gram_rows", 0)  # in epochs, so that there are several
        options = ["--tree", "{data}/tree.nwk", "--mkl", "hierarchical", "--tol", "1e-4",
                   "--dtype", "float64"]  # fmt: skip
        code, whole = train(*options)
        assert code == 0
        (tmp_path / "m.seqmtl").unlink()
        save = checkpoints.Checkpoint.save

        def interrupted(self, state):
            save(self, state)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(checkpoints.Checkpoint, "save", interrupted)
            assert train(*options) == (130, None)
        assert "--resume to continue" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["m.seqmtl.checkpoint"]
        for changed in (["--norm", "3"], ["--features", "wd:3"], ["-C", "2"]):
            assert train(*options, *changed, "--resume") == (1, None)
            assert "belongs to other data or options" in capsys.readouterr().err
        code, resumed = train(*options, "--resume")
        assert code == 0
        assert [path.name for path in tmp_path.iterdir()] == ["m.seqmtl"]
        assert resumed.training["mkl"] == whole.training["mkl"]
        assert_array_equal(resumed.W, whole.W)


BAD = {
    "nan.tsv": "name\tape\tman\tfly\nape\t0\tnan\t2\nman\tnan\t0\t2\nfly\t2\t2\t0\n",
    "other.nwk": "((ape,man),(bee,cat));",
}


class TestBadInput:
    """Every one is found before training; nothing is written."""

    @pytest.fixture(autouse=True)
    def files(self, data, monkeypatch):
        def never(*arguments, **options):
            raise AssertionError("training has started")

        monkeypatch.setattr(fit, "solve", never)
        monkeypatch.setattr(fit, "select", never)
        for name, text in BAD.items():
            (data / name).write_text(text)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--mkl", "hierarchical", "--tree", "{data}/other.nwk"],
             "task 'fly' is not in the tree other.nwk; it has 'ape', 'man', 'bee', 'cat'"),
            (["--mkl", "hierarchical", "--tree", "{data}/absent.nwk"], "absent.nwk"),
            (["--mkl", "smooth", "--distances", "{data}/nan.tsv"],
             "nan.tsv:2: distance must be a finite number from 0, got 'nan'; correct or remo"),
            (["--mkl", "hierarchical", "--tree", TREE, "--organism", "ape"],
             "got 1 of .*; a single task has no relatives: use indiv"),
        ],
    )  # fmt: skip
    def test_of_files_is_exit_code_1(self, train, tmp_path, capsys, arguments, message):
        assert train(*arguments) == (1, None)
        error = capsys.readouterr().err
        assert re.search(message, " ".join(error.split())), error
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--mkl", "hierarchical"], "must have one source of tree, .* got none; give tree"),
            (["--mkl", "tree", "--tree", TREE], "--mkl: must be one of hierarchical, smooth"),
            (["--mkl", "smooth", "--similarity", "tree", "--tree", TREE], "give only one"),
            (["--selection", "auto", "--mkl", "smooth", "--tree", TREE],
             "--mkl learns the weights of several similarities at a fixed -C, but"),
            (["--norm", "2"], "--norm applies to the --mkl weights; give --mkl too"),
        ],
    )  # fmt: skip
    def test_of_usage_is_exit_code_2(self, train, tmp_path, capsys, arguments, message):
        with pytest.raises(SystemExit, match="2"):
            train(*arguments)
        error = " ".join(capsys.readouterr().err.split())
        assert re.search(message, error), error
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("more", [[], ["--mkl", "hierarchical"]])
    def test_of_windows(self, train, data, tmp_path, capsys, more):
        text = (data / "windows.tsv").read_text()
        (data / "one_class.tsv").write_text(text.replace("fly\t1\t", "fly\t-1\t"))
        (data / "typo.tsv").write_text(text.replace("fly\t", "flie\t"))
        options = ["--tree", "{data}/tree.nwk", *more]
        assert train(*options, table="one_class.tsv") == (1, None)
        error = capsys.readouterr().err
        assert re.search("task 'fly' has 0 (positive and 60 negative|of label 1)", error), error
        assert train(*options, table="typo.tsv") == (1, None)
        error = capsys.readouterr().err
        assert re.search(r"task 'flie' is not in the .*tree.nwk\)?; did you mean 'fly'", error)
        assert list(tmp_path.iterdir()) == []
