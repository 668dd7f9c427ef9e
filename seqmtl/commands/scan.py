"""``seqmtl scan``: find signals in a genome."""

from __future__ import annotations

import logging
import resource
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seqmtl._checks import check_choice
from seqmtl._progress import short
from seqmtl._version import __version__
from seqmtl.commands import _kinds, _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import UsageError

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.scanning.filters import ScanSummary, SiteFilters
    from seqmtl.scanning.plan import ScanPlan
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.scanning.writers.formats import Format
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")

_WHICH = "which sites"
_MIN_PROBABILITY = 0.1  # of introns, and of BED beside them


def format_name(value: object) -> str:
    """Take the name of a format, in any case."""
    from seqmtl.scanning.writers.formats import FORMATS

    name = str(value).lower()
    check_choice("", name if name in FORMATS else value, FORMATS)
    return name


@dataclass(frozen=True, kw_only=True)
class Scan(_options.Relatives, _options.Threads):
    """Score every candidate site of a genome, on both strands."""

    model: str = _options.model_file(_options.STARTER_OR_FILE)
    genome: str = required(
        "genome: plain, gzip or bgzip; - for stdin", metavar="FASTA", is_positional=True
    )
    output: str = required(
        "-o", "file to write; - for standard output", metavar="OUT", affects_output=False
    )
    format: str | None = option(
        "format of OUT, see below (default: by the suffix, or bed)",
        metavar="FORMAT",
        kind=format_name,
    )
    organism: str | None = option(
        "organism to scan for, or all (default: the only one)",
        metavar="NAME",
    )
    consensus: str | None = option(
        "letters of the sites, such as AG or GT,GC, or any (default: as in training)",
        metavar="LETTERS",
        group=_WHICH,
    )
    contigs: str | None = option(
        "scan only these contigs; @FILE lists one per line", metavar="NAME,...", group=_WHICH
    )
    regions: str | None = option(
        "report only sites whose interval starts in a region", metavar="BED", group=_WHICH
    )
    threshold: float | None = option(
        "minimum raw score", metavar="X", kind=_kinds.finite_float, group=_WHICH
    )
    min_probability: float | None = option(
        "minimum probability (of a calibrated model)",
        metavar="P",
        kind=_kinds.probability,
        group=_WHICH,
    )
    top: int | None = option(
        "at most the N best sites per megabase (of introns: the N best of all)",
        group=_WHICH,
    )
    json: str | None = _options.summary_file("write a summary; - for standard output")

    def run(self) -> list[Document]:
        """Scan, and write the sites.

        Returns
        -------
        list of dict
            For every organism its name, files, counts and seconds, as ``json`` has them.
        """
        from seqmtl.loading import load_site_model

        return self.scan(load_site_model(self.model))

    def scan(self, loaded: MultiTaskModel | PairedModel) -> list[Document]:
        """Scan with a model that is loaded already; see :meth:`run`."""
        from seqmtl.files.write import check_outputs

        model, request = _options.with_organism_of_like(loaded, self, self.genome, has_genome=True)
        plan = request._plan(model)
        if plan.file_format.has_introns and request.min_probability is None:
            request = replace(request, min_probability=_MIN_PROBABILITY)
        plan.check()
        files = [file for predictor in plan.outputs for file in plan.files(predictor)]
        check_outputs(request._inputs, [*files, self.json])
        lengths = plan.contig_lengths(
            [f"--{name}" for name in ("contigs", "regions") if getattr(self, name) is not None]
        )
        filters = request._filters(plan.file_format, lengths or {})
        scans = [request._scan(plan, predictor, filters, lengths) for predictor in plan.outputs]
        if self.json:
            request._write_summary(plan.file_format.name, scans)
        return scans

    def _plan(self, model: MultiTaskModel | PairedModel) -> ScanPlan:
        """Return what is read and written.

        Raises
        ------
        UsageError
            If an option does not apply to the model.
        """
        from seqmtl.scanning.plan import ScanPlan
        from seqmtl.scanning.writers.formats import FORMATS, guess_format

        if self.json == "-" and self.output == "-":
            raise UsageError("sites and summary cannot both go to standard output; name a file")
        file_format = FORMATS[self.format] if self.format else guess_format(self.output)
        outputs = {
            model.predictor(
                organism,
                like=self.like,
                tree=self.tree,
                genome=self.genome,
                consensus=self.consensus,
            ): output
            for organism, output in self._outputs(model.tasks).items()
        }
        for predictor in outputs:
            for name, message in predictor.unsupported(file_format).items():
                if getattr(self, name) is not None:
                    raise UsageError(message)
        return ScanPlan(outputs, self.genome, file_format)

    def _outputs(self, tasks: tuple[str, ...]) -> dict[str, str]:
        """Return the output of every organism to scan for."""
        from seqmtl.files.names import safe_names
        from seqmtl.files.pipes import is_read_once
        from seqmtl.scanning.writers.formats import inserted

        if self.organism is None and len(tasks) > 1:
            raise UsageError(
                f"the model has {len(tasks)} organisms; name one of {', '.join(tasks)} with "
                "--organism, or all"
            )
        if self.organism != "all" or "all" in tasks:
            return {self.organism or tasks[0]: self.output}
        if self.output == "-":
            raise UsageError("--organism all writes one file per organism; name an output file")
        if is_read_once(self.genome):
            raise UsageError("--organism all reads the genome once per organism; give it as a file")
        return {name: inserted(self.output, safe) for name, safe in safe_names(tasks).items()}

    @property
    def _inputs(self) -> list[str | None]:
        """The files that are read."""
        is_list = self.contigs is not None and self.contigs.startswith("@")
        contigs = self.contigs[1:] if self.contigs and is_list else None
        return [self.model, self.genome, self.tree, self.regions, contigs]

    def _filters(self, file_format: Format, lengths: dict[str, int]) -> SiteFilters:
        """Return the filters of sites, given the lengths of the contigs."""
        from seqmtl.io.bed import read_regions
        from seqmtl.scanning.filters import SiteFilters

        return SiteFilters(
            contigs=None if self.contigs is None else _contigs(self.contigs, lengths),
            regions=None if self.regions is None else read_regions(self.regions, lengths),
            threshold=self.threshold,
            min_probability=None if file_format.has_several_files else self.min_probability,
            top=self.top,
        )

    def _scan(
        self,
        plan: ScanPlan,
        predictor: Predictor,
        filters: SiteFilters,
        lengths: dict[str, int] | None,
    ) -> Document:
        """Scan for the sites of an organism, and log it; return its entry in the summary."""
        started = time.perf_counter()
        introns = self.min_probability if plan.file_format.has_introns else None
        summary = plan.run(predictor, filters, introns=introns, lengths=lengths)
        seconds = time.perf_counter() - started
        files, organism = plan.files(predictor), predictor.organism
        entry = {
            "organism": organism,
            "files": files,
            **vars(summary),
            "seconds": round(seconds, 3),
            "megabases_per_second": round(summary.n_bases / 1e6 / max(seconds, 1e-9), 3),
        }
        logger.info(
            "%s: %s: %d contigs, %d positions scored, %s written in %.1f s (%s Mb/s)",
            " and ".join(filter(None, [", ".join(files[:-1]), files[-1]])),
            organism,
            summary.n_contigs,
            summary.n_scored,
            _counts(summary, plan.file_format),
            seconds,
            short(summary.n_bases / 1e6 / max(seconds, 1e-9)),
            extra={"fields": entry},
        )
        return entry

    def _write_summary(self, file_format: str, scans: list[Document]) -> None:
        from seqmtl._threads import n_threads
        from seqmtl.files.write import write_json

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        summary = {
            "schema_version": 1,
            "command": "scan",
            "seqmtl_version": __version__,
            "model": self.model,
            "genome": self.genome,
            "format": file_format,
            "options": self.fingerprint("model", "genome"),
            "threads": n_threads(),
            "scans": scans,
            "peak_memory_mib": round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1),
        }
        write_json(self.json, summary)


def _contigs(text: str, lengths: dict[str, int]) -> frozenset[str]:
    """Return the requested contigs; all must be in the genome."""
    from seqmtl.files.streams import numbered_lines, readable
    from seqmtl.sequences.genome import unknown_contig

    is_list = text.startswith("@")
    names = [readable(line) for _, line in numbered_lines(text[1:])] if is_list else text.split(",")
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise UsageError(f"must name the contigs to scan, got none in {text!r}", "contigs")
    if not lengths.keys() >= {*names}:
        remedy = "; parts of contigs are for --regions" if ":" in text else ""
        if "," in text and not is_list:
            remedy += (
                "; write names with commas into a file, a name a line, and give --contigs @FILE"
            )
        raise UsageError(f"--contigs: {unknown_contig(names, list(lengths))}{remedy}")
    return frozenset(names)


def _counts(summary: ScanSummary, file_format: Format) -> str:
    """Summarize the fate of the candidates."""
    parts = [f"{summary.n_candidates} candidates"]
    parts += [f"{n} removed by {reason}" for reason, n in summary.removed.items()]
    for omission in filter(None, [writer.omission for writer in file_format.writers]):
        parts.append(f"{summary.n_reported - summary.n_records} {omission}")
    return ", ".join([*parts, *(f"{n} {noun}" for noun, n in summary.written.items())])


_TEXT = """\
  seqmtl scan starter:donor mosquito.fa.gz --like Diptera --top 200 -o donors.bed.gz
  seqmtl scan splice.seqmtl worm.fa --organism worm -o worm.bw     # worm.plus.bw, worm.minus.bw
  seqmtl scan splice.seqmtl worm.fa.gz --organism worm --min-probability 0.5 -o sites.gff3
  seqmtl scan splice.seqmtl worm.fa --organism all --top 500 -o ag.bed.gz    # ag.NAME.bed.gz each
  seqmtl scan starter:splice worm.fa.gz --organism c_elegans --format introns -o introns.bed
  seqmtl scan donor.seqmtl worm.fa --organism worm --min-probability 0.1 -o donor.hints
  seqmtl scan donor.seqmtl worm.fa --organism worm -o donor.spsc
  seqmtl scan tf.seqmtl mouse.fa.gz --threshold 1 -o binding.bed.gz
  cat donor.spsc acceptor.spsc > both.tsv; minimap2 -cx splice:hq --spsc=both.tsv worm.fa rna.fa

formats, with their suffixes (text formats also .gz):
  bed, gff3, hints       .bed, .gff3 .gff, .hints: sites; hints are for AUGUSTUS
  bedgraph, bigwig       .bedgraph .bg, .bw .bigwig: probabilities if calibrated, else
                         scores; bigWig is OUT.plus.bw and OUT.minus.bw
  spsc                   .spsc .tsv: splice scores for minimap2 and miniprot
  introns                of a model of seqmtl pair: BED12, or GFF3 if OUT ends in .gff3
  all                    of such a model: OUT.introns.gff3, OUT.donor.bed.gz, OUT.donor.plus.bw ...

sites: if all training windows have the same letters at the site (GT of donors, AG of acceptors),
only sites with these letters are reported: the model was trained on no others, so its scores are
meaningless elsewhere. --consensus any reports every position. Output is sorted by contig (in FASTA
order), start and strand.

coordinates: 0-based half-open on the forward strand (GFF3: 1-based closed). A BED or GFF3 record is
the site itself: the AG of an acceptor, or the base at offset window // 2 if the training windows
share no two letters. bedGraph and bigWig put the value at the first base of that interval; bedGraph
takes the larger value of both strands. Files ending in .gz are bgzipped and indexed (.tbi).

A model without a site (of spectrum or gapped features) scores the window around every base, in time
that the length of windows does not change. bedGraph and bigWig have all of them, at their middle
base; other formats have the windows that no overlapping window exceeds. K-mers of both strands give
one score: the strand is a dot, and bigWig is one file. A window more than half of which is N has no
score.

A model of seqmtl pair reports donors and acceptors, with probabilities given their partners, in
OUT.donor.bed and OUT.acceptor.bed (and OUT.start.bed and so on, with pair --boundary-model), or in
one file for spsc; the score is the log-odds of the probability. --format introns writes introns of
at least --min-probability (default: 0.1), with the probabilities of the intron, its donor and its
acceptor. Filters affect only what is written: the model uses all candidates. An intron is in a
region if it starts there."""

COMMAND = Command(Scan, "score every candidate site of a genome, both strands", _TEXT)

scan = python_function(Scan)
