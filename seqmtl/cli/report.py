"""``seqmtl report``: a folder of results as one page."""

from __future__ import annotations

import argparse
import logging

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, software_versions
from seqmtl.exceptions import SeqmtlError

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl report results -o report.html
  seqmtl report results --tree tree.nwk --title "Splice sites of nematodes" -o report.html

The report covers the datasets (seqmtl dataset), models (*.seqmtl), comparisons (seqmtl compare
--json; several sizes of --per-organism make a learning curve), evaluations of models of seqmtl pair
(seqmtl evaluate --json) and scans (seqmtl scan --json) found in DIR. All models are evaluated on
the test windows of the dataset of their signal and compared. The details are those of one model
that shares information between organisms: the default of seqmtl train if present. Test labels play
no part in this choice. The page is a single file that needs no network."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "report", run, "summarize a folder of results as one HTML page", _EXAMPLES
    )
    parser.add_argument("folder", metavar="DIR", help="folder of results")
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="page to write")
    parser.add_argument("--title", help="heading (default: signals and organisms)")
    parser.add_argument("--tree", metavar="NEWICK|NAME", help="tree to draw next to the similarity")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from importlib.util import find_spec

    if not args.output.endswith((".html", ".htm")):
        raise SeqmtlError(f"output must end in .html or .htm, got {args.output}")
    check_outputs(args.output)
    if find_spec("matplotlib") is None:
        raise SeqmtlError("the report needs matplotlib; pip install 'seqmtl[plots]'")
    from seqmtl.report import write_folder_report

    found = write_folder_report(
        args.folder, args.output, title=args.title, tree=args.tree,
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
