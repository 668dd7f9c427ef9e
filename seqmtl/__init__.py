# ruff: noqa: I001 - one import a module
"""Train predictors of genomic signals jointly for many organisms.

Names are imported on first use, so that ``import seqmtl`` and ``seqmtl --help`` are fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl._threads import use_threads as use_threads
    from seqmtl.estimators import (
        MultiTaskClassifierCV as MultiTaskClassifierCV,
        MultiTaskMKLClassifier as MultiTaskMKLClassifier,
        MultiTaskRegressorCV as MultiTaskRegressorCV,
        MultiTaskSVC as MultiTaskSVC,
        MultiTaskSVR as MultiTaskSVR,
        TaskScorer as TaskScorer,
        TaskTransformer as TaskTransformer,
    )
    from seqmtl.features.joint import JointFeatures as JointFeatures
    from seqmtl.features.kmer_views import KmerView as KmerView
    from seqmtl.features.kmer_counts import KmerCounts as KmerCounts
    from seqmtl.features.positional_kmers import PositionalKmers as PositionalKmers
    from seqmtl.io.annotation import read_annotation as read_annotation
    from seqmtl.io.dataset import read_dataset as read_dataset
    from seqmtl.io.tables import read_windows as read_windows
    from seqmtl.kernel_mkl import (
        IndividualMKLClassifier as IndividualMKLClassifier,
        KernelMKLClassifier as KernelMKLClassifier,
        MultiTaskKernelSVC as MultiTaskKernelSVC,
        ParetoMKLClassifier as ParetoMKLClassifier,
        pareto_path as pareto_path,
    )
    from seqmtl.linear_model.model import MultiTaskModel as MultiTaskModel
    from seqmtl.loading import load as load
    from seqmtl.sequences import TaskArray as TaskArray, Windows as Windows
    from seqmtl.relations import TaskKernel as TaskKernel
    from seqmtl._version import __version__ as __version__
    from seqmtl.commands.simulate import simulate as simulate

#: Commands that are also Python functions; each is a module of seqmtl.commands.
COMMANDS = (
    "adapt annotate calibrate compare dataset evaluate explain introns pair predict report "
    "scan similarity simulate train variants"
).split()

_NAMES = {
    "seqmtl._version": "__version__",
    "seqmtl._threads": "use_threads",
    "seqmtl.estimators": "MultiTaskClassifierCV MultiTaskMKLClassifier "
    "MultiTaskRegressorCV MultiTaskSVC MultiTaskSVR TaskScorer TaskTransformer",
    "seqmtl.features.joint": "JointFeatures",
    "seqmtl.features.kmer_views": "KmerView",
    "seqmtl.features.kmer_counts": "KmerCounts",
    "seqmtl.features.positional_kmers": "PositionalKmers",
    "seqmtl.io.annotation": "read_annotation",
    "seqmtl.io.dataset": "read_dataset",
    "seqmtl.io.tables": "read_windows",
    "seqmtl.kernel_mkl": "IndividualMKLClassifier KernelMKLClassifier "
    "MultiTaskKernelSVC ParetoMKLClassifier pareto_path",
    "seqmtl.linear_model.model": "MultiTaskModel",
    "seqmtl.loading": "load",
    "seqmtl.sequences": "TaskArray Windows",
    "seqmtl.relations": "TaskKernel",
    **{f"seqmtl.commands.{name}": name for name in COMMANDS},
}
__all__ = sorted(" ".join(_NAMES.values()).split())
__getattr__ = import_on_use(__name__, _NAMES)


def __dir__() -> list[str]:
    return __all__
