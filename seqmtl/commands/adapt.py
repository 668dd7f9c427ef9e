"""Add an organism to a trained model, from few labels or none.

examples:
  seqmtl adapt splice.seqmtl few.tsv --organism c_briggsae --tree nematodes -o new.seqmtl
  seqmtl adapt starter:donor few.tsv --organism midge --like Diptera --prevalence 0.01 -o new.seqmtl
  seqmtl adapt splice.seqmtl --organism c_briggsae --like c_elegans -o new.seqmtl  # no labels
  seqmtl adapt starter:splice --genome c_briggsae=c_briggsae.fa --organism c_briggsae -o pair.seqmtl

The data that the model was trained on are not needed. The organism starts as a mean of the
organisms of the model, in which its relatives count more; its labels, at least two of each class,
then change the weights of the relatives, the trust in them, and the weights of the k-mers. seqmtl
info shows how much each relative counts. An organism that was adapted before is adapted further:
give only labels that it has not seen. Without labels, it is scored from its relatives.

A paired model learns from the genome alone, in rounds, and from introns that are known (--introns).
Donors are GT or GC; others of --consensus are scored as GT, and how much rarer they are is learnt.

Probabilities hold at --prevalence. With many labels, calibrate on others: seqmtl calibrate.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import option, python_function, required
from seqmtl.exceptions import UsageError, errors_about
from seqmtl.files.write import check_outputs

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.sequences import Windows
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Adapt(_options.WindowInput):
    """Add an organism to a trained model, from few labels or none."""

    model: str = _options.model_file(
        "model file of seqmtl train or pair, starter:donor or starter:acceptor"
    )
    data: tuple[str, ...] = _options.window_data(
        "labelled windows of the organism",
        is_required=False,
    )
    organism: str = required("name of the new organism", metavar="NAME")
    like: str | None = option(
        "relative: species, genus, clade or NCBI taxid, or auto (default: its name, if a tree has "
        "it, else auto)",
        metavar="NAME",
    )
    tree: str | None = option(
        "tree or NCBI taxonomy with --like (default: of the model, or eukaryotes)",
        metavar="FILE|NAME",
    )
    split: str = "train"
    prevalence: float | None = option(
        "share of true sites among candidates (default: as in the dataset or DATA)",
        metavar="SHARE",
        kind=_kinds.share,
    )
    genome: tuple[str, str] | None = option(
        "genome of the organism, for a paired model",
        metavar="ORGANISM=FASTA",
        kind=_kinds.named_path,
    )
    introns: str | None = _options.known_introns()
    consensus: str | None = option(
        "letters that donors may have (default: GT,GC)", metavar="LETTERS", kind=_kinds.donors
    )
    output: str = required("-o", "model file", metavar="MODEL", affects_output=False)

    def check(self) -> None:
        """Refuse options of windows that are not given."""
        if not (self.data or self.genome):
            self.refuse(("prevalence",), "is for windows; give DATA, or leave it out")

    def run(self) -> MultiTaskModel | PairedModel:
        """Adapt the model, and write it.

        Returns
        -------
        MultiTaskModel or PairedModel
            The model with the organism.
        """
        from seqmtl.loading import load_site_model

        genome = self.genome[1] if self.genome else None
        inputs = [*self.files, self.tree, self.introns, genome]
        check_outputs(inputs, [self.output], replaced=self.model)
        started, model = time.perf_counter(), load_site_model(self.model)
        adapted: MultiTaskModel | PairedModel
        if model.learns_from_genome:
            adapted, message = self._to_genome(cast("PairedModel", model))
        else:
            adapted, message = self._to_windows(cast("MultiTaskModel", model))
        adapted.save(self.output)
        seconds = time.perf_counter() - started
        logger.info("%s: %s, %s; %.1f s", self.output, self.organism, message, seconds)
        return adapted

    def _to_windows(self, model: MultiTaskModel) -> tuple[MultiTaskModel, str]:
        """Return the model with the organism, and a summary."""
        from seqmtl import adaptation

        reason = "is for a model of seqmtl pair; leave it out"
        self.refuse(("genome", "introns", "consensus"), reason)
        windows = None
        with errors_about(self.source.name or None):
            if self.data:
                windows = self._read(model)
            adapted = adaptation.adapt(
                model,
                self.organism,
                windows,
                like=self._relative(model),
                tree=self.tree,
                prevalence=None if windows is None else self._prevalence(),
            )
        if windows is None:
            return adapted, "no labels; it is scored from its relatives"
        before = adapted.training.get("sources", [])
        adapted.training["sources"] = [*before, *self.source.paths]
        name = adapted.match(self.organism)
        facts, counts = adapted.training["adapted"][name], adapted.training["tasks"][name]
        first = max(facts["relatives"], key=lambda other: facts["relatives"][other])
        trust = sum(float(x) * weight for x, weight in facts["trust"].items())
        return (
            adapted,
            f"{counts['n']} windows with {counts['n_positive']} true sites; placed by "
            f"{facts['source']}; {first} counts most ({facts['relatives'][first]:.2f}), trust "
            f"{trust:.2f}",
        )

    def _relative(self, model: MultiTaskModel) -> str | None:
        """Return the relative: by default the organism itself, if the shipped tree has it."""
        from seqmtl._messages import messages_from
        from seqmtl.adaptation.relatives import weights_of_relatives
        from seqmtl.exceptions import UnknownTaskError
        from seqmtl.linear_model.base import is_known

        is_placed = self.tree is not None or is_known(self.organism, model.kernel.names)
        if self.like is not None or is_placed:
            return self.like
        with suppress(UnknownTaskError), messages_from(logging.ERROR):
            weights_of_relatives(model.kernel, model.tasks, self.organism, like=self.organism)
            return self.organism
        return None

    def _to_genome(self, model: PairedModel) -> tuple[PairedModel, str]:
        """Add the organism to a paired model by rounds of self-training on its genome.

        Raises
        ------
        UsageError
            If there are labels, there is not one genome of the organism, or the model has it.
        """
        from seqmtl._names import match_names
        from seqmtl.splicing.new_organism import (
            check_new,
            log_expectation,
            log_warnings,
            train_unlabelled,
        )

        reason = (
            "is for models of seqmtl train: a model of seqmtl pair learns from the genome, and "
            "from --introns; leave it out"
        )
        if self.data:
            raise UsageError(f"DATA {reason}")
        self.refuse(("prevalence",), reason)
        name = self.organism
        if self.genome is None:
            raise UsageError(
                f"a model of seqmtl pair needs the genome of the organism; give --genome "
                f"{name}=FASTA"
            )
        of, genome = self.genome
        match_names([name], [of], "--genome")
        like = self._relative(model.donor)
        check_new(model, name, like, self.tree, self.consensus)
        self_training = train_unlabelled(
            model,
            name,
            genome,
            like,
            tree=self.tree,
            introns=self.introns,
            consensus=self.consensus,
        )
        adapted, first = self_training.paired(), int(self_training.weights.argmax())
        facts = adapted.training["unlabelled"][name]
        log_expectation(name, facts)
        log_warnings(name, facts)
        n_rounds, weight = len(self_training.rounds) - 1, self_training.weights[first]
        return (
            adapted,
            f"{n_rounds} round(s) of self-training; {model.donor.tasks[first]} has the largest "
            f"weight ({weight:.2f})",
        )

    def _read(self, model: MultiTaskModel) -> Windows:
        """Read the labelled windows of the organism, of the model's length.

        Raises
        ------
        SeqmtlError
            If the data lack the organism.
        """
        import numpy as np

        from seqmtl._names import match_names
        from seqmtl.io.tables import is_table_of_windows
        from seqmtl.sequences.quality import window_warnings

        organism: str | None = self.organism
        if not self.source.dataset and any(map(is_table_of_windows, self.source.paths)):
            organism = None  # the column names it
        windows = self.source_of(organism).read_for(model, require_labels=True)
        task = match_names([self.organism], windows.task_names, self.source.name)[0]
        windows = windows[np.flatnonzero(windows.task_ids == task)]
        for fault in window_warnings([windows]):
            logger.warning("%s: %s", self.source.name, fault)
        return windows

    def _prevalence(self) -> float | None:
        """Return the prevalence of the probabilities, or None for that of the rows."""
        from seqmtl._names import match_names
        from seqmtl.io.dataset import read_summary

        dataset = self.source.dataset
        if self.prevalence is not None or dataset is None:
            return self.prevalence
        facts = read_summary(dataset)["organisms"]
        counts = facts[list(facts)[match_names([self.organism], list(facts), dataset)[0]]]
        return float(counts["sites"] / (counts["sites"] + counts["candidates"]))


adapt = python_function(Adapt)
