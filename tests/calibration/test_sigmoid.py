"""Sigmoids against a general optimiser, and distances to a span against least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from seqmtl.calibration.leave_one_out import span_shares
from seqmtl.calibration.sigmoid import fit_sigmoid


def _platt(scores, y, weight):
    up, down = weight[y > 0].sum(), weight[y <= 0].sum()
    target = np.where(y > 0, (up + 1) / (up + 2), 1 / (down + 2))

    def value(ab):
        z = ab[0] * scores + ab[1]
        return weight @ (np.logaddexp(0, z) - target * z)

    return minimize(
        value, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}
    )


def test_sigmoid_minimises_platts_objective():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(300) < 0.2, 1, -1)
        scores = 0.7 * y + rng.standard_normal(300) - 1
        weight = rng.integers(1, 4, 300).astype(float)
        assert_allclose(fit_sigmoid(scores, y, weight), _platt(scores, y, weight).x, rtol=1e-3)


def test_separable_and_useless_scores_stay_finite():
    y = np.array([1, 1, -1, -1])
    a, b = fit_sigmoid(np.array([2.0, 3.0, -2.0, -3.0]), y)
    assert 0 < a < 100
    assert np.isfinite(b)
    scores = np.array([-1.0, -2.0, 1.0, 2.0])
    a, b = fit_sigmoid(scores, y)  # they contradict the labels: all as likely, in their order
    assert a > 0
    assert_allclose(1 / (1 + np.exp(-a * scores - b)), 0.5, atol=0.002)


def _residuals(rows, span):
    """Squared distances of rows to the span of others, as shares of their squared norms."""
    return [
        np.sum((x - span.T @ np.linalg.lstsq(span.T, x, rcond=None)[0]) ** 2) / (x @ x)
        for x in rows
    ]


def test_span_shares_equal_least_squares_distances():
    X = np.random.default_rng(0).standard_normal((50, 60))
    free, bound = X[:30], X[30:]
    of_free = [_residuals(free[[i]], np.delete(free, i, axis=0)) for i in range(30)]
    found = span_shares(lambda rows: X[rows] @ X[rows].T, np.arange(30), np.arange(30, 50))
    assert found == pytest.approx([np.mean(of_free), np.mean(_residuals(bound, free))], rel=1e-3)


def test_span_shares_are_none_where_examples_outnumber_dimensions():
    X = np.random.default_rng(0).standard_normal((3000, 10))
    free, bound = np.arange(2000), np.arange(2000, 3000)
    assert max(span_shares(lambda rows: X[rows] @ X[rows].T, free, bound)) < 0.01
    # ten free ones are their dimensions: without one of them, but not without one at the bound
    of_free, of_bound = span_shares(lambda rows: X[rows] @ X[rows].T, np.arange(10), bound)
    assert of_free > 0.01
    assert of_bound < 0.001
