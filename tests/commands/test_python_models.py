"""Models that were fitted in Python, as input of commands."""

import numpy as np
import pytest

from seqmtl import MultiTaskSVC, MultiTaskSVR, PositionalKmers
from tests.invocation import write_windows
from tests.linear_model.cases import motif_windows


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of 48 windows."""
    windows = motif_windows(48, ("fly", "worm"), length=21, at=9)
    return write_windows(tmp_path_factory.mktemp("windows") / "w.tsv", windows)


COMMANDS = (
    "predict {m} {table} -o {tmp}/x.tsv",
    "evaluate {m} {table} --json {tmp}/x.json",
    "calibrate {m} {table} -o {tmp}/c",
    "adapt {m} {table} --organism new -o {tmp}/a",
    "explain {m} {table} -o {tmp}/x",
    "scan {m} {table} -o {tmp}/x.bed",
    "variants {m} --vcf {table} --fasta {table} -o {tmp}/x.vcf",
)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A model of numbers."""
    path, rng = tmp_path_factory.mktemp("models") / "numbers", np.random.default_rng(0)
    MultiTaskSVC().fit(rng.normal(size=(30, 2)), np.arange(30) % 2).model_.save(path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_models_of_numbers_are_refused(command, numbers, table, tmp_path, seqmtl):
    error = seqmtl(command.format(m=numbers, table=table, tmp=tmp_path), 1).err
    assert "/numbers: is a model of numbers; " in error
    assert error.endswith(" in Python\n")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_numbers_is_described(numbers, seqmtl):
    assert "numbers" in seqmtl(f"info {numbers}").out


def test_a_regression_has_other_targets_than_labels(table, tmp_path, seqmtl):
    windows = motif_windows(90, ("fly", "worm"), length=21, at=9)
    MultiTaskSVR(PositionalKmers("wd:4")).fit(windows, windows.labels / 2).model_.save(
        tmp_path / "m"
    )
    error = seqmtl(f"evaluate {tmp_path / 'm'} {table}", 1).err
    assert "a regression model cannot be evaluated on labels of 1 and -1" in error


def test_figures_on_the_training_rows_are_too_good(table, tmp_path, monkeypatch, seqmtl):
    text = table.read_text()
    lines = text.splitlines()
    splits = [f"{line}\t{'train' if i < 36 else 'test'}" for i, line in enumerate(lines[1:])]
    for name, content in (
        ("all", text),
        ("other", text),
        ("split", "\n".join([f"{lines[0]}\tsplit", *splits])),
    ):
        (tmp_path / f"{name}.tsv").write_text(content)
    monkeypatch.chdir(tmp_path)  # another spelling of the same path
    for trained_on, evaluated_on, n_warnings in (
        ("all", "all", 1),
        ("all", "other", 0),
        ("split", "split", 0),
    ):
        options = "--features wd:2 --selection none --site 9 -o m"
        seqmtl(f"train {tmp_path}/{trained_on}.tsv {options}")
        error = seqmtl(f"evaluate m {evaluated_on}.tsv --bootstrap 0").err
        assert error.count("so this accuracy is misleading; give examples held") == n_warnings
