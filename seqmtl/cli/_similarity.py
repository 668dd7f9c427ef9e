"""Options that say how the organisms are related, and the task kernel made from them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from seqmtl.cli import _options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seqmtl.similarity import TaskKernel
    from seqmtl.similarity.build import KernelRequest

#: Same as in seqmtl.similarity.build, which would import numpy.
KINDS = (
    "tree", "hierarchical", "smooth", "multigraph", "graph", "graphical", "clustering",
    "individual", "union", "easy",
)  # fmt: skip

PLAIN = ("individual", "union", "easy")
LARGEST_TREE = "eukaryotes"
MKL_KINDS = ("hierarchical", "smooth", "multigraph")

KINDS_HELP = """\
kinds of similarity:
  tree          length of the path shared from the root (default for --tree, --taxonomy)
  hierarchical  one kernel per inner node of the tree
  smooth        one kernel exp(-distance/scale) per scale (default for --alignment, --distances)
  multigraph    one kernel per --graph (default for several); from a tree, one graph per inner
                node, connecting all its leaves
  graph         one --graph (default for one); from a tree, each leaf is connected to all leaves
                below its parent
  graphical     as graph, scaled to a diagonal of 1
  clustering    --groups (default for it); from a tree, the leaves below each inner node
  individual, union, easy    share nothing, everything, or half
If a kind needs a tree, --alignment and --distances are turned into one by average linkage."""


def add_source_options(parser: argparse.ArgumentParser) -> Any:
    """Add the sources of a similarity; the command itself defines ``args.similarity``.

    Returns
    -------
    group
        Option group, to which further options may be added.
    """
    sources = parser.add_argument_group("relation between the organisms (one of)")
    sources.add_argument(
        "--tree", metavar="FILE|NAME",
        help="Newick or Nexus file (extra leaves allowed), or shipped: eukaryotes (if in doubt), "
        "metazoa, vertebrates, insects, nematodes, plants, fungi",
    )  # fmt: skip
    sources.add_argument(
        "--taxonomy", metavar="DIR", help="NCBI taxonomy dump: folder with nodes.dmp and names.dmp"
    )
    sources.add_argument(
        "--alignment", metavar="FASTA",
        help="aligned sequences, such as rRNA, named by organism",
    )  # fmt: skip
    sources.add_argument(
        "--distances", metavar="TSV", help="distances: square table, or lines of a, b, distance"
    )
    sources.add_argument(
        "--graph", metavar="FILE", action="append", default=[],
        help="GraphML, or lines of a, b and an optional weight; may be repeated",
    )  # fmt: skip
    sources.add_argument(
        "--groups", metavar="TSV", help="lines of organism, group and an optional weight"
    )
    sources.add_argument(
        "--scales", type=_scales, metavar="S,...",
        help="scales of smooth (default: 1/4, 1 and 4 times the median distance)",
    )  # fmt: skip
    parser.set_defaults(usage_error=parser.error)
    return sources


def add_mkl(group: Any) -> None:
    """Add --mkl."""
    group.add_argument(
        "--mkl", choices=MKL_KINDS, metavar="KIND",
        help="learn the weights of kernels: hierarchical, smooth or multigraph",
    )  # fmt: skip


def kernel_request(args: argparse.Namespace, what: str | None) -> KernelRequest | None:
    """Return what the arguments ask for, or None if that is nothing; no file is read.

    Parameters
    ----------
    args : Namespace
        With the options of :func:`add_source_options`.
    what : str or None
        One of `KINDS`, or the path of a table.

    Raises
    ------
    SystemExit
        If the kind does not fit the sources (usage error).
    """
    from seqmtl.similarity.build import KernelRequest
    from seqmtl.similarity.sources import Sources

    kind, table = (what, None) if what in KINDS else (None, what)
    sources = Sources(
        args.tree, args.taxonomy, args.alignment, args.distances, args.graph, args.groups, table
    )
    if kind is None and args.scales is None and not sources.given:
        return None
    try:
        return KernelRequest(kind, sources, args.scales)
    except ValueError as error:
        refuse(args, str(error))


def training_request(args: argparse.Namespace) -> KernelRequest | None:
    """Return what --similarity or --mkl asks for; see :func:`kernel_request`."""
    if args.mkl is not None and args.similarity is not None:
        refuse(args, "--mkl and --similarity both set the kind; give only one")
    return kernel_request(args, args.mkl or args.similarity)


def check_tree(request: KernelRequest | None, organisms: Iterable[str]) -> None:
    """Check that --tree, if given, can be read and has some organisms.

    Raises
    ------
    InputFormatError
        If it cannot be read.
    UnknownTaskError
        If it lacks an organism.
    """
    from seqmtl.exceptions import UnknownTaskError
    from seqmtl.similarity.names import NameIndex, match_names
    from seqmtl.similarity.trees import read_tree

    if request is None or request.sources.tree is None:
        return
    tree, names = request.sources.read_tree(), tuple(dict.fromkeys(organisms))
    try:
        match_names(names, tree.leaf_names, f"the tree {tree.source}")
    except UnknownTaskError as error:
        largest = NameIndex(read_tree(LARGEST_TREE).leaf_names)
        if not all(map(largest.find, names)):
            raise
        raise UnknownTaskError(f"{error} (try --tree {LARGEST_TREE})") from error


def task_kernel(
    args: argparse.Namespace, request: KernelRequest | None, organisms: tuple[str, ...]
) -> TaskKernel | None:
    """Return the task kernel for training, or the kernels whose weights --mkl learns.

    A single kernel keeps organisms without data, so that they can be scored from their relatives.
    """
    if request is None:
        return None
    check_tree(request, organisms)
    keeps_all = args.mkl is None and request.kind not in PLAIN
    return request.build(None if keeps_all and not request.needs_organisms else organisms)


def refuse(args: argparse.Namespace, message: str) -> NoReturn:
    """Exit with a usage error."""
    error: Callable[[str], NoReturn] = args.usage_error
    error(message)


def names_list(text: str) -> tuple[str, ...]:
    """Parse comma-separated names."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"must be comma-separated names, got {text!r}")
    return names


def _scales(text: str) -> tuple[float, ...]:
    return tuple(_options.positive_float(value) for value in text.split(","))
