"""scikit-learn's own checks of estimators, none of them excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

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


@parametrize_with_checks(
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
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
