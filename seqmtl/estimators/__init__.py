"""The models in scikit-learn's conventions."""

from seqmtl.estimators.multitask_mkl import MultiTaskMKLClassifier
from seqmtl.estimators.multitask_one_class import MultiTaskOneClassSVM
from seqmtl.estimators.multitask_svc import MultiTaskSVC
from seqmtl.estimators.multitask_svr import MultiTaskSVR

__all__ = ["MultiTaskMKLClassifier", "MultiTaskOneClassSVM", "MultiTaskSVC", "MultiTaskSVR"]
