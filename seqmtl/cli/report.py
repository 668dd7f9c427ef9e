"""``seqmtl report``: everything in a folder of results on one page."""

from __future__ import annotations

import argparse
import logging

from seqmtl.cli import _options
from seqmtl.cli._output import software_versions
from seqmtl.exceptions import SeqmtlError

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl report results -o report.html
  seqmtl report results --tree tree.nwk --title "Splice sites of nematodes" -o report.html

DIR is looked through for what the other commands write: data sets (seqmtl dataset), models
(*.seqmtl), comparisons (seqmtl compare --json; several sizes of --per-organism make a learning
curve) and scans (seqmtl scan --json). Models are judged on the test windows of the data set of
their signal, and all are compared. The page is about the one that shares among organisms, rather
than individual or union models, the default of seqmtl train first; test labels have no say in it.
The page is one file that needs no network."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "report", run, "a folder of results as one HTML page", _EXAMPLES
    )
    parser.add_argument("folder", metavar="DIR", help="folder of results")
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="page to write")
    parser.add_argument("--title", help="heading (default: the name of the folder)")
    parser.add_argument("--tree", metavar="NEWICK|NAME", help="tree to draw beside the similarity")
    parser.add_argument(
        "--bootstrap", type=int, default=200, metavar="N",
        help="resamples for the 95%% intervals, 0 for none (default: 200)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from importlib.util import find_spec

    from seqmtl.files.atomic import check_writable

    check_writable(args.output)
    if find_spec("matplotlib") is None:
        raise SeqmtlError("the report draws figures with matplotlib; pip install 'seqmtl[plots]'")
    from seqmtl.report import write_folder_report

    found = write_folder_report(
        args.folder, args.output, title=args.title, tree=args.tree, n_bootstrap=args.bootstrap,
        command=args.command_line, versions=software_versions(),
    )  # fmt: skip
    for line in found.left_out:
        logger.info("not shown: %s", line)
    n_models = sum(len(signal.models) for signal in found.signals.values())
    logger.info(
        "%s: %d signal(s), %d model(s); open it in a browser",
        args.output, len(found.signals), n_models,
    )  # fmt: skip
    return 0
