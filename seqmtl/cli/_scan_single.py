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
from seqmtl.cli._scoring import with_relatives
from seqmtl.exceptions import SeqmtlError

_PIECE = 1 << 22


def scan_single(args: argparse.Namespace) -> int:
    """Scan one genome with one model, for one or all of its organisms."""
    from seqmtl.models.saved import load_model
    from seqmtl.scan import Track

    model = load_model(args.model, only=("weights", "pairs"))
    is_told = "fingerprint" in args  # it is one of many: what it is fit for was told before
    with messages_from(logging.ERROR if is_told else logging.NOTSET):
        model = with_relatives(model, args)
    outputs = outputs_of(model, args)
    file_format = setup.check_outputs(model, outputs.values(), args)
    lengths = setup.lengths_of(file_format, args)
    scans = []
    with setup.runner(args) as runs:
        for organism, path in outputs.items():
            finder = setup.finder_for(model, organism, file_format, args, lengths)
            if not is_told:
                setup.tell_of_probabilities(model, organism, file_format, args)
            track = Track(setup.value_of(model, organism, args), lengths)
            summary, seconds = _scan(organism, path, file_format, finder, track, args, runs)
            files = setup.paths_of(model, path, file_format, args)
            scans.append(setup.finished(organism, files, file_format, summary, seconds))
    if args.json:
        setup.write_json(scans, file_format, args)
    return 0


def outputs_of(model: Any, args: argparse.Namespace) -> dict[str, str]:
    """Return the output file of every organism to scan for."""
    from seqmtl.files.names import safe_names
    from seqmtl.scan.writers import inserted

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
    names = safe_names(model.tasks)
    return {name: inserted(args.output, safe) for name, safe in names.items()}


def _scan(
    organism: str,
    path: str,
    file_format: str,
    finder: Any,
    track: Any,
    args: argparse.Namespace,
    runs: Any,
) -> tuple[Any, float]:
    """Scan for one organism; return the summary and the seconds."""
    from seqmtl.cli._console import ScanProgress
    from seqmtl.io import open_pieces
    from seqmtl.scan import write_scan

    is_file = os.path.isfile(args.genome)
    progress = ScanProgress(os.path.getsize(args.genome) if is_file else None, args)
    started = time.perf_counter()
    pieces = open_pieces(
        args.genome, size=_PIECE, only=finder.filters.scanned,
        keep_case=finder.filters.skip_lower, on_read=progress.read,
    )  # fmt: skip
    try:
        summary = write_scan(
            sys.stdout.buffer if path == "-" else path, pieces, finder, file_format=file_format,
            track=track, progress=progress, recovery=setup.recovery_of(organism, args), runs=runs,
        )  # fmt: skip
    finally:
        progress.close()
    return summary, time.perf_counter() - started
