"""Learning on kernel matrices: small tables of numbers or sequences, with any kernel.

One SVM, or one per task, is trained on weighted kernels by libsvm (`svm`); rules (`rules`) say how
tasks weight kernels, and block descent (`descent`) learns the weights. The estimators are thin.
"""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.kernel_mkl.coupled import KernelMKLClassifier, MultiTaskKernelSVC
    from seqmtl.kernel_mkl.pareto import ParetoMKLClassifier, ParetoPath, pareto_path
    from seqmtl.kernel_mkl.task_mkl import IndividualMKLClassifier

__all__ = [
    "IndividualMKLClassifier",
    "KernelMKLClassifier",
    "MultiTaskKernelSVC",
    "ParetoMKLClassifier",
    "ParetoPath",
    "pareto_path",
]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.kernel_mkl.coupled": "KernelMKLClassifier MultiTaskKernelSVC",
        "seqmtl.kernel_mkl.pareto": "ParetoMKLClassifier ParetoPath pareto_path",
        "seqmtl.kernel_mkl.task_mkl": "IndividualMKLClassifier",
    },
)
