"""Estimators on features with the interface of scikit-learn."""

from seqmtl import _scikit_learn  # noqa: F401 - before the others
from seqmtl.estimators.classifiers import (
    MultiTaskClassifierCV,
    MultiTaskMKLClassifier,
    MultiTaskSVC,
)
from seqmtl.estimators.scoring import TaskScorer
from seqmtl.estimators.transforming import TaskTransformer
from seqmtl.estimators.without_classes import MultiTaskOneClassSVM, MultiTaskSVR

__all__ = [
    "MultiTaskClassifierCV",
    "MultiTaskMKLClassifier",
    "MultiTaskOneClassSVM",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "TaskScorer",
    "TaskTransformer",
]
