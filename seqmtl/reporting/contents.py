"""Results of a folder: datasets, models, and the documents that commands wrote, by signal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqmtl.adaptation.relatives import similarity
from seqmtl.io.transcripts import Annotation
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.reporting.introns import PredictedIntrons
from seqmtl.splicing.model import PairedModel

#: Names of signals in text.
SIGNAL_NAMES = {
    "donor": "splice donors",
    "acceptor": "splice acceptors",
    "tss": "transcription starts",
    "start": "start codons",
    "stop": "stop codons",
    "polya": "polyadenylation sites",
}


@dataclass
class Signal:
    """All results for one signal.

    Attributes
    ----------
    name : str
        Name of the signal, such as "donor".
    dataset : dict
        Summary of the dataset; empty if the folder has none.
    folder : str
        The dataset.
    models : dict of str to MultiTaskModel
        Models by file name without suffix; they lack their weights.
    files : dict of str to str
        Their files.
    metrics : dict of str to dict
        Results of ``seqmtl evaluate --json`` on the test regions by model.
    metric_files : dict of str to str
        Their files.
    curves : dict of str to str
        Pictures of the curves by model.
    """

    name: str
    dataset: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    models: dict[str, MultiTaskModel] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    metric_files: dict[str, str] = field(default_factory=dict)
    curves: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Name of the signal in text."""
        return SIGNAL_NAMES.get(self.name, "sites")

    @property
    def main(self) -> str:
        """The model that the page is about; test labels play no part in the choice.

        It is the first by name among the best in this order: models that have the organisms of the
        dataset, that share among organisms (neither individual nor union), that were evaluated,
        whose trust and cost were selected on held-out labels (the default of ``seqmtl train``),
        that are calibrated, and that have the most organisms. Without models, it is the first that
        was evaluated.
        """

        def rank(name: str) -> tuple[bool, bool, bool, bool, bool, int]:
            model = self.models[name]
            has_all = set(self.dataset.get("organisms", ())) <= set(model.tasks)
            is_selected = bool(model.training.get("selection", {}).get("tasks"))
            is_shared, n = _shares(model), len(model.tasks)
            return has_all, is_shared, name in self.metrics, is_selected, bool(model.curves), n

        return max(self.models, key=rank, default=next(iter(self.metrics), ""))

    @property
    def organisms(self) -> list[str]:
        """Organisms of the main model, or else of its evaluation or the dataset."""
        if self.models:
            return list(self.models[self.main].tasks)
        return list(self.metrics[self.main]["tasks"] if self.metrics else self.dataset["organisms"])

    def ordered_metrics(self) -> dict[str, Any]:
        """Return the metrics with those of the main model first."""
        names = sorted(self.metrics, key=lambda name: name != self.main)
        return {name: self.metrics[name] for name in names}


def _shares(model: MultiTaskModel) -> bool:
    """Return whether some organisms share their weights, without all being alike."""
    alike = similarity(model.kernel.restrict(model.tasks).matrix)
    alike = alike[np.triu_indices(len(alike), 1)]
    return bool(alike.size and alike.max() > 1e-6 and alike.min() < 1 - 1e-6)


@dataclass
class FolderContents:
    """The results in a folder.

    Attributes
    ----------
    path : str
        The folder.
    signals : dict of str to Signal
        By name.
    paired : dict of str to PairedModel
        Models of ``seqmtl pair`` by file name without suffix; those read lack their weights.
    pairs : dict of str to dict
        Results of ``seqmtl evaluate --json`` on models of ``seqmtl pair`` by file.
    introns : dict of str to PredictedIntrons
        Introns of ``seqmtl annotate`` by file of their summary.
    skipped : list of str
        What is not on the page, and why.
    annotations : dict of str to Annotation
        Annotations to compare the introns of an organism with.
    """

    path: str
    annotations: Mapping[str, Annotation] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    paired: dict[str, PairedModel] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    introns: dict[str, PredictedIntrons] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def path_of(self, name: str) -> str:
        """Return the path of a model by its name."""
        return os.path.join(self.path, f"{name}.seqmtl")

    def signal(self, name: str) -> Signal:
        """Return the entry of a signal, creating it if necessary."""
        return self.signals.setdefault(name, Signal(name))
