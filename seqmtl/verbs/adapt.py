"""Add an organism to a trained model, from few labels or none."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl import _kinds
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.outputs import check_outputs, replacing, write_json
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

if TYPE_CHECKING:
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Adapt(_options.TrainingRun, _options.WindowInput):
    """Add an organism to a trained model, from few labels or none."""

    model: str = _options.model_file(
        "model file of seqmtl train, starter:donor or starter:acceptor"
    )
    data: str | None = _options.window_data("labelled windows of the organism, cut as the model's")
    organism: str = required("the new organism", metavar="NAME")
    like: str | None = option(
        "organism of the model, or organism, taxid or clade of the tree, in whose place it is "
        "(default: its own name)",
        metavar="NAME",
    )
    tree: str | None = option(
        "Newick or Nexus file, shipped tree, or folder of an NCBI taxonomy dump (default: what "
        "the model knows, and eukaryotes for --like)",
        metavar="FILE|NAME",
    )
    split: str = _options.training_split()
    prevalence: float | None = option(
        "share of true sites among the candidates to be scored (default: the genome's if DATA "
        "is a dataset, else that of the windows)",
        metavar="SHARE",
        kind=_kinds.share,
    )
    decoys: float = _options.decoys()

    def run(self) -> MultiTaskModel:
        """Adapt the model, and write it.

        Returns
        -------
        MultiTaskModel
            The model with the organism.
        """
        from seqmtl.models.model import MultiTaskModel

        check_outputs(self.output, self.json)
        with replacing(self.output, self.model):
            model = MultiTaskModel.load(self.model)
        name, windows = self.organism, None
        if self.data or self.genome or self.sites:
            windows = self._read(model)
        adapted = model.adapt(
            name, windows, like=self.like, tree=self.tree,
            prevalence=None if windows is None else self._prevalence(),
        )  # fmt: skip
        if windows is not None:
            before = adapted.training.get("sources", [])
            adapted.training["sources"] = [*before, *self.sources]
        adapted.save(self.output)
        if windows is None:
            logger.info("%s: %s has no labels; score it with --from-relatives", self.output, name)
        else:
            name = adapted.match(name)
            logger.info("%s: %s, %d windows", self.output, name, len(windows))
        entry = adapted.training.get("adapted", {}).get(name, {})
        write_json(self.json, {"schema_version": 1, "organism": name, **entry})
        return adapted

    def _read(self, model: MultiTaskModel) -> Windows:
        """Read the labelled windows of the organism, of the model's length.

        Raises
        ------
        SeqmtlError
            If the model is not one of windows, or the data lack the organism.
        """
        import numpy as np

        from seqmtl._names import match_names
        from seqmtl.io.tables import is_table_of_windows
        from seqmtl.sequences.quality import find_faults
        from seqmtl.verbs._examples import read_as_of_model, warn_of

        if not model.can_scan:
            raise SeqmtlError(f"{self.model}: is a model of a table; adapt takes models of windows")
        organism: str | None = self.organism
        if self.data and not self.is_dataset and is_table_of_windows(self.data):
            organism = None  # the column tells
        windows = read_as_of_model(model, self, organism, require_labels=True)
        place = match_names([self.organism], windows.task_names, self.data or "--genome")[0]
        windows = windows[np.flatnonzero(windows.task_ids == place)]
        warn_of(find_faults([windows]), self)
        return windows

    def _prevalence(self) -> float | None:
        """Return the prevalence of the probabilities, or None for that of the rows."""
        from seqmtl._names import match_names
        from seqmtl.io.dataset import read_summary

        if self.prevalence is not None or not self.data or not self.is_dataset:
            return self.prevalence
        facts = read_summary(self.data)["organisms"]
        own = facts[list(facts)[match_names([self.organism], list(facts), self.data)[0]]]
        return float(own["sites"] / (own["sites"] + own["candidates"]))


adapt = verb(Adapt)
