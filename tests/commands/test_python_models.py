"""Models that were fitted in Python, as input of commands."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import (
    MultiTaskKernelSVC,
    MultiTaskOneClassSVM,
    MultiTaskSVC,
    MultiTaskSVR,
    WeightedDegree,
    Windows,
    evaluate,
    predict,
)


def draw(n, seed):
    """Windows of two organisms, every third with AAG in the middle."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 3 == 0, 1, -1)
    texts = ["".join(rng.choice(list("ACGT"), 21)) for _ in labels]
    middles = np.where(labels > 0, "AAG", "CTC")
    texts = [f"{x[:9]}{middle}{x[12:]}" for x, middle in zip(texts, middles, strict=True)]
    organisms = np.where(np.arange(n) % 2, "worm", "fly")
    return Windows.from_strings(texts, labels, organisms.tolist())


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of 48 windows."""
    windows = draw(48, seed=2)
    rows = zip(windows.tasks, windows.labels, windows.sequences(), strict=True)
    lines = ["organism\tlabel\tsequence", *(f"{t}\t{y}\t{x}" for t, y, x in rows)]
    path = tmp_path_factory.mktemp("windows") / "w.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


COMMANDS = (
    "predict {m} {table} -o {tmp}/x.tsv",
    "evaluate {m} {table} --json {tmp}/x.json",
    "calibrate {m} {table} -o {tmp}/c",
    "adapt {m} {table} --organism new -o {tmp}/a",
    "scan {m} {table} -o {tmp}/x.bed",
    "explain {m} -o {tmp}/x",
    "similarity {m} -o {tmp}/x.tsv",
    "variants {m} --vcf {table} --fasta {table} -o {tmp}/x.vcf",
)
REFUSED = {
    "kernels": (
        "is a model of kernels, not of weights",
        "; use it in Python (seqmtl.load)\n",
    ),
    "numbers": ("/numbers: is a model of numbers; ", " in Python\n"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The folder of a model of kernels and one of numbers."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    MultiTaskKernelSVC("wd:3").fit(draw(30, seed=0)).model_.save(folder / "kernels")
    numbers = MultiTaskSVC().fit(rng.normal(size=(30, 2)), np.arange(30) % 2)
    numbers.model_.save(folder / "numbers")
    return folder


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        *(("kernels", own) for own in COMMANDS),
        *(("numbers", own) for own in (*COMMANDS[:5], COMMANDS[-1])),
    ],
)
def test_models_for_python_are_refused(kind, command, models, table, tmp_path, seqmtl):
    error = seqmtl(command.format(m=models / kind, table=table, tmp=tmp_path), 1).err
    message, end = REFUSED[kind]
    assert message in error
    assert error.endswith(end)
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_any_model_is_described(models, seqmtl):
    assert "wd:3" in seqmtl(f"info {models / 'kernels'}").out
    assert "numbers" in seqmtl(f"info {models / 'numbers'}").out


def test_a_detector_of_novelties(table, tmp_path, seqmtl):
    known, new = draw(90, seed=1), draw(48, seed=2)
    detector = MultiTaskOneClassSVM(WeightedDegree(4), "union").fit(known[known.labels > 0])
    detector.model_.save(tmp_path / "m")
    found = predict(tmp_path / "m", table)
    assert list(found) == ["name", "organism", "score", "has_site", "class"]
    assert_allclose(found["score"], detector.decision_function(new), atol=1e-5)
    assert found["class"].tolist() == detector.predict(new).tolist()
    assert evaluate(tmp_path / "m", table, split="all", bootstrap=0)["mean"]["auroc"] > 0.9
    error = seqmtl(f"calibrate {tmp_path / 'm'} {table} -o {tmp_path / 'c'}", 1).err
    assert "only two-class models have probabilities" in error


def test_a_regression_has_other_targets_than_labels(table, tmp_path, seqmtl):
    windows = draw(90, seed=1)
    MultiTaskSVR(WeightedDegree(4)).fit(windows, windows.labels / 2).model_.save(tmp_path / "m")
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
        options = "--features wd:2 --selection none -o m"
        seqmtl(f"train {tmp_path}/{trained_on}.tsv {options}")
        error = seqmtl(f"evaluate m {evaluated_on}.tsv --bootstrap 0").err
        assert error.count("so this accuracy is misleading; give examples held") == n_warnings
