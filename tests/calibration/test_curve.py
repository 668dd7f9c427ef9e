"""Calibration curves: pooling by brute force, prevalence, files, and the command."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import MultiTaskModel, MultiTaskSVC, Windows
from seqmtl.calibration.curve import (
    CalibrationCurve,
    cross_fitted,
    describe_curve,
    fit_curve,
    mean_curve,
    to_probability,
    weights_for_prevalence,
)
from seqmtl.evaluation import evaluate
from tests.invocation import run, write_windows
from tests.linear_model.cases import motif_windows


def _pools(scores, positive, weights):
    """Isotonic regression by the min-max formula: max over starts of min over ends of the mean."""
    order = np.argsort(scores)
    x, y, w = scores[order], positive[order].astype(float), weights[order]
    n = x.size
    mean = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(i, n):
            mean[i, j] = np.average(y[i : j + 1], weights=w[i : j + 1])
    fit = np.array([max(np.nanmin(mean[i, k:]) for i in range(k + 1)) for k in range(n)])
    return x, fit, w


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_curve_joins_the_pools_of_the_min_max_formula(seed):
    rng = np.random.default_rng(seed)
    n = 150
    scores = rng.permutation(np.arange(n)) / 10.0
    positive = rng.random(n) < scores / 15
    counts = np.where(positive, 1, 3)
    curve = fit_curve(scores, np.where(positive, 1, -1), counts, "isotonic")
    x, fit, w = _pools(scores, positive, counts)
    y = positive[np.argsort(scores)]
    expected, rows = [], []
    for level in sorted(set(fit.round(12)), reverse=True):
        rows += np.flatnonzero(fit.round(12) == level).tolist()
        if y[rows].sum() >= 10 or level == fit.min().round(12):
            odds = max(y[rows].sum(), 0.5) / (w[rows][~y[rows]].sum() + 1)
            expected.append((np.average(x[rows], weights=w[rows]), np.log(odds)))
            rows = []
    assert len(expected) > 2
    assert_allclose(curve.scores, [knot for knot, _ in expected[::-1]])
    values = [value for _, value in expected[::-1]]
    assert (np.diff(values) > 0).all()
    assert_allclose(curve.log_odds[:-1], values[:-1])
    assert curve(x[-1:])[0] == pytest.approx(values[-1])  # no score seen has more than its pool
    assert curve.log_odds[-1] == pytest.approx(values[-1], abs=0.03)


def test_the_weighted_sum_of_curves_is_a_curve():
    rng = np.random.default_rng(0)
    curves = [
        CalibrationCurve(np.sort(rng.normal(size=k)), np.sort(rng.normal(size=k)), rng.random(2))
        for k in (1, 4, 7)
    ]
    weights, scores = [0.5, 0.2, 0.3], rng.normal(size=200) * 4
    expected = sum(a * curve(scores) for a, curve in zip(weights, curves, strict=True))
    assert_allclose(mean_curve(curves, weights)(scores), expected, atol=1e-12)


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_high_probabilities_need_many_true_sites(method):
    for n_true, highest in ((3, 3 / 4), (12, 12 / 13), (60, 60 / 61)):
        scores = np.concatenate([np.linspace(5, 6, n_true), np.linspace(-6, -5, 1000)])
        y = np.repeat([1, -1], [n_true, 1000])
        p = to_probability(fit_curve(scores, y, None, method)(np.array([5.5, 6.0, 9.0])))
        assert (p[:2] <= highest + 1e-12).all()
        assert p[1] < p[2] < highest + 0.03  # beyond all scores seen
        if n_true == 12:  # more than ten are enough
            assert p[1] == pytest.approx(highest)


def test_the_best_few_sites_make_no_claim():
    # nine sites above all decoys: a tenth, deep among decoys, decides what is supported
    scores = np.concatenate([np.linspace(3, 4, 9), [0.0], np.linspace(-1, 1, 41)])
    y = np.repeat([1, -1], [10, 41])
    for method in ("isotonic", "sigmoid"):
        p = to_probability(fit_curve(scores, y, None, method)(np.array([4.0])))
        assert p[0] <= 10 / (10 + 21 + 1) + 1e-12  # decoys from 0 up: 21


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_rows_of_many_candidates_are_those_candidates(method):
    rng = np.random.default_rng(5)
    y = np.repeat([1, -1], [150, 350])
    scores = np.round(y + rng.standard_normal(500), 1)
    counts = rng.integers(1, 5, 500)
    full = (np.repeat(scores, counts), np.repeat(y, counts))
    for share in (None, 0.01):
        short = fit_curve(scores, y, counts, method, share)
        for one, other in zip(short, fit_curve(*full, None, method, share), strict=True):
            assert_allclose(one, other, rtol=1e-6)
        told = [describe_curve(short, *own, share) for own in ((scores, y, counts), (*full, None))]
        for one, other in zip(*(entry.pop("thresholds") for entry in told), strict=True):
            assert one == pytest.approx(other)
        assert told[0] == pytest.approx(told[1])
        p, rows, held = cross_fitted(scores, y, counts, method, share)
        assert_allclose(np.bincount(rows, held), counts)  # each is held out once
        own, order, _ = cross_fitted(*full, None, method, share)
        assert_allclose(np.sort(np.repeat(p, held)), np.sort(own), rtol=1e-6)
        assert order.size == counts.sum()


def test_thresholds_reach_recalls_of_sites_that_count_less_than_one():
    weights = np.array([0.9, 0.8, 0.7, 0.5, 1.0, 1.0])
    y, scores = np.array([1, 1, 1, 1, -1, -1]), np.array([4.0, 3.0, 2.0, 1.0, 0.5, 0.0])
    curve = fit_curve(scores, y, weights, "sigmoid")
    thresholds = describe_curve(curve, scores, y, weights)["thresholds"]
    reached = [row["score"] for row in thresholds if row["recall"] in (0.5, 0.8, 0.95)]
    assert reached == [3.0, 2.0, 1.0]  # of 0.9, 1.7, 2.4 and 2.9


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_equal_probabilities_come_from_equal_scores_only(method):
    rng = np.random.default_rng(7)
    for n_true, strength in ((15, 3.0), (150, 1.0), (600, 4.0), (300, 0.0), (300, -1.0)):
        y = np.repeat([1, -1], [n_true, 4000])
        scores = np.where(y > 0, strength, 0.0) + rng.standard_normal(y.size)
        curve = fit_curve(scores, y, None, method, 0.003)
        places = np.sort(np.concatenate([scores, np.linspace(-9, 15, 1000)]))
        assert (np.diff(curve(places)[np.append(True, np.diff(places) > 1e-9)]) > 0).all()


def test_a_prevalence_moves_the_log_odds():
    rng = np.random.default_rng(6)
    y = np.repeat([1, -1], [300, 900])
    scores = y + rng.standard_normal(1200)
    for method in ("isotonic", "sigmoid"):
        own, rare = (fit_curve(scores, y, None, method, share) for share in (None, 0.001))
        change = np.log(0.001 / 0.999) - np.log(300 / 900)
        assert_allclose(rare.log_odds - own.log_odds, change)
        found = describe_curve(rare, scores, y, None, 0.001)
        weights = weights_for_prevalence(y, 0.001)
        for row in found["thresholds"]:
            called = scores >= row["score"]
            assert (called & (y > 0)).sum() / 300 == pytest.approx(row["recall"])
            precision = weights[called & (y > 0)].sum() / weights[called].sum()
            assert row["precision"] == pytest.approx(precision)


def test_auto_asks_for_enough_true_sites():
    rng = np.random.default_rng(1)
    for n, size in ((150, 1), (250, None)):
        y = np.repeat([1, -1], n)
        curve = fit_curve(y + rng.standard_normal(2 * n), y)
        assert (curve.scores.size == 1) == (size == 1)


def test_probabilities_hold_at_the_prevalence_that_the_weights_stand_for():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(400_000) < 0.01, 1, -1)
    scores = 1.5 * y + rng.standard_normal(y.size)
    kept = np.flatnonzero((y > 0) | (rng.random(y.size) < 0.05))  # decoys are drawn, 1 in 20
    weights = np.where(y[kept] > 0, 1.0, 20.0)
    for method in ("isotonic", "sigmoid"):
        p = to_probability(fit_curve(scores[kept], y[kept], weights, method)(scores))
        assert p.mean() == pytest.approx(0.01, rel=0.1)
        for low, high in ((0.01, 0.1), (0.1, 0.5), (0.5, 0.97)):
            inside = (p > low) & (p < high)
            assert p[inside].mean() == pytest.approx((y[inside] > 0).mean(), rel=0.25)


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_cross_fitting_leaves_every_fifth_of_each_class_out(method):
    rng = np.random.default_rng(3)
    y = np.where(rng.random(200) < 0.5, 1, -1)
    scores = y + 2 * rng.standard_normal(200)
    p, rows, counts = cross_fitted(scores, y, None, method)
    assert sorted(rows) == list(range(200))
    assert set(counts) == {1}
    fold = np.array([(scores[y == y[i]] < scores[i]).sum() % 5 for i in range(200)])
    for value, row in zip(p, rows, strict=True):
        others = fold != fold[row]
        curve = fit_curve(scores[others], y[others], None, method)
        assert value == pytest.approx(to_probability(curve(scores[row : row + 1]))[0])


@given(st.floats(0.001, 0.5), st.integers(1, 30), st.integers(1, 30))
def test_weights_give_the_prevalence(prevalence, n_true, n_decoys):
    y = np.repeat([1, -1], [n_true, n_decoys])
    weights = weights_for_prevalence(y, prevalence)
    assert weights[y > 0].sum() / weights.sum() == pytest.approx(prevalence)
    given = np.arange(1.0, y.size + 1)
    changed = weights_for_prevalence(y, prevalence, given)
    assert changed[y > 0].sum() / changed.sum() == pytest.approx(prevalence)
    assert_allclose(np.diff(changed[y < 0] / given[y < 0]), 0, atol=1e-9)  # alike among decoys


def test_bad_input():
    y = np.array([1, -1])
    for call, message in (
        (lambda: fit_curve(np.zeros(3), np.ones(3)), "one class only"),
        (lambda: fit_curve(np.zeros(2), y, None, "spline"), "method must be one"),
        (lambda: weights_for_prevalence(y, 1.0), "between 0 and 1"),
        (lambda: weights_for_prevalence(np.array([1, 1]), 0.1), "one class only"),
        (lambda: cross_fitted(np.arange(3.0), np.array([1, -1, -1])), "two windows of each class"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_precision_at_recall_by_hand():
    labels, scores = [1, -1, 1, -1, -1], [5.0, 4.0, 3.0, 3.0, 1.0]
    counts = [1, 10, 1, 10, 100]
    found = evaluate(labels, scores, ["t"] * 5, counts=counts)["tasks"]["t"]["genome"]
    assert found["prevalence"] == pytest.approx(2 / 122)
    assert found["precision_at_recall"]["0.5"] == 1.0
    assert found["precision_at_recall"]["0.8"] == pytest.approx(2 / 22)  # ties go together
    assert found["auprc"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 22)
    one_class = evaluate([1, 1], [0, 1], ["t"] * 2, counts=[1, 1])["tasks"]["t"]["genome"]
    assert one_class["auprc"] is None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of two tasks and a table with train, valid and test rows."""
    folder = tmp_path_factory.mktemp("calibrate")
    windows = motif_windows(1500, ("a", "b"), length=20, at=8)
    table = write_windows(folder / "windows.tsv", windows, splits=["train", "valid", "test"] * 500)
    run(f"train {table} --features wd:3 --site 8 -o {folder}/m")
    return folder


def test_command_writes_probabilities_of_the_curve(files, seqmtl):
    out, plot = files / "c", files / "reliability.png"
    command = f"calibrate {files}/m {files}/windows.tsv -o {out} --plot {plot} -q"
    shown = seqmtl(f"{command} --prevalence 0.01 --json -")
    found = json.loads(shown.out)
    assert found["tasks"]["a"]["prevalence"] == pytest.approx(0.01)
    assert plot.stat().st_size > 10_000
    model = MultiTaskModel.load(out)
    assert model.prevalence("a") == pytest.approx(0.01)
    assert list(model.curves) == ["a", "b"]
    row = found["tasks"]["b"]["thresholds"][1]
    p = model.probability(np.array([row["score"]]), ["b"])[0]
    assert p == pytest.approx(row["probability"])
    before = MultiTaskModel.load(files / "m")
    assert before.curves == {}
    assert before.probability(np.array([row["score"]]), ["b"])[0] > p
    assert "calibrated" in seqmtl(f"info {out} -q").out


def test_it_says_at_which_shares_they_hold_and_that_training_windows_are_no_held_out_ones(
    files, seqmtl
):
    table, options = files / "windows.tsv", f"-o {files}/d"
    assert "--prevalence" in seqmtl(f"calibrate {files}/m {table} {options}").err
    seqmtl(f"train {table} --features wd:3 --site 8 --split valid -q -o {files}/valid")
    shown = seqmtl(f"calibrate {files}/valid {table} {options} --prevalence 0.1").err
    assert "probabilities are misleading" in shown


def test_an_organism_with_too_few_sites_does_not_keep_others_from_calibration(
    files, tmp_path, write, seqmtl
):
    rows = (files / "windows.tsv").read_text().splitlines()
    of_b = [row for row in rows if row.startswith("b\t1\t") and row.endswith("valid")]
    kept = [row for row in rows if row not in of_b[1:]]
    out, table = tmp_path / "c", write("\n".join(kept) + "\n")
    command = f"calibrate {files}/m {table} -o {out} --plot {tmp_path}/r.png"
    messages = seqmtl(f"{command} --prevalence 0.01").err
    assert "b: calibration needs at least two windows of each class, got 1 true sites" in messages
    assert "not calibrated, because DATA lacks them: b" in messages
    assert list(MultiTaskModel.load(out).curves) == ["a"]
    assert (tmp_path / "r.png").exists()
    alone = write("\n".join([kept[0], *(row for row in kept if row.startswith("b"))]) + "\n")
    message = "b: calibration needs at least two windows of each class, got 1 true sites and "
    assert message in seqmtl(f"calibrate {files}/m {alone} -o {tmp_path}/x", code=1).err
    assert not (tmp_path / "x").exists()


def test_relatives_lend_their_log_odds():
    windows = Windows.from_strings(
        ["AC", "GT", "CA", "TG"] * 10, [1, 0, 1, 0] * 10, list("abab") * 10
    )
    from seqmtl import TaskKernel

    kernel = TaskKernel(["a", "b", "c"], [[1, 0.5, 0.6], [0.5, 1, 0.6], [0.6, 0.6, 1]])
    model = (
        MultiTaskSVC(task_kernel=kernel).fit(windows.with_tasks(["a", "a", "b", "b"] * 10)).model_
    )
    flat = np.zeros(2)
    model.curves = {
        name: CalibrationCurve(np.zeros(1), np.array([value]), flat)
        for name, value in (("a", -1.0), ("b", -3.0))
    }
    assert_allclose(model.log_odds(np.array([5.0]), "c"), [-2.0])  # equally close to both
