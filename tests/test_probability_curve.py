"""Calibration curves: pooling by brute force, prevalence, files, and the command."""

import argparse
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl import MultiTaskModel, MultiTaskSVC, Windows, read_windows
from seqmtl.cli.calibrate import calibrate
from seqmtl.cli.main import main
from seqmtl.evaluation.metrics import evaluate_genome
from seqmtl.models.probability_curve import (
    ProbabilityCurve,
    cross_fitted,
    fit_curve,
    to_probability,
    weights_for_prevalence,
)


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
def test_isotonic_curve_goes_through_the_pools_of_the_min_max_formula(seed):
    rng = np.random.default_rng(seed)
    n = 60
    scores = rng.permutation(np.arange(n)) / 10.0
    positive = rng.random(n) < scores / 6
    weights = np.where(positive, 1.0, 7.0)
    curve = fit_curve(scores, np.where(positive, 1, -1), weights, "isotonic")
    x, fit, w = _pools(scores, positive, weights)
    levels = np.unique(fit.round(12))
    for level, knot, log_odds in zip(levels, curve.scores, curve.log_odds, strict=True):
        pool = fit.round(12) == level
        assert knot == pytest.approx(np.average(x[pool], weights=w[pool]))
        if 0 < level < 1:
            assert to_probability(np.array([log_odds]))[0] == pytest.approx(level)
    assert (np.diff(curve.log_odds) >= 0).all()


def test_certainty_is_half_an_example_short():
    scores = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([-1, -1, 1, 1])
    curve = fit_curve(scores, y, np.array([10.0, 10.0, 1.0, 1.0]), "isotonic")
    assert_allclose(curve.scores, [0.5, 2.5])
    assert_allclose(curve.log_odds, [np.log(0.5 / 20), np.log(2 / 5.0)])
    assert_allclose(curve(np.array([-9.0, 0.5, 9.0])), curve.log_odds[[0, 0, 1]])


def test_sigmoid_is_a_straight_line_of_log_odds():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(4000) < 0.3, 1, -1)
    scores = y + rng.standard_normal(4000)  # log-odds are 2 s + log(.3 / .7)
    curve = fit_curve(scores, y, method="sigmoid")
    found = curve(np.array([-3.0, 0.0, 3.0]))
    assert_allclose(found, 2 * np.array([-3.0, 0.0, 3.0]) + np.log(3 / 7), atol=0.5)
    assert_allclose(np.diff(found)[0], np.diff(found)[1])


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


def test_cross_fitting_does_not_flatter():
    rng = np.random.default_rng(3)
    scores, y = rng.standard_normal(600), np.where(rng.random(600) < 0.5, 1, -1)  # no relation
    own = to_probability(fit_curve(scores, y, None, "isotonic")(scores))
    held = cross_fitted(scores, y, None, "isotonic")

    def loss(p):
        return -np.mean(np.log(np.where(y > 0, p, 1 - p)))

    assert loss(own) < loss(held)
    assert loss(held) > np.log(2)  # what knowing nothing costs


@given(st.floats(0.001, 0.5), st.integers(1, 30), st.integers(1, 30))
def test_weights_give_the_prevalence(prevalence, n_true, n_decoys):
    y = np.repeat([1, -1], [n_true, n_decoys])
    weights = weights_for_prevalence(y, prevalence)
    assert weights[y > 0].sum() / weights.sum() == pytest.approx(prevalence)
    given = np.arange(1.0, y.size + 1)
    changed = weights_for_prevalence(y, prevalence, given)
    assert changed[y > 0].sum() / changed.sum() == pytest.approx(prevalence)
    assert_allclose(np.diff(changed[y < 0] / given[y < 0]), 0, atol=1e-9)  # alike among decoys


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_curve(np.zeros(3), np.ones(3)), "one class only"),
        (lambda: fit_curve(np.zeros(2), np.array([1, -1]), None, "spline"), "method must be one"),
        (lambda: weights_for_prevalence(np.array([1, -1]), 1.0), "between 0 and 1"),
        (lambda: weights_for_prevalence(np.array([1, 1]), 0.1), "one class only"),
        (lambda: cross_fitted(np.arange(3.0), np.array([1, -1, -1])), "two windows of each class"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_precision_at_recall_by_hand():
    labels, scores = [1, -1, 1, -1, -1], [5.0, 4.0, 3.0, 3.0, 1.0]
    weights = [1.0, 10.0, 1.0, 10.0, 100.0]
    found = evaluate_genome(labels, scores, ["t"] * 5, weights)["t"]
    assert found["prevalence"] == pytest.approx(2 / 122)
    assert found["precision_at_recall"]["0.5"] == 1.0
    assert found["precision_at_recall"]["0.8"] == pytest.approx(2 / 22)  # ties go together
    assert found["auprc"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 22)
    assert evaluate_genome([1, 1], [0, 1], ["t"] * 2, [1, 1])["t"]["auprc"] is None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of two tasks and a table with train, valid and test rows."""
    folder = tmp_path_factory.mktemp("calibrate")
    rng = np.random.default_rng(4)
    rows, n = ["organism\tlabel\tsplit\tsequence"], 1500
    for i in range(n):
        label = 1 if rng.random() < 0.25 else -1
        letters = rng.choice(list("ACGT"), 20)
        if label > 0:
            letters[5:15] = np.where(rng.random(10) < 0.75, list("TTTTTTTTAG"), letters[5:15])
        split = ("train", "valid", "test")[i % 3]
        rows.append(f"{'ab'[i % 2]}\t{label}\t{split}\t{''.join(letters)}")
    table = folder / "windows.tsv"
    table.write_text("\n".join(rows) + "\n")
    assert main(["train", str(table), "--features", "wd:3", "-q", "-o", str(folder / "m")]) == 0
    return folder


def test_command_writes_probabilities_of_the_curve(files, capsys):
    out, plot = files / "c", files / "reliability.png"
    arguments = ["calibrate", str(files / "m"), str(files / "windows.tsv"), "-o", str(out)]
    arguments += ["--method", "isotonic", "--prevalence", "0.01", "--json", "-"]
    assert main([*arguments, "--plot", str(plot), "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
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
    assert main(["info", str(out), "-q"]) == 0
    assert "calibrated" in capsys.readouterr().out


def test_without_a_prevalence_it_says_at_which_shares_they_hold(files, capsys):
    arguments = ["calibrate", str(files / "m"), str(files / "windows.tsv"), "-o", str(files / "d")]
    assert main(arguments) == 0
    assert "--prevalence" in capsys.readouterr().err


def test_training_windows_are_no_held_out_ones(files, capsys):
    arguments = ["calibrate", files / "m", files / "windows.tsv", "--split", "train"]
    arguments += ["--prevalence", "0.1", "-o", files / "e"]
    assert main([*map(str, arguments)]) == 0
    assert "probabilities will be too sure" in capsys.readouterr().err


def test_absent_class_and_missing_split(files, tmp_path, capsys):
    table = tmp_path / "one.tsv"
    table.write_text("organism\tlabel\tsequence\n" + "a\t1\t" + "ACGTT" * 4 + "\n")
    assert main(["calibrate", str(files / "m"), str(table), "-o", str(tmp_path / "x")]) == 1
    assert "a: calibration needs at least two windows of each class, got 1 true sites and 0" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "x").exists()


def test_an_organism_with_too_few_sites_does_not_keep_others_from_calibration(
    files, tmp_path, capsys
):
    rows = (files / "windows.tsv").read_text().splitlines()
    n_sites = 0
    kept = []
    for row in rows:  # of b one site is left
        n_sites += row.startswith("b\t1\tvalid")
        if not row.startswith("b\t1\tvalid") or n_sites == 1:
            kept.append(row)
    table, out = tmp_path / "few.tsv", tmp_path / "c"
    table.write_text("\n".join(kept) + "\n")
    arguments = ["calibrate", files / "m", table, "-o", out, "--plot", tmp_path / "r.png"]
    assert main([*map(str, arguments), "--prevalence", "0.01"]) == 0
    messages = capsys.readouterr().err
    assert "b: calibration needs at least two windows of each class, got 1 true sites" in messages
    assert "probabilities of b stay those of the training" in messages
    assert list(MultiTaskModel.load(out).curves) == ["a"]
    assert (tmp_path / "r.png").exists()


@pytest.mark.parametrize(("weight", "is_coarse"), [(10, False), (1000, True)])
def test_decoys_that_stand_for_too_much_are_told(files, weight, is_coarse, caplog):
    model = MultiTaskModel.load(files / "m")
    windows = read_windows(files / "windows.tsv", split="valid", organism="a")
    weights = np.where(windows.labels > 0, 1.0, weight)
    args = argparse.Namespace(method="auto", prevalence=None, plot=None, data="x")
    calibrate(model, windows, weights, args)
    told = f"a decoy stands for up to {weight} places of the genome" in caplog.text
    assert told == is_coarse


def test_a_curve_that_falls_is_refused(tmp_path):
    windows = Windows.from_strings(["AC", "GT", "CA", "TG"] * 5, [1, 0, 1, 0] * 5)
    model = MultiTaskSVC().fit(windows).model_
    model.curves = {"task": ProbabilityCurve(np.array([0.0, 1]), np.array([1.0, 0]), np.zeros(2))}
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="does not rise"):
        MultiTaskModel.load(tmp_path / "m")


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
        name: ProbabilityCurve(np.zeros(1), np.array([value]), flat)
        for name, value in (("a", -1.0), ("b", -3.0))
    }
    assert_allclose(model.log_odds(np.array([5.0]), "c"), [-2.0])  # equally close to both
