"""``seqmtl annotate``: the introns of a genome without annotation."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from seqmtl._version import __version__
from seqmtl.commands import _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.write import check_outputs, make_folder, only_run_in, remove_file, write_json

logger = logging.getLogger("seqmtl")

_MODEL = "starter:splice"
_SITES = "sites"
_SCAN = "scans/sites.json"  # written after what the scan found
_WRITTEN = (
    "summary.json",
    "model.seqmtl",
    "model.seqmtl.checkpoint",
    "model.json",
    "report.html",
    _SCAN,
)


@dataclass(frozen=True, kw_only=True)
class Annotate(_options.Threads):
    """Find the introns of a genome without annotation: adapt a model, scan, write a report."""

    genome: str = required("genome: plain, gzip or bgzip", metavar="FASTA", is_positional=True)
    like: str = required(
        "relative of your organism: a species, genus, clade, common name or NCBI taxid; auto: no "
        "relative known",
        metavar="NAME",
    )
    output: str = required("-o", "folder to write", metavar="FOLDER", affects_output=False)
    model: str = option(f"model file of seqmtl pair (default: {_MODEL})", default=_MODEL)
    organism: str | None = option(
        "name of your organism (default: that of the file)",
        metavar="NAME",
    )
    tree: str | None = option(
        "tree with the name of --like: Newick or Nexus file, shipped tree, or folder of an NCBI "
        "taxonomy dump (default: that of the model, then eukaryotes)",
        metavar="FILE|NAME",
    )
    introns: str | None = _options.known_introns()
    consensus: str | None = _options.donors()

    def run(self) -> Document:
        """Adapt the model, scan the genome, and write the report.

        Steps that an earlier run finished with the same files and options are not repeated.

        Returns
        -------
        dict
            The summary, as FOLDER/summary.json has it.
        """
        from seqmtl.io.bed import check_first_field
        from seqmtl.io.genome import contig_lengths
        from seqmtl.linear_model.base import is_known
        from seqmtl.scanning.writers.formats import output_paths
        from seqmtl.splicing.model import PairedModel
        from seqmtl.splicing.new_organism import check_new

        for path, what in ((self.genome, "genome"), (self.introns, "introns")):
            if path is not None and not os.path.isfile(path):
                fault = "not a regular file" if os.path.exists(path) else "no such file"
                raise SeqmtlError(f"{path}: {fault}; give the {what} as a file")
        base = PairedModel.load(self.model)
        name = self.organism or os.path.basename(self.genome).partition(".")[0]
        known, signals = None, (*base.site_models,)
        if not is_known(name, base.tasks):
            check_new(base, name, self.like, self.tree, self.consensus)
        elif self.introns or self.consensus:
            given = "--introns" if self.introns else "--consensus"
            raise UsageError(
                f"the model already has {base.match(name)}; leave {given} out, or give another "
                "name with --organism"
            )
        else:
            known = base.match(name)
        del base  # it is large
        for contig in contig_lengths(self.genome):
            check_first_field(contig)
        make_folder(self._path("scans"))
        with only_run_in(self.output):
            inputs = [self.genome, self.model, self.tree, self.introns]
            sites = output_paths(self._path(_SITES), "all", "both", signals)
            check_outputs(inputs, [*map(self._path, _WRITTEN), *sites])
            name, facts = self._adapt(name, known)
            return self._summarise(name, facts, self._scan(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.output, name)

    def _adapt(self, name: str, known: str | None) -> tuple[str, Document]:
        """Make the paired model with the organism if need be; return its name and the rounds.

        `known` is how the model spells an organism that it has.
        """
        from seqmtl.commands.adapt import Adapt
        from seqmtl.files.streams import read_json, sha256_of
        from seqmtl.splicing.model import PairedModel
        from seqmtl.splicing.new_organism import contents_of

        path, facts = self._path("model.seqmtl"), self._path("model.json")
        inputs = {
            "organism": name,
            "like": self.like,
            "consensus": self.consensus,
            **contents_of(self.model, self.genome, self.tree, self.introns),
        }
        try:
            stored = read_json(facts)
            is_there = stored["inputs"] == inputs and stored["sha256"] == sha256_of(path)
        except (OSError, ValueError, KeyError, TypeError):
            is_there = False
        if not is_there:
            remove_file(self._path(_SCAN))
            if known is not None:
                logger.info(
                    "the model already has %s and is used unchanged; if this is another organism, "
                    "name it with --organism",
                    known,
                )
                PairedModel.load(self.model).save(path)
            else:
                Adapt(
                    model=self.model,
                    genome=((name, self.genome),),
                    organism=name,
                    like=self.like,
                    tree=self.tree,
                    output=path,
                    introns=self.introns,
                    consensus=self.consensus,
                ).run()
            write_json(facts, {"schema_version": 1, "inputs": inputs, "sha256": sha256_of(path)})
        else:
            logger.info("%s: exists for the same inputs and options, not repeated", path)
        model = PairedModel.load(path)
        name = model.match(name)
        return name, model.training.get("unlabelled", {}).get(name, {})

    def _scan(self, name: str) -> Document:
        """Return the entry of the scan in its summary; the genome is scanned if need be."""
        from seqmtl.commands.scan import Scan
        from seqmtl.files.streams import read_json

        try:
            entry = read_json(self._path(_SCAN))["scans"][0]
            if all(map(os.path.isfile, entry["files"])):
                return dict(entry)
        except (OSError, ValueError, LookupError, TypeError):
            pass  # no whole scan is there: it is made, or made again
        scan = Scan(
            model=self._path("model.seqmtl"),
            genome=self.genome,
            organism=name,
            output=self._path(_SITES),
            format="all",
            json=self._path(_SCAN),
        )
        return scan.run()[0]

    def _summarise(self, name: str, facts: Document, scan: Document) -> Document:
        """Write the summary and the page; return the summary."""
        from seqmtl.commands.report import Report
        from seqmtl.reporting.introns import intron_rows, read_introns

        rows = intron_rows(read_introns(self._path("sites.introns.gff3")))
        summary = {
            "schema_version": 1,
            "command": "annotate",
            "seqmtl_version": __version__,
            "organism": name,
            "genome": self.genome,
            "model": self.model,
            **facts,
            "introns": rows[0]["predicted"],
            "introns_from": {f"{row['min_probability']:g}": row["predicted"] for row in rows[1:]},
            "scans": [scan],
        }
        write_json(self._path("summary.json"), summary)
        Report(
            folder=self.output,
            output=self._path("report.html"),
            title=f"Introns of {name}",
            command_line=self.command,
        ).run()
        return summary


_TEXT = """\
  seqmtl annotate mosquito.fa.gz --like Diptera -o mosquito
  seqmtl annotate briggsae.fa --like c_elegans --organism c_briggsae -o briggsae
  seqmtl annotate alga.fa --like auto --organism alga --model pair.seqmtl -o alga

Only the genome and the name of a relative are needed. Name the nearest that you know: which
organisms of the model count is settled on the genome. The model predicts introns, is adapted to its
own most probable predictions, and predicts again, in rounds (see seqmtl adapt). FOLDER gets

  report.html            numbers and lengths of introns by round, an example region, warnings
  sites.introns.gff3     introns of probability 0.1 or more
  sites.donor.bed.gz     donors and acceptors of probability 0.1 or more, each in a file
  sites.donor.plus.bw    probabilities of all candidates, each signal and strand in a file
  model.seqmtl           the adapted model, for seqmtl scan, variants and explain
  summary.json           the rounds, and the numbers of introns and sites

Precision at probability 0.9 or more: 0.95 to 0.99 in held-out organisms, 0.85 and 0.99 in two
mammals that were not adapted to, and 0.25 to 0.36 in one repeat-rich genome with too few
predictions, which is a warning. If introns are known from reads, proteins or a few genes, give them
with --introns. An --organism that the model has is
scored without adapting. After an interruption, repeat the command: finished steps with the same
files and options are not repeated."""

COMMAND = Command(
    Annotate,
    "find the introns of a genome without annotation or RNA-seq",
    _TEXT,
)

annotate = python_function(Annotate)
