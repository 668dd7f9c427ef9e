"""scikit-learn's own checks of estimators, none of them excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from seqmtl import MultiTaskMKLClassifier, MultiTaskOneClassSVM, MultiTaskSVC, MultiTaskSVR
from seqmtl.estimators.minimax import MinimaxClassifier


@parametrize_with_checks(
    [
        MultiTaskSVC(),
        MultiTaskMKLClassifier(),
        MultiTaskSVR(),
        MultiTaskOneClassSVM(),
        MinimaxClassifier(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
