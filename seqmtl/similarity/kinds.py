"""Kinds of task kernels, and what each is computed from; imports no numpy, for the command line.

A new kind is a method of :class:`seqmtl.similarity.TaskKernel` and an entry here.
"""

from __future__ import annotations

from typing import NamedTuple

_TREES = ("tree", "taxonomy", "alignment", "distances")
_GRAPHS = ("graph", *_TREES)
_ANY = (*_TREES, "graph", "groups")


class Kind(NamedTuple):
    """A kind of task kernel.

    Attributes
    ----------
    make : str
        The method of TaskKernel.
    takes : {"tree", "distances", "names", "graph", "groups", "table"}
        What this method takes: a tree and names, distances and scales, names alone, one or several
        graphs and names, groups and names, or a file.
    sources : tuple of str
        What it can be computed from, the most natural first. If a tree is needed, alignments and
        distances are converted by average linkage.
    text : str
        Description for users; lines after the first are indented.
    has_several : bool
        Whether there are several kernels, whose weights can be learnt.
    """

    make: str
    takes: str
    sources: tuple[str, ...]
    text: str = ""
    has_several: bool = False


ALL = {
    "tree": Kind(
        "from_newick",
        "tree",
        _TREES,
        "length of the path shared from the root (default for --tree, --taxonomy)",
    ),
    "hierarchical": Kind(
        "hierarchical", "tree", _TREES, "one kernel per inner node of the tree", has_several=True
    ),
    "smooth": Kind(
        "smooth",
        "distances",
        _TREES,
        "one kernel exp(-distance/scale) per scale (default for --alignment, --distances)",
        has_several=True,
    ),
    "multigraph": Kind(
        "multigraph",
        "graph",
        _GRAPHS,
        "one kernel per --graph (default for several); from a tree, one graph per inner\n"
        "node, connecting all its leaves",
        has_several=True,
    ),
    "graph": Kind(
        "graph",
        "graph",
        _GRAPHS,
        "one --graph (default for one); from a tree, each leaf is connected to all leaves\n"
        "below its parent",
    ),
    "graphical": Kind("graphical", "graph", _GRAPHS, "as graph, scaled to a diagonal of 1"),
    "clustering": Kind(
        "clustering",
        "groups",
        ("groups", *_TREES),
        "--groups (default for it); from a tree, the leaves below each inner node",
    ),
    "individual": Kind("individual", "names", _ANY),
    "union": Kind("union", "names", _ANY),
    "easy": Kind("easy", "names", _ANY),
    "table": Kind("from_tsv", "table", ("table",)),
}
#: Kinds to ask for; "table" is the kind of a precomputed table.
KINDS = tuple(kind for kind in ALL if kind != "table")
#: Kinds that need only the names of the tasks.
PLAIN = tuple(kind for kind, entry in ALL.items() if entry.takes == "names")
#: Kinds that take scales.
SCALED = tuple(kind for kind, entry in ALL.items() if entry.takes == "distances")
#: Kinds with several kernels.
SEVERAL = tuple(kind for kind, entry in ALL.items() if entry.has_several)
