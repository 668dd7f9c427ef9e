"""Build a task kernel of a given kind from any suitable source.

=============  ===================================================================================
kind           K
=============  ===================================================================================
tree           shared path from the root
hierarchical   one K_m per inner node of a tree
smooth         one K_m = exp(-Dist / sigma_m) per scale
multigraph     one K_m per graph; for a tree one per inner node, connecting all its leaves
graph          one graph; for a tree each leaf is connected to all leaves below its parent
graphical      the same graphs with a unit diagonal, a = 1
clustering     groups; for a tree the leaves below each inner node
individual     nothing shared; needs no source
union          one model for all; needs no source
easy           half shared; needs no source
table          a precomputed kernel
=============  ===================================================================================

If a kind needs a tree, alignments and distances are converted by average linkage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError
from seqmtl.similarity.sources import Sources
from seqmtl.similarity.task_kernel import TaskKernel
from seqmtl.similarity.trees import Tree, prune_to

_TREES = ("tree", "taxonomy", "alignment", "distances")
#: Kernels that need only the names of the tasks.
PLAIN = {"individual": TaskKernel.individual, "union": TaskKernel.union, "easy": TaskKernel.easy}
_FROM = {
    "tree": _TREES,
    "hierarchical": _TREES,
    "smooth": _TREES,
    "multigraph": ("graph", *_TREES),
    "graph": ("graph", *_TREES),
    "graphical": ("graph", *_TREES),
    "clustering": ("groups", *_TREES),
    **dict.fromkeys(PLAIN, (*_TREES, "graph", "groups")),
    "table": ("table",),
}
_DEFAULT = {
    "tree": "tree",
    "taxonomy": "tree",
    "alignment": "smooth",
    "distances": "smooth",
    "graph": "graph",
    "groups": "clustering",
    "table": "table",
}

_FEWER = "use fewer tasks"

#: Kinds to ask for; "table" is the kind of a precomputed table.
KINDS = tuple(kind for kind in _FROM if kind != "table")


@dataclass(frozen=True, eq=False)
class KernelRequest:
    """A task kernel to build: its kind and source, which are checked before any file is read.

    Parameters
    ----------
    kind : str or None
        One of `KINDS`, see the table above. None chooses by source: tree for a tree or a
        taxonomy, smooth for an alignment or distances, graph for one graph, multigraph for
        several, clustering for groups. The attribute holds the choice.
    sources : Sources
        Exactly one source; at most one for kinds that need none.
    scales : tuple of float, optional
        For the kind smooth, see :meth:`seqmtl.similarity.TaskKernel.smooth`.

    Raises
    ------
    ValueError
        If the kind is unknown, or kind, source and scales are not compatible.
    """

    kind: str | None
    sources: Sources
    scales: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        given, kind = self.sources.given, self.kind
        n_graphs = len(self.sources.graph)
        if kind is None and given:
            kind = "multigraph" if n_graphs > 1 and given[0] == "graph" else _DEFAULT[given[0]]
            object.__setattr__(self, "kind", kind)
        if kind not in _FROM:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        is_plain = kind in PLAIN
        if len(given) > 1 or not {*given} <= {*_FROM[kind]} or not (given or is_plain):
            usable = [source for source in given if source in _FROM[kind]]
            raise ValueError(
                f"{kind} must have {'at most ' * is_plain}one source of {', '.join(_FROM[kind])}, "
                f"got {' and '.join(given) or 'none'}; give {(*usable, _FROM[kind][0])[0]}"
                f"{' alone' * (len(given) > 1)}"
            )
        if kind in ("graph", "graphical") and n_graphs > 1:
            raise ValueError(
                f"{kind} must have one graph, got {n_graphs}; multigraph takes several"
            )
        if self.scales is not None and kind != "smooth":
            raise ValueError(f"scales must be given with smooth only, got {kind}; leave them out")

    @property
    def needs_organisms(self) -> bool:
        """Tell whether the organisms must be named, because no source lists them."""
        return self.sources.given in ((), ("taxonomy",))

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
        kind, sources = self.kind, self.sources
        wanted = None if organisms is None else tuple(organisms)
        if sources.table is not None:
            kernel = TaskKernel.from_tsv(sources.table)
            return kernel if wanted is None else kernel.restrict(wanted)
        if kind in PLAIN:
            return PLAIN[kind](sources.names(wanted))
        if kind == "smooth":
            return TaskKernel.smooth(sources.read_distances(wanted), self.scales)
        if kind == "tree":
            return TaskKernel.from_newick(sources.read_tree(wanted), wanted)
        if kind == "hierarchical":
            return TaskKernel.hierarchical(sources.read_tree(wanted), wanted)
        if kind == "clustering" and sources.groups is not None:
            return TaskKernel.clustering(sources.read_groups(), wanted)
        if sources.graph:
            return self._of_graphs(*sources.read_graphs(wanted))
        return self._of_clades(*prune_to(sources.read_tree(wanted), wanted))

    def _of_graphs(
        self,
        names: tuple[str, ...],
        adjacencies: list[NDArray[np.float64]],
        labels: list[str] | None = None,
    ) -> TaskKernel:
        files = self.sources.graph
        if files and len({*map(os.path.basename, files)}) == len(files):
            labels = [os.path.basename(path) for path in files]
        try:
            if self.kind == "graph":
                return TaskKernel.graph(adjacencies[0], names)
            if self.kind == "graphical":
                return TaskKernel.graphical(adjacencies[0], 1.0, names)
            return TaskKernel.multigraph(adjacencies, names, labels)
        except np.linalg.LinAlgError as error:
            raise InputFormatError(
                "edge weights must be of similar size, got some that differ by many orders of "
                "magnitude; scale them",
                path=", ".join(map(str, files)),
            ) from error

    def _of_clades(
        self, tree: Tree, names: tuple[str, ...], order: NDArray[np.int64]
    ) -> TaskKernel:
        """Return the kernel of the clades of a tree, as groups or graphs."""
        T = len(names)
        if T < 2:
            message = f"{self.kind} must have at least two organisms, got {T}"
            raise InputFormatError(message, path=tree.source)
        below = tree.membership()[:, order]
        clades = np.setdiff1d(np.arange(len(tree)), tree.leaves)
        if self.kind == "clustering":
            return TaskKernel.clustering(below[clades], names)
        if self.kind != "multigraph":
            joined = below[tree.parents[tree.leaves[order]]]
            return self._of_graphs(names, [(joined | joined.T).astype(np.float64)])
        require_memory(16.0 * clades.size * T * T, f"{clades.size} graphs of {T} tasks", _FEWER)
        graphs = [np.outer(below[i], below[i]).astype(np.float64) for i in clades]
        return self._of_graphs(names, graphs, [tree.node_name(i) for i in clades])
