"""Train predictors of genomic signals jointly for many organisms.

Names are imported on first use, so that ``import seqmtl`` and ``seqmtl --help`` are fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seqmtl._version import __version__

if TYPE_CHECKING:
    from seqmtl._threads import use_threads
    from seqmtl.estimators import (
        MultiTaskClassifierCV,
        MultiTaskMKLClassifier,
        MultiTaskOneClassSVM,
        MultiTaskSVC,
        MultiTaskSVR,
        TaskScorer,
    )
    from seqmtl.features.joint import JointFeatures
    from seqmtl.features.kmer_views import KmerView
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.features.weighted_degree import Spectrum, WeightedDegree
    from seqmtl.io.annotation import read_annotation
    from seqmtl.io.dataset import read_dataset
    from seqmtl.io.tables import read_windows
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.saved import load_model
    from seqmtl.sequences import TaskArray, Windows
    from seqmtl.similarity import TaskKernel
    from seqmtl.simulate import simulate
    from seqmtl.tables import (
        IndividualMKLClassifier,
        KernelMKLClassifier,
        MinimaxClassifier,
        MultiTaskKernelSVC,
        ParetoMKLClassifier,
        PartiallySharedMKLClassifier,
        SparseMKLClassifier,
        pareto_path,
    )

_HOME = {
    "IndividualMKLClassifier": "seqmtl.tables",
    "KernelMKLClassifier": "seqmtl.tables",
    "MinimaxClassifier": "seqmtl.tables",
    "MultiTaskClassifierCV": "seqmtl.estimators",
    "MultiTaskKernelSVC": "seqmtl.tables",
    "ParetoMKLClassifier": "seqmtl.tables",
    "PartiallySharedMKLClassifier": "seqmtl.tables",
    "SparseMKLClassifier": "seqmtl.tables",
    "TaskArray": "seqmtl.sequences",
    "TaskScorer": "seqmtl.estimators",
    "pareto_path": "seqmtl.tables",
    "load_model": "seqmtl.models.saved",
    "JointFeatures": "seqmtl.features.joint",
    "KmerView": "seqmtl.features.kmer_views",
    "PositionalKmers": "seqmtl.features.positional_kmers",
    "MultiTaskMKLClassifier": "seqmtl.estimators",
    "MultiTaskModel": "seqmtl.models.model",
    "MultiTaskOneClassSVM": "seqmtl.estimators",
    "MultiTaskSVC": "seqmtl.estimators",
    "MultiTaskSVR": "seqmtl.estimators",
    "Spectrum": "seqmtl.features.weighted_degree",
    "TaskKernel": "seqmtl.similarity",
    "WeightedDegree": "seqmtl.features.weighted_degree",
    "Windows": "seqmtl.sequences",
    "read_annotation": "seqmtl.io.annotation",
    "read_dataset": "seqmtl.io.dataset",
    "read_windows": "seqmtl.io.tables",
    "simulate": "seqmtl.simulate",
    "use_threads": "seqmtl._threads",
}

__all__ = [
    "IndividualMKLClassifier",
    "JointFeatures",
    "KernelMKLClassifier",
    "KmerView",
    "MinimaxClassifier",
    "MultiTaskClassifierCV",
    "MultiTaskKernelSVC",
    "MultiTaskMKLClassifier",
    "MultiTaskModel",
    "MultiTaskOneClassSVM",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "ParetoMKLClassifier",
    "PartiallySharedMKLClassifier",
    "PositionalKmers",
    "SparseMKLClassifier",
    "Spectrum",
    "TaskArray",
    "TaskKernel",
    "TaskScorer",
    "WeightedDegree",
    "Windows",
    "__version__",
    "load_model",
    "pareto_path",
    "read_annotation",
    "read_dataset",
    "read_windows",
    "simulate",
    "use_threads",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'seqmtl' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found  # also if a subpackage has the same name
    return found


def __dir__() -> list[str]:
    return __all__
