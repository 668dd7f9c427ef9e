"""``seqmtl dataset``: make labelled windows from annotated genomes."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path
from typing import Any

from seqmtl.cli import _options
from seqmtl.cli._console import show
from seqmtl.cli._output import check_outputs, write_json

logger = logging.getLogger("seqmtl")

_SIGNALS = ("donor", "acceptor", "tss", "start", "stop", "polya")

_EXAMPLES = """\
  seqmtl dataset splice.toml -o donors
  seqmtl dataset splice.toml -o acceptors --signal acceptor
  seqmtl train donors --tree tree.nwk -o donor.seqmtl && seqmtl evaluate donor.seqmtl donors

splice.toml (paths are relative to its folder):
  signal = "donor"              # acceptor, tss, start, stop, polya
  window = 241                  # bases, centred on the site; shift moves the window to 3'
  seed = 0
  [sites]
  consensus = "canonical"       # GT, AG; "all", or words such as ["GT", "GC"], ["AG", "AC"]
  min_intron = 20               # sources = ["ensembl"]: keep only these values of column 2
  [junctions]
  min_reads = 3                 # min_share = 0.05: of the reads of the strongest overlapping one
  [decoys]
  ratio = 10                    # per true site
  in_genes = 0.5                # fraction from genes with sites, on the strand of the gene
  clearance = 141               # bases between a decoy's window and that of any annotated site
  [split]
  by = "auto"                   # contigs, blocks
  valid = 0.1                   # fractions of the sites
  test = 0.2                    # block = 100000
  [organisms.worm]
  genome = "worm.fa.gz"
  annotation = "worm.gff3.gz"   # GFF3, GTF, BED12; or sites = "tss.bed.gz", BED6 of the sites;
                                # or junctions = "SJ.out.tab", or BED12 or BED6 of reads' introns
  [organisms.fly]
  genome = "fly.fa.gz"
  annotation = "fly.gtf.gz"
  contig_names = "names.tsv"    # annotation's name, FASTA's name; allow_missing_contigs = true
  split = { test = ["X"], valid = ["3L"] }

DIR/windows.tsv has one window per line: BED6, then organism, label, split and weight, the number
of genomic positions it represents. The drawn decoys are for training; `seqmtl calibrate` and
`seqmtl evaluate` score every candidate in the regions of a split (DIR/regions.tsv), and count the
annotated sites (DIR/sites.tsv) as true. DIR/left_out.tsv lists what was left out, and why."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "dataset", run, "make labelled windows from genomes and annotations",
        _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("config", metavar="CONFIG", help="TOML file (see below)")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--signal", choices=_SIGNALS, help="override the signal of CONFIG")
    parser.add_argument(
        "--json", metavar="FILE", help="write a summary as JSON; - for standard output"
    )
    parser.add_argument(
        "--force", action="store_true", help="write into a folder that holds other files"
    )
    _options.add_threads(parser)
    _options.add_dask(parser, "process the organisms")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cluster import connect
    from seqmtl.dataset import check_folder, read_config, write_dataset

    check_outputs(args.json)
    check_folder(Path(args.output), force=args.force)
    config = read_config(args.config, signal=args.signal)
    started = time.perf_counter()
    with connect(args.dask) as workers:
        summary = write_dataset(
            config, args.output, command=args.command_line, force=args.force, workers=workers
        )
    if args.json != "-":
        show(_table(summary))
    if args.json:
        write_json(args.json, summary)
    _log(summary, args.output, time.perf_counter() - started)
    return 0


def _table(summary: dict[str, Any]) -> str:
    """Format the counts as a tab-separated table."""
    lines = ["organism\tsites\tdecoys\ttrain\tvalid\ttest\tleft_out"]
    for name, facts in summary["organisms"].items():
        of_splits = [f"{row['sites']}+{row['decoys']}" for row in facts["splits"].values()]
        n_left_out = sum(facts["left_out"].values())
        lines.append(
            "\t".join(
                [name, str(facts["sites"]), str(facts["decoys"]), *of_splits, str(n_left_out)]
            )
        )
    return "\n".join(lines) + "\n"


def _log(summary: dict[str, Any], folder: str, seconds: float) -> None:
    for reason, count in sorted(summary["left_out"].items(), key=lambda item: -item[1]):
        logger.info("left out: %s: %d", reason, count)
    leaks = summary["leakage"]
    n_leaks = leaks["with_both_labels"] + sum(
        sum(leaks[key].values())
        for key in ("duplicates_between_splits", "overlapping_between_splits")
    )
    n_rows = sum(row["sites"] + row["decoys"] for row in summary["organisms"].values())
    logger.info(
        "%s: %d windows of %d organisms, %d shared between splits or labels, %.1f s",
        folder, n_rows, len(summary["organisms"]), n_leaks, seconds,
    )  # fmt: skip
