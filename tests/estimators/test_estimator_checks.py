"""scikit-learn's own checks of estimators, none of them excused."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import seqmtl

PUBLIC = [getattr(seqmtl, name) for name in seqmtl.__all__]
KINDS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
#: These differ from ParetoMKLClassifier in a rule of weights, and in nothing that is checked here.
ALIKE = {"IndividualMKLClassifier"}
ESTIMATORS = [kind() for kind in KINDS if kind.__name__ not in ALIKE]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_checks(estimator):
    if hasattr(estimator, "costs"):
        estimator.set_params(costs=(1.0,))
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_described_in_the_order_of_the_signature(kind):
    section = inspect.getdoc(kind).partition("Parameters\n")[2].partition("\n\n")[0]
    names = re.findall(r"^(\w+(?:, \w+)*) : ", section, re.M)
    assert ", ".join(names).split(", ") == [*inspect.signature(kind).parameters]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if hasattr(kind(), "tol")])
def test_warnings_of_training_name_the_line_of_the_user(kind):
    """A user who trains to an impossible tolerance sees which of the fits it was."""
    rng = np.random.default_rng(0)
    limits = {"tol": 1e-30, "max_iter": 2, "max_epochs": 2, "C": 1e6}
    names = kind().get_params()
    n = 600 if "max_epochs" in names else 40  # fewer examples may be solved exactly
    X, y = np.abs(rng.normal(size=(n, 3))), rng.integers(0, 2, n)
    estimator = kind().set_params(**{name: limits[name] for name in limits if name in names})
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(X, y, tasks=list("ab") * (n // 2))
    assert {warning.filename for warning in caught} == {__file__}
