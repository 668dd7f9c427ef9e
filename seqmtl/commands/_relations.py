"""Options that say how the organisms are related, and the task kernel made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl.commands._request import Request, option
from seqmtl.exceptions import UsageError
from seqmtl.relations.kinds import KINDS, MANUAL, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqmtl.relations.build import KernelRequest

LARGEST_TREE = "eukaryotes"
_TO_A_TABLE = "use 'seqmtl similarity ... -o K.tsv', then --similarity K.tsv"

#: An option of the relation between the organisms.
source = partial(option, group="relation between the organisms")


def tree_option() -> Any:
    """Return the option --tree."""
    return source(
        "Newick or Nexus file (extra leaves allowed), or shipped: eukaryotes (if in doubt), "
        "metazoa, vertebrates, insects, nematodes, plants, fungi",
        metavar="FILE|NAME",
    )


@dataclass(frozen=True, kw_only=True)
class Relations(Request):
    """How the organisms are related: by a tree, or by a table or a kind of similarity."""

    tree: str | None = tree_option()
    similarity: str | None = source(
        "kind of similarity of a tree, or table of seqmtl similarity -o (default: tree; "
        "--similarity help lists the kinds)",
        metavar="KIND|TSV",
        manual=MANUAL,
    )

    def relation(self, learnt: str | None = None) -> KernelRequest | None:
        """Return the requested task kernel, or None; no file is read.

        Parameters
        ----------
        learnt : str, optional
            Kind of the kernels whose weights are learnt, in place of `similarity`.

        Raises
        ------
        UsageError
            If there is no tree for the kind, or both a tree and a table.
        """
        asked = learnt or self.similarity
        name = (asked or "").partition(":")[0]
        if name not in KINDS and asked and self.tree:
            raise UsageError(f"--similarity {asked} is a table, which needs no --tree; give one")
        if name in KINDS and name not in PLAIN and not self.tree:
            other = "" if learnt else f"; for another source, {_TO_A_TABLE}"
            raise UsageError(f"{name} is computed from a tree; give --tree{other}")
        return kernel_request(asked, tree=self.tree)


def kernel_request(what: str | None, **sources: Any) -> KernelRequest | None:
    """Return the requested task kernel, or None; no file is read.

    Parameters
    ----------
    what : str, optional
        A kind, see :func:`seqmtl.relations.kinds.parse_kind`, or the path of a table. Default: the
        default kind of the source.
    **sources
        See :class:`seqmtl.relations.build.KernelRequest`.

    Raises
    ------
    UsageError
        If the kind does not fit the sources.
    """
    from seqmtl.relations.build import KernelRequest

    if what is None and not any(sources.values()):
        return None
    is_kind = (what or "").partition(":")[0] in KINDS
    kind, table = (what, None) if is_kind else (None, what)
    try:
        return KernelRequest(kind, table=table, **sources)
    except ValueError as error:
        raise UsageError(str(error)) from error


def check_tree(relation: KernelRequest | None, organisms: Iterable[str]) -> None:
    """Check that --tree, if given, can be read and has some organisms.

    Raises
    ------
    InputFormatError
        If it cannot be read.
    UnknownTaskError
        If it lacks an organism.
    """
    from seqmtl._names import NameIndex, match_names
    from seqmtl.exceptions import UnknownTaskError
    from seqmtl.relations.trees import read_tree

    if relation is None or relation.tree is None:
        return
    tree, names = relation.read_tree(), tuple(dict.fromkeys(organisms))
    try:
        match_names(names, tree.leaf_names, f"the tree {tree.source}")
    except UnknownTaskError as error:
        largest = NameIndex(read_tree(LARGEST_TREE).leaf_names)
        if not all(map(largest.find, names)):
            raise
        raise UnknownTaskError(f"{error} (try --tree {LARGEST_TREE})") from error
