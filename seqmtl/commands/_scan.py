"""Scan one genome with one model; all checks happen before it starts."""

from __future__ import annotations

import logging
import os
import resource
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seqmtl._progress import ScanProgress
from seqmtl._threads import n_threads
from seqmtl._version import __version__
from seqmtl.commands._options import with_organism_of_like
from seqmtl.exceptions import UsageError
from seqmtl.files.names import safe_names
from seqmtl.files.streams import numbered_lines, readable
from seqmtl.files.write import check_outputs, write_json
from seqmtl.io import read_contigs
from seqmtl.io.genome import contig_lengths
from seqmtl.io.rows import read_regions
from seqmtl.linear_model.base import Model, is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.loading import load_site_model
from seqmtl.scanning import ScanSummary, SiteFilters, TrackOptions, write_scan
from seqmtl.scanning.finder import finder_of
from seqmtl.scanning.writers.formats import (
    OF_INTRONS,
    WRITERS,
    check_seekable,
    guess_format,
    inserted,
    output_paths,
)
from seqmtl.sequences.genome import unknown_contig
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.new_organism import add_unlabelled, log_warnings

if TYPE_CHECKING:
    from seqmtl.commands.scan import Scan
    from seqmtl.scanning.blocks import Finder

logger = logging.getLogger("seqmtl")

_LEAST_PROBABILITY = 0.1  # of these, and of BED beside them
_NOT_FOR_PAIRS = ("consensus", "threshold")


def scan_genome(request: Scan) -> list[dict[str, Any]]:
    """Scan a genome for one or all of the model's organisms; return an entry for each."""
    job = _prepare(request)
    _check_files(job)
    lengths = _lengths(job)
    scans = []
    for organism, output in job.outputs.items():
        finder = _finder(job, organism, lengths)
        _tell_of_probabilities(job, organism)
        track = TrackOptions(_value(job, organism), lengths)
        started = time.perf_counter()
        summary = _write(job, output, finder, track)
        seconds = time.perf_counter() - started
        scans.append(_finished(job, organism, output, summary, seconds))
    if request.json:
        _write_summary(job, scans)
    return scans


@dataclass(frozen=True)
class _Job:
    """A scan that was asked for, with its model.

    Attributes
    ----------
    request : Scan
        The request, with the default of an option that depends on the model.
    model : MultiTaskModel or PairedModel
        The model, with the organism of ``--like``.
    outputs : dict of str to str
        Output of every organism to scan for.
    file_format : str
        Format of the outputs.
    """

    request: Scan
    model: MultiTaskModel | PairedModel
    outputs: dict[str, str]
    file_format: str

    @property
    def is_paired(self) -> bool:
        """Whether the model is one of both ends of introns."""
        return isinstance(self.model, PairedModel)

    @property
    def is_unlabelled(self) -> bool:
        """Whether such a model still lacks the organism."""
        if not self.is_paired or self.request.like is None:
            return False
        return not is_known(str(self.request.organism), self.model.tasks)


def _prepare(request: Scan) -> _Job:
    """Load the model, and check that the options go with it.

    Raises
    ------
    SeqmtlError
        If an option is not for such a model.
    UnknownTaskError
        If the model does not know the organism.
    """
    model, request = with_organism_of_like(load_site_model(request.model), request, has_genome=True)
    file_format = request.format or guess_format(request.output)
    job = _Job(request, model, _outputs(request, model.tasks), file_format)
    if job.is_paired:
        _check_paired(job)
        if file_format in OF_INTRONS and request.min_probability is None:
            job = replace(job, request=replace(request, min_probability=_LEAST_PROBABILITY))
    elif file_format in OF_INTRONS:
        raise UsageError("introns need a model of seqmtl pair; choose another --format")
    for organism in job.outputs:
        if isinstance(model, MultiTaskModel):
            model.log_relatives([organism])
            model.log_odds_of(organism)  # tells if there are none
        elif not job.is_unlabelled:
            model.match(organism)
    return job


def _outputs(request: Scan, tasks: tuple[str, ...]) -> dict[str, str]:
    """Return the output of every organism to scan for."""
    if request.organism is None and len(tasks) > 1:
        raise UsageError(
            f"the model has {len(tasks)} organisms; name one of {', '.join(tasks)} with "
            "--organism, or all"
        )
    if request.organism != "all" or "all" in tasks:
        return {request.organism or tasks[0]: request.output}
    if request.output == "-":
        raise UsageError("--organism all writes one file per organism; name an output file")
    if request.genome == "-":
        raise UsageError("--organism all reads the genome once per organism; give it as a file")
    return {name: inserted(request.output, safe) for name, safe in safe_names(tasks).items()}


def _check_paired(job: _Job) -> None:
    """Refuse options that do not apply to a model of both ends of introns."""
    request = job.request
    if job.is_unlabelled and request.genome == "-":
        raise UsageError(
            "--like with a model of seqmtl pair first looks at the genome, so that it cannot "
            "come from standard input; give it as a file"
        )
    for name in _NOT_FOR_PAIRS:
        if getattr(request, name) is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} is not for a model of seqmtl pair; leave it out"
            )
    if request.top is not None and job.file_format != "introns":
        raise UsageError(
            "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
            "choose sites by --min-probability"
        )


def _check_files(job: _Job) -> None:
    """Check that the outputs can be written, as far as can be checked before the scan."""
    request = job.request
    output, summary = request.output, request.json
    if summary == "-" and output == "-":
        raise UsageError("sites and summary cannot both go to standard output; name a file")
    n_signals = max(len(_signals(job, organism)) for organism in job.outputs)
    check_seekable("" if output == "-" else output, job.file_format, n_signals)
    files = [file for organism, path in job.outputs.items() for file in _files(job, organism, path)]
    inputs = [request.model, request.genome, request.tree, request.regions]
    if request.contigs is not None and request.contigs.startswith("@"):
        inputs.append(request.contigs[1:])
    check_outputs(inputs, [*files, summary])


def _signals(job: _Job, organism: str) -> tuple[str, ...]:
    """Return the signals to write: both ends of introns, and edges of genes with models."""
    if not isinstance(job.model, PairedModel):
        return ("",)
    is_of_introns = job.file_format != "all" and WRITERS[job.file_format].is_together
    if job.is_unlabelled or is_of_introns:
        return ENDS
    return tuple(job.model.signals_of(organism))


def _files(job: _Job, organism: str, output: str) -> list[str]:
    """Return the files of one of the outputs."""
    return output_paths(output, job.file_format, job.request.strand, _signals(job, organism))


def _lengths(job: _Job) -> dict[str, int] | None:
    """Return the contig lengths, if an option or format needs them."""
    request = job.request
    needs = {
        "bigwig": job.file_format in ("bigwig", "all"),
        "--contigs": request.contigs is not None,
        "--regions": request.regions is not None,
    }
    asking = [name for name, is_asked in needs.items() if is_asked]
    if request.genome == "-":
        if asking:
            raise UsageError(
                f"{asking[0]} reads the genome twice, so the genome cannot come from standard "
                "input; give it as a file"
            )
        return None
    return contig_lengths(request.genome) if job.file_format == "gff3" or asking else None


def _finder(job: _Job, organism: str, lengths: dict[str, int] | None) -> Finder:
    """Return the finder of the requested sites of one organism."""
    request, model, length_of = job.request, job.model, lengths or {}
    filters = SiteFilters(
        contigs=None if request.contigs is None else _contigs(request.contigs, length_of),
        regions=None if request.regions is None else read_regions(request.regions, length_of),
        skip_lower=request.softmask == "skip",
        threshold=request.threshold,
        min_probability=None if job.file_format == "all" else request.min_probability,
        top=request.top,
    )
    options: dict[str, Any] = {"strands": request.strand, "filters": filters}
    if isinstance(model, PairedModel):
        introns = request.min_probability if job.file_format in OF_INTRONS else None
        if job.is_unlabelled:
            model = _with_organism(model, request, organism)
        signals = _signals(job, organism)
        return PairedFinder(model, organism, introns=introns, signals=signals, **options)
    return finder_of(
        model,
        organism,
        site=_site(model, request.consensus),
        **options,
    )


def _with_organism(model: PairedModel, request: Scan, organism: str) -> PairedModel:
    """Return the paired model with a new organism, added by its genome, and log it."""
    self_training = add_unlabelled(model, organism, request.genome, request.like, request.tree)
    last = self_training.rounds[-1]
    logger.info(
        "%s: %.0f donors and %.0f acceptors expected in the %.1f million bases looked at; the "
        "median intron called has %d bases; seqmtl annotate learns from it, and finds more",
        organism,
        *last.expected,
        self_training.sample.size / 1e6,
        last.median,
    )
    model = self_training.paired()
    log_warnings(organism, model.training["unlabelled"][organism])
    return model


def _site(model: MultiTaskModel, letters: str | None) -> Site:
    """Return the site to report: its letters are those of the training windows by default."""
    site = model.site
    if letters is None:
        if site.letters:
            logger.info(
                "reporting only sites with the letters %s, as in the training data; "
                "use --consensus any to report every position",
                site.letters,
            )
        return site
    if letters.lower() == "any":
        return replace(site, letters="")
    given = {sequence.strip() for sequence in letters.upper().split(",")}
    if site.letters and not given <= {*site.consensus}:
        logger.warning(
            "the training windows have %s at the site, but --consensus is %s", site.letters, letters
        )
    length = len(letters.split(",")[0].strip())
    if not length:
        raise UsageError(f"must be letters such as AG, or any, got {letters!r}", "consensus")
    return replace(site, length=length, letters=letters)


def _contigs(text: str, lengths: dict[str, int]) -> frozenset[str]:
    """Return the requested contigs; all must be in the genome."""
    is_list = text.startswith("@")
    names = [readable(line) for _, line in numbered_lines(text[1:])] if is_list else text.split(",")
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise UsageError(f"must name the contigs to scan, got none in {text!r}", "contigs")
    if not lengths.keys() >= {*names}:
        raise UsageError(f"--contigs: {unknown_contig(names, list(lengths))}")
    return frozenset(names)


def _value(job: _Job, organism: str) -> str:
    """Return the values of tracks: the requested ones, by default probabilities if calibrated."""
    holds = job.is_paired or _is_calibrated(job.model, organism)
    return job.request.track_value or ("probability" if holds else "score")


def _is_calibrated(model: Model, organism: str) -> bool:
    return is_known(organism, model.tasks) and model.match(organism) in model.curves


def _tell_of_probabilities(job: _Job, organism: str) -> None:
    """Warn if probabilities are used that do not hold over the genome."""
    is_track = job.file_format in ("bigwig", "bedgraph")
    shows_scores = is_track and _value(job, organism) == "score"
    if job.is_paired or (shows_scores and job.request.min_probability is None):
        return
    if not is_known(organism, job.model.tasks):
        logger.info(
            "%s: probabilities are the weighted mean log-odds of its relatives, at their "
            "prevalence; use them to rank sites (--top), not as precision",
            organism,
        )
    elif not _is_calibrated(job.model, organism):
        logger.warning(
            "%s is not calibrated: probabilities assume the %.2g %% true sites of the training "
            "windows; run seqmtl calibrate",
            organism,
            100 * job.model.prevalence(organism),
        )


def _write(job: _Job, output: str, finder: Finder, track: TrackOptions) -> ScanSummary:
    """Read the genome, and write the sites that the finder finds."""
    genome, filters = job.request.genome, finder.filters
    progress = ScanProgress(os.path.getsize(genome) if os.path.isfile(genome) else None)
    contigs = read_contigs(
        genome,
        only=filters.scanned,
        keep_case=filters.skip_lower,
        on_read=progress.read,
    )
    try:
        return write_scan(
            output,
            contigs,
            finder,
            file_format=job.file_format,
            track=track,
            progress=progress,
        )
    finally:
        progress.close()


def _finished(
    job: _Job, organism: str, output: str, summary: ScanSummary, seconds: float
) -> dict[str, Any]:
    """Log the end of a scan; return its entry in the JSON summary."""
    files = _files(job, organism, output)
    result = {
        "organism": organism,
        "files": files,
        **vars(summary),
        "seconds": round(seconds, 3),
        "megabases_per_second": round(summary.n_bases / 1e6 / max(seconds, 1e-9), 3),
    }
    names = " and ".join(filter(None, [", ".join(files[:-1]), files[-1]]))
    logger.info(
        "%s: %s: %d contigs, %d positions scored, %s written in %.1f s (%.1f Mb/s)",
        names,
        organism,
        summary.n_contigs,
        summary.n_scored,
        _counts(summary, job.file_format),
        seconds,
        result["megabases_per_second"],
        extra={"fields": result},
    )
    return result


def _counts(summary: ScanSummary, file_format: str) -> str:
    """Summarize the fate of the candidates."""
    parts = [f"{summary.n_candidates} candidates"]
    parts += [f"{n} removed by {reason}" for reason, n in summary.removed.items()]
    n_sites, n_low = summary.n_reported, summary.n_reported - summary.n_records
    if file_format == "introns":
        return ", ".join([*parts, f"{n_sites} left; {summary.n_records} introns"])
    if file_format == "spsc":
        parts.append(f"{n_low} at -6 or below left to the aligner's penalty for unlisted sites")
    elif file_format == "hints":
        parts.append(f"{n_low} no likelier than before left out")
    is_chosen = file_format in ("spsc", "hints")
    return ", ".join([*parts, f"{summary.n_records if is_chosen else n_sites} sites"])


def _write_summary(job: _Job, scans: list[dict[str, Any]]) -> None:
    """Write a summary of the scans as JSON."""
    request = job.request
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary = {
        "schema_version": 1,
        "command": "scan",
        "seqmtl_version": __version__,
        "model": request.model,
        "genome": request.genome,
        "format": job.file_format,
        "options": request.fingerprint("model", "genome"),
        "threads": n_threads(),
        "scans": scans,
        "peak_memory_mib": round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1),
    }
    write_json(request.json, summary)
