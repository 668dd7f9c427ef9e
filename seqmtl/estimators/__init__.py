"""Estimators with the interface of scikit-learn."""

from seqmtl.estimators.kernel_mkl import KernelMKLClassifier
from seqmtl.estimators.minimax import MinimaxClassifier
from seqmtl.estimators.multitask_cv import MultiTaskClassifierCV
from seqmtl.estimators.multitask_kernel_svc import MultiTaskKernelSVC
from seqmtl.estimators.multitask_mkl import MultiTaskMKLClassifier
from seqmtl.estimators.multitask_one_class import MultiTaskOneClassSVM
from seqmtl.estimators.multitask_svc import MultiTaskSVC
from seqmtl.estimators.multitask_svr import MultiTaskSVR
from seqmtl.estimators.pareto_mkl import ParetoMKLClassifier, ParetoPath, pareto_path
from seqmtl.estimators.scoring import TaskScorer
from seqmtl.estimators.task_mkl import (
    IndividualMKLClassifier,
    PartiallySharedMKLClassifier,
    SparseMKLClassifier,
)

__all__ = [
    "IndividualMKLClassifier",
    "KernelMKLClassifier",
    "MinimaxClassifier",
    "MultiTaskClassifierCV",
    "MultiTaskKernelSVC",
    "MultiTaskMKLClassifier",
    "MultiTaskOneClassSVM",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "ParetoMKLClassifier",
    "ParetoPath",
    "PartiallySharedMKLClassifier",
    "SparseMKLClassifier",
    "TaskScorer",
    "pareto_path",
]
