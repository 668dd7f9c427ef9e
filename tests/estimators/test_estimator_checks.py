"""scikit-learn's own checks of estimators, none of them excused."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MinimaxClassifier,
    MultiTaskClassifierCV,
    MultiTaskKernelSVC,
    MultiTaskMKLClassifier,
    MultiTaskOneClassSVM,
    MultiTaskSVC,
    MultiTaskSVR,
    ParetoMKLClassifier,
    PartiallySharedMKLClassifier,
    SparseMKLClassifier,
)


@pytest.mark.parametrize(
    "estimator",
    [
        MultiTaskSVC(),
        MultiTaskClassifierCV(),
        MultiTaskMKLClassifier(),
        MultiTaskSVR(),
        MultiTaskOneClassSVM(),
        MinimaxClassifier(),
        MultiTaskKernelSVC(),
        KernelMKLClassifier(),
        ParetoMKLClassifier(),
        ParetoMKLClassifier(p=4.0),
        IndividualMKLClassifier(),
        PartiallySharedMKLClassifier(),
        SparseMKLClassifier(),
    ],
    ids=str,
)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator, on_skip=None)
