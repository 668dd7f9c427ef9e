"""Numbers of sites expected and true, against sums and intervals by hand."""

import numpy as np
import pytest
from scipy.stats import poisson

from seqmtl.evaluation import expected_sites, failures, reliability_table


def test_numbers_and_error_by_hand():
    p = np.array([0.0005, 0.2, 0.2, 0.3, 0.95])
    labels, counts = np.array([-1, 1, -1, 1, 1]), np.array([1000, 2, 8, 1, 3])
    found = expected_sites(labels, p, np.full(5, "t"), counts, np.array([0, 0, 1, 1, 2]))["t"]
    assert found["expected"] == pytest.approx(0.5 + 0.4 + 1.6 + 0.3 + 2.85)
    by_name = {row["probability"]: row for row in found["reliability"]}
    assert list(by_name) == ["all", ">0.1", "0-0.001", "0.1-0.25", "0.25-0.5", "0.9-1"]
    assert [by_name["all"][key] for key in ("n", "true")] == [1014, 6]
    assert [by_name[">0.1"][key] for key in ("n", "true")] == [14, 6]
    assert by_name["0.1-0.25"]["expected"] == pytest.approx(2.0)
    assert found["calibration_error_p10"] == pytest.approx((0.0 + 0.7 + 0.15) / 14)


def test_sampling_error_is_told_from_miscalibration():
    rng = np.random.default_rng(0)
    n, p = 40_000, 0.005
    blocks = np.arange(n) // (n // 20)
    labels = (rng.random(n) < p).astype(int)
    few = (np.arange(n) % 100 == 0) & (labels > 0)  # about two sites
    cases = {"yes": (labels, 1.0), "no": (labels, 2.0), "within error": (few.astype(int), 1.0)}
    for calibrated, (y, factor) in cases.items():
        share = factor * (p if calibrated != "within error" else 1.6 * y.sum() / n)
        found = expected_sites(y, np.full(n, share), np.full(n, "t"), None, blocks)["t"]
        row = found["reliability"][0]
        assert row["calibrated"] == calibrated
        low, high = row["true_interval"]
        least, most = (poisson.sf(row["true"] - 1, low), poisson.cdf(row["true"], high))
        assert max(least, most) <= 0.0251  # no narrower than that of a Poisson variable
        line = f"t\tall\t40000\t{row['expected']:.1f}\t{y.sum()}\t"
        assert line in reliability_table({"t": found})


def test_errors_in_one_region_are_no_sampling_error():
    """A fly with a repeat: 150 sites expected, 84 true, and a third of the probable sites true."""
    n = 20_000
    blocks, p, labels = np.arange(n) // 1000, np.full(n, 5e-4), np.zeros(n, dtype=int)
    surely = [*range(0, n, 476), *range(500, 597)]  # 42 of them over the genome, 97 in one block
    p[surely] = 0.95
    labels[surely[:42]] = labels[10:n:476] = 1
    found = expected_sites(labels, p, np.full(n, "fly"), None, blocks)
    every, high = (
        next(row for row in found["fly"]["reliability"] if row["probability"] == own)
        for own in ("all", "0.9-1")
    )
    assert (round(every["expected"]), every["true"], every["calibrated"]) == (143, 84, "no")
    assert (high["n"], high["true"], high["calibrated"]) == (140, 42, "no")
    low, most = every["true_interval"]
    assert low < 84 < 140 < most  # as the block may not be there
    assert failures(found) == [
        "fly: probabilities are not calibrated (143 sites expected, 84 true; 30% of 140 candidates "
        "with p >= 0.9 are true)"
    ]
    assert failures(expected_sites(labels, labels * 1.0, np.full(n, "fly"))) == []


def test_sites_that_come_in_clusters_have_wider_intervals():
    n = 20_000
    blocks, p = np.arange(n) // 1000, np.full(n, 0.01)
    even, clustered = np.arange(n) % 100 == 0, (blocks < 2) & (np.arange(n) % 10 == 0)
    widths = []
    for labels in (even, clustered):
        found = expected_sites(labels, p, np.full(n, "t"), None, blocks)["t"]
        low, high = found["reliability"][0]["true_interval"]
        widths.append(high - low)
    assert widths[1] > 3 * widths[0]


def test_probabilities_are_wanted():
    with pytest.raises(ValueError, match="probabilities must be between 0 and 1, got -3"):
        expected_sites(np.array([1, 0]), np.array([-3.0, 0.5]), np.full(2, "t"))


def test_without_likely_candidates_there_is_no_error():
    found = expected_sites(np.array([1, -1]), np.array([0.01, 0.02]), np.full(2, "t"))["t"]
    assert found["calibration_error_p10"] is None
    assert [row["probability"] for row in found["reliability"]][1] == ">0.1"
