"""Learning on kernel matrices: small tables of numbers or sequences, with any kernel.

One SVM, or one per task, is trained on weighted kernels by libsvm (`svm`); rules (`rules`) say how
tasks weight kernels, and block descent (`descent`) learns the weights. The estimators are thin.
"""

from seqmtl._lazy import import_on_use

__all__ = ["ParetoPath"]

__getattr__ = import_on_use(__name__, {"seqmtl.kernel_mkl.pareto": "ParetoPath"})
