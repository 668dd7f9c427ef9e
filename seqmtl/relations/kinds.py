"""Kinds of task kernels, and what each is computed from; imports no numpy, for the command line.

A new kind is a method of :class:`seqmtl.relations.TaskKernel` and an entry here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from seqmtl._checks import check_number

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
        The first argument of this method: a :class:`~seqmtl.relations.trees.Tree` (or groups, if
        these are a source), :class:`~seqmtl.relations.distances.Distances`, the names of the
        tasks, an adjacency matrix (if `has_several`, a list of them), groups as
        :meth:`seqmtl.relations.TaskKernel.clustering` takes them, or the path of a file. With a
        tree, graphs or groups, it also gets `names`, the tasks.
    sources : tuple of str
        What it can be computed from, the most natural first. If a tree is needed, alignments and
        distances are converted by average linkage.
    text : str
        Description for users; lines after the first are indented.
    has_several : bool
        Whether there are several kernels, whose weights can be learnt.
    parameter : str, optional
        What the method calls the number after a kind, as in graph:0.5; several give a kernel each.
    takes_all : bool
        Whether the method takes all numbers at once.
    default, maximum : float
        Its value if it is not given, and the largest.
    minimum : float, optional
        The smallest; None if it must be above 0.
    """

    make: str
    takes: str
    sources: tuple[str, ...]
    text: str = ""
    has_several: bool = False
    parameter: str = ""
    takes_all: bool = False
    default: float | None = 1.0
    minimum: float | None = 0.0
    maximum: float = math.inf


ALL = {
    "tree": Kind(
        "from_tree",
        "tree",
        _TREES,
        "length of the path shared from the root (default for trees and taxonomies); B:\n"
        "similarity across the root",
        parameter="base",
        default=0.25,
        maximum=1.0,
    ),
    "hierarchical": Kind(
        "hierarchical",
        "tree",
        (*_TREES, "groups"),
        "one kernel per inner node of the tree, or per group",
        has_several=True,
    ),
    "smooth": Kind(
        "smooth",
        "distances",
        _TREES,
        "one kernel exp(-distance/S) per scale S (default for alignments and distances;\n"
        "default scales: 1/4, 1 and 4 times the median distance)",
        has_several=True,
        parameter="scales",
        takes_all=True,
        default=None,
        minimum=None,
    ),
    "multigraph": Kind(
        "multigraph",
        "graph",
        _GRAPHS,
        "one kernel per graph (default for several graphs); from a tree, one graph per\n"
        "inner node, connecting all its leaves",
        has_several=True,
        parameter="a",
    ),
    "graph": Kind(
        "graph",
        "graph",
        _GRAPHS,
        "(A I + L)^-1 of one graph (default for a graph); from a tree, each leaf is\n"
        "connected to all leaves below its parent. A = 0: the pseudo-inverse of L, which\n"
        "leaves out what all connected tasks have in common",
        parameter="a",
    ),
    "graphical": Kind(
        "graphical",
        "graph",
        _GRAPHS,
        "as graph, scaled to a diagonal of 1; near A = 0 all is shared",
        parameter="a",
        minimum=None,
    ),
    "clustering": Kind(
        "clustering",
        "groups",
        ("groups", *_TREES),
        "groups (default for groups); from a tree, the leaves below each inner node; L:\n"
        "weight of each task by itself",
        parameter="lam",
    ),
    "individual": Kind("individual", "names", _ANY, "share nothing"),
    "union": Kind("union", "names", _ANY, "share everything"),
    "easy": Kind(
        "easy",
        "names",
        _ANY,
        "share a part",
        parameter="share",
        default=0.5,
        maximum=1.0,
    ),
    "table": Kind("from_tsv", "table", ("table",)),
}
#: Kinds to ask for; "table" is the kind of a precomputed table.
KINDS = tuple(kind for kind in ALL if kind != "table")
#: Kinds that need only the names of the tasks.
PLAIN = tuple(kind for kind, entry in ALL.items() if entry.takes == "names")
#: Kinds with several kernels.
SEVERAL = tuple(kind for kind, entry in ALL.items() if entry.has_several)


def parse_kind(text: str | None) -> tuple[str, tuple[float, ...]]:
    """Return a kind and its numbers, if any: ("graph", (0.5, 2.0)) for graph:0.5,2.

    Raises
    ------
    ValueError
        If there is no such kind, or it takes no such number; the message goes on after the name
        of what has the value.
    """
    kind, colon, numbers = (text or "").partition(":")
    if kind not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}, got {text!r}")
    entry = ALL[kind]
    if not colon:
        return kind, ()
    if not entry.parameter:
        raise ValueError(f"must be {kind} without a number, got {text!r}")
    try:
        values = tuple(float(number) for number in numbers.split(","))
    except ValueError:
        raise ValueError(f"must have numbers after {kind}:, got {text!r}") from None
    for value in values:
        try:
            check_number("", value, min_val=entry.minimum, max_val=entry.maximum)
        except ValueError as error:
            raise ValueError(f"{error} in {text!r}") from None
    return kind, tuple(dict.fromkeys(values))


def learnable(value: Any) -> str:
    """Take a kind with several kernels, or with several numbers."""
    kind, numbers = parse_kind(str(value))
    if kind not in SEVERAL and len(numbers) < 2:
        raise ValueError(
            f"must be one of {', '.join(SEVERAL)}, or a kind with several numbers such as "
            f"graphical:0.1,1,10, got {value!r}"
        )
    return str(value)


def _line(kind: str, entry: Kind) -> str:
    usage = f"{kind}:{entry.parameter[0].upper()}" if entry.parameter else kind
    text = entry.text.replace("\n", "\n" + " " * 16)
    default = f" (default: {entry.default:g})" if entry.parameter and entry.default else ""
    return f"  {usage:<14}{text}{default}\n"


#: Explains the kinds to users of the command line.
MANUAL = (
    "kinds of similarity:\n"
    + "".join(_line(kind, ALL[kind]) for kind in KINDS)
    + """\
Several numbers, as in graphical:0.1,1,10, give a kernel each: train and compare choose by held-out
labels, train --mkl learns weights. train and compare compute them from a tree; seqmtl similarity
writes a table (-o) of any source, which their --similarity reads. Alignments and distances are
turned into a tree by average linkage if a kind needs one."""
)
