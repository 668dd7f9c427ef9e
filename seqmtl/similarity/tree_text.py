"""Weighted groups of tasks as text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

_BAR = 20
_WIDTH = 79


def draw_tree_text(
    labels: Sequence[str], members: Sequence[Iterable[str]], weights: Sequence[float]
) -> str:
    """Format the weight of every kernel, indented by the nesting of their groups.

    Parameters
    ----------
    labels : sequence of str
        Names of M kernels.
    members : sequence of iterable of str
        Tasks on which each kernel is nonzero.
    weights : sequence of float
        Non-negative weights theta_m of the kernels.

    Returns
    -------
    str
        One line per kernel with its weight as a number and a bar, followed by the tasks that
        are in no smaller group. Kernels with overlapping or equal groups, such as the scales
        of one distance, become a flat list. Lines end with a line break.

    Raises
    ------
    ValueError
        If the lengths of the three differ, or a weight is negative.

    Examples
    --------
    >>> print(draw_tree_text(["all", "apes"], [["man", "gorilla", "fly"], ["man", "gorilla"]],
    ...                      [0.2, 0.8]), end="")
    all     0.200  #####
      fly
      apes  0.800  ####################
        man, gorilla
    """
    groups = [tuple(dict.fromkeys(group)) for group in members]
    if not len(labels) == len(groups) == len(weights):
        raise ValueError(
            "labels, members and weights must have the same length, got "
            f"{len(labels)}, {len(groups)} and {len(weights)}"
        )
    if not all(weight >= 0 for weight in weights):
        raise ValueError(f"weights must not be negative, got {min(weights):g}")
    parents = _nest([frozenset(group) for group in groups])
    if parents is None:
        return "".join(_lines_of(list(labels), weights))
    children: dict[int, list[int]] = {}
    for m, parent in enumerate(parents):
        children.setdefault(parent, []).append(m)
    order, depths = _walk(children)
    heads = _lines_of(
        [f"{'  ' * depths[m]}{labels[m]}" for m in order], [weights[m] for m in order]
    )
    lines = []
    for m, head in zip(order, heads, strict=True):
        below = {name for child in children.get(m, ()) for name in groups[child]}
        own = ", ".join(name for name in groups[m] if name not in below)
        indent = "  " * (depths[m] + 1)
        lines += [head, *(f"{line}\n" for line in _wrap(own, indent))]
    return "".join(lines)


def _nest(groups: Sequence[frozenset[str]]) -> list[int] | None:
    """Return the smallest enclosing group of each, or -1; None if groups are not nested."""
    parents = [-1] * len(groups)
    for m, group in enumerate(groups):
        for n, other in enumerate(groups):
            if m == n or not group & other:
                continue
            if group == other or not (group < other or group > other):
                return None
            if group < other and (parents[m] < 0 or len(other) < len(groups[parents[m]])):
                parents[m] = n
    return parents


def _walk(children: dict[int, list[int]]) -> tuple[list[int], dict[int, int]]:
    """Return the groups in output order, and the depth of each."""
    order: list[int] = []
    depths: dict[int, int] = {}
    stack = [(m, 0) for m in reversed(children.get(-1, []))]
    while stack:
        m, depth = stack.pop()
        order.append(m)
        depths[m] = depth
        stack.extend((child, depth + 1) for child in reversed(children.get(m, [])))
    return order, depths


def _lines_of(labels: Sequence[str], weights: Sequence[float]) -> list[str]:
    """Format labels, weights and bars in columns."""
    width = max(map(len, labels), default=0)
    most = max(weights, default=0.0) or 1.0
    lines = []
    for label, weight in zip(labels, weights, strict=True):
        length = max(round(_BAR * weight / most), 1) if weight else 0
        lines.append(f"{label:<{width}}  {weight:.3f}  {'#' * length}".rstrip() + "\n")
    return lines


def _wrap(text: str, indent: str) -> list[str]:
    width = max(_WIDTH, len(indent) + 40)
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
