"""Losses by name: value, conjugate and bound of every loss, for the other oracles and the tests.

Formulas take numbers as well as expressions of CVXPY. An unknown name is a KeyError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from scipy.special import entr


def _positive(x):
    return cp.pos(x) if isinstance(x, cp.Expression) else np.maximum(x, 0.0)


def _absolute(x):
    return cp.abs(x) if isinstance(x, cp.Expression) else np.abs(x)


def _softplus(x):
    return cp.logistic(x) if isinstance(x, cp.Expression) else np.logaddexp(0.0, x)


def _entropy(x):
    return cp.entr(x) if isinstance(x, cp.Expression) else entr(x)


class Formula(NamedTuple):
    """A loss l(u) of the margin u = y f, or in regression of the residual u = f - z.

    The dual variable a = alpha / C is from 0 to the bound, in regression from -bound to bound.
    """

    value: Callable  # l(u), of u and epsilon
    conjugate: Callable  # l*(-a), of a and epsilon
    slope: Callable  # the derivative of the conjugate in a > 0
    bound: float
    is_regression: bool = False


LOSSES = {
    "hinge": Formula(
        value=lambda u, _: _positive(1 - u),
        conjugate=lambda a, _: -a,
        slope=lambda a, _: 0 * a - 1,
        bound=1.0,
    ),
    "squared_hinge": Formula(
        value=lambda u, _: _positive(1 - u) ** 2,
        conjugate=lambda a, _: a**2 / 4 - a,
        slope=lambda a, _: a / 2 - 1,
        bound=np.inf,
    ),
    "logistic": Formula(
        value=lambda u, _: _softplus(-u),
        conjugate=lambda a, _: -_entropy(a) - _entropy(1 - a),
        slope=lambda a, _: np.log(a) - np.log1p(-a),
        bound=1.0,
    ),
    "epsilon_insensitive": Formula(
        value=lambda u, epsilon: _positive(_absolute(u) - epsilon),
        conjugate=lambda a, epsilon: epsilon * _absolute(a),
        slope=lambda a, epsilon: 0 * a + epsilon,
        bound=1.0,
        is_regression=True,
    ),
    "squared_epsilon_insensitive": Formula(
        value=lambda u, epsilon: _positive(_absolute(u) - epsilon) ** 2,
        conjugate=lambda a, epsilon: a**2 / 4 + epsilon * _absolute(a),
        slope=lambda a, epsilon: a / 2 + epsilon,
        bound=np.inf,
        is_regression=True,
    ),
}
