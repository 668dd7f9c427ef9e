"""scikit-learn's own checks of estimators, none of them excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from seqmtl import MultiTaskMKLClassifier, MultiTaskOneClassSVM, MultiTaskSVC, MultiTaskSVR


@parametrize_with_checks(
    [MultiTaskSVC(), MultiTaskMKLClassifier(), MultiTaskSVR(), MultiTaskOneClassSVM()]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
