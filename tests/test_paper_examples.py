"""The scripts that repeat experiments of the papers, at a tiny size."""

import csv
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score, roc_curve

from tests.oracles import svm

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "paper"


def _load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
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


@pytest.fixture(scope="module")
def times():
    return _load("widmer2012_solver_times")


def _sample(times, n=60, T=3, d=4):
    rng = np.random.default_rng(0)
    tasks, y = np.arange(n) % T, np.where(rng.random(n) < 0.3, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.4 * y[:, None] + 0.3
    K = np.linalg.inv((T + 1) * np.eye(T) - np.ones((T, T)))
    return times.Sample(X, y, tasks, K)


def test_objectives_are_those_of_the_kernel_matrix(times):
    s = _sample(times)
    alpha = np.random.default_rng(1).random(s.n)
    primal, dual = s.objectives(alpha)
    G = svm.multitask_kernel(s.X, s.tasks, s.K, 0.0)
    signed = alpha * s.y
    assert dual == pytest.approx(alpha.sum() - 0.5 * signed @ G @ signed)
    V = np.stack([signed[s.tasks == t] @ s.X[s.tasks == t] for t in range(3)], axis=1)
    W = V @ s.K
    assert primal == pytest.approx(
        svm.primal(s.X, s.y, s.tasks, s.K, 1.0, "hinge", W, np.zeros(3), 0.0)
    )
    assert_allclose(times.kernel_matrix(s)[:-2, :-2], G, atol=1e-12)


@pytest.mark.parametrize("shrinking", [True, False])
def test_anchors_take_the_intercept_away(times, shrinking):
    s = _sample(times)
    expected = svm.solve_dual(s.X, s.y, s.tasks, s.K, 1.0, bias=0.0)[1]
    G = times.kernel_matrix(s)
    alpha, _ = times.fit_libsvm(G, s.y, 1e-9, shrinking=shrinking)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    primal, dual = s.objectives(alpha)
    assert dual == pytest.approx(expected, abs=1e-6)
    assert primal - dual < 1e-6
    free, _ = times.fit_libsvm(G, s.y, 1e-9, shrinking=shrinking, has_anchors=False)
    assert free @ s.y == pytest.approx(0.0, abs=1e-9)  # what an intercept costs
    assert s.objectives(free)[1] < dual - 0.1


def test_times_are_interpolated_on_logarithmic_axes(times):
    points = [(1.0, 1e2), (10.0, 1e-2), (20.0, 1e-1), (40.0, 0.0)]
    assert times.time_to(points, 1e3) == 1.0
    assert times.time_to(points, 1.0) == pytest.approx(10.0**0.5)
    assert times.time_to(points, 1e-2) == pytest.approx(10.0)
    assert times.time_to(points, 1e-9) == 40.0
    assert np.isnan(times.time_to(points[:3], 1e-9))


def test_solver_times_run_and_are_resumed(times, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(times, "TOLERANCES", (1.0, 1e-2, 1e-6))
    for name, scale in (("gauss2d", 1.0), ("mnist_mtl", 255.0), ("landmine", 7.0)):
        s = _sample(times, n=120)
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        X, y, tasks = scale * s.X, s.y.astype(np.int8), s.tasks.astype(np.int32)
        np.savez(folder / f"{name}.npz", X=X, y=y, task=tasks)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "data"), "--out", str(out), "--halvings", "1", "--repeats", "2"]
    times.main(arguments)
    first = capsys.readouterr().out
    assert "Landmine: 120 examples" in first
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert {name: list(sizes) for name, sizes in results.items()} == {
        name: ["60", "120"] for name in times.TITLES
    }
    for sizes in results.values():
        for both in sizes.values():
            assert 0.0 <= both["dcd"]["gap"] <= 1e-10
            assert both["dcd"]["points"][-1][1] <= 1e-10
            assert abs(both["libsvm"]["points"][-1][1]) < 1e-6
            assert (
                min(seconds for seconds, _ in both["libsvm"]["points"]) >= both["libsvm"]["kernel"]
            )
    assert results["gauss2d"]["120"]["dcd"]["optimum"] == pytest.approx(
        results["mnist_mtl"]["120"]["dcd"]["optimum"]
    )
    assert (out / "figure.png").read_bytes()[1:4] == b"PNG"
    monkeypatch.delattr(times, "measure")
    times.main(arguments)
    assert first.endswith(capsys.readouterr().out)
    with pytest.raises(NameError, match="measure"):
        times.main([*arguments, "--halvings", "2"])


def test_a_run_ends_at_its_limit(times):
    watch = times.follow(_sample(times), 1e-12, 0.0)
    assert len(watch.seconds) == 1
