"""``seqmtl scan`` of one genome with one model."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from typing import Any

from seqmtl._messages import messages_from
from seqmtl.cli import _scan_setup as setup
from seqmtl.exceptions import SeqmtlError
from seqmtl.verbs._scoring import with_relatives

_PIECE = 1 << 22


def scan_single(args: argparse.Namespace) -> int:
    """Scan one genome with one model, for one or all of its organisms."""
    from seqmtl.models.saved import load_model

    model = load_model(args.model, only=("weights", "pairs"))
    is_told = "fingerprint" in args  # it is one of many: what it is fit for was told before
    with messages_from(logging.ERROR if is_told else logging.NOTSET):
        model = with_relatives(model, args)
    outputs = outputs_of(model, args)
    if model.structure == "pairs":
        from seqmtl.cli._scan_pairs import scan_pairs

        return scan_pairs(model, outputs, args)
    if args.file_format == "introns":
        raise SeqmtlError("introns need a model of seqmtl pair; choose another --format")
    file_format = setup.check_outputs(outputs.values(), args)
    lengths = setup.lengths_of(file_format, args)
    scans = []
    with setup.runner(args) as runs:
        for organism, path in outputs.items():
            scan = setup.prepare(model, organism, args, lengths)
            if not is_told:
                setup.tell_of_probabilities(model, organism, file_format, args)
            scans.append(_scan(organism, path, file_format, scan, args, runs))
    if args.json:
        setup.write_json(scans, file_format, args)
    return 0


def outputs_of(model: Any, args: argparse.Namespace) -> dict[str, str]:
    """Return the output file of every organism to scan for."""
    from seqmtl.files.names import safe_names

    if args.organism is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"the model has {len(model.tasks)} organisms; name one of "
            f"{', '.join(model.tasks)} with --organism, or all"
        )
    if args.organism != "all" or "all" in model.tasks:
        return {args.organism or model.tasks[0]: args.output}
    if args.output == "-":
        raise SeqmtlError("--organism all writes one file per organism; name an output file")
    if args.genome == "-":
        raise SeqmtlError("--organism all reads the genome once per organism; give it as a file")
    stem, suffix = os.path.splitext(args.output)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return {name: f"{stem}.{safe}{suffix}" for name, safe in safe_names(model.tasks).items()}


def _scan(
    organism: str, path: str, file_format: str, scan: Any, args: argparse.Namespace, runs: Any
) -> dict[str, Any]:
    """Scan for one organism; return its entry in the JSON summary."""
    from seqmtl._progress import ScanProgress
    from seqmtl.io import open_pieces
    from seqmtl.scan import write_scan
    from seqmtl.scan.writers import output_paths

    is_file = os.path.isfile(args.genome)
    progress = ScanProgress(os.path.getsize(args.genome) if is_file else None)
    started = time.perf_counter()
    pieces = open_pieces(
        args.genome, size=_PIECE, only=scan.finder.filters.scanned,
        keep_case=args.softmask == "skip", on_read=progress.read,
    )  # fmt: skip
    try:
        summary = write_scan(
            sys.stdout.buffer if path == "-" else path, pieces, scan.finder,
            file_format=file_format, probability=scan.probability, track=scan.track,
            progress=progress, recovery=scan.recovery, runs=runs,
        )  # fmt: skip
    finally:
        progress.close()
    paths = output_paths(path, file_format, args.strand)
    return setup.finished(organism, paths, file_format, summary, started)
