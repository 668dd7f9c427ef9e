"""Build a task kernel of a kind (:mod:`seqmtl.relations.kinds`) from any suitable source."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import InputFormatError, ParameterError, UnknownTaskError, UsageError
from seqmtl.relations.checks import all_members
from seqmtl.relations.distances import Distances, linkage_tree, read_alignment_distances
from seqmtl.relations.kinds import ALL, KINDS, Kind, parse_kind
from seqmtl.relations.ncbi_taxonomy import read_ncbi_taxonomy
from seqmtl.relations.relation_tables import read_distances, read_graph, read_groups
from seqmtl.relations.task_kernel import TaskKernel
from seqmtl.relations.trees import LARGEST_TREE, Tree, TreeSource, prune_to, read_tree

FilePath: TypeAlias = "str | os.PathLike[str]"

#: Every source, with the kind that it gives by default.
_DEFAULT = {
    "tree": "tree",
    "taxonomy": "tree",
    "alignment": "smooth",
    "distances": "smooth",
    "graph": "graph",
    "groups": "clustering",
    "table": "table",
}

_REMEDY = "use fewer tasks"
_SIMILAR = 0.75  # of a misspelt kind


@dataclass(frozen=True, eq=False)
class KernelRequest:
    """A task kernel to build: its kind and source, which are checked before any file is read.

    Parameters
    ----------
    kind : str or None
        See :func:`seqmtl.relations.kinds.parse_kind`. None chooses by source: tree for a tree or
        a taxonomy, smooth for an alignment or distances, graph for one graph, multigraph for
        several, clustering for groups. The attribute holds the choice, without numbers.
    tree : Tree, str or path-like, optional
        See :func:`seqmtl.relations.trees.read_tree`. Exactly one source must be given; at most one
        for kinds that need none.
    taxonomy : path-like, optional
        Folder with an NCBI taxonomy dump.
    alignment : path-like, optional
        Aligned sequences, see :func:`seqmtl.relations.distances.read_alignment_distances`.
    distances : path-like, optional
        Table, see :func:`seqmtl.relations.relation_tables.read_distances`.
    graph : sequence of path-like
        Graphs, see :func:`seqmtl.relations.relation_tables.read_graph`.
    groups : path-like, optional
        Table, see :func:`seqmtl.relations.relation_tables.read_groups`.
    table : sequence of path-like
        Precomputed kernel, see :meth:`seqmtl.relations.TaskKernel.from_tsv`; of several files the
        product, see :meth:`seqmtl.relations.TaskKernel.product`.

    Attributes
    ----------
    numbers : tuple of float
        Numbers of the kind; several give a kernel each.

    Raises
    ------
    ValueError
        If the kind is unknown, or is not computed from the source.
    """

    kind: str | None
    tree: TreeSource | None = None
    taxonomy: FilePath | None = None
    alignment: FilePath | None = None
    distances: FilePath | None = None
    graph: Sequence[FilePath] = ()
    groups: FilePath | None = None
    table: Sequence[FilePath] = ()
    numbers: tuple[float, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        sources = self.sources
        kind = self.kind
        n_graphs = len(self.graph)
        if kind is None and sources:
            kind = "multigraph" if n_graphs > 1 and sources[0] == "graph" else _DEFAULT[sources[0]]
        if kind != "table":
            try:
                kind, numbers = parse_kind(kind)
            except ValueError as error:
                raise ParameterError(str(error), "kind") from None
            object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "kind", kind)
        possible = ALL[kind].sources
        is_plain = ALL[kind].takes == "names"
        if len(sources) > 1 or not {*sources} <= {*possible} or not (sources or is_plain):
            usable = [source for source in sources if source in possible]
            raise ValueError(
                f"{kind} must have {'at most ' * is_plain}one source of {', '.join(possible)}, "
                f"got {' and '.join(sources) or 'none'}; give {(*usable, possible[0])[0]}"
                f"{' alone' * (len(sources) > 1)}"
            )
        if ALL[kind].takes == "graph" and not ALL[kind].has_several and n_graphs > 1:
            raise ValueError(
                f"{kind} must have one graph, got {n_graphs}; multigraph takes several"
            )

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the given sources."""
        return tuple(source for source in _DEFAULT if getattr(self, source) not in (None, (), []))

    @property
    def has_tree(self) -> bool:
        """Return whether there is a tree, or a source that converts to one."""
        return not {"tree", "taxonomy", "alignment", "distances"}.isdisjoint(self.sources)

    @property
    def needs_organisms(self) -> bool:
        """Return whether the organisms must be named, because no source lists them."""
        return self.sources in ((), ("taxonomy",))

    def build(self, organisms: Iterable[str] | None = None) -> TaskKernel:
        """Read the source and return the task kernel.

        Parameters
        ----------
        organisms : iterable of str, optional
            Tasks, in this order and spelling. Default: all organisms of the source.

        Raises
        ------
        InputFormatError
            If the source cannot be read.
        UnknownTaskError
            If the source lacks an organism; the message lists near matches.
        ValueError
            If the organisms are not given, but needed.
        """
        requested = None if organisms is None else tuple(organisms)
        entry = ALL[str(self.kind)]
        if self.table:
            tables = [TaskKernel.from_tsv(path) for path in self.table]
            kernel = tables[0] if len(tables) == 1 else TaskKernel.product(tables)
            return kernel if requested is None else kernel.restrict(requested)
        source: Any
        arguments: dict[str, Any] = {"names": requested}
        if entry.takes == "names":
            source = self._names(requested)
            arguments = {}
        elif entry.takes == "distances":
            source = self._read_distances(requested)
            arguments = {}
        elif self.groups is not None:
            source = read_groups(self.groups)
        elif entry.takes == "tree":
            source = self.read_tree(requested)
        else:
            read = self._read_graphs if self.graph else self._clades
            source, arguments = read(entry, requested)
        return self._kernel_of(entry, source, arguments)

    def _kernel_of(self, entry: Kind, source: Any, arguments: dict[str, Any]) -> TaskKernel:
        """Return the kernel, or one with several matrices, those of every number."""
        numbers, make = self.numbers or (entry.default,), getattr(TaskKernel, entry.make)
        if entry.takes_all and self.numbers:
            arguments |= {entry.parameter: self.numbers}
        try:
            if entry.takes_all or not entry.parameter:
                return make(source, **arguments)
            kernels = [make(source, **arguments, **{entry.parameter: x}) for x in numbers]
        except np.linalg.LinAlgError as error:
            raise InputFormatError(
                "edge weights must be of similar size, got some that differ by many orders of "
                "magnitude; scale them",
                path=", ".join(map(str, self.graph)),
            ) from error
        if len(kernels) == 1:
            return kernels[0]
        labels = [
            f"{f'{label}, ' * (kernel.n_kernels > 1)}{entry.parameter}={number:g}"
            for kernel, number in zip(kernels, numbers, strict=True)
            for label in kernel.labels
        ]
        return TaskKernel.join(kernels, str(self.kind), labels)

    def read_tree(self, organisms: Iterable[str] | None = None) -> Tree:
        """Return the tree of some organisms, by default all of the source.

        An alignment or a table of distances is converted by average linkage.

        Raises
        ------
        UnknownTaskError
            If the source lacks an organism.
        ValueError
            If there is a taxonomy but no organisms.
        """
        if self.tree is not None:
            return self._full_tree if organisms is None else self._full_tree.prune(organisms)
        if self.taxonomy is not None:
            if organisms is None:
                raise ValueError("organisms must be given with a taxonomy, got none; name them")
            return read_ncbi_taxonomy(self.taxonomy, organisms)
        return linkage_tree(self._read_distances(organisms))

    def _read_distances(self, organisms: Iterable[str] | None) -> Distances:
        """Return the distances of some organisms, or of all; for a tree, path lengths."""
        if self.tree is not None or self.taxonomy is not None:
            return Distances.from_tree(self.read_tree(organisms), organisms)
        distances = self._full_distances
        return distances if organisms is None else distances.restrict(organisms)

    def _read_graphs(
        self, entry: Kind, organisms: tuple[str, ...] | None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Return the graph or graphs, and the tasks; one that a graph lacks has no edges in it."""
        graphs = [read_graph(path) for path in self.graph]
        all_nodes = _distinct(graphs)
        names = all_nodes if organisms is None else organisms
        A = np.zeros((len(graphs), len(names), len(names)))
        missing = set(names)
        for adjacency, (nodes, weights) in zip(A, graphs, strict=True):
            index = NameIndex(nodes)
            tasks = [t for t, name in enumerate(names) if index.find(name)]
            rows = match_names([names[t] for t in tasks], nodes, "a graph")
            adjacency[np.ix_(tasks, tasks)] = weights[np.ix_(rows, rows)]
            missing -= {names[t] for t in tasks}
        match_names([name for name in names if name in missing], all_nodes, "the graphs")
        if not entry.has_several:
            return A[0], {"names": names}
        files = [os.path.basename(path) for path in self.graph]
        return A, {"names": names, "labels": files if len({*files}) == len(files) else None}

    def _names(self, requested: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the given organisms, by default all of the source."""
        available: Sequence[str] = ()
        if self.has_tree:
            available = self.read_tree(requested).leaf_names
        elif self.graph:
            available = _distinct([read_graph(path) for path in self.graph])
        elif self.groups is not None:
            available = all_members(read_groups(self.groups))
        elif requested is None:
            raise ValueError("organisms must be given if no source lists them, got none")
        if requested is not None and available:
            match_names(requested, available, "the source")
        return tuple(available) if requested is None else requested

    @functools.cached_property
    def _full_tree(self) -> Tree:
        assert self.tree is not None
        return read_tree(self.tree)

    @functools.cached_property
    def _full_distances(self) -> Distances:
        if self.alignment is not None:
            return read_alignment_distances(self.alignment)
        assert self.distances is not None
        return read_distances(self.distances)

    def _clades(self, entry: Kind, requested: tuple[str, ...] | None) -> tuple[Any, dict[str, Any]]:
        """Return the clades of a tree, as groups or graphs, and the names of their organisms."""
        tree, names, order = prune_to(self.read_tree(requested), requested)
        T = len(names)
        if T < 2:
            message = f"{self.kind} must have at least two organisms, got {T}"
            raise InputFormatError(message, path=tree.source)
        below = tree.membership()[:, order]
        clades = np.setdiff1d(np.arange(len(tree)), tree.leaves)
        if entry.takes == "groups":
            return below[clades], {"names": names}
        if not entry.has_several:
            joined = below[tree.parents[tree.leaves[order]]]
            return (joined | joined.T).astype(np.float64), {"names": names}
        require_memory(16.0 * clades.size * T * T, f"{clades.size} graphs of {T} tasks", _REMEDY)
        graphs = [np.outer(below[i], below[i]).astype(np.float64) for i in clades]
        return graphs, {"names": names, "labels": [tree.node_names[i] for i in clades]}


def _distinct(graphs: Sequence[tuple[tuple[str, ...], NDArray[np.float64]]]) -> tuple[str, ...]:
    """Return the tasks of all graphs, in order of appearance."""
    return tuple(dict.fromkeys(name for names, _ in graphs for name in names))


def kernel_request(similarity: str | Sequence[str] | None, **sources: Any) -> KernelRequest | None:
    """Return the requested task kernel, or None if nothing is; no file is read.

    Parameters
    ----------
    similarity : str or sequence of str, optional
        A kind, see :func:`seqmtl.relations.kinds.parse_kind`, or the path of a table, or those of
        several, whose product is the task kernel. Default: the default kind of the source.
    **sources
        Sources of :class:`KernelRequest`.

    Raises
    ------
    UsageError
        If the kind does not fit the sources.
    """
    if not similarity and not any(sources.values()):
        return None
    given = (similarity,) if isinstance(similarity, str) else tuple(similarity or ())
    kind = given[0] if len(given) == 1 and given[0].partition(":")[0] in KINDS else None
    for path in () if kind else given:
        near = get_close_matches(path.partition(":")[0], KINDS, n=1, cutoff=_SIMILAR)
        if near and not os.path.exists(path):
            raise UsageError(
                f"must be a kind or a table, got {path!r}; did you mean {near[0]!r}?", "similarity"
            )
    try:
        return KernelRequest(kind, table=() if kind else given, **sources)
    except ParameterError as error:
        raise UsageError(error.message, "similarity") from error
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
    if relation is None or relation.tree is None:
        return
    tree, names = relation.read_tree(), tuple(dict.fromkeys(organisms))
    try:
        match_names(names, tree.leaf_names, f"the tree {tree.source}")
    except UnknownTaskError as error:
        largest = NameIndex(read_tree(LARGEST_TREE).leaf_names)
        if not all(map(largest.find, names)):
            raise
        raise UnknownTaskError(f"{error} (try --tree {LARGEST_TREE})", *error.names) from error
