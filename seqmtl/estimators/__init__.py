"""The models in scikit-learn's conventions."""

from seqmtl.estimators.multitask_svc import MultiTaskSVC

__all__ = ["MultiTaskSVC"]
