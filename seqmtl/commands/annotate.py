"""Find the introns of a genome without annotation or RNA-seq.

examples:
  seqmtl annotate mosquito.fa.gz --like Diptera -o mosquito
  seqmtl annotate briggsae.fa --like c_elegans --organism c_briggsae -o briggsae
  seqmtl annotate alga.fa --like auto --organism alga --model pair.seqmtl -o alga

Only the genome and the name of a relative are needed. Name the nearest that you know: which
organisms of the model count is settled on the genome. The model predicts introns, is adapted to its
own most probable predictions, and predicts again, in rounds (see seqmtl adapt). FOLDER gets

  report.html            numbers, precision, recall and lengths of introns, logos, warnings
  sites.introns.gff3     introns of probability 0.1 or more
  sites.donor.bed.gz     donors and acceptors of probability 0.1 or more, each in a file
  sites.donor.plus.bw    probabilities of all candidates, each signal and strand in a file
  model.seqmtl           the adapted model, for seqmtl scan, variants and explain
  summary.json           the rounds, and the numbers of introns and sites

The messages and the report have the precision and recall that the probabilities imply; seqmtl info
starter:splice lists the precision that was measured in held-out organisms. If introns are known
from reads, proteins or a few genes, give them with --introns. The name of the file is only a label:
an organism of the model, whose genome it has seen, is scored without adapting if --organism says
that the genome is its own.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl._version import __version__
from seqmtl.commands import _options
from seqmtl.commands._request import Document, Request, option, python_function, required
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.streams import check_regular
from seqmtl.files.write import check_outputs, output_folder, write_json

if TYPE_CHECKING:
    from seqmtl.reporting.introns import Intron
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")

_MODEL = "starter:splice"
_SITES = "sites"
_SUMMARY, _ADAPTED, _PAGE = "summary.json", "model.seqmtl", "report.html"


@dataclass(frozen=True, kw_only=True)
class Annotate(Request):
    """Find the introns of a genome without annotation: adapt a model, scan, write a report."""

    genome: str = required("genome: plain, gzip or bgzip", metavar="FASTA", is_positional=True)
    like: str = required(
        "your organism or a relative: a species, genus, clade, common name or NCBI taxid; auto, "
        "which is less accurate, if you know no clade",
        metavar="NAME",
    )
    output: str = required("-o", "folder to write", metavar="FOLDER", affects_output=False)
    model: str = option(f"model file of seqmtl pair (default: {_MODEL})", default=_MODEL)
    organism: str | None = option(
        "name of your organism (default: that of the file); one of the model, whose genome it has "
        "seen, is scored without adapting",
        metavar="NAME",
    )
    introns: str | None = _options.known_introns()
    force: bool = option("replace the results in FOLDER", default=False, affects_output=False)

    def run(self) -> Document:
        """Adapt the model, scan the genome, and write the report.

        Returns
        -------
        dict
            The summary, as FOLDER/summary.json has it.
        """
        from seqmtl.commands.scan import Scan
        from seqmtl.io.bed import check_first_field
        from seqmtl.io.genome import contig_lengths
        from seqmtl.reporting.introns import introns_of
        from seqmtl.scanning.writers.formats import FORMATS, output_paths
        from seqmtl.splicing.model import PairedModel
        from seqmtl.splicing.new_organism import check_new

        check_regular(self.genome, "genome")
        check_regular(self.introns, "introns")
        base = PairedModel.load(self.model)
        (name, like), signals = self.organism_of(base), (*base.site_models,)
        if like is not None:
            check_new(base, name, like)
        lengths = contig_lengths(self.genome)
        for contig in lengths:
            check_first_field(contig)
        sites = output_paths(self._path(_SITES), FORMATS["all"], True, signals, has_introns=True)
        outputs = [*map(self._path, (_SUMMARY, _ADAPTED, _PAGE)), *sites]
        with output_folder(self.output):
            check_outputs([self.genome, self.model, self.introns], outputs)
            self._remove(outputs)
            model = self._adapt(base, name, like)
            del base  # it is large
            scan = Scan(
                model=self._path(_ADAPTED),
                genome=self.genome,
                organism=name,
                output=self._path(_SITES),
                format="all",
            )
            predicted: dict[Intron, float] = {}
            entry = scan.scan(
                model, lengths, lambda block, sites: predicted.update(introns_of(block, sites))
            )
            return self._summarise(name, model, entry, predicted)

    def organism_of(self, base: PairedModel) -> tuple[str, str | None]:
        """Return the name of the organism, and its relative; None if it is one of the model.

        Raises
        ------
        UsageError
            If it is an organism of the model, and introns are given.
        """
        from seqmtl.adaptation.relatives import AUTO, name_organism
        from seqmtl.linear_model.base import is_known

        if self.organism is None:
            name = name_organism(base.tasks, None, AUTO, self.genome)
            logger.info("the organism is called %s, after the file; see --organism", name)
            return name, self.like
        if not is_known(self.organism, base.tasks):
            return self.organism, self.like
        task = base.match(self.organism)
        if not base.has_genome(task):
            name = f"{task}_genome"
            logger.info(
                "the model has windows of %s, but no genome: it is adapted from its own windows, "
                "in place of --like, and called %s",
                task,
                name,
            )
            return name, task
        if self.introns:
            raise UsageError(
                f"the model already has {task}; leave --introns out, or give another name with "
                "--organism"
            )
        return task, None

    def _remove(self, outputs: list[str]) -> None:
        """Remove earlier results.

        Raises
        ------
        SeqmtlError
            If there are any, without ``--force``.
        """
        there = [path for path in outputs if os.path.exists(path)]
        if there and not self.force:
            raise SeqmtlError(
                f"{self.output} must have no files of the names of results, got {there[0]}; choose "
                "another folder, or --force to replace them"
            )
        for path in there:
            os.unlink(path)

    def _path(self, name: str) -> str:
        return os.path.join(self.output, name)

    def _adapt(self, base: PairedModel, name: str, like: str | None) -> PairedModel:
        """Return the paired model with the organism, and write it."""
        from seqmtl.splicing.new_organism import (
            log_expectation,
            log_warnings,
            train_unlabelled,
        )

        model = base
        if like is None:
            logger.info("the model already has %s and is used unchanged", name)
        else:
            model = train_unlabelled(base, name, self.genome, like, introns=self.introns).paired()
            facts = model.training["unlabelled"][name]
            log_expectation(name, facts)
            log_warnings(name, facts)
        model.save(self._path(_ADAPTED))
        return model

    def _summarise(
        self, name: str, model: PairedModel, scan: Document, predicted: dict[Intron, float]
    ) -> Document:
        """Write the summary and the page; return the summary."""
        from seqmtl.reporting import FolderContents, write_page
        from seqmtl.reporting.introns import predicted_introns

        path = self._path(f"{_SITES}.introns.gff3")
        introns = predicted_introns(path, predicted, name, self.genome)
        summary = {
            "schema_version": 1,
            "command": "annotate",
            "seqmtl_version": __version__,
            "organism": name,
            "genome": self.genome,
            "model": self.model,
            **model.training.get("unlabelled", {}).get(name, {}),
            "introns": introns.rows[0]["predicted"],
            "introns_from": {
                f"{row['min_probability']:g}": row["predicted"] for row in introns.rows[1:]
            },
            "scans": [scan],
        }
        write_json(self._path(_SUMMARY), summary)
        contents = FolderContents(self.output, paired={"model": model})
        contents.introns[_SUMMARY] = introns
        title = f"Introns of {name}"
        write_page(contents, self._path(_PAGE), title=title, command=self.command)
        return summary


annotate = python_function(Annotate)
