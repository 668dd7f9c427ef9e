"""``seqmtl scan``: find signals in a genome."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from typing import Any

from seqmtl.cli import _options
from seqmtl.exceptions import SeqmtlError

logger = logging.getLogger("seqmtl")

_PIECE = 1 << 22

_EXAMPLES = """\
  seqmtl scan splice.seqmtl worm.fa --organism c_elegans --consensus AG --threshold 0 -o ag.bed
  seqmtl scan splice.seqmtl worm.fa.gz --organism c_elegans --strand + -o plus.bedgraph
  seqmtl scan splice.seqmtl genome.fa --organism all --consensus AG -o ag.bed   # ag.NAME.bed each

coordinates: 0-based half-open on the forward strand; a BED record is the site itself (the AG of an
acceptor, the base at offset window // 2 where training windows share no two letters)"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "scan", run, "score every position of a genome, both strands", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("genome", metavar="FASTA", help="genome: plain, gzip or bgzip")
    parser.add_argument(
        "-o", "--output", required=True, metavar="BED|BEDGRAPH",
        help="by suffix: .bed or .bedgraph, optionally .gz (bgzip); - for BED on standard output",
    )  # fmt: skip
    parser.add_argument(
        "--organism", metavar="NAME",
        help="organism whose model scores; all for a file each (default: the only one)",
    )  # fmt: skip
    parser.add_argument(
        "--consensus", metavar="LETTERS",
        help="only sites with these letters, such as AG, or GT,GC (default: every position)",
    )  # fmt: skip
    parser.add_argument(
        "--threshold", type=float, metavar="X", help="lowest score to write (default: all)"
    )
    parser.add_argument(
        "--strand", choices=("both", "+", "-"), default="both", help="strands (default: both)"
    )
    parser.add_argument(
        "--site-offset", type=int, metavar="N",
        help="0-based place of the site in the window (default: what the model learnt)",
    )  # fmt: skip
    parser.add_argument(
        "--from-relatives", action="store_true",
        help="scan for an organism without training data by its relatives in the model's tree",
    )  # fmt: skip
    _options.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.io import check_writable
    from seqmtl.models.model import MultiTaskModel

    model = MultiTaskModel.load(args.model)
    outputs = _outputs(model, args)
    for path in outputs.values():
        if path != "-":
            check_writable(path)
    for organism, path in outputs.items():
        _scan(model, organism, path, args)
    return 0


def _outputs(model: Any, args: argparse.Namespace) -> dict[str, str]:
    """Return the file of every organism that is to be scanned for."""
    if args.organism is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"the model has {len(model.tasks)} organisms; name one of "
            f"{', '.join(model.tasks)} with --organism, or all"
        )
    if args.organism != "all":
        return {args.organism or model.tasks[0]: args.output}
    if args.output == "-":
        raise SeqmtlError("scanning for all organisms writes a file each; name an output")
    stem, suffix = os.path.splitext(args.output)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return {name: f"{stem}.{name}{suffix}" for name in model.tasks}


def _scan(model: Any, organism: str, path: str, args: argparse.Namespace) -> None:
    from seqmtl.io import open_pieces
    from seqmtl.scan import SiteFinder, write_scan
    from seqmtl.scan.organism import probability_of, scanner_of

    offset, length = _site(model, args)
    scanner = scanner_of(
        model, organism, site_offset=offset, site_length=length,
        from_relatives=args.from_relatives, n_threads=args.threads,
    )  # fmt: skip
    finder = SiteFinder(
        scanner, strands=args.strand, consensus=args.consensus, threshold=args.threshold
    )
    started = time.perf_counter()
    pieces = open_pieces(args.genome, size=_PIECE, overlap=finder.overlap)
    summary = write_scan(
        sys.stdout.buffer if path == "-" else path, pieces, finder,
        probability=probability_of(model, organism),
    )  # fmt: skip
    seconds = time.perf_counter() - started
    logger.info(
        "%s: %s: %d contigs, %d positions scored, %d written in %.1f s (%.1f Mb/s)",
        path, organism, summary.n_contigs, summary.n_scored, summary.n_records, seconds,
        summary.n_bases / 1e6 / max(seconds, 1e-9),
        extra={"fields": {"n_mixed": summary.n_mixed, "short_contigs": summary.short_contigs}},
    )  # fmt: skip


def _site(model: Any, args: argparse.Namespace) -> tuple[int, int]:
    """Return offset and length of the site, as asked for or as the model knows."""
    site = model.site
    length = len(args.consensus.split(",")[0]) if args.consensus else site.length
    offset = site.offset
    if length != site.length:
        offset = model.length // 2 - length // 2
    if args.site_offset is not None:
        offset = args.site_offset
    if args.consensus and site.letters and site.letters not in args.consensus.upper().split(","):
        logger.warning(
            "the windows of the training have %s at the site, but the scan asks for %s",
            site.letters, args.consensus,
        )  # fmt: skip
    return offset, length
