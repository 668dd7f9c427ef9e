"""Files that describe how organisms are related, converted as a task kernel requires."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, match_names
from seqmtl.similarity.alignment import read_alignment_distances
from seqmtl.similarity.distances import Distances, linkage_tree
from seqmtl.similarity.graphs import read_graph
from seqmtl.similarity.relation_tables import all_members, read_distances, read_groups
from seqmtl.similarity.taxonomy import read_ncbi_taxonomy
from seqmtl.similarity.trees import Tree, TreeSource, read_tree

FilePath: TypeAlias = "str | os.PathLike[str]"
Graph: TypeAlias = tuple[tuple[str, ...], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Sources:
    """Files with relations between organisms; each is optional and read on demand.

    Parameters
    ----------
    tree : Tree, str or path-like, optional
        See :func:`seqmtl.similarity.trees.read_tree`.
    taxonomy : path-like, optional
        Folder with an NCBI taxonomy dump.
    alignment : path-like, optional
        Aligned sequences, see :func:`seqmtl.similarity.alignment.read_alignment_distances`.
    distances : path-like, optional
        Table, see :func:`seqmtl.similarity.relation_tables.read_distances`.
    graph : sequence of path-like
        Graphs, see :func:`seqmtl.similarity.graphs.read_graph`.
    groups : path-like, optional
        Table, see :func:`seqmtl.similarity.relation_tables.read_groups`.
    table : path-like, optional
        Precomputed kernel, see :meth:`seqmtl.similarity.TaskKernel.from_tsv`.
    """

    tree: TreeSource | None = None
    taxonomy: FilePath | None = None
    alignment: FilePath | None = None
    distances: FilePath | None = None
    graph: Sequence[FilePath] = ()
    groups: FilePath | None = None
    table: FilePath | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the given sources."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) not in (None, (), []))

    @property
    def has_tree(self) -> bool:
        """Tell whether there is a tree, or a source that converts to one."""
        return not {"tree", "taxonomy", "alignment", "distances"}.isdisjoint(self.given)

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
            return self._whole_tree if organisms is None else self._whole_tree.prune(organisms)
        if self.taxonomy is not None:
            if organisms is None:
                raise ValueError("organisms must be given with a taxonomy, got none; name them")
            return read_ncbi_taxonomy(self.taxonomy, organisms)
        return linkage_tree(self.read_distances(organisms))

    def read_distances(self, organisms: Iterable[str] | None = None) -> Distances:
        """Return the distances of some organisms, by default all; for a tree, path lengths.

        Raises
        ------
        UnknownTaskError
            If the source lacks an organism.
        """
        if self.tree is not None or self.taxonomy is not None:
            return Distances.from_tree(self.read_tree(organisms), organisms)
        distances = self._whole_distances
        return distances if organisms is None else distances.restrict(organisms)

    def read_graphs(
        self, organisms: Iterable[str] | None = None
    ) -> tuple[tuple[str, ...], list[NDArray[np.float64]]]:
        """Return the graphs on a common set of tasks.

        A task that a graph lacks has no edges in it.

        Parameters
        ----------
        organisms : iterable of str, optional
            Tasks in this spelling, each in at least one graph. Default: all, in order of
            appearance.

        Returns
        -------
        names : tuple of str
            Tasks.
        adjacencies : list of ndarray, shape (T, T)
            One per graph.

        Raises
        ------
        UnknownTaskError
            If an organism is in no graph, or two are the same in one of them.
        """
        known = self._graph_names
        names = known if organisms is None else tuple(organisms)
        found = [_find(graph, names) for graph in self._graphs]
        lost = [name for t, name in enumerate(names) if not any(t in tasks for tasks in found)]
        match_names(lost, known, "the graphs")
        A = np.zeros((len(found), len(names), len(names)))
        for m, (tasks, graph) in enumerate(zip(found, self._graphs, strict=True)):
            here = list(tasks.values())
            A[m][np.ix_(list(tasks), list(tasks))] = graph[1][np.ix_(here, here)]
        return names, list(A)

    def read_groups(self) -> dict[str, dict[str, float]]:
        """Return the members of every group with their weights."""
        assert self.groups is not None
        return read_groups(self.groups)

    def names(self, organisms: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the given organisms, by default all of the source.

        Raises
        ------
        UnknownTaskError
            If the source lacks an organism.
        ValueError
            If no organisms are given and no source lists them.
        """
        wanted = None if organisms is None else tuple(organisms)
        known: Sequence[str] = ()
        if self.has_tree:
            known = self.read_tree(wanted).leaf_names
        elif self.graph:
            known = self._graph_names
        elif self.groups is not None:
            known = all_members(self.read_groups())
        elif wanted is None:
            raise ValueError("organisms must be given if no source lists them, got none")
        if wanted is not None and known:
            match_names(wanted, known, "the source")
        return tuple(known) if wanted is None else wanted

    @functools.cached_property
    def _whole_tree(self) -> Tree:
        assert self.tree is not None
        return read_tree(self.tree)

    @functools.cached_property
    def _whole_distances(self) -> Distances:
        if self.alignment is not None:
            return read_alignment_distances(self.alignment)
        assert self.distances is not None
        return read_distances(self.distances)

    @functools.cached_property
    def _graphs(self) -> list[Graph]:
        return [read_graph(path) for path in self.graph]

    @functools.cached_property
    def _graph_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names, _ in self._graphs for name in names))


def _find(graph: Graph, names: Sequence[str]) -> dict[int, int]:
    """Return the node of every task in the graph, by task index."""
    index = NameIndex(graph[0])
    tasks = [t for t, name in enumerate(names) if index.find(name)]
    nodes = match_names([names[t] for t in tasks], graph[0], "a graph")
    return dict(zip(tasks, nodes, strict=True))
