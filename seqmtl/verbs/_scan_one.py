"""Scan one genome with one model; all checks happen before it starts."""

from __future__ import annotations

import logging
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from seqmtl._messages import messages_from
from seqmtl._progress import ScanProgress
from seqmtl._threads import in_order, n_threads
from seqmtl._version import __version__
from seqmtl.cluster import Piece, connect
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.catalogue import model_path
from seqmtl.files.inputs import note_input
from seqmtl.files.names import safe_names
from seqmtl.files.outputs import binary_output, check_outputs, write_json
from seqmtl.files.streams import numbered_lines, readable
from seqmtl.files.whole import sha256_of
from seqmtl.io import open_pieces
from seqmtl.io.genome import contig_lengths
from seqmtl.io.rows import read_regions
from seqmtl.models.base import is_known
from seqmtl.models.paired import ENDS
from seqmtl.models.saved import load_model
from seqmtl.models.site import Site
from seqmtl.pairs import PairedFinder
from seqmtl.scan import Recovery, ScanSummary, SiteFilters, Track, write_scan
from seqmtl.scan.organism import finder_of
from seqmtl.scan.writers import check_seekable, guess_format, inserted, output_paths
from seqmtl.sequences.genome import unknown_contig
from seqmtl.verbs._scan_options import ScanOptions
from seqmtl.verbs._scoring import in_place

logger = logging.getLogger("seqmtl")

#: Bases of the genome read at a time.
PIECE = 1 << 22
#: Bases of the blocks of a worker, which cost it more time to scan than to take.
WORKER_BASES = 1 << 22
_LEAST_PROBABILITY = 0.1  # of introns
_NOT_FOR_PAIRS = ("consensus", "threshold", "from_relatives")


def scan_one(
    request: ScanOptions, fingerprint: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Scan one genome with one model, for one or all of its organisms.

    `fingerprint` is that of one of many scans, of which is known what it is fit for.
    """
    if request.more:
        raise SeqmtlError("several models are for many genomes; give --genomes TABLE")
    if request.genome is None:
        raise SeqmtlError("a scan needs a genome; name a FASTA file")
    model = load_model(request.model, only=("weights", "pairs"))
    with messages_from(logging.ERROR if fingerprint else logging.NOTSET):
        model, request = in_place(model, request)
    outputs = outputs_of(model, request)
    file_format = request.format or guess_format(request.output)
    request = checked(model, request, file_format)
    _check_outputs(model, outputs.values(), file_format, request)
    lengths = _lengths(file_format, request)
    scans = []
    with _runner(request.dask) as runs:
        for organism, path in outputs.items():
            finder = _finder(model, organism, file_format, request, lengths)
            if not fingerprint:
                tell_of_probabilities(model, organism, file_format, request)
            track = Track(_value(model, organism, request), lengths)
            started = time.perf_counter()
            summary = _write(
                path, file_format, finder, track, _recovery(organism, request), request, runs
            )
            seconds = time.perf_counter() - started
            files = paths_of(model, path, file_format, request)
            scans.append(_finished(organism, files, file_format, summary, seconds))
    if request.json:
        _write_summary(scans, file_format, fingerprint, request)
    return scans


def outputs_of(model: Any, request: ScanOptions) -> dict[str, str]:
    """Return the output file of every organism to scan for."""
    if request.organism is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"the model has {len(model.tasks)} organisms; name one of "
            f"{', '.join(model.tasks)} with --organism, or all"
        )
    if request.organism != "all" or "all" in model.tasks:
        return {request.organism or model.tasks[0]: request.output}
    if request.output == "-":
        raise SeqmtlError("--organism all writes one file per organism; name an output file")
    if request.genome == "-":
        raise SeqmtlError("--organism all reads the genome once per organism; give it as a file")
    names = safe_names(model.tasks)
    return {name: inserted(request.output, safe) for name, safe in names.items()}


def checked(model: Any, request: ScanOptions, file_format: str) -> ScanOptions:
    """Check the options for a kind of model; return them with the default of one.

    Raises
    ------
    SeqmtlError
        If an option is not for such a model.
    """
    if model.structure != "pairs":
        if file_format == "introns":
            raise SeqmtlError("introns need a model of seqmtl pair; choose another --format")
        return request
    for name in _NOT_FOR_PAIRS:
        if getattr(request, name) not in (None, False):
            raise SeqmtlError(
                f"--{name.replace('_', '-')} is not for a model of seqmtl pair; leave it out"
            )
    if request.top is not None and file_format != "introns":
        raise SeqmtlError(
            "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
            "choose sites by --min-probability"
        )
    if file_format == "introns" and request.min_probability is None:
        return request.changed(min_probability=_LEAST_PROBABILITY)
    return request


def paths_of(model: Any, path: str, file_format: str, request: ScanOptions) -> list[str]:
    """Return the files of a scan."""
    return output_paths(path, file_format, request.strand, _signals(model))


def _signals(model: Any) -> tuple[str, ...]:
    return ENDS if model.structure == "pairs" else ("",)


def _check_outputs(
    model: Any, outputs: Iterable[str], file_format: str, request: ScanOptions
) -> None:
    if request.json == "-" and request.output == "-":
        raise SeqmtlError("sites and summary cannot both go to standard output; name a file")
    name = "" if request.output == "-" else request.output
    check_seekable(name, file_format, len(_signals(model)))
    every = [file for path in outputs for file in paths_of(model, path, file_format, request)]
    check_outputs(*every, request.json)


def _lengths(file_format: str, request: ScanOptions) -> dict[str, int] | None:
    """Return the contig lengths, if an option or format needs them."""
    assert request.genome is not None
    note_input(request.genome)  # it may be opened after the outputs
    needs = {
        "bigwig": file_format == "bigwig",
        "--contigs": request.contigs is not None,
        "--regions": request.regions is not None,
        "--resume": request.resume,
    }
    if request.genome == "-":
        asking = [name for name, is_asked in needs.items() if is_asked]
        if asking:
            raise SeqmtlError(
                f"{asking[0]} reads the genome twice, so the genome cannot come from standard "
                "input; give it as a file"
            )
        return None
    return contig_lengths(request.genome) if file_format == "gff3" or any(needs.values()) else None


def _finder(
    model: Any,
    organism: str,
    file_format: str,
    request: ScanOptions,
    lengths: Mapping[str, int] | None,
) -> Any:
    """Return what finds the sites of one organism that are asked for."""
    regions = request.regions and read_regions(request.regions, lengths or {})
    filters = SiteFilters(
        contigs=_contigs(request.contigs, lengths),
        regions=regions or None,
        skip_lower=request.softmask == "skip",
        min_probability=request.min_probability,
        top=request.top,
    )
    options: dict[str, Any] = {"strands": request.strand, "filters": filters}
    if model.structure == "pairs":
        return PairedFinder(model, organism, introns=file_format == "introns", **options)
    model.log_odds_of(organism)  # tells if there are none
    site, relatives = _site(model, request.consensus), request.from_relatives
    options["threshold"] = request.threshold
    return finder_of(model, organism, site=site, from_relatives=relatives, **options)


def _site(model: Any, letters: str | None) -> Site:
    """Return the site to report: its letters are those of the training windows by default."""
    site: Site = model.site
    if letters is None:
        if site.letters:
            logger.info(
                "reporting only sites with the letters %s, as in the training data; "
                "use --consensus any to report every position", site.letters,
            )  # fmt: skip
        return site
    if letters.lower() == "any":
        return replace(site, letters="")
    asked = {word.strip() for word in letters.upper().split(",")}
    if site.letters and not asked <= {*site.words}:
        logger.warning(
            "the training windows have %s at the site, but --consensus is %s",
            site.letters, letters,
        )  # fmt: skip
    offset, length = site.offset, len(letters.split(",")[0].strip())
    if length != site.length and not site.signal:  # a known signal keeps its first base
        offset = model.length // 2 - length // 2
    return replace(site, offset=offset, length=length, letters=letters)


def _contigs(text: str | None, lengths: Mapping[str, int] | None) -> frozenset[str] | None:
    """Return the requested contigs; all must be in the genome."""
    if text is None:
        return None
    assert lengths is not None
    if text.startswith("@"):
        names = [readable(line).strip() for _, line in numbered_lines(text[1:])]
    else:
        names = [name.strip() for name in text.split(",")]
    names = [name for name in names if name]
    if not names:
        raise SeqmtlError(f"--contigs must name the contigs to scan, got none in {text!r}")
    if not lengths.keys() >= {*names}:
        raise SeqmtlError(unknown_contig(names, list(lengths)))
    return frozenset(names)


def _value(model: Any, organism: str, request: ScanOptions) -> str:
    """Return what bedGraph and bigWig hold: what was asked for, or probabilities if they hold."""
    holds = model.structure == "pairs"
    if is_known(organism, model.tasks):
        holds = holds or model.match(organism) in model.curves
    return request.value or ("probability" if holds else "score")


def tell_of_probabilities(
    model: Any, organism: str, file_format: str, request: ScanOptions
) -> None:
    """Warn if probabilities are used that do not hold over the genome."""
    is_track = file_format in ("bigwig", "bedgraph")
    shows_scores = is_track and _value(model, organism, request) == "score"
    if model.structure == "pairs" or (shows_scores and request.min_probability is None):
        return
    if not is_known(organism, model.tasks):
        logger.info(
            "%s: probabilities are the weighted mean log-odds of its relatives, at their "
            "prevalence; use them to rank sites (--top), not as precision", organism,
        )  # fmt: skip
    elif model.match(organism) not in model.curves:
        logger.warning(
            "%s is not calibrated: probabilities assume the %.2g %% true sites of the training "
            "windows; run seqmtl calibrate", organism, 100 * model.prevalence(organism),
        )  # fmt: skip


def _recovery(organism: str, request: ScanOptions) -> Recovery | None:
    """Return how to resume the scan, or None if it cannot be resumed."""
    if request.output == "-" or not os.path.isfile(str(request.genome)):
        return None
    return Recovery(fingerprint_of(organism, request), request.resume)


def fingerprint_of(
    organism: str, request: ScanOptions, sha256: Callable[[str], str] = sha256_of
) -> dict[str, Any]:
    """Return everything the output depends on; `sha256` returns the digest of a file."""
    genome = os.stat(str(request.genome))
    files = {"model": model_path(request.model), "regions": request.regions}
    if request.contigs is not None and request.contigs.startswith("@"):
        files["contigs"] = request.contigs[1:]
    if request.tree and os.path.isdir(request.tree):  # an NCBI taxonomy dump
        names = ("nodes.dmp", "names.dmp", "merged.dmp")
        paths = {name: os.path.join(request.tree, name) for name in names}
        files |= {name: path for name, path in paths.items() if os.path.isfile(path)}
    elif request.tree and os.path.isfile(request.tree):
        files["tree"] = request.tree
    return {
        "version": __version__,
        "genome": [genome.st_size, genome.st_mtime_ns],
        **{f"{what} file": sha256(path) for what, path in files.items() if path},
        **_options(request),
        "organism": organism,
    }


def _options(request: ScanOptions) -> dict[str, Any]:
    return request.fingerprint("model", "genome", "more")


def _write(
    path: str,
    file_format: str,
    finder: Any,
    track: Track,
    recovery: Recovery | None,
    request: ScanOptions,
    runs: Any,
) -> ScanSummary:
    """Scan for one organism."""
    genome = str(request.genome)
    progress = ScanProgress(os.path.getsize(genome) if os.path.isfile(genome) else None)
    filters = finder.filters
    pieces = open_pieces(
        genome, size=PIECE, only=filters.scanned, keep_case=filters.skip_lower,
        on_read=progress.read,
    )  # fmt: skip
    try:
        return write_scan(
            binary_output(path), pieces, finder, file_format=file_format,
            track=track, progress=progress, recovery=recovery, runs=runs,
        )  # fmt: skip
    finally:
        progress.close()


@contextmanager
def _runner(address: str | None) -> Iterator[Any]:
    """Yield the argument `runs` of :func:`seqmtl.scan.write_scan`: threads, or dask workers."""
    if address is None:
        yield in_order
        return
    with connect(address) as workers:

        def runs(work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
            pieces = (
                Piece(f"{own[0].piece.name}:{own[0].first:,}-{own[-1].last:,}", (own,))
                for own in _groups(iter(blocks))
            )
            for done in workers.map(_each, pieces, common=work, ordered=True):
                yield from done.result

        yield runs


def _groups(blocks: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield lists of blocks for a worker."""
    own: list[Any] = []
    for block in blocks:
        own.append(block)
        if sum(block.last - block.first for block in own) >= WORKER_BASES:
            yield own
            own = []
    if own:
        yield own


def _each(work: Callable[[Any], Any], blocks: list[Any]) -> list[Any]:
    return list(map(work, blocks))


def _finished(
    organism: str, files: list[str], file_format: str, summary: ScanSummary, seconds: float
) -> dict[str, Any]:
    """Log the end of a scan; return its entry in the JSON summary."""
    result = {
        "organism": organism, "files": files, **vars(summary), "seconds": round(seconds, 3),
        "megabases_per_second": round(summary.n_bases / 1e6 / max(seconds, 1e-9), 3),
    }  # fmt: skip
    logger.info(
        "%s: %s: %d contigs, %d positions scored, %s written in %.1f s (%.1f Mb/s)",
        " and ".join(files), organism, summary.n_contigs, summary.n_scored,
        _counts(summary, file_format), seconds, result["megabases_per_second"],
        extra={"fields": result},
    )  # fmt: skip
    return result


def _counts(summary: ScanSummary, file_format: str) -> str:
    """Summarize the fate of the candidates."""
    parts = [f"{summary.n_candidates} candidates"]
    parts += [f"{n} removed by {reason}" for reason, n in summary.removed.items()]
    n_written, n_low = summary.n_records, summary.n_reported - summary.n_records
    if file_format == "spsc":
        parts.append(f"{n_low} at -6 or below left to the aligner's penalty for unlisted sites")
    elif file_format == "hints":
        parts.append(f"{n_low} no likelier than before left out")
    elif file_format != "introns":
        n_written = summary.n_reported
    return ", ".join([*parts, str(n_written)])


def _write_summary(
    scans: list[dict[str, Any]],
    file_format: str,
    fingerprint: dict[str, Any] | None,
    request: ScanOptions,
) -> None:
    """Write a summary of the scans as JSON."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary = {
        "schema_version": 1,
        "command": "scan",
        "seqmtl_version": __version__,
        "model": request.model,
        "genome": request.genome,
        "format": file_format,
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
