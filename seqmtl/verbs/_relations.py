"""Options that say how the organisms are related, and the task kernel made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import UsageError
from seqmtl.request import Request, option
from seqmtl.similarity.kinds import KINDS, MANUAL, PLAIN, SCALED, SEVERAL, learnable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqmtl.similarity import TaskKernel
    from seqmtl.similarity.build import KernelRequest

LARGEST_TREE = "eukaryotes"

GROUP = "relation between the organisms (one of)"


_TO_A_TABLE = "use 'seqmtl similarity ... -o K.tsv', then --similarity K.tsv"

_source = partial(option, group=GROUP)


@dataclass(frozen=True, kw_only=True)
class Relations(Request):
    """How the organisms are related: by a tree, or by a table or a kind of similarity."""

    tree: str | None = _source(
        "Newick or Nexus file (extra leaves allowed), or shipped: eukaryotes (if in doubt), "
        "metazoa, vertebrates, insects, nematodes, plants, fungi",
        metavar="FILE|NAME",
    )
    similarity: str | None = _source(
        "kind of similarity, computed from the tree (see --similarity help), or table of seqmtl "
        "similarity (default: tree)",
        metavar="KIND|TSV",
        manual=MANUAL,
    )

    def relation(self, learnt: str | None = None) -> KernelRequest | None:
        """Return the task kernel that is asked for, or None; no file is read.

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
    """Return the task kernel that is asked for, or None; no file is read.

    Parameters
    ----------
    what : str, optional
        A kind, see :func:`seqmtl.similarity.kinds.parse_kind`, or the path of a table. Default: the
        default kind of the source.
    **sources
        See :class:`seqmtl.similarity.build.KernelRequest`.

    Raises
    ------
    UsageError
        If the kind does not fit the sources.
    """
    from seqmtl.similarity.build import KernelRequest

    if what is None and not any(sources.values()):
        return None
    is_kind = (what or "").partition(":")[0] in KINDS
    kind, table = (what, None) if is_kind else (None, what)
    try:
        return KernelRequest(kind, table=table, **sources)
    except ValueError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class AllRelations(Request):
    """Files that say how the organisms are related."""

    tree: str | None = _source(
        "Newick or Nexus file (extra leaves allowed), or shipped: eukaryotes (if in doubt), "
        "metazoa, vertebrates, insects, nematodes, plants, fungi",
        metavar="FILE|NAME",
    )
    taxonomy: str | None = _source(
        "NCBI taxonomy dump: folder with nodes.dmp and names.dmp", metavar="DIR"
    )
    alignment: str | None = _source(
        "aligned sequences, such as rRNA, named by organism", metavar="FASTA"
    )
    distances: str | None = _source(
        "distances: square table, or lines of a, b, distance", metavar="TSV"
    )
    graph: tuple[str, ...] = _source(
        "lines of a, b and an optional weight; may be repeated",
        metavar="FILE",
        is_repeated=True,
    )
    groups: str | None = _source(
        "lines of organism or group, its group, optional weight", metavar="TSV"
    )
    scales: tuple[float, ...] | None = _source(
        f"scales of {' and '.join(SCALED)} (default: 1/4, 1 and 4 times the median distance)",
        metavar="S,...",
        kind=_kinds.scales,
    )

    def relation(self, what: str | None) -> KernelRequest | None:
        """Return the task kernel that is asked for, or None; no file is read.

        Parameters
        ----------
        what : str or None
            See :func:`seqmtl.similarity.kinds.parse_kind`; or the path of a table.

        Raises
        ------
        UsageError
            If the kind does not fit the sources.
        """
        return kernel_request(
            what,
            scales=self.scales,
            tree=self.tree,
            taxonomy=self.taxonomy,
            alignment=self.alignment,
            distances=self.distances,
            graph=self.graph,
            groups=self.groups,
        )


@dataclass(frozen=True, kw_only=True)
class TrainingRelations(AllRelations):
    """How training couples the organisms."""

    similarity: str | None = _source(
        f"{PLAIN[0]}, {PLAIN[1]}, ... (see --similarity help) or table (default: tree)",
        metavar="KIND|TSV",
        manual=MANUAL,
    )
    mkl: str | None = _source(
        f"learn the weights of kernels: {', '.join(SEVERAL[:-1])} or {SEVERAL[-1]}",
        metavar="KIND",
        kind=learnable,
        manual=MANUAL,
    )

    def check(self) -> None:
        """Refuse two kinds."""
        if self.mkl is not None and self.similarity is not None:
            raise UsageError("--mkl and --similarity both set the kind; give only one")

    def training_relation(self) -> KernelRequest | None:
        """Return what --similarity or --mkl asks for; see :meth:`relation`."""
        return self.relation(self.mkl or self.similarity)

    def task_kernel(
        self, relation: KernelRequest | None, organisms: tuple[str, ...]
    ) -> TaskKernel | None:
        """Return the task kernel for training, or the kernels whose weights --mkl learns.

        A single kernel keeps organisms without data, so that they can be scored from their
        relatives.
        """
        if relation is None:
            return None
        check_tree(relation, organisms)
        keeps_all = self.mkl is None and relation.kind not in PLAIN
        return relation.build(None if keeps_all and not relation.needs_organisms else organisms)


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
    from seqmtl.similarity.trees import read_tree

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
