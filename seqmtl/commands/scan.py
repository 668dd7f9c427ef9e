"""Score every candidate site of a genome, both strands.

examples:
  seqmtl scan starter:donor mosquito.fa.gz --like Diptera --top 200 -o donors.bed.gz
  seqmtl scan splice.seqmtl worm.fa --organism worm -o worm.bw     # worm.plus.bw, worm.minus.bw
  seqmtl scan splice.seqmtl worm.fa.gz --organism worm --min-probability 0.5 -o sites.gff3
  seqmtl scan starter:splice worm.fa.gz --organism c_elegans --format introns -o introns.bed
  seqmtl scan donor.seqmtl worm.fa --organism worm --min-probability 0.1 -o donor.hints
  seqmtl scan donor.seqmtl worm.fa --organism worm -o donor.spsc
  seqmtl scan tf.seqmtl mouse.fa.gz --threshold 1 -o binding.bed.gz
  cat donor.spsc acceptor.spsc > both.tsv; minimap2 -cx splice:hq --spsc=both.tsv worm.fa rna.fa

formats, with their suffixes (text formats also .gz):
  bed, gff3, hints       .bed, .gff3 .gff, .hints: sites; hints are for AUGUSTUS
  bigwig                 .bw .bigwig: OUT.plus.bw and OUT.minus.bw, with probabilities if
                         calibrated, else scores; bigWigToBedGraph makes bedGraph of them
  spsc                   .spsc .tsv: splice scores for minimap2 and miniprot
  introns                of a model of seqmtl pair: BED12, or GFF3 if OUT ends in .gff3
  all                    of such a model: OUT.introns.gff3, OUT.donor.bed.gz, OUT.donor.plus.bw ...

sites: if all training windows have the same letters at the site (GT of donors, AG of acceptors),
only sites with these letters are reported: the model was trained on no others, so its scores are
meaningless elsewhere. Output is sorted by contig (in FASTA order), start and strand. For some
contigs: samtools faidx genome.fa chr1 > part.fa, and scan part.fa.

coordinates: 0-based half-open on the forward strand (GFF3: 1-based closed). A BED or GFF3 record is
the site itself: the AG of an acceptor, or the base at offset window // 2 if the training windows
share no two letters. bigWig puts the value at the first base of that interval. Files ending in .gz
are bgzipped and indexed (.tbi).

A model without a site (of spectrum or gapped features) scores the window around every base, in time
that the length of windows does not change. bigWig has all of them, at their middle base; other
formats have the windows that no overlapping window exceeds. K-mers of both strands give
one score: the strand is a dot, and bigWig is one file. A window more than half of which is N has no
score.

A model of seqmtl pair reports donors and acceptors, with probabilities given their partners, in
OUT.donor.bed and OUT.acceptor.bed (and OUT.start.bed and so on, with pair --boundary-model), or in
one file for spsc; the score is the log-odds of the probability. --format introns writes introns of
at least --min-probability (default: 0.1), with the probabilities of the intron, its donor and its
acceptor. Filters affect only what is written: the model uses all candidates. An intron is in a
region if it starts there.
"""

from __future__ import annotations

import logging
import resource
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from seqmtl._checks import check_choice
from seqmtl._progress import Progress, short
from seqmtl._version import __version__
from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.scanning.filters import ScanSummary, SiteFilters
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.scanning.scan import OnBlock
    from seqmtl.scanning.writers.formats import Format
    from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")

_WHICH = "which sites"
_MIN_PROBABILITY = 0.1  # of introns, and of BED beside them


def format_name(value: object) -> str:
    """Take the name of a format, in any case."""
    from seqmtl.scanning.writers.formats import FORMATS

    name = str(value).lower()
    if name == "bedgraph":
        raise ValueError("must be bigwig; bigWigToBedGraph makes bedGraph of its files")
    check_choice("", name if name in FORMATS else value, FORMATS)
    return name


@dataclass(frozen=True, kw_only=True)
class Scan(_options.Relatives):
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
        "organism to scan for (default: the only one)",
        metavar="NAME",
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

    def run(self) -> Document:
        """Scan, and write the sites.

        Returns
        -------
        dict
            The organism, files, counts and seconds, as ``json`` has them.
        """
        from seqmtl.loading import load_site_model

        return self.scan(load_site_model(self.model))

    def scan(
        self,
        model: MultiTaskModel | PairedModel,
        lengths: Mapping[str, int] | None = None,
        on_block: OnBlock | None = None,
    ) -> Document:
        """Scan with a model that is loaded already, and lengths of contigs that are known.

        See :meth:`run`, and `write_scan` for `on_block`.
        """
        from seqmtl.files.write import check_outputs
        from seqmtl.scanning.writers.formats import format_of, output_paths

        if self.json == "-" and self.output == "-":
            raise UsageError("sites and summary cannot both go to standard output; name a file")
        file_format = format_of(self.format, self.output)
        if file_format.has_introns and self.min_probability is None:
            return replace(self, min_probability=_MIN_PROBABILITY).scan(model, lengths, on_block)
        predictor = model.predictor(self.organism, like=self.like, genome=self.genome)
        predictor.check([each.name for each in self.given()], file_format)
        files = output_paths(
            self.output,
            file_format,
            predictor.is_stranded,
            predictor.signals(file_format),
            has_introns=predictor.has_introns,
        )
        check_outputs([self.model, self.genome, self.regions], [*files, self.json])
        lengths = lengths or self._lengths(file_format)
        filters = self._filters(file_format, lengths)
        entry = self._scan(predictor, file_format, files, filters, lengths, on_block)
        if self.json:
            self._write_summary(file_format.name, entry)
        return entry

    def _lengths(self, file_format: Format) -> Mapping[str, int]:
        """Return the lengths of the contigs, if the format or an option needs them, else none.

        Raises
        ------
        UsageError
            If they are needed, and the genome comes from standard input or a pipe.
        """
        from seqmtl.files.pipes import is_read_once
        from seqmtl.io.genome import contig_lengths

        needing = [file_format.name] * file_format.needs_lengths
        needing += ["--regions"] * (self.regions is not None)
        is_once = is_read_once(self.genome)
        if is_once and needing:
            raise UsageError(
                f"{needing[0]} reads the genome twice, so it cannot come from standard input "
                "or a pipe; give it as a file"
            )
        is_needed = needing or (file_format.lists_contigs and not is_once)
        return contig_lengths(self.genome) if is_needed else {}

    def _filters(self, file_format: Format, lengths: Mapping[str, int]) -> SiteFilters:
        """Return the filters of sites, given the lengths of the contigs."""
        from seqmtl.io.bed import read_regions
        from seqmtl.scanning.filters import SiteFilters

        return SiteFilters(
            regions=None if self.regions is None else read_regions(self.regions, lengths),
            threshold=self.threshold,
            min_probability=None if file_format.has_several_files else self.min_probability,
            top=self.top,
        )

    def _scan(
        self,
        predictor: Predictor,
        file_format: Format,
        files: list[str],
        filters: SiteFilters,
        lengths: Mapping[str, int],
        on_block: OnBlock | None,
    ) -> Document:
        """Scan for the sites of an organism, and log it; return its entry in the summary."""
        from seqmtl.io.genome import read_contigs
        from seqmtl.scanning import TrackOptions, write_scan

        started, organism = time.perf_counter(), predictor.organism
        introns = self.min_probability if file_format.has_introns else None
        finder = predictor.finder(file_format, filters=filters, introns=introns)
        value = "probability" if predictor.is_calibrated else "score"
        has_scores_alone = file_format.is_track and value == "score"
        if not has_scores_alone or filters.min_probability is not None:
            predictor.warn_if_uncalibrated()
        scanned = filters.scanned
        n_bases = sum(n for name, n in lengths.items() if scanned is None or name in scanned)
        with closing(Progress()) as line:
            summary = write_scan(
                self.output,
                read_contigs(self.genome, only=scanned),
                finder,
                file_format=file_format.name,
                track=TrackOptions(value, lengths),
                progress=lambda n: line.update(partial(progress_text, n, n_bases)),
                on_block=on_block,
            )
        seconds = time.perf_counter() - started
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
            _counts(summary, file_format),
            seconds,
            short(summary.n_bases / 1e6 / max(seconds, 1e-9)),
        )
        return entry

    def _write_summary(self, file_format: str, entry: Document) -> None:
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
            "scans": [entry],
            "peak_memory_mib": round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1),
        }
        write_json(self.json, summary)


def progress_text(n_scanned: int, n_bases: int, seconds: float) -> str:
    """Return how far a scan is, and its speed; `n_bases` of the genome are 0 if unknown."""
    speed = n_scanned / max(seconds, 1e-9)
    text = f"{short(n_scanned / 1e6)} Mb scanned, {short(speed / 1e6)} Mb/s"
    if not n_bases:
        return text
    left = seconds * (n_bases - n_scanned) / max(n_scanned, 1)
    return f"{n_scanned / n_bases:.0%}, {text}, about {left:.0f} s left"


def _counts(summary: ScanSummary, file_format: Format) -> str:
    """Summarize the fate of the candidates."""
    parts = [f"{summary.n_candidates} candidates"]
    parts += [f"{n} removed by {reason}" for reason, n in summary.removed.items()]
    for omission in filter(None, [writer.omission for writer in file_format.writers]):
        parts.append(f"{summary.n_reported - summary.n_records} {omission}")
    return ", ".join([*parts, *(f"{n} {noun}" for noun, n in summary.written.items())])


scan = python_function(Scan)
