"""Turn the options of ``seqmtl scan`` into a scan; all checks happen before it starts."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from seqmtl._version import __version__
from seqmtl.cli import _output
from seqmtl.exceptions import SeqmtlError

logger = logging.getLogger("seqmtl")

_NOT_IN_THE_OUTPUT = (
    "command_line", "run", "command", "quiet", "log_json", "debug", "threads", "resume", "json",
    "model", "genome", "output", "genomes", "more", "dask", "fingerprint",
)  # fmt: skip


_BASES = 1 << 22  # of a piece for a worker
_LEAST_PROBABILITY = 0.1  # of introns
_NOT_FOR_PAIRS = {"consensus": None, "threshold": None, "from_relatives": False}


@contextmanager
def runner(args: argparse.Namespace) -> Iterator[Any]:
    """Yield the argument `runs` of :func:`seqmtl.scan.write_scan`: threads, or dask workers."""
    from seqmtl._threads import in_order
    from seqmtl.cluster import Piece, connect

    if args.dask is None:
        yield in_order
        return
    with connect(args.dask) as workers:

        def runs(work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
            pieces = (
                Piece(f"{own[0].piece.name}:{own[0].first:,}-{own[-1].last:,}", (own,))
                for own in _groups(iter(blocks))
            )
            for done in workers.map(_each, pieces, common=work, ordered=True):
                yield from done.result

        yield runs


def _groups(blocks: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield lists of a few million bases, which cost a worker more time to scan than to take."""
    own: list[Any] = []
    for block in blocks:
        own.append(block)
        if sum(block.last - block.first for block in own) >= _BASES:
            yield own
            own = []
    if own:
        yield own


def _each(work: Callable[[Any], Any], blocks: list[Any]) -> list[Any]:
    return list(map(work, blocks))


def check_outputs(model: Any, outputs: Iterable[str], args: argparse.Namespace) -> str:
    """Check that the outputs are writable; return their format."""
    from seqmtl.scan.writers import check_seekable, guess_format

    file_format: str = args.file_format or guess_format(args.output)
    check_options(model, args, file_format)
    if args.json == "-" and args.output == "-":
        raise SeqmtlError("sites and summary cannot both go to standard output; name a file")
    check_seekable("" if args.output == "-" else args.output, file_format, len(signals_of(model)))
    every = [name for path in outputs for name in paths_of(model, path, file_format, args)]
    _output.check_outputs(*every, args.json)
    return file_format


def signals_of(model: Any) -> tuple[str, ...]:
    """Return the signals that a model has files for."""
    from seqmtl.models.paired import ENDS

    return ENDS if model.structure == "pairs" else ("",)


def paths_of(model: Any, path: str, file_format: str, args: argparse.Namespace) -> list[str]:
    """Return the files of a scan."""
    from seqmtl.scan.writers import output_paths

    return output_paths(path, file_format, args.strand, signals_of(model))


def check_options(model: Any, args: argparse.Namespace, file_format: str) -> None:
    """Check the options for a kind of model, and set the default of one.

    Raises
    ------
    SeqmtlError
        If an option is not for such a model.
    """
    if model.structure != "pairs":
        if file_format == "introns":
            raise SeqmtlError("introns need a model of seqmtl pair; choose another --format")
        return
    for name, default in _NOT_FOR_PAIRS.items():
        if getattr(args, name) != default:
            raise SeqmtlError(
                f"--{name.replace('_', '-')} is not for a model of seqmtl pair; leave it out"
            )
    if args.top is not None and file_format != "introns":
        raise SeqmtlError(
            "--top takes the best introns of a model of seqmtl pair; add --format introns, or "
            "choose sites by --min-probability"
        )
    if file_format == "introns" and args.min_probability is None:
        args.min_probability = _LEAST_PROBABILITY


def lengths_of(file_format: str, args: argparse.Namespace) -> dict[str, int] | None:
    """Return the contig lengths, if an option or format needs them."""
    from seqmtl.files.inputs import note_input
    from seqmtl.io.genome import contig_lengths

    note_input(args.genome)  # it may be opened after the outputs
    needs = {
        "bigwig": file_format == "bigwig",
        "--contigs": args.contigs is not None,
        "--regions": args.regions is not None,
        "--resume": args.resume,
    }
    if args.genome == "-":
        asking = [name for name, is_asked in needs.items() if is_asked]
        if asking:
            raise SeqmtlError(
                f"{asking[0]} reads the genome twice, so the genome cannot come from standard "
                "input; give it as a file"
            )
        return None
    return contig_lengths(args.genome) if file_format == "gff3" or any(needs.values()) else None


def finder_for(
    model: Any,
    organism: str,
    file_format: str,
    args: argparse.Namespace,
    lengths: Mapping[str, int] | None,
) -> Any:
    """Return what finds the sites of one organism that are asked for."""
    from seqmtl.pairs import PairedFinder
    from seqmtl.scan import SiteFilters
    from seqmtl.scan.organism import finder_of

    filters = SiteFilters(
        contigs=contigs_of(args.contigs, lengths),
        regions=regions_of(args.regions, lengths),
        skip_lower=args.softmask == "skip",
        min_probability=args.min_probability,
        top=args.top,
    )
    if model.structure == "pairs":
        introns = file_format == "introns"
        return PairedFinder(model, organism, strands=args.strand, filters=filters, introns=introns)
    model.log_odds_of(organism)  # tells what has none
    return finder_of(
        model,
        organism,
        site=_site(model, args),
        from_relatives=args.from_relatives,
        strands=args.strand,
        threshold=args.threshold,
        filters=filters,
    )


def value_of(model: Any, organism: str, args: argparse.Namespace) -> str:
    """Return what bedGraph and bigWig hold: what was asked for, or probabilities if they hold."""
    from seqmtl.models.base import is_known

    holds = is_known(organism, model.tasks) and model.match(organism) in model.curves
    holds = holds or model.structure == "pairs"
    return args.value or ("probability" if holds else "score")


def recovery_of(organism: str, args: argparse.Namespace) -> Any:
    """Return how to resume the scan, or None if it cannot be resumed."""
    from seqmtl.scan import Recovery

    if args.output == "-" or not os.path.isfile(args.genome):
        return None
    return Recovery(fingerprint_of(organism, args), args.resume)


def tell_of_probabilities(
    model: Any, organism: str, file_format: str, args: argparse.Namespace
) -> None:
    """Warn if probabilities are used that do not hold over the genome."""
    from seqmtl.models.base import is_known

    if model.structure == "pairs":
        return
    is_track = file_format in ("bigwig", "bedgraph")
    shows_scores = is_track and value_of(model, organism, args) == "score"
    if shows_scores and args.min_probability is None:
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


def finished(
    organism: str, files: list[str], file_format: str, summary: Any, seconds: float
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


def _counts(summary: Any, file_format: str) -> str:
    """Summarize the fate of the candidates."""
    parts = [f"{summary.n_candidates} candidates"]
    parts += [f"{n} removed by {reason}" for reason, n in summary.removed.items()]
    n_written = summary.n_records if file_format == "introns" else summary.n_reported
    if file_format == "spsc":
        n_written = summary.n_records
        n_low = summary.n_reported - n_written
        parts.append(f"{n_low} at -6 or below left to the aligner's penalty for unlisted sites")
    if file_format == "hints":
        n_written = summary.n_records
        parts.append(f"{summary.n_reported - n_written} no likelier than before left out")
    return ", ".join([*parts, str(n_written)])


def write_json(scans: list[dict[str, Any]], file_format: str, args: argparse.Namespace) -> None:
    """Write a summary of the scans as JSON."""
    summary = {
        "schema_version": 1,
        "command": "scan",
        "seqmtl_version": __version__,
        "model": args.model,
        "genome": args.genome,
        "format": file_format,
        "options": _options_of(args),
        "threads": args.threads,
        "scans": scans,
        "peak_memory_mib": _peak_memory(),
    }
    if "fingerprint" in args:  # of a scan that is not repeated if it is complete
        summary["fingerprint"] = args.fingerprint
        summary["bytes"] = sizes_of(scans)
    _output.write_json(args.json, summary)


def sizes_of(scans: list[dict[str, Any]]) -> dict[str, int]:
    """Return the size of every file of scans, and of its index, by the name."""
    paths = [path for scan in scans for path in scan["files"]]
    paths += [path for path in (f"{path}.tbi" for path in paths) if os.path.exists(path)]
    return {os.path.basename(path): os.path.getsize(path) for path in paths}


def _site(model: Any, args: argparse.Namespace) -> Any:
    """Return the site to report: its letters are those of the training windows by default."""
    site, letters = model.site, args.consensus
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
    if site.letters and not asked <= set(site.letters.split(",")):
        logger.warning(
            "the training windows have %s at the site, but --consensus is %s",
            site.letters, letters,
        )  # fmt: skip
    offset, length = site.offset, len(letters.split(",")[0].strip())
    if length != site.length and not site.signal:  # a known signal keeps its first base
        offset = model.length // 2 - length // 2
    return replace(site, offset=offset, length=length, letters=letters)


def contigs_of(text: str | None, lengths: Mapping[str, int] | None) -> frozenset[str] | None:
    """Return the requested contigs; all must be in the genome."""
    from seqmtl.files.streams import numbered_lines, readable
    from seqmtl.sequences.genome import unknown_contig

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
    if not lengths.keys() >= set(names):
        raise SeqmtlError(unknown_contig(names, list(lengths)))
    return frozenset(names)


def regions_of(path: str | None, lengths: Mapping[str, int] | None) -> Any:
    """Return the regions of a file, None without one."""
    from seqmtl.io.regions import read_regions

    if path is None:
        return None
    assert lengths is not None
    return read_regions(path, lengths)


def _options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that affect the output."""
    return {name: value for name, value in vars(args).items() if name not in _NOT_IN_THE_OUTPUT}


def fingerprint_of(
    organism: str, args: argparse.Namespace, sha256: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """Return everything the output depends on; `sha256` returns the digest of a file."""
    from seqmtl.files.catalogue import model_path
    from seqmtl.files.whole import sha256_of

    genome = os.stat(args.genome)
    files = {"model": model_path(args.model), "regions": args.regions}
    if args.contigs is not None and args.contigs.startswith("@"):
        files["contigs"] = args.contigs[1:]
    if args.tree and os.path.isdir(args.tree):  # an NCBI taxonomy dump
        names = ("nodes.dmp", "names.dmp", "merged.dmp")
        paths = {name: os.path.join(args.tree, name) for name in names}
        files |= {name: path for name, path in paths.items() if os.path.isfile(path)}
    elif args.tree and os.path.isfile(args.tree):
        files["tree"] = args.tree
    checksums = {
        f"{what} file": (sha256 or sha256_of)(path) for what, path in files.items() if path
    }
    return {
        "version": __version__,
        "genome": [genome.st_size, genome.st_mtime_ns],
        **checksums,
        **_options_of(args),
        "organism": organism,
    }


def _peak_memory() -> float:
    """Return the peak resident memory of this process, in MiB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
