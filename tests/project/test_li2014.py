"""The script that repeats the tables of Li et al. (2014), at a tiny size."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_rel
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from seqmtl import ParetoMKLClassifier


@pytest.fixture(scope="module")
def li(paper_script):
    return paper_script("li2014_pareto")


@pytest.fixture
def folder(tmp_path, monkeypatch, li):
    """Three classes in a plane, and two tasks; few kernels and trade-offs."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 50, 60])
    X = rng.standard_normal((y.size, 2)) + 2.5 * np.column_stack([y == 1, y == 2])
    (tmp_path / "uci_vehicle").mkdir()
    np.savez(tmp_path / "uci_vehicle" / "uci_vehicle.npz", X=X, y=y)
    signs, task = np.where(y == 0, -1, 1), np.arange(y.size) % 2
    (tmp_path / "landmine").mkdir()
    np.savez(tmp_path / "landmine" / "landmine.npz", X=X, y=signs, task=task)
    monkeypatch.setattr(li, "KERNELS", [li.Normalized(li.Linear()), li.RBF(1.0)])
    monkeypatch.setattr(li, "TRADE_OFFS", (0.1, 1.0, np.inf))
    monkeypatch.setattr(li, "COSTS", (1.0, 10.0))
    monkeypatch.setattr(li, "MINIMAX_COSTS", (100.0, 1000.0))
    return tmp_path


def test_classes_are_drawn_evenly_and_split_by_a_share(li, folder):
    problem = li.read_problem(folder, "vehicle", 30, np.random.default_rng(0))
    assert_array_equal(np.bincount(problem.y), [30, 30, 30])
    train, test = li.split(problem, 0.2, 0)
    assert_array_equal(np.bincount(train.y), [6, 6, 6])
    assert_array_equal(np.bincount(test.y), [24, 24, 24])
    assert_allclose([train.X.min(axis=0), train.X.max(axis=0)], [[0, 0], [1, 1]])
    mines = li.read_problem(folder, "landmine", 10**9, np.random.default_rng(0))
    assert_array_equal(np.unique(mines.strata, return_counts=True)[1], [20] * 4)


def test_four_sides_of_the_robot(li):
    X = np.full((1, 24), 9.0)
    X[0, [22, 4, 13, 20]] = [1.0, 2.0, 3.0, 4.0]
    assert_array_equal(li.four_arcs(X), [[1.0, 2.0, 3.0, 4.0]])


def test_pairs_vote_as_in_scikit_learn(li, folder):
    problem = li.read_problem(folder, "vehicle", 40, np.random.default_rng(0))
    train, test = li.split(problem, 0.5, 1)
    pairs = li.OneVsOne(li.MinimaxClassifier("mean", C=1e4, share=0.01, norm=1.0, tol=1e-6))
    found = pairs.fit(train.X, train.y, None).predict(test.X, None)
    assert (found == test.y).mean() > 0.8
    kernel = li.RBF(2.0)
    mine = ParetoMKLClassifier([kernel], C=3.0).fit(train.X, train.y)
    theirs = OneVsOneClassifier(SVC(gamma=2.0, C=3.0)).fit(train.X, train.y)
    assert_array_equal(mine.predict(test.X), theirs.predict(test.X))
    expected = 100.0 * (theirs.predict(test.X) == test.y).mean()
    assert li.accuracy(mine, test) == pytest.approx(expected)
    for number, found in enumerate(li.task_accuracies(mine, test)):
        a, b = [(0, 1), (0, 2), (1, 2)][number]
        rows, fit = np.isin(test.y, [a, b]), np.isin(train.y, [a, b])
        svc = SVC(gamma=2.0, C=3.0).fit(train.X[fit], train.y[fit])
        assert found == pytest.approx(100.0 * (svc.predict(test.X[rows]) == test.y[rows]).mean())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["vehicle", "landmine"])
def test_units_are_run_once_and_make_tables(li, folder, tmp_path, name, capsys):
    out = tmp_path / "out"
    out.mkdir()
    for number in (0, 1):
        li.run_unit((folder, out, name, 0.2, number, False))
    assert "already done" in li.run_unit((folder, out, name, 0.2, 0, False))
    run = json.loads((out / f"{name}-0.2-1.json").read_text())
    assert list(run["pareto"]) == ["0.1", "1.0", "inf"]
    assert len(run["mm-ep"]) == 18
    assert len(run["mm-aep"]) == 6
    tables = sys.modules["li2014_tables"]
    text = tables.write_tables(out)
    cells = json.loads((out / "cells.json").read_text())
    assert len(cells) == 9
    first = cells[0]
    runs = tables.read_runs(out, name, 0.2)
    expected = [each["pareto"]["0.1"]["accuracy"] for each in runs]
    assert first["mean"] == pytest.approx(np.mean(expected))
    assert first["sd"] == pytest.approx(np.std(expected, ddof=1))
    assert f"{first['mean']:.2f}" in text
    tables.draw(out, name, 0.2)
    assert (out / "pareto.png").stat().st_size > 10_000


def test_verdicts(li):
    judge = sys.modules["li2014_tables"].judge
    ours = np.array([80.0, 82.0, 84.0])
    for paper, verdict in ((85.9, "within 2 sd"), (86.1, "below"), (77.9, "above")):
        assert judge(ours, paper, ours)["verdict"] == verdict
    for best in ours + np.array([[1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -2.0, 1.0]]):
        p, way = ttest_rel(ours, best).pvalue, "worse" if best.mean() > 82.0 else "better"
        assert judge(ours, 82.0, best)["against"] == (way if p < 0.05 else "equal")
    assert judge(ours, 82.0, ours)["against"] == "equal"
    assert judge(ours[:1], 82.0, ours[:1] + 9.0)["against"] == ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_quick_run_has_everything_and_no_nan(li, folder, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    arguments = [str(folder), "--out", str(out), "--quick", "--jobs", "1"]
    li.main([*arguments, "--splits", "1"])
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert "±" not in printed
    li.main(arguments)
    printed, done = capsys.readouterr()
    assert done.count("already done") == 3
    assert printed.count("±") == 27
    assert sorted(path.name for path in out.glob("*.*")) == sorted(
        ["cells.json", "pareto.png", "settings.json", "tables.txt"]
        + [f"vehicle-{size}-{name}.json" for size in (0.1, 0.2, 0.5) for name in (0, 1, "settings")]
    )
    monkeypatch.setattr(sys, "argv", ["li2014_tables.py", str(out)])
    sys.modules["li2014_tables"].main()
    assert capsys.readouterr().out == printed == (out / "tables.txt").read_text()
    monkeypatch.setattr(sys, "argv", ["li2014_tables.py", str(folder)])
    with pytest.raises(SystemExit, match="2"):
        sys.modules["li2014_tables"].main()
    assert "has no results of li2014_pareto.py" in capsys.readouterr().err
