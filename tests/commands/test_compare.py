"""The command compare, run as a user would."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import seqmtl as package
from seqmtl import PositionalKmers, TaskKernel, read_windows
from seqmtl.comparison import Comparison, Result, runs
from seqmtl.sequences import Windows
from seqmtl.training.settings import Settings
from tests.invocation import write_windows
from tests.linear_model.cases import motif_windows

TREE = "((ape:0.2,man:0.2):0.8,fly:1.0);"
OPTIONS = f"--tree '{TREE}' -C 1 --features wd:3 --train-size 30 --json out.json"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    windows = motif_windows(600, ("ape", "man", "fly"), length=20, at=8)
    splits = ["test", "train", "train", "train"] * 150
    return write_windows(tmp_path_factory.mktemp("data") / "windows.tsv", windows, splits=splits)


@pytest.fixture
def compare(seqmtl, data, tmp_path, monkeypatch):
    """Return a function that compares in an empty folder, and returns what it has written."""
    monkeypatch.chdir(tmp_path)
    return lambda more="", code=0: seqmtl(f"compare {data} {OPTIONS} {more}", code)


def test_all_methods_and_figure(compare):
    told = compare("--splits 3 --threads 2 --plot bars.png")
    assert "15 of 15 done, about 0 s left" in told.err
    assert told.out.startswith("| AUROC")
    whole = json.loads(Path("out.json").read_text())
    assert list(whole["methods"]) == ["individual", "union", "mtl", "mkl", "default"]
    for method in whole["methods"].values():
        assert list(method["tasks"]) == ["ape", "man", "fly"]
        assert all(len(task["auroc"]) == 3 for task in method["tasks"].values())
        assert all(set(chosen) == {"ape", "man", "fly"} for chosen in method["chosen"])
    assert whole["settings"]["command"] == "compare"
    assert whole["settings"]["train_size"] == 30
    assert whole["drawn"] == ["train"]
    sizes = [whole["sizes"]["fly"][part]["n"] for part in ("train", "test")]
    assert sizes == [30, 50]
    assert Path("bars.png").read_bytes().startswith(b"\x89PNG")


def test_given_splits_are_run_once_with_intervals(seqmtl, data, tmp_path):
    out = tmp_path / "o.json"
    told = seqmtl(
        f"compare {data} --methods individual -C 1 --features wd:2 --splits 4 --json {out}"
    )
    assert "all splits would be the same run: running one" in told.err
    assert "One split, with 95 % bootstrap intervals" in told.out
    assert "AUPRC (windows) is over the test windows, with the decoys that were drawn" in told.out
    found = json.loads(out.read_text())
    assert (found["splits"], found["drawn"]) == ([0], [])
    task = found["methods"]["individual"]["tasks"]["fly"]
    low, high = task["auprc_windows_interval"][0]
    assert low < task["auprc_windows"][0] < high


def test_figures_need_matplotlib(compare, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "needs matplotlib; run: pip install matplotlib" in compare("--plot x.png", 2).err
    assert list(Path().iterdir()) == []


def test_a_table_of_similarity_from_python(data, tmp_path):
    table, out = tmp_path / "K.tsv", tmp_path / "o.json"
    kernel = TaskKernel.smooth([[0, 2, 2], [2, 0, 0.2], [2, 0.2, 0]], [1], ("fly", "man", "ape"))
    table.write_text(kernel.to_tsv())
    options = {"splits": 1, "features": "wd:2", "C": 1, "methods": "mtl", "json": out}
    document = package.compare(data, similarity=table, **options)
    assert document == json.loads(out.read_text())
    assert document["settings"]["similarity"] == str(table)
    windows = read_windows(data)
    of_python = Comparison(
        windows,
        PositionalKmers("wd:2"),
        Settings(),
        (1.0,),
        kernel=kernel.restrict(windows.task_names),
    )
    result = of_python.run(0, "mtl")
    found = document["methods"]["mtl"]["tasks"]
    assert {name: task["auroc"] for name, task in found.items()} == {
        name: [task["auroc"]] for name, task in result.tasks.items()
    }


def test_a_stop_before_the_tolerance_is_told(compare, monkeypatch):
    def stopped(comparison, jobs, on_result):
        tasks = {"ape": {"auroc": 0.9, "auprc_windows": 0.8}}
        tasks["ape"] |= {f"{metric}_interval": [0.7, 1.0] for metric in [*tasks["ape"]]}
        return [Result(split, method, tasks, {}, split == 0) for split, method in jobs]

    monkeypatch.setattr("seqmtl.comparison.run_comparison", stopped)
    told = compare("--splits 2 --methods union -q", code=3).err
    assert "not converged to the tolerance 0.001: union on split 1" in told


def test_no_more_runs_at_once_than_fit_into_memory(monkeypatch):
    windows = Windows(
        np.zeros(1000, dtype=np.uint8),
        np.arange(10),
        20,
        task_ids=np.arange(10) % 2,
        task_names=("ape", "fly"),
    )
    comparison = Comparison(windows, PositionalKmers("wd:2"), Settings())
    need = 4 * (2 * 2 * 20 * (4 + 16) + 3 * 10**2) + 1000
    for memory, expected in ((3.5 * need, 3), (0.5 * need, 1)):
        monkeypatch.setattr(runs, "available_memory", lambda found=memory: int(found))
        assert comparison.max_parallel() == expected
