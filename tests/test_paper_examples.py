"""The scripts that repeat experiments of the papers, at a tiny size."""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score, roc_curve

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "paper"


def _load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def synthetic():
    return _load("widmer2015_synthetic")


def test_mutations_follow_the_tree(synthetic):
    means = synthetic.grow_means(5, 5, np.random.default_rng(0))
    assert means.shape == (32, 100)
    assert_array_equal(np.abs(means), 1.0)
    differ = (means[:, None] != means).sum(axis=2)
    t = np.arange(32)
    assert (differ[t, t ^ 1] <= 10).all()  # siblings: 5 on either edge
    assert (differ[t, t ^ 1] % 2 == 0).all()
    levels = [differ[t, t ^ (1 << k)].mean() for k in range(5)]
    assert levels == sorted(levels)
    one_edge = synthetic.grow_means(1, 5, np.random.default_rng(1))
    assert_array_equal((one_edge < 0).sum(axis=1), 5)


def test_points_have_the_means_and_the_deviation_of_their_class(synthetic):
    means = synthetic.grow_means(1, 5, np.random.default_rng(0))
    points = synthetic.draw_points(means, 20_000, 4.0, np.random.default_rng(1))
    assert points.shape == (2, 2, 20_000, 100)
    assert_allclose(4.0 * points[:, 0].mean(axis=1), 0.5 * means, atol=0.15)
    assert_allclose(4.0 * points[:, 1].mean(axis=1), -0.5 * means, atol=0.15)
    assert_allclose(4.0 * points.std(axis=2), 4.0, atol=0.1)


def test_curves_are_those_of_sklearn(synthetic):
    scores = np.random.default_rng(0).standard_normal((3, 2, 50))
    scores[:, 0] += 0.5
    labels = np.repeat([1, 0], 50)
    for curve, part in zip(synthetic.roc(scores), scores, strict=True):
        assert curve.mean() == pytest.approx(roc_auc_score(labels, part.ravel()))
        fpr, tpr, _ = roc_curve(labels, part.ravel(), drop_intermediate=False)
        recall = [tpr[fpr < (j + 0.5) / 50].max() for j in range(50)]
        assert_allclose(curve, recall)


@pytest.mark.parametrize("options", [[], ["--unit-trace"]])
def test_the_experiment_runs(synthetic, tmp_path, capsys, monkeypatch, options):
    monkeypatch.setattr(synthetic, "COSTS", (1e-3, 1e-2))
    arguments = ["--seeds", "2", "--depth", "2", "--train", "4", "--test", "30", "--sigma", "4"]
    synthetic.main([*arguments, *options, "--out", str(tmp_path / "new")])
    printed = capsys.readouterr().out
    assert "vanilla MTL - union" in printed
    with open(tmp_path / "new" / "auroc.tsv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert [row["method"] for row in rows[:6]] == [
        "individual", "union", "vanilla MTL", "MT-MKL p=1", "MT-MKL p=2", "MT-MKL p=3",
    ]  # fmt: skip
    assert [row["seed"] for row in rows] == ["0"] * 6 + ["1"] * 6
    assert {float(row["C"]) for row in rows} <= {1e-3, 1e-2}
    for row in rows:
        assert 0.0 <= float(row["auroc"]) <= 1.0
    mean = np.mean([float(row["auroc"]) for row in rows if row["method"] == "union"])
    assert f"union           {mean:.4f}" in printed
    assert (tmp_path / "new" / "figure.png").read_bytes()[1:4] == b"PNG"


def test_learning_curves_by_hand(tmp_path, capsys):
    curves_of = _load("widmer2015_learning_curves")
    values = {"individual": (0.6, 0.8), "union": (0.5, 0.5), "mkl": (0.7, 0.6)}

    def at(shift):
        found = {m: {"auprc": [v + shift for v in pair]} for m, pair in values.items()}
        return {method: {"tasks": {"ape": own, "fly": own}} for method, own in found.items()}

    curves = curves_of.collect({100: at(0.0), 300: at(0.1)}, "auprc")
    assert_allclose(curves["mkl", "ape"], [[0.7, 0.6], [0.8, 0.7]])
    assert_allclose(curves["mkl", "mean"], curves["mkl", "fly"])
    curves_of.write_table(curves, [100, 300], tmp_path / "curves.tsv")
    lines = (tmp_path / "curves.tsv").read_text().splitlines()
    rows = list(csv.reader(lines, delimiter="\t"))
    assert rows[0] == ["organism", "method", "100", "100_sd", "300", "300_sd"]
    assert ["ape", "individual", "0.7000", "0.1000", "0.8000", "0.1000"] in rows
    curves_of.draw(curves, [100, 300], "auprc", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    curves_of.judge(curves, [100, 300])
    line = capsys.readouterr().out.splitlines()[0]
    assert line.split() == ["ape", "100", "-0.0500", "+-", "0.1500", "WORSE", "than", "individual"]
