"""Estimators on features with the interface of scikit-learn."""

from seqmtl.estimators.classifiers import (
    MultiTaskClassifierCV,
    MultiTaskMKLClassifier,
    MultiTaskSVC,
)
from seqmtl.estimators.multitask_one_class import MultiTaskOneClassSVM
from seqmtl.estimators.multitask_svr import MultiTaskSVR
from seqmtl.estimators.scoring import TaskScorer

__all__ = [
    "MultiTaskClassifierCV",
    "MultiTaskMKLClassifier",
    "MultiTaskOneClassSVM",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "TaskScorer",
]
