"""Sigmoids against a general optimiser, and distances to a span against least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from seqmtl.calibration.leave_one_out import span_share
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
    a, b = fit_sigmoid(np.array([-1.0, -2.0, 1.0, 2.0]), y)
    assert a == 0.0


def test_span_share_equals_least_squares_distances():
    X = np.random.default_rng(0).standard_normal((30, 60))
    shares = []
    for i in range(30):
        others = np.delete(X, i, axis=0)
        residual = X[i] - others.T @ np.linalg.lstsq(others.T, X[i], rcond=None)[0]
        shares.append(residual @ residual / (X[i] @ X[i]))
    found = span_share(lambda rows: X[rows] @ X[rows].T, np.arange(30))
    assert found == pytest.approx(np.mean(shares), rel=1e-3)


def test_span_share_is_none_where_examples_outnumber_dimensions():
    X = np.random.default_rng(0).standard_normal((3000, 10))
    assert span_share(lambda rows: X[rows] @ X[rows].T, np.arange(3000)) < 0.01
