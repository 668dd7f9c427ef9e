"""Put lists of nodes with parents in order, and check that they form a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError


def order_from_root(parents: Sequence[int], labels: Sequence[str], source: str) -> list[int]:
    """Return the indices of the nodes, root first, each clade contiguous.

    The parent of the root is -1 or the root itself.

    Raises
    ------
    InputFormatError
        If there is not exactly one root, a parent does not exist, or there is a cycle.
    """
    n = len(parents)
    children: list[list[int]] = [[] for _ in range(n)]
    roots = []
    for i, parent in enumerate(parents):
        if parent in (-1, i):
            roots.append(i)
        elif 0 <= parent < n:
            children[parent].append(i)
        else:
            raise InputFormatError(
                f"parents must be numbers of nodes, got {parent} for {labels[i]!r}", path=source
            )
    order: list[int] = []
    stack = roots[::-1]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(children[order[-1]]))
    if len(order) < n:  # nodes that are not below a root are in or below a cycle
        raise InputFormatError(
            f"must be a tree, got a cycle of parents {_cycle(parents, labels, set(order))}; "
            "correct the parents",
            path=source,
        )
    if len(roots) != 1:
        shown = ", ".join(repr(labels[i]) for i in roots[:3])
        raise InputFormatError(
            f"must have one root, got {len(roots)}{': ' if roots else ''}{shown}", path=source
        )
    return order


def check_labels(
    labels: Sequence[str], parents: NDArray[Any], leaves: NDArray[Any], source: str
) -> None:
    """Reject names that are ambiguous, or that make a node its own ancestor.

    Raises
    ------
    InputFormatError
        If a leaf has no name or shares it with a node, or an inner node with an ancestor.
    """
    nodes: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        nodes.setdefault(label, []).append(i)
    is_leaf = set(leaves.tolist())
    if any(not labels[i].strip() for i in is_leaf):
        raise InputFormatError(
            "the tree has a leaf without a name; leaves need distinct names", path=source
        )
    nodes.pop("", None)
    for label, places in nodes.items():
        n_leaves = sum(i in is_leaf for i in places)
        if n_leaves > 1:
            raise InputFormatError(
                f"the tree has the leaf {label!r} twice; leaves need distinct names", path=source
            )
        if len(places) > 1 and n_leaves:
            raise InputFormatError(
                f"must be a tree, got {label!r} both as a leaf and as an inner node, which would "
                "make a network or a cycle; rename one of them",
                path=source,
            )
        if len(places) > 1 and _has_ancestor_in(places, parents):
            raise InputFormatError(
                f"must be a tree, got {label!r} below {label!r}, which would make a cycle; "
                "rename one of them",
                path=source,
            )


def _has_ancestor_in(places: Sequence[int], parents: NDArray[Any]) -> bool:
    """Tell whether any of some nodes is below another of them."""
    others = set(places)
    for i in places:
        above = int(parents[i])
        while above >= 0:
            if above in others:
                return True
            above = int(parents[above])
    return False


def _cycle(parents: Sequence[int], labels: Sequence[str], below_root: set[int]) -> str:
    """Format one cycle among the nodes that are not below a root."""
    i = next(i for i in range(len(parents)) if i not in below_root)
    seen: list[int] = []
    while i not in seen:
        seen.append(i)
        i = parents[i]
    cycle = [*seen[seen.index(i) :], i]
    return " > ".join(labels[j] or f"node {j}" for j in cycle[:6])
