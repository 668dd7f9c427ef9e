"""scikit-learn's own checks of estimators, none of them excused."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import seqmtl

PUBLIC = [getattr(seqmtl, name) for name in seqmtl.__all__]
KINDS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
ESTIMATORS = [*(kind() for kind in KINDS), seqmtl.ParetoMKLClassifier(p=4.0)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator, on_skip=None)
