"""How the organisms are related, as the commands' arguments say it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from seqmtl.cli import _options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqmtl.similarity import TaskKernel
    from seqmtl.similarity.sources import Sources

#: As in seqmtl.similarity.build, which imports numpy.
KINDS = (
    "tree", "hierarchical", "smooth", "multigraph", "graph", "graphical", "clustering",
    "independent", "union", "easy",
)  # fmt: skip

PLAIN = ("independent", "union", "easy")
MKL_KINDS = ("hierarchical", "smooth", "multigraph")

KINDS_HELP = """\
kinds of similarity, and what they are made of:
  tree          path shared from the root (default for --tree, --taxonomy)
  hierarchical  one kernel per inner node of the tree
  smooth        one kernel exp(-distance/scale) per scale (default for --alignment, --distances)
  multigraph    one kernel per --graph (default for several); of a tree one graph per inner
                node, with all its leaves joined to one another
  graph         one --graph (default for it); of a tree, every leaf is joined to all leaves below
                its parent
  graphical     the same graphs, scaled to a diagonal of 1
  clustering    --groups (default for it); of a tree, the leaves below every inner node
  independent, union, easy    nothing, everything, or half in common
Where a kind needs a tree, --alignment and --distances become one by average linkage."""


def add_source_options(parser: argparse.ArgumentParser) -> Any:
    """Add the sources of a similarity; ``args.similarity`` is left to the command.

    Returns
    -------
    group
        Of the options, for more of them.
    """
    sources = parser.add_argument_group("relations of the organisms, one of")
    sources.add_argument(
        "--tree", metavar="FILE|NAME",
        help="Newick or Nexus file, which may hold more, or a shipped tree: metazoa",
    )  # fmt: skip
    sources.add_argument(
        "--taxonomy", metavar="DIR", help="NCBI taxonomy dump: folder with nodes.dmp, names.dmp"
    )
    sources.add_argument(
        "--alignment", metavar="FASTA",
        help="aligned sequences such as rRNA, named by organism",
    )  # fmt: skip
    sources.add_argument(
        "--distances", metavar="TSV", help="distances, a square table or lines of a, b, distance"
    )
    sources.add_argument(
        "--graph", metavar="FILE", action="append", default=[],
        help="GraphML, or lines of a, b and maybe a weight; may be repeated",
    )  # fmt: skip
    sources.add_argument(
        "--groups", metavar="TSV", help="lines of organism, group and maybe a weight"
    )
    sources.add_argument(
        "--scales", type=_scales, metavar="S,...",
        help="of the kind smooth (default: 1/4, 1 and 4 times the median distance)",
    )  # fmt: skip
    parser.set_defaults(usage_error=parser.error)
    return sources


def add_mkl(group: Any) -> None:
    """Add --mkl."""
    group.add_argument(
        "--mkl", choices=MKL_KINDS, metavar="KIND",
        help="learn the weights of several: hierarchical, smooth or multigraph",
    )  # fmt: skip


def kernel_from_args(
    args: argparse.Namespace, organisms: Sequence[str] | None = None
) -> TaskKernel | None:
    """Return the task kernel that the arguments ask for, None where they ask for none.

    Parameters
    ----------
    args : Namespace
        With the options of :func:`add_source_options`, and ``similarity``: None, one of `KINDS`,
        or the path of a table.
    organisms : sequence of str, optional
        Tasks in this order and spelling. Default: all of the source.

    Raises
    ------
    SystemExit
        If kind and sources do not fit together, as for any wrong usage.
    SeqmtlError
        If a source is at fault or lacks an organism.
    """
    from seqmtl.similarity.build import build

    kind = check_usage(args, organisms)
    if kind is None:
        return None
    return build(kind, sources_from_args(args), organisms=organisms, scales=args.scales)


def task_kernel(args: argparse.Namespace, organisms: tuple[str, ...]) -> TaskKernel | None:
    """Return the task kernel, or the kernels to be weighed, that the arguments of train ask for.

    A single kernel keeps the organisms without data, which can be scored from their relatives.
    """
    keeps_all = args.mkl is None and args.similarity not in PLAIN
    return kernel_from_args(asked(args), None if keeps_all else organisms)


def asked(args: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments of a training with --mkl as the kind of similarity."""
    if args.mkl is None:
        return args
    if args.similarity is not None:
        refuse(args, "--mkl and --similarity both say the kind; give one of them")
    return argparse.Namespace(**{**vars(args), "similarity": args.mkl})


def check_usage(args: argparse.Namespace, organisms: Sequence[str] | None = ("?",)) -> str | None:
    """Return the kind that the arguments ask for, if any, before anything is read.

    Raises
    ------
    SystemExit
        If kind and sources do not fit together, as for any wrong usage.
    """
    from seqmtl.similarity.build import choose_kind

    sources = sources_from_args(args)
    kind = args.similarity if args.similarity in KINDS else None
    if kind is None and args.scales is None and not sources.given:
        return None
    try:
        return choose_kind(kind, sources, organisms, args.scales)
    except ValueError as error:
        refuse(args, str(error))


def sources_from_args(args: argparse.Namespace) -> Sources:
    """Return the sources that the arguments name."""
    from seqmtl.similarity.sources import Sources

    return Sources(
        tree=args.tree,
        taxonomy=args.taxonomy,
        alignment=args.alignment,
        distances=args.distances,
        graph=args.graph,
        groups=args.groups,
        table=None if args.similarity in KINDS else args.similarity,
    )


def refuse(args: argparse.Namespace, message: str) -> NoReturn:
    """Stop with the message and the exit code of wrong usage."""
    error: Callable[[str], NoReturn] = args.usage_error
    error(message)


def names_list(text: str) -> tuple[str, ...]:
    """Read names between commas."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"must be names between commas, got {text!r}")
    return names


def _scales(text: str) -> tuple[float, ...]:
    return tuple(_options.positive_float(value) for value in text.split(","))
