"""``seqmtl similarity``: a task kernel as a table and a figure."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from seqmtl.cli import _options, _similarity
from seqmtl.cli._console import show
from seqmtl.cli._output import check_outputs

if TYPE_CHECKING:
    from seqmtl.similarity import TaskKernel
    from seqmtl.similarity.sources import Sources

logger = logging.getLogger("seqmtl")

_SOURCES = "--tree, --taxonomy, --alignment, --distances, --graph, --groups, --table"

_EXAMPLES = f"""\
  seqmtl similarity --tree metazoa --organisms human,mouse,c_elegans,fruit_fly
  seqmtl similarity --tree tree.nwk --kind hierarchical -o K.tsv --plot K.png
  seqmtl similarity --alignment rrna.fasta --scales 0.05,0.2 -o K.tsv
  seqmtl similarity --graph a.graphml --graph b.tsv --kind multigraph -o K.tsv
  seqmtl train windows.tsv.gz --similarity K.tsv -o splice.seqmtl

{_similarity.KINDS_HELP}"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "similarity", run, "print and draw the similarity of organisms", _EXAMPLES
    )
    _similarity.add_source_options(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--kind", dest="similarity", choices=_similarity.KINDS, metavar="KIND",
        help="kind of similarity, see below (default: depends on the source)",
    )  # fmt: skip
    what.add_argument(
        "--table", dest="similarity", metavar="TSV", help="task kernel as written by -o"
    )
    parser.add_argument(
        "--organisms", type=_similarity.names_list, metavar="A,B,...",
        help="organisms, in this order and spelling (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="TSV", help="table to write (default: print a summary)"
    )
    parser.add_argument("--plot", metavar="FILE", help="figure: .png, .svg or .pdf")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.files.atomic import write_lines

    check_outputs(args.output, args.plot)
    if args.plot:
        _options.check_figure(args.plot)
    request = _similarity.kernel_request(args, args.similarity)
    if request is None:
        _similarity.refuse(args, f"give one of {_SOURCES}, or --kind individual with --organisms")
    if request.needs_organisms and args.organisms is None:
        _similarity.refuse(args, f"{request.kind} does not list organisms; give --organisms")
    _similarity.check_tree(request, args.organisms or ())
    kernel = request.build(args.organisms)
    if args.plot:
        _draw(kernel, request.sources, args)
    if not args.output:
        show(f"{kernel}\n")
        return 0
    write_lines(args.output, [kernel.to_tsv()])
    several = f"{kernel.n_kernels} kernels" if kernel.n_kernels > 1 else "a kernel"
    logger.info("%s: %s of %d organisms from %s", args.output, several, len(kernel), kernel.source)
    return 0


def _draw(kernel: TaskKernel, sources: Sources, args: argparse.Namespace) -> None:
    """Draw the kernel next to the tree it came from."""
    from seqmtl.evaluation.figures import save_figure
    from seqmtl.report.similarity_figure import draw_kernel

    tree = sources.read_tree(kernel.names) if sources.has_tree else None
    save_figure(draw_kernel(kernel, tree), args.plot)
