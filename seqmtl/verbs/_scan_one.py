"""Scan one genome with one model; all checks happen before it starts."""

from __future__ import annotations

import logging
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from seqmtl._messages import messages_from
from seqmtl._progress import ScanProgress
from seqmtl._threads import in_order, n_threads
from seqmtl._version import __version__
from seqmtl.cluster import Cluster, Piece, connect
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.catalogue import model_path
from seqmtl.files.inputs import note_input
from seqmtl.files.names import safe_names
from seqmtl.files.outputs import binary_output, check_outputs, write_json
from seqmtl.files.streams import numbered_lines, readable, sha256_of
from seqmtl.io import open_pieces
from seqmtl.io.genome import contig_lengths
from seqmtl.io.rows import read_regions
from seqmtl.models.base import is_known
from seqmtl.models.pair_layer import ENDS
from seqmtl.models.saved import load_model
from seqmtl.models.site import Site
from seqmtl.pairs import PairedFinder
from seqmtl.scan import Recovery, ScanSummary, SiteFilters, Track, write_scan
from seqmtl.scan.finder import finder_of
from seqmtl.scan.writers import SINKS, check_seekable, guess_format, inserted, output_paths
from seqmtl.sequences.genome import unknown_contig
from seqmtl.verbs._scan_options import ScanOptions
from seqmtl.verbs._scoring import in_place, place_unlabelled, tell_doubts

logger = logging.getLogger("seqmtl")

#: Bases of the genome read at a time.
PIECE = 1 << 22
#: Bases of the blocks of a worker, which cost it more time to scan than to take.
WORKER_BASES = 1 << 22
_OF_PAIRS = ("introns", "all")  # formats with introns
_LEAST_PROBABILITY = 0.1  # of these, and of BED beside them
_NOT_FOR_PAIRS = ("consensus", "threshold")
_NCBI_DUMP = ("nodes.dmp", "names.dmp", "merged.dmp")  # in the folder of a taxonomy


class Plan:
    """What a scan of one genome with one model writes, and from which options.

    Parameters
    ----------
    request : ScanOptions
        What is asked for.
    model : MultiTaskModel or PairedModel
        Model.

    Attributes
    ----------
    request : ScanOptions
        The request, with the default of an option that depends on the model.
    model : MultiTaskModel or PairedModel
        The model, with the organism of ``--like``.
    is_paired : bool
        Whether it is one of both ends of introns.
    is_unlabelled : bool
        Whether such a model still lacks the organism; see :meth:`placed`.
    outputs : dict of str to str
        Output of every organism to scan for.
    file_format : str
        Format of the outputs.

    Raises
    ------
    SeqmtlError
        If an option is not for such a model.
    UnknownTaskError
        If the model does not know the organism.
    """

    def __init__(self, request: ScanOptions, model: Any) -> None:
        self.model, self.request = in_place(model, request, has_genome=True)
        self.is_paired = self.model.structure == "pairs"
        known = self.request.organism is None or is_known(self.request.organism, self.model.tasks)
        self.is_unlabelled = self.is_paired and self.request.like is not None and not known
        self.outputs = self._outputs()
        self.file_format = request.format or guess_format(request.output)
        if self.is_paired:
            self._check_paired()
        elif self.file_format in _OF_PAIRS:
            raise UsageError("introns need a model of seqmtl pair; choose another --format")
        for organism in self.outputs:
            if not self.is_paired:
                self.model.tell_relatives([organism])
                self.model.log_odds_of(organism)  # tells if there are none
            elif not self.is_unlabelled:
                self.model.match(organism)

    def _outputs(self) -> dict[str, str]:
        request, tasks = self.request, self.model.tasks
        if request.organism is None and len(tasks) > 1:
            raise UsageError(
                f"the model has {len(tasks)} organisms; name one of {', '.join(tasks)} with "
                "--organism, or all"
            )
        if request.organism != "all" or "all" in tasks:
            return {request.organism or tasks[0]: request.output}
        if request.output == "-":
            raise SeqmtlError("--organism all writes one file per organism; name an output file")
        if request.genome == "-":
            raise SeqmtlError(
                "--organism all reads the genome once per organism; give it as a file"
            )
        return {name: inserted(request.output, safe) for name, safe in safe_names(tasks).items()}

    def placed(self) -> Any:
        """Return the model with the organism; what the genome tells of a new one is told."""
        if not self.is_unlabelled:
            return self.model
        request = self.request
        own = place_unlabelled(
            self.model, str(request.organism), str(request.genome), request.like, request.tree
        )
        last = own.rounds[-1]
        logger.info(
            "%s: %.0f donors and %.0f acceptors expected in the %.1f million bases looked at; the "
            "median intron called has %d bases; seqmtl annotate learns from it, and finds more",
            request.organism,
            *last.expected,
            own.sample.size / 1e6,
            last.middle,
        )
        found, name = own.paired(), str(request.organism)
        tell_doubts(name, found.training["unlabelled"][name])
        return found

    def _check_paired(self) -> None:
        request = self.request
        if self.is_unlabelled and request.genome == "-":
            raise SeqmtlError(
                "--like with a model of seqmtl pair first looks at the genome, so that it cannot "
                "come from standard input; give it as a file"
            )
        for name in _NOT_FOR_PAIRS:
            if getattr(request, name) is not None:
                raise SeqmtlError(
                    f"--{name.replace('_', '-')} is not for a model of seqmtl pair; leave it out"
                )
        if request.top is not None and self.file_format != "introns":
            raise SeqmtlError(
                "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
                "choose sites by --min-probability"
            )
        if self.file_format in _OF_PAIRS and request.min_probability is None:
            self.request = request.changed(min_probability=_LEAST_PROBABILITY)

    def signals(self, organism: str) -> tuple[str, ...]:
        """Return the signals to write: both ends of introns, and edges of genes with models."""
        if not self.is_paired:
            return ("",)
        is_of_introns = self.file_format != "all" and SINKS[self.file_format].is_together
        if self.is_unlabelled or is_of_introns:
            return ENDS
        return tuple(self.model.signals_of(organism))

    def files(self, organism: str, output: str) -> list[str]:
        """Return the files of one of the outputs."""
        signals = self.signals(organism)
        return output_paths(output, self.file_format, self.request.strand, signals)

    def value(self, organism: str) -> str:
        """Return what tracks hold: what was asked for, or probabilities if they hold."""
        holds = self.is_paired or self._is_calibrated(organism)
        return self.request.value or ("probability" if holds else "score")

    def _is_calibrated(self, organism: str) -> bool:
        model = self.model
        return is_known(organism, model.tasks) and model.match(organism) in model.curves

    def tell_of_probabilities(self, organism: str) -> None:
        """Warn if probabilities are used that do not hold over the genome."""
        is_track = self.file_format in ("bigwig", "bedgraph")
        shows_scores = is_track and self.value(organism) == "score"
        if self.is_paired or (shows_scores and self.request.min_probability is None):
            return
        if not is_known(organism, self.model.tasks):
            logger.info(
                "%s: probabilities are the weighted mean log-odds of its relatives, at their "
                "prevalence; use them to rank sites (--top), not as precision",
                organism,
            )
        elif not self._is_calibrated(organism):
            logger.warning(
                "%s is not calibrated: probabilities assume the %.2g %% true sites of the training "
                "windows; run seqmtl calibrate",
                organism,
                100 * self.model.prevalence(organism),
            )

    def fingerprint(
        self, organism: str, sha256: Callable[[str], str] = sha256_of
    ) -> dict[str, Any]:
        """Return all that the output depends on; `sha256` returns the digest of a file."""
        request, genome = self.request, os.stat(str(self.request.genome))
        contigs, tree = request.contigs or "", request.tree or ""
        files = {"model": model_path(request.model), "regions": request.regions or ""}
        files["contigs"] = contigs[1:] if contigs.startswith("@") else ""
        files |= {"tree": tree} | {name: os.path.join(tree, name) for name in _NCBI_DUMP if tree}
        digests = {
            f"{what} file": sha256(path) for what, path in files.items() if os.path.isfile(path)
        }
        facts = {"version": __version__, "genome": [genome.st_size, genome.st_mtime_ns]}
        return {**facts, **digests, **_options(request), "organism": organism}


def scan_one(
    request: ScanOptions, fingerprint: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Scan one genome with one model, for one or all of its organisms.

    `fingerprint` is that of one of many scans, of which is known what it is fit for.
    """
    if request.more:
        raise UsageError("several models are for many genomes; give --genomes TABLE")
    if request.genome is None:
        raise UsageError("a scan needs a genome; name a FASTA file")
    model = load_model(request.model, only=("weights", "pairs"))
    with messages_from(logging.ERROR if fingerprint else logging.NOTSET):
        plan = Plan(request, model)
    _check_files(plan)
    lengths, scans = _lengths(plan), []
    with _runner(request.dask) as runs:
        for organism, path in plan.outputs.items():
            finder = _finder(plan, organism, lengths)
            if not fingerprint:
                plan.tell_of_probabilities(organism)
            track = Track(plan.value(organism), lengths)
            started = time.perf_counter()
            summary = _write(plan, organism, finder, track, runs)
            seconds = time.perf_counter() - started
            files = plan.files(organism, path)
            scans.append(_finished(organism, files, plan.file_format, summary, seconds))
    if request.json:
        _write_summary(plan, scans, fingerprint)
    return scans


def _check_files(plan: Plan) -> None:
    """Check that the outputs can be written, as far as can be known before the scan."""
    output, summary = plan.request.output, plan.request.json
    if summary == "-" and output == "-":
        raise UsageError("sites and summary cannot both go to standard output; name a file")
    n_signals = max(len(plan.signals(organism)) for organism in plan.outputs)
    check_seekable("" if output == "-" else output, plan.file_format, n_signals)
    files = [file for own in plan.outputs.items() for file in plan.files(*own)]
    check_outputs(*files, summary)


def _lengths(plan: Plan) -> dict[str, int] | None:
    """Return the contig lengths, if an option or format needs them."""
    request, genome = plan.request, str(plan.request.genome)
    note_input(genome)  # it may be opened after the outputs
    needs = {
        "bigwig": plan.file_format in ("bigwig", "all"),
        "--contigs": request.contigs is not None,
        "--regions": request.regions is not None,
        "--resume": request.resume,
    }
    asking = [name for name, is_asked in needs.items() if is_asked]
    if genome == "-":
        if asking:
            raise SeqmtlError(
                f"{asking[0]} reads the genome twice, so the genome cannot come from standard "
                "input; give it as a file"
            )
        return None
    return contig_lengths(genome) if plan.file_format == "gff3" or asking else None


def _finder(plan: Plan, organism: str, lengths: dict[str, int] | None) -> Any:
    """Return what finds the sites of one organism that are asked for."""
    request, model, known = plan.request, plan.model, lengths or {}
    filters = SiteFilters(
        contigs=None if request.contigs is None else _contigs(request.contigs, known),
        regions=None if request.regions is None else read_regions(request.regions, known),
        skip_lower=request.softmask == "skip",
        min_probability=None if plan.file_format == "all" else request.min_probability,
        top=request.top,
    )
    options: dict[str, Any] = {"strands": request.strand, "filters": filters}
    if plan.is_paired:
        introns = request.min_probability if plan.file_format in _OF_PAIRS else None
        signals = plan.signals(organism)
        return PairedFinder(plan.placed(), organism, introns=introns, signals=signals, **options)
    return finder_of(
        model,
        organism,
        site=_site(model, request.consensus),
        threshold=request.threshold,
        **options,
    )


def _site(model: Any, letters: str | None) -> Site:
    """Return the site to report: its letters are those of the training windows by default."""
    site: Site = model.site
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
    asked = {word.strip() for word in letters.upper().split(",")}
    if site.letters and not asked <= {*site.words}:
        logger.warning(
            "the training windows have %s at the site, but --consensus is %s", site.letters, letters
        )
    offset, length = site.offset, len(letters.split(",")[0].strip())
    if not length:
        raise SeqmtlError(f"--consensus must be letters such as AG, or any, got {letters!r}")
    if length != site.length and not site.signal:  # a known signal keeps its first base
        offset = model.length // 2 - length // 2
    return replace(site, offset=offset, length=length, letters=letters)


def _contigs(text: str, lengths: dict[str, int]) -> frozenset[str]:
    """Return the requested contigs; all must be in the genome."""
    is_list = text.startswith("@")
    names = [readable(line) for _, line in numbered_lines(text[1:])] if is_list else text.split(",")
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise SeqmtlError(f"--contigs must name the contigs to scan, got none in {text!r}")
    if not lengths.keys() >= {*names}:
        raise UsageError(f"--contigs: {unknown_contig(names, list(lengths))}")
    return frozenset(names)


def _write(plan: Plan, organism: str, finder: Any, track: Track, runs: Any) -> ScanSummary:
    """Scan for one organism."""
    request, genome = plan.request, str(plan.request.genome)
    is_file = os.path.isfile(genome)
    recovery = None
    if is_file and request.output != "-":
        recovery = Recovery(plan.fingerprint(organism), request.resume)
    progress = ScanProgress(os.path.getsize(genome) if is_file else None)
    filters = finder.filters
    pieces = open_pieces(
        genome,
        size=PIECE,
        only=filters.scanned,
        keep_case=filters.skip_lower,
        on_read=progress.read,
    )
    try:
        return write_scan(
            binary_output(plan.outputs[organism]),
            pieces,
            finder,
            file_format=plan.file_format,
            track=track,
            progress=progress,
            recovery=recovery,
            runs=runs,
        )
    finally:
        progress.close()


@contextmanager
def _runner(address: str | None) -> Iterator[Any]:
    """Yield the argument `runs` of :func:`seqmtl.scan.write_scan`: threads, or dask workers."""
    with connect(address) as workers:

        def runs(work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
            for done in workers.map(_each, map(_piece, _groups(blocks)), common=work, ordered=True):
                yield from done.result

        yield runs if isinstance(workers, Cluster) else in_order


def _groups(blocks: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of blocks for a worker."""
    group: list[Any] = []
    for block in blocks:
        group.append(block)
        if sum(block.last - block.first for block in group) >= WORKER_BASES:
            yield group
            group = []
    if group:
        yield group


def _piece(blocks: list[Any]) -> Piece:
    first, last = blocks[0], blocks[-1]
    return Piece(f"{first.piece.name}:{first.first:,}-{last.last:,}", (blocks,))


def _each(work: Callable[[Any], Any], blocks: list[Any]) -> list[Any]:
    return list(map(work, blocks))


def _finished(
    organism: str, files: list[str], file_format: str, summary: ScanSummary, seconds: float
) -> dict[str, Any]:
    """Log the end of a scan; return its entry in the JSON summary."""
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
        _counts(summary, file_format),
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


def _options(request: ScanOptions) -> dict[str, Any]:
    return request.fingerprint("model", "genome", "more")


def _write_summary(
    plan: Plan, scans: list[dict[str, Any]], fingerprint: dict[str, Any] | None
) -> None:
    """Write a summary of the scans as JSON."""
    request = plan.request
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary = {
        "schema_version": 1,
        "command": "scan",
        "seqmtl_version": __version__,
        "model": request.model,
        "genome": request.genome,
        "format": plan.file_format,
        "options": _options(request),
        "threads": n_threads(),
        "scans": scans,
        "peak_memory_mib": round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1),
    }
    if fingerprint:  # of a scan that is not repeated if it is complete
        paths = [path for scan in scans for path in scan["files"]]
        paths += [path for path in (f"{path}.tbi" for path in paths) if os.path.exists(path)]
        sizes = {os.path.basename(path): os.path.getsize(path) for path in paths}
        summary |= {"fingerprint": fingerprint, "bytes": sizes}
    write_json(request.json, summary)
