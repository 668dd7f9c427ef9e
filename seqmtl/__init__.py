"""Train predictors of genomic signals jointly for many organisms.

Names are imported on first use, so that ``import seqmtl`` and ``seqmtl --help`` are fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
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
    from seqmtl.verbs.simulate import simulate

#: What can be asked of seqmtl, as on the command line: a module of seqmtl.verbs for each.
_VERBS = (
    "adapt",
    "calibrate",
    "dataset",
    "evaluate",
    "explain",
    "pair",
    "predict",
    "report",
    "scan",
    "similarity",
    "simulate",
    "train",
    "variants",
)

_HOME = {
    **{name: f"seqmtl.verbs.{name}" for name in _VERBS},
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
    "adapt",
    "calibrate",
    "dataset",
    "evaluate",
    "explain",
    "load_model",
    "pair",
    "pareto_path",
    "predict",
    "read_annotation",
    "read_dataset",
    "read_windows",
    "report",
    "scan",
    "similarity",
    "simulate",
    "train",
    "use_threads",
    "variants",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'seqmtl' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


class _Room(ModuleType):
    """A subpackage with the name of a verb, which it does when it is called."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._verb(*args, **options)

    @property
    def _verb(self) -> Any:
        return getattr(import_module(_HOME[name := self.__name__.partition(".")[2]]), name)

    @property
    def __signature__(self) -> Any:
        return self._verb.__signature__


class _Package(ModuleType):
    """The package, in which importing a subpackage does not hide the verb of its name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _VERBS and isinstance(value, ModuleType):
            value.__class__ = _Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
