"""Metrics against scikit-learn and against values worked out by hand."""

import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, roc_auc_score

from seqmtl.evaluation import calibration_error, evaluate
from seqmtl.evaluation.metrics import RankedScores


def random_tasks(n_tasks=3, n=400, seed=0, tied=False):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n_tasks * n) < 0.2, 1, -1)
    scores = rng.normal(size=labels.size) + labels
    if tied:
        scores = np.round(scores)
    return labels, scores, np.tile([f"organism {t}" for t in range(n_tasks)], n)


def of_scikit_learn(labels, scores, weights=None):
    return tuple(
        metric(labels, scores, sample_weight=weights)
        for metric in (roc_auc_score, average_precision_score)
    )


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 4)), min_size=2, max_size=40
    )
)
def test_metrics_and_curves_equal_scikit_learn_with_ties_and_weights(rows):
    labels, scores, weights = map(np.array, zip(*rows, (True, 0, 1), (False, 1, 1), strict=True))
    weights = weights / 3
    auroc, auprc = expected = of_scikit_learn(labels, scores, weights)
    assert RankedScores(labels, scores, weights).metrics() == pytest.approx(expected, abs=1e-12)
    some = weights > 0
    ranked = RankedScores(labels[some], scores[some], weights[some])
    assert auc(*ranked.roc()) == pytest.approx(auroc)
    recall, precision = ranked.precision_recall()
    assert np.sum(np.diff(recall) * precision[1:]) == pytest.approx(auprc)


@settings(max_examples=50)
@given(st.integers(0, 1000), st.integers(2, 30), st.integers(2, 30))
def test_each_resample_is_a_weighting_of_the_examples(seed, n_positive, n_negative):
    # the same draws, turned into weights of single examples and judged by scikit-learn
    rng = np.random.default_rng(seed)
    labels = np.repeat([True, False], [n_positive, n_negative])
    scores = rng.integers(0, 8, labels.size).astype(float)
    sample = RankedScores(labels, scores).bootstrap(1, np.random.default_rng(seed))[0]
    draws = np.random.default_rng(seed)
    weights = np.zeros(labels.size)
    best_first = sorted(set(scores[labels]), reverse=True)
    positive = [np.flatnonzero(labels & (scores == s)) for s in best_first]
    negative, above = [], np.inf
    for s in best_first:  # above, between and tied with the scores of the positives
        negative.append(np.flatnonzero(~labels & (scores < above) & (scores > s)))
        negative.append(np.flatnonzero(~labels & (scores == s)))
        above = s
    negative.append(np.flatnonzero(~labels & (scores < above)))
    for cells in (positive, negative):
        sizes = np.array([cell.size for cell in cells])
        for cell, n in zip(cells, draws.multinomial(sizes.sum(), sizes / sizes.sum()), strict=True):
            if n:
                weights[cell[0]] = n
    assert sample == pytest.approx(of_scikit_learn(labels, scores, weights))


def test_rows_that_stand_for_several_examples_are_those_examples():
    labels, scores, tasks = random_tasks(2, tied=True)
    counts = np.random.default_rng(3).integers(1, 6, labels.size)
    short = evaluate(labels, scores, tasks, counts=counts)
    every = evaluate(*(np.repeat(column, counts) for column in (labels, scores, tasks)))
    for name, entry in short["tasks"].items():
        genome = entry.pop("genome")
        assert entry.keys() == every["tasks"][name].keys()
        for key, value in entry.items():
            assert value == pytest.approx(every["tasks"][name][key]), key
        assert genome["auprc"] == pytest.approx(entry["auprc"])
        assert genome["prevalence"] == pytest.approx(entry["n_positive"] / entry["n"])
    for bad in (0, 1.5, -2):
        counts = np.where(np.arange(labels.size) == 5, bad, 1.0)
        with pytest.raises(ValueError, match="counts must be whole numbers of 1 or more, got"):
            evaluate(labels, scores, tasks, counts=counts)


def test_the_name_of_the_auprc_says_what_it_is_over():
    labels, scores, tasks = random_tasks()
    plain = evaluate(labels, scores, tasks, n_bootstrap=20)
    for name in ("auprc_windows", "auprc_genome"):
        named = evaluate(labels, scores, tasks, n_bootstrap=20, auprc=name)
        assert json.dumps(named) == json.dumps(plain).replace('"auprc', f'"{name}')
    with pytest.raises(ValueError, match="auprc must be one of auprc, auprc_windows, auprc_genome"):
        evaluate(labels, scores, tasks, auprc="area")


def test_point_values_counts_and_mean():
    labels, scores, tasks = random_tasks(tied=True)
    result = evaluate(labels, scores, tasks, n_bootstrap=20)
    for name, entry in result["tasks"].items():
        rows = tasks == name
        expected = of_scikit_learn(labels[rows], scores[rows])
        assert (entry["auroc"], entry["auprc"]) == pytest.approx(expected, abs=1e-12)
        assert (entry["n"], entry["n_positive"]) == (rows.sum(), (labels[rows] == 1).sum())
    for metric in ("auroc", "auprc"):
        values = [entry[metric] for entry in result["tasks"].values()]
        assert result["mean"][metric] == pytest.approx(np.mean(values))
    assert result["mean"]["n_tasks"] == 3
    assert result["schema_version"] == 2
    json.dumps(result, allow_nan=False)


def test_interval_width_agrees_with_the_known_standard_error():
    # Hanley and McNeil (1982), exact for exponential scores: A = 3/4 when the rates differ 3-fold
    n, area = 2000, 0.75
    rng = np.random.default_rng(5)
    labels = np.repeat([1, 0], n)
    scores = np.concatenate([rng.exponential(3.0, n), rng.exponential(1.0, n)])
    low, high = evaluate(labels, scores, ["a"] * 2 * n, n_bootstrap=1000)["tasks"]["a"][
        "auroc_interval"
    ]
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    error = np.sqrt(
        (area * (1 - area) + (n - 1) * (q1 - area**2) + (n - 1) * (q2 - area**2)) / n**2
    )
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert low < area < high


def test_wider_confidence_gives_wider_intervals_and_no_bootstrap_none():
    data = random_tasks(1)
    narrow, wide, none = (
        evaluate(*data, **options)["tasks"]["organism 0"]
        for options in ({"confidence": 0.5}, {"confidence": 0.99}, {"n_bootstrap": 0})
    )
    assert none["auroc"] == wide["auroc"]
    assert none["auroc_interval"] is None
    for metric in ("auroc_interval", "auprc_interval"):
        assert wide[metric][0] < narrow[metric][0] < narrow[metric][1] < wide[metric][1]


def test_intervals_depend_on_the_seed_and_not_on_other_tasks():
    labels, scores, tasks = random_tasks()
    rows = tasks == "organism 1"
    alone = evaluate(labels[rows], scores[rows], tasks[rows], seed=3)
    together = evaluate(labels, scores, tasks, seed=3)
    assert alone["tasks"]["organism 1"] == together["tasks"]["organism 1"]
    assert evaluate(labels, scores, tasks, seed=4)["tasks"] != together["tasks"]
    twins = np.repeat(["first", "second"], rows.sum())
    both = evaluate(np.tile(labels[rows], 2), np.tile(scores[rows], 2), twins)["tasks"]
    assert both["first"]["auroc"] == both["second"]["auroc"]
    assert both["first"]["auroc_interval"] != both["second"]["auroc_interval"]


def test_label_codings_are_the_same():
    labels, scores, tasks = random_tasks()
    expected = evaluate(labels, scores, tasks)
    assert evaluate(labels == 1, scores, tasks) == expected
    assert evaluate((labels + 1) // 2, scores, tasks) == expected
    assert evaluate(labels.astype(float).tolist(), scores.tolist(), tasks.tolist()) == expected


def test_one_class_is_named_and_left_out(caplog):
    labels = [1, 0, 1, 1, 0]
    with caplog.at_level(logging.WARNING, logger="seqmtl"):
        result = evaluate(labels, [3.0, 1, 2, 5, 4], ["a", "a", "a", "lonely", "b"])
    assert "'lonely' has positive examples only (1)" in caplog.text
    assert "'b' has negative examples only (1)" in caplog.text
    assert result["tasks"]["lonely"] == {
        "auroc": None,
        "auprc": None,
        "n": 1,
        "n_positive": 1,
        "auroc_interval": None,
        "auprc_interval": None,
    }
    assert result["mean"] == {"auroc": 1.0, "auprc": 1.0, "n_tasks": 1}
    assert evaluate([1], [0.0], ["a"])["mean"] == {"auroc": None, "auprc": None, "n_tasks": 0}


def test_bad_input():
    two = ([1, 0], [1.0, 0.0], ["a", "a"])
    for arguments, options, message in (
        (([], [], []), {}, "labels must be a non-empty vector"),
        (([1, 0], [1.0], ["a", "a"]), {}, "scores must have one value for each of the 2 labels"),
        (([1, 0], [1.0, 2.0], ["a"]), {}, "tasks must have one name for each of the 2 labels"),
        (([1, 0], [1.0, np.nan], ["a"] * 2), {}, "scores must be finite, got nan at index 1"),
        (([1, 0, -1], [1.0, 0.0, 2.0], ["a"] * 3), {}, r"must be -1/\+1 or 0/1, got -1, 0, 1"),
        (([1, np.nan], [1.0, 0.0], ["a"] * 2), {}, r"labels must be -1/\+1 or 0/1"),
        ((["x", "y"], [1.0, 0.0], ["a"] * 2), {}, r"must be -1/\+1 or 0/1, got 'x', 'y'"),
        (two, {"n_bootstrap": -1}, "n_bootstrap must be an integer from 0 to 1000000, got -1"),
        (
            two,
            {"n_bootstrap": 10**9},
            "n_bootstrap must be an integer from 0 to 1000000, got 10000",
        ),
        (two, {"confidence": 1.0}, "confidence must be between 0 and 1"),
        (two, {"seed": -1}, "seed must be an integer of at least 0"),
        (two, {"counts": [1]}, "counts must have one value for each of the 2 labels"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(*arguments, **options)
    for probabilities, n_bins, message in (
        ([1.5, 0.0], 10, r"probabilities must be between 0 and 1, got 1\.5"),
        ([1, 1], 0, "n_bins must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            calibration_error([1, 0], probabilities, n_bins=n_bins)


def test_calibration_error_by_hand():
    # bins [0.2, 0.3): 1 of 2 positive at 0.25; [0.9, 1]: 3 of 3 positive, mean 0.95
    labels = [1, 0, 1, 1, 1]
    probabilities = [0.25, 0.25, 0.9, 0.95, 1.0]
    expected = (2 * abs(0.5 - 0.25) + 3 * abs(1 - 0.95)) / 5
    assert calibration_error(labels, probabilities) == pytest.approx(expected)
    assert calibration_error(labels, probabilities, n_bins=1) == pytest.approx(abs(0.8 - 0.67))
