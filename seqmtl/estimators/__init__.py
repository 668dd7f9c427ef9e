"""Estimators on features with the interface of scikit-learn."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.estimators.classifiers import (
        MultiTaskClassifierCV,
        MultiTaskMKLClassifier,
        MultiTaskSVC,
    )
    from seqmtl.estimators.scoring import TaskScorer
    from seqmtl.estimators.svr import MultiTaskRegressorCV, MultiTaskSVR
    from seqmtl.estimators.transforming import TaskTransformer

__all__ = [
    "MultiTaskClassifierCV",
    "MultiTaskMKLClassifier",
    "MultiTaskRegressorCV",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "TaskScorer",
    "TaskTransformer",
]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.estimators.classifiers": "MultiTaskClassifierCV MultiTaskMKLClassifier "
        "MultiTaskSVC",
        "seqmtl.estimators.scoring": "TaskScorer",
        "seqmtl.estimators.svr": "MultiTaskRegressorCV MultiTaskSVR",
        "seqmtl.estimators.transforming": "TaskTransformer",
    },
)
