"""``seqmtl scan`` with a model of both ends of introns."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from typing import Any

from seqmtl.cli import _scan_setup as setup
from seqmtl.exceptions import SeqmtlError

_PIECE = 1 << 22
_LEAST_PROBABILITY = 0.1  # of introns
_UNUSED = {
    "consensus": None, "threshold": None, "site_offset": None, "from_relatives": False,
}  # fmt: skip


def scan_pairs(model: Any, outputs: Mapping[str, str], args: argparse.Namespace) -> int:
    """Scan for donors, acceptors or introns of every organism asked for."""
    from seqmtl.cli import _output
    from seqmtl.pairs.scan import paired_paths
    from seqmtl.scan.writers import guess_format

    file_format = args.file_format or guess_format(args.output)
    check_options(args, file_format)
    if args.output == "-" and file_format not in ("spsc", "introns"):
        raise SeqmtlError(
            f"{file_format} has a file for donors and one for acceptors, so it cannot be written "
            "to standard output; name a file, or choose spsc or introns"
        )
    if args.json == "-" and args.output == "-":
        raise SeqmtlError("sites and summary cannot both go to standard output; name a file")
    paths = {name: paired_paths(path, file_format, args.strand) for name, path in outputs.items()}
    _output.check_outputs(*(path for own in paths.values() for path in own), args.json)
    lengths = setup.lengths_of(file_format, args)
    with setup.runner(args) as runs:
        scans = [
            _scan(model, organism, path, paths[organism], file_format, lengths, args, runs)
            for organism, path in outputs.items()
        ]
    if args.json:
        setup.write_json(scans, file_format, args)
    return 0


def check_options(args: argparse.Namespace, file_format: str) -> None:
    """Check the options for a model of both ends of introns, and set the default of one.

    Raises
    ------
    SeqmtlError
        If an option is not for such a model.
    """
    for name, default in _UNUSED.items():
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


def _scan(
    model: Any,
    organism: str,
    path: str,
    files: list[str],
    file_format: str,
    lengths: Mapping[str, int] | None,
    args: argparse.Namespace,
    runs: Any,
) -> dict[str, Any]:
    """Scan for one organism; return its entry in the JSON summary."""
    import sys

    from seqmtl._progress import ScanProgress
    from seqmtl.io import open_pieces
    from seqmtl.models.probability_curve import to_probability
    from seqmtl.pairs import PairedFinder, write_paired_scan
    from seqmtl.pairs.scan import tracks_of
    from seqmtl.scan import SiteFilters

    filters = SiteFilters(
        contigs=setup.contigs_of(args.contigs, lengths),
        regions=setup.regions_of(args.regions, lengths),
        skip_lower=args.softmask == "skip",
        min_probability=args.min_probability,
        probability=to_probability,
        top=args.top,
    )
    finder = PairedFinder(model, organism, strands=args.strand, filters=filters)
    is_file = os.path.isfile(args.genome)
    progress = ScanProgress(os.path.getsize(args.genome) if is_file else None)
    started = time.perf_counter()
    pieces = open_pieces(
        args.genome, size=_PIECE, only=filters.scanned, keep_case=filters.skip_lower,
        on_read=progress.read,
    )  # fmt: skip
    value = args.value or "probability"
    try:
        summary = write_paired_scan(
            sys.stdout.buffer if path == "-" else path, pieces, finder, file_format=file_format,
            tracks=tracks_of(model, organism, value, lengths), progress=progress,
            recovery=setup.recovery_of(organism, args), runs=runs,
        )  # fmt: skip
    finally:
        progress.close()
    return setup.finished(organism, files, file_format, summary, started)
