"""Learning on kernel matrices: small tables of numbers or sequences, with any kernel.

One SVM, or one per task, is trained on weighted kernels by libsvm (`svm`); rules (`rules`) say how
tasks weight kernels, block descent (`descent`) or a saddle-point method (`saddle`) finds the
weights. `minimax` is linear, for the worst task. The estimators are thin.
"""

from seqmtl.tables.kernel_mkl import KernelMKLClassifier
from seqmtl.tables.kernel_svc import MultiTaskKernelSVC
from seqmtl.tables.minimax_classifier import MinimaxClassifier
from seqmtl.tables.pareto import ParetoPath, pareto_path
from seqmtl.tables.task_mkl import (
    IndividualMKLClassifier,
    ParetoMKLClassifier,
    PartiallySharedMKLClassifier,
    SparseMKLClassifier,
)

__all__ = [
    "IndividualMKLClassifier",
    "KernelMKLClassifier",
    "MinimaxClassifier",
    "MultiTaskKernelSVC",
    "ParetoMKLClassifier",
    "ParetoPath",
    "PartiallySharedMKLClassifier",
    "SparseMKLClassifier",
    "pareto_path",
]
