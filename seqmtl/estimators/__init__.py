"""Estimators on features with the interface of scikit-learn."""

from seqmtl import _scikit_learn  # noqa: F401 - before the others
from seqmtl.estimators.classifiers import (
    MultiTaskClassifierCV,
    MultiTaskMKLClassifier,
    MultiTaskSVC,
)
from seqmtl.estimators.one_class import MultiTaskOneClassSVM
from seqmtl.estimators.scoring import TaskScorer
from seqmtl.estimators.svr import MultiTaskSVR
from seqmtl.estimators.transforming import TaskTransformer

__all__ = [
    "MultiTaskClassifierCV",
    "MultiTaskMKLClassifier",
    "MultiTaskOneClassSVM",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "TaskScorer",
    "TaskTransformer",
]
